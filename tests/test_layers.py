"""Imports point only down. The table below is the architecture; a module that is not in it fails the test."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

# Bottom first. A module imports from lines below its own, never from its own line or from above.
#   "graph"        that module, or a folder's __init__
#   "models/"      a folder as one unit, inside which imports are free
#   "search/*"     a folder whose modules are stages: each stands alone
LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors",),
    ("text", "threads", "places"),
    ("graph",),
    ("protocols",),
    ("gazetteer", "prompts", "lac"),
    ("chinese",),
    ("nlp",),
    ("digest/",),
    ("models/",),
    ("transforms.arguments",),
    ("transforms.base",),
    ("transforms.engine",),
    # what the stages of one folder share
    (
        "loaders.files",
        "loaders.parsed",
        "search.evidence",
        "search.sparse",
        "search.vectors",
        "search.views",
        "transforms.splitters.chunks",
    ),
    (
        "loaders.encoding",
        "loaders.layout",
        "loaders.boilerplate",
        "loaders.office",
        "search.linking",
        "search.context",
        "transforms.relationships.properties",
    ),
    ("transforms.splitters.drift",),
    ("transforms.relationships.pairs",),
    ("transforms.relationships.spelling",),
    ("loaders.documents",),
    ("loaders.html", "loaders.markdown"),
    ("transforms/*", "loaders/*", "stores/*", "search/*"),  # they meet in the graph
    ("search.answer",),  # written from what the searches find
    ("transforms.splitters", "transforms.extractors", "transforms.relationships"),  # public lists
    ("transforms", "loaders", "stores", "search"),
    ("settings",),
    ("recipes", "gather"),
    ("index",),
    ("knotwork",),
    ("cli/", "server/", "mcp", "interop/", "testing/", "__main__"),
)

# The top line sees what users see.
PUBLIC = frozenset({"knotwork", "errors", "models", "transforms", "search", "search.context"})
CLIENTS = {
    "cli/": PUBLIC,
    "server/": PUBLIC,
    "mcp": PUBLIC,
    "interop/": PUBLIC | {"graph"},
    "testing/": PUBLIC | {"graph", "protocols"},
    "__main__": PUBLIC | {"cli/"},
}

# Slow to load or an optional extra: imported only inside the function that needs them.
HEAVY = frozenset({"spacy", "openai", "onnxruntime", "scipy", "graspologic_native"})

PACKAGE = "knotwork"
SOURCE = Path(__file__).parent.parent / "src" / PACKAGE


@dataclass(frozen=True, slots=True)
class Import:
    """One imported module. `deferred`: not run when the file is imported (in a function, or for type checkers only)."""

    target: str
    line: int
    deferred: bool


def test_imports_point_only_down() -> None:
    assert violations(SOURCE) == []


def test_the_table_is_read_against_the_real_package() -> None:
    assert {"errors", "graph", "transforms.base", "knotwork"} <= modules_of(SOURCE).keys()


CLEAN = {
    "__init__.py": "from knotwork.graph import Node\n",
    "errors.py": "",
    "graph.py": "import numpy\nfrom .errors import GraphError\n",
    "protocols.py": "from knotwork.graph import Node\n",
    "models/__init__.py": "from knotwork.models.offline import embed\n",
    "models/offline.py": "def embed():\n    import onnxruntime\n",
    "transforms/__init__.py": "from knotwork.transforms import base\nfrom knotwork.transforms.communities import A\n",
    "transforms/base.py": "from knotwork.graph import Node\n",
    "transforms/communities.py": "from ..graph import Node\nfrom .base import Transform\n",
    "transforms/reports.py": "from knotwork.transforms.base import Transform\n",
    "search/__init__.py": "",
    "search/passages.py": "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import scipy\n",
    "recipes.py": "from knotwork.transforms import communities, reports\n",
    "index.py": "from knotwork.recipes import default_transforms\n",
    "cli/__init__.py": "from knotwork import Index\nfrom knotwork.cli.ask import ask\n",
    "cli/ask.py": "from knotwork import Index\nfrom knotwork.errors import KnotworkError\n",
    "testing/__init__.py": "from knotwork.protocols import Store\n",
}

# what is planted: (file, code added to it, what must be said)
PLANTED = {
    "a lower module imports a higher one": (
        "graph.py",
        "import knotwork.index",
        "graph imports index, which is above it",
    ),
    "a lower module imports a higher one inside a function": (
        "graph.py",
        "def f():\n    from knotwork import recipes",
        "graph imports recipes, which is above it",
    ),
    "a lower module imports a higher one by its name": (
        "graph.py",
        "from importlib import import_module\ndef f():\n    import_module('knotwork.index')",
        "graph imports index, which is above it",
    ),
    "a lower module imports a higher one for type checkers": (
        "graph.py",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from knotwork.index import Index",
        "graph imports index, which is above it",
    ),
    "the core imports the public names": (
        "index.py",
        "from knotwork import Node",
        "index imports knotwork, which is above it",
    ),
    "a stage imports its sibling": (
        "transforms/reports.py",
        "from knotwork.transforms.communities import A",
        "transforms.reports imports transforms.communities, which stands beside it",
    ),
    "a stage imports its sibling relatively": (
        "transforms/reports.py",
        "from . import communities",
        "transforms.reports imports transforms.communities, which stands beside it",
    ),
    "a stage imports one of another folder": (
        "search/passages.py",
        "from ..transforms.reports import R",
        "search.passages imports transforms.reports, which stands beside it",
    ),
    "a stage imports the public list": (
        "transforms/reports.py",
        "from knotwork.transforms import Transform",
        "transforms.reports imports transforms, which is above it",
    ),
    "a client reaches inside": (
        "cli/ask.py",
        "from knotwork.index import Index",
        "cli.ask imports index, which is not public",
    ),
    "a client reaches inside by way of the package": (
        "cli/ask.py",
        "from knotwork import graph",
        "cli.ask imports graph, which is not public",
    ),
    "a client imports another client": (
        "cli/ask.py",
        "import knotwork.testing",
        "cli.ask imports testing, which stands beside it",
    ),
    "a heavy library at the top": (
        "search/passages.py",
        "import scipy.sparse as sp",
        "search.passages imports scipy while it is being imported",
    ),
    "a heavy library in a class body": (
        "models/offline.py",
        "class A:\n    from spacy import load",
        "models.offline imports spacy while it is being imported",
    ),
    "a module without a place": (
        "helpers.py",
        "",
        "helpers has no place in LAYERS",
    ),
}


def test_a_tree_that_keeps_the_rules_passes(tmp_path: Path) -> None:
    assert violations(plant(tmp_path, CLEAN)) == []


@pytest.mark.parametrize("case", PLANTED)
def test_a_planted_violation_is_caught(tmp_path: Path, case: str) -> None:
    file, code, complaint = PLANTED[case]
    found = violations(plant(tmp_path, CLEAN | {file: CLEAN.get(file, "") + code + "\n"}))
    assert len(found) == 1
    assert found[0].startswith(f"{file}:")
    assert complaint in found[0]


def plant(folder: Path, files: dict[str, str]) -> Path:
    for name, code in files.items():
        path = folder / PACKAGE / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(code, encoding="utf-8")
    return folder / PACKAGE


# -- the check ------------------------------------------------------------------------------------


def violations(source: Path) -> list[str]:
    """Every broken rule under the package folder `source`, as "file:line: what is wrong"."""
    modules = modules_of(source)
    found = []
    for module, path in modules.items():
        shown = path.relative_to(source).as_posix()
        if place_of(module) is None:
            found.append(f"{shown}:1: {module} has no place in LAYERS")
            continue
        for item in imports_of(path, module, modules):
            complaint = judge(module, item, modules)
            if complaint:
                found.append(f"{shown}:{item.line}: {module} imports {complaint}")
    return sorted(found)


def judge(module: str, item: Import, modules: dict[str, Path]) -> str | None:
    """What is wrong with an import, None when nothing is."""
    if item.target not in modules:
        library = item.target.partition(".")[0]
        heavy = library in HEAVY and not item.deferred
        return f"{library} while it is being imported; move it into the function that needs it" if heavy else None
    here, there = place_of(module), place_of(item.target)
    if here is None or there is None or here == there:
        return None
    if there[0] > here[0]:
        return f"{item.target}, which is above it"
    if there[0] == here[0] and there[1] not in CLIENTS.get(here[1], ()):
        return f"{item.target}, which stands beside it"
    if here[1] in CLIENTS and not {item.target, there[1]} & CLIENTS[here[1]]:
        return f"{item.target}, which is not public"
    return None


def place_of(module: str) -> tuple[int, str] | None:
    """(line of the table, unit) of a module; two modules of one unit may import each other."""
    for match in (_exactly, _in_unit, _as_stage):
        for number, line in enumerate(LAYERS):
            for entry in line:
                if match(module, entry):
                    return number, module if entry.endswith("/*") else entry
    return None


def _exactly(module: str, entry: str) -> bool:
    return module == entry


def _in_unit(module: str, entry: str) -> bool:
    return entry.endswith("/") and (module + ".").startswith(entry[:-1] + ".")


def _as_stage(module: str, entry: str) -> bool:
    return entry.endswith("/*") and module.startswith(entry[:-2] + ".")


def modules_of(source: Path) -> dict[str, Path]:
    """Module name without the package's own ("graph", "transforms.base"; the package: "knotwork") to its file."""
    names = {}
    for path in sorted(source.rglob("*.py")):
        parts = list(path.relative_to(source).with_suffix("").parts)
        if parts[-1] == "__init__":
            parts.pop()
        names[".".join(parts) or PACKAGE] = path
    return names


def imports_of(path: Path, module: str, modules: dict[str, Path]) -> Iterator[Import]:
    """Imports of a file: our own modules under the names of `modules`, others as written."""
    tree = ast.parse(path.read_text(encoding="utf-8"), str(path))
    package = module if path.name == "__init__.py" else module.rpartition(".")[0] or PACKAGE
    for node, deferred in _walk(tree, False):
        for name in _names(node, package, modules):
            yield Import(name, getattr(node, "lineno", 1), deferred)


def _walk(node: ast.AST, deferred: bool) -> Iterator[tuple[ast.AST, bool]]:
    for child in ast.iter_child_nodes(node):
        inside = deferred or isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        yield child, inside
        yield from _walk(child, inside or (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)))


def _names(node: ast.AST, package: str, modules: dict[str, Path]) -> list[str]:
    match node:
        case ast.Import(names=names):
            return [_own(alias.name) for alias in names]
        case ast.ImportFrom(module=base, names=names, level=level):
            start = _above(package, level, base) if level else _own(base or "")
            return sorted({_member(start, alias.name, modules) for alias in names})
        case ast.Call(func=ast.Name(id=called) | ast.Attribute(attr=called), args=[ast.Constant(value=str(name)), *_]):
            return [_own(name)] if called in {"import_module", "__import__"} else []
    return []


def _own(name: str) -> str:
    return name.removeprefix(PACKAGE + ".")


def _above(package: str, level: int, base: str | None) -> str:
    """The module that a relative import of `level` dots starts from."""
    parts = [] if package == PACKAGE else package.split(".")
    parts = parts[: len(parts) - level + 1] + (base.split(".") if base else [])
    return ".".join(parts) or PACKAGE


def _member(start: str, name: str, modules: dict[str, Path]) -> str:
    """`from start import name`: a module of that name, else something inside `start`."""
    child = name if start == PACKAGE else f"{start}.{name}"
    return child if child in modules else start
