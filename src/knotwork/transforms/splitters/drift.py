"""Where the topic of a text changes: the method of the semantic splitter, as functions on texts and vectors.

    sentences → groups → one vector a group → distance between neighbours → break after every distance above a
    percentile → pieces that are too long once more → pieces that are too short join a neighbour

`splitters/semantic.py` does this to documents and to the nodes of a graph.
"""

from __future__ import annotations

import dataclasses
import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from knotwork.errors import InputError
from knotwork.text import sentence_spans
from knotwork.threads import in_thread
from knotwork.transforms.splitters.chunks import (
    Span,
    join_short,
)

Floats: TypeAlias = npt.NDArray[np.float64]
Wanted: TypeAlias = list[tuple[int, str]]
"""Texts to be embedded, each with the number of the document it stands in."""
Embed: TypeAlias = Callable[[Wanted], Awaitable[Floats]]

# Those with rules and abbreviations of their own in sentencex, then others that its general rules serve.
_CODES = (
    "am ar bg bn ca da de el en es fi fr gu hi hy it ja kk kn ml mr my nl pa pl pt ru sk ta te uk "
    "cs et he hr hu id ko lt lv nb nn no ro sl sr sv tr vi zh"
)
LANGUAGES = frozenset(_CODES.split())
FAR = 0.5  # a distance that parts two sentences when there is no other to compare it with
TIE = 1e-6  # distances nearer than this are equal: float32 vectors are no more exact


@dataclass(frozen=True, slots=True)
class Method:
    """How a text is cut. Lengths are in characters; language None: told from the text.

    Raises InputError for what is out of its range.
    """

    sentences_per_group: int = 3
    percentile: float = 0.95
    min_length: int = 50
    max_length: int = 1000
    language: str | None = "en"
    use_split_rules: bool = True
    extend_abbreviations: bool = True

    def __post_init__(self) -> None:
        for name in ("sentences_per_group", "min_length", "max_length"):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool):
                raise InputError(f"{name} must be a whole number, not {value!r}")
        if self.sentences_per_group < 1:
            raise InputError(f"sentences_per_group must be at least 1, not {self.sentences_per_group}")
        if not isinstance(self.percentile, int | float) or not 0 <= self.percentile <= 1:
            raise InputError(f"percentile must be in [0, 1], not {self.percentile!r}")
        if self.min_length < 0:
            raise InputError(f"min_length must be at least 0, not {self.min_length}")
        if self.max_length <= self.min_length:
            raise InputError(f"max_length must be above min_length ({self.min_length}), not {self.max_length}")
        if self.language is not None and (not isinstance(self.language, str) or self.language not in LANGUAGES):
            raise InputError(f"unknown language {self.language!r}; known are {', '.join(sorted(LANGUAGES))}")

    def fits(self, span: Span) -> bool:
        return span[1] - span[0] <= self.max_length

    def short(self, span: Span) -> bool:
        return span[1] - span[0] < self.min_length


# -- sentences ------------------------------------------------------------------------------------

_PAIRS = {"(": ")", "[": "]", "{": "}", "“": "”", "«": "»", "‹": "›", "「": "」", "『": "』", "（": "）", "《": "》",
          "【": "】", "［": "］"}  # fmt: skip
_OPENERS = {closer: opener for opener, closer in _PAIRS.items()} | {"〞": "〝", "＂": "＂"}
_PAIRED = re.compile(r"\n\s*\n|[" + re.escape('"„〝' + "".join(_PAIRS) + "".join(_PAIRS.values())) + "〞]")
_UNPAIRED = str.maketrans(dict.fromkeys('"„〝〞' + "".join(_PAIRS) + "".join(_PAIRS.values()), " "))
_LONGEST_PAIR = 1000  # characters: what lies further apart is no pair, or a text of its own

_NUMBER = r"(?:\d{1,3}|[a-z]|[ivx]{1,5}|[一二三四五六七八九十]{1,3})"
_MARK = rf"(?:[-*+•‣◦▪●·–—]|[(（]?(?:{_NUMBER}[.)）．、]|[A-Z][)）]))"
_ITEM = re.compile(rf"^[^\S\n]*(?={_MARK}[^\S\n]+\S|[(（]?[一二三四五六七八九十\d]{{1,3}}[）、])", re.MULTILINE)
_ONLY_A_MARK = re.compile(rf"\s*(?:{_MARK}|[A-Z]\.)\s*")
_STOP = re.compile(r"(?<![.!?…])[.!?…]++[\"'”’»)\]}]*+\s++(?=[^\W_]|[\"'“‘«(\[{]+\w)")


def sentences(text: str, method: Method) -> list[Span]:
    """Spans of the sentences, which together are the text; white space after a sentence belongs to it.

    A list item begins one. With `use_split_rules` none ends inside brackets or quotes, or after a mark of a list
    ("1."); without, brackets and quotes are read over. With `extend_abbreviations` none ends after an abbreviation
    of the language; without, every full stop before a blank and no small letter is an end.
    """
    if not text.strip():
        return [(0, len(text))] if text else []
    borders = {match.end() for match in _ITEM.finditer(text)}
    if method.use_split_rules:
        borders.update(start for start, _ in sentence_spans(text, method.language))
    else:
        unpaired = text.translate(_UNPAIRED)
        borders.update(_with_opener(text, start) for start, _ in sentence_spans(unpaired, method.language))
    if not method.extend_abbreviations:
        borders.update(match.end() for match in _STOP.finditer(text) if not text[match.end()].islower())
    kept = sorted(borders)
    if method.use_split_rules:
        kept = _outside(kept, _pairs(text))
    return list(pairwise([*_visible_starts(text, kept, method.use_split_rules), len(text)]))


def _visible_starts(text: str, borders: Iterable[int], join_marks: bool) -> list[int]:
    starts, end = [0], len(text.rstrip())
    for border in borders:
        before = text[starts[-1] : border]
        if border >= end or not before.strip() or (join_marks and _ONLY_A_MARK.fullmatch(before)):
            continue
        starts.append(border)
    return starts


def _with_opener(text: str, start: int) -> int:
    """The start of a sentence, with the bracket or quote that opens before it."""
    at = start
    while at > 0 and (text[at - 1] in _PAIRS or text[at - 1] in '"„〝'):
        at -= 1
    return at if at == 0 or text[at - 1].isspace() or text[at] in _PAIRS else start


def _pairs(text: str) -> Iterator[Span]:
    """Where brackets and quotes open and close, in the order of their ends; none reaches over an empty line."""
    open: dict[str, list[int]] = {}
    for match in _PAIRED.finditer(text):
        mark, at = match.group(), match.start()
        if len(mark) > 1:
            open.clear()
        elif mark == '"':
            before, after = text[at - 1 : at], text[at + 1 : at + 2]
            if open.get(mark):
                yield open[mark].pop(), at
            elif after.strip() and not (before.isascii() and before.isalnum()):
                open[mark] = [at]
        elif mark in _OPENERS:
            opener = _OPENERS[mark]
            if opener == "“" and not open.get(opener):
                opener = "„"
            if open.get(opener):
                yield open[opener].pop(), at
        elif mark == "“" and open.get("„"):  # German: „…“
            yield open["„"].pop(), at
        else:
            open.setdefault(mark, []).append(at)


def _outside(borders: Sequence[int], pairs: Iterable[Span]) -> list[int]:
    """The borders that lie in no pair."""
    inside: set[int] = set()
    for opener, closer in pairs:
        if closer - opener <= _LONGEST_PAIR:
            inside.update(borders[bisect_right(borders, opener) : bisect_right(borders, closer)])
    return [border for border in borders if border not in inside]


# -- breaks ---------------------------------------------------------------------------------------


def distances_between(rows: Floats) -> Floats:
    """Cosine distance of each row to the next, (n, d) to (n - 1,). A zero row is at distance 1 from everything."""
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    unit = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return np.asarray(1 - np.clip(np.einsum("ij,ij->i", unit[:-1], unit[1:]), -1, 1), np.float64)


def breaks_after(distances: Floats, percentile: float) -> list[int]:
    """Which of the distances part two pieces: those above the percentile (linear interpolation between ranks).

    Below percentile 1 those tied with the largest do so too, unless all are equal and small.

    >>> breaks_after(np.array([0.1, 0.1, 0.7]), 0.5)
    [2]
    """
    if not len(distances) or percentile >= 1:
        return []
    ordered = np.sort(distances)
    least, most = ordered[0], ordered[-1]
    if most - least <= TIE:
        return list(range(len(distances))) if most >= FAR - TIE else []
    place = percentile * (len(ordered) - 1)
    below = int(place)
    threshold = ordered[below] + (ordered[min(below + 1, len(ordered) - 1)] - ordered[below]) * (place - below)
    found: list[int] = np.flatnonzero((distances > threshold) | (distances >= most - TIE)).tolist()
    return found


@dataclass(frozen=True, slots=True)
class _Stretch:
    """Part of a text, as neighbouring units: groups of sentences, or single ones. distances: between the units."""

    number: int  # of the text
    units: Sequence[Span]
    grouped: bool
    distances: Floats

    @property
    def span(self) -> Span:
        return self.units[0][0], self.units[-1][1]

    def parts(self, percentile: float) -> list[_Stretch]:
        ends = [at + 1 for at in breaks_after(self.distances, percentile)]
        return [
            dataclasses.replace(self, units=self.units[first:last], distances=self.distances[first : last - 1])
            for first, last in pairwise([0, *ends, len(self.units)])
        ]


class Cutting:
    """The method at work on several texts together: what it wants embedded at once is one pass over all of them.

    cutting = Cutting(texts, method)
    while cutting.wanted:
        cutting.take(rows)      # the vectors of its texts, (len(wanted), dimension)
    cutting.spans               # of each text
    """

    def __init__(self, texts: Sequence[str], method: Method) -> None:
        self.texts = texts
        self.method = method
        self.wanted: Wanted = []
        self._sentences = [sentences(text, method) for text in texts]
        self._starts = [[start for start, _ in spans] for spans in self._sentences]
        self._pieces: list[list[Span]] = [[] for _ in texts]
        self._waiting: list[tuple[int, Sequence[Span], bool]] = []
        self._rows: dict[str, int] = {}
        self._vectors: Floats = np.zeros((0, 0))
        for number, units in enumerate(self._sentences):
            size = method.sentences_per_group
            groups = [(units[at][0], units[min(at + size, len(units)) - 1][1]) for at in range(0, len(units), size)]
            if len(units) < 2:  # nothing to compare
                self._pieces[number] += self._packed(number, units)
            else:
                grouped = len(groups) >= 3
                self._waiting.append((number, groups if grouped else units, grouped))
        self._go_on()

    @property
    def spans(self) -> list[list[Span]]:
        """The pieces of each text, which together are the text."""
        method = self.method
        return [join_short(sorted(pieces), method.short, method.fits) for pieces in self._pieces]

    def take(self, rows: Floats) -> None:
        """The vectors of the texts wanted; after this others may be."""
        if len(self._vectors) and self._vectors.shape[1] != rows.shape[1]:
            raise InputError(
                f"the embedder gave vectors of {self._vectors.shape[1]} numbers, then of {rows.shape[1]}; "
                "all must be of one length"
            )
        self._vectors = np.concatenate([self._vectors, rows]) if len(self._vectors) else rows
        self.wanted = []
        self._cut_waiting()
        self._go_on()

    def _go_on(self) -> None:
        """Cut what waits until something has to be embedded for it."""
        while self._waiting and not (wanted := self._unknown()):
            self._cut_waiting()
        self.wanted = wanted if self._waiting else []

    def _unknown(self) -> Wanted:
        wanted: Wanted = []
        for number, units, _ in self._waiting:
            for text in self._said(number, units):
                if text not in self._rows:
                    self._rows[text] = len(self._rows)
                    wanted.append((number, text))
        return wanted

    def _cut_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for number, units, grouped in waiting:
            rows = self._vectors[[self._rows[text] for text in self._said(number, units)]]
            self._cut(_Stretch(number, units, grouped, distances_between(rows)))

    def _said(self, number: int, units: Sequence[Span]) -> list[str]:
        text = self.texts[number]
        return [text[start:end].strip() for start, end in units]

    def _cut(self, whole: _Stretch) -> None:
        """Break a stretch, and what is too long of it again, until it fits or can't be broken so."""
        method, pieces = self.method, self._pieces[whole.number]
        rest = [whole]
        while rest:
            parts = rest.pop().parts(method.percentile)
            for part in parts:
                if method.fits(part.span):
                    pieces.append(part.span)
                elif part.grouped and len(part.units) < 3 and method.percentile < 1:
                    self._by_sentence(part)
                elif len(parts) > 1:
                    rest.append(part)
                else:
                    pieces += self._packed(part.number, part.units)

    def _by_sentence(self, part: _Stretch) -> None:
        """Fewer than three groups: each sentence is its own, to be embedded in the next pass."""
        units = self._within(part.number, part.span)
        if len(units) > 1:
            self._waiting.append((part.number, units, False))
        else:
            self._pieces[part.number] += self._packed(part.number, units)

    def _within(self, number: int, span: Span) -> list[Span]:
        starts = self._starts[number]
        return self._sentences[number][bisect_left(starts, span[0]) : bisect_left(starts, span[1])]

    def _packed(self, number: int, units: Sequence[Span]) -> list[Span]:
        """Units in pieces as long as fit; one that is too long by its sentences, a sentence by its characters."""
        fits, text = self.method.fits, self.texts[number]
        small: list[Span] = []
        for unit in units:
            for sentence in [unit] if fits(unit) else self._within(number, unit):
                small += [sentence] if fits(sentence) else _slices(text, sentence, self.method.max_length)
        packed = small[:1]
        for start, end in small[1:]:
            if fits((packed[-1][0], end)):
                packed[-1] = (packed[-1][0], end)
            else:
                packed.append((start, end))
        return packed


def _slices(text: str, span: Span, size: int) -> list[Span]:
    """A stretch in pieces of about equal length up to `size`, ending after a blank or a comma where one is near."""
    start, end = span
    slices: list[Span] = []
    while start < end:
        left = end - start
        stop = start + math.ceil(left / math.ceil(left / size))
        if stop < end and not text[stop - 1].isspace():
            near = max(text.rfind(mark, start + (stop - start) // 2, stop) for mark in " \n\t\u3000，、；")
            stop = near + 1 if near >= 0 else stop
        slices.append((start, stop))
        start = stop
    return slices


async def cut(texts: Sequence[str], method: Method, embed: Embed) -> list[list[Span]]:
    """The pieces of each text, which together are the text. One call of `embed` a pass over all texts."""
    cutting = await in_thread(Cutting, texts, method)
    while cutting.wanted:
        await in_thread(cutting.take, await embed(cutting.wanted))
    return await in_thread(lambda: cutting.spans)
