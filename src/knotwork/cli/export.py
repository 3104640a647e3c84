"""`knotwork export`: the graph for other programs."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from knotwork.cli import console
from knotwork.cli.console import INDEX, IndexDir, clean, say
from knotwork.errors import InputError


class Format(StrEnum):
    json = "json"


def run(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="PATH", help="File to write; - is standard output.")
    ],
    format: Annotated[
        Format, typer.Option("--format", "-f", help="json: what KnowledgeGraph.load reads.")
    ] = Format.json,
    index: IndexDir = INDEX,
    force: Annotated[bool, typer.Option("--force", help="Overwrite the file if there is one.")] = False,
) -> None:
    """Write the knowledge graph of an index to a file."""
    from knotwork import Index, Settings

    to_stdout = str(output) == "-"
    if not to_stdout and output.is_dir():
        raise InputError(f"{output} is a folder; give the name of a file in it")
    if not to_stdout and output.exists() and not force:
        raise InputError(f"{output} exists already; give another name, or --force to overwrite it")
    with Index.open(index, settings=Settings(), readonly=True) as kb:
        graph = kb.graph
        if to_stdout:
            console.say_json(graph.to_dict())
        else:
            graph.save(output)
            say(f"{clean(output)}: {len(graph.nodes)} nodes, {len(graph.relationships)} relationships")
