"""Models: what turns texts into vectors, and what answers prompts."""

from __future__ import annotations

import inspect
from typing import Any

from knotwork.errors import ModelError
from knotwork.models.adapters import AdaptedEmbedder, AdaptedLLM, rows_from, speaks_ours
from knotwork.models.offline import MiniLMEmbedder, StaticEmbedder, minilm_available, static_available, unit_rows
from knotwork.models.openai import OpenAIEmbedder, OpenAILLM
from knotwork.models.scripted import ScriptedLLM
from knotwork.models.structured import ask
from knotwork.models.wrappers import Limit, Limited, Metered, Retried, RetriedEmbedder
from knotwork.protocols import LLM, Embedder, Message, Reply, Usage

__all__ = [
    "LLM",
    "Embedder",
    "Limit",
    "Message",
    "Metered",
    "Reply",
    "ScriptedLLM",
    "Usage",
    "ask",
    "embedder",
    "llm",
    "offline_available",
    "rows_from",
    "unit_rows",
]


def offline_available() -> bool:
    """Whether an offline embedder is installed; on Python 3.14 with the core alone there is none."""
    return minilm_available() or static_available()


def embedder(spec: object = None, **options: Any) -> Embedder:
    """The embedder that a name or an object stands for.

    None or "offline": the best one installed; "fast": static vectors; "nlp": MiniLM (extra [nlp]); "openai:NAME": a
    model behind OPENAI_BASE_URL, or OpenAI's own, with the options of `knotwork.models.openai.OpenAIEmbedder`
    (base_url, api_key, timeout). An object of another library serves too, sync or async: one with `embed(texts)`,
    `embed_documents`, `embed_text`, or `run` of haystack's. Its rows are brought to length 1, and without a `name` it
    goes by its class.
    """
    if spec is None or spec == "offline":
        return MiniLMEmbedder() if minilm_available() else StaticEmbedder()
    if spec == "fast":
        return StaticEmbedder()
    if spec == "nlp":
        return MiniLMEmbedder()
    if isinstance(spec, str) and spec.startswith(OPENAI):
        return RetriedEmbedder(OpenAIEmbedder(_named(spec), **options))
    if isinstance(spec, str):
        raise ModelError(
            f"unknown embedder {spec!r}: known are offline, fast, nlp and openai:NAME; or pass an object that embeds"
        )
    if isinstance(spec, Embedder) and inspect.iscoroutinefunction(spec.embed):
        return spec
    return AdaptedEmbedder(spec)


def llm(spec: object, *, limit: Limit | None = None, **options: Any) -> LLM:
    """The language model that a name or an object stands for.

    "openai:NAME": a model behind OPENAI_BASE_URL, or OpenAI's own, with the options of
    `knotwork.models.openai.OpenAILLM` (base_url, api_key, temperature, timeout, extra_body), asked again when it is
    busy, and no oftener than `limit` allows. An object with `async complete(messages, *, schema, max_tokens)` is taken
    as it is. Others are adapted, sync or async: one with `generate(prompt)`, `invoke`, `complete(prompt)`, haystack's
    `run(prompt=…)`, or a function of the prompt.
    """
    if isinstance(spec, str) and spec.startswith(OPENAI):
        model: LLM = OpenAILLM(_named(spec), **options)
        return Retried(Limited(model, limit) if limit is not None else model)
    if isinstance(spec, str) or spec is None:
        raise ModelError(
            f"no language model is known by the name {spec!r}; known are openai:NAME; or pass an object that completes "
            "prompts"
        )
    if speaks_ours(spec):
        return spec  # type: ignore[return-value]
    return AdaptedLLM(spec)


OPENAI = "openai:"


def _named(spec: str) -> str:
    name = spec.removeprefix(OPENAI).strip()
    if not name:
        raise ModelError(f"{spec!r} names no model; write it behind the colon, as in openai:gpt-4o-mini")
    return name
