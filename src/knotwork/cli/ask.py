"""`knotwork ask`: a cited answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from knotwork.cli import console
from knotwork.cli.console import INDEX, Config, IndexDir, Json, Mode, Question, clean, note, one_line, say

if TYPE_CHECKING:
    from knotwork import Answer, Citation


def run(
    question: Question,
    index: IndexDir = INDEX,
    mode: Annotated[Mode, typer.Option(help="How to find evidence; auto picks, and --json says what ran.")] = Mode.auto,
    config: Config = None,
    as_json: Json = False,
) -> None:
    """Answer a question from the documents, with sources.

    The answer is made of sentences of the documents, each with the number of its source. Ends with exit code 3 when the
    documents hold no evidence.
    """
    from knotwork import Index, load_settings

    with Index.open(index, settings=load_settings(config), readonly=True) as kb, console.loading():
        answer = kb.ask(question, mode=mode.value)
        empty = not answer.found and not kb.status().documents
    if as_json:
        console.say_json(
            {
                "question": question,
                "mode": answer.mode,
                "answer": answer.text,
                "citations": answer.citations,
                "usage": answer.usage,
                "hint": answer.hint,
            }
        )
    else:
        show(answer)
    if answer.hint and not as_json:
        note(f"note: {answer.hint}")
    if empty:
        note(f"{clean(index)} holds no documents; knotwork index adds them")
    if not answer.found:
        raise typer.Exit(console.NO_EVIDENCE)


def show(answer: Answer) -> None:
    """An answer and its sources, for a reader."""
    say(clean(answer.text))
    if answer.citations:
        say()
        say("Sources", "bold")
    for citation in answer.citations:
        say(f"[{citation.n}] {_origin(citation)}")
        say(f'    "{one_line(citation.quote, 200)}"', "dim")


def _origin(citation: Citation) -> str:
    names = dict.fromkeys(one_line(name) for name in (citation.title, citation.source) if name)
    page = [f"page {citation.page}"] if citation.page is not None else []
    place = ", ".join([*page, *([one_line(" › ".join(citation.headings))] if citation.headings else [])])
    return (" — ".join(names) or one_line(citation.document_id)) + (f" ({place})" if place else "")
