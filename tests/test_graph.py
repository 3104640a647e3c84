from __future__ import annotations

import asyncio
import copy
import json
import os
import pickle
import re
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests import strategies as some
from tests.strategies import dangling, saved

from knotwork.errors import GraphError
from knotwork.graph import (
    MISSING,
    AddNode,
    AddRelationship,
    Applied,
    Document,
    KnowledgeGraph,
    Node,
    NodeType,
    Relationship,
    RemoveNode,
    RemoveRelationship,
    SetProperty,
    get_child_nodes,
    get_parent_nodes,
    relationship_id,
    same,
    write_atomically,
)


def chain(*ids: str, type: str = "next") -> KnowledgeGraph:
    """Nodes of these ids, each tied to the one after it."""
    graph = KnowledgeGraph([Node(id) for id in ids])
    graph.add_all(Relationship(type, one, other) for one, other in zip(graph.nodes, graph.nodes[1:], strict=False))
    return graph


def ids_of(nodes: Any) -> list[Any]:
    return [node.id for node in nodes]


# -- documents ------------------------------------------------------------------------------------


def test_a_document_keeps_the_id_given_else_takes_one_from_its_source_else_from_its_text() -> None:
    assert Document("text", id="mine").key == "mine"
    assert Document("text", source="a.txt").key == Document("other", source="a.txt").key
    assert Document("text").key == Document("text", title="T").key != Document("other").key


# -- nodes ----------------------------------------------------------------------------------------


def test_nodes_are_equal_and_hashed_by_id() -> None:
    assert Node("a", {"x": 1}) == Node("a", {"x": 2}, NodeType.CHUNK)
    assert Node("a") != Node("b")
    assert len({Node(1), Node(1), Node("1")}) == 2


def test_a_node_without_an_id_gets_one_of_its_own() -> None:
    assert Node().id != Node().id


@pytest.mark.parametrize("id", [7, "seven", UUID(int=7)])
def test_ids_may_be_the_users_own(id: Any) -> None:
    graph = KnowledgeGraph([Node(id)])
    assert graph.get_node_by_id(id) is graph.nodes[0]


@pytest.mark.parametrize("id", [1.5, ("a",), ["a"], b"a"])
def test_an_id_of_another_type_is_refused_by_name(id: Any) -> None:
    with pytest.raises(GraphError, match="str, int or UUID"):
        Node(id)
    with pytest.raises(GraphError, match="str, int or UUID"):
        Relationship("next", Node("a"), Node("b"), id=id)


def test_the_types_of_node_are_those_of_the_vocabulary() -> None:
    assert Node("a").type is NodeType.UNKNOWN == ""
    assert Node("a", type="chunk").type is NodeType.CHUNK
    assert [kind.value for kind in NodeType] == ["", "document", "chunk", "entity", "community"]
    with pytest.raises(GraphError, match="'chapter' is no type of node; there are '', 'document'"):
        Node("a", type="chapter")


def test_property_keys_are_case_insensitive_whichever_way_they_came_in() -> None:
    node = Node("a", {"One": 1})
    node.add_property("TWO", 2)
    node.properties["Three"] = 3
    node.properties.update({"FOUR": 4})
    KnowledgeGraph([node]).apply([SetProperty("a", "Five", 5)])
    assert dict(node.properties) == {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
    assert [node.get_property(key) for key in ("ONE", "two", "tHREE", "Four", "FIVE")] == [1, 2, 3, 4, 5]
    assert "FoUr" in node.properties
    assert 4 not in node.properties
    del node.properties["FOUR"]
    assert node.properties.get("four") is None


def test_an_absent_property_is_none_by_get_property_and_a_key_error_by_subscript() -> None:
    node = Node("a", {"here": 1})
    assert node.get_property("there") is None
    with pytest.raises(KeyError):
        node.properties["there"]
    with pytest.raises(KeyError):
        del node.properties["there"]


@pytest.mark.parametrize("graph", [None, KnowledgeGraph()])
def test_add_property_refuses_a_key_that_exists_in_any_case(graph: KnowledgeGraph | None) -> None:
    node = Node("a", {"title": "old"})
    if graph is not None:
        graph.add(node)
    with pytest.raises(ValueError, match="'a' already has the property 'TITLE'"):
        node.add_property("TITLE", "new")
    assert node.get_property("title") == "old"


@pytest.mark.parametrize("properties", [{1: "a"}, ["a"], "a"])
def test_properties_that_are_no_mapping_with_string_keys_are_refused(properties: Any) -> None:
    with pytest.raises(GraphError, match="strings as keys"):
        Node("a", properties)


def test_a_property_name_that_is_no_string_is_refused() -> None:
    with pytest.raises(GraphError, match="not 3"):
        Node("a").properties[3] = 1  # type: ignore[index]


def test_the_properties_of_a_node_can_be_replaced_as_a_whole_and_that_is_one_change_to_undo() -> None:
    node = Node("a", {"x": 1, "y": 2})
    node.properties = {"Z": 3}  # type: ignore[assignment]
    assert node.properties == {"z": 3}
    graph = KnowledgeGraph([node])
    before = saved(graph)
    with graph.recording() as made:
        node.properties = {"Y": 5, "x": 4}  # type: ignore[assignment]
    assert list(node.properties.items()) == [("y", 5), ("x", 4)]
    graph.apply(made.undo())
    assert saved(graph) == before


def test_a_node_belongs_to_the_first_graph_that_took_it() -> None:
    node = Node("a")
    first, second = KnowledgeGraph([node]), KnowledgeGraph([node])
    with first.recording() as ours, second.recording() as theirs:
        node.properties["x"] = 1
    assert (ours, theirs) == ([SetProperty("a", "x", 1)], [])
    first.remove_node(node)
    node.properties["x"] = 2  # nobody's change any more
    third = KnowledgeGraph([node])
    with third.recording() as made:
        del node.properties["X"]
    assert made == [SetProperty("a", "x", MISSING)]
    assert repr(MISSING) == "MISSING"


# -- relationships --------------------------------------------------------------------------------


def test_a_relationship_made_twice_is_one() -> None:
    a, b = Node("a"), Node("b")
    graph = KnowledgeGraph([a, b])
    for _ in range(2):
        graph.add(Relationship("relates", a, b, properties={"Weight": 1.5, "chunks": ["c"], "pair": (1, "x")}))
    assert len(graph.relationships) == 1


def test_the_id_of_a_relationship_depends_on_type_ends_and_properties_and_nothing_else() -> None:
    made = {
        relationship_id("t", 1, 2, {}),
        relationship_id("u", 1, 2, {}),
        relationship_id("t", 2, 1, {}),
        relationship_id("t", "1", 2, {}),
        relationship_id("t", 1, 2, {"x": 1}),
        relationship_id("t", 1, 2, {"x": "1"}),
        relationship_id("t", 1, 2, {"x": True}),
        relationship_id("t", 1, 2, {"x": None}),
        relationship_id("t", 1, 2, {"x": "ab", "y": "c"}),
        relationship_id("t", 1, 2, {"x": "a", "y": "bc"}),
        relationship_id("t", 1, 2, {"x": [1]}),
        relationship_id("t", 1, 2, {"x": np.ones(2)}),
        relationship_id("t", UUID(int=1), 2, {"x": NodeType.CHUNK}),
    }
    assert len(made) == 13
    assert relationship_id("t", 1, 2, {"x": 1, "y": 2}) == relationship_id("t", 1, 2, {"y": 2, "x": 1})
    assert relationship_id("t", 1, 2, {"x": np.float64(0.5)}) == relationship_id("t", 1, 2, {"x": 0.5})
    # ids are in files: they hold for every version of Python and of Knotwork
    assert relationship_id("next", "a", "b", {"score": 0.5, "way": "双"}) == "f00ddc412b43f8833ab1feaca0639907"


def test_a_relationship_whose_value_gives_no_id_asks_for_one() -> None:
    with pytest.raises(GraphError, match="give the relationship one"):
        Relationship("t", Node("a"), Node("b"), properties={"x": object()})
    assert Relationship("t", Node("a"), Node("b"), id=1, properties={"x": {1, 2}}).id == 1


def test_the_ends_of_a_relationship_are_nodes() -> None:
    with pytest.raises(GraphError, match="two Nodes, not 'a'"):
        Relationship("t", "a", Node("b"))  # type: ignore[arg-type]


def test_relationships_are_equal_by_id_and_know_their_properties_and_ends() -> None:
    a, b = Node("a"), Node("b")
    link = Relationship("t", a, b, id=5, properties={"Score": 1})
    assert link == Relationship("other", b, a, id=5)
    assert link.get_property("SCORE") == 1
    assert link.get_property("none") is None
    assert (link.other_end(a), link.other_end(b)) == (b, a)
    assert "-t->" in repr(link)
    assert "-t--" in repr(Relationship("t", a, b, bidirectional=True))


def test_properties_of_a_relationship_are_fixed_while_it_is_in_a_graph() -> None:
    a, b = Node("a"), Node("b")
    link = Relationship("t", a, b)
    link.properties["x"] = 1
    graph = KnowledgeGraph([a, b], [link])
    with pytest.raises(GraphError, match="remove it and add another"):
        link.properties["x"] = 2
    graph.apply([RemoveRelationship(link.id)])
    link.properties["x"] = 2
    assert link.get_property("x") == 2


# -- the graph ------------------------------------------------------------------------------------


def test_a_graph_takes_nodes_and_relationships_and_refuses_anything_else() -> None:
    graph = KnowledgeGraph()
    for wrong in ("a", None, ("a", "b"), NodeType.CHUNK):
        with pytest.raises(ValueError, match=type(wrong).__name__):
            graph.add(wrong)  # type: ignore[arg-type]
    for wrong in (AddNode("a"), AddRelationship("a"), "a"):  # type: ignore[arg-type]
        with pytest.raises(GraphError, match="'a'"):
            graph.apply([wrong])  # type: ignore[list-item]


def test_the_same_node_twice_is_kept_once() -> None:
    node = Node("a", {"x": 1})
    graph = KnowledgeGraph([node, node])
    graph.add(Node("a", {"x": 2}))
    assert [dict(node.properties) for node in graph.nodes] == [{"x": 1}]


def test_an_id_that_is_taken_by_something_else_is_an_error() -> None:
    graph = chain("a", "b", "c")
    with pytest.raises(GraphError, match="'a' is taken"):
        graph.add(Node("a", type=NodeType.CHUNK))
    link = graph.relationships[0]
    with pytest.raises(GraphError, match="is taken"):
        graph.add(Relationship("next", graph.nodes[0], graph.nodes[2], id=link.id))


def test_a_relationship_whose_end_is_not_in_the_graph_is_an_error_that_names_it() -> None:
    graph = KnowledgeGraph([Node("a")])
    with pytest.raises(ValueError, match="target 'b' is not in the graph"):
        graph.add(Relationship("next", Node("a"), Node("b")))
    with pytest.raises(ValueError, match="source 'b' is not in the graph"):
        KnowledgeGraph([Node("a")], [Relationship("next", Node("b"), Node("a"))])


def test_nodes_and_relationships_are_ordered_sequences_that_can_be_appended_to() -> None:
    graph = KnowledgeGraph()
    graph.nodes.append(Node("a"))
    graph.nodes.extend([Node("b"), Node("c")])
    graph.relationships.append(Relationship("next", graph.nodes[0], graph.nodes[-1]))
    assert ids_of(graph.nodes) == ["a", "b", "c"]
    assert ids_of(graph.nodes[1:]) == ["b", "c"]
    assert ids_of(reversed(graph.nodes)) == ["c", "b", "a"]
    assert graph.nodes.index(Node("b")) == 1
    assert Node("b") in graph.nodes
    assert graph.relationships[0] in graph.relationships
    assert Node(graph.relationships[0].id) not in graph.relationships
    assert "b" not in graph.nodes
    assert graph.nodes == [Node("a"), Node("b"), Node("c")]
    assert repr(graph.nodes[:1]) == "[Node(id='a', type='', properties=[])]"
    assert len(graph.relationships) == 1
    assert repr(graph) == "KnowledgeGraph(nodes: 3, relationships: 1)"


def test_an_iteration_sees_the_nodes_as_they_were_when_it_began() -> None:
    graph = chain("a", "b")
    for node in graph.nodes:
        graph.add(Node(f"{node.id}2"))
        graph.remove_node(node)
    assert ids_of(graph.nodes) == ["a2", "b2"]


def test_removing_a_node_takes_its_relationships_with_it() -> None:
    graph = chain("a", "b", "c")
    graph.add(Relationship("self", graph.nodes[1], graph.nodes[1]))
    assert graph.remove_node(graph.nodes[1]) is None
    assert ids_of(graph.nodes) == ["a", "c"]
    assert not graph.relationships
    assert graph.neighbors(graph.nodes[0]) == []
    assert graph.get_node_by_id("b") is None


def test_removing_a_node_elsewhere_leaves_the_graph_alone() -> None:
    graph = chain("a", "b", "c")
    before = saved(graph)
    smaller = graph.remove_node(graph.nodes[1], inplace=False)
    assert smaller is not None
    assert ids_of(smaller.nodes) == ["a", "c"]
    assert saved(graph) == before


def test_removing_what_is_not_there_is_an_error_that_names_it() -> None:
    graph = chain("a", "b")
    for change in (RemoveNode("z"), RemoveRelationship("z"), SetProperty("z", "x", 1)):
        with pytest.raises(GraphError, match="'z'"):
            graph.apply([change])


def test_neighbors_can_be_asked_by_type_and_direction() -> None:
    a, b, c, d = map(Node, "abcd")
    graph = KnowledgeGraph([a, b, c, d])
    graph.add_all(
        [
            Relationship("next", a, d),
            Relationship("next", b, a),
            Relationship("like", a, c, bidirectional=True),
            Relationship("like", a, d),
            Relationship("self", a, a),
        ]
    )
    assert ids_of(graph.neighbors(a)) == ["d", "b", "c", "a"]
    assert ids_of(graph.neighbors(a, "next")) == ["d", "b"]
    assert ids_of(graph.neighbors(a, "next", "out")) == ["d"]
    assert ids_of(graph.neighbors(a, "next", "in")) == ["b"]
    assert ids_of(graph.neighbors(a, "like", "in")) == ["c"]
    assert ids_of(graph.neighbors(c, direction="out")) == ["a"]
    assert ids_of(graph.neighbors(d, direction="out")) == []
    assert graph.neighbors(Node("unknown")) == []
    with pytest.raises(GraphError, match="not 'up'"):
        graph.neighbors(a, direction="up")  # type: ignore[arg-type]


def test_neighbors_keep_their_order_through_an_undo() -> None:
    graph = KnowledgeGraph([Node("hub"), *(Node(i) for i in range(5))])
    hub = graph.nodes[0]
    graph.add_all(Relationship("t", hub, node) for node in graph.nodes[1:])
    graph.apply(graph.apply([RemoveNode(2), RemoveRelationship(graph.relationships[0].id)]))
    assert ids_of(graph.neighbors(hub)) == [0, 1, 2, 3, 4]


def test_nodes_of_a_type_come_in_order() -> None:
    graph = KnowledgeGraph([Node("a", type="chunk"), Node("b"), Node("c", type="chunk")])
    assert ids_of(graph.nodes_of(NodeType.CHUNK)) == ["a", "c"]


def test_a_relationship_of_another_graph_is_taken_over_without_harm_to_that_graph() -> None:
    graph = chain("a", "b")
    other = KnowledgeGraph([Node("a"), Node("b")], graph.relationships)
    assert not dangling(graph)
    assert not dangling(other)
    assert other.relationships[0].source is other.nodes[0]
    assert graph.relationships[0].source is graph.nodes[0]


def test_a_relationship_made_with_nodes_of_the_same_ids_ties_the_graphs_own() -> None:
    graph = KnowledgeGraph([Node("a"), Node("b")])
    link = Relationship("next", Node("a"), Node("b"))
    graph.add(link)
    assert graph.get_relationship_by_id(link.id) is link
    assert not dangling(graph)


def test_a_view_has_the_same_nodes_and_the_relationships_with_both_ends_kept() -> None:
    graph = chain("a", "b", "c", "d")
    part = graph.view(lambda node: node.id != "b")
    assert ids_of(part.nodes) == ["a", "c", "d"]
    assert part.nodes[0] is graph.nodes[0]
    assert list(part.relationships) == [graph.relationships[2]]
    assert ids_of(part.neighbors(part.nodes[1])) == ["d"]
    with graph.recording() as made:
        part.nodes[0].properties["x"] = 1
    assert made == [SetProperty("a", "x", 1)]
    with pytest.raises(GraphError, match="change the graph it was made from"):
        part.add(Node("e"))


def test_a_copy_lives_its_own_life_and_a_deep_one_has_values_of_its_own() -> None:
    graph = chain("a", "b")
    graph.nodes[0].properties["list"] = [1]
    shallow, deep = graph.copy(), graph.copy(deep=True)
    assert shallow == graph == deep
    shallow.nodes[0].properties["x"] = 1
    shallow.nodes[1].properties["list"] = []
    deep.nodes[0].properties["list"].append(2)
    deep.remove_node(deep.nodes[1])
    assert dict(graph.nodes[0].properties) == {"list": [1]}
    assert len(graph.relationships) == 1
    assert not dangling(shallow)


def test_a_copy_has_the_places_of_its_original() -> None:
    graph = chain("a", "b", "c")
    undo = graph.copy().apply([RemoveNode("b")])
    twin = graph.copy()
    twin.apply([RemoveNode("b")])
    twin.apply(undo)
    assert twin == graph
    assert not dangling(twin)


def test_a_graph_can_be_pickled_and_copied_by_pythons_own_means() -> None:
    graph = chain("a", "b")
    assert copy.deepcopy(graph) == pickle.loads(pickle.dumps(graph)) == graph


def test_released_nodes_can_belong_to_another_graph() -> None:
    graph = chain("a", "b")
    graph.release()
    other = KnowledgeGraph(graph.nodes, graph.relationships)
    with other.recording() as made:
        other.nodes[0].properties["x"] = 1
    assert len(made) == 1


def test_graphs_are_equal_by_content_order_included_and_have_no_hash() -> None:
    graph = chain("a", "b")
    assert graph == chain("a", "b")
    assert graph != chain("b", "a")
    assert graph != chain("a", "b", type="child")
    assert graph != "graph"
    changed = chain("a", "b")
    changed.nodes[0].properties["v"] = np.ones(2)
    assert graph != changed == changed.copy()
    with pytest.raises(TypeError):
        hash(graph)


# -- changes --------------------------------------------------------------------------------------


@given(st.data())
def test_changes_and_what_undoes_them_give_an_equal_graph(data: st.DataObject) -> None:
    graph = data.draw(some.graphs())
    before = saved(graph)
    try:
        undo = graph.apply(data.draw(some.changes(graph)))
    except GraphError:
        assert saved(graph) == before
        assert not dangling(graph)
        return
    after = saved(graph)
    redo = graph.apply(undo)
    assert saved(graph) == before
    assert not dangling(graph)
    graph.apply(redo)
    assert saved(graph) == after
    assert not dangling(graph)


@given(st.data())
def test_many_changes_in_steps_are_undone_in_reverse_steps(data: st.DataObject) -> None:
    graph = data.draw(some.graphs())
    states, undos = [saved(graph)], []
    for _ in range(3):
        try:
            undos.append(graph.apply(data.draw(some.changes(graph, 4))))
        except GraphError:
            continue
        states.append(saved(graph))
    for undo in reversed(undos):
        assert saved(graph) == states.pop()
        graph.apply(undo)
    assert saved(graph) == states.pop()


@given(st.data())
def test_recorded_writes_by_hand_can_be_undone_like_applied_changes(data: st.DataObject) -> None:
    graph = data.draw(some.graphs())
    before = saved(graph)
    with graph.recording() as made:
        for node in graph.nodes:
            node.properties[data.draw(some.names)] = data.draw(some.values)
        graph.nodes.append(Node("new"))
        graph.add(Relationship("next", graph.nodes[0], graph.nodes[-1], id=uuid4()))
        graph.remove_node(data.draw(st.sampled_from(list(graph.nodes))))
        graph.nodes.extend([Node("newer")])
    assert not dangling(graph)
    graph.apply(made.undo())
    assert saved(graph) == before


def test_undo_restores_the_place_of_every_node_relationship_and_property() -> None:
    graph = chain("a", "b", "c", "d")
    graph.nodes[1].properties = {"x": 1, "y": 2, "z": 3}  # type: ignore[assignment]
    before = saved(graph)
    undo = graph.apply(
        [SetProperty("b", "x", MISSING), SetProperty("b", "y", 5), SetProperty("b", "y", MISSING), RemoveNode("b")]
    )
    graph.apply(undo)
    assert saved(graph) == before
    assert ids_of(graph.nodes) == ["a", "b", "c", "d"]


def test_a_failing_change_leaves_none_made() -> None:
    graph = chain("a", "b")
    before = saved(graph)
    with pytest.raises(GraphError):
        graph.apply([SetProperty("a", "x", 1), AddNode(Node("c")), RemoveNode("b"), RemoveNode("z")])
    assert saved(graph) == before


def test_listeners_hear_of_changes_that_were_made_and_of_no_others() -> None:
    graph = KnowledgeGraph()
    heard: list[Any] = []
    graph.subscribe(heard.append)
    graph.add(Node("a"))
    graph.add(Node("a"))  # there already
    graph.nodes[0].properties["X"] = 1
    with pytest.raises(GraphError):
        graph.apply([AddNode(Node("b")), RemoveNode("z")])
    graph.unsubscribe(heard.append)
    graph.add(Node("c"))
    assert heard == [[AddNode(Node("a"))], [SetProperty("a", "x", 1)]]


def test_a_listener_that_raises_undoes_the_changes_and_those_told_before_hear_of_it() -> None:
    graph = chain("a", "b")
    before = saved(graph)
    heard: list[Any] = []

    def refuse(made: Any) -> None:
        raise OSError("disk full")

    graph.subscribe(heard.append)
    graph.subscribe(refuse)
    with pytest.raises(OSError, match="disk full"):
        graph.apply([RemoveNode("a")])
    assert saved(graph) == before
    assert heard[0] == [RemoveNode("a")]
    assert [type(change) for change in heard[1]] == [AddNode, AddRelationship]


def test_a_recording_hears_its_own_task_and_what_that_starts_only() -> None:
    graph = KnowledgeGraph([Node(0), Node(1)])

    async def write(at: int, key: str) -> None:
        await asyncio.sleep(0)
        graph.nodes[at].properties[key] = at

    async def record(at: int) -> list[Any]:
        with graph.recording() as made:
            await asyncio.gather(write(at, "x"), write(at, "y"))
        graph.nodes[at].properties["z"] = at
        return made

    async def both() -> list[Any]:
        return await asyncio.gather(record(0), record(1))

    assert asyncio.run(both()) == [[SetProperty(at, "x", at), SetProperty(at, "y", at)] for at in (0, 1)]


def test_threads_can_write_at_once() -> None:
    graph = KnowledgeGraph([Node(i) for i in range(8)])

    def write(at: int) -> None:
        for k in range(200):
            graph.nodes[at].properties["x"] = k
            graph.add(Relationship("t", graph.nodes[at], graph.nodes[(at + k) % 8], properties={"k": k}))

    threads = [threading.Thread(target=write, args=(at,)) for at in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(graph.relationships) == 1600
    assert not dangling(graph)


# -- queries --------------------------------------------------------------------------------------


def sets(clusters: Any) -> list[list[Any]]:
    return [sorted(ids_of(cluster)) for cluster in clusters]


def test_depth_limit_counts_edges() -> None:
    graph = chain("a", "b", "c", "d", "e")
    assert sets(graph.find_indirect_clusters(depth_limit=1)) == [["a", "b"], ["b", "c"], ["c", "d"], ["d", "e"]]
    assert sets(graph.find_indirect_clusters(depth_limit=2)) == [["a", "b", "c"], ["b", "c", "d"], ["c", "d", "e"]]
    assert sets(graph.find_indirect_clusters()) == [["a", "b", "c", "d"], ["b", "c", "d", "e"]]
    assert sets(graph.find_indirect_clusters(depth_limit=9)) == [["a", "b", "c", "d", "e"]]
    for ask in (graph.find_indirect_clusters, lambda **k: graph.find_n_indirect_clusters(1, **k)):
        with pytest.raises(ValueError, match="depth_limit"):
            ask(depth_limit=0)


def test_bidirectional_relationships_are_walked_both_ways_and_others_one_way() -> None:
    a, b, c = map(Node, "abc")
    one_way = KnowledgeGraph([a, b, c], [Relationship("t", b, a), Relationship("t", b, c)])
    assert sets(one_way.find_indirect_clusters()) == [["a", "b", "c"]]
    assert sets(one_way.find_indirect_clusters(depth_limit=1)) == [["a", "b", "c"]]
    inward = KnowledgeGraph([Node("a"), Node("b"), Node("c")])
    x, y, z = inward.nodes
    inward.add_all([Relationship("t", x, y), Relationship("t", z, y)])
    assert sets(inward.find_indirect_clusters()) == [["a", "b"], ["b", "c"]]
    both = KnowledgeGraph([Node("a"), Node("b"), Node("c")])
    x, y, z = both.nodes
    both.add_all([Relationship("t", x, y, bidirectional=True), Relationship("t", z, y, bidirectional=True)])
    assert sets(both.find_indirect_clusters()) == [["a", "b", "c"]]


def test_only_matching_relationships_make_clusters() -> None:
    graph = chain("a", "b", "c")
    graph.add(Relationship("other", graph.nodes[2], graph.nodes[0]))
    assert sets(graph.find_indirect_clusters(lambda link: link.type == "other")) == [["a", "c"]]
    assert graph.find_indirect_clusters(lambda link: False) == []
    assert KnowledgeGraph().find_indirect_clusters() == []


def test_a_complete_graph_of_forty_nodes_is_one_cluster() -> None:
    graph = KnowledgeGraph([Node(i) for i in range(40)])
    nodes = list(graph.nodes)
    graph.add_all(Relationship("t", one, other) for one in nodes for other in nodes if one.id < other.id)
    assert sets(graph.find_indirect_clusters()) == [list(range(40))]
    assert sets(graph.find_n_indirect_clusters(5)) == [list(range(40))]


@given(some.graphs(8, 12), st.integers(1, 4))
def test_clusters_are_the_maximal_balls_of_a_plain_search_without_duplicates(graph: KnowledgeGraph, depth: int) -> None:
    balls = []
    for start in graph.nodes:
        ball = front = {start}
        for _ in range(depth):
            front = {end for node in front for end in graph.neighbors(node, direction="out")} - ball
            ball = ball | front
        balls.append(ball)
    expected = [ball for ball in balls if len(ball) > 1 and not any(ball < other for other in balls)]
    found = graph.find_indirect_clusters(depth_limit=depth)
    assert set(map(frozenset, found)) == set(map(frozenset, expected))
    assert len(found) == len(set(map(frozenset, found)))
    for cluster in graph.find_n_indirect_clusters(3, depth_limit=depth):
        assert cluster in balls


def test_n_clusters_are_spread_over_the_graph_and_seeded() -> None:
    graph = KnowledgeGraph([Node((at, k) and f"{at}-{k}") for at in range(10) for k in range(4)])
    for at in range(10):
        part = [node for node in graph.nodes if str(node.id).startswith(f"{at}-")]
        graph.add_all(
            Relationship("t", one, other, bidirectional=True) for one in part for other in part if one is not other
        )
    found = graph.find_n_indirect_clusters(10)
    assert len({node for cluster in found for node in cluster}) == 40
    assert graph.find_n_indirect_clusters(4) == graph.find_n_indirect_clusters(4)
    orders = {str(sets(graph.find_n_indirect_clusters(4, seed=seed))) for seed in range(5)}
    assert len(orders) > 1
    assert len(graph.find_n_indirect_clusters(99)) == 10
    with pytest.raises(ValueError, match="n and depth_limit"):
        graph.find_n_indirect_clusters(0)


def test_queries_do_not_depend_on_the_hash_seed() -> None:
    script = """
import random
from knotwork.graph import KnowledgeGraph, Node, Relationship
graph = KnowledgeGraph([Node(f"n{i}") for i in range(60)])
draw = random.Random(1)
nodes = list(graph.nodes)
graph.add_all(Relationship("t", draw.choice(nodes), draw.choice(nodes)) for _ in range(80))
names = lambda found: [sorted(node.id for node in cluster) for cluster in found]
print(names(graph.find_indirect_clusters(depth_limit=2)))
print(names(graph.find_n_indirect_clusters(5, depth_limit=2)))
print([[end.id for end in graph.neighbors(node)] for node in nodes])
print([link.id for link in graph.relationships])
"""
    outputs = {
        subprocess.run(
            [sys.executable, "-c", script],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }
    assert len(outputs) == 1


def test_pairs_joined_by_one_relationship_come_with_it() -> None:
    graph = chain("a", "b", "c")
    a, b, c = graph.nodes
    graph.add_all([Relationship("self", a, a), Relationship("other", c, a)])
    first, second, third = graph.relationships[0], graph.relationships[1], graph.relationships[3]
    assert graph.find_two_nodes_single_rel() == [(a, first, b), (b, second, c), (c, third, a)]
    assert graph.find_two_nodes_single_rel(lambda link: link.type == "other") == [(c, third, a)]


def test_children_and_parents_are_found_along_child_relationships_each_once() -> None:
    root, a, b, leaf = map(Node, ["root", "a", "b", "leaf"])
    graph = KnowledgeGraph([root, a, b, leaf])
    graph.add_all(Relationship("child", one, other) for one, other in [(root, a), (root, b), (a, leaf), (b, leaf)])
    graph.add_all([Relationship("next", a, b), Relationship("child", leaf, root)])
    assert ids_of(get_child_nodes(root, graph)) == ["a", "b"]
    assert ids_of(get_child_nodes(root, graph, level=2)) == ["a", "b", "leaf"]
    assert ids_of(get_child_nodes(root, graph, level=9)) == ["a", "b", "leaf"]
    assert ids_of(get_parent_nodes(leaf, graph)) == ["a", "b"]
    assert ids_of(get_parent_nodes(leaf, graph, level=2)) == ["a", "b", "root"]


# -- files ----------------------------------------------------------------------------------------


@given(some.graphs())
def test_a_saved_graph_is_loaded_as_it_was(graph: KnowledgeGraph) -> None:
    again = KnowledgeGraph.from_dict(json.loads(saved(graph)))
    assert again == graph
    assert saved(again) == saved(graph)
    for node, other in zip(graph.nodes, again.nodes, strict=True):
        assert type(node.id) is type(other.id)
        assert list(map(type, node.properties.values())) == list(map(type, other.properties.values()))


def test_a_file_is_strict_json_of_the_documented_shape(tmp_path: Path) -> None:
    graph = KnowledgeGraph(
        [Node("a", {"Vector": np.array([1.5], np.float32), "pair": (1, "双")}, "chunk"), Node(UUID(int=1))]
    )
    graph.add(Relationship("next", *graph.nodes, id=7, bidirectional=True, properties={"w": 1}))
    path = tmp_path / "graph.json"
    graph.save(path)
    data = json.loads(path.read_text("utf-8"), parse_constant=pytest.fail)
    assert list(data) == ["version", "nodes", "relationships", "journal"]
    assert list(data["nodes"][0]) == ["id", "type", "properties"]
    assert list(data["relationships"][0]) == ["id", "type", "source", "target", "bidirectional", "properties"]
    assert "双" in path.read_text("utf-8")
    again = KnowledgeGraph.load(path)
    assert again == graph
    again.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_bytes() == path.read_bytes()


@pytest.mark.parametrize(
    "value",
    [
        np.zeros((0, 5)),
        np.array(3.0),
        np.array([[1, 2]], ">i2"),
        np.array(["a", "bc"]),
        {"__tuple__": [1]},
        {"a": {"__dict__": 1, "__uuid__": "x"}},
        [(1, (2, [3]))],
        "\ud800",
        10**30,
        -0.0,
        1e-320,
    ],
    ids=lambda value: re.sub(r" at 0x[0-9a-f]+", "", repr(value)),
)
def test_unusual_values_come_back_as_they_were(value: Any, tmp_path: Path) -> None:
    graph = KnowledgeGraph([Node(1, {"x": value, "__tuple__": value})])
    graph.save(tmp_path / "g.json")
    again = KnowledgeGraph.load(tmp_path / "g.json").nodes[0].get_property("x")
    assert same(again, value)
    assert repr(again) == repr(value)


def test_numpy_scalars_and_string_enums_are_saved_as_plain_values(tmp_path: Path) -> None:
    graph = KnowledgeGraph(
        [Node(1, {"f": np.float32(0.5), "i": np.int64(3), "b": np.bool_(True), "e": NodeType.CHUNK})]
    )
    graph.save(tmp_path / "g.json")
    found = dict(KnowledgeGraph.load(tmp_path / "g.json").nodes[0].properties)
    assert found == {"f": 0.5, "i": 3, "b": True, "e": "chunk"}
    assert [type(value) for value in found.values()] == [float, int, bool, str]


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        float("inf"),
        np.float32("nan"),
        np.array([1, np.inf]),
        np.array([object()]),
        np.array([1 + 2j]),
        np.array(["2020-01-01"], "datetime64[D]"),
        object(),
        {1, 2},
        b"bytes",
        {"inner": [float("nan")]},
        {"inner": {1: 2}},
        CIRCLE,
    ],
    ids=lambda value: re.sub(r" at 0x[0-9a-f]+", "", repr(value)),
)
def test_a_value_without_a_json_form_is_an_error_naming_node_and_key_and_the_old_file_stays(
    value: Any, tmp_path: Path
) -> None:
    path = tmp_path / "graph.json"
    graph = chain("a", "b")
    graph.save(path)
    before = path.read_bytes()
    graph.nodes[0].properties["Broken"] = value
    with pytest.raises(GraphError, match=r"node 'a', property 'broken"):
        graph.save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["graph.json"]
    ends = [Node("a"), Node("b")]
    tied = KnowledgeGraph(ends, [Relationship("t", *ends, id="r", properties={"broken": value})])
    with pytest.raises(GraphError, match=r"relationship 'r', property 'broken"):
        tied.save(path)


def test_a_save_that_fails_on_the_way_leaves_the_old_file_byte_identical(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "graph.json"
    chain("a", "b").save(path)
    before = path.read_bytes()

    def full(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(GraphError, match=r"graph\.json: No space left"):
        chain("a", "b", "c").save(path)
    assert path.read_bytes() == before
    assert [entry.name for entry in tmp_path.iterdir()] == ["graph.json"]


def test_a_save_into_no_folder_is_an_error_that_names_the_file(tmp_path: Path) -> None:
    with pytest.raises(GraphError, match=r"nowhere.*graph\.json: No such file"):
        chain("a").save(tmp_path / "nowhere" / "graph.json")


@pytest.mark.skipif(os.name == "nt", reason="no links and modes like these")
def test_a_file_that_is_replaced_keeps_its_mode_and_a_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.json", tmp_path / "link.json"
    real.write_text("old")
    real.chmod(0o640)
    link.symlink_to(real)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert real.read_text() == "new"
    assert real.stat().st_mode & 0o777 == 0o640


def node_json(**changed: Any) -> dict[str, Any]:
    return {"id": "a", "type": "", "properties": {}} | changed


LINK = {"type": "next", "source": "a", "target": "z"}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        ([], "not a knowledge graph"),
        ({"nodes": []}, "nodes and relationships"),
        ({"version": 99, "nodes": [], "relationships": []}, "version 99 is newer"),
        ({"version": "x", "nodes": [], "relationships": []}, "not a knowledge graph"),
        ({"nodes": [node_json()], "relationships": [LINK]}, "unknown target, 'z'"),
        (
            {"nodes": [node_json()], "relationships": [LINK | {"source": 9, "id": "r"}]},
            "'r' names an unknown source, 9",
        ),
        ({"nodes": [node_json(), node_json()], "relationships": []}, "same id"),
        ({"nodes": [node_json(id=None)], "relationships": []}, "no id"),
        ({"nodes": [node_json(id=[1])], "relationships": []}, "str, int or UUID"),
        ({"nodes": [node_json(id={"__uuid__": "x"})], "relationships": []}, "not a knowledge graph"),
        ({"nodes": [node_json(type="chapter")], "relationships": []}, "no type of node"),
        ({"nodes": [node_json(properties=[1])], "relationships": []}, "strings as keys"),
        ({"nodes": [{}], "relationships": []}, "'id'"),
        ({"nodes": 5, "relationships": []}, "not a knowledge graph"),
        ({"nodes": [], "relationships": [], "journal": [5]}, "not a knowledge graph"),
    ],
)
def test_a_file_that_is_no_graph_is_an_error_that_names_it_and_what_is_wrong(
    data: Any, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "odd.json"
    path.write_text(json.dumps(data))
    with pytest.raises(GraphError, match=rf"odd\.json: .*{said}"):
        KnowledgeGraph.load(path)


@pytest.mark.parametrize("content", [b"", b"{", b'{"a": NaN}', b"\xff\xfe\xfa", b"[" * 100_000])
def test_a_file_that_is_no_json_is_an_error_that_names_it(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    path.write_bytes(content)
    with pytest.raises(GraphError, match=r"odd\.json: not JSON"):
        KnowledgeGraph.load(path)
    with pytest.raises(GraphError, match=r"absent\.json: No such file"):
        KnowledgeGraph.load(tmp_path / "absent.json")


def test_files_of_others_may_leave_out_ids_of_relationships_types_and_properties() -> None:
    graph = KnowledgeGraph.from_dict(
        {"nodes": [{"id": "a"}, {"id": "z"}], "relationships": [LINK | {"properties": {"Score": 1}}]}
    )
    assert graph.relationships[0].get_property("score") == 1
    assert graph.relationships[0].id == relationship_id("next", "a", "z", {"score": 1})


def test_the_journal_is_saved_as_what_transforms_must_remember_one_entry_each(tmp_path: Path) -> None:
    graph = KnowledgeGraph([Node("a"), Node(UUID(int=2))])
    a, b = graph.nodes
    graph.journal += [
        Applied("F", removed=("x", UUID(int=1)), done=(a,), settings="s", undo=(RemoveNode("a"),), by=(object(),)),
        Applied("nothing"),
        Applied("F", removed=("x",), done=(b,), settings="s"),
        Applied("F", wrote=("summary",), settings="t"),
    ]
    graph.save(tmp_path / "g.json")
    again = KnowledgeGraph.load(tmp_path / "g.json")
    assert again == graph == graph.copy()
    assert [(line.removed, line.wrote, line.done, line.settings) for line in again.journal] == [
        (("x", UUID(int=1)), (), (a, b), "s"),
        ((), ("summary",), (), "t"),
    ]
    assert again.journal[0].done[0] is again.nodes[0]
    graph.remove_node(a)
    graph.add(Node("a"))  # another node: nothing is remembered of it
    assert graph.to_dict()["journal"][0]["done"] == [{"__uuid__": UUID(int=2).hex}]


# -- ids of relationships -------------------------------------------------------------------------


@given(
    st.dictionaries(st.sampled_from("abc"), st.one_of(st.text(max_size=3), st.integers(), st.floats(allow_nan=False)))
)
def test_many_relationships_are_those_that_would_be_made_one_by_one(properties: dict[str, Any]) -> None:
    a, b = Node("a"), Node("b")
    one = Relationship("r", a, b, bidirectional=True, properties=properties)
    [many] = Relationship.many("r", [a], [b], [dict(properties)], bidirectional=True)
    assert (many.id, many.type, many.source, many.target, many.bidirectional, many.properties) == (
        one.id, "r", a, b, True, one.properties,
    )  # fmt: skip
    assert KnowledgeGraph([a, b], [one, many]).relationships == [one]


def test_an_id_does_not_depend_on_when_it_is_asked_for() -> None:
    early, late = (Relationship("r", Node("a"), Node("b"), properties={"n": 1, "list": [1]}) for _ in range(2))
    asked = early.id
    late.properties["list"].append(2)  # what can change has its id from the start
    assert late.id == asked


def test_a_relationship_has_no_other_attributes() -> None:
    with pytest.raises(AttributeError, match="'Relationship' object has no attribute 'weight'"):
        _ = Relationship("r", Node("a"), Node("b")).weight
