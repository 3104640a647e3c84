"""Prompts: what is asked of a model, and how its reply is read."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from knotwork.errors import InputError, ReplyError

if TYPE_CHECKING:
    from pydantic import BaseModel

_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_FENCED = re.compile(r"```[\w-]*[ \t]*\n(.*?)(?:\n?```|\Z)", re.DOTALL)
_BULLET = re.compile(r"\s*(?:[-*•]|\d{1,3}[.)])\s+")
_LABEL = re.compile(r"^\*\*[\w ]{1,30}:?\*\*:?\s*")
_PREAMBLE = re.compile(r"^(?:sure|certainly|of course|okay|ok|here)\b[^\n]{0,120}:[ \t]*\n+", re.IGNORECASE)


@dataclass(frozen=True)
class Prompt:
    """An instruction with named {placeholders}, worked examples, and the form of the reply.

    examples: pairs (input, output) that are shown before the instruction; an output that is no text is shown as JSON.
    output_model: a pydantic model that the reply must fit; None: the reply is plain text. Braces that are no
    placeholder with a value stay as they are, so that prompts may show JSON.
    """

    instruction: str
    examples: Sequence[tuple[Any, Any]] = ()
    output_model: type[BaseModel] | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.instruction, str) or not self.instruction.strip():
            raise InputError(f"a prompt's instruction is a text, not {self.instruction!r}")
        try:
            object.__setattr__(self, "examples", tuple((given, wanted) for given, wanted in self.examples))
        except (TypeError, ValueError):
            raise InputError(f"a prompt's examples are pairs (input, output), not {self.examples!r}") from None
        if self.output_model is not None and not callable(getattr(self.output_model, "model_validate", None)):
            raise InputError(f"a prompt's output_model is a class of pydantic's, not {self.output_model!r}")

    @property
    def placeholders(self) -> frozenset[str]:
        return frozenset(_PLACEHOLDER.findall(self.instruction))

    def needs(self, names: Iterable[str], what: str) -> Prompt:
        """The prompt itself. Raises InputError when a placeholder is missing; `what` is what the error calls it."""
        for name in names:
            if name not in self.placeholders:
                raise InputError(f"{what} has no placeholder {{{name}}}; put it where its value belongs")
        return self

    def replaced_by(self, other: str | Prompt) -> Prompt:
        """Another prompt for the same use: a text takes the place of the instruction, the form of the reply stays."""
        if isinstance(other, str):
            return replace(self, instruction=other, examples=())
        if not isinstance(other, Prompt):
            raise InputError(f"a prompt is a text or a Prompt, not {other!r}")
        return other if other.output_model is not None else replace(other, output_model=self.output_model)

    def render(self, **values: str) -> str:
        """The whole text, values filled in. What a value contains is never taken for a placeholder."""
        parts = []
        if self.examples:
            shown = (f"Input: {_shown(given)}\nOutput: {_shown(wanted)}" for given, wanted in self.examples)
            parts.append("Examples of the form, not of the content:\n\n" + "\n\n".join(shown))
        parts.append(_PLACEHOLDER.sub(lambda found: values.get(found[1], found[0]), self.instruction))
        if self.output_model is not None and "JSON" not in self.instruction:
            parts.append(f"Reply with JSON alone that fits this schema:\n{_schema(self.output_model)}")
        return "\n\n".join(parts)

    def read(self, reply: str) -> Any:
        """What a reply says: an instance of the output model, or plain text. Raises ReplyError when it can't be used.

        Reasoning, fences and prose around it are taken off, broken JSON is mended, and items of a list that
        don't fit are left out.
        """
        said = without_reasoning(reply)
        return _plain(said) if self.output_model is None else _fitted(_json_in(said), self.output_model)

    def to_dict(self) -> dict[str, Any]:
        return {"instruction": self.instruction, "examples": [list(pair) for pair in self.examples]}


def prompt_from(data: object, where: str) -> Prompt:
    """The prompt of `Prompt.to_dict`, without its output model. `where` is what errors call it."""
    if not isinstance(data, Mapping) or "instruction" not in data:
        raise InputError(f"{where}: a prompt is an object with instruction and examples")
    try:
        return Prompt(data["instruction"], data.get("examples") or ())
    except InputError as error:
        raise InputError(f"{where}: {error}") from None


def _shown(value: Any) -> str:
    if isinstance(value, str):
        return value
    dump = getattr(value, "model_dump", None)
    return json.dumps(dump() if dump else value, ensure_ascii=False)


@lru_cache(maxsize=64)
def _schema(model: type[BaseModel]) -> str:
    return json.dumps(model.model_json_schema(), ensure_ascii=False)


# -- reading replies ------------------------------------------------------------------------------


def without_reasoning(reply: str) -> str:
    """A reply without the reasoning that some models put before it. A tag further on is part of what is said."""
    said = reply.strip()
    if said.startswith("<think>"):
        return said.partition("</think>")[2].strip()  # cut off while thinking: nothing was said
    if not said.startswith(("{", "[", "```")) and "<think>" not in said:
        return said.rpartition("</think>")[2].strip()  # some servers drop the opening tag
    return said


def _plain(said: str) -> str:
    fenced = _FENCED.fullmatch(said)
    text = fenced[1].strip() if fenced else said
    if text.startswith(("{", "[")):
        with suppress(ValueError, RecursionError):  # then it is no JSON
            inside = list(_texts(json.loads(text)))
            text = inside[0].strip() if len(inside) == 1 else text
    text = _LABEL.sub("", _PREAMBLE.sub("", text)).strip()
    if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" and text[0] not in text[1:-1]:
        text = text[1:-1].strip()
    if not text:
        raise ReplyError("the reply is empty")
    return text


def _texts(value: Any) -> Iterator[str]:
    """The texts in a JSON value."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _texts(inner)


def _json_in(said: str) -> Any:
    """The JSON of a reply, mended where it is broken or cut off; a list of lines with bullets or numbers as a list."""
    fenced = _FENCED.search(said)
    for candidate in (said, fenced[1] if fenced else ""):
        try:
            return json.loads(candidate)
        except (ValueError, RecursionError):
            continue
    text = fenced[1] if fenced else said
    starts = [at for at in (text.find("{"), text.find("[")) if at >= 0]
    if not starts:
        lines = [line for line in text.splitlines() if line.strip()]
        if lines and all(map(_BULLET.match, lines)):
            return [_BULLET.sub("", line).strip() for line in lines]
        raise ReplyError("the reply holds no JSON")
    import json_repair

    try:
        found = json_repair.loads(_complete(text[min(starts) :]))
    except (ValueError, RecursionError) as error:
        raise ReplyError(f"the reply holds no JSON that can be mended ({error})") from error
    if not isinstance(found, dict | list) or not found:
        raise ReplyError("the reply holds no JSON that can be mended")
    return found


def _complete(text: str) -> str:
    """JSON that was cut off inside a text, without that text: half a name is no name."""
    if text.rstrip().endswith(("}", "]")):
        return text
    quotes = list(re.finditer(r'(?<!\\)(?:\\\\)*"', text))
    return text[: quotes[-1].start()] if len(quotes) % 2 else text


def _fitted(data: Any, model: type[BaseModel]) -> BaseModel:
    """The data as the model; where that has a single list, also a bare list, and without the items that don't fit."""
    from pydantic import ValidationError

    try:
        return model.model_validate(data)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False)[0]
        where = ".".join(map(str, first["loc"]))
        reason = f"{where}: {first['msg']}" if where else first["msg"]
    items = _items(data)
    if len(model.model_fields) == 1 and items is not None:
        name = next(iter(model.model_fields))
        good = [item for item in map(_unwrapped, items) if _fits(model, {name: [item]})]
        if good or not items:
            return model.model_validate({name: good})
    if isinstance(data, list) and len(data) == 1 and _fits(model, data[0]):
        return model.model_validate(data[0])
    raise ReplyError(f"the reply does not fit ({reason})")


def _items(data: Any) -> list[Any] | None:
    if isinstance(data, list):
        return data
    lists = [value for value in data.values() if isinstance(value, list)] if isinstance(data, dict) else []
    return lists[0] if len(lists) == 1 else None


def _unwrapped(item: Any) -> Any:
    """{"name": "Ada", "type": "person"} where "Ada" was asked for."""
    if isinstance(item, dict):
        return next((value for value in item.values() if isinstance(value, str)), item)
    return item


def _fits(model: type[BaseModel], data: Any) -> bool:
    from pydantic import ValidationError

    try:
        model.model_validate(data)
    except ValidationError:
        return False
    return True
