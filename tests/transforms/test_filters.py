"""Filters that ask a model."""

from __future__ import annotations

import asyncio
import json
import logging
from itertools import pairwise
from typing import Any

import pytest

from knotwork import KnowledgeGraph, Node, NodeType, Relationship, apply_transforms, rollback_transforms
from knotwork.errors import InputError
from knotwork.models import ScriptedLLM, ask
from knotwork.prompts import Prompt
from knotwork.transforms import (
    DEFAULT_RUBRICS,
    CustomNodeFilter,
    LLMBasedNodeFilter,
    QuestionPotentialPrompt,
)


def score(n: Any) -> str:
    return json.dumps({"score": n})


def document(*chunks: str, summary: str | None = "About DNA.") -> KnowledgeGraph:
    """A document with a chain of chunks."""
    top = Node("d", {"page_content": " ".join(chunks)} | ({"summary": summary} if summary else {}), NodeType.DOCUMENT)
    nodes = [Node(f"c{at}", {"page_content": text}, NodeType.CHUNK) for at, text in enumerate(chunks)]
    links = [Relationship("child", top, node) for node in nodes]
    links += [Relationship("next", one, other) for one, other in pairwise(nodes)]
    return KnowledgeGraph([top, *nodes], links)


def chunks_only(node: Node) -> bool:
    return node.type is NodeType.CHUNK


def by_mark(prompt: str) -> str:
    """A model that rejects what is marked."""
    return score(1 if "REJECT" in prompt.partition("Text:\n")[2].partition("\n\nScores")[0] else 4)


def ids(kg: KnowledgeGraph) -> list[Any]:
    return [node.id for node in kg.nodes]


def test_nodes_below_the_score_go_and_their_chain_is_bridged() -> None:
    kg = document("one", "REJECT two", "REJECT three", "four")
    before = json.dumps(kg.to_dict())
    custom = CustomNodeFilter(filter_nodes=chunks_only, llm=ScriptedLLM(by_mark))
    apply_transforms(kg, custom)
    assert ids(kg) == ["d", "c0", "c3"]
    assert [(r.source.id, r.target.id) for r in kg.relationships if r.type == "next"] == [("c0", "c3")]
    assert [node.get_property("question_potential") for node in kg.nodes] == [None, 4, 4]
    rollback_transforms(kg, custom)
    assert json.dumps(kg.to_dict()) == before


@pytest.mark.parametrize(("min_score", "left"), [(1, 3), (2, 2), (3, 1), (5, 0)])
def test_only_a_score_below_the_least_removes(min_score: int, left: int) -> None:
    model = ScriptedLLM([score(1), score(2), score(3)])
    kg = document("a", "b", "c")
    apply_transforms(kg, CustomNodeFilter(filter_nodes=chunks_only, llm=model, min_score=min_score))
    assert len(kg.nodes) == 1 + left


def test_a_chunk_is_judged_by_its_document_s_summary_and_another_node_by_its_own() -> None:
    model = ScriptedLLM([score(5)] * 3)
    kg = document("chunk text", summary="The document's summary.")
    kg.nodes[1].add_property("summary", "The chunk's summary.")
    kg.add(Node("alone", {"page_content": "x", "summary": "A summary of its own."}, NodeType.CHUNK))
    apply_transforms(kg, CustomNodeFilter(llm=model))
    assert ["The document's summary." in prompt for prompt in model.prompts] == [True, True, False]
    assert "The chunk's summary." not in model.prompts[1]
    assert "A summary of its own." in model.prompts[2]
    assert all(said in model.prompts[0] for said in DEFAULT_RUBRICS.values())


def test_a_second_run_asks_nobody_again_also_after_loading(tmp_path: Any) -> None:
    model = ScriptedLLM(by_mark)
    kg = document("one", "REJECT two")
    apply_transforms(kg, CustomNodeFilter(filter_nodes=chunks_only, llm=model))
    kg.save(tmp_path / "kg.json")
    again = KnowledgeGraph.load(tmp_path / "kg.json")
    for graph in (kg, again):
        apply_transforms(graph, CustomNodeFilter(filter_nodes=chunks_only, llm=model))
        assert ids(graph) == ["d", "c0"]
    assert len(model.prompts) == 2


def test_a_stricter_filter_goes_by_the_scores_that_nodes_carry() -> None:
    kg = document("one", "two")
    apply_transforms(kg, CustomNodeFilter(filter_nodes=chunks_only, llm=ScriptedLLM([score(2), score(4)])))
    apply_transforms(kg, CustomNodeFilter(filter_nodes=chunks_only, llm=ScriptedLLM([]), min_score=3))
    assert ids(kg) == ["d", "c1"]


def test_without_a_summary_a_node_is_kept_unasked_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    kg = document("one", "two", summary=None)
    with caplog.at_level(logging.WARNING):
        apply_transforms(kg, CustomNodeFilter(filter_nodes=chunks_only, llm=ScriptedLLM([])))
    assert len(kg.nodes) == 3
    [record] = caplog.records
    assert "2 nodes have no document summary" in record.getMessage()
    kg.nodes[0].add_property("summary", "Now there is one.")
    apply_transforms(kg, CustomNodeFilter(filter_nodes=chunks_only, llm=ScriptedLLM([score(1), score(3)])))
    assert ids(kg) == ["d", "c1"]


def test_without_a_model_everything_is_kept_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    kg = document("one", "two")
    with caplog.at_level(logging.WARNING):
        apply_transforms(kg, CustomNodeFilter())
    assert len(kg.nodes) == 3
    [record] = caplog.records
    assert "no model (llm=)" in record.getMessage()


def test_a_score_of_99_is_a_bad_reply_and_at_last_an_error_naming_the_node() -> None:
    kg = document("one")
    kept = CustomNodeFilter(filter_nodes=chunks_only, llm=ScriptedLLM([score(99), score(0), score(3)]))
    apply_transforms(kg, kept)
    assert kg.nodes[1].get_property("question_potential") == 3
    never = CustomNodeFilter(filter_nodes=chunks_only, llm=ScriptedLLM([score(99)] * 3))
    with pytest.raises(ValueError, match=r"CustomNodeFilter.*node 'c0', property 'question_potential'.*99"):
        apply_transforms(document("one"), never)


def test_a_score_that_is_true_is_no_score() -> None:
    kg = document("one")
    apply_transforms(kg, CustomNodeFilter(filter_nodes=chunks_only, llm=ScriptedLLM([score(True), score("3")])))
    assert kg.nodes[1].get_property("question_potential") == 3


def test_results_of_one_rubric_do_not_serve_another() -> None:
    one, other = CustomNodeFilter(), CustomNodeFilter(rubrics={**DEFAULT_RUBRICS, "score1_description": "Bad."})
    assert one.told_apart_by() != other.told_apart_by()
    assert one.told_apart_by() == CustomNodeFilter().told_apart_by()


def test_verdicts_finished_before_a_failure_are_not_paid_for_again() -> None:
    model = ScriptedLLM([score(1), score(4), *["no"] * 3, score(1)])
    kg = document("a", "b", "c")
    custom = CustomNodeFilter(filter_nodes=chunks_only, llm=model)
    with pytest.raises(ValueError, match="c2"):
        apply_transforms(kg, custom)
    assert len(kg.nodes) == 4
    apply_transforms(kg, custom)
    assert ids(kg) == ["d", "c1"]


def test_transform_returns_a_smaller_graph_and_leaves_the_other_alone() -> None:
    kg = document("one", "REJECT two")
    smaller = asyncio.run(CustomNodeFilter(filter_nodes=chunks_only, llm=ScriptedLLM(by_mark)).transform(kg))
    assert (ids(smaller), len(kg.nodes)) == (["d", "c0"], 3)
    assert kg.nodes[1].get_property("question_potential") is None


def test_custom_filter_says_whether_a_node_goes() -> None:
    custom, kg = CustomNodeFilter(llm=ScriptedLLM([score(1), score(2)])), document("one")
    assert [asyncio.run(custom.custom_filter(kg.nodes[1], kg)) for _ in range(2)] == [True, False]


def test_rubrics_are_an_instance_s_own_and_checked() -> None:
    custom = CustomNodeFilter(rubrics={**DEFAULT_RUBRICS, "score1_description": "Bad."})
    assert CustomNodeFilter().rubrics == DEFAULT_RUBRICS
    assert custom.rubrics["score1_description"] == "Bad."
    assert custom.rubrics is not CustomNodeFilter().rubrics
    for wrong in ({}, {**DEFAULT_RUBRICS, "score6_description": "x"}):
        with pytest.raises(InputError, match="score1_description"):
            CustomNodeFilter(rubrics=wrong)


def test_the_scoring_prompt_may_be_another_and_must_show_the_text() -> None:
    model = ScriptedLLM([score(5)])
    apply_transforms(
        document("one"), CustomNodeFilter(filter_nodes=chunks_only, llm=model, scoring_prompt="JSON! {node_content}")
    )
    assert model.prompts == ["JSON! one"]
    for wrong in ("no place", Prompt("nor here")):
        with pytest.raises(InputError, match=r"\{node_content\}"):
            CustomNodeFilter(scoring_prompt=wrong)
    assert list(CustomNodeFilter().get_prompts()) == ["scoring_prompt"]
    assert CustomNodeFilter().get_prompts()["scoring_prompt"] == QuestionPotentialPrompt()


@pytest.mark.parametrize(("name", "value"), [("page_content", 3), ("question_potential", "high"), ("summary", 5)])
def test_a_property_of_the_wrong_type_names_node_and_property(name: str, value: Any) -> None:
    kg = document("one")
    kg.nodes[name != "summary"].properties[name] = value
    with pytest.raises(ValueError, match=f"node '(c0|d)': property '{name}'"):
        apply_transforms(kg, CustomNodeFilter(filter_nodes=chunks_only, llm=ScriptedLLM([score(3)])))


def test_a_filter_of_one_s_own_asks_the_model_by_itself() -> None:
    class Dull(LLMBasedNodeFilter):
        async def custom_filter(self, node: Node, kg: KnowledgeGraph) -> bool:
            assert self.llm is not None
            return bool(await ask(self.llm, Prompt("Dull? {text}"), text=node.get_property("page_content")) == "yes")

    kg = document("one", "two")
    dull = Dull(filter_nodes=chunks_only, llm=lambda prompt: "yes" if "one" in prompt else "no")
    apply_transforms(kg, dull)
    assert ids(kg) == ["d", "c1"]
