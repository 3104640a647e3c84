"""Whatever is given to `knotwork index`: a clear outcome, and never a traceback. Real runs, with the fast profile."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from tests.cli.scripted import NASTY, Knotwork, Ran
from tests.cli.test_console import UNSAFE

BINARY = bytes(range(256)) * 40
CHINESE = "玛丽·居里在巴黎发现了镭。她的丈夫是皮埃尔·居里。他们一起在实验室工作多年。\n" * 4


@pytest.fixture
def docs(tmp_path: Path) -> Path:
    folder = tmp_path / "docs"
    folder.mkdir()
    return folder


def index(run: Knotwork, *args: object) -> Ran:
    return run("index", *args, "--profile", "fast")


def counts(run: Knotwork) -> dict[str, int]:
    return dict(json.loads(run("status", "--json").out))


# -- nothing to index -----------------------------------------------------------------------------


def test_an_empty_folder_is_an_error_that_says_so(run: Knotwork, docs: Path) -> None:
    said = index(run, docs)
    assert (said.code, said.out) == (1, "")
    assert said.err == f"error: nothing to index: there are no files in {docs}\n"


def test_a_path_that_does_not_exist_is_an_error_that_names_it(run: Knotwork, docs: Path) -> None:
    said = index(run, docs.with_name("docz"))
    assert said.code == 1
    assert said.err.startswith("error: no such file or folder")
    assert "did you mean 'docs'" in said.err


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("a.bin", BINARY, "binary"),
        ("a.txt", BINARY, "binary"),
        ("a.txt", b"", "empty"),
        ("a.md", " \n\t\r\n\u3000".encode(), "white space"),
        ("a.pdf", b"%PDF-1.7 ...", "PDF"),
        ("a.json", b'{"text": ', "JSON"),
        ("a.csv", b"", "empty"),
    ],
)
def test_a_file_without_text_is_an_error_with_the_reason(
    run: Knotwork, docs: Path, name: str, content: bytes, reason: str
) -> None:
    (docs / name).write_bytes(content)
    said = index(run, docs)
    assert (said.code, said.out) == (1, "")
    error = said.err.splitlines()[-1]
    assert error.startswith(f"error: nothing could be indexed: {name}: ")
    assert reason in error


def test_asking_an_index_without_documents_says_that_there_are_none(run: Knotwork, docs: Path) -> None:
    (docs / "a.txt").touch()
    index(run, docs, "--index", "kb")
    (docs / "b.txt").write_text("Marie Curie lived in Paris.", encoding="utf-8")
    assert index(run, docs).code == 0
    (docs / "b.txt").unlink()
    assert "1 removed" in index(run, docs).out
    for verb in ("ask", "search"):
        said = run(verb, "Who lived in Paris?")
        assert said.code == 3
        assert "kb holds no documents" in said.err


def test_what_cannot_be_read_is_left_out_and_the_rest_goes_on(run: Knotwork, docs: Path) -> None:
    (docs / "good.txt").write_text("Marie Curie lived in Paris.", encoding="utf-8")
    (docs / "bad.bin").write_bytes(BINARY)
    (docs / "none.txt").touch()
    said = index(run, docs)
    assert said.code == 0
    assert "1 added, 0 changed, 0 removed, 0 unchanged, 2 left out" in said.out
    assert "  bad.bin: looks binary" in said.err
    assert "  none.txt: empty" in said.err


# -- little, and odd ------------------------------------------------------------------------------


def test_one_sentence_is_an_index(run: Knotwork, docs: Path) -> None:
    (docs / "a.txt").write_text("Marie Curie discovered radium.", encoding="utf-8")
    assert index(run, docs).code == 0
    assert "Marie Curie discovered radium." in run("search", "Who discovered radium?").out
    assert run("ask", "Who discovered radium?").code == 0


def test_a_text_without_any_name_is_found_by_its_words_and_the_lack_is_told(run: Knotwork, docs: Path) -> None:
    (docs / "a.txt").write_text("it rains and the sheep sleep in the green grass.\n" * 3, encoding="utf-8")
    said = index(run, docs)
    assert said.code == 0
    assert "no names were found" in said.err
    assert counts(run)["entities"] == 0
    assert "sheep" in run("search", "where do the sheep sleep?").out


@pytest.mark.parametrize(
    ("content", "question", "found"),
    [
        (b"Marie Curie lived in Paris \xff\xfe\x80 for long.\n" * 3, "Where did Marie Curie live?", "Marie Curie"),
        ("Marie Curie lived in Paris; Zoë too.\n".encode("utf-16"), "Where did Zoë live?", "Zoë too."),
        (CHINESE.encode("gb18030"), "居里", "玛丽·居里在巴黎发现了镭。"),
        (CHINESE.encode("utf-8-sig"), "居里", "玛丽·居里在巴黎发现了镭。"),
    ],
    ids=["invalid UTF-8", "UTF-16 with BOM", "GB18030", "UTF-8 with BOM"],
)  # fmt: skip
def test_a_text_in_any_encoding_is_read_and_found(
    run: Knotwork, docs: Path, content: bytes, question: str, found: str
) -> None:
    (docs / "a.txt").write_bytes(content)
    assert index(run, docs).code == 0
    data = json.loads(run("search", question, "--json").out)
    assert found in data["evidence"][0]["text"]
    assert run("ask", question).code in (0, 3)


def test_a_path_with_blanks_and_chinese_is_read(run: Knotwork, tmp_path: Path) -> None:
    folder = tmp_path / "我 的 文件"
    folder.mkdir()
    (folder / "居里 夫人.txt").write_text("Marie Curie lived in Paris.", encoding="utf-8")
    assert index(run, folder, "--index", "知识 库").code == 0
    said = run("search", "Marie Curie", "--index", "知识 库")
    assert "居里 夫人.txt:0-27" in said.out


@pytest.mark.parametrize("size", [200_000, pytest.param(5_000_000, marks=pytest.mark.slow)])
@pytest.mark.parametrize("word", ["x", "saw Gamma Delta near London and went home to Alpha Beta "])
def test_a_long_single_line_is_read(run: Knotwork, docs: Path, word: str, size: int) -> None:
    (docs / "a.txt").write_text((word * size)[:size], encoding="utf-8")
    assert index(run, docs).code == 0
    assert counts(run)["chunks"] > size / 3000
    assert run("search", "Gamma Delta", "-k", "2").code in (0, 3)


# -- hostile --------------------------------------------------------------------------------------


def test_markup_and_escape_codes_in_a_text_are_shown_and_kept(
    run: Knotwork, docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"Marie Curie lived in Paris. {NASTY}"
    (docs / "a.txt").write_text(text, encoding="utf-8")
    assert index(run, docs).code == 0
    monkeypatch.setenv("NO_COLOR", "1")
    for words in (["search", "Marie Curie"], ["ask", "Where did Marie Curie live?"], ["export", "--output", "-"]):
        for terminal in ("", "1"):
            monkeypatch.setenv("TTY_COMPATIBLE", terminal)
            said = run(*words)
            assert not set(UNSAFE) & set(said.out + said.err)
    monkeypatch.delenv("TTY_COMPATIBLE")
    assert "[bold]x[/bold] \\x1b[31mred" in run("search", "Marie Curie").out
    assert json.loads(run("search", "Marie Curie", "--json").out)["evidence"][0]["text"] == text


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no such file names")
@pytest.mark.parametrize("name", [b"\x1b[31mred[bold].txt", b"\xff\xfe.txt", b"new\nline.txt"])
def test_escape_codes_in_a_file_name_reach_no_terminal(run: Knotwork, docs: Path, name: bytes) -> None:
    import os

    for content in (b"", b"Marie Curie lived in Paris."):
        try:
            Path(os.fsdecode(bytes(docs) + b"/" + name)).write_bytes(content)
        except OSError:
            pytest.skip("this file system has no such names")
        said = index(run, docs)
        assert said.code == (0 if content else 1)
        assert not set(UNSAFE) & set(said.out + said.err)
    said = run("search", "Marie Curie")
    assert said.code == 0
    assert not set(UNSAFE) & set(said.out)


# -- wrong indexes --------------------------------------------------------------------------------


@pytest.mark.parametrize("words", [["ask", "Who?"], ["search", "x"], ["status"], ["export", "--output", "x.json"]])
def test_an_index_that_is_not_there_is_an_error_that_says_how_to_make_it(run: Knotwork, words: list[str]) -> None:
    said = run(*words)
    assert (said.code, said.out) == (1, "")
    assert "no index at kb" in said.err
    assert "knotwork index" in said.err


@pytest.mark.parametrize("words", [["ask", "Who?"], ["status"], ["index", "docs"]])
def test_a_file_in_place_of_the_index_and_a_foreign_database_are_errors(
    run: Knotwork, tmp_path: Path, docs: Path, words: list[str]
) -> None:
    (docs / "a.txt").write_text("Marie Curie lived in Paris.", encoding="utf-8")
    (tmp_path / "file").touch()
    said = run(*words, "--index", "file")
    assert said.code == 1
    assert said.err.startswith("error: ")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "index.db").write_bytes(b"not a database at all" * 100)
    said = run(*words, "--index", "other")
    assert said.code == 1
    assert said.err.startswith("error: ")


def test_settings_inside_an_index_are_refused(run: Knotwork, tmp_path: Path, docs: Path) -> None:
    (docs / "a.txt").write_text("Marie Curie lived in Paris.", encoding="utf-8")
    assert index(run, docs).code == 0
    (tmp_path / "kb" / "knotwork.toml").write_text("seed = 7")
    said = index(run, docs, "--config", "kb/knotwork.toml")
    assert said.code == 1
    assert "lies in an index" in said.err


def test_the_index_inside_the_folder_that_is_indexed_is_no_document(run: Knotwork, tmp_path: Path, docs: Path) -> None:
    (docs / "a.txt").write_text("Marie Curie lived in Paris.", encoding="utf-8")
    for _ in range(2):
        assert index(run, ".").code == 0
    assert counts(run)["documents"] == 1
