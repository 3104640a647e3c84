"""A scripted Index for what needs no real one, and what it answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from knotwork import Citation, Event, Evidence, Report

NASTY = "[bold]x[/bold] \x1b[31mred\x1b]0;title\x07 \x9b2J \u202egnp.exe"


@dataclass(frozen=True, slots=True)
class Ran:
    """What a command printed and how it ended."""

    code: int
    out: str
    err: str


Knotwork = Callable[..., Ran]


@dataclass
class Script:
    """What the scripted Index answers, and what it was asked."""

    exists: bool = True
    report: Report = field(default_factory=lambda: Report(added=2))
    events: list[Event] = field(default_factory=list)
    answer: Any = None
    found: list[Evidence] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    complete: bool = True
    raises: BaseException | None = None
    calls: list[tuple[Any, ...]] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Said:
    """An Answer as the command line sees it."""

    text: str
    citations: tuple[Citation, ...] = ()
    mode: str = "passages"
    usage: dict[str, int] = field(default_factory=dict)
    hint: str = ""

    @property
    def found(self) -> bool:
        return bool(self.citations)


@dataclass(frozen=True, slots=True)
class Held:
    """A Status as the command line sees it."""

    path: str
    complete: bool
    documents: int = 2
    chunks: int = 3
    entities: int = 4
    relationships: int = 5
    communities: int = 6
    reports: int = 7
    mentions: int = 8
    profile: str = "fast"
    embedder: str = "wordllama-256"
    dimension: int = 256


def cited(quote: str = "Franklin took it.", **changes: Any) -> Said:
    values: dict[str, Any] = {
        "n": 1,
        "document_id": "d1",
        "title": "Photo 51",
        "source": "photo.md",
        "page": None,
        "start": 3,
        "end": 3 + len(quote),
        "quote": quote,
    }
    return Said(f"{quote} [1]", (Citation(**values | changes),))


def evidence(text: str = "Franklin took it.", **changes: Any) -> Evidence:
    values: dict[str, Any] = {
        "text": text,
        "score": 0.5,
        "document_id": "d1",
        "title": "Photo 51",
        "source": "photo.md",
        "start": 3,
        "end": 3 + len(text),
        "why": "names Franklin",
    }
    return Evidence(**values | changes)
