"""The SQLite store keeps the contract of all stores."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pytest.register_assert_rewrite("knotwork.testing.stores")

from knotwork.graph import AddNode, AddRelationship, KnowledgeGraph, Node, NodeType, Relationship  # noqa: E402
from knotwork.stores import SqliteStore  # noqa: E402
from knotwork.testing.stores import StoreContract, content, rich_graph  # noqa: E402


class TestSqliteStore(StoreContract):
    @pytest.fixture(autouse=True)
    def _sound(self) -> Iterator[None]:
        """Whatever a test did, the files it leaves are in order, down to the last index."""
        self.opened: list[SqliteStore] = []
        yield
        for store in self.opened:
            store.close()
            with SqliteStore(store.path) as again:
                problems = again.check() if again.exists else []
            assert [problem for problem in problems if "chunk" not in problem] == []

    def make(self, tmp_path: Path) -> SqliteStore:
        self.opened.append(SqliteStore(tmp_path / "kb"))
        return self.opened[-1]

    @given(rng=st.randoms(use_true_random=False))
    def test_a_store_follows_any_changes_that_hypothesis_thinks_of(self, rng: random.Random) -> None:
        with TemporaryDirectory() as folder, SqliteStore(folder) as store:
            self.follow(store, rng)
            assert [problem for problem in store.check() if "sentence" not in problem] == []


scalars = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
arrays = st.builds(
    lambda numbers, kind: np.array(numbers).astype(kind),
    st.lists(st.integers(-100, 100)),
    st.sampled_from(["int8", "float16", "float32", ">f8", "uint64", "bool", "int64"]),
)
pairs = st.lists(
    st.tuples(st.integers(), st.integers()) | st.lists(st.integers(0, 9), min_size=2, max_size=2), max_size=3
)
keys = st.text().filter(lambda key: not key.startswith("__"))
values = st.recursive(
    scalars | arrays | pairs,
    lambda inner: st.lists(inner) | st.lists(inner).map(tuple) | st.dictionaries(keys, inner, max_size=3),
    max_leaves=6,
)
names = keys | st.sampled_from(["page_content", "sentences", "start", "end", "surface", "description", "embedding"])
ids = st.text() | st.integers() | st.uuids()
properties = st.dictionaries(names, values, max_size=4)


@given(
    nodes=st.lists(
        st.tuples(ids, properties, st.sampled_from(NodeType)), min_size=1, max_size=4, unique_by=lambda item: item[0]
    ),
    links=st.lists(st.tuples(ids, st.text(), properties, st.booleans()), max_size=4, unique_by=lambda item: item[0]),
)
def test_whatever_a_graph_can_save_a_store_gives_back(nodes: list[Any], links: list[Any]) -> None:
    made = [Node(id, said, type) for id, said, type in nodes]
    graph = KnowledgeGraph(made)
    for id, type, said, both_ways in links:
        graph.add(Relationship(type, made[0], made[-1], id, both_ways, said))
    with TemporaryDirectory() as folder, SqliteStore(folder) as store:
        store.write([*map(AddNode, graph.nodes), *map(AddRelationship, graph.relationships)])
        assert content(store.graph()) == content(graph)


def test_two_stores_written_differently_save_the_same_bytes(tmp_path: Path) -> None:
    saved = []
    for backwards in (False, True):
        graph = rich_graph()
        nodes = list(reversed(graph.nodes)) if backwards else list(graph.nodes)
        with SqliteStore(tmp_path / str(backwards)) as store:
            store.write([*map(AddNode, nodes), *map(AddRelationship, graph.relationships)])
            saved.append(json.dumps(store.graph().to_dict()))
    assert saved[0] == saved[1]
