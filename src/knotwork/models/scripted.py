"""A model that says what it was told to say: for tests and for documentation, never for documents."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from knotwork.errors import ModelError
from knotwork.protocols import Message, Reply

if TYPE_CHECKING:
    from pydantic import BaseModel


class ScriptedLLM:
    """Replies from a list, one after the other, or from a function of the prompt. `prompts` is what it was asked.

    >>> import asyncio
    >>> model = ScriptedLLM(["Hello."])
    >>> asyncio.run(model.complete([{"role": "user", "content": "Say hello."}])).text
    'Hello.'
    """

    def __init__(self, replies: Iterable[str | Reply | Exception] | Callable[[str], str | Reply | Exception]) -> None:
        self._next = replies if callable(replies) else None
        self._script = None if callable(replies) else iter(replies)
        self.prompts: list[str] = []

    async def complete(
        self, messages: Sequence[Message], *, schema: type[BaseModel] | None = None, max_tokens: int | None = None
    ) -> Reply:
        prompt = messages[-1]["content"]
        self.prompts.append(prompt)
        if self._next is not None:
            said = self._next(prompt)
        else:
            assert self._script is not None
            ended = ModelError(f"the script has no reply number {len(self.prompts)}")
            said = next(self._script, ended)
        if isinstance(said, Exception):
            raise said
        return said if isinstance(said, Reply) else Reply(said)
