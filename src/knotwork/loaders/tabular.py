"""Tables with a header: a row, a Document."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator
from itertools import islice

from knotwork.graph import Document
from knotwork.loaders.documents import ID_FIELDS, TEXT_FIELDS, TITLE_FIELDS, Records, lines_of
from knotwork.loaders.encoding import decode
from knotwork.loaders.files import MAX_BYTES, Found, Skipped, Unreadable, read_bytes

_DELIMITERS = ",;\t|"
_NONE = "\x1f"  # for tables of one column: a delimiter that texts don't hold
_SAMPLE = 64 * 1024
_KNOWN = frozenset(TEXT_FIELDS + TITLE_FIELDS + ID_FIELDS)
_MENDED = 20


def load(found: Found, kind: str) -> Iterator[Document | Skipped]:
    """Rows are counted from 1 below the header, blank ones too, so a row is one line further down in a spreadsheet."""
    # Ours may be larger than the module's limit on a field. It is one for the whole process; raising it harms nobody.
    csv.field_size_limit(max(csv.field_size_limit(), MAX_BYTES))
    decoded = decode(read_bytes(found), drop_nul=True)
    delimiter, text = _delimiter(decoded.text)
    rows = _rows(text, delimiter)
    header = _header(next((row for row in rows if any(cell.strip() for cell in row)), []))
    has_text = any(name.lower() in TEXT_FIELDS for name in header)
    records = Records(found, kind, decoded)
    empty = True
    for number, row in enumerate(rows, 1):
        if not any(cell.strip() for cell in row):
            continue
        empty = False
        record = dict.fromkeys(header, "") | dict(zip(header, row, strict=False))
        extra = delimiter.join(row[len(header) :]) if len(row) > len(header) else None
        yield records.document(record, f"row {number}", None if has_text else lines_of(record), extra)
    if empty:
        raise Unreadable("holds a header and no rows")


def _header(row: list[str]) -> list[str]:
    """Names for the columns, each different from the others."""
    names: dict[str, None] = {}
    for number, cell in enumerate(row, 1):
        name = cell.strip() or f"column {number}"
        while name in names:
            name = f"{name} ({number})"
        names[name] = None
    return list(names)


def _delimiter(text: str) -> tuple[str, str]:
    """The delimiter, and the text without a line "sep=;" as Excel puts first."""
    if text[:4].lower() == "sep=" and text[5:6] in ("\r", "\n"):
        return text[4], text[5:].lstrip("\r\n")
    merits = {delimiter: _merit(text[:_SAMPLE], delimiter) for delimiter in _DELIMITERS}
    best = max(merits, key=lambda delimiter: merits[delimiter])
    return (best if merits[best] > (0, 0.0) else _NONE), text


def _merit(sample: str, delimiter: str) -> tuple[int, float]:
    """Whether the header has names we know, then the columns, weighed by the share of rows that have as many."""
    rows = [row for row in islice(_rows(sample, delimiter), 50) if row]
    width = len(rows[0]) if rows else 0
    if width < 2:
        return (0, 0.0)
    known = any(cell.strip().lower() in _KNOWN for cell in rows[0])
    # The sample may end inside its last row.
    others = rows[1:-1] if len(sample) == _SAMPLE and len(rows) < 50 else rows[1:]
    agree = sum(len(row) == width for row in others) / len(others) if others else 1.0
    return (int(known), width * (0.01 + agree))


def _rows(text: str, delimiter: str) -> Iterator[list[str]]:
    """The rows of a table. A quote that never closes is read as a character of its line, the rows after it as rows."""
    lines = io.StringIO(text, newline="").readlines()
    at = 0
    for _ in range(_MENDED):
        reader = csv.reader(islice(lines, at, None), delimiter=delimiter, skipinitialspace=True)
        start = at
        for row in reader:
            end = at + reader.line_num
            if end == len(lines) and end - start > 1 and "".join(lines[start:end]).count('"') % 2:
                break  # swallowed the rest
            yield row
            start = end
        else:
            return
        yield from _unquoted(lines[start : start + 1], delimiter)
        at = start + 1
    yield from _unquoted(lines[at:], delimiter)


def _unquoted(lines: list[str], delimiter: str) -> Iterator[list[str]]:
    return csv.reader(lines, delimiter=delimiter, quoting=csv.QUOTE_NONE)
