"""How fast files are parsed: pages of PDF a CPU-second, and the memory of the processes that parse.

The pages are made here: prose with running heads, two columns, tables, an outline. pypdf reads the same files where it
is installed; PyMuPDF is not in question (AGPL).
"""

from __future__ import annotations

import argparse
import json
import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

from tests.loaders.made import PROSE, Pdf, wrapped

from knotwork import Document, loaders

PAGES, FILES = 1_000, 40


def make(folder: Path) -> None:
    for number in range(FILES):
        pdf = Pdf(pageCompression=1)
        pdf.canvas.setTitle(f"Report {number}")
        for page in range(1, PAGES // FILES + 1):
            pdf.say(72, 40, "Annals of the Northern Survey", 8)
            pdf.say(290, 815, f"{page}", 9)
            pdf.say(72, 80, f"{page} Findings of page {page}", 14, "Helvetica-Bold")
            if page % 3:
                pdf.lines(72, 110, wrapped(f"File {number}, page {page}. " + 11 * PROSE, 88))
            else:
                pdf.lines(60, 110, wrapped(f"File {number}, page {page}. " + 6 * PROSE, 46), 10)
                pdf.lines(320, 110, wrapped(6 * PROSE, 46), 10)
            for row in range(6):
                for column, cell in enumerate(("Alpha core", f"{40 + row} m", f"{12 * row} kg")):
                    pdf.say(72 + 130 * column, 660 + 14 * row, cell, 10)
            pdf.canvas.bookmarkPage(f"p{page}")
            pdf.canvas.addOutlineEntry(f"Findings of page {page}", f"p{page}", 0)
            pdf.page()
        (folder / f"report{number:02}.pdf").write_bytes(pdf.data())


def ours(folder: Path) -> dict[str, float]:
    before, began = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    own = time.process_time()
    files = [file for file in loaders.find(folder) if isinstance(file, loaders.Found)]
    documents = [item for _, items in loaders.read_all(files) for item in items if isinstance(item, Document)]
    wall, own = time.perf_counter() - began, time.process_time() - own
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    pages = sum(len(document.metadata["page_starts"]) for document in documents)
    assert pages == PAGES
    assert all(f"page {PAGES // FILES}. The survey" in document.text for document in documents)
    assert not any("Annals" in document.text for document in documents)
    cpu = own + after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "pages_a_cpu_second": round(pages / cpu, 1),
        "cpu_s": round(cpu, 2),
        "wall_s": round(wall, 2),
        "largest_process_mb": round(after.ru_maxrss / 1024, 1),
    }


def pypdf(folder: Path) -> dict[str, float] | None:
    try:
        from pypdf import PdfReader
    except ImportError:
        return None
    began = time.process_time()
    pages = sum(len([page.extract_text() for page in PdfReader(path).pages]) for path in sorted(folder.glob("*.pdf")))
    return {"pages_a_cpu_second": round(pages / (time.process_time() - began), 1)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", default="benchmarks/results/parsing.json")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        make(Path(name))
        results = {"knotwork": ours(Path(name)), "pypdf, text only": pypdf(Path(name))}
    print(json.dumps(results, indent=1))
    Path(arguments.out).write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
