"""Extractors that a model answers, and their offline methods."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from knotwork import KnowledgeGraph, Node, NodeType, apply_transforms
from knotwork.errors import InputError, ReplyError, TransformError
from knotwork.models import ScriptedLLM
from knotwork.prompts import Prompt
from knotwork.transforms import (
    HeadlinesExtractor,
    KeyphrasesExtractor,
    LLMBasedExtractor,
    NERExtractor,
    SummaryExtractor,
    ThemesExtractor,
    TitleExtractor,
    TopicDescriptionExtractor,
)

TEXTS = [SummaryExtractor, TitleExtractor, TopicDescriptionExtractor]
LISTS: list[tuple[Any, str]] = [
    (KeyphrasesExtractor, "max_num"),
    (HeadlinesExtractor, "max_num"),
    (NERExtractor, "max_num_entities"),
    (ThemesExtractor, "max_num_themes"),
]
ALL = [*TEXTS, *(kind for kind, _ in LISTS)]
STORY = """# The photograph

Rosalind Franklin and Raymond Gosling took an X-ray photograph of DNA at King's College London in May 1952. The
photograph showed a cross of dark spots, the mark of a helix.

# The model

James Watson and Francis Crick built a model of DNA in Cambridge. The model explained how a molecule is copied: each
strand of the double helix is the pattern for the other. The paper on the model appeared in Nature in April 1953.
"""


def graph(*texts: Any) -> KnowledgeGraph:
    return KnowledgeGraph(Node(at, {"page_content": text}, NodeType.CHUNK) for at, text in enumerate(texts))


def extracted(extractor: Any, text: Any = STORY) -> Any:
    return asyncio.run(extractor.extract(Node("n", {"page_content": text})))[1]


def items(*values: Any) -> str:
    return json.dumps({"items": list(values)})


def by_the_text(prompt: str) -> str:
    """A model that finds every capitalised word of what it is shown."""
    words = prompt.rpartition("Text:\n")[2].split()
    return items(*(word.strip(".,") for word in words if word[0].isupper()))


# -- with a model ---------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TEXTS)
def test_a_text_is_stored_as_the_model_says_it(kind: Any) -> None:
    model = ScriptedLLM(["Sure, here it is:\n\nAda met Bo."])
    kg = graph(STORY)
    apply_transforms(kg, kind(llm=model))
    assert kg.nodes[0].get_property(kind().property_name) == "Ada met Bo."
    assert model.prompts[0].endswith(STORY)


@pytest.mark.parametrize(("kind", "limit"), LISTS)
def test_the_limit_holds_whatever_the_model_returns_and_duplicates_go(kind: Any, limit: str) -> None:
    model = ScriptedLLM(
        [items("The photograph", "the  photograph", "", "The model", "# The model", "Cambridge", "Crick")]
    )
    found = extracted(kind(llm=model, **{limit: 2}))
    assert found == ["The photograph", "The model"]
    assert "at most 2" in model.prompts[0]


def test_a_sync_model_of_another_library_serves() -> None:
    class Generates:
        def generate(self, prompt: str) -> str:
            return items("Crick")

    assert extracted(NERExtractor(llm=Generates())) == ["Crick"]


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("text", [None, "", " \n\t\u3000"])
def test_without_text_there_is_no_call_and_nothing_stored(kind: Any, text: Any) -> None:
    for model in (ScriptedLLM([]), None):
        kg = graph(text)
        apply_transforms(kg, kind(llm=model))
        assert list(kg.nodes[0].properties) == ["page_content"]


@pytest.mark.parametrize("kind", ALL)
def test_a_text_of_the_wrong_type_names_node_property_and_type(kind: Any) -> None:
    with pytest.raises(ValueError, match=r"node 0: property 'page_content' is list, a str is needed"):
        apply_transforms(graph(["a"]), kind(llm=ScriptedLLM([])))


@pytest.mark.parametrize("kind", ALL)
def test_the_second_run_makes_no_call(kind: Any) -> None:
    for reply in ("[]", items("Crick")):
        model = ScriptedLLM([reply, reply])
        kg = graph(STORY)
        apply_transforms(kg, kind(llm=model))
        apply_transforms(kg, kind(llm=model))
        assert len(model.prompts) == 1


def test_no_json_three_times_names_node_property_and_remedy() -> None:
    model = ScriptedLLM(["no", "no", "no idea"])
    with pytest.raises(TransformError, match=r"node 0, property 'entities'.*'no idea'.*larger model") as caught:
        apply_transforms(graph("Ada."), NERExtractor(llm=model))
    assert isinstance(caught.value.cause, ReplyError)
    assert len(model.prompts) == 3  # and the engine has not tried again


def test_an_empty_reply_is_never_a_summary() -> None:
    with pytest.raises(ReplyError, match=r"node 'n', property 'summary'.*empty"):
        extracted(SummaryExtractor(llm=ScriptedLLM(["", "<think>so", "```\n```"])))


def test_headlines_are_those_found_in_the_text_in_its_order() -> None:
    model = ScriptedLLM([items("The Model", "Invented", "# the photograph")])
    assert extracted(HeadlinesExtractor(llm=model)) == ["The photograph", "The model"]


def test_a_headline_is_found_on_its_own_line_before_prose_that_mentions_it() -> None:
    text = "We discuss Methods, then the End.\n\nMethods\n\nMuch.\n\nThe End\n\nBye."
    model = ScriptedLLM([items("The end", "Methods")])
    assert extracted(HeadlinesExtractor(llm=model), text) == ["Methods", "The End"]


# -- long texts -----------------------------------------------------------------------------------


def test_a_summary_of_a_long_text_is_folded_over_its_slices_and_the_last_word_is_seen() -> None:
    text = " ".join(f"word{n}" for n in range(400)) + " ENDING"
    model = ScriptedLLM(lambda prompt: prompt.rpartition("Text:\n")[2].split()[-1])
    assert extracted(SummaryExtractor(llm=model, max_token_limit=100), text) == "ENDING"
    assert len(model.prompts) > 5


def test_a_model_that_does_not_shorten_is_not_asked_for_ever() -> None:
    model = ScriptedLLM(lambda prompt: prompt)
    with pytest.raises(ReplyError, match="can't be folded; raise max_token_limit"):
        extracted(SummaryExtractor(llm=model, max_token_limit=10), STORY)


def test_a_list_of_a_long_text_holds_the_best_of_every_slice_within_the_limit() -> None:
    text = " ".join(["small"] * 60 + ["Ada"] + ["small"] * 60 + ["Bo"] + ["small"] * 60 + ["Cy Ada"])
    found = extracted(NERExtractor(llm=ScriptedLLM(by_the_text), max_token_limit=50, max_num_entities=3), text)
    assert sorted(found) == ["Ada", "Bo", "Cy"]


class Bytes:
    """A tokenizer with a token a byte."""

    def encode(self, text: str) -> bytes:
        return text.encode()


@given(st.text(max_size=60), st.integers(4, 12))
def test_slices_are_the_text_and_keep_the_limit_by_any_tokenizer(text: str, size: int) -> None:
    for tokenizer in (None, Bytes()):
        parts = SummaryExtractor(tokenizer=tokenizer).split_text_by_token_limit(text, size)
        assert "".join(parts) == text
        if tokenizer is not None:
            assert all(len(part.encode()) <= size for part in parts)
            # and none could have taken the next character too
            assert all(len((one + other[0]).encode()) > size for one, other in pairwise(parts))


def test_a_limit_below_a_character_still_cuts_no_character() -> None:
    assert SummaryExtractor(tokenizer=Bytes()).split_text_by_token_limit("双螺旋", 1) == ["双", "螺", "旋"]
    assert "".join(SummaryExtractor().split_text_by_token_limit("👩‍🔬🧬" * 30, 1)) == "👩‍🔬🧬" * 30


@pytest.mark.parametrize(
    "made",
    [
        lambda: SummaryExtractor(max_token_limit=0),
        lambda: KeyphrasesExtractor(max_num=0),
        lambda: SummaryExtractor().split_text_by_token_limit("x", 0),
        lambda: SummaryExtractor(prompt="no place for it"),
        lambda: SummaryExtractor(prompt=Prompt("nor here")),
    ],
)
def test_a_wrong_parameter_is_refused(made: Callable[[], object]) -> None:
    with pytest.raises(InputError, match=r"a whole number from 1 on|\{text\}"):
        made()


# -- prompts --------------------------------------------------------------------------------------


def test_a_prompt_may_be_a_text_with_named_placeholders() -> None:
    model = ScriptedLLM([items("Crick")])
    assert extracted(NERExtractor(llm=model, prompt="Names, {limit} at most, as {JSON}: {text}")) == ["Crick"]
    assert model.prompts[0].startswith("Names, 10 at most, as {JSON}: # The photograph")


def test_prompts_are_an_instance_s_own() -> None:
    one, other = SummaryExtractor(), SummaryExtractor()
    one.set_prompts(prompt="Brief: {text}")
    assert one.get_prompts()["prompt"].instruction == "Brief: {text}"
    assert other.get_prompts() == SummaryExtractor().get_prompts()


def test_an_unknown_prompt_or_one_without_its_placeholder_is_refused() -> None:
    extractor = SummaryExtractor()
    with pytest.raises(ValueError, match=r"no prompt 'promt'; its prompts: prompt"):
        extractor.set_prompts(promt="{text}")
    with pytest.raises(ValueError, match=r"\{text\}"):
        extractor.set_prompts(prompt="Brief.")
    assert extractor.get_prompts() == SummaryExtractor().get_prompts()


def test_prompts_are_saved_edited_and_loaded(tmp_path: Path) -> None:
    one = NERExtractor(name="my names/1")
    one.save_prompts(tmp_path / "prompts")
    [file] = (tmp_path / "prompts").iterdir()
    assert file.name == "my_names_1.prompt.json"
    file.write_text(file.read_text("utf-8").replace("List the named entities", "Namen: ä"), "utf-8")
    model = ScriptedLLM([items("Crick")])
    other = NERExtractor(name="my names/1", llm=model)
    other.load_prompts(tmp_path / "prompts")
    assert extracted(other) == ["Crick"]
    assert model.prompts[0].startswith("Namen: ä")
    assert one.get_prompts() != other.get_prompts()


@pytest.mark.parametrize("content", [None, "{", "[]", '{"instruction": "no place"}'])
def test_a_prompt_file_that_cannot_be_used_is_named(tmp_path: Path, content: str | None) -> None:
    extractor = SummaryExtractor()
    if content is not None:
        (tmp_path / "SummaryExtractor.prompt.json").write_text(content)
    with pytest.raises(InputError, match=r"SummaryExtractor\.prompt"):
        extractor.load_prompts(tmp_path)


# -- one's own ------------------------------------------------------------------------------------


class Mood(BaseModel):
    mood: str
    strength: int


def test_an_extractor_of_one_s_own_is_a_property_and_a_prompt() -> None:
    model = ScriptedLLM(['{"mood": "glad", "strength": 3}'])
    mood = LLMBasedExtractor(property_name="mood", prompt=Prompt("Mood of {text}", output_model=Mood), llm=model)
    assert extracted(mood) == {"mood": "glad", "strength": 3}
    plain = LLMBasedExtractor(property_name="mood", prompt="The mood of: {text}", llm=ScriptedLLM(["glad"]))
    assert extracted(plain) == "glad"


def test_without_a_model_one_s_own_extractor_says_what_it_needs() -> None:
    with pytest.raises(InputError, match=r"Moods has no offline method; pass llm="):
        extracted(LLMBasedExtractor(name="Moods", property_name="mood", prompt="The mood of: {text}"))


def test_a_subclass_that_overrides_extract_has_all_freedom() -> None:
    @dataclass
    class Shouts(LLMBasedExtractor):
        property_name: str = "shout"

        async def extract(self, node: Node) -> tuple[str, Any]:
            return self.property_name, node.get_property("page_content").upper()

    kg = graph("hello")
    apply_transforms(kg, Shouts(name="s", property_name="loud"))
    assert kg.nodes[0].get_property("loud") == "HELLO"


# -- offline --------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", TEXTS)
def test_offline_a_text_is_made_of_the_text_s_own_words(kind: Any) -> None:
    said = extracted(kind())
    assert said
    assert len(said) < len(STORY)
    assert any(word in said for word in ("DNA", "helix", "photograph", "model"))


@pytest.mark.parametrize(("kind", "limit"), LISTS)
def test_offline_a_list_keeps_its_limit_and_has_no_duplicates(kind: Any, limit: str) -> None:
    for most in (1, 2, 5):
        found = extracted(kind(**{limit: most}))
        assert 1 <= len(found) <= most
        assert len({item.lower() for item in found}) == len(found)


def test_offline_headlines_stand_in_the_text_in_its_order() -> None:
    assert extracted(HeadlinesExtractor()) == ["The photograph", "The model"]
    assert extracted(HeadlinesExtractor(), "Just prose. Nothing else.") == []


def test_offline_names_are_those_of_the_text() -> None:
    assert {"Rosalind Franklin", "Francis Crick"} <= set(extracted(NERExtractor()))


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize(
    "text", ["x", "。", "!!!", "\ud800", "双螺旋结构由沃森和克里克发现。", "word " * 5000, "a" * 50_000]
)
def test_offline_any_text_is_answered(kind: Any, text: str) -> None:
    extracted(kind(), text)
