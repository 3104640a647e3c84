"""JSON and JSON lines: an object or string, a Document."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from knotwork.graph import Document
from knotwork.loaders.documents import (
    ID_FIELDS,
    TEXT_FIELDS,
    TITLE_FIELDS,
    Records,
    lines_of,
    pick,
    title_of_name,
    too_deep,
)
from knotwork.loaders.encoding import decode
from knotwork.loaders.files import Found, Skipped, Unreadable, read_bytes
from knotwork.text import stable_id

_CONTAINERS = ("documents", "docs", "data", "items", "rows", "records", "articles", "passages", "results", "entries")
_LONG = 20  # characters from which a field counts as a text
# An escape of half a character, alone, is no character; all other escapes match whole and stay.
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)
_HALF = re.compile(r"\\u[dD][89a-fA-F]")


def load(found: Found, kind: str) -> Iterator[Document | Skipped]:
    """A list of objects or strings, such a list inside an object, or one object; JSON lines under a wrong name too."""
    decoded = decode(read_bytes(found))
    records = Records(found, kind, decoded)
    try:
        value = _parse(decoded.text)
    except Unreadable:
        if not _is_lines(decoded.text):
            raise
        yield from _lines(records)
    else:
        yield from _all(value, records)


def load_lines(found: Found, kind: str) -> Iterator[Document | Skipped]:
    """An object or string a line; a line that is neither is skipped and the rest goes on."""
    decoded = decode(read_bytes(found))
    records = Records(found, kind, decoded)
    if not _is_lines(decoded.text):
        try:
            value = _parse(decoded.text)
        except Unreadable:  # then its lines tell what is wrong, each
            pass
        else:
            yield from _all(value, records)
            return
    yield from _lines(records)


def _is_lines(text: str) -> bool:
    first = text.lstrip().split("\n", 1)[0]
    try:
        return isinstance(_parse(first), dict | str)
    except Unreadable:
        return False


def _lines(records: Records) -> Iterator[Document | Skipped]:
    # Only at "\n": JSON strings may hold the other characters that str.splitlines takes for line ends.
    for number, line in enumerate(records.decoded.text.split("\n"), 1):
        if line.strip():
            try:
                value = _parse(line)
            except Unreadable as problem:
                yield records.skip(f"line {number}", str(problem))
            else:
                yield _item(value, f"line {number}", records)


def _all(value: Any, records: Records) -> Iterator[Document | Skipped]:
    items = _items(value)
    if items is not None:
        for number, item in enumerate(items, 1):
            yield _item(item, f"item {number}", records)
    elif isinstance(value, dict | str):
        yield _only(value, records)
    else:
        raise Unreadable(f"holds {_what(value)}, not documents")


def _items(value: Any) -> list[Any] | None:
    """The list of items in a parsed file, None when it is itself one."""
    for _ in range(3):  # lists stand at most a few objects deep: {"data": {"articles": […]}}
        if isinstance(value, list):
            return value
        if not isinstance(value, dict) or pick(value, TEXT_FIELDS) is not None:
            return None
        lower = {key.lower(): inner for key, inner in value.items() if isinstance(inner, list | dict)}
        named = next((lower[name] for name in _CONTAINERS if name in lower), None)
        if named is None:
            return _only_list(value) or _keyed(value)
        value = named
    return None


def _only_list(value: dict[str, Any]) -> list[Any] | None:
    lists = [inner for inner in value.values() if isinstance(inner, list)]
    lists = [inner for inner in lists if any(isinstance(item, dict) for item in inner)]
    return lists[0] if len(lists) == 1 else None


def _keyed(value: dict[str, Any]) -> list[Any] | None:
    """Items as {id: item}, or {title: sentences}."""
    inner = list(value.values())
    if all(isinstance(item, dict) for item in inner) and any(pick(item, TEXT_FIELDS) is not None for item in inner):
        return [{"id": key, **item} for key, item in value.items()]
    if len(inner) > 1 and all(isinstance(item, list) and item and isinstance(item[0], str) for item in inner):
        return [{"title": key, "text": item} for key, item in value.items()]
    return None


def _item(value: Any, place: str, records: Records) -> Document | Skipped:
    if isinstance(value, str):
        value = {"text": value}
    if not isinstance(value, dict):
        return records.skip(place, f"holds {_what(value)}, not an object or a string")
    if too_deep(value):
        return records.skip(place, "nested too deeply")
    return records.document(value, place, _fallback(value))


def _only(value: dict[str, Any] | str, records: Records) -> Document:
    """The Document of a file that is one item."""
    item = _item(value, "item 1", records)
    if isinstance(item, Skipped):
        raise Unreadable(item.reason)
    relative = records.found.relative
    given = isinstance(value, dict) and pick(value, ID_FIELDS) is not None
    return replace(
        item,
        id=item.id if given else stable_id("document", relative),
        title=item.title or title_of_name(records.found),
        source=relative,
    )


def _fallback(record: dict[str, Any]) -> str:
    """For objects without a text field: the longest string that may be a text, else all fields."""
    named = frozenset(ID_FIELDS + TITLE_FIELDS)
    strings = [value for key, value in record.items() if isinstance(value, str) and key.lower() not in named]
    longest = max(strings, key=len, default="")
    return longest if len(longest) >= _LONG else lines_of(record)


def _what(value: Any) -> str:
    if isinstance(value, list):
        return "a list"
    return "nothing (null)" if value is None else f"the value {json.dumps(value)[:40]}"


# -- parsing --------------------------------------------------------------------------------------


def _parse(text: str) -> Any:
    """Unreadable, with line and column, where it isn't JSON. NaN, which stands for nothing there, becomes None."""
    if _HALF.search(text):
        text = _ESCAPE.sub(lambda match: "\\ufffd" if match.group(1) else match.group(), text)
    try:
        return json.loads(text, parse_constant=_constant, parse_float=_float)
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}" if "\n" in text.strip() else f"column {error.colno}"
        raise Unreadable(f"not valid JSON: {error.msg.lower()} at {where}") from error
    except RecursionError as error:
        raise Unreadable("nested too deeply") from error
    except ValueError as error:  # a number of thousands of digits
        raise Unreadable(f"not usable JSON: {error}") from error


def _constant(name: str) -> str | None:
    return None if name == "NaN" else name


def _float(digits: str) -> float | str:
    value = float(digits)
    return value if math.isfinite(value) else digits
