"""What is particular to the SQLite store: files, locks, other programs, damage and sudden death."""

from __future__ import annotations

import json
import os
import random
import re
import socket
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

import apsw
import numpy as np
import pytest

from knotwork.errors import StoreError, StoreLocked, StoreMismatch
from knotwork.graph import AddNode, AddRelationship, KnowledgeGraph, Node, NodeType, Relationship, RemoveNode
from knotwork.protocols import Store
from knotwork.stores import SqliteStore, sqlite

posix = pytest.mark.skipif(os.name != "posix", reason="file modes and signals of POSIX")


def chunk(id: str, text: str) -> AddNode:
    return AddNode(Node(id, {"page_content": text}, NodeType.CHUNK))


def small_index(path: Path) -> None:
    graph = KnowledgeGraph([Node("d", {"page_content": "Ab. Cd."}, NodeType.DOCUMENT)])
    for at, text in enumerate(["Ab. ", "Cd."]):
        vector = np.array([at, 1], np.float32)
        graph.add(Node(f"c{at}", {"page_content": text, "start": at * 4, "embedding": vector}, NodeType.CHUNK))
        graph.add(Relationship("child", graph.nodes[0], graph.nodes[-1]))
    with SqliteStore(path) as store:
        store.write([*map(AddNode, graph.nodes), *map(AddRelationship, graph.relationships)])


@contextmanager
def raw(path: Path) -> Iterator[apsw.Connection]:
    """The file as another program sees it."""
    db = apsw.Connection(str(path / "index.db"))
    yield db
    db.close()


# -- files ----------------------------------------------------------------------------------------


def test_the_store_is_a_store(tmp_path: Path) -> None:
    store: Store = SqliteStore(tmp_path)
    store.close()


def test_opening_and_reading_make_nothing(tmp_path: Path) -> None:
    path = tmp_path / "kb"
    store = SqliteStore(path)
    assert not store.exists
    for read in (store.graph, store.counts, store.records, store.passages, store.check, lambda: store.note("x")):
        with pytest.raises(StoreError, match=r"no index at .*kb; make one with: knotwork index PATH --index .*kb"):
            read()
    with pytest.raises(StoreError, match="no index"):
        list(store.documents())
    store.write([])
    assert not path.exists()


def test_the_first_write_makes_the_directory_and_one_file_is_left(tmp_path: Path) -> None:
    path = tmp_path / "a" / "kb"
    with SqliteStore(path) as store:
        store.set_notes({"x": "1"})
        assert store.exists
    assert sorted(file.name for file in path.iterdir()) == ["index.db", "writer.lock"]


@posix
def test_nobody_else_may_read_the_files(tmp_path: Path) -> None:
    with SqliteStore(tmp_path / "kb") as store:
        store.set_notes({"x": "1"})
        assert stat.S_IMODE((tmp_path / "kb").stat().st_mode) == 0o700
        modes = {file.name: stat.S_IMODE(file.stat().st_mode) for file in (tmp_path / "kb").iterdir()}
    assert modes == dict.fromkeys(["index.db", "index.db-wal", "index.db-shm", "writer.lock"], 0o600)


@pytest.mark.parametrize("name", ["with blank", "知识 图谱", "a?b#c%20d" if os.name == "posix" else "a#b%20c", "-x"])
def test_any_path_will_do(tmp_path: Path, name: str) -> None:
    small_index(tmp_path / name)
    with SqliteStore(tmp_path / name, readonly=True) as store:
        assert store.counts().chunks == 2


def test_a_relative_path_stays_the_same_place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    store = SqliteStore("kb")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    store.set_notes({"x": "1"})
    store.close()
    assert (tmp_path / "kb" / "index.db").exists()


def test_a_file_in_place_of_the_directory_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "kb").write_text("hello")
    with SqliteStore(tmp_path / "kb") as store:
        with pytest.raises(StoreError, match="is a file"):
            store.counts()
        with pytest.raises(StoreError, match="kb"):
            store.set_notes({"x": "1"})


@pytest.mark.parametrize("content", [b"hello", b"hello" * 1000, bytes(5000)])
def test_a_file_that_is_no_database_is_named_and_left_alone(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "index.db").write_bytes(content)
    with SqliteStore(tmp_path) as store:
        for use in (store.counts, lambda: store.set_notes({"x": "1"})):
            with pytest.raises(StoreError, match=r"index\.db"):
                use()
    assert (tmp_path / "index.db").read_bytes() == content


def test_the_database_of_another_program_is_left_alone(tmp_path: Path) -> None:
    with raw(tmp_path) as db:
        db.execute("CREATE TABLE nodes (x)")
    with SqliteStore(tmp_path) as store:
        for use in (store.counts, lambda: store.set_notes({"x": "1"})):
            with pytest.raises(StoreError, match="another program"):
                use()


def test_a_newer_index_is_a_mismatch_with_the_remedy(tmp_path: Path) -> None:
    small_index(tmp_path)
    with raw(tmp_path) as db:
        db.pragma("user_version", sqlite.SCHEMA_VERSION + 1)
    with SqliteStore(tmp_path) as store:
        for use in (store.counts, lambda: store.set_notes({"x": "1"})):
            with pytest.raises(StoreMismatch, match=r"newer Knotwork.*upgrade"):
                use()


def test_a_making_that_was_cut_short_is_begun_again(tmp_path: Path) -> None:
    (tmp_path / "index.db").touch()
    with SqliteStore(tmp_path) as store:
        assert not store.exists
        store.set_notes({"x": "1"})
        assert store.note("x") == "1"


def test_nothing_planted_in_a_strangers_index_runs(tmp_path: Path) -> None:
    small_index(tmp_path)
    with raw(tmp_path) as db:
        db.execute("CREATE TRIGGER t AFTER INSERT ON notes BEGIN DELETE FROM nodes; END")
    with SqliteStore(tmp_path) as store:
        store.set_notes({"x": "1"})
        assert store.counts().chunks == 2


# -- reading only ---------------------------------------------------------------------------------


def test_a_readonly_store_does_not_write(tmp_path: Path) -> None:
    small_index(tmp_path)
    with SqliteStore(tmp_path, readonly=True) as store:
        assert store.counts().chunks == 2
        with pytest.raises(StoreError, match="read-only"):
            store.set_notes({"x": "1"})
        with pytest.raises(StoreError, match="read-only"), store.writing():
            pass


@pytest.fixture
def unwritable() -> Iterator[Path]:
    """An index in a directory where this process may not write, also when it is root's."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "kb"
        small_index(path)
        Path(folder).chmod(0o755)
        path.chmod(0o555)
        (path / "index.db").chmod(0o444)
        root = os.geteuid() == 0
        if root:
            os.seteuid(65534)
        try:
            if not os.access(path / "index.db", os.R_OK, effective_ids=root):
                pytest.skip("the folder for temporary files is root's alone")
            yield path
        finally:
            if root:
                os.seteuid(0)
            path.chmod(0o755)


@posix
def test_an_index_where_nothing_can_be_written_is_read(unwritable: Path) -> None:
    with SqliteStore(unwritable) as store:
        assert store.counts().chunks == 2
        assert store.check() == []
        with pytest.raises(StoreError, match="read and written"):
            store.set_notes({"x": "1"})


def test_a_closed_store_says_so(tmp_path: Path) -> None:
    small_index(tmp_path)
    store = SqliteStore(tmp_path)
    documents = store.documents()
    next(documents)
    store.close()
    store.close()
    assert list(documents) == []  # what had begun comes to its end
    for use in (store.counts, lambda: store.set_notes({"x": "1"})):
        with pytest.raises(StoreError, match="closed"):
            use()


def test_a_reading_that_is_given_up_hinders_nobody(tmp_path: Path) -> None:
    small_index(tmp_path)
    with SqliteStore(tmp_path) as store:
        for document in store.documents():
            store.write([RemoveNode(document.id)])
            break
        assert store.counts().documents == 0


# -- one writer -----------------------------------------------------------------------------------

HOLD = """
import sys
from knotwork.stores import SqliteStore
with SqliteStore(sys.argv[1]).writing():
    print("held", flush=True)
    sys.stdin.readline()
"""


@contextmanager
def holder(path: Path) -> Iterator[subprocess.Popen[str]]:
    """Another process that writes until it is told to end."""
    command = [sys.executable, "-c", HOLD, str(path)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "held\n"
        yield process
        process.kill()


def test_a_second_writer_is_told_who_the_first_is(tmp_path: Path) -> None:
    with holder(tmp_path) as first, SqliteStore(tmp_path, timeout=0.05) as store:
        host = socket.gethostname()
        with pytest.raises(StoreLocked, match=rf"process {first.pid} on {host} since \d{{4}}-.*; wait"):
            store.set_notes({"x": "1"})
        assert store.counts().chunks == 0  # reading is free


def test_a_second_writer_waits_for_the_first(tmp_path: Path) -> None:
    with holder(tmp_path) as first, SqliteStore(tmp_path, timeout=30) as store:
        assert first.stdin is not None
        threading.Timer(0.2, lambda: (first.stdin.write("\n"), first.stdin.flush())).start()
        store.set_notes({"x": "1"})
        assert store.note("x") == "1"


@posix
def test_the_lock_of_a_dead_process_is_no_lock(tmp_path: Path) -> None:
    with holder(tmp_path) as first:
        first.kill()
        first.wait()
        assert json.loads((tmp_path / "writer.lock").read_text())["pid"] == first.pid
        with SqliteStore(tmp_path, timeout=0) as store:
            store.set_notes({"x": "1"})


def test_two_stores_of_one_process_take_turns(tmp_path: Path) -> None:
    with SqliteStore(tmp_path) as one, SqliteStore(tmp_path, timeout=0.05) as other:
        with one.writing():
            one.set_notes({"x": "1"})
            with one.writing():  # blocks of one store overlap freely
                pass
            with pytest.raises(StoreLocked, match=str(os.getpid())):
                other.set_notes({"x": "2"})
        other.set_notes({"x": "3"})
        one.set_notes({"y": "4"})
        assert [one.note(key) for key in "xy"] == [other.note(key) for key in "xy"] == ["3", "4"]


def test_the_transaction_of_another_program_is_waited_for_then_named(tmp_path: Path) -> None:
    small_index(tmp_path)
    with raw(tmp_path) as db, SqliteStore(tmp_path, timeout=0.05) as store:
        db.execute("BEGIN IMMEDIATE")
        with pytest.raises(StoreLocked, match="another program"):
            store.set_notes({"x": "1"})
        db.execute("ROLLBACK")
        store.set_notes({"x": "1"})


@posix
def test_a_drive_that_only_pretends_to_lock_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fcntl.flock", lambda handle, how: None)
    with SqliteStore(tmp_path) as store, pytest.raises(StoreError, match=r"does not lock.*local disk"):
        store.set_notes({"x": "1"})
    assert not (tmp_path / "index.db").exists()


@posix
def test_a_drive_without_locks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def flock(handle: int, how: int) -> None:
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.flock", flock)
    with SqliteStore(tmp_path) as store, pytest.raises(StoreError, match=r"does not lock.*local disk"):
        store.set_notes({"x": "1"})


@posix
def test_a_drive_without_shared_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def connect(self: SqliteStore, address: str, flags: int) -> apsw.Connection:
        return apsw.Connection(address, flags=flags, vfs="unix-none")

    monkeypatch.setattr(SqliteStore, "_connect", connect)
    with SqliteStore(tmp_path) as store, pytest.raises(StoreError, match=r"shared memory.*local disk"):
        store.set_notes({"x": "1"})


# -- full text ------------------------------------------------------------------------------------


def test_common_words_count_only_when_there_are_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "COMMON", 2)
    with SqliteStore(tmp_path) as store:
        store.write([chunk(f"c{at}", "the cow" + (" and zebra" if at == 3 else "")) for at in range(9)])
        assert [id for id, _ in store.match(["cow", "zebra"], 10)] == ["c3"]
        assert len(store.match(["cow", "the"], 10)) == 9
        assert len(store.match(["cow", "unheard"], 10)) == 9


def test_the_rarest_words_of_a_long_question_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "MAX_TERMS", 2)
    with SqliteStore(tmp_path) as store:
        store.write([chunk("a", "cow cat zebra"), chunk("b", "cow cat"), chunk("c", "cow lion")])
        assert {id for id, _ in store.match(["cow", "cat", "zebra", "lion"], 10)} == {"a", "c"}


# -- damage and sudden death ----------------------------------------------------------------------


def test_a_full_disk_leaves_the_index_as_it_was(tmp_path: Path) -> None:
    small_index(tmp_path)
    with SqliteStore(tmp_path) as store:
        with store.writing():
            db = store._writer
            assert db is not None
            pages = db.pragma("max_page_count", db.pragma("page_count") + 2)
        with pytest.raises(StoreError, match=r"full.*free some space") as caught:
            store.write([chunk(f"n{at}", "words " * 500) for at in range(100)], {"x": "1"})
        assert isinstance(caught.value.__cause__, apsw.FullError)
        assert (store.counts().chunks, store.note("x")) == (2, None)
        db.pragma("max_page_count", 10_000 + pages)
        store.write([chunk("n", "words")])
        assert store.counts().chunks == 3
        assert store.check() == []


def test_a_sound_index_has_no_problems(tmp_path: Path) -> None:
    small_index(tmp_path)
    with SqliteStore(tmp_path) as store:
        assert store.check() == []


@pytest.mark.parametrize(
    ("harm", "said"),
    [
        ("DELETE FROM nodes WHERE key = 1", "2 rows of relationships belong to a node that is not there"),
        ("DELETE FROM full_text WHERE rowid = 2", "1 chunks are missing from the full text"),
        ("INSERT INTO full_text (rowid, words) VALUES (99, 'x')", "full text holds 1 chunks that are not there"),
        ("UPDATE arrays SET data = x'00' WHERE node = 2", "1 arrays have the wrong number of bytes"),
        ("UPDATE arrays SET shape = '[1]', data = x'00000000' WHERE node = 2", r"differ in length \(1 and 2\)"),
        (
            "INSERT INTO arrays SELECT 99, node, name, dtype, shape, data FROM arrays LIMIT 1",
            "1 arrays are there twice",
        ),
    ],
)
def test_check_finds_what_does_not_fit_together(tmp_path: Path, harm: str, said: str) -> None:
    small_index(tmp_path)
    with raw(tmp_path) as db:
        db.pragma("foreign_keys", False)
        db.execute(harm)
    with SqliteStore(tmp_path) as store:
        assert re.search(said, "\n".join(store.check()))


def test_a_damaged_file_is_found_and_named(tmp_path: Path) -> None:
    with SqliteStore(tmp_path) as store:
        store.write([chunk(f"c{at}", f"words {at} " * 50) for at in range(300)])
    file = tmp_path / "index.db"
    content = bytearray(file.read_bytes())
    for at in range(8192 * 3, len(content), 8192):
        content[at : at + 200] = os.urandom(200)
    file.write_bytes(content)
    with SqliteStore(tmp_path) as store:
        assert "damaged" in store.check()[0]
        with pytest.raises(StoreError, match=r"index\.db is damaged.*another directory"):
            store.graph()


STEPS = """
import sys
import numpy as np
from knotwork.graph import AddNode, AddRelationship, Node, NodeType, Relationship, SetProperty
from knotwork.stores import SqliteStore
store = SqliteStore(sys.argv[1])
with store.writing():
    step = int(store.note("step") or 0)
    while True:
        step += 1
        home = Node(f"d{step}", {"page_content": "zebra " * 1000}, NodeType.DOCUMENT)
        changes = [AddNode(home)]
        for at in range(20):
            said = {"page_content": "a zebra " * 20, "embedding": np.ones(64, np.float32)}
            part = Node(f"c{step}-{at}", said, NodeType.CHUNK)
            changes += [AddNode(part), AddRelationship(Relationship("child", home, part))]
        changes += [SetProperty(f"d{before}", "title", str(step)) for before in range(1, step)]
        store.write(changes, {"step": str(step)})
        print(step, flush=True)
"""


@posix
def test_a_process_killed_at_any_moment_leaves_whole_steps(tmp_path: Path) -> None:
    rng = random.Random(0)
    for _ in range(10):
        command = [sys.executable, "-c", STEPS, str(tmp_path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            assert process.stdout is not None
            said = [process.stdout.readline()]
            time.sleep(rng.random() * 0.05)
            process.kill()
            said += process.stdout.readlines()
        with SqliteStore(tmp_path) as store:
            step = int(store.note("step") or 0)
            durable = [int(line) for line in said if line.endswith("\n")]
            assert step in (durable[-1], durable[-1] + 1)
            counts = store.counts()
            assert (counts.documents, counts.chunks) == (step, 20 * step)
            assert {record.title for record in store.records()} <= {"", str(step)}
            assert len(store.match(["zebra"], 10_000)) == store.passages().vectors.shape[0] == 20 * step
            assert store.check() == []
