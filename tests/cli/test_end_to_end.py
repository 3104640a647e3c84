"""The main job by the command line, with the fast profile and nothing scripted."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

import pytest
from tests.cli.scripted import Knotwork

from knotwork import Index, KnowledgeGraph

DEMO = Path(str(files("knotwork") / "demo" / "double-helix"))
# What no verb needs before it runs, or at all.
HEAVY = {"numpy", "pydantic", "pydantic_settings", "rich", "apsw", "scipy", "spacy", "onnxruntime", "tokenizers"}


@pytest.fixture(autouse=True)
def _fast(_alone: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNOTWORK_PROFILE", "fast")


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An index of the demo's documents."""
    path = tmp_path_factory.mktemp("demo") / "kb"
    done = subprocess.run(
        [*command("index", DEMO, "--index", path, "--profile", "fast")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return path


def command(*args: object) -> list[str]:
    code = f"from knotwork.cli import main; main({[str(arg) for arg in args]!r})"
    return [sys.executable, "-c", code]


def loaded(*args: object) -> set[str]:
    """The top-level modules that a command has loaded at its end."""
    code = (
        "import atexit, sys\n"
        "atexit.register(lambda: print('LOADED', *{name.partition('.')[0] for name in sys.modules}))\n"
        + command(*args)[2]
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    return set(said.rpartition("LOADED ")[2].split())


def test_the_demo_answers_from_several_documents(run: Knotwork) -> None:
    said = run("demo", "--index", "kb")
    assert said.code == 0
    sources = {line.split(" ", 1)[1] for line in said.out.splitlines() if line.startswith("[")}
    assert len(sources) >= 3
    assert "Franklin" in said.out
    assert json.loads(run("status", "--json").out)["documents"] == 18


def test_every_quote_of_an_answer_stands_at_its_place(run: Knotwork, demo: Path) -> None:
    said = run("ask", "Who took Photo 51?", "--index", demo, "--json")
    assert said.code == 0
    data = json.loads(said.out)
    assert "Gosling" in data["answer"]
    with Index.open(demo, readonly=True) as index:
        texts = {document.id: document.text for document in index.documents}
    assert data["citations"]
    for citation in data["citations"]:
        assert texts[citation["document_id"]][citation["start"] : citation["end"]] == citation["quote"]


@pytest.mark.parametrize("mode", ["auto", "passages", "hybrid", "dense", "bm25"])
def test_every_mode_finds_the_passage(run: Knotwork, demo: Path, mode: str) -> None:
    data = json.loads(run("search", "Who took Photo 51?", "--index", demo, "--mode", mode, "-k", "3", "--json").out)
    assert len(data["evidence"]) == 3
    assert any("Raymond Gosling took Photo 51" in evidence["text"] for evidence in data["evidence"])
    assert run("ask", "Who took Photo 51?", "--index", demo, "--mode", mode).code == 0


def test_a_question_about_something_else_has_no_evidence(run: Knotwork, demo: Path) -> None:
    assert run("search", "xyzzy", "--index", demo, "--mode", "bm25").code == 3
    assert run("ask", "xyzzy", "--index", demo, "--mode", "bm25").code == 3


def test_indexing_again_processes_nothing(run: Knotwork, demo: Path) -> None:
    said = run("index", DEMO, "--index", demo)
    assert said.code == 0
    assert "0 added, 0 changed, 0 removed, 18 unchanged" in said.out


def test_an_edit_and_a_deletion_are_followed(run: Knotwork, tmp_path: Path) -> None:
    run("demo", "--copy", "demo")
    assert run("index", "demo/double-helix").code == 0
    (tmp_path / "demo/double-helix/01-miescher-nuclein.md").unlink()
    (tmp_path / "demo/double-helix/09-photo-51.md").write_text("# Photo 51\n\nIt is lost.\n", encoding="utf-8")
    assert "0 added, 1 changed, 1 removed, 16 unchanged" in run("index", "demo/double-helix").out
    assert "Miescher" not in run("search", "Friedrich Miescher", "--mode", "bm25").out


def test_the_export_is_the_graph(run: Knotwork, demo: Path) -> None:
    assert run("export", "--index", demo, "--output", "graph.json").code == 0
    with Index.open(demo, readonly=True) as index:
        assert KnowledgeGraph.load("graph.json") == index.graph
        assert json.loads(run("export", "--index", demo, "--output", "-").out) == index.graph.to_dict()


def test_the_doctor_finds_everything_in_order(run: Knotwork, demo: Path) -> None:
    said = run("doctor", "--index", demo)
    assert said.code == 0
    assert "profile fast: ok" in said.out
    assert "ok, 18 documents" in said.out


def test_help_loads_no_heavy_library() -> None:
    assert HEAVY.isdisjoint(loaded("--help"))
    assert (HEAVY - {"pydantic"}).isdisjoint(loaded("index", "--help"))  # which some versions of typer load


def test_searching_never_loads_spacy(demo: Path) -> None:
    assert "spacy" not in loaded("search", "Photo 51", "--index", demo)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no SIGINT to send to one process")
def test_a_run_stopped_by_ctrl_c_goes_on_where_it_was(run: Knotwork, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    for number in range(8):
        text = f"Marie Curie{number} met Pierre Curie{number} in Paris. They went home by train.\n" * 1000
        (docs / f"{number}.txt").write_text(text, encoding="utf-8")
    process = subprocess.Popen(
        ["env", "--default-signal=INT", *command("index", docs, "--json")],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout
    for line in process.stdout:
        if '"event": "done", "transform": "documents"' in line:
            process.send_signal(signal.SIGINT)
            break
    _, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert err == "stopped; run the same command again to go on\n"
    assert "interrupted" in run("status").out
    said = run("index", docs)
    assert said.code == 0
    done = int(said.out.partition("documents ")[2].partition(" added")[0])
    assert 0 < done < 8
    assert "complete      yes" in run("status").out
