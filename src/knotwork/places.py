"""Where in a document a span stands: on which page, and under which headings.

A document's metadata may hold `page_starts`, the offset at which each page (slide, sheet) begins, ascending, and
`outline`, [start, level, title] of each heading in order, level 1 the outermost. What has another shape under these
names is somebody's own and says nothing here.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

MAPS = ("body", "page_starts", "outline")
"""Metadata about places in a document, of no use to its chunks."""


@dataclass(frozen=True, slots=True)
class Places:
    """The pages and headings of one document; offsets are in its text."""

    page_starts: tuple[int, ...] = ()
    heading_starts: tuple[int, ...] = ()
    paths: tuple[tuple[str, ...], ...] = ()  # from each heading on, those that are open, outermost first

    @classmethod
    def of(cls, metadata: Any, title: str = "") -> Places:
        """The places that metadata names. A heading that is the document's title stands in no path."""
        if not isinstance(metadata, Mapping):
            return cls()
        starts = metadata.get("page_starts", ())
        pages: tuple[int, ...] = tuple(starts) if _are_offsets(starts) else ()
        headings = outline_of(metadata)
        return cls(pages, tuple(start for start, _, _ in headings), tuple(_paths(headings, title)))

    def page(self, offset: int) -> int | None:
        """The page of a character, from 1; None in a document without pages."""
        return max(bisect_right(self.page_starts, offset), 1) if self.page_starts else None

    def headings(self, start: int, end: int) -> tuple[str, ...]:
        """What the beginning of a span stands under, outermost first; before the first heading, what it leads to."""
        at = max(bisect_right(self.heading_starts, start) - 1, 0)
        return self.paths[at] if self.paths and self.heading_starts[at] < end else ()


def outline_of(metadata: Any) -> Sequence[Any]:
    """The [start, level, title] of each heading that metadata names; none where it has nothing of that shape."""
    outline = metadata.get("outline", ()) if isinstance(metadata, Mapping) else ()
    return outline if _is_outline(outline) else ()


def _paths(outline: Sequence[Any], title: str) -> list[tuple[str, ...]]:
    paths: list[tuple[str, ...]] = []
    above: list[tuple[int, str]] = []
    for _, level, said in outline:
        above = [(own, name) for own, name in above if own < level]
        above.append((level, said))
        names = tuple(name for _, name in above)
        paths.append(names[1:] if names[0].casefold() == title.strip().casefold() else names)
    return paths


def _are_offsets(starts: Any) -> bool:
    return (
        isinstance(starts, list | tuple)
        and all(isinstance(start, int) and start >= 0 for start in starts)
        and all(one <= other for one, other in pairwise(starts))
    )


def _is_outline(outline: Any) -> bool:
    return (
        isinstance(outline, list | tuple)
        and all(isinstance(entry, list | tuple) and len(entry) == 3 for entry in outline)
        and all(
            isinstance(start, int) and isinstance(level, int) and isinstance(said, str)
            for start, level, said in outline
        )
        and _are_offsets([start for start, _, _ in outline])
    )
