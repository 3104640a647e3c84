"""Edges between nodes whose vectors point the same way."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np

from knotwork.errors import InputError
from knotwork.graph import KnowledgeGraph, Node, NodeType, Relationship
from knotwork.threads import in_thread
from knotwork.transforms.arguments import check_count, check_name, check_range
from knotwork.transforms.base import RelationshipBuilder
from knotwork.transforms.relationships.pairs import Floats, Ints, Pairs, edges, joined
from knotwork.transforms.relationships.properties import required, shown

Heads: TypeAlias = np.ndarray[Any, np.dtype[np.float32]]

EXACTNESS = 1e-12
"""How far rounding takes the cosine of two float64 vectors at most: what is closer to the threshold is at it."""
WIDE = 2
"""How much wider than high a block is: threads that are waited for after every product cost more than the product."""
SAMPLE = 256
FEW = 1 / 500
"""A share of pairs for which a closer look costs less than what shorter vectors save."""


@dataclass
class CosineSimilarityBuilder(RelationshipBuilder):
    """An edge both ways between two nodes whose vectors have a cosine of at least `threshold`.

    The vectors may be of any length and any sequences of numbers, all of one dimension. A zero vector has cosine 0;
    cosine 0 makes no edge, unless the threshold is negative. block_size: how many nodes are compared with as many
    others at once; it changes memory and speed alone. top_k: every node keeps its k best partners.

    Raises InputError naming node and property where one is missing, is no vector, holds NaN or Infinity, or has
    another dimension than the first.
    """

    property_name: str = "embedding"
    new_property_name: str = "cosine_similarity"
    threshold: float = 0.9
    block_size: int = 1024
    top_k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name(self.name, "property_name", self.property_name)
        check_name(self.name, "new_property_name", self.new_property_name)
        check_range(self.name, "threshold", self.threshold, -1, 1)
        check_count(self.name, "block_size", self.block_size)
        if self.top_k is not None:
            check_count(self.name, "top_k", self.top_k)

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset([self.property_name])

    async def transform(self, kg: KnowledgeGraph) -> list[Relationship]:
        return await in_thread(self._edges, list(kg.nodes))

    def _edges(self, nodes: Sequence[Node]) -> list[Relationship]:
        if len(nodes) < 2:
            return []
        rows = _unit_rows(nodes, self.property_name, self.block_size)
        return edges(self.new_property_name, nodes, joined(_alike(rows, self.threshold, self.block_size), self.top_k))


@dataclass
class SummaryCosineSimilarityBuilder(CosineSimilarityBuilder):
    """The same between documents, by the vectors of their summaries. Nodes of other types are not looked at."""

    property_name: str = "summary_embedding"
    new_property_name: str = "summary_cosine_similarity"
    threshold: float = 0.1

    def filter(self, kg: KnowledgeGraph) -> KnowledgeGraph:
        return kg.view(lambda node: node.type is NodeType.DOCUMENT and self.filter_nodes(node))


# -- vectors --------------------------------------------------------------------------------------


def _unit_rows(nodes: Sequence[Node], name: str, block_size: int) -> Floats:
    """The vectors of the nodes, (nodes, dimension), each of length 1 or 0."""
    first = _vector(nodes[0], name)
    rows = np.empty((len(nodes), len(first)))
    for at, node in enumerate(nodes):
        vector = _vector(node, name)
        if len(vector) != len(first):
            raise InputError(
                f"node {node.id!r}: property {name!r} has {len(vector)} numbers, that of node {nodes[0].id!r} has "
                f"{len(first)}; embed them with the same model"
            )
        rows[at] = vector
    for start in range(0, len(rows), block_size):
        block = rows[start : start + block_size]
        bad = np.flatnonzero(~np.isfinite(block).all(1))
        if len(bad):
            raise InputError(
                f"node {nodes[start + bad[0]].id!r}: property {name!r} holds NaN or Infinity; embed the node again"
            )
        _divide(block, np.abs(block).max(1))  # else the squares of huge numbers overflow
        _divide(block, np.linalg.norm(block, axis=1))
    return rows


def _divide(rows: Floats, lengths: Floats) -> None:
    rows /= np.where(lengths > 0, lengths, 1)[:, None]


def _vector(node: Node, name: str) -> np.ndarray[Any, Any]:
    value = required(node, name)
    try:
        vector = np.asarray(value)
    except (ValueError, TypeError):  # lists of unequal lengths inside
        vector = np.empty(0, object)
    if vector.ndim != 1 or vector.dtype.kind not in "iuf" or not len(vector):
        raise InputError(
            f"node {node.id!r}: property {name!r} is {shown(value)}, a vector of numbers is needed; "
            "EmbeddingExtractor writes one"
        )
    return vector


# -- pairs ----------------------------------------------------------------------------------------


def _alike(rows: Floats, threshold: float, block_size: int) -> Iterator[Pairs]:
    """The pairs with cosine >= threshold, a block of their matrix at a time.

    Blocks are multiplied in float32, and what may be over the threshold is counted anew in float64, pair by pair:
    the result is then the same whatever the blocks.
    """
    k = _enough(rows, threshold)
    bound = np.float32(threshold - (rows.shape[1] + 8) * 2.0**-23)  # float32 products are off by less
    for top in range(0, len(rows), block_size):
        high = _head(rows[top : top + block_size], k)
        for left in range(top, len(rows), WIDE * block_size):
            wide = _head(rows[left : left + WIDE * block_size], k)
            over = np.flatnonzero(high @ wide.T >= bound)
            source, target = over // len(wide) + top, over % len(wide) + left
            if left == top:
                source, target = source[source < target], target[source < target]
            yield _over(rows, source, target, threshold)


def _over(rows: Floats, source: Ints, target: Ints, threshold: float) -> Pairs:
    """Those of the pairs that have a cosine >= threshold."""
    score = np.empty(len(source))
    step = max(1, 200_000 // rows.shape[1])  # so that the rows stay in the cache
    for start in range(0, len(source), step):
        part = slice(start, start + step)
        score[part] = np.einsum("ij,ij->i", rows[source[part]], rows[target[part]])
    least = max(threshold - EXACTNESS, EXACTNESS) if threshold >= 0 else threshold - EXACTNESS
    kept = score >= least
    return Pairs(source[kept], target[kept], np.clip(score[kept], threshold, 1))


def _head(rows: Floats, k: int) -> Heads:
    """Shorter vectors whose products are no smaller than the cosines: the first k numbers and the length of the rest.

    By Cauchy and Schwarz, the product of two rests is at most that of their lengths.
    """
    head = np.empty((len(rows), k + 1), np.float32)
    head[:, :k] = rows[:, :k]
    head[:, k] = np.sqrt(np.einsum("ij,ij->i", rows[:, k:], rows[:, k:]))
    return head


def _enough(rows: Floats, threshold: float) -> int:
    """How many first numbers leave few pairs of a sample to be looked at closer; all, where fewer don't."""
    dimension: int = rows.shape[1]
    sample = rows[:: -(-len(rows) // SAMPLE)]
    for k in (dimension // 8, dimension // 6, dimension // 4, dimension // 2):
        head = _head(sample, k)
        over = np.count_nonzero(head @ head.T >= threshold) - len(head)  # each pair twice
        if over <= FEW * len(head) ** 2:
            return k
    return dimension
