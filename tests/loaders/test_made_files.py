"""Every kind of file that people have, and what becomes of it. The table below is the promise."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from tests.loaders.made import FILES, PROSE, ZH

from knotwork import loaders
from knotwork.graph import Document
from knotwork.loaders import Limits, Skipped
from knotwork.places import Places

for library in ("mammoth", "openpyxl", "pptx", "pypdfium2", "reportlab"):
    pytest.importorskip(library)

OCR = "ocrmypdf"


@dataclass(frozen=True)
class Reads:
    """The file gives a Document of a kind that holds these words, in this order, and none of those."""

    kind: str
    has: tuple[str, ...]
    lacks: tuple[str, ...] = ()
    pages: int = 0
    title: str = ""
    headings: tuple[str, ...] = ()  # of its outline
    gaps: tuple[str, ...] = ()  # words of what is told of parts without text


@dataclass(frozen=True)
class Skips:
    """The file gives none, for a reason in which these words stand."""

    because: str


OUTCOMES: dict[str, Reads | Skips] = {
    "plain.pdf": Reads("pdf", (PROSE[:-1], "The second page speaks of the hut."), pages=2),
    "two-columns.pdf": Reads(
        "pdf",
        (
            "Left column begins",
            "the valley.\n\nRight column goes on.",
        ),
        pages=1,
    ),
    "two-columns-written-across.pdf": Reads(
        "pdf",
        ("Left column begins", "was older than the oldest map of the valley. The survey", "Right column goes on."),
        ("Right column goes on. The survey party crossed\nthe",),
        pages=1,
    ),
    "running-heads.pdf": Reads(
        "pdf", ("Entry 1: mark1", "Entry 9: mark9"), ("Annals", "Volume", "- 3 -"), 9, "Ice and Instruments"
    ),
    "three-hundred-pages.pdf": Reads(
        "pdf", ("mark1 ", "mark300 "), ("Annals", "Volume 2", "- 7 -"), 300, "Ice and Instruments"
    ),
    "heads-that-change.pdf": Reads("pdf", ("Of the aardvark", "Of the ferret"), ("aardvark 11", "camel 13"), 6),
    "scanned.pdf": Skips(OCR),
    "partly-scanned.pdf": Reads("pdf", (PROSE[:40], "The last page has letters."), pages=4, gaps=("page 2-3", OCR)),
    "user-password.pdf": Skips("password"),
    "owner-password.pdf": Reads("pdf", (PROSE[:-1],), pages=1),
    "chinese.pdf": Reads("pdf", (ZH,), pages=1, title="冰川测量报告", headings=("冰川测量报告",)),
    "form.pdf": Reads("pdf", ("Name of the observer:\tAda Moraine", "Signed at the hut."), pages=1),
    "outline.pdf": Reads(
        "pdf",
        ("1 Aims", "2.1 Drilling", "3 Results"),
        pages=3,
        headings=("1 Aims", "2 Methods of the survey", "2.1 Drilling", "3 Results"),
    ),
    "headings-by-size.pdf": Reads(
        "pdf",
        ("Sampling\n\nSamples were drawn.",),
        pages=1,
        title="A Study of Cores",
        headings=("A Study of Cores", "Sampling", "Weighing"),
    ),
    "hyphens.pdf": Reads(
        "pdf",
        ("wrote of an international survey and of a well-known hut in the Saint-Gotthard range.",),
        pages=1,
    ),
    "table.pdf": Reads("pdf", ("Core\tDepth\tMass\nAlpha\t40 m\t12 kg\nBeta\t55 m\t9 kg",), pages=1),
    "turned.pdf": Reads("pdf", ("Turned page 1. " + PROSE[:40], "Turned page 4."), ("Tables of the Survey",), pages=4),
    "truncated.pdf": Skips("broken"),
    "no-xref.pdf": Reads("pdf", (PROSE[:-1],), pages=1),
    "cut-short.pdf": Skips("broken"),
    "head-only.pdf": Skips("broken"),
    "rubbish-before.pdf": Reads("pdf", (PROSE[:-1],), pages=1),
    "empty.pdf": Skips("empty"),
    "blank-page.pdf": Skips(OCR),
    "really-html.pdf": Reads("html", ("The report has moved",), title="Not found", headings=("404",)),
    "really-text.pdf": Skips("is no pdf file by its first bytes"),
    "a-pdf-named.txt": Reads("pdf", ("A report under the wrong name.",), pages=1),
    "loop-of-pages.pdf": Skips("1,000,000 pages"),
    "bomb.pdf": Skips("stopped the program that reads it" if sys.platform == "linux" else ""),
    "headings.docx": Reads(
        "docx",
        ("Aims", "The drill was turned by hand."),
        title="Field Report",
        headings=("Aims", "Drilling", "Results"),
    ),
    "tables.docx": Reads(
        "docx", ("Core\tDepth\nAlpha\t40 m\nBeta\t55 m", "After the table.", "outer", "in one\tin two")
    ),
    "notes.docx": Reads(
        "docx", ("slept in the hut.", "wrote it down.", "The hut burned down in 1931.", "See the log"), ("[1]", "↑")
    ),
    "tracked-changes.docx": Reads("docx", ("The beginning, added words and the end.",), ("struck",)),
    "comments.docx": Reads("docx", ("A claim is made.",), ("Is this so?",)),
    "text-box.docx": Reads(
        "docx", ("Before the box.", "Words in a box."), ("box.\n\nWords in a box.\n\nWords in a box.",)
    ),
    "header-and-link.docx": Reads("docx", ("See linked words", "In a control."), ("Confidential",)),
    "chinese.docx": Reads("docx", (ZH,), headings=("冰川测量",)),
    "macros.docm": Reads("docx", ("A file with macros.",)),
    "template.dotx": Reads("docx", ("A letter to be filled in.",)),
    "nothing.docx": Skips("holds no text"),
    "no-document.docx": Skips("broken"),
    "broken-xml.docx": Skips("broken"),
    "cut-short.docx": Skips("broken"),
    "encrypted.docx": Skips("encrypted"),
    "bomb.docx": Skips("would unpack to 57 MB"),
    "really-xlsx.docx": Reads("xlsx", ("Core: Alpha; Depth: 40",), pages=1, headings=("Depths",)),
    "old.doc": Skips("old office format"),
    "slides.pptx": Reads(
        "pptx",
        (
            "Why ice",
            "Ice keeps a record.",
            "Say that the hut is warm.",
            "Depths",
            "Core\tDepth\nAlpha\t40 m",
            "1931\t2",
            "Words in a group.",
        ),
        pages=3,
        title="Ice in Pictures",
        headings=("Why ice", "Depths"),
    ),
    "chinese.pptx": Reads("pptx", (ZH,), pages=1, headings=("冰川",)),
    "pictures-only.pptx": Skips("holds no text"),
    "broken.pptx": Skips("broken"),
    "depths.xlsx": Reads(
        "xlsx",
        (
            "Core: Alpha; Depth: 40.5; Drawn on: 1931-05-06; Dry: yes.\nCore: Beta; Depth: 55; Dry: no.",
            "The hut was cold.",
        ),
        pages=4,
        headings=("Depths", "Remarks"),
        gaps=("sheet Lists", "hidden", "sheet Empty", "no values"),
    ),
    "many-rows.xlsx": Reads(
        "xlsx", ("Day: day 0; Snow: 0.\n", "Day: day 19999; Snow: 4999.75"), pages=1, headings=("Log",)
    ),
    "formulas-never-counted.xlsx": Skips("holds no values"),
    "chinese.xlsx": Reads("xlsx", ("冰芯: 甲; 深度（米）: 40",), pages=1, headings=("深度",)),
    "broken.xlsx": Skips("broken"),
    "binary.xlsb": Skips("binary Excel"),
    "frames.html": Reads("html", ("The hut stands at the moraine.",), ("<p>", "var x"), title="The Hut"),
    "page.html": Reads(
        "html",
        ("Ice core found", PROSE[:-1], "What it holds", "Core\tDepth\nAlpha\t40 m"),
        ("Section 3", "rights reserved", "track("),
        headings=("Ice core found", "What it holds"),
    ),
    "gbk.html": Reads("html", (ZH,), title="冰川"),
    "script-only.html": Skips("holds no text"),
    "really-pdf.html": Reads("pdf", ("A report that a mirror named wrongly.",), pages=1),
    "page.php": Reads("html", ("Words of an old page.",), title="Old page"),
    "letter.eml": Reads("txt", ("Subject: The hut", "Dear Ben, the hut is warm.")),
    "archive.zip": Skips("ZIP archive of 2 files"),
    "bundle": Skips("ZIP archive of 1 files"),
    "book.epub": Skips("EPUB"),
    "sheet.ods": Skips("OpenDocument"),
    "letter.rtf": Skips("RTF"),
    "picture.png": Skips("binary"),
}


@pytest.fixture(scope="module")
def read(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Document | Skipped]]:
    """All the files, read as an index reads a folder."""
    folder = tmp_path_factory.mktemp("files")
    for name, make in FILES.items():
        (folder / name).write_bytes(make())
    found = [file for file in loaders.find(folder) if isinstance(file, loaders.Found)]
    return {file.relative: items for file, items in loaders.read_all(found)}


def test_the_table_tells_of_every_file() -> None:
    assert OUTCOMES.keys() == FILES.keys()
    assert len(FILES) >= 60


@pytest.mark.parametrize("name", OUTCOMES)
def test_every_file_has_its_outcome(read: dict[str, list[Document | Skipped]], name: str) -> None:
    items, outcome = read[name], OUTCOMES[name]
    first = items[0]
    if isinstance(outcome, Skips):
        assert isinstance(first, Skipped), f"gave a document: {first.text[:200]!r}"
        assert outcome.because in first.reason
        return
    assert isinstance(first, Document), first.reason
    assert first.metadata["kind"] == outcome.kind
    assert list(_places(first.text, outcome.has)) == sorted(_places(first.text, outcome.has))
    for words in outcome.lacks:
        assert words not in first.text
    assert len(first.metadata.get("page_starts", ())) == outcome.pages
    assert not outcome.title or first.title == outcome.title
    assert tuple(said for _, _, said in first.metadata.get("outline", ())) == outcome.headings
    told = " ".join(f"{item.source} {item.reason}" for item in items[1:] if isinstance(item, Skipped))
    for words in outcome.gaps:
        assert words in told
    assert bool(outcome.gaps) == (len(items) > 1)


def _places(text: str, wanted: tuple[str, ...]) -> Iterator[int]:
    at = 0
    for words in wanted:
        at = text.find(words, at)
        assert at >= 0, f"{words!r} is not in {text[:2000]!r}"
        yield at


def test_pages_and_headings_are_where_the_maps_say(read: dict[str, list[Document | Skipped]]) -> None:
    for items in read.values():
        document = items[0]
        if not isinstance(document, Document):
            continue
        starts = document.metadata.get("page_starts", [])
        assert starts == sorted(starts)
        assert all(0 <= start <= len(document.text) for start in starts)
        for start, level, title in document.metadata.get("outline", []):
            assert document.text[start:].replace("\n", " ").startswith(title)
            assert 1 <= level <= 6
    (pages,) = (items[0] for name, items in read.items() if name == "three-hundred-pages.pdf")
    assert isinstance(pages, Document)
    places = Places.of(pages.metadata)
    for number in (1, 2, 150, 299, 300):
        assert places.page(pages.text.index(f"mark{number} ")) == number
    (outline,) = (items[0] for name, items in read.items() if name == "outline.pdf")
    assert isinstance(outline, Document)
    at = outline.text.index("The drill was turned")
    places = Places.of(outline.metadata)
    assert (places.page(at), places.headings(at, at + 5)) == (2, ("2 Methods of the survey", "2.1 Drilling"))


def test_what_a_file_says_of_itself_is_kept(read: dict[str, list[Document | Skipped]]) -> None:
    page, report = read["page.html"][0], read["headings.docx"][0]
    assert isinstance(page, Document)
    assert isinstance(report, Document)
    assert (page.metadata["date"], page.metadata["url"]) == ("2024-03-02", "https://valley.example/ice-core")
    slides = read["chinese.pptx"][0]
    assert isinstance(slides, Document)
    assert slides.title == "冰川"  # its file says none
    assert (report.metadata["author"], report.metadata["date"]) == ("Ada Moraine", "2024-05-06")


def test_a_file_that_takes_too_long_is_given_up_and_the_next_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.xlsx").write_bytes(FILES["many-rows.xlsx"]())
    (tmp_path / "b.txt").write_text("The hut is warm.")
    files = [file for file in loaders.find(tmp_path) if isinstance(file, loaders.Found)]
    (_, (first,)), (_, (second,)) = loaders.read_all(files, Limits(seconds=0.001))
    assert isinstance(first, Skipped)
    assert "was given up" in first.reason
    assert "KNOTWORK_FILE_SECONDS" in first.reason
    assert isinstance(second, Document)


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits a process's memory")
def test_a_file_that_takes_too_much_memory_costs_only_itself(tmp_path: Path) -> None:
    (tmp_path / "a.pdf").write_bytes(FILES["bomb.pdf"]())
    (tmp_path / "b.pdf").write_bytes(FILES["plain.pdf"]())
    files = [file for file in loaders.find(tmp_path) if isinstance(file, loaders.Found)]
    (_, (first,)), (_, (second,)) = loaders.read_all(files, Limits(megabytes=256))
    assert isinstance(first, Skipped)
    assert isinstance(second, Document)


def test_a_worker_ends_with_whoever_asked() -> None:
    worker = subprocess.Popen([sys.executable, "-P", "-m", "knotwork.loaders.worker", "512"], stdin=subprocess.PIPE)
    assert worker.stdin is not None
    worker.stdin.close()
    assert worker.wait(timeout=30) == 0


def test_a_file_in_the_working_directory_is_no_part_of_the_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "mammoth.py").write_text("raise SystemExit('this must not run')")
    (tmp_path / "a.docx").write_bytes(FILES["headings.docx"]())
    monkeypatch.chdir(tmp_path)
    (file,) = (file for file in loaders.find(tmp_path / "a.docx") if isinstance(file, loaders.Found))
    (document,) = loaders.read(file)
    assert isinstance(document, Document)
