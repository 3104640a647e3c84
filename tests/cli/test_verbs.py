"""What each verb asks of the Index, prints, and ends with. The Index is scripted."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from tests.cli.scripted import Knotwork, Said, Script, cited, evidence

import knotwork
from knotwork import Event, KnowledgeGraph, Report, Skipped

NOTHING = Said("The documents hold no evidence on this.")

CITATION = ["n", "document_id", "title", "source", "page", "start", "end", "quote", "headings"]
EVIDENCE = ["text", "score", "document_id", "title", "source", "start", "end", "why", "page", "headings"]


def test_the_version_is_printed(run: Knotwork) -> None:
    assert run("--version").out == f"knotwork {knotwork.__version__}\n"


def test_help_names_every_verb(run: Knotwork) -> None:
    said = run("--help")
    assert said.code == 0
    for verb in ("index", "ask", "search", "status", "doctor", "export", "demo"):
        assert f"  {verb} " in said.out


@pytest.mark.parametrize(
    "words",
    [
        ["inde", "docs"],
        ["index"],
        ["index", "docs", "--profile", "slow"],
        ["index", "docs", "--nope"],
        ["ask"],
        ["ask", " "],
        ["ask", "Who?", "--mode", "guess"],
        ["search", "Who?", "-k", "0"],
        ["search", "Who?", "-k", "many"],
        ["export"],
        ["export", "--output", "x", "--format", "xml"],
    ],
)
def test_wrong_usage_ends_with_2(run: Knotwork, script: Script, words: list[str]) -> None:
    said = run(*words)
    assert (said.code, said.out) == (2, "")
    assert "Error" in said.err
    assert not script.calls


# -- index ----------------------------------------------------------------------------------------


def test_index_says_what_was_done_and_what_the_index_holds(run: Knotwork, script: Script) -> None:
    script.report = Report(added=2, changed=1, removed=3, unchanged=4)
    said = run("index", "docs", "more.md", "--index", "there", "--on-error", "raise")
    assert said.code == 0
    assert "there: documents 2 added, 1 changed, 3 removed, 4 unchanged (" in said.out
    assert "3 chunks, 4 entities, 5 relationships, 8 mentions, 6 communities, 7 reports" in said.out
    assert said.err == ""
    assert script.calls[0][:2] == ("open", "there")
    assert script.calls[1:] == [("add", [Path("docs"), Path("more.md")], "raise"), ("close",)]


def test_index_passes_profile_and_embedder_on_as_settings(run: Knotwork, script: Script) -> None:
    run("index", "docs", "--profile", "fast", "--embedder", "nlp")
    settings = script.calls[0][2]["settings"]
    assert (settings.profile, settings.embedder) == ("fast", "nlp")


def test_options_win_over_the_environment_and_that_over_the_file(
    run: Knotwork, script: Script, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "my.toml").write_text('profile = "nlp"\nembedder = "nlp"\nseed = 1\n')
    monkeypatch.setenv("KNOTWORK_EMBEDDER", "fast")
    run("index", "docs", "--config", "my.toml", "--profile", "fast")
    settings = script.calls[0][2]["settings"]
    assert (settings.profile, settings.embedder, settings.seed) == ("fast", "fast", 1)


def test_what_was_left_out_is_listed_with_reasons_up_to_twenty(run: Knotwork, script: Script) -> None:
    script.report = Report(added=1, skipped=tuple(Skipped(f"{i}.bin", "not text", "") for i in range(25)))
    said = run("index", "docs")
    assert "1 added, 0 changed, 0 removed, 0 unchanged, 25 left out" in said.out
    lines = said.err.splitlines()
    assert lines[:2] == ["left out 25:", "  0.bin: not text"]
    assert lines[-1] == "  and 5 more; --verbose lists them all"
    assert len(lines) == 22
    assert len(run("index", "docs", "--verbose").err.splitlines()) == 26
    assert run("index", "docs", "--quiet").err == ""


def test_an_index_run_without_any_document_fails_and_says_why(run: Knotwork, script: Script) -> None:
    script.report = Report()
    said = run("index", "docs")
    assert (said.code, said.out) == (1, "")
    assert said.err == "error: nothing to index: there are no files in docs\n"
    script.report = Report(skipped=(Skipped("a.bin", "not text"),))
    assert run("index", "docs").err.endswith("error: nothing could be indexed: a.bin: not text\n")
    script.report = Report(skipped=(Skipped("a.bin", "not text"), Skipped("b.bin", "empty")))
    assert "all 2 were left out, a.bin because: not text" in run("index", "docs", "--quiet").err


def test_an_index_run_that_only_removes_or_finds_nothing_new_is_no_failure(run: Knotwork, script: Script) -> None:
    for report in (Report(removed=2), Report(unchanged=2)):
        script.report = report
        assert run("index", "docs").code == 0


EVENTS = [
    Event("loading", "models"),
    Event("end", "models"),
    Event("start", "documents", total=300),
    *(Event("done", "documents", f"d{done}", done, 300) for done in range(1, 301)),
    Event("failed", "EntityResolver", "d7", 300, 300, "no"),
    Event("end", "documents", done=300, total=300),
]


def test_index_json_prints_events_and_last_the_report(run: Knotwork, script: Script) -> None:
    script.events = EVENTS
    script.report = Report(added=2, skipped=(Skipped("a.bin", "not text"),))
    said = run("index", "docs", "--json")
    rows = [json.loads(line) for line in said.out.splitlines()]
    assert said.code == 0
    assert rows[0] == {
        "event": "loading",
        "transform": "models",
        "node_id": None,
        "done": 0,
        "total": 0,
        "error": None,
    }
    assert {row["event"] for row in rows[:-1]} == {"loading", "start", "done", "failed", "end"}
    calls = [row["done"] for row in rows if row["event"] == "done" and "report" not in row]
    assert calls[-1] == 300
    assert len(calls) < 50
    assert rows[-1]["event"] == "done"
    assert rows[-1]["report"]["added"] == 2
    assert rows[-1]["report"]["skipped"] == [{"what": "a.bin", "reason": "not text", "transform": ""}]
    assert "a.bin" in said.err


def test_index_json_of_a_failure_still_ends_with_the_report(run: Knotwork, script: Script) -> None:
    script.report = Report(skipped=(Skipped("a.bin", "not text"),))
    said = run("index", "docs", "--json")
    assert said.code == 1
    assert json.loads(said.out)["report"]["skipped"][0]["reason"] == "not text"
    assert "error: nothing could be indexed" in said.err


def test_progress_bars_are_drawn_on_a_terminal_only(
    run: Knotwork, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    script.events = EVENTS
    assert run("index", "docs").err == ""
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    said = run("index", "docs")
    assert "documents" in said.err
    assert "300/300" in said.err
    assert run("index", "docs", "--quiet").err == ""


def test_verbose_tells_stages_where_there_is_no_terminal(run: Knotwork, script: Script) -> None:
    script.events = EVENTS
    said = run("index", "docs", "--verbose")
    assert "documents: start, 0 of 300" in said.err
    assert "EntityResolver: failed, 300 of 300: no" in said.err


# -- ask ------------------------------------------------------------------------------------------


def test_ask_prints_the_answer_and_its_sources(run: Knotwork, script: Script) -> None:
    script.answer = cited("Franklin\ntook  it.", page=7)
    said = run("ask", "Who took it?", "-i", "there", "--mode", "bm25")
    assert said.code == 0
    assert said.out == (
        'Franklin\ntook  it. [1]\n\nSources\n[1] Photo 51 — photo.md (page 7)\n    "Franklin took it."\n'
    )
    assert script.calls[0][:2] == ("open", "there")
    assert script.calls[0][2]["readonly"] is True
    assert ("ask", "Who took it?", "bm25") in script.calls


def test_a_long_quote_is_shortened_at_a_word(run: Knotwork, script: Script) -> None:
    script.answer = cited("wordy " * 100)
    quote = run("ask", "Who?").out.splitlines()[-1].strip()
    assert len(quote) < 204
    assert quote.endswith('wordy…"')


def test_ask_json_has_the_documented_shape(run: Knotwork, script: Script) -> None:
    script.answer = cited("Wer war’s? 双螺旋")
    said = run("ask", "Who?", "--json")
    data = json.loads(said.out)
    assert list(data) == ["question", "mode", "answer", "citations", "usage", "hint"]
    assert data["question"] == "Who?"
    assert data["mode"] == "passages"
    assert data["answer"] == "Wer war’s? 双螺旋 [1]"
    assert data["usage"] == {}
    assert list(data["citations"][0]) == CITATION
    assert "双螺旋" in said.out
    assert said.err == ""


def test_no_evidence_ends_with_3(run: Knotwork, script: Script) -> None:
    script.answer = NOTHING
    said = run("ask", "Who?")
    assert (said.code, said.out) == (3, NOTHING.text + "\n")
    said = run("ask", "Who?", "--json")
    assert said.code == 3
    assert json.loads(said.out)["citations"] == []


# -- search ---------------------------------------------------------------------------------------


def test_search_prints_rank_score_title_place_reason_and_text(run: Knotwork, script: Script) -> None:
    script.found = [evidence(), evidence(title="", source="", score=0.25)]
    said = run("search", "photo", "-k", "2", "--mode", "dense")
    assert said.code == 0
    assert said.out.splitlines() == [
        " 1. 0.500  Photo 51  photo.md:3-20",
        "    names Franklin",
        "    Franklin took it.",
        " 2. 0.250  d1:3-20",
        "    names Franklin",
        "    Franklin took it.",
    ]
    assert ("search", "photo", 2, "dense") in script.calls


def test_search_json_has_the_documented_shape(run: Knotwork, script: Script) -> None:
    script.found = [evidence()]
    data = json.loads(run("search", "photo", "--json").out)
    assert list(data) == ["evidence"]
    assert list(data["evidence"][0]) == EVIDENCE


def test_search_without_a_hit_ends_with_3(run: Knotwork, script: Script) -> None:
    assert run("search", "photo").code == 3
    said = run("search", "photo", "--json")
    assert (said.code, json.loads(said.out)) == (3, {"evidence": []})


# -- status, doctor -------------------------------------------------------------------------------


def test_status_prints_counts_and_models(run: Knotwork, script: Script) -> None:
    said = run("status")
    for line in ("documents     2", "mentions      8", "profile       fast", "complete      yes"):
        assert line in said.out
    script.complete = False
    assert "interrupted" in run("status").out


def test_status_json_has_counts_and_models(run: Knotwork, script: Script) -> None:
    data = json.loads(run("status", "--json").out)
    kinds = {"documents", "chunks", "entities", "relationships", "communities", "reports", "mentions"}
    assert kinds | {"profile", "embedder", "dimension", "complete", "path"} == set(data)


@pytest.mark.parametrize("words", [["status"], ["ask", "Who?"], ["search", "x"], ["export", "--output", "x.json"]])
def test_a_missing_index_is_an_error_with_the_remedy(run: Knotwork, script: Script, words: list[str]) -> None:
    script.exists = False
    said = run(*words)
    assert (said.code, said.out) == (1, "")
    assert said.err == "error: there is no index at kb; `knotwork index` makes one\n"


def test_doctor_is_content_with_a_sound_installation(run: Knotwork, script: Script, tmp_path: Path) -> None:
    script.found = [evidence()]
    said = run("doctor")
    assert said.code == 0
    assert f"knotwork {knotwork.__version__}, Python" in said.out
    assert "sqlite: ok, SQLite" in said.out
    assert "index kb: absent" in said.out
    (tmp_path / "kb").mkdir()
    assert "index kb: ok, 2 documents" in run("doctor").out


def test_doctor_fails_on_a_damaged_index_and_on_wrong_settings(run: Knotwork, script: Script, tmp_path: Path) -> None:
    script.found = [evidence()]
    script.problems = ["a chunk hangs in the air"]
    (tmp_path / "kb").mkdir()
    (tmp_path / "knotwork.toml").write_text("sed = 1")
    said = run("doctor")
    assert said.code == 1
    assert "index kb: BROKEN, a chunk hangs in the air" in said.out
    assert "settings: BROKEN, knotwork.toml, line 1: unknown setting 'sed'; did you mean seed?" in said.out
    assert said.err == "error: broken: settings, index kb\n"


def test_doctor_names_the_extra_of_what_is_not_installed(run: Knotwork, script: Script) -> None:
    from knotwork.errors import MissingExtra

    script.raises = MissingExtra("The profile nlp", "nlp")
    said = run("doctor")
    assert "profile nlp: absent, The profile nlp needs the extra [nlp]: pip install 'knotwork[nlp]'" in said.out


# -- export, demo ---------------------------------------------------------------------------------


def test_export_writes_a_graph_that_can_be_loaded(run: Knotwork, script: Script) -> None:
    assert run("export", "--format", "json", "--output", "graph.json").code == 0
    assert [node.id for node in KnowledgeGraph.load("graph.json").nodes] == ["a", "b"]


def test_export_never_overwrites_without_force(run: Knotwork, script: Script, tmp_path: Path) -> None:
    target = tmp_path / "graph.json"
    target.write_text("mine")
    said = run("export", "--output", target)
    assert (said.code, target.read_text()) == (1, "mine")
    assert "--force" in said.err
    assert run("export", "--output", target, "--force").code == 0
    assert len(KnowledgeGraph.load(target).nodes) == 2
    assert "is a folder" in run("export", "--output", tmp_path, "--force").err


def test_export_to_a_dash_prints_the_graph(run: Knotwork, script: Script) -> None:
    assert len(json.loads(run("export", "--output", "-").out)["nodes"]) == 2


def test_export_into_a_folder_that_does_not_exist_is_an_error(run: Knotwork, script: Script) -> None:
    said = run("export", "--output", os.path.join("nowhere", "graph.json"))
    assert said.code == 1
    assert "nowhere" in said.err
    assert "bug" not in said.err


def test_the_demo_indexes_asks_and_says_what_to_try(run: Knotwork, script: Script) -> None:
    script.answer = cited()
    said = run("demo", "--index", "my kb")
    assert said.code == 0
    assert script.calls[1][1].name == "double-helix"
    assert "what role did Rosalind Franklin play?" in said.out
    assert "[1] Photo 51 — photo.md" in said.out
    assert "The index is in my kb" in said.out
    assert len([line for line in said.out.splitlines() if line.startswith("  knotwork ")]) == 2


def test_the_demo_copies_its_documents_and_never_over_others(run: Knotwork, script: Script, tmp_path: Path) -> None:
    said = run("demo", "--copy", "here")
    assert said.code == 0
    assert len(list((tmp_path / "here" / "double-helix").glob("*.md"))) >= 15
    assert (tmp_path / "here" / "news.csv").is_file()
    assert not script.calls
    again = run("demo", "--copy", "here")
    assert again.code == 1
    assert "not an empty folder" in again.err
