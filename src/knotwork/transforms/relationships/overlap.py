"""Edges between nodes that name the same things: the same items, or items spelled alike."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from knotwork.errors import InputError
from knotwork.graph import KnowledgeGraph, Node, Relationship
from knotwork.threads import in_thread
from knotwork.transforms.arguments import check_count, check_name, check_range
from knotwork.transforms.base import RelationshipBuilder
from knotwork.transforms.relationships.pairs import (
    NO_PAIRS,
    ROUNDING,
    Ints,
    Pairs,
    best,
    edges,
    fingerprints,
    joined,
    parts,
    ranges,
    starts,
)
from knotwork.transforms.relationships.properties import required, shown
from knotwork.transforms.relationships.spelling import DistanceMeasure, spelled_alike


@dataclass
class JaccardSimilarityBuilder(RelationshipBuilder):
    """An edge both ways between two nodes that share at least `threshold` of their distinct items: |A∩B| / |A∪B|.

    key_name: where the property is a dict, the key of it that holds the list; a dict without it has no items. Items
    are compared as they are written. Nothing in common makes no edge, whatever the threshold. top_k: every node keeps
    its k best partners.

    Raises InputError naming node and property where one is missing or is no list of str.
    """

    property_name: str = "entities"
    key_name: str | None = None
    new_property_name: str = "jaccard_similarity"
    threshold: float = 0.5
    top_k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check(self)

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset([self.property_name])

    async def transform(self, kg: KnowledgeGraph) -> list[Relationship]:
        return await in_thread(self._edges, list(kg.nodes))

    def _edges(self, nodes: Sequence[Node]) -> list[Relationship]:
        if len(nodes) < 2:
            return []
        items = _Items.of(dict.fromkeys(_list(node, self.property_name, self.key_name)) for node in nodes)
        return edges(self.new_property_name, nodes, joined(_sharing(items, self.threshold), self.top_k))


@dataclass
class OverlapScoreBuilder(RelationshipBuilder):
    """An edge both ways between two nodes whose items are spelled alike.

    The score is the share of all pairs (an item here, an item there) whose similarity, lower-cased, is at least
    `distance_threshold`. Items that are everywhere say nothing: the most common 5 % of the distinct ones, rounded down,
    are left out on both sides. The relationship has the type "<property>_overlap", the score as
    "<property>_<new_property_name>", and the pairs as "overlapped_items". key_name, top_k and errors are those of
    JaccardSimilarityBuilder; no pair alike makes no edge.
    """

    property_name: str = "entities"
    key_name: str | None = None
    new_property_name: str = "overlap_score"
    distance_measure: DistanceMeasure = DistanceMeasure.JARO_WINKLER
    distance_threshold: float = 0.9
    threshold: float = 0.01
    top_k: int | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        _check(self)
        check_range(self.name, "distance_threshold", self.distance_threshold, 0, 1)
        try:
            self.distance_measure = DistanceMeasure(self.distance_measure)
        except ValueError as error:
            known = ", ".join(DistanceMeasure)
            raise InputError(
                f"{self.name}: there is no distance_measure {self.distance_measure!r}; there are {known}"
            ) from error

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset([self.property_name])

    async def transform(self, kg: KnowledgeGraph) -> list[Relationship]:
        return await in_thread(self._edges, list(kg.nodes))

    def _edges(self, nodes: Sequence[Node]) -> list[Relationship]:
        if len(nodes) < 2:
            return []
        items = _Items.of(_list(node, self.property_name, self.key_name) for node in nodes).without_noise()
        spelling = _Spelling.of(items.texts, self.distance_measure, self.distance_threshold)
        found = _Overlaps.joined([part.best(self.top_k) for part in _overlaps(items, spelling, self.threshold)])
        found = found.best(self.top_k)
        texts = np.array(items.texts, object)
        alike = list(zip(texts[found.left].tolist(), texts[found.right].tolist(), strict=True))
        start = starts(found.counts)
        told = zip(found.pairs.score.tolist(), start.tolist(), (start + found.counts).tolist(), strict=True)
        key = f"{self.property_name}_{self.new_property_name}".lower()
        return Relationship.many(
            f"{self.property_name}_overlap",
            map(nodes.__getitem__, found.pairs.source.tolist()),
            map(nodes.__getitem__, found.pairs.target.tolist()),
            ({key: score, "overlapped_items": alike[first:last]} for score, first, last in told),
            bidirectional=True,
        )


def _check(builder: JaccardSimilarityBuilder | OverlapScoreBuilder) -> None:
    check_name(builder.name, "property_name", builder.property_name)
    check_name(builder.name, "new_property_name", builder.new_property_name)
    check_range(builder.name, "threshold", builder.threshold, 0, 1)
    if builder.key_name is not None:
        check_name(builder.name, "key_name", builder.key_name)
    if builder.top_k is not None:
        check_count(builder.name, "top_k", builder.top_k)


# -- items ----------------------------------------------------------------------------------------


def _list(node: Node, name: str, key_name: str | None) -> Sequence[str]:
    value = required(node, name)
    where, wanted = f"node {node.id!r}: property {name!r}", "a list of str is needed"
    if key_name is not None:
        if not isinstance(value, dict):
            raise InputError(f"{where} is {shown(value)}; for key_name={key_name!r} a dict is needed")
        value = value.get(key_name, [])
        where = f"{where}, key {key_name!r},"
    elif isinstance(value, dict):
        wanted = f"{wanted}; key_name says which of {', '.join(map(repr, value))} to take"
    if not isinstance(value, list | tuple):
        raise InputError(f"{where} is {shown(value)}; {wanted}")
    for item in value:
        if not isinstance(item, str):
            raise InputError(f"{where} holds {shown(item)}; {wanted}")
    return value


class _Items(NamedTuple):
    """What the nodes name: item k is `texts[item[k]]`, named by the node at place `node[k]`; in their order."""

    nodes: int
    node: Ints
    item: Ints
    texts: list[str]

    @classmethod
    def of(cls, lists: Iterable[Collection[str]]) -> _Items:
        ids: dict[str, int] = {}
        sizes: list[int] = []
        item: list[int] = []
        for texts in lists:
            item += [ids.setdefault(text, len(ids)) for text in texts]
            sizes.append(len(texts))
        node = np.repeat(np.arange(len(sizes)), sizes)
        return cls(len(sizes), node, np.array(item, np.int64), list(ids))

    def without_noise(self) -> _Items:
        """Less the most common 5 % of the texts, rounded down; of equally common ones the first are noise."""
        counts = np.bincount(self.item, minlength=len(self.texts))
        noisy = np.argsort(-counts, kind="stable")[: len(self.texts) // 20]
        kept = ~np.isin(self.item, noisy)
        return self._replace(node=self.node[kept], item=self.item[kept])

    @property
    def sizes(self) -> Ints:
        """How many items each node has."""
        return np.bincount(self.node, minlength=self.nodes)


# -- equal items ----------------------------------------------------------------------------------


def _sharing(items: _Items, threshold: float) -> Iterator[Pairs]:
    """The pairs of nodes whose items, each once, have a Jaccard similarity >= threshold and > 0.

    Nodes are put in order of size and their items rarest first. Two nodes that share enough have an item in common
    before too few are left to share, so only nodes that meet at a rare one are looked at ("prefix filtering": Bayardo,
    Ma, Srikant 2007; the bound by what is left: Xiao, Wang, Lin, Yu 2008).
    """
    if not len(items.item):
        return
    by_size = np.argsort(items.sizes, kind="stable")
    size = items.sizes[by_size]
    many, words = len(size), len(items.texts)
    rarity = np.argsort(np.argsort(np.bincount(items.item), kind="stable"))
    keys = np.sort(np.argsort(by_size)[items.node] * words + rarity[items.item])
    node, word = keys // words, keys % words
    start = starts(size)
    left = (start + size)[node] - np.arange(len(keys))  # items of the node from this one on
    prints = fingerprints(word, size)

    rare = left >= np.maximum(1, threshold * size - ROUNDING)[node]
    node, meeting, left = node[rare], word[rare], left[rare]
    order = np.lexsort((node, meeting))
    met, met_left = node[order], left[order]
    met_key = meeting[order] * many + met
    large_enough = np.searchsorted(size, threshold * size - ROUNDING)  # the first such node, for each
    first = np.searchsorted(met_key, meeting * many + large_enough[node])
    count = np.argsort(order) - first  # those before this one
    for part in parts(count, node):
        other = ranges(first[part], count[part])
        small, large = met[other], np.repeat(node[part], count[part])
        both = size[small] + size[large]
        need = np.maximum(1, threshold / (1 + threshold) * both - ROUNDING)
        enough = np.minimum(met_left[other], np.repeat(left[part], count[part])) >= need
        enough &= np.bitwise_count(prints[small] ^ prints[large]) <= both - 2 * need
        pair = np.unique(large[enough] * many + small[enough])
        large, small = pair // many, pair % many
        shared = _shared(keys, words, start, size, large, small)
        score = shared / np.maximum(size[small] + size[large] - shared, 1)
        kept = (score >= threshold) & (shared > 0)
        one, two = by_size[small[kept]], by_size[large[kept]]
        yield Pairs(np.minimum(one, two), np.maximum(one, two), score[kept])


def _shared(keys: Ints, words: int, start: Ints, size: Ints, large: Ints, small: Ints) -> Ints:
    """How many items the nodes `large` and `small` have in common; node k has `keys[start[k] :][: size[k]] % words`."""
    shared = np.zeros(len(small), np.int64)
    for part in parts(size[small], np.arange(len(small))):
        count = size[small[part]]
        sought = np.repeat(large[part], count) * words + keys[ranges(start[small[part]], count)] % words
        there = keys[np.minimum(np.searchsorted(keys, sought), len(keys) - 1)] == sought
        shared[part] = np.add.reduceat(there, starts(count), dtype=np.int64)
    return shared


# -- items spelled alike --------------------------------------------------------------------------


class _Spelling(NamedTuple):
    """Which texts are alike: text k has the spelling `of_text[k]`; (one, other) are the alike ones, in both orders."""

    of_text: Ints
    one: Ints
    other: Ints

    @classmethod
    def of(cls, texts: Sequence[str], measure: DistanceMeasure, threshold: float) -> _Spelling:
        ids: dict[str, int] = {}
        of_text = np.array([ids.setdefault(text.lower(), len(ids)) for text in texts], np.int64)
        itself = np.arange(len(ids))
        found = list(spelled_alike(list(ids), measure, threshold))
        left = np.concatenate([left for left, _ in found] or [itself[:0]])
        right = np.concatenate([right for _, right in found] or [itself[:0]])
        return cls(of_text, np.concatenate([left, right, itself]), np.concatenate([right, left, itself]))


class _Overlaps(NamedTuple):
    """Pairs of nodes, each with the number of its alike items; these (texts by their ids) one pair after the other."""

    pairs: Pairs
    counts: Ints
    left: Ints
    right: Ints

    @classmethod
    def joined(cls, parts: Sequence[_Overlaps]) -> _Overlaps:
        none = np.zeros(0, np.int64)
        parts = parts or [cls(NO_PAIRS, none, none, none)]
        pairs = Pairs(*(np.concatenate(column) for column in zip(*(part.pairs for part in parts), strict=True)))
        return cls(pairs, *(np.concatenate(column) for column in zip(*(part[1:] for part in parts), strict=True)))

    def at(self, chosen: Ints) -> _Overlaps:
        counts = self.counts[chosen]
        inside = ranges(starts(self.counts)[chosen], counts)
        return _Overlaps(self.pairs.at(chosen), counts, self.left[inside], self.right[inside])

    def best(self, top_k: int | None) -> _Overlaps:
        return self if top_k is None else self.at(best(self.pairs, top_k))


def _overlaps(items: _Items, spelling: _Spelling, threshold: float) -> Iterator[_Overlaps]:
    """The pairs of nodes with alike items, by (source, target), and these in the order of both lists."""
    many = len(items.item)
    size = items.sizes
    spelt = spelling.of_text[items.item]
    spellings = len(spelling.of_text)  # no fewer than there are
    naming = np.sort(spelt * many + np.arange(many))  # by spelling, then in order
    fellows = np.sort(spelling.one * spellings + spelling.other) % spellings
    fellow_count = np.bincount(spelling.one, minlength=spellings)
    fellow_start = starts(fellow_count)
    named = np.bincount(spelt, minlength=spellings)
    reach = np.bincount(spelling.one, weights=named[spelling.other], minlength=spellings).astype(np.int64)
    next_node = (starts(size) + size)[items.node]
    for part in parts(reach[spelt], items.node):
        here = np.arange(many)[part]
        count = fellow_count[spelt[part]]
        here = np.repeat(here, count)
        fellow = fellows[ranges(fellow_start[spelt[part]], count)]
        start = np.searchsorted(naming, fellow * many + next_node[here])
        count = np.searchsorted(naming, (fellow + 1) * many) - start
        matched = np.sort(np.repeat(here, count) * many + naming[ranges(start, count)] % many)
        left, right = matched // many, matched % many
        pair = items.node[left] * items.nodes + items.node[right]
        order = np.argsort(pair, kind="stable")
        first = np.flatnonzero(np.diff(pair[order], prepend=-1))
        count = np.diff(first, append=len(order))
        source, target = pair[order][first] // items.nodes, pair[order][first] % items.nodes
        score = count / (size[source] * size[target])
        found = _Overlaps(Pairs(source, target, score), count, items.item[left[order]], items.item[right[order]])
        yield found.at(np.flatnonzero(score >= threshold))
