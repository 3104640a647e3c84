from __future__ import annotations

from typing import Any

from knotwork import KnowledgeGraph, Node, NodeType, Relationship, apply_transforms
from knotwork.text import sentence_spans
from knotwork.transforms import EntityResolver

Found = tuple[str, str]  # name, type


def chunk(id: str, text: str, names: list[Found], links: list[tuple[int, int, str]] = [], title: str = "") -> Node:  # noqa: B006
    at, found = 0, []
    for name, kind in names:
        at = text.index(name, at)
        found.append([name, at, at + len(name), kind])
        at += len(name)
    said = [[source, target, relation, 0, len(text)] for source, target, relation in links]
    return Node(
        id,
        {
            "page_content": text,
            "title": title,
            "document": "d",
            "start": int(id[1:]) * 1000,
            "sentences": [list(span) for span in sentence_spans(text)],
            "elements": {"names": found, "links": said},
        },
        NodeType.CHUNK,
    )


def resolved(*chunks: Node) -> KnowledgeGraph:
    kg = KnowledgeGraph(chunks)
    apply_transforms(kg, EntityResolver())
    return kg


def entities(kg: KnowledgeGraph) -> dict[str, Node]:
    return {str(node.get_property("name")): node for node in kg.nodes_of(NodeType.ENTITY)}


def relations(kg: KnowledgeGraph) -> set[tuple[Any, Any, Any]]:
    return {
        (link.source.get_property("name"), link.get_property("relation"), link.target.get_property("name"))
        for link in kg.relationships
        if link.type == "relates"
    }


def test_spellings_that_differ_in_case_width_quotes_article_or_possessive_are_one_entity() -> None:
    kg = resolved(
        chunk("c0", "The Cavendish Laboratory is old.", [("Cavendish Laboratory", "organization")]),
        chunk("c1", "We saw the “Cavendish Laboratory”.", [("“Cavendish Laboratory”", "organization")]),
        chunk("c2", "CAVENDISH LABORATORY rules.", [("CAVENDISH LABORATORY", "")]),
        chunk("c3", "A Cavendish Laboratory's door.", [("Cavendish Laboratory's", "place")]),
        chunk("c4", "Ｃａｖｅｎｄｉｓｈ Laboratory again.", [("Ｃａｖｅｎｄｉｓｈ Laboratory", "organization")]),
    )
    (entity,) = kg.nodes_of(NodeType.ENTITY)
    assert entity.get_property("name") == "Cavendish Laboratory"
    assert entity.get_property("entity_type") == "organization"
    assert "CAVENDISH LABORATORY" in entity.get_property("aliases")
    assert len(kg.neighbors(entity, "mention", "out")) == 5


def test_a_known_name_is_found_in_every_chunk_also_where_the_profile_missed_it() -> None:
    kg = resolved(
        chunk("c0", "Rosalind Franklin was a chemist.", [("Rosalind Franklin", "person")]),
        chunk("c1", "Nobody had told Rosalind Franklin.", []),
    )
    mentions = [link for link in kg.relationships if link.type == "mention"]
    assert {link.target.id for link in mentions} == {"c0", "c1"}
    for link in mentions:
        text = link.target.get_property("page_content")
        assert text[link.get_property("start") : link.get_property("end")] == link.get_property("surface")


def test_a_document_title_that_stands_in_another_text_is_an_entity() -> None:
    kg = resolved(
        chunk("c0", "It was taken in May.", [], title="Photo 51"),
        chunk("c1", "Gosling kept Photo 51 in a drawer.", [("Gosling", "person")], title="Gosling"),
    )
    assert "Photo 51" in entities(kg)


def test_a_word_that_is_mostly_written_in_lower_case_is_no_entity() -> None:
    kg = resolved(
        chunk("c0", "Well was he told.", [("Well", "")]),
        chunk("c1", "He did well, and all was well.", []),
    )
    assert not entities(kg)


def test_relations_keep_their_direction_and_several_between_one_pair_all_survive() -> None:
    text = "Crick met Watson."
    names = [("Crick", "person"), ("Watson", "person")]
    kg = resolved(
        chunk("c0", text, names, [(0, 1, "met")]),
        chunk("c1", "Watson praised Crick.", [("Watson", "person"), ("Crick", "person")], [(0, 1, "praised")]),
        chunk("c2", text + " Again.", names, [(0, 1, "met")]),
    )
    assert relations(kg) == {("Crick", "met", "Watson"), ("Watson", "praised", "Crick")}
    met = next(link for link in kg.relationships if link.get_property("relation") == "met")
    assert met.get_property("weight") == 2
    assert met.get_property("chunks") == ["c0", "c2"]
    assert met.get_property("description") == text


def test_names_in_one_sentence_without_a_parsed_relation_are_related_by_it_both_ways() -> None:
    kg = resolved(chunk("c0", "Crick and Watson.", [("Crick", "person"), ("Watson", "person")]))
    (link,) = [link for link in kg.relationships if link.type == "relates"]
    assert link.bidirectional
    assert link.get_property("description") == "Crick and Watson."


def test_dates_are_entities_but_take_no_part_in_relations() -> None:
    kg = resolved(chunk("c0", "Crick came in 1949.", [("Crick", "person"), ("1949", "date")]))
    assert set(entities(kg)) == {"Crick", "1949"}
    assert not relations(kg)


def test_chunks_in_another_order_give_the_same_entities_and_relations() -> None:
    def chunks() -> list[Node]:
        return [
            chunk("c0", "Crick met Watson.", [("Crick", "person"), ("Watson", "person")], [(0, 1, "met")]),
            chunk("c1", "CRICK wrote.", [("CRICK", "organization")]),
            chunk("c2", "Watson ran.", [("Watson", "person")]),
        ]

    one, other = resolved(*chunks()), resolved(*reversed(chunks()))

    def layer(kg: KnowledgeGraph) -> Any:
        nodes = sorted((str(node.id), dict(node.properties)) for node in kg.nodes_of(NodeType.ENTITY))
        return nodes, sorted(str(link.id) for link in kg.relationships)

    assert layer(one) == layer(other)


def test_what_no_chunk_supports_any_more_goes_and_the_rest_stays_the_same_node() -> None:
    kg = resolved(
        chunk("c0", "Crick met Watson.", [("Crick", "person"), ("Watson", "person")]),
        chunk("c1", "Crick left.", [("Crick", "person")]),
    )
    crick = entities(kg)["Crick"]
    crick.properties["mine"] = 1
    gone = kg.get_node_by_id("c0")
    assert gone is not None
    kg.remove_node(gone)
    apply_transforms(kg, EntityResolver())
    assert set(entities(kg)) == {"Crick"}
    assert entities(kg)["Crick"] is crick
    assert crick.get_property("mine") == 1
    assert not relations(kg)


def test_resolving_twice_changes_nothing() -> None:
    kg = resolved(chunk("c0", "Crick met Watson.", [("Crick", "person"), ("Watson", "person")]))
    before = kg.to_dict()
    assert apply_transforms(kg, EntityResolver()).stages[0].changes == 0
    assert {key: value for key, value in kg.to_dict().items() if key != "journal"} == {
        k: v for k, v in before.items() if k != "journal"
    }


def test_relationships_of_the_user_s_own_are_left_alone() -> None:
    kg = resolved(chunk("c0", "Crick met Watson.", [("Crick", "person"), ("Watson", "person")]))
    found = entities(kg)
    kg.add(Relationship("admires", found["Crick"], found["Watson"]))
    apply_transforms(kg, EntityResolver())
    assert any(link.type == "admires" for link in kg.relationships)


def test_a_graph_without_chunks_or_names_gives_no_error() -> None:
    assert not resolved().nodes
    assert not entities(resolved(chunk("c0", "nothing here.", [])))
