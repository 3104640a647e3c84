"""Files that are dear to parse are parsed again only when they have changed."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from tests.loaders.made import FILES, Pdf, pdf_of

from knotwork import Index, load_settings
from knotwork.loaders import isolated
from knotwork.loaders.isolated import Workers

for library in ("mammoth", "openpyxl", "pptx", "pypdfium2", "reportlab"):
    pytest.importorskip(library)


@pytest.fixture
def parsed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files that were parsed."""
    names: list[str] = []
    real = Workers.parse

    def parse(self: Workers, format: str, path: str) -> Any:
        names.append(Path(path).name)
        return real(self, format, path)

    monkeypatch.setattr(isolated.Workers, "parse", parse)
    return names


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    (folder / "plain.pdf").write_bytes(FILES["plain.pdf"]())
    (folder / "depths.xlsx").write_bytes(FILES["depths.xlsx"]())
    (folder / "scanned.pdf").write_bytes(FILES["scanned.pdf"]())
    return folder


def opened(tmp_path: Path) -> Index:
    return Index.open(tmp_path / "kb", settings=load_settings(profile="fast"))


def test_what_has_not_changed_is_not_parsed_and_told_of_all_the_same(
    tmp_path: Path, docs: Path, parsed: list[str]
) -> None:
    with opened(tmp_path) as index:
        first = index.add(docs)
        parsed.clear()
        second = index.add(docs)
    assert (first.added, second.unchanged, second.changed) == (2, 2, 0)
    assert parsed == ["scanned.pdf"]  # it gave nothing that could be kept
    assert second.skipped == first.skipped
    assert (second.kinds, second.pages) == (first.kinds, first.pages)


def test_what_has_changed_is_parsed_again(tmp_path: Path, docs: Path, parsed: list[str]) -> None:
    with opened(tmp_path) as index:
        index.add(docs)
        (docs / "plain.pdf").write_bytes(pdf_of("The hut burned down."))
        os.utime(docs / "depths.xlsx", (1, 1))
        parsed.clear()
        report = index.add(docs)
        assert (report.changed, report.unchanged) == (1, 1)
        assert {"plain.pdf", "depths.xlsx"} < set(parsed)
        assert "burned down" in index.search("What burned down?", k=1)[0].text
        parsed.clear()
        index.add(docs)
        assert parsed == ["scanned.pdf"]


def test_a_file_that_is_gone_and_comes_back_is_parsed_again(tmp_path: Path, docs: Path, parsed: list[str]) -> None:
    with opened(tmp_path) as index:
        index.add(docs)
        data, times = (docs / "plain.pdf").read_bytes(), (docs / "plain.pdf").stat()
        (docs / "plain.pdf").unlink()
        assert index.add(docs).removed == 1
        (docs / "plain.pdf").write_bytes(data)
        os.utime(docs / "plain.pdf", ns=(times.st_atime_ns, times.st_mtime_ns))
        parsed.clear()
        assert index.add(docs).added == 1
        assert "plain.pdf" in parsed


def test_two_folders_with_files_of_one_name_stay_two(tmp_path: Path, parsed: list[str]) -> None:
    for name, words in (("one", "The hut is warm."), ("two", "The hut is cold.")):
        (tmp_path / name).mkdir()
        (tmp_path / name / "a.pdf").write_bytes(pdf_of(words))
    with opened(tmp_path) as index:
        index.add([tmp_path / "one", tmp_path / "two"])
        before = sorted((document.id, document.text) for document in index.documents)
        parsed.clear()
        report = index.add([tmp_path / "one", tmp_path / "two"])
        assert (report.unchanged, report.added, report.changed, report.removed) == (2, 0, 0, 0)
        assert parsed == []
        assert sorted((document.id, document.text) for document in index.documents) == before


def test_a_run_over_other_files_forgets_nothing(tmp_path: Path, docs: Path, parsed: list[str]) -> None:
    pdf = Pdf()
    pdf.say(72, 100, "Another file.")
    (tmp_path / "other.pdf").write_bytes(pdf.data())
    with opened(tmp_path) as index:
        index.add(docs)
        index.add(tmp_path / "other.pdf")
        parsed.clear()
        index.add([docs, tmp_path / "other.pdf"])
    assert parsed == ["scanned.pdf"]
