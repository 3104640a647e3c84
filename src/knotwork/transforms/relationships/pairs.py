"""Pairs of nodes on their way to becoming edges, and what is done with arrays to find them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple, TypeAlias

import numpy as np

from knotwork.graph import Node, Relationship

Ints: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Floats: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
Bits: TypeAlias = np.ndarray[Any, np.dtype[np.uint64]]

AT_ONCE = 1 << 20
"""How many pairs are looked at together: bounds memory, changes no result."""
ROUNDING = 1e-9
"""Taken off a needed number before it is compared with a whole one."""


class Pairs(NamedTuple):
    """Pairs of nodes by their places, source < target, each with a score."""

    source: Ints
    target: Ints
    score: Floats

    def at(self, chosen: Any) -> Pairs:
        """Those at these indices, or where a mask holds."""
        return Pairs(self.source[chosen], self.target[chosen], self.score[chosen])


NO_PAIRS = Pairs(np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))


def best(pairs: Pairs, top_k: int | None) -> Ints:
    """Which pairs are kept when every node keeps its `top_k` best partners, the first of equals; None: all.

    A node may end up with more partners: those that keep it.
    """
    many = len(pairs.score)
    if top_k is None or not many:
        return np.arange(many)
    node = np.concatenate([pairs.source, pairs.target])
    other = np.concatenate([pairs.target, pairs.source])
    order = np.lexsort((other, -np.concatenate([pairs.score, pairs.score]), node))
    first = np.searchsorted(node[order], node[order])
    return np.unique(order[np.arange(2 * many) - first < top_k] % many)


def joined(parts: Iterable[Pairs], top_k: int | None) -> Pairs:
    """The pairs of all parts by (source, target); each part is cut down to the best before the next is asked for."""
    kept = [part.at(best(part, top_k)) for part in parts] or [NO_PAIRS]
    pairs = Pairs(*map(np.concatenate, zip(*kept, strict=True)))
    pairs = pairs.at(np.argsort(pairs.source * (pairs.target.max(initial=0) + 1) + pairs.target))
    return pairs.at(best(pairs, top_k))


def edges(name: str, nodes: Sequence[Node], pairs: Pairs) -> list[Relationship]:
    """Bidirectional relationships of type `name` with the score as a property of that name."""
    key = name.lower()
    return Relationship.many(
        name,
        map(nodes.__getitem__, pairs.source.tolist()),
        map(nodes.__getitem__, pairs.target.tolist()),
        ({key: score} for score in pairs.score.tolist()),
        bidirectional=True,
    )


# -- arrays ---------------------------------------------------------------------------------------


def ranges(starts: Ints, counts: Ints) -> Ints:
    """The numbers from each start on, as many as its count, one range after the other."""
    numbers: Ints = np.arange(counts.sum()) + np.repeat(starts - (np.cumsum(counts) - counts), counts)
    return numbers


def parts(counts: Ints, group: Ints) -> Iterator[slice]:
    """Slices of about AT_ONCE counts that cut no group in two."""
    ends = np.flatnonzero(np.diff(group, append=-1)) + 1
    full = np.cumsum(counts)[ends - 1] // AT_ONCE
    start = 0
    for end in ends[np.diff(full, append=-1) != 0].tolist():
        yield slice(start, end)
        start = end


def starts(sizes: Ints) -> Ints:
    return np.cumsum(sizes) - sizes


def fingerprints(features: Any, sizes: Ints, seed: int = 0) -> Bits:
    """64 bits for each run of features: two runs differ in at least as many features as bits."""
    mixed = (features.astype(np.uint64) + np.uint64(seed)) * np.uint64(0x9E3779B97F4A7C15)
    bits = np.uint64(1) << (mixed >> np.uint64(58))
    prints = np.zeros(len(sizes), np.uint64)
    if len(bits):
        prints[sizes > 0] = np.bitwise_xor.reduceat(bits, starts(sizes)[sizes > 0])
    return prints
