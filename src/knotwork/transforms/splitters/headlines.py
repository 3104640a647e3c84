"""Chunks that are the sections of a text, cut at its headings."""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import ClassVar

from knotwork.errors import InputError
from knotwork.graph import Node, Relationship
from knotwork.places import outline_of
from knotwork.text import count_tokens, sentence_spans, token_ends
from knotwork.threads import in_thread
from knotwork.transforms.arguments import check_count
from knotwork.transforms.base import Splitter, label
from knotwork.transforms.splitters.chunks import (
    Span,
    body,
    chunk_nodes,
    join_short,
    shifted,
    without_blanks,
)

_LINE = re.compile(r"[^\r\n\v\f\x1c-\x1e\x85\u2028\u2029]+")
_MARKS = " \t\u00a0\u3000#*_=~`>:："
_NUMBER = re.compile(r"(?:\d{1,3}(?:\.\d{1,3})*|[IVXLC]+)[.)．、]?\s+(?=\S)")
_LONGEST = 400  # characters of a line that may be a heading
FULL = 0.9  # of the tokens a piece may have, as many as are aimed at: sentences are not cut to measure


@dataclass(frozen=True, slots=True)
class _Heading:
    start: int  # of its line
    level: int  # 1 is the outermost
    title: str


@dataclass
class HeadlineSplitter(Splitter):
    """Cuts `page_content` at the lines that are its `headlines` into chunks that together are the text.

    A section below `min_tokens` (o200k vocabulary) joins the next, the last one the previous; a chunk over
    `max_tokens` falls into few pieces of about equal length, at sentence borders, or inside a longer sentence. Only a
    blank stretch longer than that makes a chunk too long, for it stays with the text beside it. A text below
    `min_tokens` is one chunk, headlines or not.

    Where the document's metadata has an `outline`, its headings are headlines, too. Headlines may come in any order.
    A line is one whatever its marks ("## Methods", "2. Methods:", "**Methods**"); one that has no line of its own
    cuts where it begins a line or a sentence; others don't cut. Chunks are tied and carry what those of
    SentenceSplitter do, and `headings`: what they stand under, outermost first, told by the number of "#". Raises
    InputError naming the node when `page_content`, or `headlines` of a longer text, is missing or of another type.
    """

    min_tokens: int = 300
    max_tokens: int = 1000

    reads: ClassVar[frozenset[str]] = frozenset({"page_content", "headlines"})

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count(label(self), "min_tokens", self.min_tokens, 0)
        check_count(label(self), "max_tokens", self.max_tokens)
        if self.min_tokens > self.max_tokens:
            raise InputError(f"min_tokens ({self.min_tokens}) must be at most max_tokens ({self.max_tokens})")

    async def split(self, node: Node) -> tuple[list[Node], list[Relationship]]:
        text = node.get_property("page_content")
        if not isinstance(text, str):
            raise InputError(
                f"node {node.id!r}: property 'page_content' is {_said(text)}, a str is needed; "
                "give it one, or leave the node out by filter_nodes"
            )
        return await in_thread(self._split, node, text)

    def _split(self, node: Node, text: str) -> tuple[list[Node], list[Relationship]]:
        parts = body(node, text)
        short = sum(count_tokens(text[start:end] for start, end in parts)) < self.min_tokens
        headlines = [] if short else _headlines_of(node)
        spans: list[Span] = []
        headings: list[list[str]] = []
        for start, end in parts:
            found = _with_outline(heading_lines(text[start:end], headlines), node, start, end)
            inside = self._spans(text[start:end], [heading.start for heading in found])
            spans += shifted(inside, start)
            headings += _paths(inside, found)
        return chunk_nodes(node, text, spans, headings)

    def _spans(self, text: str, cuts: Sequence[int]) -> list[Span]:
        def tokens(span: Span) -> int:
            return count_tokens([text[slice(*span)]])[0]

        def fits(span: Span) -> bool:
            return tokens(span) <= self.max_tokens

        visible = len(text) - len(text.lstrip())
        borders = [0, *(cut for cut in cuts if cut > visible), len(text)]
        sections = _joined(text, list(pairwise(borders)), self.min_tokens)
        pieces = [piece for section in sections for piece in _portions(text, section, self.max_tokens)]
        return join_short(without_blanks(text, pieces, fits), lambda span: tokens(span) < self.min_tokens, fits)


def _said(value: object) -> str:
    return "missing" if value is None else type(value).__name__


def _headlines_of(node: Node) -> list[str]:
    headlines = node.get_property("headlines")
    if not isinstance(headlines, list | tuple):
        raise InputError(
            f"node {node.id!r}: property 'headlines' is {_said(headlines)}, a list of str is needed; "
            "run HeadlinesExtractor before HeadlineSplitter"
        )
    for headline in headlines:
        if not isinstance(headline, str):
            raise InputError(
                f"node {node.id!r}: property 'headlines' holds {headline!r}, which is {_said(headline)}; "
                "a list of str is needed"
            )
    return list(headlines)


# -- where the headings stand ---------------------------------------------------------------------


def heading_lines(text: str, headlines: Iterable[str]) -> list[_Heading]:
    """The lines of a text that are among the headlines, in order."""
    named = {_plain(headline): headline for headline in headlines if _plain(headline)}
    if not named:
        return []
    lines: dict[str, list[_Heading]] = {}
    bare: dict[str, list[_Heading]] = {}  # by what is left without a number
    for match in _LINE.finditer(text):
        line = match.group()
        if len(line) > _LONGEST or not (plain := _plain(line)):
            continue
        marks = line.lstrip()
        level = len(marks) - len(marks.lstrip("#")) or 1
        heading = _Heading(match.start(), level, line.strip(_MARKS))
        lines.setdefault(plain, []).append(heading)
        bare.setdefault(_unnumbered(plain), []).append(heading)
    found: dict[int, _Heading] = {}
    for plain, headline in named.items():
        standing = lines.get(plain) or bare.get(_unnumbered(plain)) or _begun(text, headline)
        found.update((heading.start, heading) for heading in standing)
    return [found[start] for start in sorted(found)]


def _with_outline(found: Sequence[_Heading], node: Node, start: int, end: int) -> list[_Heading]:
    """The headings of a part of a text, those that its document's metadata names among them."""
    offset = node.get_property("start") or 0
    named = {heading.start: heading for heading in found}
    for place, level, title in outline_of(node.get_property("metadata")):
        if start <= place - offset < end:
            named[place - offset - start] = _Heading(place - offset - start, level, title)
    return [named[place] for place in sorted(named)]


def _plain(line: str) -> str:
    return " ".join(line.strip(_MARKS).split()).casefold()


def _unnumbered(plain: str) -> str:
    return _NUMBER.sub("", plain, count=1) if _NUMBER.match(plain) else plain


def _begun(text: str, headline: str) -> list[_Heading]:
    """Where a headline that has no line of its own begins a line or a sentence."""
    title = headline.strip(_MARKS)
    said = r"[^\S\n]+".join(map(re.escape, title.split()))
    before = r"(?:^|[.!?:][\s\"')\]]{1,9}|[。！？]\s{0,9})"  # bounded, so that long blank runs cost no square
    begins = re.finditer(rf"{before}(?P<line>[#*_ \t]{{0,9}}{said})(?!\w)", text, re.MULTILINE)
    return [_Heading(match.start("line"), 1, title) for match in begins]


def _paths(spans: Sequence[Span], found: Sequence[_Heading]) -> list[list[str]]:
    """The headings each span stands under: those of its first section that has any."""
    paths: list[list[str]] = []  # after each heading
    open: list[_Heading] = []
    for heading in found:
        open = [*(above for above in open if above.level < heading.level), heading]
        paths.append([above.title for above in open])
    starts = [heading.start for heading in found]
    under: list[list[str]] = []
    for start, end in spans:
        at = max(bisect_right(starts, start) - 1, 0)
        under.append(paths[at] if at < len(starts) and starts[at] < end else [])
    return under


# -- sizes ----------------------------------------------------------------------------------------


def _joined(text: str, sections: Sequence[Span], least: int) -> list[Span]:
    """Sections of at least `least` tokens, each short one joined to the next, the last one to the previous."""
    joined: list[Span] = []
    begun, total = 0, 0
    for (start, end), tokens in zip(sections, count_tokens(text[start:end] for start, end in sections), strict=True):
        begun, total = (begun if total else start), total + tokens
        # read in one piece they may have a token less than the sum of theirs
        if total >= least and (begun == start or count_tokens([text[begun:end]])[0] >= least):
            joined.append((begun, end))
            total = 0
    if total:
        begun = joined.pop()[0] if joined else begun
        joined.append((begun, len(text)))
    return joined


def _portions(text: str, span: Span, size: int) -> list[Span]:
    """A span in few pieces of about equal length, of at most `size` tokens, on sentence borders where sentences fit."""
    start, end = span
    if count_tokens([text[start:end]])[0] <= size:
        return [span]
    borders = [start + begun for begun, _ in sentence_spans(text[start:end])]
    pieces: list[Span] = []
    rest = [span]
    while rest:
        start, end = rest.pop()
        tokens = count_tokens([text[start:end]])[0]
        if end - start == 1 or tokens <= size:
            pieces.append((start, end))
            continue
        number = math.ceil(tokens / (FULL * size))  # of pieces
        share = (number // 2) / number
        border = _nearest(borders, start, end, share) or _inside(text, start, end, share)
        rest += [(border, end), (start, border)]
    return pieces


def _nearest(borders: Sequence[int], start: int, end: int, share: float) -> int | None:
    """The border inside a span that is nearest to where this share of it ends."""
    inside = borders[bisect_right(borders, start) : bisect_left(borders, end)]
    wanted = start + share * (end - start)
    return min(inside, key=lambda border: abs(border - wanted)) if inside else None


def _inside(text: str, start: int, end: int, share: float) -> int:
    """Where a sentence is cut: after this share of its tokens, or a blank that is near."""
    ends = [start + at for at in token_ends(text[start:end])]
    border = ends[max(int(share * len(ends)) - 1, 0)]
    near = (border - start) // 4
    blank = max(text.rfind(" ", border - near, border), text.rfind("\n", border - near, border))
    if blank >= border - near > start:
        border = blank + 1
    return border if start < border < end else (start + end) // 2
