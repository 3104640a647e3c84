"""`knotwork index`: make an index of documents, or bring it up to date with them."""

from __future__ import annotations

import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from knotwork.cli import console
from knotwork.cli.console import INDEX, Config, IndexDir, clean, note, one_line, say
from knotwork.errors import InputError

if TYPE_CHECKING:
    from knotwork import Report, Status

MAX_SKIPPED = 20
"""Lines of what was left out that are shown without --verbose."""


class Profile(StrEnum):
    auto = "auto"
    fast = "fast"
    nlp = "nlp"


class Cut(StrEnum):
    auto = "auto"
    sentences = "sentences"
    headlines = "headlines"
    semantic = "semantic"


class OnError(StrEnum):
    skip = "skip"
    raise_ = "raise"


def run(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH", help="Files and folders to index.")],
    index: IndexDir = INDEX,
    profile: Annotated[
        Profile | None,
        typer.Option(help="Language work: the core's, or that of the extra [nlp]. auto: the better one."),
    ] = None,
    embedder: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="Vectors: offline (the better ones installed), fast, nlp, or openai:MODEL at OPENAI_BASE_URL.",
        ),
    ] = None,
    splitter: Annotated[
        Cut | None,
        typer.Option(
            help="Where documents are cut: at sentences, at their headings, or where the subject drifts. "
            "auto: as the index was made."
        ),
    ] = None,
    on_error: Annotated[
        OnError, typer.Option(help="What to do about a document that cannot be worked on: leave it out, or stop.")
    ] = OnError.skip,
    report_file: Annotated[
        Path | None,
        typer.Option("--report", metavar="FILE", help="Write the report, with all that was left out, as JSON."),
    ] = None,
    config: Config = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print events and, last, the report: a line of JSON each.")
    ] = False,
    quiet: Annotated[
        bool, typer.Option("--quiet", "-q", help="Print the result only: no progress, no list of what was left out.")
    ] = False,
    verbose: Annotated[
        bool, typer.Option("--verbose", help="Print everything left out, what is logged, and where a bug happened.")
    ] = False,
) -> None:
    """Index documents, or bring an index up to date with them.

    Reads txt, md, html, csv, json, jsonl, and with the extras [pdf], [docx] and [office] pdf, docx, pptx and xlsx;
    other files when they hold text. What has been indexed already is left alone; what changed, or is gone from a folder
    given again, is brought up to date. A run that was stopped goes on when the command is given again.
    """
    from knotwork import Index, load_settings

    if verbose:
        console.be_verbose()
    settings = load_settings(
        config,
        profile=profile and profile.value,
        embedder=embedder,
        splitter=splitter and splitter.value,
    )
    if report_file is not None and (report_file.is_dir() or not report_file.absolute().parent.is_dir()):
        raise InputError(f"--report {report_file}: no file can be written there; give a file in a folder that exists")
    started = time.perf_counter()
    with Index.open(index, settings=settings) as kb:
        with console.Watch(json=as_json, quiet=quiet, verbose=verbose) as watch:
            report = kb.add(paths, on_error=on_error.value, progress=watch)
        seconds = time.perf_counter() - started
        if report_file is not None:
            console.write_json(report_file, report)
        if not quiet:
            _tell_skipped(report, len(report.skipped) if verbose else MAX_SKIPPED)
        if as_json:
            console.say_json({"event": "done", "report": report})
        if not (report.added or report.changed or report.removed or report.unchanged):
            raise InputError(_why_nothing(paths, report))
        if not as_json:
            say(_summary(report, index, seconds))
            status = kb.status()
            say(_holdings(status))
            for hint in () if quiet else report.hints:
                note(f"note: {hint}")
            if not quiet and status.documents and not status.relationships:
                note(_why_no_graph(status))


def _tell_skipped(report: Report, most: int) -> None:
    if report.skipped:
        note(f"left out {len(report.skipped)}:")
    for skipped in report.skipped[:most]:
        by = f" ({one_line(skipped.transform)})" if skipped.transform else ""
        note(f"  {one_line(skipped.what)}: {one_line(skipped.reason, 300)}{by}")
    if len(report.skipped) > most:
        note(f"  and {len(report.skipped) - most} more; --verbose lists them all")


def _why_nothing(paths: list[Path], report: Report) -> str:
    given = ", ".join(str(path) for path in paths)
    if not report.skipped:
        return f"nothing to index: there are no files in {given}"
    first = report.skipped[0]
    if len(report.skipped) == 1:
        return f"nothing could be indexed: {first.what}: {first.reason}"
    return f"nothing could be indexed: all {len(report.skipped)} were left out, {first.what} because: {first.reason}"


def _summary(report: Report, index: Path, seconds: float) -> str:
    counted = ", ".join(f"{getattr(report, word)} {word}" for word in ("added", "changed", "removed", "unchanged"))
    left_out = f", {len(report.skipped)} left out" if report.skipped else ""
    kinds = ", ".join(f"{count} {clean(kind)}" for kind, count in report.kinds.items())
    pages = f", {report.pages} pages" if report.pages else ""
    read = f"\nread {kinds}{pages}" if kinds else ""
    return f"{clean(index)}: documents {counted}{left_out} ({seconds:.1f} s){read}"


def _why_no_graph(status: Status) -> str:
    lack = "relations between the names" if status.entities else "names"
    return f"note: no {lack} were found, so the graph is bare; questions are answered from the text alone"


def _holdings(status: Status) -> str:
    kinds = ("documents", "chunks", "entities", "relationships", "mentions", "communities", "reports")
    return "it holds " + ", ".join(f"{getattr(status, kind)} {kind}" for kind in kinds)
