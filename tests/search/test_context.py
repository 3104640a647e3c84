"""The context functions, on both kinds of graph: what holds of one holds of the other."""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.search.toy import ToyEmbedder

from knotwork import KnowledgeGraph, Node, NodeType, Relationship
from knotwork.errors import InputError
from knotwork.search import InMemoryVectorDatabase, entity_vectors
from knotwork.search.context import (
    cluster_summaries,
    extra_inside_edges,
    extra_outside_edges,
    semantic_similar_entities,
    source_texts,
)

Nodes = Mapping[str, Mapping[str, Any]]
Edges = Iterable[tuple[str, str, Mapping[str, Any]]]
KINDS = ["networkx", "ours"]


def made(kind: str, nodes: Nodes, edges: Edges = ()) -> Any:
    """The same graph of either kind, from networkx's attributes. Ours has ids that are not the names."""
    return _networkx(nodes, edges) if kind == "networkx" else _ours(nodes, edges)


def _networkx(nodes: Nodes, edges: Edges, kind: str = "Graph") -> Any:
    graph = getattr(pytest.importorskip("networkx"), kind)()
    for name, said in nodes.items():
        graph.add_node(name, **said)
    for one, other, said in edges:
        graph.add_edge(one, other, **said)
    return graph


def _ours(nodes: Nodes, edges: Edges) -> KnowledgeGraph:
    kg = KnowledgeGraph()
    at: dict[str, Node] = {}

    def node(id: str, type: NodeType, **properties: Any) -> Node:
        if id not in at:
            at[id] = Node(id, properties, type)
            kg.add(at[id])
        return at[id]

    for name, said in nodes.items():
        told = {"name": name, "entity_type": said.get("type"), "description": said.get("description")}
        entity = node(f"entity {name}", NodeType.ENTITY, **told)
        for id in filter(None, str(said.get("source_id", "")).split("\n")):
            kg.add(Relationship("mention", entity, node(id, NodeType.CHUNK)))
        cluster = said.get("cluster", [])
        for path in cluster if isinstance(cluster, list) else [cluster]:
            kg.add(Relationship("member", entity, node(f"community {path}", NodeType.COMMUNITY, path=path)))
    for one, other, said in edges:
        ends = [node(f"entity {name}", NodeType.ENTITY, name=name) for name in (one, other)]
        chunks = [id for id in str(said.get("source_id", "")).split("\n") if id]
        properties = {key: value for key, value in said.items() if key != "source_id"} | {"chunks": chunks}
        kg.add(Relationship("relates", *ends, properties=properties))
    return kg


def nodes(*names: Any) -> list[dict[str, Any]]:
    return [{"entity_type": "node", "entity_name": name} for name in names]


def edges(*pairs: Any) -> list[dict[str, Any]]:
    return [{"entity_type": "edge", "entity_name": pair} for pair in pairs]


def weighted(*triples: tuple[str, str, Any]) -> list[tuple[str, str, dict[str, Any]]]:
    return [(one, other, {"weight": weight}) for one, other, weight in triples]


def names(entities: list[dict[str, Any]]) -> list[Any]:
    assert all(entity["entity_type"] == "edge" for entity in entities)
    return [entity["entity_name"] for entity in entities]


SQUARE = weighted(("A", "B", 5), ("A", "C", 1), ("B", "C", 3), ("C", "D", 9))


# -- edges ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_edges_inside_then_outside_are_each_found_once_heaviest_first(kind: str) -> None:
    graph = made(kind, {}, SQUARE)
    hits = nodes("A", "B")
    inside = extra_inside_edges(graph, hits, 3)
    assert inside == edges(("A", "B"))
    outside = extra_outside_edges(graph, hits + inside, 3)
    assert [set(pair) for pair in names(outside)] == [{"B", "C"}, {"A", "C"}]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("known", [("A", "B"), ("B", "A"), ["B", "A"]])
def test_an_edge_that_is_there_in_either_order_is_not_added_again(kind: str, known: Any) -> None:
    graph = made(kind, {}, SQUARE)
    hits = nodes("A", "B", "C") + edges(known)
    assert [set(pair) for pair in names(extra_inside_edges(graph, hits, 1))] == [{"B", "C"}]
    assert [set(pair) for pair in names(extra_inside_edges(graph, hits, 1, only_new_edges=False))] == [{"A", "B"}]
    assert names(extra_outside_edges(graph, nodes("A") + edges(("C", "A"), known), 3)) == []


@pytest.mark.parametrize("kind", KINDS)
def test_k_is_an_upper_bound_and_may_be_nought(kind: str) -> None:
    graph = made(kind, {}, SQUARE)
    assert extra_outside_edges(graph, nodes("C"), 0) == []
    assert len(extra_outside_edges(graph, nodes("C"), 2)) == 2
    assert len(extra_outside_edges(graph, nodes("C"), 99)) == 3
    with pytest.raises(InputError, match="k must be"):
        extra_outside_edges(graph, nodes("C"), -1)


@pytest.mark.parametrize("kind", KINDS)
def test_with_no_hit_or_a_single_one_there_are_no_edges_inside(kind: str) -> None:
    graph = made(kind, {}, SQUARE)
    assert extra_inside_edges(graph, [], 3) == extra_outside_edges(graph, [], 3) == []
    assert extra_inside_edges(graph, nodes("A"), 3) == []
    assert [set(pair) for pair in names(extra_outside_edges(graph, nodes("A"), 3))] == [{"A", "B"}, {"A", "C"}]


@pytest.mark.parametrize("kind", KINDS)
def test_a_hit_that_is_an_edge_makes_no_node_of_its_ends(kind: str) -> None:
    graph = made(kind, {}, SQUARE)
    assert extra_inside_edges(graph, edges(("A", "B")), 3) == extra_outside_edges(graph, edges(("A", "B")), 3) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_loop_lies_inside(kind: str) -> None:
    graph = made(kind, {}, weighted(("A", "A", 2), ("A", "B", 1)))
    assert names(extra_inside_edges(graph, nodes("A"), 3)) == [("A", "A")]
    assert [set(pair) for pair in names(extra_outside_edges(graph, nodes("A"), 3))] == [{"A", "B"}]


@pytest.mark.parametrize("kind", KINDS)
def test_an_edge_without_a_weight_weighs_nothing(kind: str) -> None:
    graph = made(kind, {}, [("A", "B", {}), *weighted(("A", "C", 0.5), ("A", "D", None), ("A", "E", -1))])
    found = names(extra_outside_edges(graph, nodes("A"), 9))
    assert [other for _, other in found] == ["C", "B", "D", "E"]


@pytest.mark.parametrize("kind", KINDS)
def test_a_weight_that_is_no_number_is_named(kind: str) -> None:
    graph = made(kind, {}, weighted(("A", "B", "heavy")))
    with pytest.raises(InputError, match=r"A'.*B'.*weight.*'heavy'"):
        extra_outside_edges(graph, nodes("A"), 1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_hit_that_is_not_in_the_graph_is_left_out_with_one_warning(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    graph = made(kind, {}, SQUARE)
    gone = [*nodes("X", "Y", 7), *edges(("A", "X"), ("A", "D"))]
    with caplog.at_level(logging.WARNING):
        assert len(extra_inside_edges(graph, [*gone, *nodes("A", "B")], 3)) == 1
    assert [record.getMessage() for record in caplog.records] == [
        "5 entities are not in the graph (any more) and left out: 'X', 'Y', 7 …"
    ]


@pytest.mark.parametrize(
    "bad",
    [
        "A",
        {"entity_name": "A"},
        {"entity_type": "node"},
        {"entity_type": "thing", "entity_name": "A"},
        {"entity_type": "edge", "entity_name": "A"},
        {"entity_type": "edge", "entity_name": ("A", "B", "C")},
        {"entity_type": "node", "entity_name": ["A"]},
        {"entity_type": "edge", "entity_name": [["A"], "B"]},
    ],
)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_no_entity_is_shown_what_one_looks_like(kind: str, bad: Any) -> None:
    with pytest.raises(InputError, match="an entity is"):
        extra_inside_edges(made(kind, {}, SQUARE), [bad], 3)


@pytest.mark.parametrize("graph", [None, {"A": ["B"]}, "graph"])
def test_what_is_no_graph_is_refused(graph: Any) -> None:
    with pytest.raises(InputError, match="networkx graph or a KnowledgeGraph, not"):
        extra_inside_edges(graph, [], 3)


LETTERS = "ABCDEF"
RANDOM_EDGES = st.lists(
    st.tuples(st.sampled_from(LETTERS), st.sampled_from(LETTERS), st.integers(0, 4)),
    max_size=20,
    unique_by=lambda edge: frozenset(edge[:2]),
)
FEW = st.lists(st.sampled_from(LETTERS), unique=True, max_size=4)


@pytest.mark.parametrize("kind", KINDS)
@given(triples=RANDOM_EDGES, hits=FEW, k=st.integers(0, 6))
def test_it_finds_what_looking_at_every_edge_finds(
    kind: str, triples: list[tuple[str, str, int]], hits: list[str], k: int
) -> None:
    graph = made(kind, {letter: {} for letter in LETTERS}, weighted(*triples))
    weight_of = {frozenset((one, other)): weight for one, other, weight in triples}
    for function, ends_among in ((extra_inside_edges, 2), (extra_outside_edges, 1)):
        wanted = [weight for one, other, weight in triples if sum(end in hits for end in (one, other)) == ends_among]
        found = [frozenset(pair) for pair in names(function(graph, nodes(*hits), k))]
        assert [weight_of[pair] for pair in found] == sorted(wanted, reverse=True)[:k]
        assert len(set(found)) == len(found)


@pytest.mark.parametrize("kind", ["DiGraph", "MultiGraph", "MultiDiGraph"])
def test_all_edges_between_two_nodes_are_one_whichever_way_they_point(kind: str) -> None:
    graph = _networkx({}, weighted(("A", "B", 2), ("B", "A", 3), ("A", "C", 4), ("D", "A", 1)), kind)
    assert [set(pair) for pair in names(extra_outside_edges(graph, nodes("A"), 9))] == [
        {"A", "B"},
        {"A", "C"},
        {"A", "D"},
    ]
    assert len(extra_inside_edges(graph, nodes("A", "B"), 9)) == 1


@pytest.mark.parametrize("kind", ["DiGraph", "MultiDiGraph"])
def test_of_edges_with_a_direction_the_heaviest_says_which_end_comes_first(kind: str) -> None:
    graph = _networkx({}, weighted(("A", "B", 2), ("B", "A", 3), ("D", "A", 1), ("A", "A", 1)), kind)
    assert names(extra_outside_edges(graph, nodes("A"), 9)) == [("B", "A"), ("D", "A")]
    assert names(extra_inside_edges(graph, nodes("A"), 9)) == [("A", "A")]


@pytest.mark.parametrize("kind", ["DiGraph", "MultiDiGraph"])
def test_a_loop_with_a_direction_counts_once(kind: str) -> None:
    graph = _networkx({}, weighted(("A", "A", 2), ("A", "B", 3)), kind)
    assert names(extra_inside_edges(graph, nodes("A", "B"), 1)) == [("A", "B")]


def test_relationships_of_two_entities_count_together() -> None:
    kg = _ours({}, [*weighted(("A", "B", 2), ("A", "C", 4)), ("B", "A", {"weight": 3, "relation": "knows"})])
    assert names(extra_outside_edges(kg, nodes("A"), 1)) == [("B", "A")]


# -- names of a KnowledgeGraph --------------------------------------------------------------------


def test_an_entity_answers_to_its_name_and_to_its_id() -> None:
    kg = _ours({}, SQUARE)
    assert extra_inside_edges(kg, nodes("A", "entity B"), 3) == edges(("A", "B"))


def test_two_entities_of_one_name_are_told_apart_by_id() -> None:
    planet, element, sun = (
        Node(id, {"name": name}, NodeType.ENTITY)
        for id, name in (("planet", "Mercury"), ("element", "Mercury"), ("sun", "Sun"))
    )
    kg = KnowledgeGraph([planet, element, sun], [Relationship("relates", planet, sun)])
    assert names(extra_outside_edges(kg, nodes("Sun"), 3)) == [("planet", "Sun")]
    assert names(extra_outside_edges(kg, nodes("element"), 3)) == []


def test_only_entities_are_nodes() -> None:
    kg = _ours({"A": {"source_id": "c1", "cluster": "0"}}, [])
    assert extra_outside_edges(kg, nodes("A", "c1", "community 0"), 3) == []


# -- sources --------------------------------------------------------------------------------------

MENTIONS: Nodes = {"A": {"source_id": "c3\nc1"}, "B": {"source_id": "c2\nc1"}, "C": {"source_id": "c4"}}
TABLE = [{"chunk_id": f"c{number}", "chunk": f"text {number}", "extra": None} for number in range(1, 6)]


@pytest.mark.parametrize("kind", KINDS)
def test_sources_come_by_frequency_then_by_first_appearance(kind: str) -> None:
    graph = made(kind, MENTIONS)
    assert source_texts(TABLE, graph, nodes("A", "B"), 9) == ["text 1", "text 3", "text 2"]
    assert source_texts(TABLE, graph, nodes("B", "A"), 2) == ["text 1", "text 2"]
    assert source_texts(TABLE, graph, nodes("C"), 1) == ["text 4"]
    assert source_texts(TABLE, graph, [], 3) == source_texts(TABLE, graph, nodes("A"), 0) == []


@pytest.mark.parametrize("kind", KINDS)
def test_edges_have_sources_too_and_an_entity_given_twice_counts_once(kind: str) -> None:
    graph = made(kind, MENTIONS, [("A", "B", {"source_id": "c5\nc2"})])
    given = [*nodes("A", "A", "A"), *edges(("A", "B"), ("B", "A")), *nodes("B")]
    assert source_texts(TABLE, graph, given, 9) == ["text 1", "text 2", "text 3", "text 5"]


def test_source_ids_may_be_joined_by_another_delimiter_or_come_as_a_list() -> None:
    graph = _networkx({"A": {"source_id": "c3, c1"}, "B": {"source_id": ["c1", "c2"]}, "C": {"source_id": 7}}, [])
    table = [*TABLE, {"chunk_id": 7.0, "chunk": "text 7"}]
    found = source_texts(table, graph, nodes("A", "B", "C"), 9, feature_delimiter=", ")
    assert found == ["text 1", "text 3", "text 2", "text 7"]
    with pytest.raises(InputError, match="delimiter"):
        source_texts(TABLE, graph, nodes("A"), 9, feature_delimiter="")


@pytest.mark.parametrize("missing", [None, float("nan"), "", []])
def test_an_entity_without_sources_brings_none(missing: Any) -> None:
    graph = _networkx({"A": {"source_id": missing}, "B": {}}, [])
    assert source_texts(TABLE, graph, nodes("A", "B"), 3) == []


@pytest.mark.parametrize("kind", KINDS)
def test_an_id_without_a_text_is_passed_over_with_one_warning(kind: str, caplog: pytest.LogCaptureFixture) -> None:
    graph = made(kind, {"A": {"source_id": "gone\nc1\nlost\nc2"}})
    with caplog.at_level(logging.WARNING):
        assert source_texts(TABLE, graph, nodes("A"), 2) == ["text 1", "text 2"]
    (record,) = caplog.records
    assert record.getMessage() == "2 source ids have no text and are passed over, the first is 'gone'"


def test_texts_pass_through_unchanged() -> None:
    text = "  {query} %s \\n\r\n\ttabs – “quotes” 中文 🧠\n\n"
    graph = _networkx({"A": {"source_id": "c"}}, [])
    assert source_texts([{"chunk_id": "c", "chunk": text}], graph, nodes("A"), 1) == [text]


@pytest.mark.parametrize("form", ["DataFrame", "list of dicts"])
def test_a_column_that_is_not_there_is_named_with_those_that_are(form: str) -> None:
    table: Any = [{"id": "c1", "text": "one"}]
    if form == "DataFrame":
        table = pytest.importorskip("pandas").DataFrame(table)
    graph = made("ours", MENTIONS)
    with pytest.raises(InputError, match=r"source_documents.*'chunk_id'.*'id', 'text'"):
        source_texts(table, graph, nodes("A"), 1)
    assert source_texts(table, graph, nodes("B"), 1, id_key="id", source_key="text") == ["one"]


@pytest.mark.parametrize("table", ["c1", {"chunk_id": ["c1"]}, [["c1", "one"]], 5])
def test_what_is_no_table_is_refused(table: Any) -> None:
    with pytest.raises(InputError, match="source_documents must be a DataFrame or a list of dicts"):
        source_texts(table, made("ours", MENTIONS), nodes("A"), 1)


def test_data_frames_with_numbers_and_gaps_serve() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"chunk_id": [1, 2, None], "chunk": ["one", None, "three"]})
    graph = _networkx({"A": {"source_id": "2\n1"}}, [])
    assert source_texts(table, graph, nodes("A"), 3) == ["one"]


def test_without_a_table_the_graphs_own_chunks_are_the_sources() -> None:
    kg = _ours(MENTIONS, [])
    for number in (1, 2, 3):
        chunk = kg.get_node_by_id(f"c{number}")
        assert chunk is not None
        chunk.add_property("page_content", f"own text {number}")
    assert source_texts(None, kg, nodes("A", "B"), 2) == ["own text 1", "own text 3"]
    assert source_texts(None, _networkx(MENTIONS, []), nodes("A"), 2) == []


def test_a_chunk_that_names_an_entity_often_counts_once_for_it() -> None:
    kg = _ours({"A": {"source_id": "c1\nc2"}, "B": {"source_id": "c2"}}, [])
    entity, chunk = kg.get_node_by_id("entity A"), kg.get_node_by_id("c1")
    assert entity is not None
    assert chunk is not None
    kg.add_all(Relationship("mention", entity, chunk, properties={"start": start}) for start in range(5))
    assert source_texts(TABLE, kg, nodes("A", "B"), 1) == ["text 2"]


# -- clusters -------------------------------------------------------------------------------------


def report(*rows: tuple[Any, Any]) -> list[dict[str, Any]]:
    return [{"cluster": cluster, "node_name": "", "description": description} for cluster, description in rows]


@pytest.mark.parametrize("kind", KINDS)
def test_a_cluster_id_is_matched_whole(kind: str) -> None:
    graph = made(kind, {"A": {"cluster": "10"}})
    table = report(("1", "one"), ("0", "nought"), ("10", "ten"), ("10,1", "below"))
    assert cluster_summaries(graph, table, nodes("A"), 9) == [{"title": "10", "summary": "ten"}]


@pytest.mark.parametrize("kind", KINDS)
def test_ancestors_are_found_by_prefix_the_innermost_first(kind: str) -> None:
    graph = made(kind, {"A": {"cluster": "2,11,3"}})
    table = report(("2", "outer"), ("2,1", "a sibling"), ("2,11,3", "inner"), ("2,11", "middle"), ("11", "another"))
    assert [row["summary"] for row in cluster_summaries(graph, table, nodes("A"), 9)] == ["inner", "middle", "outer"]


@pytest.mark.parametrize("kind", KINDS)
def test_clusters_may_come_as_a_list_and_each_counts_once(kind: str) -> None:
    graph = made(kind, {"A": {"cluster": ["2", "2,11"]}, "B": {"cluster": ["3"]}, "C": {"cluster": ["3"]}})
    table = report(("2", "two"), ("2,11", "eleven"), ("3", "three"))
    found = cluster_summaries(graph, table, nodes("A", "B", "C"), 9)
    assert [row["summary"] for row in found] == ["three", "two", "eleven"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_clusters_of_most_hits_times_rating_come_first(kind: str) -> None:
    graph = made(kind, {name: {"cluster": cluster} for name, cluster in zip("ABCD", "0012", strict=True)})
    table = report(
        ("0", {"title": "two hits, no rating", "summary": "a"}),
        ("1", {"title": "one hit, rated 5", "summary": "b", "rating": 5}),
        ("2", {"title": "one hit, rated 1.5", "summary": "c", "rating": "1.5"}),
    )
    assert [row["title"] for row in cluster_summaries(graph, table, nodes(*"ABCD"), 9)] == [
        "one hit, rated 5",
        "two hits, no rating",
        "one hit, rated 1.5",
    ]
    assert len(cluster_summaries(graph, table, nodes(*"ABCD"), 2)) == 2
    assert cluster_summaries(graph, table, nodes(*"ABCD"), 0) == []


@pytest.mark.parametrize("kind", KINDS)
def test_a_report_is_a_text_or_a_dict_and_what_it_lacks_is_left_blank(kind: str) -> None:
    graph = made(kind, {"A": {"cluster": ["0", "1", "2", "3", "4"]}})
    table = report(("0", "text"), ("1", {"summary": "s"}), ("2", {"title": "t"}), ("3", None), ("4", float("nan")))
    assert cluster_summaries(graph, table, nodes("A"), 9) == [
        {"title": "0", "summary": "text"},
        {"title": "1", "summary": "s"},
        {"title": "t", "summary": ""},
    ]


def test_a_rating_that_is_no_number_is_named() -> None:
    table = report(("0,1", {"rating": "high"}))
    with pytest.raises(InputError, match=r"'0,1'.*rating.*'high'"):
        cluster_summaries(made("ours", {"A": {"cluster": "0,1"}}), table, nodes("A"), 1)


def test_cluster_ids_may_be_numbers_or_have_blanks() -> None:
    graph = _networkx({"A": {"cluster": 2}, "B": {"cluster": "3, 1"}, "C": {"cluster": np.array(["4"])}}, [])
    table = report((2.0, "two"), ("3,1", "three, one"), (4, "four"))
    found = cluster_summaries(graph, table, nodes("A", "B", "C"), 9)
    assert [row["summary"] for row in found] == ["two", "three, one", "four"]


@pytest.mark.parametrize("missing", [None, float("nan"), []])
def test_a_node_in_no_cluster_has_no_report(missing: Any) -> None:
    graph = _networkx({"A": {"cluster": missing}, "B": {}}, [])
    assert cluster_summaries(graph, report(("0", "text")), nodes("A", "B"), 3) == []


@pytest.mark.parametrize("node_name", ["A", ["A", "B"]])
def test_the_tables_own_node_names_serve_a_graph_without_clusters(node_name: Any) -> None:
    graph = _networkx({"A": {}}, [])
    table = [{"cluster": "0,1", "node_name": node_name, "description": "text"}]
    assert cluster_summaries(graph, table, nodes("A"), 3) == [{"title": "0,1", "summary": "text"}]


def test_a_report_without_its_columns_is_refused_and_node_name_is_not_needed() -> None:
    graph = made("ours", {"A": {"cluster": "0"}})
    with pytest.raises(InputError, match=r"cluster_report.*'description'.*'cluster'"):
        cluster_summaries(graph, [{"cluster": "0"}], nodes("A"), 3)
    assert len(cluster_summaries(graph, [{"cluster": "0", "description": "text"}], nodes("A"), 3)) == 1


def test_a_data_frame_of_reports_serves() -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"cluster": ["0", "1"], "node_name": [None, "A"], "description": [{"title": "t"}, None]})
    assert cluster_summaries(made("ours", {"A": {"cluster": "0"}}), table, nodes("A"), 3) == [
        {"title": "t", "summary": ""}
    ]


def test_without_a_table_the_graphs_own_reports_are_taken() -> None:
    kg = _ours({"A": {"cluster": ["0", "0,1"]}, "B": {"cluster": "1"}}, [])
    for path, said in (("0", {"title": "outer", "summary": "s", "rating": 2.0}), ("0,1", {"report": "inner"})):
        node = kg.get_node_by_id(f"community {path}")
        assert node is not None
        for key, value in said.items():
            node.add_property(key, value)
    assert cluster_summaries(kg, None, nodes("A", "B"), 9) == [
        {"title": "outer", "summary": "s"},
        {"title": "0,1", "summary": "inner"},
    ]
    assert cluster_summaries(_networkx({"A": {"cluster": "0"}}, []), None, nodes("A"), 9) == []


# -- similar entities -----------------------------------------------------------------------------

TALE: Nodes = {
    "Ahab": {"type": "person", "description": "captain of a ship"},
    "Whale": {"type": "animal", "description": "white and old"},
}
HUNT = [("Ahab", "Whale", {"description": "hunts for revenge", "weight": 2})]


@pytest.mark.parametrize("kind", KINDS)
def test_nodes_and_edges_of_a_graph_are_found_by_what_they_say(kind: str) -> None:
    db = entity_vectors(made(kind, TALE, HUNT), ToyEmbedder())
    best = {
        query: semantic_similar_entities(ToyEmbedder(), db, query, 1)[0]["entity_name"]
        for query in ("captain of a ship", "white and old", "hunts for revenge")
    }
    assert best == {
        "captain of a ship": "Ahab",
        "white and old": "Whale",
        "hunts for revenge": ("Ahab", "Whale"),
    }
    found = semantic_similar_entities(ToyEmbedder(), db, "Ahab", 9, score_threshold=0.1)
    assert [entity["score"] for entity in found] == sorted((entity["score"] for entity in found), reverse=True)
    assert {entity["entity_name"] for entity in found} == {"Ahab", ("Ahab", "Whale")}


@pytest.mark.parametrize("kind", KINDS)
def test_only_the_wanted_kinds_and_features_are_found(kind: str) -> None:
    graph = made(kind, TALE, HUNT)
    db = entity_vectors(graph, ToyEmbedder())
    model = ToyEmbedder()
    assert len(semantic_similar_entities(model, db, "Ahab", 9)) == 3
    assert len(semantic_similar_entities(model, db, "Ahab", 9, entity_types=["edge"])) == 1
    assert len(semantic_similar_entities(model, db, "Ahab", 9, entity_types="node")) == 2
    assert semantic_similar_entities(model, db, "Ahab", 9, features_to_match=["name"]) == []
    assert len(entity_vectors(graph, model, entity_types=["edge"])) == 1
    with pytest.raises(InputError, match="entity_types"):
        entity_vectors(graph, model, entity_types=["cluster"])


class Recorded:
    """A database of fixed hits that remembers how it was asked."""

    def __init__(self, *hits: Any) -> None:
        self.hits = list(hits)
        self.asked: list[Any] = []

    def add_vectors(self, vectors: Any) -> None: ...

    def search(self, query_vectors: Any, k: int, score_threshold: float = 0.0, filters: Any = None) -> Any:
        self.asked.append((np.shape(query_vectors), k, score_threshold, filters))
        return [self.hits[:k]]


class TwoNumbers:
    vector_size = 2

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def embed(self, text: str | list[str], task: str) -> Any:
        self.asked.append((text, task))
        return np.ones((1, 2))


def hit(kind: str, name: Any, score: float = 0.5) -> dict[str, Any]:
    return {"uuid": "u", "score": score, "metadata": {"entity_type": kind, "entity_name": name, "more": 1}}


def test_the_model_is_told_the_task_and_the_database_the_filters() -> None:
    model, db = TwoNumbers(), Recorded(hit("edge", ["A", "B"], 0.9), hit("node", "A"))
    assert semantic_similar_entities(model, db, "who?", 5, score_threshold=0.3) == [
        {"entity_type": "edge", "entity_name": ("A", "B"), "score": 0.9},
        {"entity_type": "node", "entity_name": "A", "score": 0.5},
    ]
    assert model.asked == [("who?", "embed_query")]
    assert db.asked == [((1, 2), 5, 0.3, {"feature": ["description"], "entity_type": ["node", "edge"]})]


def test_an_entity_found_by_several_features_is_there_once_with_its_best_score() -> None:
    db = Recorded(hit("node", "A", 0.9), hit("edge", ("A", "B"), 0.8), hit("node", "A", 0.7), hit("edge", ("B", "A")))
    found = semantic_similar_entities(TwoNumbers(), db, "who?", 9)
    assert [(entity["entity_name"], entity["score"]) for entity in found] == [("A", 0.9), (("A", "B"), 0.8)]


def test_with_nothing_to_find_nothing_is_asked() -> None:
    model = TwoNumbers()
    assert semantic_similar_entities(model, Recorded(), "who?", 0) == []
    assert model.asked == []
    assert semantic_similar_entities(model, InMemoryVectorDatabase(), "who?", 3) == []
    assert len(entity_vectors(KnowledgeGraph(), ToyEmbedder())) == 0


@pytest.mark.parametrize("bad", ["A", {"score": 1.0}, {"metadata": {"entity_type": "node", "entity_name": "A"}}])
def test_a_database_that_gives_something_else_is_shown_what_is_needed(bad: Any) -> None:
    with pytest.raises(InputError, match=r"vector_db\.search must give"):
        semantic_similar_entities(TwoNumbers(), Recorded(bad), "who?", 3)


def test_a_hit_of_another_kind_or_no_list_of_hits_is_refused() -> None:
    with pytest.raises(InputError, match="an entity is"):
        semantic_similar_entities(TwoNumbers(), Recorded(hit("cluster", "A")), "who?", 3)
    db = Recorded()
    db.search = lambda *args, **named: None  # type: ignore[method-assign]
    with pytest.raises(InputError, match=r"vector_db\.search must give a list"):
        semantic_similar_entities(TwoNumbers(), db, "who?", 3)


@pytest.mark.parametrize("query", [None, 5, ["who?"]])
def test_a_query_is_a_text(query: Any) -> None:
    with pytest.raises(InputError, match="query must be a str"):
        semantic_similar_entities(TwoNumbers(), Recorded(), query, 3)


def test_a_model_that_loses_texts_is_found_out() -> None:
    with pytest.raises(InputError, match="1 vectors for 3 texts"):
        entity_vectors(made("ours", TALE, HUNT), TwoNumbers())
