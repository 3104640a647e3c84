"""Files of every kind that people have, made here: `FILES` maps a name to a function that gives its bytes."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Callable, Sequence
from datetime import date
from typing import Any

PROSE = (
    "The survey party crossed the moraine in spring and set up its instruments beside the ice. "
    "Every core was cut into lengths of one metre, weighed, and carried down to the hut before dark. "
    "The log says that the deepest layer was older than the oldest map of the valley. "
)
ZH = "测量队在春天穿过冰碛，在冰川旁架起仪器。每根冰芯都切成一米长，称重后在天黑前运到山下的小屋。"

Make = Callable[[], bytes]
FILES: dict[str, Make] = {}


def made(name: str) -> Callable[[Make], Make]:
    def add(function: Make) -> Make:
        FILES[name] = function
        return function

    return add


# -- PDF ------------------------------------------------------------------------------------------


class Pdf:
    """A PDF written line by line, places in points from the upper left of an A4 page."""

    width, height = 595.0, 842.0

    def __init__(self, **options: Any) -> None:
        from reportlab.pdfgen.canvas import Canvas

        self.file = io.BytesIO()
        self.canvas = Canvas(self.file, pagesize=(self.width, self.height), invariant=1, **options)

    def say(self, x: float, y: float, text: str, size: float = 11, font: str = "Helvetica") -> None:
        self.canvas.setFont(font, size)
        self.canvas.drawString(x, self.height - y, text)

    def lines(self, x: float, y: float, lines: Sequence[str], size: float = 11, font: str = "Helvetica") -> None:
        for number, line in enumerate(lines):
            self.say(x, y + 1.3 * size * number, line, size, font)

    def page(self) -> None:
        self.canvas.showPage()

    def data(self) -> bytes:
        self.canvas.save()
        return self.file.getvalue()


def wrapped(text: str, width: int) -> list[str]:
    import textwrap

    return textwrap.wrap(text, width)


def pdf_of(*pages: str, **options: Any) -> bytes:
    pdf = Pdf(**options)
    for text in pages:
        pdf.lines(72, 100, wrapped(text, 80))
        pdf.page()
    return pdf.data()


@made("plain.pdf")
def _() -> bytes:
    return pdf_of(PROSE, "The second page speaks of the hut.")


@made("two-columns.pdf")
def _() -> bytes:
    pdf = Pdf()
    left, right = (
        wrapped("Left column begins here. " + 4 * PROSE, 40),
        wrapped("Right column goes on. " + 4 * PROSE, 40),
    )
    pdf.lines(60, 100, left)
    pdf.lines(320, 100, right)
    return pdf.data()


@made("two-columns-written-across.pdf")
def _() -> bytes:
    pdf = Pdf()
    left, right = (
        wrapped("Left column begins here. " + 4 * PROSE, 40),
        wrapped("Right column goes on. " + 4 * PROSE, 40),
    )
    for number, (one, other) in enumerate(zip(left, right, strict=False)):
        pdf.say(60, 100 + 14 * number, one)
        pdf.say(320, 100 + 14 * number, other)
    return pdf.data()


def with_heads(pages: int) -> bytes:
    pdf = Pdf(pageCompression=1)
    pdf.canvas.setTitle("Ice and Instruments")
    for number in range(1, pages + 1):
        pdf.say(72, 40, "Annals of the Northern Survey", 8)
        pdf.say(480, 40, f"Volume {number // 50 + 1}", 8)
        pdf.lines(72, 100, wrapped(f"Entry {number}: mark{number} was set. " + 3 * PROSE, 85))
        pdf.say(290, 810, f"- {number} -", 9)
        pdf.page()
    return pdf.data()


@made("running-heads.pdf")
def _() -> bytes:
    return with_heads(9)


@made("three-hundred-pages.pdf")
def _() -> bytes:
    return with_heads(300)


@made("heads-that-change.pdf")
def _() -> bytes:
    pdf = Pdf()
    for number, word in enumerate(["aardvark", "badger", "camel", "dormouse", "ermine", "ferret"], 11):
        pdf.say(72, 40, f"{word} {number}", 9)
        pdf.lines(72, 100, wrapped(f"Of the {word} much is told. " + PROSE, 85))
        pdf.page()
    return pdf.data()


def picture() -> Any:
    from PIL import Image, ImageDraw
    from reportlab.lib.utils import ImageReader

    image = Image.new("L", (400, 300), 255)
    ImageDraw.Draw(image).text((40, 120), "text in a picture", fill=0)
    return ImageReader(image)


@made("scanned.pdf")
def _() -> bytes:
    pdf = Pdf()
    for _page in range(3):
        pdf.canvas.drawImage(picture(), 72, 300)
        pdf.page()
    return pdf.data()


@made("partly-scanned.pdf")
def _() -> bytes:
    pdf = Pdf()
    pdf.lines(72, 100, wrapped(PROSE, 80))
    pdf.page()
    for _page in range(2):
        pdf.canvas.drawImage(picture(), 72, 300)
        pdf.page()
    pdf.lines(72, 100, ["The last page has letters."])
    return pdf.data()


@made("user-password.pdf")
def _() -> bytes:
    from reportlab.lib.pdfencrypt import StandardEncryption

    return pdf_of(PROSE, encrypt=StandardEncryption("secret", "owner"))


@made("owner-password.pdf")
def _() -> bytes:
    from reportlab.lib.pdfencrypt import StandardEncryption

    return pdf_of(PROSE, encrypt=StandardEncryption("", "owner", canPrint=0, canCopy=0))


@made("chinese.pdf")
def _() -> bytes:
    from reportlab.pdfbase import pdfmetrics
    from reportlab.pdfbase.cidfonts import UnicodeCIDFont

    pdfmetrics.registerFont(UnicodeCIDFont("STSong-Light"))
    pdf = Pdf()
    pdf.say(72, 80, "冰川测量报告", 18, "STSong-Light")
    pdf.lines(72, 130, [ZH[at : at + 20] for at in range(0, len(ZH), 20)], 11, "STSong-Light")
    return pdf.data()


@made("form.pdf")
def _() -> bytes:
    pdf = Pdf()
    pdf.say(72, 100, "Name of the observer:")
    pdf.canvas.acroForm.textfield(name="observer", value="Ada Moraine", x=220, y=735, width=200, height=20)
    pdf.say(72, 140, "Signed at the hut.")
    return pdf.data()


@made("outline.pdf")
def _() -> bytes:
    pdf = Pdf()
    for number, title in enumerate(["Aims", "Methods of the survey", "Results"]):
        pdf.say(72, 80, f"{number + 1} {title}", 11, "Helvetica-Bold")
        pdf.lines(72, 110, wrapped(f"Here {title.lower()} are told. " + PROSE, 80))
        pdf.canvas.bookmarkPage(title)
        pdf.canvas.addOutlineEntry(title, title, 0)
        if title == "Methods of the survey":
            pdf.say(72, 300, "2.1 Drilling", 11, "Helvetica-Bold")
            pdf.lines(72, 330, wrapped("The drill was turned by hand. " + PROSE, 80))
            pdf.canvas.bookmarkPage("drill")
            pdf.canvas.addOutlineEntry("Drilling", "drill", 1)
        pdf.page()
    return pdf.data()


@made("headings-by-size.pdf")
def _() -> bytes:
    pdf = Pdf()
    pdf.say(72, 70, "A Study of Cores", 24, "Helvetica-Bold")
    pdf.say(72, 120, "Sampling", 16, "Helvetica-Bold")
    pdf.lines(72, 150, wrapped("Samples were drawn. " + PROSE, 80))
    pdf.say(72, 300, "Weighing", 16, "Helvetica-Bold")
    pdf.lines(72, 330, wrapped("Weights were taken. " + PROSE, 80))
    return pdf.data()


@made("hyphens.pdf")
def _() -> bytes:
    pdf = Pdf()
    pdf.lines(
        72,
        100,
        [
            "A well-known explorer wrote of an inter-",
            "national survey and of a well-",
            "known hut in the Saint-",
            "Gotthard range.",
        ],
    )
    return pdf.data()


@made("table.pdf")
def _() -> bytes:
    pdf = Pdf()
    pdf.lines(72, 80, wrapped(PROSE, 80))
    for number, row in enumerate([("Core", "Depth", "Mass"), ("Alpha", "40 m", "12 kg"), ("Beta", "55 m", "9 kg")]):
        for column, cell in enumerate(row):
            pdf.say(72 + 130 * column, 300 + 16 * number, cell)
    return pdf.data()


@made("turned.pdf")
def _() -> bytes:
    pdf = Pdf()
    for number in range(1, 5):  # a wide page, as tables have: its text runs upwards, and it is shown turned
        pdf.canvas.setPageRotation(90)
        pdf.canvas.translate(pdf.width, 0)
        pdf.canvas.rotate(90)
        pdf.say(72, 842 - 560, "Tables of the Survey", 8)
        pdf.lines(72, 842 - 480, wrapped(f"Turned page {number}. " + PROSE, 60))
        pdf.page()
    return pdf.data()


@made("truncated.pdf")
def _() -> bytes:
    return pdf_of(PROSE, PROSE)[:-700]


@made("no-xref.pdf")
def _() -> bytes:
    data = pdf_of(PROSE)
    return data[: data.rindex(b"xref\n")] + b"trailer\n<< /Root 99 0 R >>\n"


@made("cut-short.pdf")
def _() -> bytes:
    return pdf_of(PROSE)[:300]


@made("head-only.pdf")
def _() -> bytes:
    return b"%PDF-1.7\n"


@made("rubbish-before.pdf")
def _() -> bytes:
    return b"\x00\x01junk\n" + pdf_of(PROSE)


@made("empty.pdf")
def _() -> bytes:
    return b""


@made("blank-page.pdf")
def _() -> bytes:
    pdf = Pdf()
    pdf.page()
    return pdf.data()


@made("really-html.pdf")
def _() -> bytes:
    return b"<!DOCTYPE html><html><title>Not found</title><body><h1>404</h1><p>The report has moved to the archive.</p></body></html>"


@made("really-text.pdf")
def _() -> bytes:
    return b"This is plain text under a wrong name."


@made("a-pdf-named.txt")
def _() -> bytes:
    return pdf_of("A report under the wrong name.")


@made("loop-of-pages.pdf")
def _() -> bytes:
    return b"%PDF-1.4\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj\n2 0 obj <</Type/Pages/Kids[2 0 R]/Count 1000000>> endobj\ntrailer <</Root 1 0 R>>\n"


@made("bomb.pdf")
def _() -> bytes:
    stream = zlib.compress(b"BT /F1 9 Tf 9 9 Td (x) Tj ET\n" * 2_000_000, 9)
    return (
        b"%%PDF-1.4\n1 0 obj <</Type/Catalog/Pages 2 0 R>> endobj\n2 0 obj <</Type/Pages/Kids[3 0 R]/Count 1>> endobj\n"
        b"3 0 obj <</Type/Page/Parent 2 0 R/MediaBox[0 0 99 99]/Contents 4 0 R"
        b"/Resources<</Font<</F1<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>>>>>>> endobj\n"
        b"4 0 obj <</Length %d/Filter/FlateDecode>> stream\n%b\nendstream endobj\ntrailer <</Root 1 0 R>>\n"
        % (len(stream), stream)
    )


# -- Word -----------------------------------------------------------------------------------------

_W = (
    'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" '
    'xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships" '
    'xmlns:mc="http://schemas.openxmlformats.org/markup-compatibility/2006" '
    'xmlns:wps="http://schemas.microsoft.com/office/word/2010/wordprocessingShape" xmlns:v="urn:schemas-microsoft-com:vml"'
)
_OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
_DOCX = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"


def zipped(parts: dict[str, str | bytes]) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in parts.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return file.getvalue()


def docx_of(body: str, parts: dict[str, str] | None = None, type: str = _DOCX) -> bytes:
    """A .docx with the XML of its body, and further parts ("footnotes", "endnotes", "comments", "header1")."""
    parts = parts or {}
    styles = "".join(
        f'<w:style w:type="paragraph" w:styleId="H{level}"><w:name w:val="heading {level}"/></w:style>'
        for level in (1, 2, 3)
    )
    links = "".join(
        f'<Relationship Id="r{name}" Type="{_OFFICE}/{name.rstrip("0123456789")}" Target="{name}.xml"/>'
        for name in ("styles", *parts)
    )
    package = "http://schemas.openxmlformats.org/package/2006"
    found: dict[str, str | bytes] = {
        "[Content_Types].xml": f'<Types xmlns="{package}/content-types"><Default Extension="xml" ContentType="application/xml"/>'
        f'<Override PartName="/word/document.xml" ContentType="{type}"/></Types>',
        "_rels/.rels": f'<Relationships xmlns="{package}/relationships"><Relationship Id="a" Type="{_OFFICE}/officeDocument" '
        'Target="word/document.xml"/></Relationships>',
        "docProps/core.xml": '<cp:coreProperties xmlns:cp="c" xmlns:dc="d" xmlns:dcterms="t"><dc:title>Field Report</dc:title>'
        "<dc:creator>Ada Moraine</dc:creator><dcterms:modified>2024-05-06T10:00:00Z</dcterms:modified></cp:coreProperties>",
        "word/_rels/document.xml.rels": f'<Relationships xmlns="{package}/relationships">{links}</Relationships>',
        "word/styles.xml": f"<w:styles {_W}>{styles}</w:styles>",
        "word/document.xml": f"<w:document {_W}><w:body>{body}</w:body></w:document>",
    }
    found |= {f"word/{name}.xml": content for name, content in parts.items()}
    return zipped(found)


def p(text: str, style: str = "", more: str = "") -> str:
    under = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f'<w:p>{under}<w:r><w:t xml:space="preserve">{text}</w:t></w:r>{more}</w:p>'


def table(*rows: Sequence[str]) -> str:
    cells = ("".join(f"<w:tc>{p(cell)}</w:tc>" for cell in row) for row in rows)
    return "<w:tbl>" + "".join(f"<w:tr>{row}</w:tr>" for row in cells) + "</w:tbl>"


@made("headings.docx")
def _() -> bytes:
    return docx_of(
        p("Aims", "H1")
        + p(PROSE)
        + p("Drilling", "H2")
        + p("The drill was turned by hand.")
        + p("Results", "H1")
        + p("Old ice.")
    )


@made("tables.docx")
def _() -> bytes:
    inner = "<w:tbl><w:tr><w:tc>" + p("outer") + table(["in one", "in two"]) + p("") + "</w:tc></w:tr></w:tbl>"
    return docx_of(
        p("Cores:") + table(["Core", "Depth"], ["Alpha", "40 m"], ["Beta", "55 m"]) + p("After the table.") + inner
    )


@made("notes.docx")
def _() -> bytes:
    mark = '<w:r><w:footnoteReference w:id="2"/></w:r>'
    end = '<w:r><w:endnoteReference w:id="3"/></w:r>'
    notes = {
        "footnotes": f'<w:footnotes {_W}><w:footnote w:id="2">{p("The hut burned down in 1931.")}</w:footnote></w:footnotes>',
        "endnotes": f'<w:endnotes {_W}><w:endnote w:id="3">{p("See the log of the survey.")}</w:endnote></w:endnotes>',
    }
    return docx_of(p("They slept in the hut.", more=mark) + p("They wrote it down.", more=end), notes)


@made("tracked-changes.docx")
def _() -> bytes:
    changes = (
        '<w:ins w:id="1" w:author="A"><w:r><w:t xml:space="preserve">added words </w:t></w:r></w:ins>'
        '<w:del w:id="2" w:author="A"><w:r><w:delText>struck words</w:delText></w:r></w:del>'
        "<w:r><w:t>and the end.</w:t></w:r>"
    )
    return docx_of(p("The beginning, ", more=changes))


@made("comments.docx")
def _() -> bytes:
    comment = f'<w:comments {_W}><w:comment w:id="0">{p("Is this so?")}</w:comment></w:comments>'
    return docx_of(p("A claim is made.", more='<w:r><w:commentReference w:id="0"/></w:r>'), {"comments": comment})


@made("text-box.docx")
def _() -> bytes:
    content = f"<w:txbxContent>{p('Words in a box.')}</w:txbxContent>"
    box = (
        f'<w:r><mc:AlternateContent><mc:Choice Requires="wps"><w:drawing><wps:wsp><wps:txbx>{content}</wps:txbx></wps:wsp>'
        f"</w:drawing></mc:Choice><mc:Fallback><w:pict><v:textbox>{content}</v:textbox></w:pict></mc:Fallback>"
        "</mc:AlternateContent></w:r>"
    )
    return docx_of(p("Before the box.", more=box))


@made("header-and-link.docx")
def _() -> bytes:
    header = f"<w:hdr {_W}>{p('Confidential, do not copy')}</w:hdr>"
    link = "<w:hyperlink><w:r><w:t>linked words</w:t></w:r></w:hyperlink>"
    control = f"<w:sdt><w:sdtContent>{p('In a control.')}</w:sdtContent></w:sdt>"
    return docx_of(p("See ", more=link) + control, {"header1": header})


@made("chinese.docx")
def _() -> bytes:
    return docx_of(p("冰川测量", "H1") + p(ZH))


@made("macros.docm")
def _() -> bytes:
    return docx_of(p("A file with macros."), type="application/vnd.ms-word.document.macroEnabled.main+xml")


@made("template.dotx")
def _() -> bytes:
    return docx_of(
        p("A letter to be filled in."),
        type="application/vnd.openxmlformats-officedocument.wordprocessingml.template.main+xml",
    )


@made("nothing.docx")
def _() -> bytes:
    return docx_of(p(""))


@made("no-document.docx")
def _() -> bytes:
    return zipped({"word/other.xml": "<a/>", "[Content_Types].xml": "<Types/>"})


@made("broken-xml.docx")
def _() -> bytes:
    return docx_of("<w:p><w:r>")


@made("cut-short.docx")
def _() -> bytes:
    return docx_of(p(PROSE))[:400]


@made("encrypted.docx")
def _() -> bytes:
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(600) + "EncryptedPackage".encode("utf-16-le") + bytes(600)


@made("bomb.docx")
def _() -> bytes:
    return zipped({"word/document.xml": b" " * 60_000_000, "[Content_Types].xml": "<Types/>"})


@made("really-xlsx.docx")
def _() -> bytes:
    return workbook({"Depths": [["Core", "Depth"], ["Alpha", 40]]})


@made("old.doc")
def _() -> bytes:
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(2000)


# -- PowerPoint and Excel -------------------------------------------------------------------------


@made("slides.pptx")
def _() -> bytes:
    from pptx import Presentation
    from pptx.chart.data import CategoryChartData
    from pptx.enum.chart import XL_CHART_TYPE
    from pptx.util import Inches

    show = Presentation()
    show.core_properties.title = "Ice in Pictures"
    first = show.slides.add_slide(show.slide_layouts[1])
    first.shapes.title.text, first.placeholders[1].text = "Why ice", "Ice keeps a record.\nIt can be read."
    first.notes_slide.notes_text_frame.text = "Say that the hut is warm."
    second = show.slides.add_slide(show.slide_layouts[5])
    second.shapes.title.text = "Depths"
    cells = second.shapes.add_table(2, 2, Inches(1), Inches(2), Inches(4), Inches(1)).table
    for row, (core, depth) in enumerate([("Core", "Depth"), ("Alpha", "40 m")]):
        cells.cell(row, 0).text, cells.cell(row, 1).text = core, depth
    data = CategoryChartData()
    data.categories = ["1930", "1931"]
    data.add_series("Snow", (1.5, 2))
    second.shapes.add_chart(XL_CHART_TYPE.BAR_CLUSTERED, Inches(1), Inches(4), Inches(4), Inches(2), data)
    third = show.slides.add_slide(show.slide_layouts[6])
    group = third.shapes.add_group_shape()
    group.shapes.add_textbox(Inches(1), Inches(1), Inches(3), Inches(1)).text_frame.text = "Words in a group."
    file = io.BytesIO()
    show.save(file)
    return file.getvalue()


@made("chinese.pptx")
def _() -> bytes:
    from pptx import Presentation

    show = Presentation()
    slide = show.slides.add_slide(show.slide_layouts[1])
    slide.shapes.title.text, slide.placeholders[1].text = "冰川", ZH
    file = io.BytesIO()
    show.save(file)
    return file.getvalue()


@made("pictures-only.pptx")
def _() -> bytes:
    from pptx import Presentation

    show = Presentation()
    show.slides.add_slide(show.slide_layouts[6])
    file = io.BytesIO()
    show.save(file)
    return file.getvalue()


@made("broken.pptx")
def _() -> bytes:
    return zipped({"ppt/presentation.xml": "<broken", "[Content_Types].xml": "<Types/>"})


def workbook(sheets: dict[str, list[list[Any]]], hidden: Sequence[str] = ()) -> bytes:
    import openpyxl

    book = openpyxl.Workbook()
    book.remove(book.active)
    for name, rows in sheets.items():
        sheet = book.create_sheet(name)
        sheet.sheet_state = "hidden" if name in hidden else "visible"
        for row in rows:
            sheet.append(row)
    file = io.BytesIO()
    book.save(file)
    return file.getvalue()


@made("depths.xlsx")
def _() -> bytes:
    rows = [["Core", "Depth", "Drawn on", "Dry"], ["Alpha", 40.5, date(1931, 5, 6), True], ["Beta", 55, None, False]]
    return workbook(
        {"Depths": rows, "Remarks": [["The hut was cold."]], "Lists": [["a"]], "Empty": []}, hidden=["Lists"]
    )


@made("many-rows.xlsx")
def _() -> bytes:
    return workbook({"Log": [["Day", "Snow"], *([f"day {day}", day / 4] for day in range(20_000))]})


@made("formulas-never-counted.xlsx")
def _() -> bytes:
    return workbook({"Sums": [["=1+1"]]})


@made("chinese.xlsx")
def _() -> bytes:
    return workbook({"深度": [["冰芯", "深度（米）"], ["甲", 40], ["乙", 55]]})


@made("broken.xlsx")
def _() -> bytes:
    return zipped({"xl/workbook.xml": "<workbook", "[Content_Types].xml": "<Types/>"})


@made("binary.xlsb")
def _() -> bytes:
    return zipped({"xl/workbook.bin": b"\0\1"})


# -- web pages and others -------------------------------------------------------------------------


@made("frames.html")
def _() -> bytes:
    return (
        b"<html><head><title>The Hut</title><script>var x = 'no text';</script></head><frameset><frame src='a.html'>"
        b"<noframes><body><p>The hut stands at the moraine.</p></body></noframes></frameset></html>"
    )


@made("page.html")
def _() -> bytes:
    menu = "".join(f"<li><a href='/{n}'>Section {n}</a></li>" for n in range(30))
    return (
        "<!doctype html><html><head><title>Ice core found – The Valley Post</title>"
        "<meta property='article:published_time' content='2024-03-02T08:00:00Z'>"
        "<link rel='canonical' href='https://valley.example/ice-core'><style>p { color: red }</style></head>"
        f"<body><nav><ul>{menu}</ul></nav><main><h1>Ice core found</h1><p>{PROSE}</p><h2>What it holds</h2><p>{PROSE}</p>"
        "<table><tr><th>Core</th><th>Depth</th></tr><tr><td><p>Alpha</p></td><td>40 m</td></tr></table></main>"
        "<footer>All rights reserved</footer><script>track()</script></body></html>"
    ).encode()


@made("gbk.html")
def _() -> bytes:
    return f"<html><head><meta charset='gbk'><title>冰川</title></head><body><p>{ZH}</p></body></html>".encode("gbk")


@made("script-only.html")
def _() -> bytes:
    return b"<html><body><script>render()</script><div id='app'></div></body></html>"


@made("really-pdf.html")
def _() -> bytes:
    return pdf_of("A report that a mirror named wrongly.")


@made("page.php")
def _() -> bytes:
    return b"<!DOCTYPE html><html><title>Old page</title><body><p>Words of an old page.</p></body></html>"


@made("letter.eml")
def _() -> bytes:
    return b"From: ada@hut.example\r\nTo: ben@valley.example\r\nSubject: The hut\r\n\r\nDear Ben, the hut is warm.\r\n"


@made("archive.zip")
def _() -> bytes:
    return zipped({"a.txt": "text", "b.txt": "text"})


@made("bundle")
def _() -> bytes:
    return zipped({"a.txt": "text"})


@made("book.epub")
def _() -> bytes:
    return zipped({"mimetype": "application/epub+zip", "a.xhtml": "<p>x</p>"})


@made("sheet.ods")
def _() -> bytes:
    return zipped({"mimetype": "application/vnd.oasis.opendocument.spreadsheet", "content.xml": "<x/>"})


@made("letter.rtf")
def _() -> bytes:
    return rb"{\rtf1 Dear Ben}"


@made("picture.png")
def _() -> bytes:
    return b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR" + bytes(100)
