"""Headings: lines that say what stands below them."""

from __future__ import annotations

import re
from collections import Counter
from typing import NamedTuple

from knotwork.digest.lines import GONE, SENTENCE_END, Line, lines_of, plain_of, said_of
from knotwork.digest.words import HAN, HAS_LETTER, MONTHS
from knotwork.text import CJK

_LONGEST = 400  # characters of a line that may be a heading
_MOST_WORDS = 12  # … of a numbered one
_ATX = re.compile(r"(?:[ \t]{0,3}>){0,4}[ \t]{0,3}(#{1,6})[ \t]+(\S.*?)(?:[ \t]+#+)?\s*", re.DOTALL)
_UNDERLINE = re.compile(r"\s{0,3}(={2,}|-{2,})\s*")

_COUNT = r"(?:\d{1,3}|[ivxlc]{1,8}|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve)\b"
_ZH_COUNT = r"[一二三四五六七八九十百零〇两\d]{1,6}"
_NUMBER = re.compile(
    rf"(?P<part>(?:part|book|volume) {_COUNT}|第{_ZH_COUNT}[编篇卷部])"
    rf"|(?P<chapter>(?:chapter|stave|act|lecture|canto) {_COUNT}|appendix \w\b|第{_ZH_COUNT}[章回集])"
    rf"|(?P<section>(?:section|scene|article) {_COUNT}|第{_ZH_COUNT}[节条])"
    r"|(?P<figure>\d{1,2}(?:\.\d{1,2}){0,4}(?=[.)、．]?\s+[^\W\d_]|[、．][^\W\d_])|[IVX]{1,5}(?=\.\s))"
    rf"|(?P<zh>{_ZH_COUNT}(?=[、．]))|(?P<bracket>[（(]{_ZH_COUNT}[)）])",
    re.IGNORECASE,
)
_LEVELS = {"part": 1, "chapter": 2, "section": 3, "figure": 2, "zh": 3, "bracket": 4}  # a figure's points add one each
_CAPITALS, _STANDING = 5, 6  # levels of lines that only their looks make headings

_PART = re.compile(r"(?:[^\0]|(?<!\0)\0{1,3}(?!\0))+")  # a line's text between links
_BLANK = GONE + " \t\f\v\u3000\xa0"
_BEGINS = re.compile(rf"[\"“‘《]?(?:[A-ZÀ-ÞΑ-ΩА-Я]|[{CJK}])")
_NO_HEADING = re.compile(r"[,;:，。；：、…\"”|=<>{}]$|\|\s|[@=<>{}\\]|\w\.\s+\w{3}")


class Heading(NamedTuple):
    """`text[start:end]` is what it says, without the marks before and behind it."""

    start: int
    end: int
    level: int


def headlines(text: str, max_num: int = 5) -> list[str]:
    """The headings of a text, in its order; each stands in the text, on one line. None in mere prose.

    Headings are the lines that Markdown marks as such ("# Title", or underlined); numbered lines ("1.2 Methods",
    "Chapter 1", "第一章"); and, in a text with no more than one of Markdown's, lines of capitals, in title case, or of
    a few Chinese characters, that stand alone over prose. A heading is given without the marks around it, "# Title" as
    "Title". Lines of code are none. Of too many the highest-level ones stay; of one level those over the longest
    sections.
    """
    found: dict[str, Heading] = {}
    plain = plain_of(text)
    for head in headings_of(plain, lines_of(plain)):
        found.setdefault(text[head.start : head.end], head)
    heads = list(found.values())
    sections = zip(heads, [*(head.start for head in heads[1:]), len(text)], strict=False)
    best = sorted(sections, key=lambda section: (section[0].level, section[0].start - section[1]))[:max_num]
    return [text[head.start : head.end] for head, _ in sorted(best)]


def headings_of(plain: str, lines: list[Line]) -> list[Heading]:
    marked: list[Heading] = []
    looks: list[Heading] = []
    nothing = Line(len(plain), len(plain), "", False)
    for above, line, below in zip([nothing, *lines], lines, [*lines[1:], nothing], strict=False):
        if line.end - line.start > _LONGEST:
            continue
        if head := _atx(plain, line) or _underlined(plain, line, below):
            marked.append(head)
        elif head := _numbered(plain, above, line, below) or _alone(plain, line, below):
            looks.append(head)
    if len(marked) > 1:
        return marked
    letters = {head: re.sub(r"[\W\d_]+", "", plain[head.start : head.end]) for head in looks}
    often = Counter(letters.values())  # a page's head stands on many
    return sorted(marked + [head for head in looks if head.level < _CAPITALS or often[letters[head]] < 3])


def _heading(plain: str, start: int, end: int, level: int) -> Heading | None:
    """The heading between two places, less the marks and blanks at its ends; beside links, its longest part."""
    part = max(_PART.finditer(plain, start, end), key=lambda part: len(part.group()), default=None)
    said = part.group().strip(_BLANK) if part else ""
    if part is None or not HAS_LETTER.search(said) or len(said) > 200 or (len(said.split()) > 8 and said[-1] in ".。;"):
        return None
    start = plain.index(said, part.start())
    return Heading(start, start + len(said), level)


def _atx(plain: str, line: Line) -> Heading | None:
    match = _ATX.fullmatch(plain, line.start, line.end)
    return _heading(plain, *match.span(2), level=len(match[1])) if match else None


def _underlined(plain: str, line: Line, below: Line) -> Heading | None:
    match = _UNDERLINE.fullmatch(plain, below.start, below.end)
    columns = "   " in plain[line.start : line.end].strip()
    if match is None or columns or not line.blank_before or below.blank_before or line.kind != "text":
        return None
    return _heading(plain, line.start, line.end, 1 if match[1][0] == "=" else 2)


def _numbered(plain: str, above: Line, line: Line, below: Line) -> Heading | None:
    said = said_of(plain[line.start : line.end])
    level, at = _numbering(said)
    # another beside it: one of a list, or of a table of contents
    near = [_numbering(said_of(plain[other.start : other.end][:120]))[0] for other in (above, below)]
    rest = said[at:].lstrip(".)、．:：— -")
    if not level or level in near or len(said.split()) > _MOST_WORDS or _NO_HEADING.search(rest):
        return None
    if rest.endswith(".") or rest[:1].islower() or rest[:3].lower() in MONTHS:
        return None
    stands = below.blank_before or (len(said) <= 60 and _BEGINS.match(plain, below.start))
    return _heading(plain, line.start, line.end, level) if stands else None


def _numbering(said: str) -> tuple[int, int]:
    """(level, where the number ends) of a numbered line; level 0: it is none."""
    match = _NUMBER.match(said)
    return (_LEVELS[match.lastgroup or ""] + match.group().count("."), match.end()) if match else (0, 0)


def _alone(plain: str, line: Line, below: Line) -> Heading | None:
    """A short line between blank ones, over prose, that looks like a heading."""
    if not (line.kind == below.kind == "text" and line.blank_before and below.blank_before):
        return None
    prose = below.end - below.start >= 60 or SENTENCE_END.search(plain, below.start, below.end)
    head = _heading(plain, line.start, line.end, _STANDING)
    if head is None or not prose or plain.count(GONE, line.start, line.end) > 6:
        return None
    said = plain[head.start : head.end]
    words = said.split()
    if len(words) > 10 or said[-1] in ".!?" or _NO_HEADING.search(said):
        return None
    if HAN.search(said):
        return head if len(said) <= 20 and not re.search(r"[！？,.!?“]", said) else None
    if sum(map(str.isalpha, said)) < 3:
        return None
    if said.isupper():
        return head._replace(level=_CAPITALS)
    titled = said[0].isupper() and all(not word.islower() or len(word) < 4 for word in words)
    return head if titled and MONTHS.isdisjoint(said.lower().split()) else None
