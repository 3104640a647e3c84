"""Markdown: the text stays as it is written; only its title is looked for."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import accumulate, pairwise
from typing import Any

from markdown_it import MarkdownIt

from knotwork.graph import Document
from knotwork.loaders.boilerplate import content_spans, page_facts
from knotwork.loaders.documents import clean_title, whole
from knotwork.loaders.encoding import decode
from knotwork.loaders.files import Found, read_bytes

_MOST = 1_000_000  # characters in which headings are looked for
_START = 64 * 1024  # a title stands near the start
_FRONT_MATTER = re.compile(r"---[ \t]*\r?\n(.*?)^(?:---|\.\.\.)[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_TITLE_LINE = re.compile(r"^title[ \t]*:[ \t]*(\S.*?)[ \t\r]*$", re.MULTILINE | re.IGNORECASE)
_BLOCKS = MarkdownIt("commonmark").disable("inline")
_INLINE = MarkdownIt("commonmark")
_WORDS = ("text", "text_special", "code_inline")


def load(found: Found, kind: str) -> Iterator[Document]:
    decoded = decode(read_bytes(found))
    text = decoded.text
    document = whole(found, kind, decoded, text, _title(text[:_START]))
    more: dict[str, Any] = outline(text)
    if spans := content_spans(text):
        more |= {"body": [list(span) for span in spans], **page_facts(text)}
    yield replace(document, metadata={**document.metadata, **more})


def outline(text: str) -> dict[str, Any]:
    """The metadata that says where the headings stand, without their marks; none of those in code or quotations.

    Of the first million characters: the parser takes up to ten seconds for them, if they are all lists.
    """
    text = text[:_MOST]
    front = _FRONT_MATTER.match(text)
    starts = list(accumulate(map(len, text.splitlines(keepends=True)), initial=0))
    found: list[list[Any]] = []
    for heading, inline in pairwise(_BLOCKS.parse(text)):
        if heading.type == "heading_open" and heading.level == 0 and heading.map is not None:
            start = starts[heading.map[0]]
            title = clean_title(_plain(inline.content))
            if title and (front is None or start >= front.end()):
                found.append([start, int(heading.tag[1]), title])
    return {"outline": found} if found else {}


def _title(text: str) -> str:
    """The `title:` of the front matter, else the first heading of level 1 that isn't inside something else."""
    if front := _FRONT_MATTER.match(text):
        text = text[front.end() :]
        if line := _TITLE_LINE.search(front.group(1)):
            return _unquoted(line.group(1))
    tokens = _BLOCKS.parse(text)
    for heading, inline in pairwise(tokens):
        if heading.type == "heading_open" and heading.tag == "h1" and heading.level == 0:
            title = _plain(inline.content)
            if title.strip():
                return title
    return ""


def _plain(markup: str) -> str:
    parts = _INLINE.parseInline(markup[:4096])[0].children or []
    # Breaks are blanks; of pictures, links and tags only the words stay.
    shown = ((part.type, part.content) for part in parts)
    return "".join(" " if type.endswith("break") else text if type in _WORDS else "" for type, text in shown)


def _unquoted(value: str) -> str:
    return value[1:-1] if len(value) > 1 and value[0] == value[-1] and value[0] in "\"'" else value
