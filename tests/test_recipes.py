"""The lists of transforms that suit documents of given lengths."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

from knotwork import (
    Document,
    KnowledgeGraph,
    Node,
    NodeType,
    Parallel,
    apply_transforms,
    default_transforms,
    default_transforms_for_prechunked,
    rollback_transforms,
    short_text_transforms,
)
from knotwork.errors import InputError
from knotwork.models import ScriptedLLM
from knotwork.text import count_tokens
from knotwork.transforms import (
    CosineSimilarityBuilder,
    CustomNodeFilter,
    EmbeddingExtractor,
    HeadlinesExtractor,
    HeadlineSplitter,
    NERExtractor,
    OverlapScoreBuilder,
    SummaryExtractor,
    ThemesExtractor,
)

PEOPLE = ("Franklin", "Gosling", "Wilkins", "Watson", "Crick", "Chargaff", "Pauling", "Bragg", "Perutz", "Randall")


def prose(tokens: int, seed: int) -> str:
    """Sentences about people of the time, up to a number of tokens."""
    said: list[str] = []
    while count_tokens([" ".join(said)])[0] < tokens:
        n = seed + len(said)
        one, other = PEOPLE[n % 10], PEOPLE[(3 * n + 1) % 10]
        said.append(f"{one} wrote to {other} about measurement number {n}, and the answer came after {n % 7} days.")
    return " ".join(said)


def sectioned(tokens: int, seed: int) -> str:
    parts = [f"# Part {name}\n\n{prose(tokens // 2, seed + at)}\n" for at, name in enumerate(("One", "Two"))]
    return "\n".join(parts)


LONG, MIDDLE, SHORT = sectioned(1400, 1), prose(300, 50), prose(40, 90)


class Letters:
    """An embedder that counts letters."""

    name, dimension = "letters", 26

    def embed(self, texts: Any) -> Any:
        return np.array([[text.lower().count(chr(97 + at)) for at in range(26)] for text in texts], np.float32)


def graph(*texts: str, type: NodeType = NodeType.DOCUMENT) -> KnowledgeGraph:
    return KnowledgeGraph(Node(f"n{at}", {"page_content": text}, type) for at, text in enumerate(texts))


def model() -> ScriptedLLM:
    """Answers every prompt by its text, and rejects chunks that begin with the second part."""

    def reply(prompt: str) -> str:
        text = prompt.rpartition("Text:\n")[2]
        if '{"score": n}' in prompt:
            return json.dumps({"score": 1 if text.startswith("# Part Two") else 4})
        if "headings" in prompt:
            return json.dumps({"items": re.findall("# (.*)", text)})
        if '{"items"' in prompt:
            return json.dumps({"items": sorted(set(re.findall("[A-Z][a-z]{4,}", text)))})
        return f"A summary. {text[:80]}"

    return ScriptedLLM(reply)


def names(stages: Any) -> list[Any]:
    return [names(stage.transformations) if isinstance(stage, Parallel) else type(stage) for stage in stages]


SIDE_BY_SIDE = [EmbeddingExtractor, ThemesExtractor, NERExtractor]
LINKS = [CosineSimilarityBuilder, OverlapScoreBuilder]


def test_long_documents_are_split_at_their_headings() -> None:
    stages = default_transforms([LONG, SHORT, SHORT, SHORT])
    assert names(stages) == [
        HeadlinesExtractor, HeadlineSplitter, SummaryExtractor, CustomNodeFilter, SIDE_BY_SIDE, LINKS,
    ]  # fmt: skip
    assert stages[1].min_tokens == 500
    cosine, overlap = stages[-1].transformations
    assert (cosine.property_name, cosine.new_property_name, cosine.threshold) == (
        "summary_embedding", "summary_similarity", 0.7,
    )  # fmt: skip
    assert overlap.threshold == 0.01


def test_documents_of_middle_length_are_taken_whole() -> None:
    stages = default_transforms([Document(MIDDLE), Document(SHORT), SHORT, SHORT])
    assert names(stages) == [SummaryExtractor, CustomNodeFilter, SIDE_BY_SIDE, LINKS]
    assert stages[-1].transformations[0].threshold == 0.5
    assert names(default_transforms_for_prechunked()) == names(stages)
    assert default_transforms_for_prechunked()[-1].transformations[0].threshold == 0.7


def test_long_and_middle_documents_count_together_against_the_short_ones() -> None:
    stages = default_transforms([LONG, MIDDLE, *[SHORT] * 5])
    assert names(stages) == [SummaryExtractor, CustomNodeFilter, SIDE_BY_SIDE, LINKS]


def test_langchain_s_documents_are_measured_too() -> None:
    lang = type("Document", (), {"page_content": LONG, "metadata": {}})()
    assert names(default_transforms([lang])) == names(default_transforms([LONG]))


def test_documents_too_short_say_how_long_they_are_and_what_does_it() -> None:
    with pytest.raises(
        ValueError, match=r"the 4 documents are too short.*\d\d tokens the longest.*short_text_transforms"
    ):
        default_transforms([SHORT] * 4)


@pytest.mark.parametrize("documents", [[], [3], [None], "one text", 5, None])
def test_no_documents_or_what_is_none_is_refused(documents: Any) -> None:
    with pytest.raises(InputError, match="document"):
        default_transforms(documents)


@pytest.mark.parametrize("llm", [None, model()])
def test_mixed_lengths_never_fail_and_a_second_run_costs_nothing(llm: Any, caplog: pytest.LogCaptureFixture) -> None:
    kg = graph(LONG, MIDDLE, SHORT)
    before = json.dumps(kg.to_dict())
    stages = default_transforms([LONG, MIDDLE, SHORT], llm, Letters())
    apply_transforms(kg, stages)
    once, asked, warned = json.dumps(kg.to_dict()), len(llm.prompts) if llm else 0, len(caplog.records)
    assert {node.type for node in kg.nodes} == {NodeType.DOCUMENT, NodeType.CHUNK}
    assert any(link.type == "entities_overlap" for link in kg.relationships) == (llm is None)
    if llm:  # the second part was rejected, and stays so
        assert not any(node.get_property("page_content").startswith("# Part Two") for node in kg.nodes)
        assert asked
    report = apply_transforms(kg, stages)
    assert json.dumps(kg.to_dict()) == once
    assert (len(llm.prompts) if llm else 0) == asked
    assert sum(stage.changes for stage in report.stages) == 0
    assert len(caplog.records) - warned <= 1
    rollback_transforms(kg, stages)
    assert json.dumps(kg.to_dict()) == before


def test_chunks_cut_elsewhere_are_linked() -> None:
    kg = graph(MIDDLE, prose(300, 51), type=NodeType.CHUNK)
    apply_transforms(kg, default_transforms_for_prechunked(model(), Letters()))
    assert {link.type for link in kg.relationships} == {"summary_similarity", "entities_overlap"}


def test_short_texts_are_linked_as_they_are() -> None:
    kg = graph(SHORT, prose(40, 91))
    apply_transforms(kg, short_text_transforms(embedding_model=Letters()))
    assert {"cosine_similarity", "entities_overlap"} >= {link.type for link in kg.relationships}
    assert any(link.type == "cosine_similarity" for link in kg.relationships)
