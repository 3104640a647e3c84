"""A store and an embedder small enough to reason about: words are the dimensions, full text counts them."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from knotwork.gazetteer import Gazetteer
from knotwork.graph import Document
from knotwork.protocols import DocumentRecord, Passages, Vectors
from knotwork.text import search_terms, sentence_spans

DIMENSION = 128


@dataclass
class ToyEmbedder:
    """Cosine is the share of common words. Remembers what it was asked, call by call."""

    name: str = "toy"
    dimension: int = DIMENSION
    calls: list[list[str]] = field(default_factory=list)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        self.calls.append(list(texts))
        return vectors_of(texts)


def vectors_of(texts: Sequence[str]) -> Vectors:
    rows = np.zeros((len(texts), DIMENSION), np.float32)
    for row, text in zip(rows, texts, strict=True):
        for term in search_terms(text):
            row[int.from_bytes(hashlib.blake2b(term.encode(), digest_size=4).digest()) % DIMENSION] += 1
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


class ToyStore:
    """What a search reads of a store. A blank line ends a chunk; `names` are the entities, each with its type."""

    def __init__(self, documents: Sequence[Document], names: dict[str, str], vectors: bool = True) -> None:
        self.texts: dict[str, str] = {}
        self._documents = {document.key: document for document in documents}
        places: list[tuple[Document, int]] = []
        for document in documents:
            for match in re.finditer(r"(?:(?!\n\n).)+", document.text, re.DOTALL):
                self.texts[f"chunk{len(places)}"] = match.group()
                places.append((document, match.start()))
        self._passages = _passages(list(self.texts.values()), places, names, vectors)
        self._words = {id: Counter(_stems(self._titled(id))) for id in self.texts}

    def _titled(self, id: str) -> str:
        return f"{self._passages.titles[self._passages.chunk_ids.index(id)]} {self.texts[id]}"

    def passages(self) -> Passages:
        return self._passages

    def records(self) -> list[DocumentRecord]:
        return [DocumentRecord(id, one.title, one.source, "", "") for id, one in self._documents.items()]

    def metadata(self, ids: Iterable[str]) -> list[dict[str, Any]]:
        return [self._documents[id].metadata for id in ids]

    def chunk_texts(self, chunk_ids: Sequence[str]) -> list[str]:
        return [self.texts[id] for id in chunk_ids]

    def match(self, terms: Sequence[str], limit: int) -> list[tuple[str, float]]:
        wanted = _stems(" ".join(terms))
        counts = self.frequencies(wanted)
        scores = {id: sum(words[stem] / (1 + counts[stem]) for stem in wanted) for id, words in self._words.items()}
        return sorted(((id, score) for id, score in scores.items() if score), key=lambda hit: (-hit[1], hit[0]))[:limit]

    def stems(self, texts: Sequence[str]) -> list[list[str]]:
        return [_stems(text) for text in texts]

    def frequencies(self, stems: Sequence[str]) -> dict[str, int]:
        return {stem: sum(stem in words for words in self._words.values()) for stem in stems}


def _stems(text: str) -> list[str]:
    return [term.removesuffix("s") for term in search_terms(text)]


def _passages(texts: list[str], places: list[tuple[Document, int]], names: dict[str, str], vectors: bool) -> Passages:
    spans = [(chunk, span) for chunk, text in enumerate(texts) for span in sentence_spans(text)]
    titled = [f"{document.title}: {text}" for (document, _), text in zip(places, texts, strict=True)]
    said = [f"{places[chunk][0].title}: {texts[chunk][slice(*span)]}" for chunk, span in spans]
    gazetteer = Gazetteer(names)
    order = list(names)
    mentions = [
        (order.index(name), chunk, start) for chunk, text in enumerate(texts) for start, _, name in gazetteer.find(text)
    ]
    return Passages(
        chunk_ids=[f"chunk{number}" for number in range(len(texts))],
        document_ids=[document.key for document, _ in places],
        titles=[document.title for document, _ in places],
        headings=[""] * len(texts),
        starts=np.array([start for _, start in places], np.int64),
        vectors=vectors_of(titled) if vectors else np.zeros((len(texts), 0), np.float32),
        sentence_chunks=np.array([chunk for chunk, _ in spans], np.int32),
        sentence_spans=np.array([span for _, span in spans], np.int32).reshape(-1, 2),
        sentence_vectors=np.rint(127 * vectors_of(said)).astype(np.int8)
        if vectors
        else np.zeros((len(spans), 0), np.int8),
        entity_ids=[f"entity{number}" for number in range(len(order))],
        entity_names=order,
        entity_aliases=[()] * len(order),
        entity_types=list(names.values()),
        mention_entities=np.array([entity for entity, _, _ in mentions], np.int32),
        mention_chunks=np.array([chunk for _, chunk, _ in mentions], np.int32),
        mention_starts=np.array([start for _, _, start in mentions], np.int32),
    )


FILMS = [
    Document("The Glass Tower is a film directed by Ann Berg in 1931. Critics liked it.", "d1", "The Glass Tower"),
    Document("Ann Berg made films. Ann Berg was born in Malmo and died in Paris.", "d2", "Ann Berg"),
    Document("Malmo is a city on the coast. Its mayor is Olof Lind.", "d3", "Malmo"),
    Document("The Iron Bridge is a film. It was directed by Tom Reed.", "d4", "The Iron Bridge", "films/bridge.txt"),
    Document("Tom Reed was a director. He was born in Oslo.", "d5", "Tom Reed"),
    Document("Paris is a city on a river. Many films were made there.", "d6", "Paris"),
    Document("Bread is made from flour and water. It is baked in an oven.", "d7", "Bread"),
    Document("Oslo is a city on a fjord. Its harbour is deep.", "d8", "Oslo"),
]
NAMES = {
    "Ann Berg": "person",
    "Tom Reed": "person",
    "Olof Lind": "person",
    "Malmo": "place",
    "Paris": "place",
    "Oslo": "place",
    "The Glass Tower": "work",
    "The Iron Bridge": "work",
    "1931": "date",
}
