"""From the lines on the pages of a PDF to running text: paragraphs, headings, rows; no running heads.

A PDF says where characters stand and nothing of what they are. Everything here goes by place and size, in points.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from statistics import median

from knotwork.loaders.parsed import Parsed, Writer, tidy
from knotwork.text import CJK

_EDGE = 3  # lines at either end of a page that may be running heads
_BAND = 0.15  # of the page's height in which they stand …
_MARGIN = 0.08  # … and in which one may be told by its number alone
_REPEATED = 3  # pages on which a line must stand to be one
_LARGER = 1.12  # than the body, of a heading
_HEADING = 150  # characters, at most
_LEVELS = 4
_COLUMN = 25  # characters of a line that could be one of a column of prose
_WIDE = 2.0  # font sizes between two cells of a row

_DIGITS = re.compile(r"\d+")
_PAGE_NUMBER = re.compile(
    r"(?:page|p\.|seite|第)?[\W_]*(?:\d{1,5}|[ivxlc]{1,8})(?:\s*(?:of|/|von|页|頁|共)\s*第?\s*\d+)?\s*[页頁]?[\W_]*",
    re.I,
)
_ROMAN = re.compile(r"^[\W_]*[ivxlc]{1,8}[\W_]*$", re.I)
_LEADERS = re.compile(r"(?:\s?[.·…‧]){4,}\s?")
_BULLET = re.compile(
    r"(?:[•◦▪‣●○■□–—*·-]|\(?(?:\d{1,3}|[a-zA-Z]|[ivx]{1,5})[.)]|[（(][一二三四五六七八九十\d]+[）)]|[一二三四五六七八九十]+、)\s"
)
_ENDS = re.compile(r"[.!?:;。！？：；…][\"'”’»)\]）」』]*$")
_NUMBERED = re.compile(r"(\d{1,2}(?:\.\d{1,2}){0,4})\.?\s+\S")
_HYPHEN = re.compile(r"(?<=[^\W\d_])[-\u2010\u00ad\x02]$")
_WORD = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)+")
_TAIL = re.compile(r"[^\W\d_]+(?:-[^\W\d_]+)*$")
_HEAD = re.compile(r"[^\W\d_]+")
_CJK_END, _CJK_START = re.compile(f"[{CJK}，。、；：！？）》」”]$"), re.compile(f"[{CJK}，。、；：！？（《「“]")
_LETTER = re.compile(r"[^\W\d_]")
_CELL = "\ue000"  # stands for a tab while blanks are made single
_LIGATURES = {
    "ﬀ": "ff",
    "ﬁ": "fi",
    "ﬂ": "fl",
    "ﬃ": "ffi",
    "ﬄ": "ffl",
    "ﬅ": "st",
    "ﬆ": "st",
    "\uf0b7": "•",
    "\uf0a7": "▪",
}
_SPELT = str.maketrans({**_LIGATURES, "\xa0": " ", "\u200b": "", "\ufeff": ""})


@dataclass(frozen=True, slots=True)
class Line:
    """One line of text on a page: `top` and `bottom`, its baseline, count downwards from the page's upper edge.

    `cells` are its runs of text that wide gaps part, each (left, right, text); most lines have one.
    """

    cells: tuple[tuple[float, float, str], ...]
    top: float
    bottom: float
    size: float
    bold: bool = False

    @property
    def left(self) -> float:
        return self.cells[0][0]

    @property
    def right(self) -> float:
        return self.cells[-1][1]

    @property
    def text(self) -> str:
        return "\t".join(text for _, _, text in self.cells)


@dataclass(frozen=True, slots=True)
class Page:
    lines: tuple[Line, ...]
    height: float


@dataclass(frozen=True, slots=True)
class Bookmark:
    """An entry of the file's outline: level 1 is the outermost; page from 0."""

    title: str
    page: int
    level: int


def running_text(
    pages: Sequence[Page],
    outline: Sequence[Bookmark] = (),
    title: str = "",
    metadata: dict[str, str] | None = None,
    gaps: list[tuple[str, str]] | None = None,
) -> Parsed:
    """The text of the pages with their starts and headings."""
    ordered = [replace(page, lines=_in_columns([_spelt(line) for line in page.lines])) for page in pages]
    body = _body_size([page.lines for page in ordered])
    named = _outlined([page.lines for page in ordered], outline)
    running = _running(ordered, body, named)
    levels = named or _by_size([page.lines for page in ordered], body)
    kept, levels = _without(ordered, running, levels)
    compounds = {word.lower() for lines in kept for line in lines for word in _WORD.findall(line.text)}
    writer = Writer()
    before: Line | None = None
    for number, lines in enumerate(kept):
        writer.page()
        pitch = _pitch(lines)
        edges = _edges(lines)
        fresh = True  # on this page nothing has been written
        at = 0
        while at < len(lines):
            line = lines[at]
            level = levels.get((number, at))
            if level is not None:
                last = at  # a heading of several lines
                while levels.get((number, last + 1)) == level and _same_heading(lines[last], lines[last + 1]):
                    last += 1
                _finish(writer, before)
                writer.heading(" ".join(each.text for each in lines[at : last + 1]), level)
                before, at, fresh = None, last + 1, False
                continue
            if before is not None:
                _join(writer, before, line, _parting(before, line, fresh, pitch, edges, at), compounds)
            else:
                writer.add(_shown(line))
            before, at, fresh = line, at + 1, False
    _finish(writer, before)
    return writer.parsed(title or _largest(kept, body), metadata, gaps)


def _without(
    pages: Sequence[Page], left_out: set[tuple[int, int]], levels: dict[tuple[int, int], int]
) -> tuple[list[list[Line]], dict[tuple[int, int], int]]:
    """The lines that stay, and the levels of headings by their new numbers."""
    kept: list[list[Line]] = []
    moved: dict[tuple[int, int], int] = {}
    for number, page in enumerate(pages):
        stays = [at for at in range(len(page.lines)) if (number, at) not in left_out]
        kept.append([page.lines[at] for at in stays])
        moved |= {(number, new): levels[number, at] for new, at in enumerate(stays) if (number, at) in levels}
    return kept, moved


def _spelt(line: Line) -> Line:
    cells = tuple((left, right, _LEADERS.sub("\t", text.translate(_SPELT)).strip()) for left, right, text in line.cells)
    return replace(line, cells=tuple(cell for cell in cells if cell[2]) or line.cells[:1])


# -- columns --------------------------------------------------------------------------------------


def _in_columns(lines: Sequence[Line]) -> tuple[Line, ...]:
    """Lines of two columns of prose that were written across the page, put one column after the other."""
    split = [line for line in lines if len(line.cells) == 2]
    prose = [line for line in split if all(len(text) >= _COLUMN for _, _, text in line.cells)]
    if len(prose) < 8 or len(prose) < 0.6 * len(split):
        return tuple(lines)
    gutter = median((line.cells[0][1] + line.cells[1][0]) / 2 for line in prose)
    found: list[Line] = []
    left: list[Line] = []
    right: list[Line] = []
    for line in lines:
        sides = [replace(line, cells=(cell,)) for cell in line.cells]
        if len(sides) == 2 and line.cells[0][1] < gutter < line.cells[1][0]:
            left.append(sides[0])
            right.append(sides[1])
        elif line.right < gutter:
            left.append(line)
        elif line.left > gutter:
            right.append(line)
        else:  # across both columns: it ends what stands above it
            found += [*left, *right, line]
            left, right = [], []
    return (*found, *left, *right)


# -- running heads and feet -----------------------------------------------------------------------


def _running(pages: Sequence[Page], body: float, named: Collection[tuple[int, int]]) -> set[tuple[int, int]]:
    """The (page, line) of what stands on page after page: heads, feet and page numbers; nothing that is `named`.

    Only lines that a gap parts from the text come into question. One is a head or foot where its words, numbers aside,
    stand at the same height on three pages or more; or, where its words change, when on many pages a line in small
    print in the margin holds the page's number.
    """
    words: dict[tuple[str, int], list[tuple[int, int]]] = defaultdict(list)
    numbers: dict[tuple[int, int], list[tuple[int, int]]] = defaultdict(list)
    for number, page in enumerate(pages):
        for at in _outside(page):
            line = page.lines[at]
            if (number, at) in named or len(line.text) > _HEADING:
                continue
            upper = line.top < page.height / 2
            height = round(line.top / 4) if upper else -round((page.height - line.top) / 4) - 1
            words[_DIGITS.sub("#", line.text.lower()), height].append((number, at))
            if _ROMAN.match(line.text):
                words["#", height].append((number, at))
            margin = line.top if upper else page.height - line.bottom
            if margin < _MARGIN * page.height and not line.bold and line.size <= body:
                for said in _DIGITS.findall(line.text)[:4]:
                    if len(said) < 6:
                        numbers[height, int(said) - number].append((number, at))
    found: set[tuple[int, int]] = set()
    for places in words.values():
        if len({page for page, _ in places}) >= _REPEATED:
            found.update(places)
    for places in numbers.values():
        if len({page for page, _ in places}) >= max(_REPEATED, 0.3 * len(pages)):
            found.update(places)
    return found | _lone_numbers(pages)


def _outside(page: Page) -> list[int]:
    """The lines at the upper and the lower end of a page that a gap parts from what lies between."""
    order = sorted(range(len(page.lines)), key=lambda at: page.lines[at].bottom)
    usual = 1.5 * max(_pitch([page.lines[at] for at in order]), 8)
    found: list[int] = []
    for ends in (order, order[::-1]):
        for count in range(1, min(_EDGE, len(order) - 1) + 1):
            last, behind = page.lines[ends[count - 1]], page.lines[ends[count]]
            inside = _BAND * page.height < last.top < (1 - _BAND) * page.height
            if not inside and abs(behind.bottom - last.bottom) > max(usual, 1.5 * last.size):
                found += ends[:count]
    return list(dict.fromkeys(found))


def _lone_numbers(pages: Sequence[Page]) -> set[tuple[int, int]]:
    """Page numbers that are the first or last line of a page, in files of too few pages to see them repeat."""
    found = set()
    for number, page in enumerate(pages):
        order = sorted(range(len(page.lines)), key=lambda at: page.lines[at].top)
        for at in order[:1] + order[-1:]:
            line = page.lines[at]
            outside = line.top < 0.08 * page.height or line.bottom > 0.92 * page.height
            digits = _DIGITS.findall(line.text)
            if (
                len(order) > 1
                and outside
                and _PAGE_NUMBER.fullmatch(line.text)
                and digits
                and abs(int(digits[0][:6]) - number - 1) <= 1
            ):
                found.add((number, at))
    return found


# -- headings -------------------------------------------------------------------------------------


def _body_size(pages: Sequence[Sequence[Line]]) -> float:
    sizes: Counter[float] = Counter()
    for lines in pages:
        for line in lines:
            sizes[round(line.size * 2) / 2] += len(line.text)
    return max(sizes, key=lambda size: (sizes[size], -size)) if sizes else 0.0


def _outlined(pages: Sequence[Sequence[Line]], outline: Sequence[Bookmark]) -> dict[tuple[int, int], int]:
    """Levels of the lines that the file's own outline names; a title may run over two lines."""
    found: dict[tuple[int, int], int] = {}
    for mark in outline:
        if not 0 <= mark.page < len(pages) or not (wanted := _bare(mark.title)):
            continue
        lines = pages[mark.page]
        for at, line in enumerate(lines):
            said = _bare(line.text)
            if (mark.page, at) in found or not said:
                continue
            if _is_title(said, wanted):
                found[mark.page, at] = mark.level
                break
            two = said + _bare(lines[at + 1].text) if at + 1 < len(lines) else ""
            if two and wanted.startswith(said) and len(said) >= 4 and _is_title(two, wanted):
                found[mark.page, at] = found[mark.page, at + 1] = mark.level
                break
    return found


def _bare(text: str) -> str:
    return re.sub(r"[\W_]+", "", text).casefold()


def _is_title(said: str, wanted: str) -> bool:
    """The same but for a number before either: "2.1 Methods" and "Methods", "Chapter 3 Utilities"."""
    if said == wanted:
        return True
    longer, shorter = (said, wanted) if len(said) > len(wanted) else (wanted, said)
    before = longer.removesuffix(shorter)
    return (
        len(shorter) >= 3
        and before != longer
        and re.fullmatch(r"(?:chapter|section|part|appendix|第)?[\divxlc.]*[a-z]?[章节節部]?", before) is not None
    )


def _by_size(pages: Sequence[Sequence[Line]], body: float) -> dict[tuple[int, int], int]:
    """Levels of lines in larger print than the body, and of bold ones that stand alone with a number before them."""
    large: dict[tuple[int, int], float] = {}
    bold: dict[tuple[int, int], int] = {}
    total = 0
    weight = Counter[bool]()
    for lines in pages:
        for line in lines:
            weight[line.bold] += len(line.text)
    for number, lines in enumerate(pages):
        for at, line in enumerate(lines):
            total += 1
            text = line.text
            if "\t" in text or len(text) > _HEADING or len(_LETTER.findall(text)) < 2:
                continue
            if line.size >= _LARGER * body:
                large[number, at] = round(line.size)
            elif line.bold and weight[True] < weight[False] and line.size >= 0.98 * body and not _ENDS.search(text):
                match = _NUMBERED.match(text)
                if match and len(text) <= 90:
                    bold[number, at] = match.group(1).count(".") + 1
    if len(large) > 0.3 * total:  # a poster, slides: size says nothing
        large = {}
    sizes = sorted(set(large.values()), reverse=True)
    levels = {size: min(rank + 1, _LEVELS) for rank, size in enumerate(sizes)}
    deepest = len(set(levels.values()))
    found = {place: levels[size] for place, size in large.items()}
    for place, depth in bold.items():
        found[place] = min(max(deepest + 1, depth), _LEVELS + 1)
    return found


def _same_heading(one: Line, other: Line) -> bool:
    return (
        abs(one.size - other.size) < 0.5
        and 0 < other.bottom - one.bottom < 2 * one.size
        and not _NUMBERED.match(other.text)
    )


def _largest(pages: Sequence[Sequence[Line]], body: float) -> str:
    """The largest print of the first page, when it is larger than the body: a title that the file doesn't say."""
    first = next((lines for lines in pages if lines), ())
    best = max((line.size for line in first if _LETTER.search(line.text)), default=0.0)
    if best < 1.2 * body:
        return ""
    at = next(at for at, line in enumerate(first) if line.size == best)
    lines = [line for line in first[at : at + 4] if line.size > best - 0.5]
    if sum(line.size > best - 0.5 for lines in pages for line in lines) > len(lines):
        return ""  # a heading among others
    text = " ".join(line.text.replace("\t", " ") for line in lines)
    return text if 3 <= len(text) <= 200 else ""


# -- paragraphs -----------------------------------------------------------------------------------


def _pitch(lines: Sequence[Line]) -> float:
    """The usual distance between lines."""
    steps = [b.bottom - a.bottom for a, b in pairwise(lines) if 0 < b.bottom - a.bottom < 4 * a.size]
    return median(steps) if steps else 0.0


def _edges(lines: Sequence[Line]) -> list[tuple[float, float]]:
    """(left, right) of the column that each line stands in: of its neighbours that lie above or below it."""
    found = []
    for at, line in enumerate(lines):
        near = [
            other
            for other in lines[max(at - 5, 0) : at + 6]
            if other.left < line.right and line.left < other.right and abs(other.size - line.size) < 1
        ]
        found.append(
            (min(other.left for other in near), max(other.right for other in near)) if near else (line.left, line.right)
        )
    return found


def _parting(before: Line, line: Line, fresh: bool, pitch: float, edges: Sequence[tuple[float, float]], at: int) -> str:
    """What parts a line from the one before: "" when the sentence runs on."""
    if "\t" in before.text or "\t" in line.text:
        return "\n"
    if abs(before.size - line.size) > 1:
        return "\n\n"
    if _HYPHEN.search(before.text) and _LETTER.match(line.text):
        return ""
    ended = _ENDS.search(before.text) is not None
    if fresh or line.bottom <= before.bottom:  # on a new page, in a new column
        goes_on = not ended and (
            line.text[:1].islower() or before.text.endswith(("-", "\x02", ",")) or _both_cjk(before.text, line.text)
        )
        return "" if goes_on else "\n\n"
    if pitch and line.bottom - before.bottom > 1.4 * max(pitch, line.size):
        return "\n\n"
    if _BULLET.match(line.text):
        return "\n"
    left, right = edges[at]
    short = before.right < right - 0.12 * (right - left)
    indented = line.left > left + 0.8 * line.size and before.left < line.left - 0.5 * line.size
    if (ended and (short or indented)) or (
        short and line.text[:1].isupper() and not ended and before.right < right - 0.4 * (right - left)
    ):
        return "\n\n" if ended else "\n"
    return ""


def _join(writer: Writer, before: Line, line: Line, parting: str, compounds: set[str]) -> None:
    text = _shown(line)
    if parting:
        _finish(writer, before)
        writer.end(parting)
        writer.add(text)
    elif _HYPHEN.search(before.text) and line.text[:1].islower():
        head, tail = _TAIL.search(before.text.rstrip("-\u2010\u00ad\x02")), _HEAD.match(line.text)
        compound = f"{head.group()}-{tail.group()}".lower() if head and tail else ""
        # written with its hyphen elsewhere in the file, where no line ends
        writer.add(("-" if compound in compounds else "") + text)
    elif _HYPHEN.search(before.text):
        writer.add("-" + text)
    else:
        writer.add(text if _both_cjk(before.text, line.text) else " " + text)


def _shown(line: Line) -> str:
    """The line without a hyphen at its end: what follows says whether it stays."""
    return tidy(_HYPHEN.sub("", line.text).replace("\t", _CELL)).replace(_CELL, "\t")


def _finish(writer: Writer, last: Line | None) -> None:
    """Put back the hyphen of a line that nothing goes on from."""
    if last is not None and last.text.endswith(("-", "\u2010")):
        writer.add(last.text[-1])


def _both_cjk(one: str, other: str) -> bool:
    return _CJK_END.search(one) is not None and _CJK_START.match(other) is not None
