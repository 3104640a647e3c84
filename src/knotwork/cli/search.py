"""`knotwork search`: the evidence for a question, without an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from knotwork.cli import console
from knotwork.cli.console import INDEX, Config, IndexDir, Json, Mode, Question, clean, note, one_line, say

if TYPE_CHECKING:
    from knotwork import Evidence


def run(
    question: Question,
    index: IndexDir = INDEX,
    k: Annotated[int, typer.Option("-k", min=1, max=1000, help="How many passages at most.")] = 10,
    mode: Annotated[
        Mode, typer.Option(help="passages: by the graph; hybrid: words and vectors; dense: vectors; bm25: words.")
    ] = Mode.auto,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Find the passages that bear on a question, best first.

    Ends with exit code 3 when there are none.
    """
    from knotwork import Index, load_settings

    with Index.open(index, settings=load_settings(config), readonly=True) as kb, console.loading():
        found = kb.search(question, k=k, mode=mode.value)
        empty = not found and not kb.status().documents
    if as_json:
        console.say_json({"evidence": found})
    else:
        for rank, evidence in enumerate(found, 1):
            _show(rank, evidence)
    if not found:
        note(f"{clean(index)} holds no documents" if empty else "no passage bears on this question")
        raise typer.Exit(console.NO_EVIDENCE)


def _show(rank: int, evidence: Evidence) -> None:
    place = f"{one_line(evidence.source or evidence.document_id)}:{evidence.start}-{evidence.end}"
    title = f"{one_line(evidence.title)}  " if evidence.title else ""
    say(f"{rank:>2}. {evidence.score:.3f}  {title}{place}")
    say(f"    {one_line(evidence.why)}", "dim")
    say(f"    {one_line(evidence.text, 300)}")
