"""Any endpoint that speaks OpenAI's protocol: cloud, vLLM, llama.cpp, LM Studio, Ollama's /v1.

Through OpenAI's own library, imported when the first call is made. Its errors become ours here, and nowhere else.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit
from weakref import WeakKeyDictionary

import numpy as np

from knotwork.errors import ModelBusy, ModelError
from knotwork.models.offline import unit_rows
from knotwork.protocols import Message, Reply, Usage, Vectors

if TYPE_CHECKING:
    from pydantic import BaseModel

TIMEOUT = 180.0
"""Seconds that one call may take."""

_FORMS = ("json_schema", "json_object", "text")
_NO_KEY = "none"  # the library wants one, servers at home don't
_SHOWN = 300  # characters of an endpoint's own words


class _Endpoint:
    """Address, key and connections. The key is never shown, nor kept anywhere but here."""

    def __init__(self, base_url: str | None, api_key: str | None, timeout: float) -> None:
        self.base_url = base_url or os.environ.get("OPENAI_BASE_URL") or "https://api.openai.com/v1"
        self.timeout = timeout
        # a key for one place is not sent to another
        ours = base_url is None or base_url == os.environ.get("OPENAI_BASE_URL")
        self._key = api_key or (os.environ.get("OPENAI_API_KEY") if ours else None) or _NO_KEY
        # a client's connections belong to the event loop that made them
        self._clients: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()

    def client(self) -> Any:
        loop = asyncio.get_running_loop()
        if loop not in self._clients:
            import openai

            past_proxies = openai.DefaultAsyncHttpxClient(trust_env=False, timeout=self.timeout)
            self._clients[loop] = openai.AsyncOpenAI(
                api_key=self._key,
                base_url=self.base_url,
                max_retries=0,
                timeout=self.timeout,
                http_client=past_proxies if is_loopback(self.base_url) else None,
            )
        return self._clients[loop]

    def explained(self, error: Exception, model: str) -> ModelError:
        """What went wrong, in our words; a ModelBusy when asking again may help."""
        import openai

        where = f"{model} at {self.base_url}"
        said = self.without_key(str(getattr(error, "message", error)))[:_SHOWN]
        if isinstance(error, openai.APITimeoutError):
            return ModelBusy(f"{where} gave no answer within {self.timeout:g} s")
        if isinstance(error, openai.APIConnectionError):
            cause = self.without_key(str(error.__cause__ or said))[:_SHOWN]
            return ModelBusy(f"no connection to {self.base_url} ({cause}); is the server running, the address right?")
        if isinstance(error, openai.APIStatusError):
            status = error.status_code
            if status in (408, 409, 425, 429) or status >= 500:
                return ModelBusy(f"{where} could not answer now (status {status}: {said})", _wait_of(error))
            if status in (401, 403):
                hint = "set OPENAI_API_KEY, or pass api_key"
                return ModelError(f"{where} refuses the key (status {status}: {said}); {hint}")
            if status == 404:
                return ModelError(f"{where} is not known (status 404: {said}); check the name and the address")
            return ModelError(f"{where} refuses the request (status {status}: {said})")
        return ModelError(f"{where} gave an answer that cannot be read ({type(error).__name__}: {said})")

    def without_key(self, text: str) -> str:
        return text if self._key == _NO_KEY else text.replace(self._key, "***")

    def __repr__(self) -> str:
        return repr(self.base_url)


class OpenAILLM:
    """A model behind an OpenAI-compatible endpoint.

    base_url None: OPENAI_BASE_URL, else OpenAI's own; api_key None: OPENAI_API_KEY, for those two only. extra_body:
    what a server takes besides ({"chat_template_kwargs": {"enable_thinking": False}} of vLLM). Structured output is
    asked for as a JSON schema, else in JSON mode, else by the prompt alone; a form that was refused is not tried again.
    Addresses of this machine are reached past any proxy. Raises ModelError, ModelBusy where asking again may help.
    """

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        temperature: float | None = 0.0,
        timeout: float = TIMEOUT,
        extra_body: Mapping[str, Any] | None = None,
    ) -> None:
        self.model = model
        self.name = f"openai:{model}"
        self.temperature = temperature
        self.extra_body = dict(extra_body or {})
        self._endpoint = _Endpoint(base_url, api_key, timeout)
        self._form = 0  # the first of _FORMS that the endpoint hasn't refused

    def __repr__(self) -> str:
        return f"OpenAILLM({self.model!r}, base_url={self._endpoint!r})"

    async def complete(
        self, messages: Sequence[Message], *, schema: type[BaseModel] | None = None, max_tokens: int | None = None
    ) -> Reply:
        form = self._form if schema is not None else len(_FORMS) - 1
        while True:
            try:
                made = await self._create(messages, max_tokens, response_format=_response_format(_FORMS[form], schema))
                break
            except ModelError as error:
                if isinstance(error, ModelBusy) or form == len(_FORMS) - 1 or not _is_refusal(error):
                    raise
                form += 1
        if schema is not None:
            self._form = max(self._form, form)
        return self._reply(made, schema if _FORMS[form] == "json_schema" else None)

    async def stream(self, messages: Sequence[Message], *, max_tokens: int | None = None) -> AsyncIterator[str | Reply]:
        """The reply piece by piece, and last the whole Reply."""
        made = await self._create(messages, max_tokens, stream=True, stream_options={"include_usage": True})
        pieces: list[str] = []
        usage, reason = Usage(), "stop"
        try:
            async for chunk in made:
                usage = _usage(getattr(chunk, "usage", None)) or usage
                for choice in chunk.choices:
                    reason = choice.finish_reason or reason
                    if choice.delta.content:
                        pieces.append(choice.delta.content)
                        yield choice.delta.content
        except Exception as error:  # the library's own and its transport's
            raise self._endpoint.explained(error, self.model) from error
        yield Reply("".join(pieces), usage=usage, finish_reason=reason)

    async def _create(self, messages: Sequence[Message], max_tokens: int | None, **more: Any) -> Any:
        options = {"temperature": self.temperature, "max_tokens": max_tokens, **more}
        given = {key: value for key, value in options.items() if value is not None}
        try:
            return await self._endpoint.client().chat.completions.create(
                model=self.model, messages=list(messages), extra_body=self.extra_body or None, **given
            )
        except Exception as error:  # the library's own and its transport's
            raise self._endpoint.explained(error, self.model) from error

    def _reply(self, made: Any, schema: type[BaseModel] | None) -> Reply:
        choice = next(iter(getattr(made, "choices", None) or ()), None)
        message = getattr(choice, "message", None)
        if choice is None or message is None:
            raise ModelError(f"{self.model} at {self._endpoint.base_url} gave a reply without any message")
        text = message.content or ""
        parsed = None
        if schema is not None:
            from pydantic import ValidationError

            try:
                parsed = schema.model_validate_json(text)
            except ValidationError:
                parsed = None  # a schema that the endpoint took and didn't keep: the text is read as any
        return Reply(text, parsed, _usage(getattr(made, "usage", None)) or Usage(), choice.finish_reason or "stop")


class OpenAIEmbedder:
    """An embedding model behind an OpenAI-compatible endpoint. `dimension` is 0 until the first vectors came."""

    at_once = 256

    def __init__(
        self,
        model: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeout: float = TIMEOUT,
        dimension: int = 0,
    ) -> None:
        self.model = model
        self.name = f"openai:{model}"
        self.dimension = dimension
        self._endpoint = _Endpoint(base_url, api_key, timeout)

    def __repr__(self) -> str:
        return f"OpenAIEmbedder({self.model!r}, base_url={self._endpoint!r})"

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dimension), np.float32)
        try:
            # blank texts are refused by some
            made = await self._endpoint.client().embeddings.create(
                model=self.model, input=[text if text.strip() else "-" for text in texts], encoding_format="float"
            )
        except Exception as error:  # the library's own and its transport's
            raise self._endpoint.explained(error, self.model) from error
        data = getattr(made, "data", None) or []  # a page of HTML has none
        vectors = [one.embedding for one in sorted(data, key=lambda one: one.index)]
        lengths = {len(vector) for vector in vectors}
        if len(vectors) != len(texts) or lengths - {self.dimension or min(lengths)}:
            raise ModelError(
                f"{self.model} at {self._endpoint.base_url} gave {len(vectors)} vectors, of lengths {sorted(lengths)}, "
                f"for {len(texts)} texts; wanted are as many, of {self.dimension or 'one'} length"
            )
        self.dimension = min(lengths)
        return unit_rows(np.array(vectors, np.float32))


def is_loopback(url: str) -> bool:
    """Whether an address is this machine's."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    return host in ("localhost", "::1", "0.0.0.0") or host.startswith("127.")


# -- structured output ----------------------------------------------------------------------------


def _response_format(form: str, schema: type[BaseModel] | None) -> dict[str, Any] | None:
    if schema is None or form == "text":
        return None
    if form == "json_object":
        return {"type": "json_object"}
    closed = _closed(schema.model_json_schema())
    return {"type": "json_schema", "json_schema": {"name": schema.__name__, "schema": closed, "strict": True}}


def _closed(schema: Any) -> Any:
    """A JSON schema as strict endpoints want it: every property required, no others, no defaults."""
    if isinstance(schema, list):
        return [_closed(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {key: _closed(value) for key, value in schema.items() if key != "default"}
    if isinstance(closed.get("properties"), dict):
        closed |= {"required": list(closed["properties"]), "additionalProperties": False}
    return closed


def _is_refusal(error: ModelError) -> bool:
    """Whether an endpoint seems not to take the form that was asked for."""
    said = str(error).lower()
    return "status 4" in said and any(
        word in said for word in ("response_format", "json_schema", "json_object", "schema", "structured", "grammar")
    )


def _usage(said: Any) -> Usage | None:
    if said is None:
        return None
    return Usage(int(said.prompt_tokens or 0), int(getattr(said, "completion_tokens", 0) or 0))


def _wait_of(error: Any) -> float | None:
    """Seconds that a response asks to wait."""
    try:
        return max(float(error.response.headers.get("retry-after")), 0.0)
    except (TypeError, ValueError):  # absent, or a date
        return None
