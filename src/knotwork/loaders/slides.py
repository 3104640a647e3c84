"""PowerPoint files, read by python-pptx: a page a slide, its title as heading, tables and charts as rows, its notes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from knotwork.loaders.files import Unreadable
from knotwork.loaders.office import check_archive, core_properties
from knotwork.loaders.parsed import Parsed, Writer, opening

_DEEPEST = 20  # groups in each other


def parse(path: str, tell: Callable[[int], object] = lambda page: None) -> Parsed:
    """The text of a .pptx. Raises Unreadable for one that is broken, encrypted or without any text."""
    import pptx

    check_archive(path)
    writer = Writer()
    for number, slide in enumerate(pptx.Presentation(path).slides, 1):
        writer.page()
        _slide(slide, writer)
        tell(number)
    metadata = core_properties(path)
    parsed = writer.parsed(metadata.pop("title", ""), metadata)
    if not parsed.title:
        parsed = replace(parsed, title=opening(parsed.text, parsed.headings))
    if not parsed.text:
        raise Unreadable("holds no text; where it holds pictures of text, save it as PDF and run ocrmypdf on that")
    return parsed


def _slide(slide: Any, writer: Writer) -> None:
    title = slide.shapes.title
    if title is not None and title.has_text_frame:
        writer.heading(" ".join(title.text_frame.text.split()), 1)
    for shape in _shapes(slide.shapes):
        if title is None or shape.shape_id != title.shape_id:
            _shape(shape, writer)
    if slide.has_notes_slide and (notes := slide.notes_slide.notes_text_frame) is not None:
        writer.paragraph(notes.text)


def _shapes(shapes: Any, left: int = _DEEPEST) -> Iterator[Any]:
    """Shapes from top to bottom; those of groups among them."""
    for shape in sorted(shapes, key=lambda shape: ((shape.top or 0) // 100_000, shape.left or 0)):
        if hasattr(shape, "shapes"):
            if left:
                yield from _shapes(shape.shapes, left - 1)
        else:
            yield shape


def _shape(shape: Any, writer: Writer) -> None:
    if shape.has_text_frame:
        lines = [paragraph.text.replace("\v", " ") for paragraph in shape.text_frame.paragraphs]
        writer.paragraph("\n".join(lines))
    elif getattr(shape, "has_table", False):
        writer.end()
        for row in shape.table.rows:
            writer.row([cell.text for cell in row.cells])
        writer.end()
    elif getattr(shape, "has_chart", False):
        _chart(shape.chart, writer)


def _chart(chart: Any, writer: Writer) -> None:
    """A chart as a table: its categories downwards, its series across."""
    writer.end()
    if chart.has_title and chart.chart_title.has_text_frame:
        writer.line(chart.chart_title.text_frame.text)
    for plot in _plots(chart):
        series = list(plot.series)
        categories = [str(category) for category in plot.categories]
        writer.row(["", *(str(one.name) for one in series)])
        for at, category in enumerate(categories):
            writer.row([category, *(_number(one.values, at) for one in series)])
    writer.end()


def _plots(chart: Any) -> list[Any]:
    """None of a chart whose kind the library doesn't know: its title says what it can."""
    try:
        return [plot for plot in chart.plots if list(plot.series)]
    except NotImplementedError:
        return []


def _number(values: Any, at: int) -> str:
    value = values[at] if at < len(values) else None
    return "" if value is None else f"{value:g}"
