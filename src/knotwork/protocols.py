"""What the layers promise each other: models, and the store.

Everything here is a shape, no code: a user's object that fits is as good as ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from knotwork.graph import Change, Document, KnowledgeGraph

Vectors = npt.NDArray[np.float32]


@runtime_checkable
class Embedder(Protocol):
    """Texts to vectors. `name` is recorded in an index, so that another model is noticed."""

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, dimension) float32, each row of length 1 (a text without any known token: zeros)."""
        ...


@dataclass(frozen=True, slots=True)
class Passages:
    """What a retriever keeps in memory of an index: n chunks in canonical order, s sentences, m entities.

    Arrays are parallel to the lists; integers index them.
    """

    chunk_ids: list[str]
    document_ids: list[str]  # of each chunk
    titles: list[str]  # of each chunk's document
    headings: list[str]  # of each chunk, "" when it has none
    starts: npt.NDArray[np.int64]  # (n,) of each chunk in its document's text
    vectors: Vectors  # (n, d); (n, 0) without an embedder
    sentence_chunks: npt.NDArray[np.int32]  # (s,) ascending
    sentence_spans: npt.NDArray[np.int32]  # (s, 2) in the chunk's text
    sentence_vectors: npt.NDArray[np.int8]  # (s, d), 127 times a unit vector, rounded
    entity_ids: list[str]
    entity_names: list[str]
    entity_aliases: list[tuple[str, ...]]
    entity_types: list[str]
    mention_entities: npt.NDArray[np.int32]  # (k,)
    mention_chunks: npt.NDArray[np.int32]  # (k,)
    mention_starts: npt.NDArray[np.int32]  # (k,) in the chunk's text


@dataclass(frozen=True, slots=True)
class DocumentRecord:
    """A document as the index knows it, without its text. `root` is the folder it came with, "" when none."""

    id: str
    title: str
    source: str
    root: str
    content_hash: str


@dataclass(frozen=True, slots=True)
class Counts:
    """How much an index holds."""

    documents: int
    chunks: int
    entities: int
    relationships: int
    communities: int
    reports: int
    mentions: int


class Store(Protocol):
    """An index at rest. One writer, many readers; every write is one transaction, durable when it returns."""

    def write(self, changes: Sequence[Change], notes: dict[str, str] | None = None) -> None:
        """Make graph changes durable, with notes set in the same transaction."""
        ...

    def graph(self) -> KnowledgeGraph:
        """The whole graph, in canonical order: it does not depend on the order of writing."""
        ...

    def note(self, key: str) -> str | None:
        """A value kept beside the graph (model names, what is still to do)."""
        ...

    def set_notes(self, notes: dict[str, str]) -> None: ...

    def counts(self) -> Counts: ...

    def records(self) -> list[DocumentRecord]:
        """Every document without its text, by id."""
        ...

    def documents(self, ids: Iterable[str] | None = None) -> Iterator[Document]:
        """Documents with their texts: all, by id, or the ones asked for, in that order."""
        ...

    def passages(self) -> Passages: ...

    def chunk_texts(self, chunk_ids: Sequence[str]) -> list[str]:
        """The texts of chunks, in the order asked for."""
        ...

    def match(self, terms: Sequence[str], limit: int) -> list[tuple[str, float]]:
        """Full text: chunk ids with their BM25 scores (higher is better), best first, any term counting.

        `terms` are those of `knotwork.text.search_terms`; stop words should be left out by the caller.
        """
        ...

    def stems(self, texts: Sequence[str]) -> list[list[str]]:
        """The search terms of each text in the form under which full text finds them."""
        ...

    def frequencies(self, stems: Sequence[str]) -> dict[str, int]:
        """In how many chunks each stem stands."""
        ...

    def close(self) -> None: ...
