"""What a search gives back: evidence, citations, answers. Programs rely on these shapes."""

from __future__ import annotations

import html
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True, slots=True)
class Evidence:
    """A span of a document that bears on a question: `document.text[start:end] == text`.

    `score` orders the evidence of one question and means nothing across questions; `why` says in words how it
    was found. `page` is that of its beginning, from 1 (of slides and sheets, too), None without pages; `headings` what
    it stands under, outermost first.
    """

    text: str
    score: float
    document_id: str
    title: str
    source: str
    start: int
    end: int
    why: str
    page: int | None = None
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Citation:
    """What `[n]` in an answer points to: `document.text[start:end] == quote`.

    `page` and `headings` as in `Evidence`.
    """

    n: int
    document_id: str
    title: str
    source: str
    page: int | None
    start: int
    end: int
    quote: str
    headings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """An answer in sentences that cite `[1]`, `[2]` …; without citations when nothing supports one.

    `mode` is the way of searching that ran; `partials` are the answers of communities in global search; `hint` says
    what would help where something stands in the way, in the question's language.
    """

    text: str
    citations: tuple[Citation, ...] = ()
    evidence: tuple[Evidence, ...] = ()
    partials: tuple[Any, ...] = ()
    mode: str = "passages"
    usage: Mapping[str, Any] = field(default_factory=dict)
    hint: str = ""

    @property
    def found(self) -> bool:
        """Whether the documents held an answer."""
        return bool(self.citations)

    def __str__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        """A notebook's view. Quotes come from documents, so all of it is escaped."""
        sources = "".join(f'<li value="{c.n}">{_source(c)}: {html.escape(c.quote)}</li>' for c in self.citations)
        return f"<p>{html.escape(self.text)}</p>" + (f"<ol>{sources}</ol>" if sources else "")


def _source(citation: Citation) -> str:
    name = html.escape(citation.title or citation.source or citation.document_id)
    return f"<b>{name}</b>" + ("" if citation.page is None else f", page {citation.page}")
