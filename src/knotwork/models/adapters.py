"""Foreign objects as our models: the shapes that users of other libraries have at hand."""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from knotwork.errors import MissingExtra, ModelError, ReplyError
from knotwork.models.offline import unit_rows
from knotwork.protocols import Message, Reply, Vectors
from knotwork.threads import in_coroutine

if TYPE_CHECKING:
    from pydantic import BaseModel

Face = Callable[..., Awaitable[Any]]

# Names of methods, the ones to be preferred first.
TEXT_IN = ("acomplete", "complete", "agenerate", "generate", "ainvoke", "invoke", "__call__")
MANY_TEXTS_IN = ("aembed_documents", "embed_documents", "aembed_texts", "embed_texts", "aembed", "embed")
ONE_TEXT_IN = ("aembed_text", "embed_text", "aembed_query", "embed_query")


class AdaptedLLM:
    """An object that takes a prompt, as one text, and gives a reply; sync methods run in a thread.

    The schema is not handed on: the prompt shows the form.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.retries = bool(getattr(model, "retries", False))
        self._say = _face_of(model)

    def __repr__(self) -> str:
        return f"AdaptedLLM({self.model!r})"

    async def complete(
        self, messages: Sequence[Message], *, schema: type[BaseModel] | None = None, max_tokens: int | None = None
    ) -> Reply:
        return reply_from(await self._say(messages), self.model)


def speaks_ours(model: Any) -> bool:
    """Whether `complete` is async and takes messages and the keywords that the protocol names."""
    complete = getattr(model, "complete", None)
    takes = _parameters(complete)
    return inspect.iscoroutinefunction(complete) and ({"schema", "max_tokens"} <= takes or "**" in takes)


def _face_of(model: Any) -> Callable[[Sequence[Message]], Awaitable[Any]]:
    """How a model is asked."""
    complete = getattr(model, "complete", None)
    if callable(complete) and _parameters(complete) & {"messages", "schema"}:  # ours, but sync, or without keywords
        ours = in_coroutine(complete)
        return lambda messages: ours(messages)
    run = getattr(model, "run", None)
    if callable(run) and "prompt" in _parameters(run):  # haystack's generators, called by keyword
        generate = in_coroutine(run)
        return lambda messages: generate(prompt=_one_text(messages))
    for name in TEXT_IN:
        method = getattr(model, name, None)
        if callable(method) and not isinstance(model, type):
            say = in_coroutine(method)
            return lambda messages: say(_one_text(messages))
    raise ModelError(
        f"{type(model).__name__} is no language model: it needs `async complete(messages, *, schema=None, "
        "max_tokens=None)`, or a method generate(prompt), or to be a function of the prompt"
    )


def _parameters(function: Any) -> set[str]:
    """The names of the parameters; "**" among them when it takes any keyword."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # nothing that can be called, or written in C
        return set()
    return {"**" if each.kind is each.VAR_KEYWORD else each.name for each in found}


def _one_text(messages: Sequence[Message]) -> str:
    if len(messages) == 1:
        return messages[0]["content"]
    return "\n\n".join(f"{message['role']}: {message['content']}" for message in messages)


def reply_from(said: Any, model: Any) -> Reply:
    """The text in what a model gave: itself, or in the places where other libraries keep it."""
    if isinstance(said, Reply):
        return said if isinstance(said.text, str) else replace(said, text="")  # nothing was said
    found = said
    with suppress(LookupError, TypeError, AttributeError):  # then it is kept elsewhere
        found = said["replies"][0] if isinstance(said, Mapping) else said.generations[0][0]
    for text in (found, getattr(found, "text", None), getattr(found, "content", None)):
        if isinstance(text, str):
            return Reply(text)
    raise ModelError(
        f"{type(model).__name__} gave {type(said).__name__}, in which no text was found; return a str, or a Reply"
    )


class AdaptedEmbedder:
    """An object that gives vectors; sync methods run in a thread, rows are brought to length 1.

    dimension: 0 until the first vectors came, when the object doesn't say. at_once: 1 where it takes one text a call.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.name = str(getattr(model, "name", type(model).__name__))
        dimension = getattr(model, "dimension", 0)
        self.dimension = dimension if isinstance(dimension, int) else 0
        self.max_tokens = getattr(model, "max_tokens", None)
        self.languages = getattr(model, "languages", None)
        self.at_once = None if _takes_many(model) else 1
        self.retries = bool(getattr(model, "retries", False))
        self._vectors = _vectors_of(model)

    def __repr__(self) -> str:
        return f"AdaptedEmbedder({self.model!r})"

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        rows = rows_from(await self._vectors(list(texts)), len(texts), self.name, self.dimension)
        self.dimension = rows.shape[1]
        return unit_rows(rows)


def rows_from(made: Any, count: int, name: str, dimension: int = 0) -> Vectors:
    """What an embedder gave for so many texts, as rows. Raises ReplyError, naming it, when that can't be."""
    try:
        rows = np.asarray(made, np.float32)
        if rows.ndim != 2 or len(rows) != count or not rows.shape[1] or dimension not in (0, rows.shape[1]):
            raise ValueError(f"an array of shape {rows.shape}")
    except (TypeError, ValueError) as error:
        wanted = f"{count} vectors of {dimension or 'equally many'} numbers"
        raise ReplyError(f"{name} did not give {wanted}: {error}") from error
    return rows


def _takes_many(model: Any) -> bool:
    run = getattr(model, "run", None)
    return any(callable(getattr(model, name, None)) for name in MANY_TEXTS_IN) or "documents" in _parameters(run)


def _vectors_of(model: Any) -> Face:
    for name in MANY_TEXTS_IN:
        method = getattr(model, name, None)
        if callable(method):
            return in_coroutine(method)
    for name in ONE_TEXT_IN:
        method = getattr(model, name, None)
        if callable(method):
            return _one_by_one(in_coroutine(method))
    run = getattr(model, "run", None)
    if callable(run):
        takes = _parameters(run)
        if "documents" in takes:
            return _of_documents(model, in_coroutine(run))
        if "text" in takes:
            return _of_text(model, in_coroutine(run))
    raise ModelError(
        f"{type(model).__name__} is no embedder: it has none of embed(texts), embed_documents, embed_text, "
        "run(documents=…) and run(text=…)"
    )


def _one_by_one(embed: Face) -> Face:
    async def vectors(texts: list[str]) -> list[Any]:
        return [await embed(text) for text in texts]

    return vectors


def _of_text(model: Any, run: Face) -> Face:
    async def vectors(texts: list[str]) -> list[Any]:
        _warm_up(model)
        return [(await run(text=text))["embedding"] for text in texts]

    return vectors


def _of_documents(model: Any, run: Face) -> Face:
    async def vectors(texts: list[str]) -> list[Any]:
        try:
            from haystack import Document
        except ImportError as error:
            raise MissingExtra(f"{type(model).__name__}, an embedder of haystack's,", "haystack") from error
        _warm_up(model)
        made = await run(documents=[Document(content=text) for text in texts])
        return [document.embedding for document in made["documents"]]

    return vectors


def _warm_up(model: Any) -> None:
    warm_up = getattr(model, "warm_up", None)
    if callable(warm_up):
        warm_up()
