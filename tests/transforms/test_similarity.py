from __future__ import annotations

import asyncio
import itertools
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork import KnowledgeGraph, Node, NodeType, Parallel, Relationship, apply_transforms
from knotwork.errors import InputError, TransformError
from knotwork.transforms import EmbeddingExtractor
from knotwork.transforms.relationships import similarity
from knotwork.transforms.relationships.similarity import CosineSimilarityBuilder, SummaryCosineSimilarityBuilder


def graph(vectors: Sequence[Any], name: str = "embedding", type: NodeType = NodeType.CHUNK) -> KnowledgeGraph:
    return KnowledgeGraph([Node(at, {name: vector}, type) for at, vector in enumerate(vectors)])


def links(builder: CosineSimilarityBuilder, vectors: Sequence[Any]) -> dict[tuple[Any, Any], float]:
    """The score of each pair, in the order of the relationships."""
    made = asyncio.run(builder.transform(graph(vectors, builder.property_name)))
    return {(link.source.id, link.target.id): link.get_property(builder.new_property_name) for link in made}


def cosines(vectors: Sequence[Any]) -> dict[tuple[int, int], float]:
    rows = np.array(vectors, np.float64).reshape(len(vectors), -1 if len(vectors) else 1)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-300)
    return {(i, j): float(rows[i] @ rows[j]) for i, j in itertools.combinations(range(len(rows)), 2)}


def expected(vectors: Sequence[Any], threshold: float) -> dict[tuple[int, int], float]:
    """By comparing all pairs."""
    return {
        pair: pytest.approx(cosine, abs=1e-12)
        for pair, cosine in cosines(vectors).items()
        if cosine >= threshold - 1e-13 and (threshold < 0 or cosine > 1e-13)
    }


VECTORS = st.integers(1, 5).flatmap(
    lambda size: st.lists(st.lists(st.integers(-3, 3), min_size=size, max_size=size), max_size=12)
)


@given(VECTORS, st.sampled_from([-1, -0.5, 0, 0.1, 0.5, 0.6, 0.8, 0.9, 1]), st.integers(1, 13))
def test_every_pair_at_or_over_the_threshold_is_linked_in_order_whatever_the_block_size(
    vectors: list[list[int]], threshold: float, block_size: int
) -> None:
    found = links(CosineSimilarityBuilder(threshold=threshold, block_size=block_size), vectors)
    assert found == expected(vectors, threshold)
    assert list(found) == sorted(found)
    assert found == links(CosineSimilarityBuilder(threshold=threshold), vectors)  # to the last digit
    assert all(threshold <= score <= 1 for score in found.values())


@pytest.mark.parametrize("dimension", [3, 64, 100])
@pytest.mark.parametrize("shift", [0, 0.3, 3])
def test_the_short_cuts_for_many_long_vectors_lose_no_pair(dimension: int, shift: float) -> None:
    random = np.random.default_rng(dimension)
    rows = random.standard_normal((300, dimension)) + shift
    rows[::3] = rows[1::3] + random.standard_normal((100, dimension)) * random.uniform(0, 1, (100, 1))
    for threshold in (0.5, 0.9, 0.97):
        found = links(CosineSimilarityBuilder(threshold=threshold, block_size=70), rows)
        assert found == expected(rows, threshold)
        assert found


def test_shorter_vectors_are_compared_first_where_that_tells_most_pairs_apart() -> None:
    rows = np.random.default_rng(0).standard_normal((500, 64))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    assert similarity._enough(rows, 0.9) < 64
    assert similarity._enough(rows, 0.0) == 64


@pytest.mark.parametrize("threshold", [0.1, 0.9])
def test_a_pair_that_float32_cannot_tell_from_the_threshold_is_decided_right(threshold: float) -> None:
    random = np.random.default_rng(1)
    for nearness in (1e-8, 1e-10):
        vectors = []
        for cosine in (threshold + nearness, threshold - nearness):
            one, other = np.linalg.qr(random.standard_normal((256, 2)))[0].T
            vectors += [one, cosine * one + math.sqrt(1 - cosine**2) * other]
        found = links(CosineSimilarityBuilder(threshold=threshold), vectors)
        assert (0, 1) in found
        assert (2, 3) not in found


def test_threshold_1_finds_identical_and_parallel_vectors() -> None:
    random = np.random.default_rng(2)
    for dimension in (2, 7, 384):
        one, other = random.standard_normal((2, dimension))
        vectors = [one, other, one.copy(), one * 7.3, (one / 3).tolist(), (one / np.linalg.norm(one)).astype("f4")]
        found = links(CosineSimilarityBuilder(threshold=1.0), vectors)
        assert found == dict.fromkeys(
            [(0, 2), (0, 3), (0, 4), (0, 5), (2, 3), (2, 4), (2, 5), (3, 4), (3, 5), (4, 5)], 1.0
        )


def test_a_pair_right_at_the_threshold_is_linked() -> None:
    assert links(CosineSimilarityBuilder(threshold=0.6), [[1, 0], [0.6, 0.8]]) == {(0, 1): 0.6}


def test_a_zero_vector_is_similar_to_nothing() -> None:
    assert links(CosineSimilarityBuilder(threshold=0), [[0, 0], [0, 0], [1, 1]]) == {}


def test_vectors_at_right_angles_have_nothing_in_common_unless_the_threshold_is_negative() -> None:
    vectors = [[1, 1, 0], [1, -1, 0], [0, 0, 2], [-1, -1, 0]]
    assert links(CosineSimilarityBuilder(threshold=0), vectors) == {}
    assert links(CosineSimilarityBuilder(threshold=-1), vectors) == expected(vectors, -1)
    assert len(expected(vectors, -1)) == 6


def test_huge_and_tiny_numbers_are_compared_like_others() -> None:
    vectors = [[3e300, 4e300], [3e-300, 4e-300], [3, 4], [-3e300, 4e300]]
    assert links(CosineSimilarityBuilder(), vectors) == {(0, 1): 1.0, (0, 2): 1.0, (1, 2): 1.0}


def test_an_edge_goes_both_ways_and_is_what_the_graph_itself_would_make(tmp_path: Path) -> None:
    kg = graph([[1.0, 0.0], [1.0, 0.5]])
    (link,) = asyncio.run(CosineSimilarityBuilder(threshold=0.5, new_property_name="Near").transform(kg))
    twin = Relationship("Near", kg.nodes[0], kg.nodes[1], bidirectional=True, properties={"Near": 1 / math.sqrt(1.25)})
    assert (link.type, link.source, link.target, link.bidirectional) == ("Near", kg.nodes[0], kg.nodes[1], True)
    assert link.properties == twin.properties
    assert link.id == twin.id
    kg.add(link)
    kg.save(tmp_path / "graph.json")
    assert KnowledgeGraph.load(tmp_path / "graph.json") == kg


def test_applied_twice_there_is_nothing_new() -> None:
    kg = graph(np.random.default_rng(3).standard_normal((20, 4)))
    apply_transforms(kg, CosineSimilarityBuilder(threshold=0.2))
    before = kg.to_dict()
    assert len(kg.relationships) > 20
    apply_transforms(kg, CosineSimilarityBuilder(threshold=0.2))
    assert kg.to_dict() == before


@pytest.mark.parametrize("count", [0, 1])
def test_none_or_one_node_gives_nothing(count: int) -> None:
    assert links(CosineSimilarityBuilder(threshold=-1), [[1.0, 2.0]] * count) == {}


def test_only_filtered_nodes_are_linked_by_either_route() -> None:
    kg = graph([[1, 0]] * 4)
    kg.add(Node("without"))
    builder = CosineSimilarityBuilder(filter_nodes=lambda node: node.id in (1, 3))
    assert [(link.source.id, link.target.id) for link in asyncio.run(builder.transform(kg))] == [(1, 3)]
    apply_transforms(kg, builder)
    assert [(link.source.id, link.target.id) for link in kg.relationships] == [(1, 3)]


def test_summaries_are_compared_between_documents_only_by_either_route() -> None:
    kg = graph([[1, 0], [1, 9]], "summary_embedding", NodeType.DOCUMENT)
    kg.add(Node("chunk", {"summary_embedding": [1, 0]}, NodeType.CHUNK))
    kg.add(Node("left out", {"summary_embedding": [1, 0]}, NodeType.DOCUMENT))
    builder = SummaryCosineSimilarityBuilder(filter_nodes=lambda node: node.id != "left out")
    (link,) = asyncio.run(builder.transform(kg))
    assert (link.type, link.source.id, link.target.id) == ("summary_cosine_similarity", 0, 1)
    assert link.get_property("summary_cosine_similarity") == pytest.approx(1 / math.sqrt(82))
    apply_transforms(kg, builder)
    assert [*kg.relationships] == [link]


@given(VECTORS, st.integers(1, 3), st.integers(1, 5))
def test_top_k_keeps_the_best_partners_of_every_node(vectors: list[list[int]], top_k: int, block_size: int) -> None:
    everything = links(CosineSimilarityBuilder(threshold=-1), vectors)
    kept = set()
    for node in range(len(vectors)):
        mine = [pair for pair in everything if node in pair]
        kept |= set(sorted(mine, key=lambda pair: (-everything[pair], sum(pair)))[:top_k])
    found = links(CosineSimilarityBuilder(threshold=-1, top_k=top_k, block_size=block_size), vectors)
    assert list(found.items()) == [(pair, score) for pair, score in everything.items() if pair in kept]


BAD = {
    "missing": (None, "node 'bad' has no property 'embedding'"),
    "text": ("0.1 0.2", "node 'bad': property 'embedding' is str '0.1 0.2'"),
    "number": (1.5, "node 'bad': property 'embedding' is float"),
    "texts": (["a", "b"], "node 'bad': property 'embedding' is list"),
    "flags": ([True, False], "node 'bad': property 'embedding' is list"),
    "none inside": ([1.0, None], "node 'bad': property 'embedding' is list"),
    "nested": ([[1.0, 2.0]], "node 'bad': property 'embedding' is list"),
    "ragged": ([[1.0], [1.0, 2.0]], "node 'bad': property 'embedding' is list"),
    "complex": (np.array([1j, 2]), "node 'bad': property 'embedding' is ndarray"),
    "empty": ([], "node 'bad': property 'embedding' is list"),
    "dict": ({"a": 1.0}, "node 'bad': property 'embedding' is dict"),
    "NaN": ([1.0, math.nan], "node 'bad': property 'embedding' holds NaN or Infinity"),
    "Infinity": ([1.0, math.inf], "node 'bad': property 'embedding' holds NaN or Infinity"),
    "longer": ([1.0, 2.0, 3.0], "node 'bad': property 'embedding' has 3 numbers, that of node 0 has 2"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_vector_is_an_error_naming_node_and_property(case: str) -> None:
    value, message = BAD[case]
    kg = graph([[1.0, 0.0]])
    kg.add(Node("bad", {} if value is None else {"Embedding": value}))
    with pytest.raises(InputError, match=message):
        asyncio.run(CosineSimilarityBuilder().transform(kg))
    with pytest.raises(TransformError, match=message) as raised:
        apply_transforms(kg, CosineSimilarityBuilder())
    assert isinstance(raised.value, ValueError)
    assert not kg.relationships


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"threshold": math.nan}, "threshold is a number from -1 to 1, not nan"),
        ({"threshold": 1.1}, "threshold"),
        ({"threshold": "0.9"}, "threshold"),
        ({"block_size": 0}, "block_size is a whole number from 1 on, not 0"),
        ({"block_size": 1.5}, "block_size"),
        ({"top_k": 0}, "top_k is a whole number from 1 on, not 0"),
        ({"top_k": True}, "top_k"),
        ({"property_name": ""}, "property_name"),
        ({"new_property_name": None}, "new_property_name"),
    ],
)
@pytest.mark.parametrize("builder", [CosineSimilarityBuilder, SummaryCosineSimilarityBuilder])
def test_impossible_arguments_are_refused(builder: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"{builder.__name__}: {message}"):
        builder(**arguments)


def test_the_defaults_are_those_of_the_contract() -> None:
    cosine, summary = CosineSimilarityBuilder(), SummaryCosineSimilarityBuilder()
    assert (cosine.name, cosine.property_name, cosine.new_property_name, cosine.threshold) == (
        "CosineSimilarityBuilder",
        "embedding",
        "cosine_similarity",
        0.9,
    )
    assert (summary.name, summary.property_name, summary.new_property_name, summary.threshold) == (
        "SummaryCosineSimilarityBuilder",
        "summary_embedding",
        "summary_cosine_similarity",
        0.1,
    )
    assert cosine.block_size == summary.block_size == 1024
    assert cosine.top_k is summary.top_k is None


def test_beside_the_writer_of_its_property_it_is_refused() -> None:
    with pytest.raises(InputError, match="CosineSimilarityBuilder reads embedding"):
        apply_transforms(graph([]), Parallel(EmbeddingExtractor(), CosineSimilarityBuilder()))
