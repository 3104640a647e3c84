"""The main job through the Python face: add, add again, change, remove, ask."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import textwrap
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from knotwork import Document, Index, KnowledgeGraph, NodeType
from knotwork.errors import InputError, KnotworkError, LoadError, StoreError, StoreMismatch
from knotwork.settings import Settings
from knotwork.text import count_tokens

FAST = Settings(profile="fast")

TEXTS = {
    "crick.md": "# Francis Crick\n\nFrancis Crick was a physicist. "
    "Francis Crick worked with James Watson at the Cavendish Laboratory.\n",
    "watson.md": "# James Watson\n\nJames Watson came from Chicago. "
    "James Watson met Francis Crick in Cambridge in 1951.\n",
    "wilkins.md": "# Maurice Wilkins\n\nMaurice Wilkins worked at King's College London. "
    "Maurice Wilkins shared the Nobel Prize in 1962.\n",
}


def folder(path: Path, texts: dict[str, str] = TEXTS) -> Path:
    path.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (path / name).write_text(text, encoding="utf-8")
    return path


def content(path: Path) -> str:
    """The whole content of an index, to compare."""
    with Index.open(path, settings=FAST) as index:
        return json.dumps(index.graph.to_dict(), ensure_ascii=False)


def test_a_folder_is_indexed_and_a_question_answered_with_true_citations(tmp_path: Path) -> None:
    with Index.open(tmp_path / "kb", settings=FAST) as index:
        report = index.add(folder(tmp_path / "docs"))
        assert (report.added, report.changed, report.removed, report.unchanged) == (3, 0, 0, 0)
        answer = index.ask("Where did Maurice Wilkins work?")
        assert "King's College London" in str(answer)
        texts = {document.id: document.text for document in index.documents}
        assert answer.citations
        for citation in answer.citations:
            assert texts[citation.document_id][citation.start : citation.end] == citation.quote
        for evidence in index.search("Who met Francis Crick?"):
            assert texts[evidence.document_id][evidence.start : evidence.end] == evidence.text


@pytest.mark.parametrize("splitter", ["sentences", "headlines", "semantic"])
def test_whichever_splitter_cuts_them_chunks_are_small_and_citations_true(tmp_path: Path, splitter: Any) -> None:
    settings = Settings(profile="fast", embedder="fast", splitter=splitter, chunk_size=64)
    sections = [f"## Part {n}\n\n" + f"{name} wrote a letter on the structure of matter. " * 9 for n, name in enumerate(
        ("Francis Crick", "James Watson", "Maurice Wilkins", "Linus Pauling")
    )]  # fmt: skip
    texts = {**TEXTS, "long.md": "# Letters\n\n" + "\n\n".join(sections)}
    with Index.open(tmp_path / "kb", settings=settings) as index:
        index.add(folder(tmp_path / "docs", texts))
        chunks = index.graph.nodes_of(NodeType.CHUNK)
        assert len(chunks) > 8
        assert all(count_tokens([chunk.get_property("page_content")])[0] <= 64 for chunk in chunks)
        documents = {document.id: document.text for document in index.documents}
        answer = index.ask("Where did Maurice Wilkins work?")
        assert "King's College London" in str(answer)
        for citation in answer.citations:
            assert documents[citation.document_id][citation.start : citation.end] == citation.quote
        assert index.add(tmp_path / "docs").unchanged == 4


def test_an_index_keeps_its_splitter_and_refuses_another(tmp_path: Path) -> None:
    def settings(**more: Any) -> Settings:
        return Settings(profile="fast", embedder="fast", **more)

    docs = folder(tmp_path / "docs")
    with Index.open(tmp_path / "kb", settings=settings(splitter="headlines")) as index:
        index.add(docs)
    said = r"was cut by the splitter headlines, not semantic: .*another directory"
    with (
        Index.open(tmp_path / "kb", settings=settings(splitter="semantic")) as index,
        pytest.raises(StoreMismatch, match=said),
    ):
        index.add(docs)
    with Index.open(tmp_path / "kb", settings=settings()) as index:
        assert index.add(docs).unchanged == 3
        index.add(Document("# New\n\nRaymond Gosling took a photograph.", id="new"))
        assert index.graph.get_node_by_id("new").get_property("headlines") == ["New"]


def test_adding_the_same_folder_again_processes_nothing_and_changes_nothing(tmp_path: Path) -> None:
    docs = folder(tmp_path / "docs")
    with Index.open(tmp_path / "kb", settings=FAST) as index:
        index.add(docs)
    before = content(tmp_path / "kb")
    with Index.open(tmp_path / "kb", settings=FAST) as index:
        report = index.add(docs)
    assert (report.added, report.changed, report.removed, report.unchanged) == (0, 0, 0, 3)
    assert not report.stages
    assert content(tmp_path / "kb") == before


def test_the_order_of_files_and_of_adding_does_not_matter(tmp_path: Path) -> None:
    docs = folder(tmp_path / "docs")
    with Index.open(tmp_path / "one", settings=FAST) as index:
        index.add(docs)
    with Index.open(tmp_path / "two", settings=FAST) as index:
        for name in sorted(TEXTS, reverse=True):
            index.add(docs / name)
    with Index.open(tmp_path / "three", settings=FAST) as index:
        index.add([docs / name for name in sorted(TEXTS, reverse=True)])
    assert content(tmp_path / "one") == content(tmp_path / "two") == content(tmp_path / "three")


def test_an_edit_and_a_deletion_lead_to_the_index_of_the_final_state(tmp_path: Path) -> None:
    docs = folder(tmp_path / "docs")
    with Index.open(tmp_path / "kb", settings=FAST) as index:
        index.add(docs)
        (docs / "watson.md").unlink()
        (docs / "crick.md").write_text(
            "# Francis Crick\n\nFrancis Crick moved to the Salk Institute in 1977.\n", encoding="utf-8"
        )
        (docs / "new.md").write_text("# Raymond Gosling\n\nRaymond Gosling took Photo 51.\n", encoding="utf-8")
        report = index.add(docs)
        assert (report.added, report.changed, report.removed, report.unchanged) == (1, 1, 1, 1)
    with Index.open(tmp_path / "fresh", settings=FAST) as index:
        index.add(docs)
    assert content(tmp_path / "kb") == content(tmp_path / "fresh")
    assert "Chicago" not in content(tmp_path / "kb")


def test_a_folder_given_once_is_not_taken_as_deleted_when_another_is_added(tmp_path: Path) -> None:
    one, other = (
        folder(tmp_path / "one"),
        folder(tmp_path / "other", {"a.md": "# Oswald Avery\n\nOswald Avery was patient.\n"}),
    )
    with Index.open(tmp_path / "kb", settings=FAST) as index:
        index.add(one)
        report = index.add(other)
        assert (report.added, report.removed) == (1, 0)
        assert index.status().documents == 4


def test_files_of_one_name_in_two_folders_are_two_documents(tmp_path: Path) -> None:
    one = folder(tmp_path / "one", {"readme.md": "# Mars\n\nMars is red.\n"})
    other = folder(tmp_path / "other", {"readme.md": "# Venus\n\nVenus is hot.\n"})
    with Index.open(tmp_path / "kb", settings=FAST) as index:
        index.add(one)
        index.add(other)
        assert {document.title for document in index.documents} == {"Mars", "Venus"}
        assert index.add([one, other]).unchanged == 2
        assert index.status().documents == 2


def test_rows_with_the_same_id_in_two_files_are_two_documents(tmp_path: Path) -> None:
    for name, text in (("a.csv", "Mars is red."), ("b.csv", "Venus is hot.")):
        (tmp_path / name).write_text(f"id,text\n1,{text}\n", encoding="utf-8")
    with Index.open(tmp_path / "kb", settings=FAST) as index:
        index.add(tmp_path / "a.csv")
        index.add(tmp_path / "b.csv")
        assert {document.text for document in index.documents} == {"Mars is red.", "Venus is hot."}


def test_documents_are_added_from_memory_and_replaced_by_id(tmp_path: Path) -> None:
    with Index.open(tmp_path / "kb", settings=FAST) as index:
        index.add(Document("Rosalind Franklin was a chemist.", id="f", title="Rosalind Franklin"))
        report = index.add([Document("Rosalind Franklin studied coal.", id="f", title="Rosalind Franklin")])
        assert report.changed == 1
        assert [document.text for document in index.documents] == ["Rosalind Franklin studied coal."]


def test_two_documents_of_one_id_are_not_mixed_up(tmp_path: Path) -> None:
    with Index.open(tmp_path / "kb", settings=FAST) as index:
        report = index.add([Document("One.", id="x"), Document("Two.", id="x")])
        assert report.added == 1
        assert "'x'" in report.skipped[0].reason


def test_a_document_that_cannot_be_kept_is_left_out_with_a_reason_and_the_rest_goes_on(tmp_path: Path) -> None:
    bad = [
        Document("Text here.", id="object", metadata={"x": object()}),
        Document("Text here.", id="nan", metadata={"x": float("nan")}),
        Document(None, id="none"),  # type: ignore[arg-type]
        Document(" \n", id="blank"),
    ]
    with Index.open(tmp_path / "kb", settings=FAST) as index:
        report = index.add([*bad, Document("Text here.", id=5), Document("A lone \ud800 surrogate.", id="s")])  # type: ignore[arg-type]
        assert report.added == 2
        assert [skip.what for skip in report.skipped] == ["object", "nan", "none", "blank"]
        assert {document.id for document in index.documents} == {"5", "s"}
        assert not index.check()


def test_a_damaged_index_never_ends_in_a_foreign_error(tmp_path: Path) -> None:
    with Index.open(tmp_path / "kb", settings=FAST) as index:
        index.add(folder(tmp_path / "docs"))
    file = tmp_path / "kb" / "index.db"
    whole = file.read_bytes()
    dice = random.Random(3)
    for _ in range(30):
        damaged = bytearray(whole)
        for _ in range(100):
            damaged[dice.randrange(4096, len(whole))] ^= 255
        file.write_bytes(damaged)
        # either the damage lies where nothing was read, or it is told; never a foreign error
        with suppress(KnotworkError), Index.open(tmp_path / "kb", settings=FAST) as index:
            index.ask("Where did Maurice Wilkins work?")
            index.graph  # noqa: B018


def test_a_path_that_does_not_exist_is_an_error_and_leaves_no_index(tmp_path: Path) -> None:
    with Index.open(tmp_path / "kb", settings=FAST) as index, pytest.raises(LoadError, match="nowhere"):
        index.add(tmp_path / "nowhere")


def test_something_that_is_no_document_is_refused(tmp_path: Path) -> None:
    with Index.open(tmp_path / "kb", settings=FAST) as index, pytest.raises(InputError, match="int"):
        index.add([3])  # type: ignore[list-item]
    for nothing in (None, b"bytes", 3):
        with Index.open(tmp_path / "kb", settings=FAST) as index, pytest.raises(InputError, match="can be indexed"):
            index.add(nothing)  # type: ignore[arg-type]


def test_asking_an_index_that_is_not_there_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="knotwork index"), Index.open(tmp_path / "kb", settings=FAST) as index:
        index.ask("Who?")


def test_another_embedder_on_an_index_is_refused_with_the_remedy(tmp_path: Path) -> None:
    class Other:
        name, dimension = "other", 3

        async def embed(self, texts: list[str]) -> object:
            import numpy as np

            return np.ones((len(texts), 3), np.float32) / 3**0.5

    with Index.open(tmp_path / "kb", settings=FAST) as index:
        index.add(folder(tmp_path / "docs"))
    with (
        Index.open(tmp_path / "kb", settings=FAST, embedder=Other()) as index,
        pytest.raises(StoreMismatch, match="other"),
    ):
        index.ask("Who met Francis Crick?")


def test_changes_to_the_graph_of_an_index_are_kept(tmp_path: Path) -> None:
    with Index.open(tmp_path / "kb", settings=FAST) as index:
        index.add(folder(tmp_path / "docs"))
        entity = index.graph.nodes_of(NodeType.ENTITY)[0]
        entity.properties["note"] = "mine"
    with Index.open(tmp_path / "kb", settings=FAST) as index:
        found = index.graph.get_node_by_id(entity.id)
        assert found is not None
        assert found.get_property("note") == "mine"


def test_every_citation_and_relation_refers_to_what_is_there(tmp_path: Path) -> None:
    with Index.open(tmp_path / "kb", settings=FAST) as index:
        index.add(folder(tmp_path / "docs"))
        graph: KnowledgeGraph = index.graph
        for link in graph.relationships:
            if link.type == "mention":
                text = link.target.get_property("page_content")
                assert text[link.get_property("start") : link.get_property("end")] == link.get_property("surface")
        assert {link.type for link in graph.relationships} >= {"child", "mention", "relates", "member"}
        assert not index.check()


def test_the_async_twins_work_in_a_running_loop(tmp_path: Path) -> None:
    import asyncio

    async def main() -> str:
        with Index.open(tmp_path / "kb", settings=FAST) as index:
            await index.aadd(folder(tmp_path / "docs"))
            assert await index.asearch("Francis Crick", k=2)
            assert index.ask("Where did Maurice Wilkins work?").citations  # the sync face works here as well
            return str(await index.aask("Where did Maurice Wilkins work?"))

    assert "King's College" in asyncio.run(main())


RUN = textwrap.dedent(
    """
    import sys
    import knotwork.index
    from knotwork import Index
    from knotwork.settings import Settings
    knotwork.index.BATCH = 200  # every document a step of its own
    with Index.open(sys.argv[2], settings=Settings(profile="fast")) as index:
        index.add(sys.argv[1])
    """
)


@pytest.mark.slow
def test_killed_at_any_moment_and_run_again_the_index_is_that_of_an_undisturbed_run(tmp_path: Path) -> None:
    names = [f"Person{chr(65 + i)} Smith{chr(65 + i)}" for i in range(20)]
    texts = {
        f"{i:02}.md": f"# {name}\n\n{name} met {names[(i * 7 + 1) % 20]} in Paris in 19{i + 10}. "
        f"{name} wrote to {names[i - 1]}.\n"
        for i, name in enumerate(names)
    }
    docs = folder(tmp_path / "docs", texts)

    def start(kb: str) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [sys.executable, "-c", RUN, str(docs), str(tmp_path / kb)], env=os.environ | {"PYTHONHASHSEED": "random"}
        )

    began = time.monotonic()
    assert start("whole").wait(120) == 0
    duration = time.monotonic() - began
    undisturbed = content(tmp_path / "whole")
    moments = random.Random(7)
    for attempt in range(20):
        kb = f"kb{attempt}"
        for _ in range(2 if attempt % 5 == 0 else 1):  # sometimes the resumed run is killed as well
            process = start(kb)
            time.sleep(duration * moments.uniform(0.2, 1.0))
            if hasattr(signal, "SIGKILL"):
                process.send_signal(signal.SIGKILL)
            else:
                process.kill()
            process.wait(30)
        assert start(kb).wait(120) == 0
        assert content(tmp_path / kb) == undisturbed
        with Index.open(tmp_path / kb, settings=FAST) as index:
            assert index.status().complete
            assert not index.check()


def test_a_key_in_the_environment_sends_nothing_anywhere(tmp_path: Path) -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as listener:
        listener.settimeout(0.2)
        here = f"http://127.0.0.1:{listener.getsockname()[1]}"
        keys = {name: "sk-never-to-be-sent" for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "HF_TOKEN")}
        ways = {name: here for name in ("OPENAI_BASE_URL", "OLLAMA_HOST", "HTTP_PROXY", "HTTPS_PROXY", "HF_ENDPOINT")}
        ask = (
            "import sys; from knotwork import Index\n"
            "with Index.open(sys.argv[1]) as index:\n"
            "    index.add(sys.argv[2]); print(index.ask('Where did Maurice Wilkins work?'))"
        )
        done = subprocess.run(
            [sys.executable, "-c", ask, str(tmp_path / "kb"), str(folder(tmp_path / "docs"))],
            env=os.environ | keys | ways,
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        )
        assert "King's College" in done.stdout
        with pytest.raises(TimeoutError):
            listener.accept()
    for file in (tmp_path / "kb").iterdir():
        assert b"sk-never-to-be-sent" not in file.read_bytes()
