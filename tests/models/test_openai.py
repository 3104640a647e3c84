"""The client of OpenAI-compatible endpoints, against one on loopback that fails in every way that real ones do."""

from __future__ import annotations

import asyncio
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import BaseModel

from knotwork import Document, Index, KnowledgeGraph, Node, NodeType, apply_transforms, load_settings
from knotwork.errors import InputError, ModelBusy, ModelError, ReplyError, SettingsError, StoreMismatch
from knotwork.models import Limit, Metered, ask, embedder, llm
from knotwork.models.openai import OpenAIEmbedder, OpenAILLM, is_loopback
from knotwork.models.wrappers import Limited
from knotwork.prompts import Prompt
from knotwork.protocols import Reply
from knotwork.testing.server import FAULTS, Asked, ModelServer, Say
from knotwork.transforms import SummaryExtractor

KEY = "sk-a-key-that-must-not-be-shown"
ASK: Any = [{"role": "user", "content": "Say hello to the moraine."}]


class Place(BaseModel):
    name: str
    height: int = 0


PROMPT = Prompt("Where is {what}? Reply with the place.", output_model=Place)
GOOD = '{"name": "The hut", "height": 2300}'


def model_of(server: ModelServer, **options: Any) -> OpenAILLM:
    return OpenAILLM("scripted", base_url=server.address, **options)


def test_a_reply_has_its_text_tokens_and_reason() -> None:
    with ModelServer(["Hello, moraine."]) as server:
        reply = asyncio.run(model_of(server, api_key=KEY).complete(ASK, max_tokens=9))
    assert (reply.text, reply.finish_reason) == ("Hello, moraine.", "stop")
    assert (reply.usage.prompt_tokens, reply.usage.completion_tokens) == (5, 2)
    (asked,) = server.asked
    assert (asked.body["model"], asked.body["max_tokens"], asked.body["temperature"]) == ("scripted", 9, 0.0)
    assert asked.headers["authorization"] == f"Bearer {KEY}"


def test_a_stream_gives_the_text_piece_by_piece_and_last_the_reply() -> None:
    async def pieces(server: ModelServer) -> list[str | Reply]:
        return [piece async for piece in model_of(server).stream(ASK)]

    with ModelServer(["Hello, moraine, old friend."]) as server:
        *texts, reply = asyncio.run(pieces(server))
    assert len(texts) > 2
    assert isinstance(reply, Reply)
    assert "".join(map(str, texts)) == reply.text == "Hello, moraine, old friend."
    assert reply.usage.completion_tokens == 4


def test_what_a_server_takes_besides_is_handed_on() -> None:
    with ModelServer(["x"]) as server:
        asyncio.run(model_of(server, extra_body={"chat_template_kwargs": {"enable_thinking": False}}).complete(ASK))
    assert server.asked[0].body["chat_template_kwargs"] == {"enable_thinking": False}


# -- structured output ----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("schemas", "forms"),
    [
        ("taken", ["json_schema", "json_schema"]),
        ("refused", ["json_schema", "json_object", "json_object"]),
        ("refused entirely", ["json_schema", "json_object", "text", "text"]),
    ],
)
def test_a_form_that_is_refused_is_not_asked_for_again(schemas: Any, forms: list[str]) -> None:
    with ModelServer([GOOD], schemas=schemas) as server:
        model = model_of(server)
        for _ in range(2):
            assert asyncio.run(ask(model, PROMPT, what="the hut")) == Place(name="The hut", height=2300)
    assert [(one.body.get("response_format") or {}).get("type", "text") for one in server.asked] == forms


def test_a_strict_schema_requires_all_and_allows_no_more() -> None:
    with ModelServer([GOOD]) as server:
        asyncio.run(model_of(server).complete(ASK, schema=Place))
    schema = server.asked[0].body["response_format"]["json_schema"]["schema"]
    assert schema["required"] == ["name", "height"]
    assert schema["additionalProperties"] is False
    assert "default" not in schema["properties"]["height"]


USABLE = ["fenced", "in prose", "thinking aloud", "end of thinking only", "an array of it"]
PASSING = ["asked too often", "broken inside", "dropped"]
USELESS = ["nothing", "thought all the while"]


def test_the_table_of_faults_is_told_of_whole() -> None:
    assert {*USABLE, *PASSING, *USELESS, "cut off"} == FAULTS.keys()


@pytest.mark.parametrize("fault", USABLE)
def test_a_reply_that_is_dressed_up_is_used_at_once(fault: str) -> None:
    with ModelServer([FAULTS[fault](GOOD)], schemas="refused entirely") as server:
        assert asyncio.run(ask(model_of(server), PROMPT, what="the hut")) == Place(name="The hut", height=2300)
    assert len(server.chats()) == 3  # two of them refusals of a form


@pytest.mark.parametrize("fault", PASSING)
def test_a_fault_that_passes_is_waited_out(fault: str) -> None:
    said = FAULTS[fault]("")
    with ModelServer([said, "Hello."]) as server:
        began = time.monotonic()
        reply = asyncio.run(llm("openai:scripted", base_url=server.address).complete(ASK))
        waited = server.asked[1].at - began
    assert reply.text == "Hello."
    assert len(server.asked) == 2
    assert waited >= float(said.headers.get("Retry-After", 0)) - 0.05


@pytest.mark.parametrize("fault", USELESS)
def test_a_reply_that_says_nothing_is_an_error_after_three(fault: str) -> None:
    with ModelServer([FAULTS[fault](GOOD)]) as server, pytest.raises(ReplyError, match="3 replies could not be used"):
        asyncio.run(ask(model_of(server), PROMPT, what="the hut"))
    assert len(server.chats()) == 3


def test_a_reply_that_was_cut_off_is_known_by_its_reason() -> None:
    with ModelServer([FAULTS["cut off"]("one two three")]) as server:
        assert asyncio.run(model_of(server).complete(ASK)).finish_reason == "length"


# -- what can't be helped -------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (Say(f"Incorrect API key provided: {KEY}", 401), "refuses the key"),
        (Say("model 'scripted' not found", 404), "check the name"),
        (Say("maximum context length is 4096 tokens", 400), "maximum context length"),
    ],
)
def test_what_asking_again_does_not_help_is_an_error_at_once_and_shows_no_key(said: Say, words: str) -> None:
    with ModelServer([said]) as server, pytest.raises(ModelError, match=words) as caught:
        asyncio.run(llm("openai:scripted", base_url=server.address, api_key=KEY).complete(ASK))
    assert len(server.asked) == 1
    assert KEY not in str(caught.value)
    assert not isinstance(caught.value, ModelBusy)
    assert KEY not in repr(model_of(server, api_key=KEY))


def test_no_server_is_said_with_the_address() -> None:
    with ModelServer() as server:
        address = server.address
    with pytest.raises(ModelBusy, match=r"no connection to http://127\.0\.0\.1.*is the server running"):
        asyncio.run(OpenAILLM("scripted", base_url=address).complete(ASK))


def test_a_wait_that_nobody_has_is_an_error_at_once() -> None:
    busy = Say("come back tomorrow", 429, {"Retry-After": "86400"})
    with ModelServer([busy]) as server, pytest.raises(ModelBusy):
        asyncio.run(llm("openai:scripted", base_url=server.address).complete(ASK))
    assert len(server.asked) == 1


def test_a_key_in_the_environment_goes_only_where_the_environment_points(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    with ModelServer(["x"]) as server:
        asyncio.run(model_of(server).complete(ASK))
        monkeypatch.setenv("OPENAI_BASE_URL", server.address)
        asyncio.run(OpenAILLM("scripted").complete(ASK))
    assert KEY not in server.asked[0].headers["authorization"]
    assert server.asked[1].headers["authorization"] == f"Bearer {KEY}"


def test_a_proxy_does_not_swallow_a_model_on_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with ModelServer(["Hello."]) as server:
        assert asyncio.run(model_of(server).complete(ASK)).text == "Hello."


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:8080/v1", True),
        ("http://127.1.2.3/v1", True),
        ("http://[::1]:80", True),
        ("https://x.example", False),
        ("http://[", False),
    ],
)
def test_addresses_of_this_machine_are_known(url: str, local: bool) -> None:
    assert is_loopback(url) is local


def test_a_name_without_a_model_is_refused() -> None:
    with pytest.raises(ModelError, match="names no model"):
        llm("openai:")
    with pytest.raises(ModelError, match="openai:NAME"):
        llm("gpt")


@pytest.mark.parametrize(
    "raw",
    ["<html>502 Bad Gateway</html>", "", "{}", '{"choices": []}', '{"choices": null}', "[1, 2]", '{"choices": [{}]}'],
)
def test_an_answer_that_is_none_is_an_error_of_ours(raw: str) -> None:
    with ModelServer([Say(raw=raw or " ")]) as server, pytest.raises(ModelError, match="scripted"):
        asyncio.run(model_of(server).complete(ASK))
    with ModelServer(vectors=Say(raw=raw or " ")) as server, pytest.raises(ModelError, match="scripted"):
        asyncio.run(OpenAIEmbedder("scripted", base_url=server.address).embed(["x"]))


# -- embeddings -----------------------------------------------------------------------------------


def test_vectors_come_in_order_and_of_length_one() -> None:
    with ModelServer() as server:
        model = embedder("openai:words", base_url=server.address)
        rows = asyncio.run(model.embed(["old ice", "the hut", "old ice", " "]))
    assert rows.shape == (4, 8)
    assert model.dimension == 8
    assert np.array_equal(rows[0], rows[2])
    assert np.allclose(np.linalg.norm(rows, axis=1), 1)


def test_vectors_of_another_length_than_before_are_an_error() -> None:
    with ModelServer(dimension=8) as server, pytest.raises(ModelError, match="of lengths"):
        asyncio.run(OpenAIEmbedder("words", base_url=server.address, dimension=4).embed(["x"]))


def test_an_index_keeps_to_the_endpoints_vectors_and_says_how_to_name_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with ModelServer(dimension=64) as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.address)
        named = load_settings(profile="fast", embedder="openai:words")
        with Index.open(tmp_path / "kb", settings=named) as index:
            index.add(
                [Document("Ada Stone built the hut.", title="Hut"), Document("测量队在冰川旁架起仪器。", title="冰")]
            )
            assert (index.status().embedder, index.status().dimension) == ("openai:words", 64)
            assert index.search("Who built the hut?", mode="dense", k=1)[0].title == "Hut"
            assert (
                index.search("测量队在冰川旁架起仪器。", mode="dense", k=1)[0].title == "冰"
            )  # it may know any language
        asked = len(server.asked)
        with (
            Index.open(tmp_path / "kb", settings=load_settings()) as index,
            pytest.raises(StoreMismatch, match="KNOTWORK_EMBEDDER=openai:words"),
        ):
            index.search("Who built the hut?")
        assert len(server.asked) == asked  # no index chooses where a question goes


@pytest.mark.parametrize("name", ["openai:", "openai", "gpt", 7])
def test_a_setting_that_names_no_embedder_is_refused(name: Any) -> None:
    with pytest.raises(SettingsError, match="openai:NAME"):
        load_settings(embedder=name)


# -- around a model -------------------------------------------------------------------------------


class Echo:
    """Replies at once; its time is the test's."""

    name = "echo"

    def __init__(self) -> None:
        self.now = 0.0
        self.calls: list[tuple[float, int]] = []
        self.running = self.most = 0

    async def complete(self, messages: Any, *, schema: Any = None, max_tokens: int | None = None) -> Reply:
        self.calls.append((self.now, 100))
        self.running += 1
        self.most = max(self.most, self.running)
        await asyncio.sleep(0)
        self.running -= 1
        return Reply("x")


@pytest.mark.parametrize(("requests", "tokens"), [(5, None), (None, 1_600), (7, 3_000)])
def test_no_window_of_a_minute_holds_more_than_the_limit(
    requests: int | None, tokens: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = Echo()

    async def pass_time(seconds: float) -> None:
        model.now += seconds / 10  # several wait at once
        await real_sleep(0)

    real_sleep = asyncio.sleep
    limit = Limit(requests=requests, tokens=tokens, clock=lambda: model.now)

    async def run() -> None:
        limited = Limited(model, limit)
        monkeypatch.setattr("knotwork.models.wrappers.asyncio.sleep", pass_time)
        await asyncio.gather(*(limited.complete(ASK, max_tokens=500) for _ in range(23)))

    asyncio.run(run())
    assert len(model.calls) == 23
    starts = [at for at, _ in model.calls]
    for start in starts:
        inside = sum(start <= at < start + 60 for at in starts)
        assert requests is None or inside <= requests
        assert tokens is None or inside * 500 <= tokens


def test_no_more_calls_are_under_way_than_allowed() -> None:
    model = Echo()

    async def run() -> None:
        limited = Limited(model, Limit(concurrency=3))
        await asyncio.gather(*(limited.complete(ASK) for _ in range(20)))

    asyncio.run(run())
    assert len(model.calls) == 20
    assert model.most <= 3


def test_a_call_that_no_limit_will_ever_allow_is_refused_with_the_numbers() -> None:
    with pytest.raises(InputError, match="under a limit of 100 a minute"):
        asyncio.run(Limited(Echo(), Limit(tokens=100)).complete(ASK, max_tokens=200))
    with pytest.raises(InputError, match="at least 1"):
        Limit(requests=0)


def test_calls_and_tokens_are_counted_failed_ones_too() -> None:
    with ModelServer(["Hello there.", Say("no such model", 404)]) as server:
        model = Metered(model_of(server))
        asyncio.run(model.complete(ASK))
        with pytest.raises(ModelError):
            asyncio.run(model.complete(ASK))
    assert (model.calls, model.failed) == (2, 1)
    assert (model.usage.prompt_tokens, model.usage.completion_tokens) == (5, 2)


def test_a_transform_asks_an_endpoint_and_leaves_the_waiting_to_the_model() -> None:
    def summary(asked: Asked) -> str | Say:
        return Say("busy", 503) if len(server.asked) == 2 else "The hut is warm."

    with ModelServer(summary) as server:
        texts = ["The hut has a stove. " * 20, "The hut has a roof. " * 20]
        graph = KnowledgeGraph(
            [Node(f"d{at}", {"page_content": text}, NodeType.DOCUMENT) for at, text in enumerate(texts)]
        )
        apply_transforms(graph, SummaryExtractor(llm=llm("openai:scripted", base_url=server.address)))
    assert [node.get_property("summary") for node in graph.nodes] == ["The hut is warm."] * 2
    assert len(server.asked) == 3
