"""What the documentation shows is what happens."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from knotwork import Index, Settings
from knotwork.nlp import spacy_available

ROOT = Path(__file__).parent.parent
PAGES = ["README.md", "README.zh-CN.md"]
DOCS = sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md"))
DEMO = ROOT / "src" / "knotwork" / "demo" / "double-helix"


def blocks(page: str, language: str) -> list[str]:
    text = (ROOT / page).read_text("utf-8")
    return re.findall(rf"```{language}\n(.*?)```", text, re.DOTALL)


@pytest.mark.parametrize("page", PAGES)
def test_the_python_of_a_page_runs_as_it_stands(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for file in DEMO.iterdir():
        (docs / file.name).write_bytes(file.read_bytes())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KNOTWORK_PROFILE", "fast")
    found = blocks(page, "python")
    assert found
    for code in found:
        exec(compile(code, page, "exec", dont_inherit=True), {"__name__": "example"})


@pytest.mark.parametrize(
    "page", ["docs/extending.md", "docs/coming-from.md", "docs/searching.md", "docs/files.md", "docs/models.md"]
)
def test_the_python_of_a_page_prints_what_it_says(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("KNOTWORK_PROFILE", "fast")
    code = "\n".join(blocks(page, "python"))
    exec(compile(code, page, "exec", dont_inherit=True), {"__name__": "example"})
    assert capsys.readouterr().out.splitlines() == re.findall(r"# -> (.*)", code)


@pytest.mark.skipif(not spacy_available(), reason="the transcript is that of the nlp profile")
def test_the_transcript_of_the_readme_is_what_the_demo_prints(tmp_path: Path) -> None:
    question, answer, sources = blocks("README.md", "text")[0].split("\n\n")
    with Index.open(tmp_path / "kb", settings=Settings(profile="nlp")) as index:
        index.add(DEMO)
        given = index.ask(question.strip())
    assert str(given) == answer.strip()
    for citation in given.citations:
        assert f"[{citation.n}] {citation.title} — {citation.source}" in sources
        assert citation.quote in sources


@pytest.mark.parametrize("page", [*PAGES, "CONTRIBUTING.md", "benchmarks/README.md", *DOCS])
def test_every_file_that_a_page_links_to_is_there(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    for link in re.findall(r"\]\((?!https?:|#)([^)#]+)", text):
        assert ((ROOT / page).parent / link).exists(), link
