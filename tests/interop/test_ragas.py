"""ragas' graphs, read and written; where it is installed, by its own code."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from types import ModuleType
from uuid import UUID, uuid4

import numpy as np
import pytest
from hypothesis import given
from tests.interop.packages import need
from tests.strategies import graphs

from knotwork import KnowledgeGraph, Node, NodeType, Relationship, apply_transforms
from knotwork.interop.ragas import from_ragas, load_ragas, save_ragas, to_ragas
from knotwork.transforms import OverlapScoreBuilder

A, B = UUID(int=1), UUID(int=2)


@pytest.fixture
def ragas() -> ModuleType:
    return need("ragas.testset.graph")


def theirs(ragas: ModuleType) -> object:
    """A graph as ragas' own transforms leave it."""
    document = ragas.Node(
        type=ragas.NodeType.DOCUMENT, properties={"page_content": "Ada met “Bob”.\n雪", "summary": "M"}
    )
    chunks = [
        ragas.Node(
            type=ragas.NodeType.CHUNK,
            properties={
                "page_content": text,
                "entities": names,
                "embedding": [0.5, 1.0],
                "document_metadata": {"a": 1},
            },
        )
        for text, names in [("Ada met Bob.", ["Ada", "Bob"]), ("Ada left.", ["Ada"]), ("Eve.", ["Eve"])]
    ]
    other = ragas.Node(properties={"note": None})
    links = [ragas.Relationship(type="child", source=document, target=chunk) for chunk in chunks]
    links.append(ragas.Relationship(type="next", source=chunks[0], target=chunks[1], properties={"x": [1, "b"]}))
    links.append(ragas.Relationship(type="near", source=chunks[1], target=chunks[2], bidirectional=True))
    return ragas.KnowledgeGraph(nodes=[document, *chunks, other], relationships=links)


def described(kg: object) -> tuple[object, object]:
    """All that a graph of ragas says, in order."""
    nodes = [(node.id, node.type, node.properties) for node in kg.nodes]  # type: ignore[attr-defined]
    links = [
        (link.id, link.type, link.source.id, link.target.id, link.bidirectional, link.properties)
        for link in kg.relationships  # type: ignore[attr-defined]
    ]
    return nodes, links


def test_a_file_of_ragas_loaded_and_saved_is_the_same_to_ragas(ragas: ModuleType, tmp_path: Path) -> None:
    given = theirs(ragas)
    given.save(tmp_path / "theirs.json")  # type: ignore[attr-defined]
    save_ragas(load_ragas(tmp_path / "theirs.json"), tmp_path / "ours.json")
    assert described(ragas.KnowledgeGraph.load(tmp_path / "ours.json")) == described(given)
    assert (tmp_path / "ours.json").read_bytes() == (tmp_path / "theirs.json").read_bytes()


def test_a_file_of_ragas_transformed_by_us_is_loaded_by_ragas(ragas: ModuleType, tmp_path: Path) -> None:
    given = theirs(ragas)
    given.save(tmp_path / "graph.json")  # type: ignore[attr-defined]
    kg = load_ragas(tmp_path / "graph.json")
    apply_transforms(kg, [OverlapScoreBuilder(filter_nodes=lambda node: node.type is NodeType.CHUNK)])
    save_ragas(kg, tmp_path / "graph.json")
    loaded = ragas.KnowledgeGraph.load(tmp_path / "graph.json")
    nodes, links = described(loaded)
    nodes_before, links_before = described(given)
    assert nodes == nodes_before
    assert links[:-1] == links_before  # type: ignore[index]
    new = loaded.relationships[-1]
    first, second = loaded.nodes[1:3]
    assert (new.type, new.source, new.target, new.bidirectional) == ("entities_overlap", first, second, True)
    assert new.properties == {"entities_overlap_score": 0.5, "overlapped_items": [["Ada", "Ada"]]}
    assert loaded.find_two_nodes_single_rel(lambda link: link.type == "entities_overlap")


def test_live_graphs_go_both_ways(ragas: ModuleType) -> None:
    given = theirs(ragas)
    ours = from_ragas(given)
    assert [node.type for node in ours.nodes][:2] == [NodeType.DOCUMENT, NodeType.CHUNK]
    assert ours.get_node_by_id(given.nodes[0].id) is ours.nodes[0]  # type: ignore[attr-defined]
    assert described(to_ragas(ours)) == described(given)


def test_ragas_finds_what_we_wrote(ragas: ModuleType, tmp_path: Path) -> None:
    kg = KnowledgeGraph([Node("plain", {"Embedding": np.arange(3.0)}, NodeType.ENTITY), Node(7), Node(A)])
    kg.add(Relationship("mention", kg.nodes[0], kg.nodes[1], properties={"span": (1, 2)}))
    save_ragas(kg, tmp_path / "graph.json")
    loaded = ragas.KnowledgeGraph.load(tmp_path / "graph.json")
    assert loaded.nodes[0].get_property("embedding") == [0.0, 1.0, 2.0]
    assert loaded.nodes[0].type is ragas.NodeType.UNKNOWN
    assert loaded.get_node_by_id(A) is loaded.nodes[2]
    assert loaded.relationships[0].source is loaded.nodes[0]
    assert loaded.relationships[0].get_property("span") == [1, 2]


@given(graphs())
def test_any_graph_that_went_to_ragas_comes_back_with_all_it_said(kg: KnowledgeGraph) -> None:
    with tempfile.TemporaryDirectory() as folder:
        save_ragas(kg, Path(folder, "once.json"))
        back = load_ragas(Path(folder, "once.json"))
        save_ragas(back, Path(folder, "twice.json"))
        assert Path(folder, "once.json").read_bytes() == Path(folder, "twice.json").read_bytes()
    assert [node.type for node in back.nodes] == [node.type for node in kg.nodes]
    assert [list(node.properties) for node in back.nodes] == [list(node.properties) for node in kg.nodes]
    places = {node.id: at for at, node in enumerate(kg.nodes)}
    places_back = {node.id: at for at, node in enumerate(back.nodes)}
    assert [(link.type, places[link.source.id], places[link.target.id]) for link in kg.relationships] == [
        (link.type, places_back[link.source.id], places_back[link.target.id]) for link in back.relationships
    ]


def test_an_id_that_is_no_uuid_becomes_the_same_one_each_time(tmp_path: Path) -> None:
    ids = []
    for name in ("a.json", "b.json"):
        save_ragas(KnowledgeGraph([Node("plain"), Node(7), Node("7"), Node(A), Node(B.hex)]), tmp_path / name)
        ids.append([node.id for node in load_ragas(tmp_path / name).nodes])
    assert ids[0] == ids[1]
    assert len(set(ids[0])) == 5
    assert ids[0][3:] == [A, B]


def test_two_ids_that_would_be_one_in_ragas_are_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=f"{A.hex}.* one UUID"):
        save_ragas(KnowledgeGraph([Node(A), Node(A.hex)]), tmp_path / "graph.json")


def test_entities_and_communities_come_back_as_what_they_were(tmp_path: Path) -> None:
    kg = KnowledgeGraph([Node(uuid4(), type=type) for type in NodeType])
    save_ragas(kg, tmp_path / "graph.json")
    assert load_ragas(tmp_path / "graph.json") == kg


def test_a_value_without_json_form_is_named_and_the_old_file_stays(tmp_path: Path) -> None:
    path = tmp_path / "graph.json"
    save_ragas(KnowledgeGraph([Node(A)]), path)
    before = path.read_bytes()
    with pytest.raises(ValueError, match=r"node 'n'.*'score'.*nan"):
        save_ragas(KnowledgeGraph([Node("n", {"score": float("nan")})]), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_relationships_with_whole_nodes_as_ends_are_read_too(tmp_path: Path) -> None:
    nodes = [{"id": str(id), "properties": {}, "type": "chunk"} for id in (A, B)]
    link = {"id": str(uuid4()), "type": "next", "source": nodes[0], "target": nodes[1]}
    path = tmp_path / "graph.json"
    path.write_text(json.dumps({"nodes": nodes, "relationships": [link]}), encoding="utf-8")
    kg = load_ragas(path)
    assert kg.neighbors(kg.nodes[0], "next", "out") == [kg.nodes[1]]


NODE = {"id": str(A), "properties": {}, "type": ""}
BAD = {
    "no JSON": ("{", "not JSON"),
    "something else": ("[1]", "not a knowledge graph"),
    "a node without an id": (json.dumps({"nodes": [{}], "relationships": []}), "not a knowledge graph.*'id'"),
    "an unknown type": (json.dumps({"nodes": [{**NODE, "type": "tree"}], "relationships": []}), "'tree'"),
    "properties that are a list": (
        json.dumps({"nodes": [{**NODE, "properties": [1]}], "relationships": []}),
        "graph.json",
    ),
    "properties that are a text": (
        json.dumps({"nodes": [{**NODE, "properties": "ab"}], "relationships": []}),
        "not a know",
    ),
    "an id that is null": (json.dumps({"nodes": [{**NODE, "id": None}], "relationships": []}), "node 0 has no id"),
    "one id twice": (json.dumps({"nodes": [NODE, NODE], "relationships": []}), f"{A}.*another"),
    "an unknown end": (
        json.dumps({"nodes": [NODE], "relationships": [{"id": "r", "type": "t", "source": str(A), "target": str(B)}]}),
        f"relationship 'r' names an unknown target, '{B}'",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_a_file_that_is_no_such_graph_says_why(case: str, tmp_path: Path) -> None:
    text, said = BAD[case]
    path = tmp_path / "graph.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=said) as caught:
        load_ragas(path)
    assert "graph.json" in str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"gone\.json: No such file"):
        load_ragas(tmp_path / "gone.json")
