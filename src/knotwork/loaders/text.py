"""Plain text: the Document's text is the file's, unchanged; what of it is worth indexing stands in its metadata."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import islice
from typing import Any

from knotwork.graph import Document
from knotwork.loaders.boilerplate import content_spans, page_facts
from knotwork.loaders.documents import whole
from knotwork.loaders.encoding import decode
from knotwork.loaders.files import Found, read_bytes
from knotwork.loaders.markdown import outline

_TITLE_LINE = re.compile(r"\s*(?:title|标题|標題|题目|題目)\s*[:：]\s*(\S.*)", re.IGNORECASE)
_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
_HEADING_MARK = re.compile(r"#{1,6}\s+(?=\S)")
# An e-book of Project Gutenberg between its header and its licence; 70,000 books have these two lines.
_EBOOK_BEGIN = re.compile(r"^\*\*\* ?START OF TH(?:E|IS) PROJECT GUTENBERG EBOOK[^\r\n]*\r?$", re.MULTILINE)
_EBOOK_END = re.compile(r"^\*\*\* ?END OF TH(?:E|IS) PROJECT GUTENBERG EBOOK[^\r\n]*\r?$", re.MULTILINE)
_SENTENCE_END = tuple(".!?:;,…。！？：；，、")


def load(found: Found, kind: str) -> Iterator[Document]:
    decoded = decode(read_bytes(found))
    text = decoded.text
    document = whole(found, kind, decoded, text, _title(text))
    more: dict[str, Any] = {}
    if body := _body(text):
        more = {"body": [body]}
    elif spans := content_spans(text):
        more = {"body": [list(span) for span in spans], **page_facts(text), **outline(text)}
    yield replace(document, metadata={**document.metadata, **more}) if more else document


def _body(text: str) -> list[int] | None:
    """Start and end of what is worth indexing, where the text is framed by matter of another kind; else None."""
    begin, end = _EBOOK_BEGIN.search(text), _EBOOK_END.search(text)
    return [begin.end(), end.start()] if begin and end and begin.end() < end.start() else None


def _title(text: str) -> str:
    """A line "Title: …" near the start, as old e-books have; else a short first line with a blank one after it."""
    lines = [match.group().strip() for match in islice(_LINE.finditer(text[:100_000]), 40)]
    for line in lines:
        if match := _TITLE_LINE.fullmatch(line):
            return match.group(1)
    first = next((at for at, line in enumerate(lines) if line), None)
    if first is None or not any(lines[first + 1 :]) or lines[first + 1]:
        return ""
    line = _HEADING_MARK.sub("", lines[first])
    return line if len(line) <= 100 and not line.endswith(_SENTENCE_END) else ""
