from __future__ import annotations

import random
from collections import Counter, defaultdict

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork import KnowledgeGraph, Node, NodeType, Relationship, apply_transforms
from knotwork.errors import InputError
from knotwork.transforms import CommunityBuilder, CommunityReporter

Edges = list[tuple[int, int]]


def graph(count: int, edges: Edges, order: random.Random | None = None) -> KnowledgeGraph:
    nodes = [Node(f"e{i:03}", {"name": f"E{i}"}, NodeType.ENTITY) for i in range(count)]
    links = [
        Relationship("relates", nodes[a], nodes[b], properties={"weight": 1.0, "n": n})
        for n, (a, b) in enumerate(edges)
    ]
    if order:
        order.shuffle(nodes)
        order.shuffle(links)
    return KnowledgeGraph(nodes, links)


def tree(kg: KnowledgeGraph) -> dict[str, frozenset[str]]:
    """Path → members."""
    return {
        node.get_property("path"): frozenset(str(member.id) for member in kg.neighbors(node, "member", "in"))
        for node in kg.nodes_of(NodeType.COMMUNITY)
    }


def clustered(kg: KnowledgeGraph, size: int = 10) -> dict[str, frozenset[str]]:
    apply_transforms(kg, CommunityBuilder(max_cluster_size=size))
    return tree(kg)


def two_cliques(size: int) -> Edges:
    inside = [(a, b) for a in range(size) for b in range(a)]
    return [*inside, *((a + size, b + size) for a, b in inside), (0, size)]


@given(st.integers(1, 25), st.lists(st.tuples(st.integers(0, 24), st.integers(0, 24)), max_size=60), st.integers(1, 8))
def test_every_entity_is_in_exactly_one_community_a_level_and_none_that_can_be_split_is_too_big(
    count: int, edges: Edges, size: int
) -> None:
    kg = graph(count, [(a % count, b % count) for a, b in edges])
    found = clustered(kg, size)
    top = Counter(member for path, members in found.items() if "," not in path for member in members)
    assert top == Counter(str(node.id) for node in kg.nodes_of(NodeType.ENTITY))
    parts: dict[str, list[frozenset[str]]] = defaultdict(list)
    for path, members in found.items():
        parent = path.rpartition(",")[0]
        if parent:
            assert members < found[parent]
            parts[parent].append(members)
    for path, inner in parts.items():
        assert Counter(member for members in inner for member in members) == Counter(found[path])
    for path, members in found.items():
        assert len(members) <= size or path in parts


def test_the_same_seed_gives_the_same_communities_whatever_the_order_of_insertion() -> None:
    edges = [(random.Random(n).randrange(40), random.Random(n + 999).randrange(40)) for n in range(120)]
    expected = clustered(graph(40, edges))
    for seed in range(3):
        assert clustered(graph(40, edges, random.Random(seed))) == expected


def test_two_groups_with_one_tie_are_two_communities() -> None:
    assert set(clustered(graph(12, two_cliques(6))).values()) == {
        frozenset(f"e{i:03}" for i in range(6)),
        frozenset(f"e{i:03}" for i in range(6, 12)),
    }


def test_a_clique_and_a_star_larger_than_the_limit_are_split_all_the_same() -> None:
    clique = [(a, b) for a in range(40) for b in range(a)]
    star = [(0, leaf) for leaf in range(1, 40)]
    for edges in (clique, star):
        found = clustered(graph(40, edges))
        leaves = [
            members for path, members in found.items() if not any(other.startswith(f"{path},") for other in found)
        ]
        assert max(map(len, leaves)) <= 10


def test_an_empty_graph_and_one_without_edges_give_no_error_and_lone_entities_their_own_community() -> None:
    assert clustered(KnowledgeGraph()) == {}
    assert sorted(map(len, clustered(graph(3, [])).values())) == [1, 1, 1]


def test_clustering_twice_changes_nothing_and_an_unchanged_community_keeps_its_report() -> None:
    kg = graph(12, two_cliques(6))
    clustered(kg)
    first = kg.nodes_of(NodeType.COMMUNITY)[0]
    first.properties["report"] = "written"
    assert apply_transforms(kg, CommunityBuilder()).stages[0].changes == 0
    kg.add(Node("new", {"name": "New"}, NodeType.ENTITY))
    clustered(kg)
    assert first in kg.nodes
    assert first.get_property("report") == "written"


def test_a_size_below_one_is_refused() -> None:
    with pytest.raises(InputError, match="max_cluster_size"):
        CommunityBuilder(max_cluster_size=0)


# -- reports ---------------------------------------------------------------------------------------


def told() -> KnowledgeGraph:
    text = "Crick met Watson. Crick laughed. Nobody came."
    spans = [[0, 18], [18, 33], [33, len(text)]]
    chunk = Node("c", {"page_content": text, "sentences": spans, "document": "d", "start": 0}, NodeType.CHUNK)
    names = [("Crick", 0), ("Watson", 10), ("Crick", 18)]
    people = {name: Node(name, {"name": name}, NodeType.ENTITY) for name, _ in names}
    links = [
        Relationship("mention", people[name], chunk, properties={"surface": name, "start": at, "end": at + len(name)})
        for name, at in names
    ]
    return KnowledgeGraph(
        [chunk, *people.values()], [*links, Relationship("relates", people["Crick"], people["Watson"])]
    )


def test_a_report_is_made_of_sentences_that_name_members_each_with_its_place() -> None:
    kg = told()
    apply_transforms(kg, [CommunityBuilder(), CommunityReporter()])
    (community,) = kg.nodes_of(NodeType.COMMUNITY)
    assert community.get_property("title") == "Crick, Watson"
    assert community.get_property("summary") == "Crick met Watson. Crick laughed."
    text = kg.nodes[0].get_property("page_content")
    for finding in community.get_property("findings"):
        assert text[finding["start"] : finding["end"]].strip() == finding["summary"]
    assert 0 < community.get_property("rating") <= 10
    assert apply_transforms(kg, CommunityReporter()).stages[0].changes == 0


def test_a_community_of_one_and_one_without_text_get_no_report() -> None:
    kg = graph(3, [(0, 1)])
    apply_transforms(kg, [CommunityBuilder(), CommunityReporter()])
    assert all(node.get_property("report") is None for node in kg.nodes_of(NodeType.COMMUNITY))
