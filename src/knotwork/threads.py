"""Blocking work beside an event loop, and work that the garbage collector should leave alone."""

from __future__ import annotations

import asyncio
import gc
import inspect
import os
import threading
from collections.abc import Awaitable, Callable, Coroutine, Iterator
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from contextvars import copy_context
from functools import cache, partial
from queue import SimpleQueue
from typing import Any, TypeVar

R = TypeVar("R")


class _Threads:
    """Threads for blocking calls: as many as there are calls at once, used again, never waited for at exit.

    A ThreadPoolExecutor has a fixed size, in which calls of a slow model queue, and keeps a program from ending
    while one of them hangs.
    """

    def __init__(self) -> None:
        self.jobs: SimpleQueue[Callable[[], None]] = SimpleQueue()
        self.idle = threading.Semaphore(0)

    def start(self, job: Callable[[], None]) -> None:
        self.jobs.put(job)
        if not self.idle.acquire(blocking=False):
            threading.Thread(target=self.serve, name="knotwork", daemon=True).start()

    def serve(self) -> None:
        while True:
            self.jobs.get()()
            self.idle.release()


_threads = cache(_Threads)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_threads.cache_clear)  # threads don't live on in a child


async def in_thread(function: Callable[..., R], *args: Any) -> R:
    """Run a blocking or computing function in a thread."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[R] = loop.create_future()
    context = copy_context()

    def finish(settle: Callable[[Any], None], outcome: Any) -> None:
        if not future.done():  # else nobody waits for it any more
            settle(outcome)

    def work() -> None:
        try:
            outcome: Any = context.run(function, *args)
            settle: Callable[[Any], None] = future.set_result
        except StopIteration as error:  # which a future would take for its own end
            outcome, settle = RuntimeError(f"{function!r} raised StopIteration"), future.set_exception
            outcome.__cause__ = error
        except BaseException as error:
            outcome, settle = error, future.set_exception
        with suppress(RuntimeError):  # the loop is closed, and with it whoever waited
            loop.call_soon_threadsafe(finish, settle, outcome)

    _threads().start(work)
    return await future


def submit(function: Callable[..., R], *args: Any) -> Future[R]:
    """Run a blocking function in a thread that a program's end doesn't wait for."""
    future: Future[R] = Future()

    def work() -> None:
        try:
            future.set_result(function(*args))
        except BaseException as error:
            future.set_exception(error)

    _threads().start(work)
    return future


def in_coroutine(function: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    """A user's method as an async one: a plain `def` runs in a thread."""
    if inspect.iscoroutinefunction(function):
        return function

    async def run(*args: Any, **named: Any) -> Any:
        value = await in_thread(partial(function, *args, **named))
        return await value if isinstance(value, Awaitable) else value

    return run


@contextmanager
def uncollected() -> Iterator[None]:
    """No garbage collection inside the block, for code that makes many objects and no cycles.

    The collector looks through all that was made again and again, which can double the time that making takes.
    """
    if not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.enable()
