"""Objects of other libraries as our models."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from typing import Any
from unittest.mock import Mock

import numpy as np
import pytest
from pydantic import BaseModel

from knotwork import KnowledgeGraph, Node, RunConfig, apply_transforms
from knotwork.errors import ModelError, ReplyError, TransformError
from knotwork.models import LLM, Message, Reply, ScriptedLLM, ask, embedder, llm
from knotwork.prompts import Prompt
from knotwork.transforms import SummaryExtractor

QUESTION: list[Message] = [{"role": "user", "content": "Who?"}]


def said(model: Any, messages: list[Message] = QUESTION) -> str:
    return asyncio.run(llm(model).complete(messages)).text


class AnyKeywords:
    async def complete(self, messages: Sequence[Message], **options: Any) -> Reply:
        return Reply(f"{messages[0]['content']} {sorted(options)}")


class MessagesAlone:
    async def complete(self, messages: Sequence[Message]) -> str:
        return messages[0]["content"]


class Text:
    def __init__(self, text: str) -> None:
        self.text = text


class Content:
    def __init__(self, content: str) -> None:
        self.content = content


class Generates:
    def generate(self, prompt: str) -> str:
        return f"generated: {prompt}"


class GeneratesLater:
    async def generate(self, prompt: str) -> str:
        return f"later: {prompt}"


class LangChainLike:
    def invoke(self, prompt: str) -> Content:
        raise AssertionError("its async twin is preferred")

    async def ainvoke(self, prompt: str) -> Content:
        return Content(f"invoked: {prompt}")


class LlamaIndexLike:
    def complete(self, prompt: str) -> Text:
        return Text(f"completed: {prompt}")


class HaystackLike:
    def run(self, prompt: str) -> dict[str, Any]:
        return {"replies": [f"ran: {prompt}"], "meta": []}


class RagasLike:
    async def agenerate(self, prompt: str) -> Any:
        return type("Result", (), {"generations": [[Text(f"agenerated: {prompt}")]]})()


class SyncOurs:
    def complete(self, messages: Sequence[Message], *, schema: Any = None, max_tokens: int | None = None) -> Reply:
        return Reply(f"ours: {messages[-1]['content']}")


async def later(prompt: str) -> str:
    return f"function: {prompt}"


@pytest.mark.parametrize(
    ("model", "reply"),
    [
        (Generates(), "generated: Who?"),
        (GeneratesLater(), "later: Who?"),
        (LangChainLike(), "invoked: Who?"),
        (LlamaIndexLike(), "completed: Who?"),
        (HaystackLike(), "ran: Who?"),
        (RagasLike(), "agenerated: Who?"),
        (SyncOurs(), "ours: Who?"),
        (MessagesAlone(), "Who?"),
        (lambda prompt: f"lambda: {prompt}", "lambda: Who?"),
        (later, "function: Who?"),
    ],
)
def test_a_model_of_another_library_answers(model: Any, reply: str) -> None:
    assert isinstance(llm(model), LLM)
    assert said(model) == reply


def test_an_object_of_our_own_shape_is_taken_as_it_is() -> None:
    model = ScriptedLLM(["x"])
    assert llm(model) is model


def test_a_model_of_our_shape_that_takes_any_keywords_is_taken_as_it_is() -> None:
    model = AnyKeywords()
    assert llm(model) is model


@pytest.mark.parametrize("given", [None, 3, {}, {"replies": []}, Mock()])
def test_a_reply_that_is_none_is_an_error_naming_the_model(given: Any) -> None:
    class Odd:
        async def complete(self, messages: Any, *, schema: Any = None, max_tokens: Any = None) -> Any:
            return given

    with pytest.raises(ModelError, match=r"Odd gave \w+, in which no text was found"):
        asyncio.run(ask(llm(Odd()), Prompt("{text}"), text="x"))


def test_a_text_in_place_of_a_reply_is_taken_and_nothing_is_an_empty_one() -> None:
    class Says:
        def __init__(self, reply: Any) -> None:
            self.reply = reply

        async def complete(self, messages: Any, *, schema: Any = None, max_tokens: Any = None) -> Any:
            return self.reply

    assert asyncio.run(ask(llm(Says("yes")), Prompt("{text}"), text="x")) == "yes"
    with pytest.raises(ReplyError, match="the reply is empty"):
        asyncio.run(ask(llm(Says(Reply(None))), Prompt("{text}"), text="x"))  # type: ignore[arg-type]


def test_a_sync_model_runs_in_another_thread() -> None:
    seen = []
    said(lambda prompt: seen.append(threading.get_ident()) or "x")
    assert seen != [threading.get_ident()]


def test_a_conversation_reaches_a_one_text_model_with_its_roles() -> None:
    turns: list[Message] = [*QUESTION, {"role": "assistant", "content": "Ada"}, {"role": "user", "content": "Sure?"}]
    assert said(lambda prompt: prompt, turns) == "user: Who?\n\nassistant: Ada\n\nuser: Sure?"


@pytest.mark.parametrize("thing", [None, "gpt", object(), 3])
def test_what_is_no_language_model_is_refused_with_what_would_be_one(thing: Any) -> None:
    with pytest.raises(ModelError, match=r"complete|by the name"):
        llm(thing)


def test_a_reply_without_text_is_an_error_naming_the_model() -> None:
    class Numbers:
        def generate(self, prompt: str) -> int:
            return 3

    with pytest.raises(ModelError, match=r"Numbers gave int"):
        said(Numbers())


# -- embedders ------------------------------------------------------------------------------------


def vector(text: str) -> list[float]:
    return [3.0 * text.count("a"), 4.0 * text.count("b")]


class EmbedText:
    def embed_text(self, text: str) -> list[float]:
        return vector(text)


class EmbedTextLater:
    async def aembed_text(self, text: str) -> list[float]:
        return vector(text)


class EmbedDocuments:
    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return list(map(vector, texts))

    def embed_query(self, text: str) -> list[float]:
        raise AssertionError("documents are embedded together")


class RunText:
    warm = False

    def warm_up(self) -> None:
        self.warm = True

    def run(self, text: str) -> dict[str, Any]:
        assert self.warm
        return {"embedding": vector(text)}


class NoDimension:
    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        return list(map(vector, texts))


@pytest.mark.parametrize("model", [EmbedText(), EmbedTextLater(), EmbedDocuments(), RunText(), NoDimension()])
def test_an_embedder_of_another_library_gives_unit_rows(model: Any) -> None:
    adapted = embedder(model)
    rows = asyncio.run(adapted.embed(["ab", "", "b"]))
    np.testing.assert_allclose(rows, [[0.6, 0.8], [0, 0], [0, 1]])
    assert (adapted.dimension, adapted.name) == (2, type(model).__name__)


def test_vectors_of_unequal_length_are_an_error_naming_the_embedder() -> None:
    class Ragged:
        def embed(self, texts: Sequence[str]) -> list[list[float]]:
            return [[1.0] * (1 + at) for at in range(len(texts))]

    with pytest.raises(ModelError, match="Ragged did not give 2 vectors"):
        asyncio.run(embedder(Ragged()).embed(["a", "b"]))


def test_a_scripted_model_runs_out_with_a_named_error() -> None:
    model = ScriptedLLM(["one"])
    assert said(model) == "one"
    with pytest.raises(ModelError, match="no reply number 2"):
        said(model)
    assert model.prompts == ["Who?", "Who?"]


class Named(BaseModel):
    name: str


def test_a_scripted_model_may_answer_by_the_prompt_and_may_fail() -> None:
    model = ScriptedLLM(lambda prompt: TimeoutError("slow") if "!" in prompt else Reply("x", finish_reason="length"))
    assert asyncio.run(model.complete(QUESTION, schema=Named)).finish_reason == "length"
    with pytest.raises(TimeoutError):
        said(model, [{"role": "user", "content": "!"}])


@pytest.mark.parametrize("retries", [True, False])
def test_an_adapted_model_that_retries_by_itself_is_not_retried_again(retries: bool) -> None:
    class Fails:
        def __init__(self) -> None:
            self.retries = retries
            self.asked = 0

        def generate(self, prompt: str) -> str:
            self.asked += 1
            raise ConnectionError("gone")

    model = Fails()
    kg = KnowledgeGraph([Node("a", {"page_content": "Ada."})])
    with pytest.raises(TransformError, match="gone"):
        apply_transforms(kg, SummaryExtractor(llm=model), RunConfig(max_retries=2, max_wait=0))
    assert model.asked == (1 if retries else 3)
