"""Foreign formats, parsed in processes of their own: a file that makes a library hang or crash costs only itself."""

from __future__ import annotations

import contextlib
import json
import os
import queue
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from knotwork.errors import MissingExtra
from knotwork.graph import Document
from knotwork.loaders.documents import outline_of, whole
from knotwork.loaders.encoding import Decoded
from knotwork.loaders.files import Found, Skipped, Unreadable
from knotwork.loaders.parsed import Parsed

EXTRAS = {
    "pdf": ("PDF", "pdf"),
    "docx": ("Word", "docx"),
    "pptx": ("PowerPoint", "office"),
    "xlsx": ("Excel", "office"),
}
"""What users call a format, and the extra that reads it."""


@dataclass(frozen=True, slots=True)
class Limits:
    """What one file may take.

    seconds: without a page read; megabytes: of memory (Linux; elsewhere there is no such limit).
    """

    seconds: float = 60.0
    megabytes: int = 512


class Workers:
    """Processes that parse, started when needed and kept for the next file; `count` at once. Safe for threads.

    To be closed after use; a context manager.
    """

    def __init__(self, limits: Limits, count: int = 1) -> None:
        self.limits = limits
        self._free = threading.BoundedSemaphore(count)
        self._idle: list[_Worker] = []
        self._closed = False
        self._lock = threading.Lock()

    def parse(self, format: str, path: str) -> Parsed:
        """What the file holds. Unreadable when it cannot be parsed, or not within the limits."""
        with self._free:
            with self._lock:
                if self._closed:  # whoever wanted it has gone
                    raise Unreadable("was not read: reading was stopped")
                worker = self._idle.pop() if self._idle else None
            worker = worker or _Worker(self.limits)
            try:
                answer = worker.ask(format, path)
            except BaseException:
                worker.kill()
                raise
            with self._lock:
                if not self._closed:
                    self._idle.append(worker)
            if self._closed:
                worker.kill()
        if "missing" in answer:
            name, extra = EXTRAS[format]
            raise MissingExtra(f"Reading {name} files", extra)
        if "reason" in answer:
            raise Unreadable(answer["reason"])
        return _parsed(answer["parsed"])

    def close(self) -> None:
        with self._lock:
            idle, self._idle, self._closed = self._idle, [], True
        for worker in idle:
            worker.kill()

    def __enter__(self) -> Workers:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def document_of(found: Found, kind: str, parsed: Parsed) -> Iterator[Document | Skipped]:
    """The Document of a parsed file, with its places in the metadata, and what of it gave no text."""
    document = whole(found, kind, Decoded(parsed.text, "utf-8"), parsed.text, parsed.title)
    pages: dict[str, Any] = {"page_starts": list(parsed.page_starts)} if parsed.page_starts else {}
    outline = outline_of(parsed.text, parsed.headings)
    document = replace(document, metadata={**document.metadata, **parsed.metadata, **pages, **outline})
    yield document
    for place, reason in parsed.gaps:
        yield Skipped(f"{found.relative}#{place}", reason)


def _parsed(said: dict[str, Any]) -> Parsed:
    return Parsed(
        text=said["text"],
        title=said["title"],
        page_starts=tuple(said["page_starts"]),
        headings=tuple((start, end, level) for start, end, level in said["headings"]),
        metadata=said["metadata"],
        gaps=tuple((place, reason) for place, reason in said["gaps"]),
    )


class _Worker:
    """One process. A thread reads what it says, so that waiting can have an end on every system."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.process = subprocess.Popen(
            [sys.executable, "-P", "-m", "knotwork.loaders.worker", str(limits.megabytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        )
        self.said: queue.SimpleQueue[bytes] = queue.SimpleQueue()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            self.said.put(line)
        self.said.put(b"")  # it has ended

    def ask(self, format: str, path: str) -> dict[str, Any]:
        assert self.process.stdin is not None
        try:
            self.process.stdin.write(json.dumps([format, path]).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Unreadable(self._died()) from None
        read = 0
        while True:
            try:
                line = self.said.get(timeout=self.limits.seconds)
            except queue.Empty:
                after = f" after page {read}" if read else ""
                raise Unreadable(
                    f"was given up{after}: {self.limits.seconds:g} s went by without a page; allow more by "
                    "KNOTWORK_FILE_SECONDS, or print it to a new file"
                ) from None
            if not line:
                raise Unreadable(self._died())
            answer: dict[str, Any] = json.loads(line)
            if "at" not in answer:
                return answer
            read = answer["at"]

    def _died(self) -> str:
        code = self.process.wait()
        ended = f"signal {-code}" if code < 0 else f"exit code {code}"
        return f"stopped the program that reads it ({ended}), as broken files and want of memory do; save it anew"

    def kill(self) -> None:
        with contextlib.suppress(OSError):
            self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
