"""Texts, and records with fields, to Documents: titles, ids, metadata."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

from knotwork.graph import Document
from knotwork.loaders.encoding import Decoded
from knotwork.loaders.files import Found, Skipped, Unreadable
from knotwork.text import content_hash, stable_id

TEXT_FIELDS = ("text", "content", "body", "article", "passage", "page_content", "contents")
TITLE_FIELDS = ("title", "headline", "name")
ID_FIELDS = ("id", "_id")
# Metadata that we write; a field of the user's with such a name gets "_" behind it.
_OURS = frozenset({"path", "kind", "encoding", "replaced", "extra", "body", "page_starts", "outline"})
_LONGEST_TITLE = 200
_DEEPEST = 50
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def whole(found: Found, kind: str, decoded: Decoded, text: str, title: str) -> Document:
    """The Document of a file that is one. Without a title, its file name is made one."""
    if not text.strip():
        raise Unreadable("holds no text")
    return Document(
        text=text,
        id=document_id(found),
        title=clean_title(title) or title_of_name(found),
        source=found.relative,
        metadata=about(found, kind, decoded),
    )


def document_id(found: Found) -> str:
    """The id of the one Document of a file."""
    return stable_id("document", found.relative)


def outline_of(text: str, headings: Iterable[tuple[int, int, int]]) -> dict[str, Any]:
    """The metadata that says where headings (start, end, level) stand; none for none."""
    named = [[start, level, clean_title(text[start:end])] for start, end, level in headings]
    outline = [entry for entry in named if entry[2]]
    return {"outline": outline} if outline else {}


def about(found: Found, kind: str, decoded: Decoded) -> dict[str, Any]:
    """The metadata that every Document has."""
    return {"path": found.relative, "kind": kind, **decoded.notes}


def clean_title(title: str) -> str:
    """One line without control characters, of at most 200 characters: it stands before every chunk."""
    # Cut first: a whole file may come as the title.
    line = _CONTROL.sub("", " ".join(title[: 20 * _LONGEST_TITLE].split()))
    return line if len(line) <= _LONGEST_TITLE else line[: _LONGEST_TITLE - 1].rsplit(" ", 1)[0] + "…"


def title_of_name(found: Found) -> str:
    stem = PurePosixPath(found.relative).stem
    return " ".join(re.sub(r"[_-]+", " ", stem).split()) or stem


# -- records: rows, items, lines ------------------------------------------------------------------


@dataclass(slots=True)
class Records:
    """Makes the Documents of one file's records, and watches over their ids."""

    found: Found
    kind: str
    decoded: Decoded
    given: dict[str, str] = field(default_factory=dict)  # id: the place that has it
    repeats: Counter[str] = field(default_factory=Counter)  # of texts without an id

    def skip(self, place: str, reason: str) -> Skipped:
        return Skipped(f"{self.found.relative}#{place}", reason)

    def document(
        self, record: Mapping[str, Any], place: str, text: str | None = None, extra: str | None = None
    ) -> Document | Skipped:
        """`text`: what to take where the record has no text field; `place`: like "row 12", also in the reasons."""
        id_key, title_key, text_key = (pick(record, names) for names in (ID_FIELDS, TITLE_FIELDS, TEXT_FIELDS))
        text = (text or "") if text_key is None else _as_text(record[text_key])
        if not text.strip():
            return self.skip(place, f"the field {text_key!r} holds no text" if text_key else "holds no text")
        id = _as_text(record[id_key]).strip() if id_key else ""
        if not id:
            hashed = content_hash(text)
            self.repeats[hashed] += 1
            id = stable_id("document", self.found.relative, hashed, self.repeats[hashed])
        elif id in self.given:
            return self.skip(place, f"{place} has the id {id!r} of {self.given[id]}; an id can stand only once")
        self.given[id] = place
        taken = {key for key in (id_key, title_key, text_key) if key is not None}
        metadata = {_own(key): value for key, value in record.items() if key not in taken and value not in ("", None)}
        metadata |= about(self.found, self.kind, self.decoded)
        if extra is not None:
            metadata["extra"] = extra
        title = clean_title(_as_text(record[title_key])) if title_key else ""
        return Document(text, id, title, f"{self.found.relative}#{place}", metadata)


def pick(record: Mapping[str, Any], names: tuple[str, ...]) -> str | None:
    """The key for the first of the names (in any case) with something in it, else for the first that is there."""
    keys: dict[str, str] = {}
    for key, value in record.items():
        if value is None or _is_text(value):
            keys.setdefault(key.strip().lower(), key)
    there = [keys[name] for name in names if name in keys]
    return next((key for key in there if _as_text(record[key]).strip()), there[0] if there else None)


def too_deep(value: Any, left: int = _DEEPEST) -> bool:
    """Whether lists and objects stand in each other more than 50 levels deep."""
    if not isinstance(value, dict | list):
        return False
    inner = value.values() if isinstance(value, dict) else value
    return not left or any(too_deep(item, left - 1) for item in inner)


def lines_of(record: Mapping[str, Any]) -> str:
    """All fields as text, "key: value" a line."""
    filled = ((key, _shown(value)) for key, value in record.items())
    return "\n".join(f"{key}: {value}" for key, value in filled if value.strip())


def _is_text(value: Any) -> bool:
    if isinstance(value, list):
        return all(isinstance(item, str) for item in value)
    return isinstance(value, str | int | float) and not isinstance(value, bool)


def _as_text(value: Any) -> str:
    if value is None:
        return ""
    return "\n".join(value) if isinstance(value, list) else str(value)


def _shown(value: Any) -> str:
    if isinstance(value, str) or value is None:
        return value or ""
    return json.dumps(value, ensure_ascii=False)


def _own(key: str) -> str:
    return f"{key}_" if key in _OURS else key
