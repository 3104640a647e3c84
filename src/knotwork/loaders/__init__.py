"""From a path to Documents: `find` lists the files, `read` turns one into Documents.

What cannot be read comes back as `Skipped`, with its reason, in the place where a Document would have been.

`KINDS` is the one place that says which suffix is read by what. To read another kind of file, write
`loaders/x.py` with `load(found, kind) -> Iterable[Document | Skipped]` that raises `Unreadable` when the
whole file is no use, and give its suffixes a line in the table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeAlias

from knotwork.graph import Document
from knotwork.loaders import html, json, markdown, tabular, text
from knotwork.loaders.files import MAX_BYTES, Found, Skipped, Unreadable, find, not_yet

__all__ = ["KINDS", "MAX_BYTES", "Found", "Loader", "Skipped", "find", "read"]

Loader: TypeAlias = Callable[[Found, str], Iterable[Document | Skipped]]

# suffix: (the kind that a Document's metadata names, what reads it)
KINDS: dict[str, tuple[str, Loader]] = {
    ".txt": ("txt", text.load),
    ".text": ("txt", text.load),
    ".md": ("md", markdown.load),
    ".markdown": ("md", markdown.load),
    ".html": ("html", html.load),
    ".htm": ("html", html.load),
    ".xhtml": ("html", html.load),
    ".csv": ("csv", tabular.load),
    ".tsv": ("csv", tabular.load),
    ".json": ("json", json.load),
    ".jsonl": ("jsonl", json.load_lines),
    ".ndjson": ("jsonl", json.load_lines),
    ".pdf": ("PDF", not_yet),
    ".doc": ("Word", not_yet),
    ".docx": ("Word", not_yet),
    ".rtf": ("RTF", not_yet),
    ".odt": ("OpenDocument", not_yet),
    ".ods": ("OpenDocument", not_yet),
    ".odp": ("OpenDocument", not_yet),
    ".xls": ("Excel", not_yet),
    ".xlsx": ("Excel", not_yet),
    ".ppt": ("PowerPoint", not_yet),
    ".pptx": ("PowerPoint", not_yet),
    ".epub": ("EPUB", not_yet),
}

# A suffix that the table doesn't know: text when it looks like text.
_OTHER: tuple[str, Loader] = ("txt", text.load)


def read(found: Found) -> list[Document | Skipped]:
    """What a file holds: one Document, or for csv, json and jsonl one an item. Bad content never raises.

    `source` is the path below the folder, for items with the place behind it ("news.csv#row 12", "items.json#item 3",
    "log.jsonl#line 7"; counted from 1, a csv header not counted). An id is the item's own, or comes from path and text,
    so that an item inserted before others doesn't rename them. `metadata` holds `path`, `kind`, an item's other
    fields, and, where the text was not plain UTF-8, its `encoding` and how many bad characters were `replaced`;
    `body`, the spans of the text that are worth indexing, where it has a frame (an e-book's licence).
    """
    kind, load = KINDS.get(found.path.suffix.lower(), _OTHER)
    items: list[Document | Skipped] = []
    try:
        for item in load(found, kind):
            items.append(item)  # one by one: what came before a failure counts
    except Unreadable as problem:
        items.append(Skipped(found.relative, str(problem)))
    return items or [Skipped(found.relative, "holds no documents")]
