"""A text as all methods read it: its headings, paragraphs and sentences."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator
from typing import NamedTuple

from knotwork.digest.headings import Heading, headings_of
from knotwork.digest.lines import ITEM, Line, lines_of, plain_of, said_of
from knotwork.digest.words import HAN, HAS_WORD
from knotwork.text import sentence_spans

LONGEST = 1_000  # characters of a sentence; a longer one is several
_PIECE = 4_000  # characters in which sentences are looked for at once: quotation marks left open take the square
_LEADING = " >|-–—•*#.,:;，。、；：！？)]）】」』”"


class Block(NamedTuple):
    """A paragraph, a list item or a heading."""

    start: int
    end: int
    heading: bool = False


class Page(NamedTuple):
    plain: str
    heads: list[Heading]
    blocks: list[Block]


def read(text: str) -> Page:
    plain = plain_of(text)
    lines = lines_of(plain)
    heads = headings_of(plain, lines)
    return Page(plain, heads, _blocks(plain, lines, heads))


def _blocks(plain: str, lines: list[Line], heads: list[Heading]) -> list[Block]:
    """Paragraphs, list items and headings; no code and no tables, where there is anything else.

    A line belongs to the paragraph of the line before it when that was wrapped: is long, or goes on in small letters.
    """
    starts = [head.start for head in heads]
    blocks: list[Block] = []
    above: Line | None = None  # the line before, when it is a paragraph's or an item's
    for line in lines:
        at = bisect_left(starts, line.start)
        if at < len(starts) and starts[at] < line.end:
            blocks.append(Block(line.start, line.end, heading=True))
            above = None
        elif line.kind not in ("text", "item"):
            above = None
        else:
            mark = ITEM.match(plain, line.start, line.end)
            if above and not mark and not line.blank_before and _wrapped(plain, above, line):
                blocks[-1] = blocks[-1]._replace(end=line.end)
            else:
                blocks.append(Block(mark.end() if mark else line.start, line.end))
            above = line
    if all(block.heading for block in blocks):
        return [Block(line.start, line.end) for line in lines]
    return blocks


def _wrapped(plain: str, line: Line, below: Line) -> bool:
    begin = plain[below.start : below.start + 50].lstrip()[:1]
    width = line.end - line.start
    return width >= 45 or begin.islower() or (width >= 20 and HAN.match(begin) is not None)


def pieces(plain: str, start: int, end: int, size: int = _PIECE) -> Iterator[tuple[int, int]]:
    """Spans of at most `size` characters, ending behind a line or a sentence where one ends, else behind a blank."""
    while end - start > size:
        middle, stop = start + size // 2, start + size
        marks = (plain.rfind(mark, middle, stop) + len(mark) for mark in ("\n", "。", ". ", "！", "？", " "))
        cut = next((mark for mark in marks if mark > middle), stop)
        yield start, cut
        start = cut
    yield start, end


def sentences(page: Page) -> Iterator[str]:
    """The sentences of the running text, each as a reader sees it."""
    for block in page.blocks:
        for start, end in pieces(page.plain, block.start, block.end if not block.heading else block.start):
            for first, last in sentence_spans(page.plain[start:end]):
                for a, b in pieces(page.plain, start + first, start + last, LONGEST):
                    said = said_of(page.plain[a:b]).lstrip(_LEADING)
                    if HAS_WORD.search(said):
                        yield said
