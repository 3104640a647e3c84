"""From paths to Documents: `find` lists the files, `read_all` turns them into Documents, several at once.

What cannot be read comes back as `Skipped`, with its reason, in the place where a Document would have been.

`KINDS` is the one place that says which suffix is read by what. To read another kind of file, write
`loaders/x.py` with `load(found, kind) -> Iterable[Document | Skipped]` that raises `Unreadable` when the
whole file is no use, and give its suffixes a line in the table. A format that a foreign library parses gets a
`parse(path, tell) -> Parsed` instead and a line in `worker.FORMATS`: it runs in a process of its own.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future
from typing import TypeAlias

from knotwork.errors import MissingExtra
from knotwork.graph import Document
from knotwork.loaders import html, json, markdown, tabular, text, worker
from knotwork.loaders.documents import document_id
from knotwork.loaders.files import MAX_BYTES, Found, Skipped, Unreadable, find, not_yet
from knotwork.loaders.formats import format_of
from knotwork.loaders.isolated import Limits, Workers, document_of
from knotwork.threads import submit

__all__ = [
    "KINDS",
    "MAX_BYTES",
    "Found",
    "Limits",
    "Loader",
    "Skipped",
    "document_id",
    "find",
    "read",
    "read_all",
    "stamp",
]

Loader: TypeAlias = Callable[[Found, str], Iterable[Document | Skipped]]

READING = 1
"""To be raised when files are read otherwise than before: what was kept of them counts no more."""

AT_ONCE = 4
"""Files that are read at the same time, at most; one a core on smaller machines."""

# suffix: (the kind that a Document's metadata names, what reads it; None: its format, told by its bytes)
KINDS: dict[str, tuple[str, Loader | None]] = {
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
    ".pdf": ("pdf", None),
    ".docx": ("docx", None),
    ".docm": ("docx", None),
    ".dotx": ("docx", None),
    ".pptx": ("pptx", None),
    ".pptm": ("pptx", None),
    ".ppsx": ("pptx", None),
    ".xlsx": ("xlsx", None),
    ".xlsm": ("xlsx", None),
    ".doc": ("Word", not_yet),
    ".rtf": ("RTF", not_yet),
    ".odt": ("OpenDocument", not_yet),
    ".ods": ("OpenDocument", not_yet),
    ".odp": ("OpenDocument", not_yet),
    ".xls": ("Excel", not_yet),
    ".ppt": ("PowerPoint", not_yet),
    ".epub": ("EPUB", not_yet),
    ".zip": ("ZIP", not_yet),
}


def read_all(files: Iterable[Found], limits: Limits | None = None) -> Iterator[tuple[Found, list[Document | Skipped]]]:
    """What each file holds, in the order of the files; several are read at once, and few ahead of what is taken."""
    count = min(AT_ONCE, os.cpu_count() or 1)
    with Workers(limits or Limits(), count) as workers:
        ahead: deque[tuple[Found, Future[list[Document | Skipped]]]] = deque()
        for file in files:
            ahead.append((file, submit(read, file, workers)))
            if len(ahead) > 2 * count:
                found, future = ahead.popleft()
                yield found, future.result()
        while ahead:
            found, future = ahead.popleft()
            yield found, future.result()


def read(found: Found, workers: Workers | None = None) -> list[Document | Skipped]:
    """What a file holds: one Document, or for csv, json and jsonl one an item. Bad content never raises.

    `source` is the path below the folder, for items with the place behind it ("news.csv#row 12", "items.json#item 3",
    "log.jsonl#line 7"; counted from 1, a csv header not counted). An id is the item's own, or comes from path and text,
    so that an item inserted before others doesn't rename them. `metadata` holds `path`, `kind`, an item's other
    fields, and, where the text was not plain UTF-8, its `encoding` and how many bad characters were `replaced`;
    `body`, the spans of the text that are worth indexing, where it has a frame (an e-book's licence, a page's menus);
    `page_starts`, where each page, slide or sheet begins, and `outline`, [start, level, title] of each heading;
    `author`, `date` and `url` as far as the file states them.
    """
    if workers is None:
        with Workers(Limits()) as own:
            return read(found, own)
    items: list[Document | Skipped] = []
    try:
        for item in _load(found, workers):
            items.append(item)  # one by one: what came before a failure counts
    except (Unreadable, MissingExtra) as problem:
        items.append(Skipped(found.relative, str(problem)))
    return items or [Skipped(found.relative, "holds no documents")]


def stamp(found: Found) -> str | None:
    """What tells, without reading it, that a file is as it was; None for files that are as quickly read."""
    if KINDS.get(found.path.suffix.lower(), (None, text.load))[1] is not None:
        return None
    try:
        status = found.path.stat()
    except OSError:  # gone, or never to be read: reading says so
        return None
    return f"{READING}:{status.st_size}:{status.st_mtime_ns}"


def _load(found: Found, workers: Workers) -> Iterable[Document | Skipped]:
    kind, load = KINDS.get(found.path.suffix.lower(), (None, None))
    format = format_of(found)
    if format in worker.FORMATS:  # whatever the file's name
        return document_of(found, format, workers.parse(format, str(found.path)))
    if kind is None:  # a suffix that the table doesn't know: text when it looks like text
        return html.load(found, "html") if format == "html" else text.load(found, "txt")
    if load is not None:
        return load(found, kind)
    if format == "html":
        return html.load(found, "html")
    raise Unreadable(f"is no {kind} file by its first bytes; get it again, or name it .txt if it is text")
