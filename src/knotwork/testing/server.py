"""A model endpoint on loopback that says what a script tells it: for tests and documentation, never for documents.

It speaks what OpenAI-compatible servers speak (chat, streamed too, embeddings, models), counts what it was asked, and
fails in every way that real ones do.
"""

from __future__ import annotations

import hashlib
import json
import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Literal, TypeAlias


@dataclass(frozen=True, slots=True)
class Asked:
    """A request: its path below the address, its JSON body and headers, and when it came (`time.monotonic`)."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]
    at: float

    @property
    def prompt(self) -> str:
        """The last message of a chat."""
        return str(self.body["messages"][-1]["content"])


@dataclass(frozen=True, slots=True)
class Say:
    """A reply to a chat, or a fault.

    status: of HTTP; a text of another than 200 is the error's message. seconds: to wait before. dropped: the connection
    is closed without a word.
    """

    text: str = ""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    finish_reason: str = "stop"
    dropped: bool = False
    raw: str = ""  # sent as it is, in place of a reply in the protocol's form


Script: TypeAlias = Callable[[Asked], "str | Say"] | Iterable["str | Say"]

FAULTS: dict[str, Callable[[str], Say]] = {
    "asked too often": lambda text: Say("slow down", 429, {"Retry-After": "1"}),
    "broken inside": lambda text: Say("internal error", 500),
    "dropped": lambda text: Say(dropped=True),
    "fenced": lambda text: Say(f"```json\n{text}\n```"),
    "in prose": lambda text: Say(f"Sure! Here is what I found:\n\n{text}\n\nLet me know if I can help with more."),
    "thinking aloud": lambda text: Say(f'<think>The user wants {{"name": "x"}}. Let me see.</think>\n{text}'),
    "end of thinking only": lambda text: Say(f"So the answer is this.\n</think>\n\n{text}"),
    "an array of it": lambda text: Say(f"[{text}]"),
    "cut off": lambda text: Say(text[: len(text) * 2 // 3], finish_reason="length"),
    "nothing": lambda text: Say(""),
    "thought all the while": lambda text: Say("", finish_reason="length"),
}
"""How replies go wrong, each made of the text that would have been right."""


class ModelServer:
    """The endpoint, from entering to leaving a `with`.

    script: what is said, in order, or a function of what was asked; its last word is repeated. latency: seconds that
    every reply takes. schemas: what becomes of a JSON schema that is asked for: "taken" on, "refused" with status 400,
    or "refused entirely" with JSON mode, too. dimension: of the vectors, which depend on the words of a text alone;
    vectors: a fault in their place.
    `asked` is what it was asked.

    >>> with ModelServer(["Hello."]) as server:
    ...     server.address.startswith("http://127.0.0.1:")
    True
    """

    def __init__(
        self,
        script: Script = ("",),
        *,
        latency: float = 0.0,
        schemas: Literal["taken", "refused", "refused entirely"] = "taken",
        dimension: int = 8,
        vectors: Say = Say(),
    ) -> None:
        self.asked: list[Asked] = []
        self.latency = latency
        self.schemas = schemas
        self.dimension = dimension
        self.vectors = vectors
        self._script = script if callable(script) else _in_order(script)
        self._lock = threading.Lock()
        server = self

        class Handler(_Handler):
            owner = server

        self._http = _Http(("127.0.0.1", 0), Handler)
        self._thread = threading.Thread(target=self._http.serve_forever, args=[0.05], daemon=True)

    @property
    def address(self) -> str:
        """What a client takes as base URL."""
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def chats(self) -> list[Asked]:
        return [one for one in self.asked if one.path == "/chat/completions"]

    def __enter__(self) -> ModelServer:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._http.shutdown()
        self._http.server_close()

    def take(self, asked: Asked) -> Say:
        """What is said to a request to chat; requests are answered one after the other by the script."""
        with self._lock:
            self.asked.append(asked)
            wanted = (asked.body.get("response_format") or {}).get("type", "text")
            if asked.path == "/chat/completions":
                if self.schemas == "refused" and wanted == "json_schema":
                    return Say("'response_format' of type 'json_schema' is not supported", 400)
                if self.schemas == "refused entirely" and wanted != "text":
                    return Say("'response_format' is not supported", 400)
                said = self._script(asked)
                return said if isinstance(said, Say) else Say(said)
            return self.vectors if asked.path == "/embeddings" else Say()


class _Http(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256


def _in_order(script: Iterable[str | Say]) -> Callable[[Asked], str | Say]:
    left: Iterator[str | Say] = iter(script)
    last: list[str | Say] = [Say()]

    def following(asked: Asked) -> str | Say:
        last[0] = next(left, last[0])
        return last[0]

    return following


class _Handler(BaseHTTPRequestHandler):
    owner: ModelServer
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the requests are kept in `asked`."""

    def do_GET(self) -> None:
        self._send(200, {"object": "list", "data": [{"id": "scripted", "object": "model"}]})

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        headers = {key.lower(): value for key, value in self.headers.items()}
        asked = Asked(self.path.removeprefix("/v1"), body, headers, time.monotonic())
        said = self.owner.take(asked)
        time.sleep(self.owner.latency + said.seconds)
        if said.dropped:
            self.close_connection = True
            return
        if said.raw:
            self._write(said.status, said.raw.encode(), {"Content-Type": "text/html", **said.headers})
        elif said.status != 200:
            self._send(said.status, {"error": {"message": said.text, "type": "scripted"}}, said.headers)
        elif asked.path == "/embeddings":
            self._send(200, _embedded(body, self.owner.dimension))
        elif asked.path != "/chat/completions":
            self._send(404, {"error": {"message": f"no such path: {asked.path}"}})
        elif body.get("stream"):
            self._stream(said, body)
        else:
            self._send(200, _completion(said, body), said.headers)

    def _send(self, status: int, answer: dict[str, Any], headers: dict[str, str] | None = None) -> None:
        self._write(status, json.dumps(answer).encode(), {"Content-Type": "application/json", **(headers or {})})

    def _write(self, status: int, data: bytes, headers: dict[str, str]) -> None:
        self.send_response(status)
        for key, value in {**headers, "Content-Length": str(len(data))}.items():
            self.send_header(key, value)
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, said: Say, body: dict[str, Any]) -> None:
        """As server-sent events, a few characters at a time."""
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for start in range(0, len(said.text), 7):
            self._event(
                {"choices": [{"index": 0, "delta": {"content": said.text[start : start + 7]}, "finish_reason": None}]}
            )
        self._event({"choices": [{"index": 0, "delta": {}, "finish_reason": said.finish_reason}]})
        self._event({"choices": [], "usage": _usage(said, body)})
        self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True

    def _event(self, data: dict[str, Any]) -> None:
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 0, "model": "scripted", **data}
        self.wfile.write(f"data: {json.dumps(chunk)}\n\n".encode())


def _completion(said: Say, body: dict[str, Any]) -> dict[str, Any]:
    message = {"role": "assistant", "content": said.text}
    choice = {"index": 0, "message": message, "finish_reason": said.finish_reason}
    return {
        "id": "c",
        "object": "chat.completion",
        "created": 0,
        "model": body.get("model", "scripted"),
        "choices": [choice],
        "usage": _usage(said, body),
    }


def _usage(said: Say, body: dict[str, Any]) -> dict[str, int]:
    """Tokens, as words: enough to see that they are counted."""
    into = sum(len(str(message["content"]).split()) for message in body["messages"])
    out = len(said.text.split())
    return {"prompt_tokens": into, "completion_tokens": out, "total_tokens": into + out}


def _embedded(body: dict[str, Any], dimension: int) -> dict[str, Any]:
    texts = [body["input"]] if isinstance(body["input"], str) else body["input"]
    rows = [
        {"object": "embedding", "index": at, "embedding": _vector(text, dimension)} for at, text in enumerate(texts)
    ]
    tokens = sum(len(text.split()) for text in texts)
    usage = {"prompt_tokens": tokens, "total_tokens": tokens}
    return {"object": "list", "model": body.get("model", "scripted"), "data": rows, "usage": usage}


def _vector(text: str, dimension: int) -> list[float]:
    row = [0.0] * dimension
    for word in text.lower().split():
        row[int.from_bytes(hashlib.blake2b(word.encode(), digest_size=4).digest()) % dimension] += 1.0
    length = math.sqrt(sum(value * value for value in row)) or 1.0
    return [value / length for value in row]
