"""What is asked of a model, and how its replies are read."""

from __future__ import annotations

import asyncio
import json
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field

from knotwork.errors import InputError, ReplyError
from knotwork.models import Message, Reply, ScriptedLLM, ask
from knotwork.prompts import Prompt, prompt_from, without_reasoning


class Names(BaseModel):
    names: list[str]


class Score(BaseModel):
    score: int = Field(ge=1, le=5)


NAMES = Prompt("JSON names of: {text}", output_model=Names)
TEXT = Prompt("Summarise: {text}")


# -- rendering ------------------------------------------------------------------------------------


def test_braces_that_are_no_placeholder_stay_and_values_are_not_read_again() -> None:
    prompt = Prompt('Give {"a": {}} of {text}, at most {limit}, or { nothing }.')
    said = prompt.render(text='{limit} {"b": {}} {text}', limit="3")
    assert said == 'Give {"a": {}} of {limit} {"b": {}} {text}, at most 3, or { nothing }.'


@given(st.text())
def test_any_text_arrives_unchanged(text: str) -> None:
    assert Prompt("<{text}>").render(text=text) == f"<{text}>"


def test_examples_come_first_and_a_model_as_an_output_is_shown_as_json() -> None:
    said = Prompt("{text}", [("Ada met Bo.", Names(names=["Ada", "Bo"])), ("Nobody.", "none")]).render(text="x")
    assert said.index('Input: Ada met Bo.\nOutput: {"names": ["Ada", "Bo"]}') < said.index("Output: none")
    assert said.endswith("\n\nx")


def test_a_prompt_that_does_not_speak_of_json_is_given_the_schema() -> None:
    assert '"names"' in Prompt("List: {text}", output_model=Names).render(text="x")
    assert '"names"' not in NAMES.render(text="x")


@pytest.mark.parametrize(
    "made",
    [
        lambda: Prompt(""),
        lambda: Prompt(3),  # type: ignore[arg-type]
        lambda: Prompt("x", [1]),  # type: ignore[list-item]
        lambda: Prompt("x", output_model="Names"),  # type: ignore[arg-type]
        lambda: prompt_from({"examples": []}, "a.json"),
        lambda: prompt_from({"instruction": ""}, "a.json"),
        lambda: TEXT.needs(["summary"], "the prompt"),
        lambda: TEXT.replaced_by(3),  # type: ignore[arg-type]
    ],
)
def test_what_is_no_prompt_is_refused(made: Any) -> None:
    with pytest.raises(InputError, match="prompt"):
        made()


def test_another_prompt_in_its_place_keeps_the_form_of_the_reply() -> None:
    assert NAMES.replaced_by("Who is in {text}?") == Prompt("Who is in {text}?", output_model=Names)
    assert NAMES.replaced_by(Prompt("x", [("a", "b")])).output_model is Names
    assert NAMES.replaced_by(Prompt("x", output_model=Score)).output_model is Score


def test_a_prompt_comes_back_from_its_json() -> None:
    prompt = Prompt("Ä {text}", [("a", {"names": ["b"]})])
    assert prompt_from(json.loads(json.dumps(prompt.to_dict())), "x") == prompt


# -- reading --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "reply",
    [
        '{"names": ["Ada", "Bo"]}',
        '```json\n{"names": ["Ada", "Bo"]}\n```',
        'Sure! Here they are:\n```\n{"names": ["Ada", "Bo"]}\n```\nAnything else?',
        'The names are {"names": ["Ada", "Bo"]}. I hope this helps.',
        '<think>They may be {"names": ["Eve"]}.</think>\n{"names": ["Ada", "Bo"]}',
        'They may be {"names": ["Eve"]}.</think>{"names": ["Ada", "Bo"]}',
        '["Ada", "Bo"]',
        "- Ada\n- Bo",
        "```\n1. Ada\n2) Bo\n```",
        '{"entities": ["Ada", "Bo"]}',
        '{"names": ["Ada", "Bo"',
        '{"names": ["Ada", "Bo", "Char',
        '```json\n["Ada", "Bo", "Ch',
        "{'names': ['Ada', 'Bo',]}",
        '{"names": ["Ada", 7, null, "Bo"]}',
        '[{"name": "Ada", "type": "person"}, {"name": "Bo", "type": "person"}]',
        '```json\n{"names": ["Ada", "Bo"]',
    ],
)
def test_what_is_complete_in_a_sloppy_reply_is_taken(reply: str) -> None:
    assert NAMES.read(reply) == Names(names=["Ada", "Bo"])


def test_an_empty_list_is_an_answer() -> None:
    assert NAMES.read('{"names": []}') == Names(names=[])
    assert NAMES.read("[]") == Names(names=[])


@pytest.mark.parametrize("reply", ["", "I am sorry.", "{}", "[1, 2]", "<think>Hm", '{"a": 1}', "{{{", "null", "7"])
def test_a_reply_that_says_nothing_usable_is_an_error(reply: str) -> None:
    with pytest.raises(ReplyError):
        NAMES.read(reply)


@pytest.mark.parametrize("score", [0, 6, 99, "many", None, 2.5])
def test_a_score_out_of_its_range_is_an_error(score: Any) -> None:
    with pytest.raises(ReplyError, match="does not fit"):
        Prompt("JSON {text}", output_model=Score).read(json.dumps({"score": score}))


@given(st.text())
def test_no_reply_brings_a_foreign_error(reply: str) -> None:
    for prompt in (NAMES, TEXT, Prompt("JSON {text}", output_model=Score)):
        with suppress(ReplyError):
            prompt.read(reply)


@pytest.mark.parametrize(
    ("reply", "text"),
    [
        ("  Ada met Bo. ", "Ada met Bo."),
        ("```\nAda met Bo.\n```", "Ada met Bo."),
        ('{"summary": "Ada met Bo."}', "Ada met Bo."),
        ('{"summary": {"text": "Ada met Bo."}}', "Ada met Bo."),
        ('["Ada met Bo."]', "Ada met Bo."),
        ("**Summary:** Ada met Bo.", "Ada met Bo."),
        ("[Ada] met Bo.", "[Ada] met Bo."),
        ('"Ada met Bo."', "Ada met Bo."),
        ('"Ada" met "Bo"', '"Ada" met "Bo"'),
        ("Sure! Here is the summary:\n\nAda met Bo.", "Ada met Bo."),
        ("<think>\nwho?\n</think>\n\nAda met Bo.", "Ada met Bo."),
        ("Ada wrote <think> and </think> in her letter.", "Ada wrote <think> and </think> in her letter."),
        ("Here Ada met Bo: in the garden.", "Here Ada met Bo: in the garden."),
    ],
)
def test_a_plain_reply_is_taken_without_its_wrapping(reply: str, text: str) -> None:
    assert TEXT.read(reply) == text


def test_reasoning_inside_json_is_what_is_said() -> None:
    assert without_reasoning('{"names": ["</think>"]}') == '{"names": ["</think>"]}'


# -- asking ---------------------------------------------------------------------------------------


def test_a_bad_reply_is_asked_about_again_with_what_was_wrong() -> None:
    model = ScriptedLLM(["no idea", '{"names": ["Ada"]}'])
    assert asyncio.run(ask(model, NAMES, text="Ada")) == Names(names=["Ada"])
    assert "holds no JSON" in model.prompts[1]


def test_after_three_bad_replies_the_error_shows_the_last() -> None:
    model = ScriptedLLM(["one", "two", "three"])
    with pytest.raises(ReplyError, match=r"3 replies .*'three'.*no JSON.*larger model"):
        asyncio.run(ask(model, NAMES, text="Ada"))
    assert len(model.prompts) == 3


def test_what_a_model_parsed_itself_is_taken() -> None:
    class Parses:
        async def complete(self, messages: list[Message], *, schema: Any = None, max_tokens: Any = None) -> Reply:
            return Reply("", parsed=schema(names=["Ada"]))

    assert asyncio.run(ask(Parses(), NAMES, text="x")) == Names(names=["Ada"])
