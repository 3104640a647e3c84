"""Vectors of nodes: of one property, of a passage with its title, and of each sentence."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from knotwork.errors import InputError
from knotwork.graph import KnowledgeGraph, Node
from knotwork.models import embedder, rows_from, unit_rows
from knotwork.protocols import Embedder, Vectors, knows
from knotwork.text import language_of, token_slices
from knotwork.transforms.arguments import check_name, text_of
from knotwork.transforms.base import Call, Extractor, label


@dataclass
class EmbeddingExtractor(Extractor):
    """The vector of one property, float32 of length 1. Equal texts are embedded once, in batches.

    embedding_model: an `Embedder`, its name, or an object of another library that `knotwork.models.embedder` adapts;
    None: the offline one. Of a text longer than the model's `max_tokens`, where it has that, the vector is the mean
    of those of its windows. Raises InputError naming node, property and type when the property is no string; an
    absent or empty one gets no vector.
    """

    property_name: str = "embedding"
    embed_property_name: str = "page_content"
    embedding_model: Embedder | str | None = None

    batch_size: ClassVar[int] = 256

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name(label(self), "property_name", self.property_name)
        check_name(label(self), "embed_property_name", self.embed_property_name)
        if self.embedding_model is not None and not isinstance(self.embedding_model, str):
            self.embedding_model = embedder(self.embedding_model)

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset([self.embed_property_name])

    def calls_on(self, kg: KnowledgeGraph) -> Iterator[Call]:
        """Nodes of one text stand in one call; one without a text that can be read is a call of its own."""
        by_text: dict[str, list[Node]] = {}
        for node in (node for call in super().calls_on(kg) for node in call.nodes):
            try:
                by_text.setdefault(self.text_of(node), []).append(node)
            except InputError:  # which it will raise again, for itself alone
                yield Call((node,), self._many)
        groups = list(by_text.values())
        size = getattr(self.embedding_model, "at_once", None) or self.batch_size
        for start in range(0, len(groups), size):
            yield Call(tuple(node for group in groups[start : start + size] for node in group), self._many)

    async def extract(self, node: Node) -> tuple[str, Any]:
        return (await self.extract_many([node]))[0]

    async def extract_many(self, nodes: Sequence[Node]) -> list[tuple[str, Any]]:
        texts = [self.text_of(node) for node in nodes]
        wanted = list(dict.fromkeys(text for text in texts if text))
        vectors = dict(zip(wanted, await self._embed(wanted), strict=True)) if wanted else {}
        for node, text in zip(nodes, texts, strict=True):
            if text:
                self._check(node, vectors[text])
        return [(self.property_name, vectors[text] if text else None) for text in texts]

    def text_of(self, node: Node) -> str:
        """What is embedded of a node; "" for nothing."""
        return text_of(node, self.embed_property_name)

    def _check(self, node: Node, vectors: Vectors) -> None:
        if not np.isfinite(vectors).all():
            raise InputError(
                f"node {node.id!r}: the embedder gave NaN or Infinity for property {self.embed_property_name!r}; "
                "take another model, or leave the node out by filter_nodes"
            )

    async def _embed(self, texts: Sequence[str]) -> Vectors:
        model = self.embedding_model = embedder(self.embedding_model)
        window = getattr(model, "max_tokens", None)
        if window is None:
            return rows_from(await model.embed(texts), len(texts), _name(model))
        windows = [[text[start:end] for start, end in token_slices(text, window)] for text in texts]
        parts = [part for parts in windows for part in parts]
        rows = rows_from(await model.embed(parts), len(parts), _name(model))
        starts = np.cumsum([0, *map(len, windows[:-1])])
        return unit_rows(np.add.reduceat(rows, starts, axis=0))


@dataclass
class _KnownEmbeddingExtractor(EmbeddingExtractor):
    """Gives texts in a language that the embedder says it doesn't know zeros: search takes them for no opinion."""

    async def _embed(self, texts: Sequence[str]) -> Vectors:
        model = self.embedding_model = embedder(self.embedding_model)
        known = [at for at, text in enumerate(texts) if knows(model, language_of(text))]
        if len(known) == len(texts):
            return await super()._embed(texts)
        rows = np.zeros((len(texts), model.dimension), np.float32)
        if known:
            rows[known] = await super()._embed([texts[at] for at in known])
        return rows


@dataclass
class PassageEmbeddingExtractor(_KnownEmbeddingExtractor):
    """The vector of a passage read with its title and headings; zeros where the embedder doesn't know its language."""

    def text_of(self, node: Node) -> str:
        text = super().text_of(node)
        return f"{heading_of(node)}{text}" if text else ""


@dataclass
class SentenceEmbeddingExtractor(_KnownEmbeddingExtractor):
    """The vectors of a chunk's sentences, each read with the title; zeros as for passages.

    (sentences, dimension) int8, 127 times the unit vector, rounded.
    """

    property_name: str = "sentence_embeddings"
    batch_size: ClassVar[int] = 64

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset([self.embed_property_name, "sentences"])

    async def extract_many(self, nodes: Sequence[Node]) -> list[tuple[str, Any]]:
        texts: list[str] = []
        counts: list[int] = []
        for node in nodes:
            text, spans = self.text_of(node), node.get_property("sentences")
            title = node.get_property("title")
            before = f"{title}: " if title else ""
            mine = [f"{before}{text[start:end].strip()}" for start, end in spans or ()] if text else []
            texts += mine
            counts.append(len(mine))
        vectors = await self._embed(texts) if texts else np.zeros((0, 0), np.float32)
        rows = np.split(vectors, np.cumsum(counts)[:-1])
        for node, part in zip(nodes, rows, strict=True):
            self._check(node, part)
        return [(self.property_name, np.rint(127 * part).astype(np.int8) if len(part) else None) for part in rows]


@dataclass
class PooledEmbeddingExtractor(Extractor):
    """The vector of a passage as the mean of its sentences' vectors, weighted by their lengths in characters.

    It costs nothing beside `SentenceEmbeddingExtractor`, whose vectors it reads; docs/decisions/0005 has what it loses.
    """

    property_name: str = "embedding"

    reads: ClassVar[frozenset[str]] = frozenset({"sentences", "sentence_embeddings"})

    async def extract(self, node: Node) -> tuple[str, Any]:
        rows, spans = node.get_property("sentence_embeddings"), node.get_property("sentences")
        if rows is None or not spans:
            return self.property_name, None
        lengths = np.array([end - start for start, end in spans], np.float32)
        mean = lengths @ unit_rows(rows.astype(np.float32))
        return self.property_name, unit_rows(mean[None])[0]


def _name(model: Embedder) -> str:
    return str(getattr(model, "name", type(model).__name__))


def heading_of(node: Node) -> str:
    """ "Title. Heading. " of a chunk, as far as it has them."""
    headings = node.get_property("headings") or []
    parts = [node.get_property("title"), headings[-1] if headings else None]
    return "".join(f"{part}. " for part in parts if part)
