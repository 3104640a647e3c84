"""The graph as networkx', and graphragzen's prompt builder fed with it."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from tests.interop.packages import need

from knotwork import KnowledgeGraph, Node, NodeType, Relationship
from knotwork.interop.networkx import entity_graph, to_networkx


@pytest.fixture(autouse=True)
def networkx() -> ModuleType:
    return need("networkx")


def entity(id: str, name: str, type: str = "person") -> Node:
    return Node(id, {"name": name, "entity_type": type, "description": f"{name} is known."}, NodeType.ENTITY)


@pytest.fixture
def kg() -> KnowledgeGraph:
    chunks = [Node(f"c{number}", {"page_content": f"Text {number}."}, NodeType.CHUNK) for number in range(3)]
    ada, bob, eve = entity("e1", "Ada"), entity("e2", "Bob"), entity("e3", "Eve")
    wide = Node("k0", {"level": 0, "path": "0"}, NodeType.COMMUNITY)
    narrow = Node("k1", {"level": 1, "path": "0,1"}, NodeType.COMMUNITY)
    links = [
        Relationship("mention", ada, chunks[0], properties={"start": 0}),
        Relationship("mention", ada, chunks[0], properties={"start": 9}),
        Relationship("mention", ada, chunks[1]),
        Relationship("mention", bob, chunks[0]),
        Relationship("relates", ada, bob, properties={"relation": "met", "description": "in Rome", "weight": 2.0,
                                                      "chunks": ["c0"]}),
        Relationship("relates", bob, ada, properties={"relation": "left", "weight": 1.0, "chunks": ["c0", "c1"]}),
        Relationship("relates", bob, eve),
        Relationship("member", ada, narrow),
        Relationship("member", ada, wide),
        Relationship("next", chunks[0], chunks[1]),
    ]  # fmt: skip
    return KnowledgeGraph([ada, bob, eve, *chunks, wide, narrow], links)


def test_all_of_the_graph_is_there(networkx: ModuleType, kg: KnowledgeGraph) -> None:
    graph = to_networkx(kg)
    assert isinstance(graph, networkx.MultiDiGraph)
    assert list(graph) == [node.id for node in kg.nodes]
    assert graph.nodes["e1"] == {
        "name": "Ada", "entity_type": "person", "description": "Ada is known.", "type": "entity",
    }  # fmt: skip
    edges = {key: (source, target, said["type"]) for source, target, key, said in graph.edges(keys=True, data=True)}
    assert edges == {link.id: (link.source.id, link.target.id, link.type) for link in kg.relationships}
    assert networkx.has_path(graph, "c0", "c1")
    assert not networkx.has_path(graph, "c1", "c0")


def test_properties_may_have_any_name() -> None:
    names = ["node_for_adding", "self", "u_for_edge", "key", "type", "attr"]
    properties = dict.fromkeys(names, "x")
    a, b = Node("a", properties), Node("b")
    graph = to_networkx(KnowledgeGraph([a, b], [Relationship("t", a, b, "r", True, properties)]))
    assert graph.nodes["a"] == {**properties, "type": ""}
    assert graph.edges["a", "b", "r"] == {**properties, "type": "t", "bidirectional": True}


def test_entities_have_what_a_prompt_builder_asks_for(kg: KnowledgeGraph) -> None:
    graph = entity_graph(kg)
    assert list(graph) == ["Ada", "Bob", "Eve"]
    assert graph.nodes["Ada"] == {
        "type": "person", "description": "Ada is known.", "source_id": "c0\nc1", "cluster": ["0", "0,1"],
    }  # fmt: skip
    assert graph.nodes["Eve"]["source_id"] == ""
    assert graph.nodes["Eve"]["cluster"] == []


def test_what_relates_two_entities_is_one_edge(kg: KnowledgeGraph) -> None:
    graph = entity_graph(kg)
    assert graph.number_of_edges() == 2
    assert graph.edges["Bob", "Ada"] == {"weight": 3.0, "description": "in Rome\nleft", "source_id": "c0\nc1"}
    assert graph.edges["Bob", "Eve"] == {"weight": 0.0, "description": "", "source_id": ""}


def test_the_delimiter_is_the_one_asked_for(kg: KnowledgeGraph) -> None:
    graph = entity_graph(kg, delimiter="|")
    assert graph.nodes["Ada"]["source_id"] == "c0|c1"
    assert graph.edges["Ada", "Bob"]["source_id"] == "c0|c1"


def test_entities_of_one_name_stay_two() -> None:
    kg = KnowledgeGraph([entity("e1", "Rome", "place"), entity("e2", "Rome", "person"), entity("e3", "Ada")])
    kg.add(Relationship("relates", kg.nodes[2], kg.nodes[1]))
    graph = entity_graph(kg)
    assert list(graph) == ["e1", "e2", "Ada"]
    assert graph.has_edge("Ada", "e2")


def test_an_empty_graph_gives_empty_graphs() -> None:
    assert len(to_networkx(KnowledgeGraph())) == len(entity_graph(KnowledgeGraph())) == 0


def test_graphragzen_builds_a_prompt_from_it(kg: KnowledgeGraph) -> None:
    pandas = need("pandas")
    need("graphragzen")
    from benchmarks.peers import graphragzen  # what it imports besides, stood in for

    names: list[Any] = ["Ada", "Bob", ("Ada", "Bob"), ("Bob", "Eve")]
    hits = [
        {"score": 1.0, "metadata": {"entity_type": "node" if isinstance(name, str) else "edge", "entity_name": name}}
        for name in names
    ]
    builder = graphragzen().PromptBuilder(
        embedding_model=SimpleNamespace(embed=lambda query, task: None),
        vector_db=SimpleNamespace(search=lambda *args, **options: [hits]),
        graph=entity_graph(kg),
        source_documents=pandas.DataFrame({"chunk_id": ["c0", "c1"], "chunk": ["Text 0.", "Text 1."]}),
        cluster_report=pandas.DataFrame(
            {"cluster": ["0"], "node_name": [["Ada"]], "description": [{"title": "All", "summary": "They met."}]}
        ),
    )
    prompt = builder.build_prompt("Who met?")
    for said in ("Ada (person): Ada is known.", "Ada <-> Bob: in Rome", "Text 0.", "All:\nThey met."):
        assert said in prompt
