"""`knotwork status`: what an index holds."""

from __future__ import annotations

from knotwork.cli import console
from knotwork.cli.console import INDEX, IndexDir, Json, one_line, say


def run(index: IndexDir = INDEX, as_json: Json = False) -> None:
    """Show what an index holds and which models made it."""
    from knotwork import Index, Settings

    # The default settings: what an index holds does not depend on what is set.
    with Index.open(index, settings=Settings(), readonly=True) as kb:
        status = kb.status()
    if as_json:
        console.say_json(status)
        return
    dimension = f", {status.dimension} dimensions" if status.dimension else ""
    rows = {
        "index": status.path,
        "documents": status.documents,
        "chunks": status.chunks,
        "entities": status.entities,
        "relationships": status.relationships,
        "mentions": status.mentions,
        "communities": status.communities,
        "reports": status.reports,
        "profile": status.profile or "none yet",
        "embedder": f"{status.embedder or 'none yet'}{dimension}",
        "complete": "yes" if status.complete else "no: a run was interrupted; give its knotwork index command again",
    }
    for name, value in rows.items():
        say(f"{name:<14}{one_line(value)}")
