from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.search.toy import ToyEmbedder, vectors_of

from knotwork.errors import InputError
from knotwork.protocols import Embedder
from knotwork.search import EmbedderAdapter, InMemoryVectorDatabase
from knotwork.search.vectors import as_embedding_model


def vector(uuid: Any, numbers: Sequence[float], **metadata: Any) -> dict[str, Any]:
    return {"uuid": uuid, "vector": numbers, "metadata": metadata}


def database(*vectors: dict[str, Any]) -> InMemoryVectorDatabase:
    made = InMemoryVectorDatabase()
    made.add_vectors(vectors)
    return made


def uuids(found: list[list[dict[str, Any]]]) -> list[list[Any]]:
    return [[hit["uuid"] for hit in hits] for hits in found]


def test_a_search_gives_the_k_nearest_for_each_query_best_first() -> None:
    db = database(vector("east", [2, 0], a=1), vector("north", [0, 3], a=2), vector("between", [1, 1], a=3))
    assert uuids(db.search(np.array([[1, 0.1], [0.1, 1]]), 2)) == [["east", "between"], ["north", "between"]]
    (hit,) = db.search([[5, 0]], 1)[0]
    assert hit == {"uuid": "east", "score": 1.0, "metadata": {"a": 1}}
    assert len(db) == 3
    assert db.vector_size == 2


NUMBERS = st.lists(st.integers(-3, 3), min_size=3, max_size=3)


@given(st.lists(NUMBERS, max_size=12), NUMBERS, st.integers(0, 14), st.floats(-1, 1))
def test_it_finds_what_comparing_with_every_vector_finds(
    rows: list[list[int]], query: list[int], k: int, threshold: float
) -> None:
    db = database(*(vector(at, row) for at, row in enumerate(rows)))
    found = db.search(query, k, score_threshold=threshold)[0]

    def cosine(row: list[int]) -> float:
        length = float(np.linalg.norm(row) * np.linalg.norm(query))
        return float(np.dot(row, query)) / length if length else 0.0

    everything = sorted(((-round(cosine(row), 5), at) for at, row in enumerate(rows)) if any(query) else [])
    near = [pair for pair in everything if -pair[0] < threshold + 1e-4]
    certain = [at for minus, at in everything if -minus >= threshold + 1e-4]
    assert len(found) <= k
    assert all(-1 <= hit["score"] <= 1 and hit["score"] >= threshold - 1e-6 for hit in found)
    assert [round(hit["score"], 4) for hit in found] == sorted((round(hit["score"], 4) for hit in found), reverse=True)
    assert len(found) >= min(k, len(certain))
    assert {hit["uuid"] for hit in found} <= {*certain, *(at for _, at in near)}
    for hit in found:
        assert hit["score"] == pytest.approx(cosine(rows[hit["uuid"]]), abs=1e-5)


def test_equal_scores_come_in_the_order_of_adding() -> None:
    db = database(*(vector(at, [1, at % 2]) for at in range(10)))
    assert uuids(db.search([1, 0], 4)) == [[0, 2, 4, 6]]
    assert uuids(db.search([1, 0], 7)) == [[0, 2, 4, 6, 8, 1, 3]]


def test_only_scores_from_the_threshold_on_are_found() -> None:
    db = database(vector("same", [1, 0]), vector("across", [0, 1]), vector("against", [-1, 0]))
    assert uuids(db.search([1, 0], 9)) == [["same", "across"]]
    assert uuids(db.search([1, 0], 9, score_threshold=0.5)) == [["same"]]
    assert uuids(db.search([1, 0], 9, score_threshold=-1)) == [["same", "across", "against"]]


def test_a_query_of_zeros_finds_nothing() -> None:
    assert database(vector("a", [1, 0])).search([0, 0], 5) == [[]]


def test_an_empty_database_finds_nothing_for_every_query() -> None:
    assert InMemoryVectorDatabase().search(np.ones((3, 4)), 5) == [[], [], []]
    assert database(vector("a", [1, 0])).search([], 5) == []


def test_filters_keep_what_has_one_of_the_values_of_every_key() -> None:
    db = database(
        vector("a", [1, 0], entity_type="node", feature="description"),
        vector("b", [1, 0], entity_type="edge", feature="description"),
        vector("c", [1, 0], entity_type="node", feature="name"),
        vector("d", [1, 0], entity_type="node"),
        vector("e", [1, 0], feature="description"),
    )
    assert uuids(db.search([1, 0], 9, filters={"entity_type": ["node"]})) == [["a", "c", "d"]]
    assert uuids(db.search([1, 0], 9, filters={"entity_type": ["node", "edge"], "feature": ["name"]})) == [["c"]]
    assert uuids(db.search([1, 0], 9, filters={"feature": []})) == [[]]
    # what names no feature is taken for a description
    assert uuids(db.search([1, 0], 9, filters={"entity_type": ["node"], "feature": ["description"]})) == [["a", "d"]]


def test_what_is_added_later_is_found_and_filtered_too() -> None:
    db = database(vector("a", [1, 0], kind="x"))
    assert uuids(db.search([1, 0], 9, filters={"kind": ["x"]})) == [["a"]]
    db.add_vectors([vector("b", [1, 0], kind="y"), vector("c", [1, 0], kind="x")])
    assert uuids(db.search([1, 0], 9, filters={"kind": ["x"]})) == [["a", "c"]]


def test_a_uuid_that_is_there_gets_the_new_vector_and_metadata() -> None:
    db = database(vector("a", [1, 0], n=1), vector("b", [1, 0], n=2))
    db.add_vectors([vector("a", [0, 1], n=3)])
    assert len(db) == 2
    assert db.search([0, 1], 1)[0][0]["metadata"] == {"n": 3}


def test_vectors_without_a_uuid_are_kept_apart() -> None:
    db = InMemoryVectorDatabase()
    db.add_vectors([{"vector": [1, 0]}, {"vector": [1, 0]}])
    assert len({hit["uuid"] for hit in db.search([1, 0], 9)[0]}) == 2


def test_what_the_caller_changes_afterwards_does_not_reach_the_database() -> None:
    numbers, metadata = np.array([1.0, 0.0]), {"n": 1}
    db = InMemoryVectorDatabase()
    db.add_vectors([{"uuid": "a", "vector": numbers, "metadata": metadata}])
    numbers[:] = [0, 1]
    metadata["n"] = 2
    hit = db.search([1, 0], 1)[0][0]
    assert hit == {"uuid": "a", "score": 1.0, "metadata": {"n": 1}}
    hit["metadata"]["n"] = 3
    assert db.search([1, 0], 1)[0][0]["metadata"] == {"n": 1}


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        (vector("bad", [1, 2, 3]), "'bad' has 3 numbers, the others have 2"),
        (vector("bad", [1, float("nan")]), "'bad'.*NaN"),
        (vector("bad", [1e300, 1]), "'bad'.*Infinity"),
        (vector("bad", ["one", "two"]), "'bad' must be numbers"),
        (vector("bad", [[1, 0], [0, 1]]), "'bad' must be one row"),
        (vector("bad", []), "'bad' must be one row"),
        ({"uuid": "bad", "vector": [1, 0], "metadata": 5}, "'bad': its metadata"),
        (vector(["bad"], [1, 0]), "hashable"),
        ({"uuid": "bad"}, "vector"),
        ("bad", "vector"),
    ],
)
def test_one_bad_vector_is_named_and_nothing_is_added(bad: Any, complaint: str) -> None:
    db = database(vector("a", [1, 0]))
    with pytest.raises(InputError, match=complaint):
        db.add_vectors([vector("b", [0, 1]), bad])
    assert len(db) == 1


def test_a_size_given_holds_for_the_first_vector() -> None:
    db = InMemoryVectorDatabase(vector_size=3)
    with pytest.raises(InputError, match="2 numbers, the others have 3"):
        db.add_vectors([vector("a", [1, 0])])


@pytest.mark.parametrize(
    ("query", "k", "options", "complaint"),
    [
        ([1, 0, 0], 1, {}, "3 numbers, those in the database 2"),
        ([1, float("nan")], 1, {}, "NaN"),
        (["a", "b"], 1, {}, "numbers"),
        ([1, 0], -1, {}, "k must be"),
        ([1, 0], 1.5, {}, "k must be"),
        ([1, 0], 1, {"score_threshold": float("nan")}, "score_threshold"),
        ([1, 0], 1, {"score_threshold": "0"}, "score_threshold"),
        ([1, 0], 1, {"filters": {"a": 5}}, "filters"),
    ],
)
def test_a_search_that_makes_no_sense_says_why(query: Any, k: Any, options: Any, complaint: str) -> None:
    with pytest.raises(InputError, match=complaint):
        database(vector("a", [1, 0])).search(query, k, **options)


# -- embedders ------------------------------------------------------------------------------------


def test_one_of_our_embedders_serves_as_an_embedding_model() -> None:
    adapter = EmbedderAdapter(ToyEmbedder())
    assert adapter.embed("a whale").shape == (1, adapter.vector_size)
    both = adapter.embed(["a whale", "a ship"], task="embed_document")
    assert np.array_equal(both, vectors_of(["a whale", "a ship"]))


def test_it_can_be_called_inside_a_running_loop() -> None:
    async def call() -> Any:
        return EmbedderAdapter(ToyEmbedder()).embed("a whale")

    assert asyncio.run(call()).shape[0] == 1


class Told:
    """A model of the other shape; remembers the tasks."""

    vector_size = 2

    def __init__(self) -> None:
        self.tasks: list[str] = []

    def embed(self, text: str | list[str], task: str = "embed_document") -> Any:
        self.tasks.append(task)
        return np.ones((1 if isinstance(text, str) else len(text), 2))


def test_a_model_that_takes_a_task_is_left_as_it_is() -> None:
    model = Told()
    assert as_embedding_model(model) is model


class Plain:
    """An embedder of another library: sync, and not told the task."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[3.0, 4.0] for _ in texts]


def test_any_other_embedder_is_adapted() -> None:
    assert isinstance(ToyEmbedder(), Embedder)
    assert isinstance(as_embedding_model(ToyEmbedder()), EmbedderAdapter)
    assert as_embedding_model(Plain()).embed("x", task="embed_query").tolist() == [pytest.approx([0.6, 0.8])]
