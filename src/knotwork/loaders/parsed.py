"""What the readers of page formats make of a file: a text, and where its pages and headings stand in it."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

_BLANKS = re.compile(r"[^\S\n]+")
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ufffe\uffff\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class Parsed:
    """A file's text with its places; offsets index `text`.

    page_starts: where each page (slide, sheet) begins, ascending, () for a format without; headings: (start, end,
    level) in order, level 1 the outermost; metadata: what the file says of itself; gaps: (place, reason) of parts
    that gave no text.
    """

    text: str
    title: str = ""
    page_starts: tuple[int, ...] = ()
    headings: tuple[tuple[int, int, int], ...] = ()
    metadata: dict[str, str] = field(default_factory=dict)
    gaps: tuple[tuple[str, str], ...] = ()


class Writer:
    """Puts a text together piece by piece, and keeps where pages and headings begin."""

    def __init__(self) -> None:
        self._pieces: list[str] = []
        self._length = 0
        self._breaks = ""  # due before the next piece
        self._waiting = 0  # pages begun since the last piece
        self._starts: list[int] = []
        self._headings: list[tuple[int, int, int]] = []

    def page(self) -> None:
        """What comes now stands on the next page."""
        self._waiting += 1

    def end(self, breaks: str = "\n\n") -> None:
        """What comes now is parted by (at least) this from what came."""
        if len(breaks) > len(self._breaks):
            self._breaks = breaks

    def add(self, text: str) -> None:
        """Text as it stands, joined to what came."""
        if not text:
            return
        if self._pieces and self._breaks:
            self._pieces.append(self._breaks)
            self._length += len(self._breaks)
        self._breaks = ""
        self._starts += [self._length] * self._waiting
        self._waiting = 0
        self._pieces.append(text)
        self._length += len(text)

    def line(self, text: str, breaks: str = "\n") -> None:
        """A line of its own, its blanks made single."""
        self.end(breaks)
        self.add(tidy(text))
        self.end(breaks)

    def paragraph(self, text: str) -> None:
        self.line(text, "\n\n")

    def heading(self, text: str, level: int) -> None:
        said = tidy(text)
        if not said:
            return
        self.end()
        self.add(said)
        self._headings.append((self._length - len(said), self._length, level))
        self.end()

    def row(self, cells: list[str]) -> None:
        """The cells of a table's row, parted by tabs."""
        said = [tidy(cell.replace("\n", " ")) for cell in cells]
        if any(said):
            self.end("\n")
            self.add("\t".join(said).rstrip("\t"))
            self.end("\n")

    def parsed(
        self, title: str = "", metadata: dict[str, str] | None = None, gaps: list[tuple[str, str]] | None = None
    ) -> Parsed:
        starts = (*self._starts, *[self._length] * self._waiting)
        return Parsed("".join(self._pieces), title, starts, tuple(self._headings), metadata or {}, tuple(gaps or ()))


def opening(text: str, headings: Sequence[tuple[int, int, int]]) -> str:
    """The heading that a text begins with, as its title; "" for none."""
    start, end, _ = headings[0] if headings else (1, 1, 1)
    return text[start:end] if start == 0 else ""


def tidy(text: str) -> str:
    """Without control characters, blanks made single, line by line."""
    lines = (_BLANKS.sub(" ", _CONTROL.sub("", line)).strip() for line in text.splitlines())
    return "\n".join(line for line in lines if line)
