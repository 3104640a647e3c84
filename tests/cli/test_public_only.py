"""The verbs use what every user has: names of `knotwork` and its errors."""

from __future__ import annotations

import ast
from pathlib import Path

import knotwork
from knotwork import cli

ALLOWED = {"knotwork": {*knotwork.__all__, "__version__"}, "knotwork.errors": None, "knotwork.models": None}


def not_public(code: str) -> list[str]:
    """The imports of our own that are neither public nor the command line's, as written."""
    found = []
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found += [a.name for a in node.names if a.name.startswith("knotwork.") and a.name not in ALLOWED]
        elif isinstance(node, ast.ImportFrom):
            home = "." * node.level + (node.module or "")
            if node.level or not f"{home}.".startswith("knotwork.") or f"{home}.".startswith("knotwork.cli."):
                continue
            for alias in node.names:
                names = ALLOWED.get(home, set())
                if (names is not None and alias.name not in names) and f"{home}.{alias.name}" != "knotwork.cli":
                    found.append(f"{home}.{alias.name}")
    return found


def test_no_verb_imports_what_is_not_public() -> None:
    files = sorted(Path(cli.__file__).parent.glob("*.py"))
    assert len(files) >= 9
    assert {file.name: found for file in files if (found := not_public(file.read_text("utf-8")))} == {}


def test_an_import_of_something_private_is_caught() -> None:
    code = "def f():\n    from knotwork.index import Index\nimport knotwork.stores.sqlite\nfrom knotwork import text"
    assert sorted(not_public(code)) == ["knotwork.index.Index", "knotwork.stores.sqlite", "knotwork.text"]
