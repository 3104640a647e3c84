"""Hypothesis strategies of the domain: property values, nodes, graphs, and lists of changes to a graph."""

from __future__ import annotations

import json
from typing import Any
from uuid import UUID

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from knotwork.graph import (
    MISSING,
    AddNode,
    AddRelationship,
    Change,
    KnowledgeGraph,
    Node,
    NodeType,
    Relationship,
    RemoveNode,
    RemoveRelationship,
    SetProperty,
)

ids: st.SearchStrategy[str | int | UUID] = st.one_of(
    st.text(max_size=4), st.integers(), st.uuids(), st.sampled_from(["a", "b", 1, 2])
)
names = st.one_of(st.sampled_from(["text", "Text", "score", "__tuple__", "__dict__"]), st.text(max_size=4))
dtypes = st.sampled_from([np.float32, np.float64, np.int8, np.int64, np.uint64, np.bool_, np.dtype(">f4"), "<U3"])
vectors = dtypes.flatmap(
    lambda dtype: arrays.arrays(
        dtype,
        arrays.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=3),
        elements={"allow_nan": False, "allow_infinity": False} if np.dtype(dtype).kind == "f" else None,
    )
)
values: st.SearchStrategy[Any] = st.recursive(
    st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.floats(allow_nan=False, allow_infinity=False),
        st.text(st.characters(), max_size=5),
        st.uuids(),
        vectors,
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(names, inner, max_size=3),
    ),
    max_leaves=6,
)
properties = st.dictionaries(names, values, max_size=3)
types = st.sampled_from(["child", "next", "relates"])


@st.composite
def nodes(draw: st.DrawFn, ids: st.SearchStrategy[Any] = ids) -> Node:
    return Node(draw(ids), draw(properties), draw(st.sampled_from(NodeType)))


@st.composite
def relationships(draw: st.DrawFn, ends: list[Node]) -> Relationship:
    """A relationship between two of these nodes, with an id of its own or without."""
    source, target = draw(st.sampled_from(ends)), draw(st.sampled_from(ends))
    id = draw(st.none() | st.uuids())
    return Relationship(draw(types), source, target, id, draw(st.booleans()), draw(properties))


@st.composite
def graphs(draw: st.DrawFn, max_nodes: int = 6, max_relationships: int = 10) -> KnowledgeGraph:
    graph = KnowledgeGraph(draw(st.lists(nodes(), max_size=max_nodes, unique_by=lambda node: node.id)))
    if graph.nodes:
        graph.add_all(draw(st.lists(relationships(list(graph.nodes)), max_size=max_relationships)))
    return graph


@st.composite
def changes(draw: st.DrawFn, graph: KnowledgeGraph, max_size: int = 8) -> list[Change]:
    """Changes to this graph. Most fit; some refer to what is not there, or was taken away before."""
    there = {node.id: node for node in graph.nodes}
    links = [link.id for link in graph.relationships]
    made: list[Change] = []
    for _ in range(draw(st.integers(0, max_size))):
        kind = draw(st.sampled_from(["node", "unnode", "property", "link", "unlink"]))
        if kind == "node" or not there:
            node = draw(nodes(st.integers(1000, 1004)))
            there.setdefault(node.id, node)
            made.append(AddNode(node, draw(st.none() | st.integers(0, 20))))
            continue
        id = draw(st.sampled_from(list(there)))
        if kind == "unnode":
            made.append(RemoveNode(id))
            if draw(st.integers(0, 4)):  # else it is used once more, and that must fail
                del there[id]
        elif kind == "property":
            place = draw(st.none() | st.integers(0, 3))
            made.append(SetProperty(id, draw(names), draw(values | st.just(MISSING)), place))
        elif kind == "link":
            link = draw(relationships(list(there.values())))
            links.append(link.id)
            made.append(AddRelationship(link, draw(st.none() | st.integers(0, 20))))
        elif links:
            made.append(RemoveRelationship(links.pop(draw(st.integers(0, len(links) - 1)))))
    return made


def saved(graph: KnowledgeGraph) -> str:
    """The graph as a file holds it, to compare byte for byte."""
    return json.dumps(graph.to_dict(), allow_nan=False)


def dangling(graph: KnowledgeGraph) -> list[Relationship]:
    """Relationships whose ends are not the graph's own nodes, or that are missing at one of them."""
    return [
        link
        for link in graph.relationships
        for end in (link.source, link.target)
        if graph.get_node_by_id(end.id) is not end or link not in graph.relationships_of(end)
    ]
