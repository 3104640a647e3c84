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
from knotwork.loaders.documents import outline_of, whole
from knotwork.loaders.encoding import decode
from knotwork.loaders.files import Found, read_bytes

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
    more: dict[str, Any] = outline_of(text, headings(text))
    if spans := content_spans(text):
        more |= {"body": [list(span) for span in spans], **page_facts(text)}
    yield replace(document, metadata={**document.metadata, **more})


def headings(text: str) -> Iterator[tuple[int, int, int]]:
    """(start, end, level) of the headings, each as it stands in the text, marks and all; none in code or quotations."""
    front = _FRONT_MATTER.match(text)
    lines = text.splitlines(keepends=True)
    starts = list(accumulate(map(len, lines), initial=0))
    for token in _BLOCKS.parse(text):
        if token.type == "heading_open" and token.level == 0 and token.map is not None:
            start, end = starts[token.map[0]], starts[token.map[1]]
            if front is None or start >= front.end():
                yield start, end, int(token.tag[1])


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
