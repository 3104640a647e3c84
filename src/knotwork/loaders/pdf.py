"""PDF, read by PDFium: the characters of each page with their places, the outline, what the file says of itself."""

from __future__ import annotations

import ctypes
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from knotwork.loaders.files import Unreadable
from knotwork.loaders.layout import Bookmark, Line, Page, running_text
from knotwork.loaders.parsed import Parsed, tidy

MAX_PAGES = 50_000
_MOST_BOOKMARKS = 10_000
_HYPHEN = 2  # PDFium's sign for the hyphen and the line end inside a word
_CELL = 2.0  # font sizes of a gap that parts two cells of a row
_BOLD = re.compile(rb"bold|black|heavy|semibold|demi|CMBX|-B\b", re.I)
_NO_TITLE = re.compile(
    r"untitled|microsoft (?:word|powerpoint|excel)|^\(?anonymous|^无标题|^[\W\d_]*$"
    r"|\.(?:docx?|pdf|tex|dvi|indd|qxd|pptx?|xlsx?|rtf|od[tsp])$",
    re.I,
)
_CREATED = re.compile(r"(?:D:)?(\d{4})(\d\d)(\d\d)")
_STRANGE = re.compile("[\ufffd\ue000-\uf8ff\x00-\x01\x03-\x08\x0e-\x1f]")


def parse(path: str, tell: Callable[[int], object] = lambda page: None) -> Parsed:
    """The text of a PDF. `tell` is called with the number of each page that has been read.

    Raises Unreadable for a file that is encrypted, broken, or holds pictures of text only.
    """
    import pypdfium2

    try:
        pdf = pypdfium2.PdfDocument(path)
    except pypdfium2.PdfiumError as error:
        raise Unreadable(_said(str(error))) from error
    try:
        return _parsed(pdf, tell)
    finally:
        pdf.close()


def _said(error: str) -> str:
    if "password" in error.lower():
        return "is encrypted and opens with a password only; save a copy without, as by: qpdf --decrypt in.pdf out.pdf"
    if "security" in error.lower():
        return "is encrypted in a way that cannot be read; save a copy without protection"
    return "is broken: no PDF can be made out in it; try a repair, as by: qpdf in.pdf out.pdf, or get it again"


def _parsed(pdf: Any, tell: Callable[[int], object]) -> Parsed:
    count = len(pdf)
    if count > MAX_PAGES:
        raise Unreadable(f"has {count:,} pages, more than {MAX_PAGES:,}; split it")
    if not count:
        raise Unreadable("has no pages")
    if pdf.get_formtype():
        pdf.init_forms()
    pages: list[Page] = []
    bare: list[int] = []  # pages without text
    broken: list[int] = []
    strange = total = 0
    for number in range(count):
        page = _page(pdf, number)
        if page is None:
            broken.append(number + 1)
        elif not page.lines:
            bare.append(number + 1)
        said = "".join(line.text for line in page.lines) if page else ""
        strange, total = strange + len(_STRANGE.findall(said)), total + len(said)
        pages.append(page or Page((), 0))
        tell(number + 1)
    if not total:
        raise Unreadable(_nothing(count, broken))
    if strange * 3 > total:
        raise Unreadable(
            "its fonts don't say which characters they show; recognise it anew: ocrmypdf --force-ocr in.pdf out.pdf"
        )
    gaps = [
        (f"page {which}", "holds no text; where it is a picture of text, ocrmypdf recognises it")
        for which in _ranges(bare)
    ]
    gaps += [(f"page {which}", "is broken") for which in _ranges(broken)]
    metadata = _metadata(pdf)
    title = tidy(metadata.pop("title", "")).replace("\n", " ")
    return running_text(pages, _outline(pdf), "" if _NO_TITLE.search(title) else title, metadata, gaps)


def _nothing(count: int, broken: list[int]) -> str:
    if len(broken) == count:
        return "is broken: none of its pages can be read; get it again, or try: qpdf in.pdf out.pdf"
    pages = "its page holds" if count == 1 else f"its {count} pages hold"
    return f"{pages} pictures and no text, as scans do; recognise the text first, as by: ocrmypdf in.pdf out.pdf"


def _ranges(numbers: list[int]) -> Iterator[str]:
    """ "3", "7-12": runs of numbers."""
    first = last = None
    for number in [*numbers, None]:
        if last is not None and number == last + 1:
            last = number
            continue
        if first is not None:
            yield str(first) if first == last else f"{first}-{last}"
        first = last = number


# -- one page -------------------------------------------------------------------------------------


def _page(pdf: Any, number: int) -> Page | None:
    """The lines of a page; None for one that cannot be read."""
    import pypdfium2

    try:
        page = pdf[number]
        if pdf.formenv:
            page.flatten()  # what stands in form fields becomes text of the page
            page.close()
            page = pdf[number]
        text = page.get_textpage()
    except pypdfium2.PdfiumError:
        return None
    try:
        lines = _lines(text, page)
        return Page(tuple(_by_place(lines) if pdf.formenv else lines), page.get_height())
    finally:
        text.close()
        page.close()


def _lines(text: Any, page: Any) -> Iterator[Line]:
    import pypdfium2.raw as pdfium

    raw = text.raw
    chars = _characters(raw, text.count_chars(), pdfium)
    place = _Places(raw, page)
    begin = 0
    for at, code in enumerate([*chars, 10]):
        if code not in (10, 13, _HYPHEN):
            continue
        end = at + (code == _HYPHEN)
        if end > begin and (line := _line(chars, begin, end, place, pdfium)):
            yield line
        begin = at + 1


def _characters(raw: Any, count: int, pdfium: Any) -> list[int]:
    """The code of each character of a page."""
    buffer = (ctypes.c_ushort * (count + 1))()
    if pdfium.FPDFText_GetText(raw, 0, count, buffer) == count + 1:
        return [_HYPHEN if code == 0xFFFE else code for code in buffer[:count]]  # its sign for one here
    # it leaves out characters that it can't write: then one by one, so that numbers stay true
    return [pdfium.FPDFText_GetUnicode(raw, at) for at in range(count)]


def _by_place(lines: Iterable[Line]) -> list[Line]:
    """The lines of a form from top to bottom: what was filled in comes last in the file, and belongs to its label."""
    rows: list[list[Line]] = []
    for line in sorted(lines, key=lambda line: line.bottom):
        if rows and line.bottom - rows[-1][0].bottom < 0.6 * line.size:
            rows[-1].append(line)
        else:
            rows.append([line])
    return [
        replace(row[0], cells=tuple(sorted((cell for line in row for cell in line.cells), key=lambda cell: cell[0])))
        for row in rows
    ]


class _Places:
    """Where the characters of a page stand, as the page is shown: turned, and counted from its upper left."""

    def __init__(self, raw: Any, page: Any) -> None:
        self.raw = raw
        self.left, self.bottom, self.right, self.top = page.get_cropbox()
        self.turned = page.get_rotation()
        self._box = [ctypes.c_double() for _ in range(4)]

    def __call__(self, at: int) -> tuple[float, float, float, float]:
        """(left, top, right, bottom)"""
        import pypdfium2.raw as pdfium

        left, right, bottom, top = self._box
        pdfium.FPDFText_GetCharBox(self.raw, at, left, right, bottom, top)
        return self._shown(left.value, bottom.value, right.value, top.value)

    def baseline(self, at: int) -> float:
        """How far below the upper edge a character's line lies."""
        import pypdfium2.raw as pdfium

        x, y, *_ = self._box
        pdfium.FPDFText_GetCharOrigin(self.raw, at, x, y)
        return self._shown(x.value, y.value, x.value, y.value)[1]

    def _shown(self, x0: float, y0: float, x1: float, y1: float) -> tuple[float, float, float, float]:
        x0, y0, x1, y1 = x0 - self.left, y0 - self.bottom, x1 - self.left, y1 - self.bottom
        width, height = self.right - self.left, self.top - self.bottom
        if self.turned == 90:
            return y0, x0, y1, x1
        if self.turned == 180:
            return width - x1, y0, width - x0, y1
        if self.turned == 270:
            return height - y1, width - x1, height - y0, width - x0
        return x0, height - y1, x1, height - y0


def _line(chars: list[int], begin: int, end: int, place: _Places, pdfium: Any) -> Line | None:
    while begin < end and chars[begin] in (32, 160):
        begin += 1
    while end > begin and chars[end - 1] in (32, 160):
        end -= 1
    if begin == end:
        return None
    size = _size(place.raw, begin, pdfium)
    first, last = place(begin), place(end - 1 if chars[end - 1] != _HYPHEN or end - begin == 1 else end - 2)
    cells: list[tuple[float, float, str]] = []
    start, left = begin, first[0]
    at = begin
    while at < end:
        if chars[at] not in (32, 160):
            at += 1
            continue
        after = at
        while after < end and chars[after] in (32, 160):
            after += 1
        before, behind = place(at - 1)[2], place(after)[0]
        if behind - before > _CELL * max(size, 4) or after - at > 3:
            cells.append((left, before, _text(chars[start:at])))
            start, left = after, behind
        at = after
    cells.append((left, last[2], _text(chars[start:end])))
    baseline = place.baseline(begin)
    return Line(tuple(cells), baseline - size, baseline, size, _bold(place.raw, begin, end, pdfium))


def _size(raw: Any, at: int, pdfium: Any) -> float:
    """Font size as it is shown: that of the font times the scale of the text's matrix."""
    matrix = pdfium.FS_MATRIX()
    size = pdfium.FPDFText_GetFontSize(raw, at)
    if pdfium.FPDFText_GetMatrix(raw, at, matrix):
        scale = (matrix.c**2 + matrix.d**2) ** 0.5
        size *= scale if scale else 1.0
    return float(round(size, 1)) or 10.0


def _bold(raw: Any, begin: int, end: int, pdfium: Any) -> bool:
    return all(_BOLD.search(_font(raw, at, pdfium)) for at in {begin, (begin + end) // 2, end - 1})


def _font(raw: Any, at: int, pdfium: Any) -> bytes:
    name = ctypes.create_string_buffer(128)
    pdfium.FPDFText_GetFontInfo(raw, at, name, 128, ctypes.c_int())
    return name.value


def _text(codes: list[int]) -> str:
    said = "".join(map(chr, codes))
    # PDFium gives characters beyond the first plane as two halves
    return said.encode("utf-16", "surrogatepass").decode("utf-16", "replace") if _HALVES.search(said) else said


_HALVES = re.compile("[\ud800-\udfff]")


# -- what the file says of itself -----------------------------------------------------------------


def _metadata(pdf: Any) -> dict[str, str]:
    said = pdf.get_metadata_dict(skip_empty=True)
    found = {"title": said.get("Title", ""), "author": tidy(said.get("Author", ""))[:500]}
    if _NO_TITLE.search(found["author"]):
        del found["author"]
    if created := _CREATED.match(said.get("CreationDate", "")):
        found["date"] = "-".join(created.groups())
    return {key: value for key, value in found.items() if value}


def _outline(pdf: Any) -> list[Bookmark]:
    import pypdfium2

    found: list[Bookmark] = []
    try:
        for item in pdf.get_toc(max_depth=6):
            dest = item.get_dest()
            page = dest.get_index() if dest is not None else None
            if page is not None:
                found.append(Bookmark(item.get_title(), page, item.level + 1))
            if len(found) >= _MOST_BOOKMARKS:
                break
    except pypdfium2.PdfiumError:  # an outline that leads nowhere: the text is whole without it
        return found
    return found
