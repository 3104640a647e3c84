"""Models: what turns texts into vectors, and what answers prompts."""

from __future__ import annotations

import inspect

from knotwork.errors import ModelError
from knotwork.models.adapters import AdaptedEmbedder, AdaptedLLM, rows_from, speaks_ours
from knotwork.models.offline import MiniLMEmbedder, StaticEmbedder, minilm_available, static_available, unit_rows
from knotwork.models.scripted import ScriptedLLM
from knotwork.models.structured import ask
from knotwork.protocols import LLM, Embedder, Message, Reply, Usage

__all__ = [
    "LLM",
    "Embedder",
    "Message",
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


def embedder(spec: object = None) -> Embedder:
    """The embedder that a name or an object stands for.

    None or "offline": the best one installed; "fast": static vectors; "nlp": MiniLM (extra [nlp]). An object of
    another library serves too, sync or async: one with `embed(texts)`, `embed_documents`, `embed_text`, or `run` of
    haystack's. Its rows are brought to length 1, and without a `name` it goes by its class.
    """
    if spec is None or spec == "offline":
        return MiniLMEmbedder() if minilm_available() else StaticEmbedder()
    if spec == "fast":
        return StaticEmbedder()
    if spec == "nlp":
        return MiniLMEmbedder()
    if isinstance(spec, str):
        raise ModelError(f"unknown embedder {spec!r}: known are offline, fast and nlp; or pass an object that embeds")
    if isinstance(spec, Embedder) and inspect.iscoroutinefunction(spec.embed):
        return spec
    return AdaptedEmbedder(spec)


def llm(spec: object) -> LLM:
    """The language model that an object stands for.

    An object with `async complete(messages, *, schema, max_tokens)` is taken as it is. Others are adapted, sync or
    async: one with `generate(prompt)`, `invoke`, `complete(prompt)`, haystack's `run(prompt=…)`, or a function of the
    prompt.
    """
    if isinstance(spec, str) or spec is None:
        raise ModelError(f"no language model is known by the name {spec!r}; pass an object that completes prompts")
    if speaks_ours(spec):
        return spec  # type: ignore[return-value]
    return AdaptedLLM(spec)
