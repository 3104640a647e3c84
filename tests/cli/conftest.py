"""The command line run in this process, in an empty folder."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.cli.scripted import Held, Knotwork, Ran, Script

import knotwork
from knotwork import Evidence, KnowledgeGraph, Node, Report
from knotwork.cli import main
from knotwork.errors import StoreError


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An empty working directory, no settings in the environment, no terminal."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.upper().startswith("KNOTWORK_"):
            monkeypatch.delenv(name)
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE", "NO_COLOR"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Knotwork:
    def command(*args: object) -> Ran:
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main([str(arg) for arg in args])
        said = capsys.readouterr()
        code = ended.value.code
        assert "Traceback" not in said.err
        return Ran(code if isinstance(code, int) else 0 if code is None else 1, said.out, said.err)

    return command


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Script:
    """Puts a scripted Index in the place of `knotwork.Index`."""
    play = Script()

    class Scripted:
        def __init__(self, path: Path) -> None:
            self.path = path
            self.graph = KnowledgeGraph([Node("a"), Node("b")])

        @classmethod
        def open(cls, path: Path, **options: Any) -> Scripted:
            play.calls.append(("open", str(path), options))
            if options.get("readonly") and not play.exists:
                raise StoreError(f"there is no index at {path}; `knotwork index` makes one")
            return cls(path)

        def add(self, source: Any, *, on_error: str = "skip", progress: Any = lambda event: None) -> Report:
            play.calls.append(("add", source, on_error))
            for event in play.events:
                progress(event)
            if play.raises:
                raise play.raises
            return play.report

        def ask(self, question: str, *, mode: str = "auto") -> Any:
            play.calls.append(("ask", question, mode))
            if play.raises:
                raise play.raises
            return play.answer

        def search(self, question: str, *, k: int = 10, mode: str = "auto") -> list[Evidence]:
            play.calls.append(("search", question, k, mode))
            return play.found

        def status(self) -> Held:
            return Held(str(self.path), play.complete)

        def check(self) -> list[str]:
            return play.problems

        def __enter__(self) -> Scripted:
            return self

        def __exit__(self, *_: object) -> None:
            play.calls.append(("close",))

    monkeypatch.setitem(vars(knotwork), "Index", Scripted)
    return play
