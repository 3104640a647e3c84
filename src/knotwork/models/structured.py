"""Asking a model for something that can be used."""

from __future__ import annotations

from typing import Any

from knotwork.errors import ReplyError
from knotwork.models.adapters import reply_from
from knotwork.prompts import Prompt
from knotwork.protocols import LLM, Message

TRIES = 3
"""How often a model is asked: once, then with what was wrong about its last reply."""


async def ask(model: LLM, prompt: Prompt, **values: str) -> Any:
    """The model's reply, read by the prompt. Raises ReplyError, with the last reply, when none could be used."""
    messages: list[Message] = [{"role": "user", "content": prompt.render(**values)}]
    for left in reversed(range(TRIES)):
        reply = reply_from(await model.complete(messages, schema=prompt.output_model), model)
        if prompt.output_model is not None and isinstance(reply.parsed, prompt.output_model):
            return reply.parsed
        try:
            return prompt.read(reply.text)
        except ReplyError as error:
            if not left:
                said = " ".join(reply.text.split())
                raise ReplyError(
                    f"{TRIES} replies could not be used; of the last, {_short(said)!r}: {error}. "
                    "A larger model, or a prompt that shows the form by an example, may do better"
                ) from error
            form = "the same task again, as plain text" if prompt.output_model is None else "with JSON alone"
            messages[1:] = [
                {"role": "assistant", "content": _short(reply.text, 1_000)},
                {"role": "user", "content": f"That can't be used: {error}. Reply {form}."},
            ]
    raise AssertionError("unreachable")


def _short(text: str, limit: int = 120) -> str:
    return text if len(text) <= limit else f"{text[:limit]}…"
