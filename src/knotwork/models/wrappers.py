"""Models around a model: asked again when it is busy, asked no oftener than allowed, and counted."""

from __future__ import annotations

import asyncio
import threading
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, TypeVar

from knotwork.errors import InputError, ModelBusy
from knotwork.protocols import LLM, Embedder, Message, Reply, Usage, Vectors
from knotwork.text import count_tokens

if TYPE_CHECKING:
    from pydantic import BaseModel

T = TypeVar("T")

ATTEMPTS = 6
LONGEST_WAIT = 60.0
WINDOW = 60.0
"""Seconds over which requests and tokens are counted."""


class Retried:
    """Asks again when the model is busy: after the time it asks for, else after a doubling one. The only such layer."""

    retries = True

    def __init__(self, model: LLM, attempts: int = ATTEMPTS) -> None:
        self.model = model
        self.name = str(getattr(model, "name", type(model).__name__))
        self.attempts = attempts

    async def complete(
        self, messages: Sequence[Message], *, schema: type[BaseModel] | None = None, max_tokens: int | None = None
    ) -> Reply:
        return await _patiently(
            lambda: self.model.complete(messages, schema=schema, max_tokens=max_tokens), self.attempts
        )


class RetriedEmbedder:
    """The same around an embedder."""

    retries = True

    def __init__(self, model: Embedder, attempts: int = ATTEMPTS) -> None:
        self.model = model
        self.name = model.name
        self.at_once = getattr(model, "at_once", None)
        self.attempts = attempts

    @property
    def dimension(self) -> int:
        return self.model.dimension

    async def embed(self, texts: Sequence[str]) -> Vectors:
        return await _patiently(lambda: self.model.embed(texts), self.attempts)


async def _patiently(call: Callable[[], Awaitable[T]], attempts: int) -> T:
    """The result of a call, made again while it raises ModelBusy, so many times in all."""
    import stamina

    waiting = stamina.AsyncRetryingCaller(attempts=attempts, timeout=None, wait_initial=0.5, wait_max=LONGEST_WAIT)
    return await waiting(_wait, call)


def _wait(error: Exception) -> bool | float:
    """Whether to ask again, or after how many seconds; not when it would take longer than anybody waits."""
    if not isinstance(error, ModelBusy) or (error.retry_after or 0) > 10 * LONGEST_WAIT:
        return False
    return error.retry_after if error.retry_after else True


class Limit:
    """How often models may be asked, shared by all that are given it: in any window of 60 seconds, and at once.

    requests, tokens: a minute, None for no limit; a call's tokens are those of its messages and of the reply it allows,
    put right when the reply came. concurrency: calls under way. Safe for several event loops.
    """

    def __init__(
        self,
        requests: int | None = None,
        tokens: int | None = None,
        concurrency: int | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        for name, value in (("requests", requests), ("tokens", tokens), ("concurrency", concurrency)):
            if value is not None and value < 1:
                raise InputError(f"{name} must be at least 1, not {value}")
        self.requests, self.tokens, self.concurrency = requests, tokens, concurrency
        self._clock = clock
        self._lock = threading.Lock()
        self._spent: deque[_Spent] = deque()  # of the last 60 seconds
        self._sum = 0  # of their tokens
        self._running = 0

    @asynccontextmanager
    async def call(self, tokens: int) -> AsyncIterator[_Spent]:
        """The time of one call that may cost so many tokens; waits until it is allowed."""
        if self.tokens is not None and tokens > self.tokens:
            raise InputError(
                f"a call of about {tokens} tokens can never be made under a limit of {self.tokens} a minute; raise the "
                "limit, or make chunks smaller"
            )
        while True:
            spent, wait = self._admitted(tokens)
            if spent is not None:
                break
            await asyncio.sleep(wait)
        try:
            yield spent
        finally:
            with self._lock:
                self._running -= 1

    def settle(self, spent: _Spent, tokens: int) -> None:
        """What a call cost in the end."""
        with self._lock:
            if spent in self._spent:
                self._sum += tokens - spent.tokens
            spent.tokens = tokens

    def _admitted(self, tokens: int) -> tuple[_Spent | None, float]:
        """The call's entry when it may be made now, else None and how long to wait before looking again."""
        with self._lock:
            now = self._clock()
            while self._spent and self._spent[0].at <= now - WINDOW:
                self._sum -= self._spent.popleft().tokens
            if self.concurrency is not None and self._running >= self.concurrency:
                return None, 0.005
            full = self.requests is not None and len(self._spent) >= self.requests
            dear = self.tokens is not None and self._sum + tokens > self.tokens
            if (full or dear) and self._spent:
                return None, min(max(self._spent[0].at + WINDOW - now, 0.001), 1.0)
            spent = _Spent(now, tokens)
            self._spent.append(spent)
            self._sum += tokens
            self._running += 1
            return spent, 0.0


class _Spent:
    """A call that was let through; one is never equal to another."""

    __slots__ = ("at", "tokens")

    def __init__(self, at: float, tokens: int) -> None:
        self.at, self.tokens = at, tokens


class Limited:
    """Asks a model only when a limit allows it."""

    REPLY = 500
    """Tokens a reply is reckoned at when no maximum is asked for."""

    def __init__(self, model: LLM, limit: Limit) -> None:
        self.model = model
        self.name = str(getattr(model, "name", type(model).__name__))
        self.limit = limit

    async def complete(
        self, messages: Sequence[Message], *, schema: type[BaseModel] | None = None, max_tokens: int | None = None
    ) -> Reply:
        into = sum(count_tokens(message["content"] for message in messages)) if self.limit.tokens else 0
        async with self.limit.call(into + (max_tokens or self.REPLY) if self.limit.tokens else 0) as spent:
            reply = await self.model.complete(messages, schema=schema, max_tokens=max_tokens)
            used = reply.usage.prompt_tokens + reply.usage.completion_tokens
            if self.limit.tokens and used:
                self.limit.settle(spent, used)
            return reply


class Metered:
    """Counts the calls and tokens of a model in `calls`, `failed` and `usage`."""

    def __init__(self, model: LLM) -> None:
        self.model = model
        self.name = str(getattr(model, "name", type(model).__name__))
        self.retries = bool(getattr(model, "retries", False))
        self.calls = self.failed = 0
        self.usage = Usage()
        self._lock = threading.Lock()

    async def complete(
        self, messages: Sequence[Message], *, schema: type[BaseModel] | None = None, max_tokens: int | None = None
    ) -> Reply:
        try:
            reply = await self.model.complete(messages, schema=schema, max_tokens=max_tokens)
        except Exception:
            with self._lock:
                self.calls += 1
                self.failed += 1
            raise
        with self._lock:
            self.calls += 1
            self.usage = Usage(
                self.usage.prompt_tokens + reply.usage.prompt_tokens,
                self.usage.completion_tokens + reply.usage.completion_tokens,
            )
        return reply
