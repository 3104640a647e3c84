"""`knotwork demo`: the main job on documents that come along."""

from __future__ import annotations

import shutil
import tempfile
from importlib.resources import as_file, files
from pathlib import Path
from typing import Annotated

import typer

from knotwork.cli import ask, console
from knotwork.cli.console import clean, note, say, shell
from knotwork.errors import InputError

CORPUS = "double-helix"
QUESTION = (
    "Who were the key contributors to the discovery of the double helix, and what role did Rosalind Franklin play?"
)
NEXT_QUESTION = "What did Photo 51 show?"


def run(
    copy: Annotated[
        Path | None, typer.Option("--copy", metavar="DIR", help="Only copy the demo's documents there, to play with.")
    ] = None,
    index: Annotated[
        Path | None,
        typer.Option("--index", "-i", metavar="DIR", help="Directory of the index; otherwise a temporary one."),
    ] = None,
) -> None:
    """Index a few documents that come along, and ask a question.

    They are about the discovery of the structure of DNA. Nothing is downloaded.
    """
    with as_file(files("knotwork") / "demo") as folder:
        if copy is not None:
            _copy(folder, copy)
            return
        _show(folder / CORPUS, index or Path(tempfile.mkdtemp(prefix="knotwork-demo-")) / "kb")


def _copy(folder: Path, target: Path) -> None:
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        raise InputError(f"{target} exists already and is not an empty folder; give another name")
    shutil.copytree(folder, target, dirs_exist_ok=True)
    say(f"The demo's documents are in {clean(target)}. Try:")
    say(f"  {shell('knotwork', 'index', target / CORPUS, '--index', 'kb')}")
    say(f"  {shell('knotwork', 'ask', NEXT_QUESTION, '--index', 'kb')}")


def _show(documents: Path, index: Path) -> None:
    from knotwork import Index, load_settings

    note("Indexing the demo's documents …")
    with Index.open(index, settings=load_settings()) as kb:
        with console.Watch() as watch:
            kb.add(documents, progress=watch)
        answer = kb.ask(QUESTION)
    say(QUESTION, "bold")
    say()
    ask.show(answer)
    say()
    say(f"The index is in {clean(index)}. Try:")
    say(f"  {shell('knotwork', 'ask', NEXT_QUESTION, '--index', index)}")
    say(f"  {shell('knotwork', 'index', 'YOUR-FOLDER', '--index', 'kb')}")
    if not answer.found:
        raise typer.Exit(console.NO_EVIDENCE)
