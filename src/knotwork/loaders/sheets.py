"""Excel workbooks, read by openpyxl: a page a sheet, its name as heading, a line a row."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import date, datetime, time, timedelta
from typing import Any

from knotwork.loaders.files import Unreadable
from knotwork.loaders.office import check_archive, core_properties
from knotwork.loaders.parsed import Parsed, Writer, tidy

_BEAT = 1_000  # rows between two signs of life
_WIDEST = 1_000  # columns that are read
_BLANK_ROWS = 1_000  # after which a sheet is over: formatting may reach to the last of a million rows
_LONGEST_LABEL = 60


def parse(path: str, tell: Callable[[int], object] = lambda page: None) -> Parsed:
    """The text of an .xlsx or .xlsm, formulas as the values they had when it was saved. Raises Unreadable.

    Where the first row of a sheet labels its columns, every row names them ("Depth: 40; Mass: 12 kg."), so that a row
    says what it says without those above it. Hidden sheets are left out.
    """
    import openpyxl

    check_archive(path)
    writer = Writer()
    gaps: list[tuple[str, str]] = []
    beats = 0

    def beat(rows: Iterable[Any]) -> Iterator[Any]:
        nonlocal beats
        for at, row in enumerate(rows):
            if not at % _BEAT:
                beats += 1
                tell(beats)
            yield row

    file = open(path, "rb")  # its name may be another format's  # noqa: SIM115
    book = openpyxl.load_workbook(file, read_only=True, data_only=True, keep_links=False)
    for sheet in book.worksheets:
        writer.page()
        if sheet.sheet_state != "visible":
            gaps.append((f"sheet {sheet.title}", "hidden"))
            continue
        rows = _rows(beat(sheet.iter_rows(values_only=True, max_col=_WIDEST)))
        first = next(rows, None)
        if first is None:
            gaps.append(
                (f"sheet {sheet.title}", "holds no values; formulas count once the file was saved by Excel or the like")
            )
            continue
        writer.heading(sheet.title, 1)
        _sheet(first, rows, writer)
    file.close()
    metadata = core_properties(path)
    parsed = writer.parsed(metadata.pop("title", ""), metadata, gaps)
    if not parsed.text:
        raise Unreadable("holds no values; where it holds formulas, open and save it in a spreadsheet program")
    return parsed


def _rows(rows: Iterable[Sequence[Any]]) -> Iterator[list[str]]:
    """Rows that hold something, as text, without empty cells at their end."""
    blank = 0
    for row in rows:
        cells = [_said(value) for value in row]
        while cells and not cells[-1]:
            cells.pop()
        blank = 0 if cells else blank + 1
        if cells:
            yield cells
        elif blank > _BLANK_ROWS:
            return


def _sheet(first: list[str], rows: Iterator[list[str]], writer: Writer) -> None:
    second = next(rows, None)
    if second is None or not _labels(first, second):
        for row in (first, *([second] if second else ()), *rows):
            writer.row(row)
        return
    for row in (second, *rows):
        named = [
            f"{first[at]}: {cell}" if at < len(first) and first[at] else cell for at, cell in enumerate(row) if cell
        ]
        writer.line(f"{'; '.join(named)}.")  # a sentence a row: one can be quoted alone


def _labels(first: list[str], second: list[str]) -> bool:
    """Whether a row labels the columns of the next: short distinct words over as many cells."""
    said = [cell for cell in first if cell]
    wordy = all(len(cell) <= _LONGEST_LABEL and any(map(str.isalpha, cell)) for cell in said)
    return len(said) >= 2 and len(set(said)) == len(said) and wordy and len(first) >= len(second)


def _said(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return str(int(value)) if value.is_integer() and abs(value) < 1e15 else f"{value:.15g}"
    if isinstance(value, datetime):
        midnight = value.time() == time()
        return (value.date() if midnight else value.replace(microsecond=0)).isoformat(*(() if midnight else (" ",)))
    if isinstance(value, date | time | timedelta):
        return str(value)
    return " ".join(tidy(str(value)).split())
