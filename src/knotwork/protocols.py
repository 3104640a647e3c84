"""What the layers promise each other: models, and the store.

Everything here is a shape, no code: a user's object that fits is as good as ours.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypedDict, runtime_checkable

import numpy as np
import numpy.typing as npt

from knotwork.graph import Change, Document, KnowledgeGraph

if TYPE_CHECKING:
    from pydantic import BaseModel  # a tenth of a second to import

Vectors = npt.NDArray[np.float32]


class Message(TypedDict):
    """One turn of a conversation with a model."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens that were paid for."""

    prompt_tokens: int = 0
    completion_tokens: int = 0


@dataclass(frozen=True, slots=True)
class Reply:
    """What a model said. parsed: an instance of the schema, where the model itself made sure of one.

    finish_reason: "stop", or "length" when the reply was cut off.
    """

    text: str
    parsed: Any = None
    usage: Usage = Usage()
    finish_reason: str = "stop"


@runtime_checkable
class LLM(Protocol):
    """A conversation to a reply. A model that retries by itself says so by an attribute `retries = True`."""

    async def complete(
        self, messages: Sequence[Message], *, schema: type[BaseModel] | None = None, max_tokens: int | None = None
    ) -> Reply:
        """The reply to the last message; as JSON of the schema when one is given and the model can do that."""
        ...


@runtime_checkable
class Embedder(Protocol):
    """Texts to vectors. `name` is recorded in an index, so that another model is noticed.

    One that reads only the start of a long text may say how much, by an attribute `max_tokens` (o200k tokens); one that
    knows few languages, which, by an attribute `languages` ({"en"}, ISO codes).
    """

    @property
    def name(self) -> str: ...

    @property
    def dimension(self) -> int: ...

    async def embed(self, texts: Sequence[str]) -> Vectors:
        """(n, dimension) float32, each row of length 1 (a text without any known token: zeros)."""
        ...


def knows(embedder: Embedder, language: str) -> bool:
    """Whether an embedder can read a language, as far as it says."""
    languages = getattr(embedder, "languages", None)
    return languages is None or language in languages


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

    def metadata(self, ids: Iterable[str]) -> list[dict[str, Any]]:
        """The metadata of documents, in the order asked for."""
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
