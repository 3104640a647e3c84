from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from knotwork import KnowledgeGraph, Node, NodeType, RunConfig, apply_transforms
from knotwork.errors import TransformError
from knotwork.transforms import (
    EmbeddingExtractor,
    PassageEmbeddingExtractor,
    PooledEmbeddingExtractor,
    SentenceEmbeddingExtractor,
    SentenceExtractor,
)


class Letters:
    """Vectors that count a, b and c; remembers what it was asked."""

    name, dimension = "letters", 3

    def __init__(self) -> None:
        self.asked: list[str] = []

    async def embed(self, texts: Sequence[str]) -> Any:
        self.asked += texts
        rows = np.array([[text.count(letter) for letter in "abc"] for text in texts], np.float32)
        return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-9)


def chunks(*texts: Any, **properties: Any) -> KnowledgeGraph:
    return KnowledgeGraph(
        Node(at, {"page_content": text, **properties}, NodeType.CHUNK) for at, text in enumerate(texts)
    )


def test_equal_texts_are_embedded_once_and_blank_ones_not_at_all() -> None:
    model, kg = Letters(), chunks("aa", "b", "aa", " ", None)
    apply_transforms(kg, EmbeddingExtractor(embedding_model=model))
    assert model.asked == ["aa", "b"]
    assert [node.get_property("embedding") is not None for node in kg.nodes] == [True, True, True, False, False]
    assert apply_transforms(kg, EmbeddingExtractor(embedding_model=model)).stages[0].done == 0


def test_a_property_that_is_no_text_is_an_error_naming_node_property_and_type() -> None:
    with pytest.raises(ValueError, match=r"node 0: property 'page_content' is list"):
        apply_transforms(chunks(["a"]), EmbeddingExtractor(embedding_model=Letters()))


def test_a_passage_and_its_sentences_are_read_with_the_title() -> None:
    model, kg = Letters(), chunks("aa is here. bb is there.", title="Cc", headings=["Top", "Sub"])
    apply_transforms(kg, [SentenceExtractor(), SentenceEmbeddingExtractor(embedding_model=model)])
    assert model.asked == ["Cc: aa is here.", "Cc: bb is there."]
    rows = kg.nodes[0].get_property("sentence_embeddings")
    assert rows.dtype == np.int8
    assert rows.shape == (2, 3)
    apply_transforms(kg, PassageEmbeddingExtractor(embedding_model=model))
    assert model.asked[-1] == "Cc. Sub. aa is here. bb is there."


def test_a_pooled_vector_is_the_mean_of_the_sentences_by_their_lengths_and_of_length_one() -> None:
    kg = chunks("aaaaaaaaa aaaaaaaa. b.")
    apply_transforms(
        kg, [SentenceExtractor(), SentenceEmbeddingExtractor(embedding_model=Letters()), PooledEmbeddingExtractor()]
    )
    spans = kg.nodes[0].get_property("sentences")
    vector = kg.nodes[0].get_property("embedding")
    assert np.isclose(np.linalg.norm(vector), 1)
    assert np.isclose(vector[0] / vector[1], (spans[0][1] - spans[0][0]) / (spans[1][1] - spans[1][0]))


def test_a_chunk_without_text_gets_no_pooled_vector() -> None:
    kg = chunks(" ")
    apply_transforms(
        kg, [SentenceExtractor(), SentenceEmbeddingExtractor(embedding_model=Letters()), PooledEmbeddingExtractor()]
    )
    assert kg.nodes[0].get_property("embedding") is None


class Sick:
    """A foreign embedder that fails on one text."""

    dimension = 2

    def __init__(self, value: float) -> None:
        self.value = value

    def embed(self, texts: Sequence[str]) -> Any:
        return [[1.0, self.value if "sick" in text else 0.0] for text in texts]


@pytest.mark.parametrize("value", [float("nan"), float("inf")])
@pytest.mark.parametrize("kind", [EmbeddingExtractor, SentenceEmbeddingExtractor])
def test_a_vector_that_is_not_finite_names_the_node_and_the_property(kind: Any, value: float) -> None:
    kg = chunks("well here", "sick here")
    apply_transforms(kg, SentenceExtractor())
    with pytest.raises(ValueError, match=r"node 1: the embedder gave NaN or Infinity for property 'page_content'"):
        apply_transforms(kg, kind(embedding_model=Sick(value)))


def test_a_text_beyond_what_the_model_reads_is_the_mean_of_its_windows() -> None:
    class Narrow(Letters):
        max_tokens = 2

    model, kg = Narrow(), chunks("a a b b", "a")
    apply_transforms(kg, EmbeddingExtractor(embedding_model=model))
    assert len(model.asked) > 2
    assert "".join(model.asked) == "a a b ba"
    np.testing.assert_allclose(kg.nodes[0].get_property("embedding"), [0.5**0.5, 0.5**0.5, 0], atol=1e-6)
    np.testing.assert_allclose(kg.nodes[1].get_property("embedding"), [1, 0, 0])


def test_equal_texts_are_embedded_once_however_many_nodes_have_them() -> None:
    model, kg = Letters(), chunks(*(f"a{n % 10}" for n in range(1000)))
    apply_transforms(kg, EmbeddingExtractor(embedding_model=model))
    assert sorted(model.asked) == sorted(f"a{n}" for n in range(10))
    assert all(node.get_property("embedding") is not None for node in kg.nodes)


def test_one_node_that_cannot_be_read_costs_no_other_its_vector() -> None:
    kg = chunks("a", "b", 3, "c")
    report = apply_transforms(kg, EmbeddingExtractor(embedding_model=Letters()), on_error="skip")
    assert [skipped.what for skipped in report.skipped] == [2]
    assert "node 2: property 'page_content' is int" in report.skipped[0].reason
    assert [node.get_property("embedding") is not None for node in kg.nodes] == [True, True, False, True]


def test_an_embedder_of_one_text_a_call_is_called_for_many_at_once() -> None:
    class OneByOne:
        running = peak = 0

        async def aembed_text(self, text: str) -> list[float]:
            self.running += 1
            self.peak = max(self.peak, self.running)
            await asyncio.sleep(0.01)
            self.running -= 1
            return [1.0, len(text)]

    model, kg = OneByOne(), chunks(*("a" * n for n in range(1, 21)))
    apply_transforms(kg, EmbeddingExtractor(embedding_model=model), RunConfig(max_workers=8))
    assert model.peak == 8


@pytest.mark.parametrize("made", [None, [], [[1.0]], "vectors", [[1.0], [1.0, 2.0]], [[], []]])
def test_an_embedder_that_gives_no_vectors_is_named(made: Any) -> None:
    class Odd(Letters):
        name = "odd"

        async def embed(self, texts: Sequence[str]) -> Any:
            return made

    with pytest.raises(TransformError, match="odd did not give 2 vectors"):
        apply_transforms(chunks("a", "b"), EmbeddingExtractor(embedding_model=Odd()))
