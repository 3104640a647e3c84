"""Entities and relationships as a model tells them: kept when they are grounded, salvaged when the reply is sloppy."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork import KnowledgeGraph, Node, NodeType, apply_transforms
from knotwork.errors import InputError, TransformError
from knotwork.models import ScriptedLLM
from knotwork.protocols import Reply
from knotwork.testing.server import FAULTS
from knotwork.transforms import CommunityBuilder, CommunityReporter, EntityResolver, GraphExtractor

TEXT = (
    "Ada Stone built the hut in 1931. Ben Frost of the Northern Survey drilled beside it. ADA STONE paid for the drill."
)
REPLY = {
    "entities": [
        {"name": "Ada Stone", "type": "Person", "description": "Built the hut.\nPaid for the drill."},
        {"name": "Ben Frost", "type": "person", "description": "Drilled beside the hut."},
        {"name": "Northern Survey", "type": "organization", "description": "Employs Ben Frost."},
    ],
    "relationships": [
        {
            "source": "Ben Frost",
            "target": "Northern Survey",
            "relation": "works for",
            "description": "He is of it.",
            "strength": 8,
        },
        {
            "source": "Ada Stone",
            "target": "Ben Frost",
            "relation": "paid",
            "description": "She paid for his drill.",
            "strength": 99,
        },
    ],
}


def chunk(text: str = TEXT, **more: Any) -> KnowledgeGraph:
    return KnowledgeGraph([Node("c", {"page_content": text, **more}, NodeType.CHUNK)])


def told(reply: Any, text: str = TEXT, **options: Any) -> tuple[dict[str, Any], ScriptedLLM]:
    """The elements that come of a reply, or of several in a list, and the model that gave them."""
    replies = reply if isinstance(reply, list) else [reply]
    model = ScriptedLLM([one if isinstance(one, str | Reply) else json.dumps(one) for one in replies])
    graph = chunk(text)
    apply_transforms(graph, GraphExtractor(llm=model, **options))
    return graph.nodes[0].get_property("elements"), model


def test_names_stand_where_they_are_said_with_the_whole_description() -> None:
    elements, _ = told(REPLY)
    assert all(TEXT[start:end] == name for name, start, end, *_ in elements["names"])
    assert [name for name, *_ in elements["names"]] == ["Ada Stone", "ADA STONE", "Ben Frost", "Northern Survey"]
    assert elements["names"][0][3:] == ["person", "Built the hut. Paid for the drill."]
    assert elements["dropped"] == []


def test_relationships_keep_their_direction_words_and_strength() -> None:
    elements, _ = told(REPLY)
    names = [name for name, *_ in elements["names"]]
    links = [
        (names[source], names[target], relation, strength)
        for source, target, relation, *_, strength in elements["links"]
    ]
    assert links == [("Ben Frost", "Northern Survey", "works for", 8), ("Ada Stone", "Ben Frost", "paid", 10)]
    assert TEXT[slice(*elements["links"][0][3:5])].startswith("Ben Frost of the Northern Survey")


def test_what_does_not_stand_in_the_chunk_is_dropped_with_its_relationships() -> None:
    reply = {
        "entities": [*REPLY["entities"], {"name": "Iran", "type": "place"}, {"name": "Ben Frosst", "type": "person"}],
        "relationships": [*REPLY["relationships"], {"source": "Ada Stone", "target": "Iran", "relation": "visited"}],
    }
    elements, _ = told(reply)
    assert elements["dropped"] == ["Iran"]
    assert len(elements["links"]) == 2
    assert ["Ben Frost", 33, 42, "person", ""] in elements["names"]  # misspelt, and meant


def test_no_more_relationships_than_allowed_and_none_with_itself() -> None:
    reply = {**REPLY, "relationships": [*REPLY["relationships"], {"source": "Ada Stone", "target": "ada stone"}]}
    elements, model = told(reply, max_paths_per_chunk=1)
    assert len(elements["links"]) == 1
    assert "At most 1 relationships" in model.prompts[0]


def test_strict_types_leave_out_the_others() -> None:
    elements, model = told(REPLY, entity_types=["Person"], strict=True)
    assert {kind for *_, kind, _ in elements["names"]} == {"person"}
    assert "of one of these kinds: Person" in model.prompts[0]
    assert len(told(REPLY, entity_types=["Person"])[0]["names"]) == 4


def test_a_model_is_asked_what_it_missed_until_that_is_nothing() -> None:
    first = {"entities": REPLY["entities"][:1], "relationships": []}
    elements, model = told([first, REPLY, {"entities": [], "relationships": []}], gleanings=5)
    assert len(model.prompts) == 3
    assert "found before: Ada Stone" in model.prompts[1]
    assert len(elements["names"]) == 4


@pytest.mark.parametrize("fault", ["fenced", "in prose", "thinking aloud", "end of thinking only", "an array of it"])
def test_a_sloppy_reply_is_read(fault: str) -> None:
    assert len(told(Reply(FAULTS[fault](json.dumps(REPLY)).text))[0]["names"]) == 4


def test_a_reply_that_was_cut_off_gives_its_whole_items() -> None:
    elements, _ = told(json.dumps(REPLY)[:230])
    assert [name for name, *_ in elements["names"]][:1] == ["Ada Stone"]


def test_three_useless_replies_are_an_error_that_names_the_node() -> None:
    with pytest.raises(TransformError, match=r"'c'.*elements.*3 replies could not be used"):
        told(["I'm sorry.", "", "No."])


def test_a_reply_without_anything_is_a_result() -> None:
    elements, _ = told({"entities": [], "relationships": []})
    assert (elements["names"], elements["links"]) == ([], [])


@pytest.mark.parametrize(
    "poison", ["<think>", '{"a": {}}', "<|endoftext|>", '("entity"<|>', "{text}", "{max_knowledge_triplets}"]
)
def test_what_a_chunk_holds_reaches_the_model_unharmed(poison: str) -> None:
    text = f"Ada Stone wrote {poison} into the log."
    elements, model = told({"entities": [{"name": "Ada Stone"}], "relationships": []}, text)
    assert text in model.prompts[0]
    assert elements["names"][0][:3] == ["Ada Stone", 0, 9]


def test_a_prompt_and_a_parser_of_ones_own() -> None:
    def parse(said: str) -> tuple[list[Any], list[Any]]:
        names = said.split(" -> ")
        return [(name, "person", "") for name in names], [(names[0], names[1], "paid", "")]

    model = ScriptedLLM(["Ada Stone -> Ben Frost"])
    graph = chunk()
    prompt = "At most {max_knowledge_triplets} of {text}, and {other} stays."
    apply_transforms(graph, GraphExtractor(llm=model, extract_prompt=prompt, parse_fn=parse))
    assert model.prompts == [f"At most 10 of {TEXT}, and {{other}} stays."]
    assert len(graph.nodes[0].get_property("elements")["links"]) == 1


def test_a_parser_that_gives_something_else_is_named() -> None:
    with pytest.raises(TransformError, match="parse_fn did not give"):
        told("x", parse_fn=lambda said: [said])


def test_without_a_model_names_come_from_the_offline_profile() -> None:
    graph = chunk()
    apply_transforms(graph, GraphExtractor())
    assert "Ada Stone" in [name for name, *_ in graph.nodes[0].get_property("elements")["names"]]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"gleanings": -1}, "gleanings"),
        ({"max_paths_per_chunk": "many"}, "max_paths_per_chunk"),
        ({"num_workers": 0}, "num_workers"),
        ({"strict": True}, "strict needs entity_types"),
        ({"entity_types": "person"}, "a list of kinds"),
        ({"extract_prompt": "no place for it"}, "placeholder {text}"),
    ],
)
def test_wrong_arguments_are_refused_where_they_are_given(options: dict[str, Any], words: str) -> None:
    with pytest.raises(InputError, match=words.replace("{", r"\{")):
        GraphExtractor(llm=ScriptedLLM([]), **options)


def test_no_more_calls_at_once_than_workers() -> None:
    class Slow:
        running = most = 0

        async def complete(self, messages: Any, *, schema: Any = None, max_tokens: Any = None) -> Reply:
            Slow.running += 1
            Slow.most = max(Slow.most, Slow.running)
            await asyncio.sleep(0.01)
            Slow.running -= 1
            return Reply(json.dumps(REPLY))

    graph = KnowledgeGraph([Node(f"c{at}", {"page_content": f"{at} {TEXT}"}, NodeType.CHUNK) for at in range(12)])
    apply_transforms(graph, GraphExtractor(llm=Slow(), num_workers=2))
    assert Slow.most == 2


@given(st.text(max_size=200), st.lists(st.text(max_size=12), max_size=6))
def test_names_are_true_spans_whatever_a_model_says(text: str, names: list[str]) -> None:
    if not text.strip():
        return
    reply = {
        "entities": [{"name": name} for name in names],
        "relationships": [{"source": a, "target": b} for a in names for b in names],
    }
    elements, _ = told(reply, text)
    for name, start, end, *_ in elements["names"]:
        assert text[start:end] == name
    for source, target, _, start, end, *_ in elements["links"]:
        assert source != target
        assert 0 <= start < end <= len(text)


def test_the_pipeline_goes_on_with_what_the_model_told() -> None:
    other = "Ada Stone wrote a book about the Northern Survey."
    more = {
        "entities": [
            {"name": "Ada Stone", "type": "person", "description": "Wrote a book."},
            {"name": "Northern Survey", "type": "organization", "description": ""},
        ],
        "relationships": [
            {
                "source": "Ada Stone",
                "target": "Northern Survey",
                "relation": "wrote about",
                "description": "Her book is on it.",
            }
        ],
    }
    graph = KnowledgeGraph(
        [
            Node("c1", {"page_content": TEXT, "document": "d"}, NodeType.CHUNK),
            Node("c2", {"page_content": other, "document": "e"}, NodeType.CHUNK),
        ]
    )
    model = ScriptedLLM(lambda prompt: json.dumps(more if other in prompt else REPLY))
    apply_transforms(graph, [GraphExtractor(llm=model), EntityResolver(), CommunityBuilder(), CommunityReporter()])
    entities = {node.get_property("name"): node for node in graph.nodes_of(NodeType.ENTITY)}
    assert set(entities) == {"Ada Stone", "Ben Frost", "Northern Survey"}
    assert entities["Ada Stone"].get_property("description") == "Built the hut. Paid for the drill. Wrote a book."
    assert entities["Ada Stone"].get_property("entity_type") == "person"
    ties = [link for link in graph.relationships if link.type == "relates"]
    told_ties = {
        (
            link.source.get_property("name"),
            link.get_property("relation"),
            link.target.get_property("name"),
            link.get_property("weight"),
        )
        for link in ties
    }
    assert told_ties == {
        ("Ben Frost", "works for", "Northern Survey", 8),
        ("Ada Stone", "paid", "Ben Frost", 10),
        ("Ada Stone", "wrote about", "Northern Survey", 1),
    }
    assert (
        next(link for link in ties if link.get_property("relation") == "paid").get_property("description")
        == "She paid for his drill."
    )
    said = {link.get_property("description") for link in graph.relationships if link.type == "mention"}
    assert {"Wrote a book.", "Drilled beside the hut."} <= said
    assert any(node.get_property("report") for node in graph.nodes_of(NodeType.COMMUNITY))


def test_a_second_run_makes_no_call() -> None:
    graph = chunk()
    model = ScriptedLLM([json.dumps(REPLY)])
    for _ in range(2):
        apply_transforms(graph, GraphExtractor(llm=model))
    assert len(model.prompts) == 1
