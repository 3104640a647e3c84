"""An index in one SQLite file.

    nodes            id, type and properties as JSON
      texts          their `page_content`
      arrays         their numpy arrays, and the `sentences` of chunks
      full_text      the words of chunks (FTS5; it keeps no text of its own)
    relationships    the properties that mentions have are columns, so that a million of them load in a second
    notes            whatever else an index must remember

Everything below a node goes with it (ON DELETE CASCADE); the full text is kept in step by `_index_text`.
Ids stay what they were: a str is TEXT, an int INTEGER, a UUID BLOB.
"""

from __future__ import annotations

import gc
import json
import os
import platform
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import chain
from math import prod
from pathlib import Path
from types import TracebackType
from typing import Any, TypeAlias, TypeVar
from urllib.request import pathname2url
from uuid import UUID

import apsw
import numpy as np
import numpy.typing as npt

from knotwork.errors import GraphError, StoreError, StoreLocked, StoreMismatch
from knotwork.graph import (
    MISSING,
    AddNode,
    AddRelationship,
    Change,
    Document,
    KnowledgeGraph,
    Node,
    NodeId,
    NodeType,
    Relationship,
    RemoveNode,
    RemoveRelationship,
    SetProperty,
    _plain,
    _revive,
)
from knotwork.protocols import Counts, DocumentRecord, Passages
from knotwork.text import search_terms

APPLICATION_ID = 0x4B6E6F74  # "Knot"
SCHEMA_VERSION = 1
SCHEMA = (
    """CREATE TABLE nodes (
        key INTEGER PRIMARY KEY,
        id ANY NOT NULL UNIQUE,
        type TEXT NOT NULL,
        properties TEXT NOT NULL
    ) STRICT""",
    "CREATE INDEX nodes_by_type ON nodes (type)",
    """CREATE TABLE texts (
        node INTEGER PRIMARY KEY REFERENCES nodes ON DELETE CASCADE,
        text ANY NOT NULL
    ) STRICT""",
    """CREATE TABLE arrays (
        key INTEGER PRIMARY KEY,
        node INTEGER NOT NULL REFERENCES nodes ON DELETE CASCADE,
        name ANY NOT NULL,
        dtype TEXT NOT NULL,
        shape TEXT NOT NULL,
        data BLOB NOT NULL
    ) STRICT""",
    # dtype and shape, so that the memory for all vectors can be laid out without reading them
    "CREATE INDEX arrays_by_node ON arrays (node, name, dtype, shape)",
    """CREATE TABLE relationships (
        key INTEGER PRIMARY KEY,
        id ANY NOT NULL UNIQUE,
        type ANY NOT NULL,
        source INTEGER NOT NULL REFERENCES nodes ON DELETE CASCADE,
        target INTEGER NOT NULL REFERENCES nodes ON DELETE CASCADE,
        bidirectional INTEGER NOT NULL,
        start INTEGER,
        "end" INTEGER,
        surface ANY,
        description ANY,
        properties TEXT
    ) STRICT""",
    "CREATE INDEX relationships_by_type ON relationships (type)",
    "CREATE INDEX relationships_by_source ON relationships (source, type, target)",
    "CREATE INDEX relationships_by_target ON relationships (target, type, source)",
    "CREATE TABLE notes (key ANY PRIMARY KEY, value ANY NOT NULL) STRICT, WITHOUT ROWID",
    """CREATE VIRTUAL TABLE full_text USING fts5 (
        words, content='', contentless_delete=1, tokenize='porter unicode61 remove_diacritics 2'
    )""",
    "CREATE VIRTUAL TABLE full_text_terms USING fts5vocab (full_text, row)",
)
TOKENIZER = ("porter", ["unicode61", "remove_diacritics", "2"])

MAX_TERMS = 32
MAX_WORDS = 1000  # of a query that are weighed at all
COMMON = 1000
"""A term in fewer chunks than this is never too common to search for: ranking so many costs nothing."""

_BATCH = 1000
LINK_COLUMNS = 'id, type, source, target, bidirectional, start, "end", surface, description, properties'
_COLUMNS = (("start", int), ("end", int), ("surface", str), ("description", str))
_PAIRS: dict[str, type[list[Any]] | type[tuple[Any, ...]]] = {
    "pairs": list,
    "tuples": tuple,
}  # in place of a dtype: a list of lists or tuples of two ints
_Sql: TypeAlias = str | int | bytes
_Array: TypeAlias = tuple[str, str, str, bytes]  # name, dtype, shape, data
_Item = TypeVar("_Item")


class SqliteStore:
    """The index in the directory `path`: one file there, made with the directory by the first write.

    timeout: seconds that a write waits for another process's. Safe to use from several threads.
    Everything raises StoreError when the file cannot be used, StoreLocked when another process is writing, and
    StoreMismatch when a newer Knotwork made it.
    """

    def __init__(self, path: str | os.PathLike[str], *, readonly: bool = False, timeout: float = 5.0) -> None:
        self.path = Path(path)
        self._readonly = readonly
        self._timeout = timeout
        self._file = self.path.absolute() / "index.db"
        self._lock = _WriterLock(self.path)
        self._idle: list[apsw.Connection] = []  # readers that nobody uses at the moment
        self._closed = False
        self._guard = threading.Lock()  # of those two
        self._writer: apsw.Connection | None = None
        self._writing = 0  # how many hold the writer's lock
        self._writers = threading.Lock()  # of those two
        self._turn = threading.Lock()  # one transaction at a time

    @property
    def exists(self) -> bool:
        """Whether there is an index to read."""
        try:
            with self._read():
                return True
        except _NoIndex:
            return False

    # writing

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Keep other processes from writing until the block ends. The index is made if there is none.

        `write` does this for itself; a run of several writes holds it throughout. Blocks of one store overlap freely.
        """
        if self._readonly:
            raise StoreError(f"the index at {self.path} was opened read-only; open it without readonly to write")
        with self._writers, self._explained():
            self._require_open()
            if not self._writing:
                self._lock.acquire(self._timeout)
                try:
                    self._writer = self._writer or self._open_writer()
                except BaseException:
                    self._lock.release()
                    raise
            self._writing += 1
        try:
            yield
        finally:
            with self._writers:
                self._writing -= 1
                if not self._writing:
                    self._lock.release()

    def write(self, changes: Sequence[Change], notes: dict[str, str] | None = None) -> None:
        """Make graph changes durable, with notes set in the same transaction: all, or none and an error.

        Takes what a graph tells its listeners: `graph.subscribe(store.write)`. Raises GraphError naming node and
        property for a value that has no JSON form, StoreError for a change that does not fit what is stored.
        """
        if not changes and not notes:
            return
        with self.writing(), self._turn, self._explained():
            db = self._writer
            assert db is not None
            db.execute("BEGIN IMMEDIATE")
            try:
                if changes:
                    _apply(db, changes)
                if notes:
                    pairs = [(_to_text(key), _to_text(value)) for key, value in notes.items()]
                    db.executemany("INSERT OR REPLACE INTO notes VALUES (?, ?)", pairs)
                db.execute("COMMIT")
            except BaseException:
                if db.in_transaction:
                    db.execute("ROLLBACK")
                raise

    def set_notes(self, notes: dict[str, str]) -> None:
        self.write((), notes)

    # reading

    def graph(self) -> KnowledgeGraph:
        """The whole graph, in canonical order, which does not depend on the order of writing.

        Documents by id, chunks by document and start, entities by id, communities by level and path, other nodes by
        id; relationships by type and the places of their ends; the properties of each by name.
        """
        with self._read() as db, _uncollected():
            return _graph(db)

    def note(self, key: str) -> str | None:
        with self._read() as db:
            value = db.execute("SELECT value FROM notes WHERE key = ?", (_to_text(key),)).get
        return None if value is None else _from_text(value)

    def counts(self) -> Counts:
        with self._read() as db:
            nodes: dict[str, int] = dict(_rows(db, "SELECT type, count(*) FROM nodes GROUP BY type"))
            sql = "SELECT type, count(*) FROM relationships WHERE type IN ('relates', 'mention') GROUP BY type"
            links: dict[str, int] = dict(_rows(db, sql))
            reports: int = db.execute(
                "SELECT count(*) FROM nodes WHERE type = 'community' AND properties ->> '$.report' IS NOT NULL"
            ).get
        return Counts(
            documents=nodes.get("document", 0),
            chunks=nodes.get("chunk", 0),
            entities=nodes.get("entity", 0),
            relationships=links.get("relates", 0),
            communities=nodes.get("community", 0),
            reports=reports,
            mentions=links.get("mention", 0),
        )

    def records(self) -> list[DocumentRecord]:
        """Every document without its text, by id."""
        with self._read() as db:
            rows = _rows(
                db,
                "SELECT id, json_array(properties -> '$.title', properties -> '$.source', properties -> '$.root',"
                " properties -> '$.content_hash') FROM nodes WHERE type = 'document'",
            )
        documents = sorted(((_from_id(id), _load(fields)) for id, fields in rows), key=lambda row: _order(row[0]))
        return [DocumentRecord(id, *map(_line, fields)) for id, fields in documents]

    def documents(self, ids: Iterable[str] | None = None) -> Iterator[Document]:
        """Documents with their texts: all, by id, or the ones asked for, in that order.

        All as they were when the first was asked for. Raises StoreError naming an id that is no document's.
        """
        with self._read() as db:
            if ids is None:
                found = [_from_id(id) for (id,) in db.execute("SELECT id FROM nodes WHERE type = 'document'")]
                ids = sorted(found, key=_order)
            for id in ids:
                row = _text_row(db, id, "document")
                if row is None:
                    raise StoreError(f"there is no document {id!r} in the index at {self.path}")
                properties, text = _load(row[0]), row[1]
                metadata = properties.get("metadata")
                yield Document(
                    text="" if text is None else _from_text(text),
                    id=id,
                    title=_line(properties.get("title")),
                    source=_line(properties.get("source")),
                    metadata=metadata if isinstance(metadata, dict) else {},
                )

    def metadata(self, ids: Iterable[str]) -> list[dict[str, Any]]:
        """The metadata of documents, in the order asked for. Raises StoreError naming an id that is no document's."""
        found = []
        with self._read() as db:
            sql = "SELECT properties -> '$.metadata' FROM nodes WHERE id = ? AND type = 'document'"
            for id in ids:
                rows = _rows(db, sql, (_to_id(id),))
                if not rows:
                    raise StoreError(f"there is no document {id!r} in the index at {self.path}")
                metadata = _load(rows[0][0])
                found.append(metadata if isinstance(metadata, dict) else {})
        return found

    def passages(self) -> Passages:
        """What a retriever keeps in memory. A chunk without sentence vectors has zeros, a mention without start -1.

        Raises StoreMismatch when the vectors of chunks are not all of one length.
        """
        with self._read() as db, _uncollected():
            return _passages(db)

    def chunk_texts(self, chunk_ids: Sequence[str]) -> list[str]:
        """The texts of chunks, in the order asked for. Raises StoreError naming an id that is no chunk's."""
        texts = []
        with self._read() as db:
            for id in chunk_ids:
                row = _text_row(db, id, "chunk")
                if row is None:
                    raise StoreError(f"there is no chunk {id!r} in the index at {self.path}")
                texts.append("" if row[1] is None else _from_text(row[1]))
        return texts

    def match(self, terms: Sequence[str], limit: int) -> list[tuple[str, float]]:
        """Full text: chunk ids with their BM25 scores (higher is better), best first, any term counting.

        `terms` are those of `knotwork.text.search_terms`; stop words should be left out by the caller. The 32 rarest
        count, and of those not what stands in over a third of a large index's chunks, unless nothing else does.
        Equal scores are in the order of ids.
        """
        # Read as text once more, so that whatever a caller sends, only words are left: nothing of FTS5's syntax.
        words = list(dict.fromkeys(search_terms(" ".join(terms))))[:MAX_WORDS]
        if not words or limit < 1:
            return []
        with self._read() as db:
            query = " OR ".join(f'"{word}"' for word in _rarest(db, words))
            rows = _rows(
                db,
                "SELECT id, -bm25(full_text) AS score FROM full_text JOIN nodes ON key = full_text.rowid"
                " WHERE full_text MATCH ? ORDER BY score DESC, id LIMIT ?",
                (query, limit),
            )
        return [(_from_id(id), score) for id, score in rows]

    def stems(self, texts: Sequence[str]) -> list[list[str]]:
        """The search terms of each text, as full text stems them (Porter 1980)."""
        with self._read() as db:
            tokenizer = db.fts5_tokenizer(*TOKENIZER)
            return [_stemmed(tokenizer, " ".join(search_terms(text))) for text in texts]

    def frequencies(self, stems: Sequence[str]) -> dict[str, int]:
        """In how many chunks each stem stands; 0 for one that stands nowhere."""
        with self._read() as db:
            sql = "SELECT term, doc FROM full_text_terms WHERE term = ?"
            hits = dict(db.executemany(sql, ((stem,) for stem in set(stems))))
        return {stem: int(hits.get(stem, 0)) for stem in stems}

    def check(self) -> list[str]:
        """What is wrong with the file, in words; empty when nothing is."""
        try:
            with self._read() as db:
                return _problems(db)
        except StoreError as error:
            if isinstance(error.__cause__, apsw.CorruptError):
                return [str(error)]
            raise

    # opening and closing

    def close(self) -> None:
        """Close the file. A read that another thread is in the middle of still comes to its end."""
        with self._guard:
            self._closed = True
            idle, self._idle = self._idle, []
        with self._writers, self._turn, self._explained():
            for db in idle:
                db.close()
            if self._writer is not None:
                self._writer.close()  # last, because the last one to leave tidies the write-ahead log away
                self._writer = None

    def __enter__(self) -> SqliteStore:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    @contextmanager
    def _read(self) -> Iterator[apsw.Connection]:
        """A connection that sees one state of the index throughout."""
        with self._explained():
            with self._guard:
                self._require_open()
                db = self._idle.pop() if self._idle else None
            db = db or self._open_reader()
            try:
                db.execute("BEGIN")
                yield db
                db.execute("COMMIT")
            except BaseException:
                db.close(True)
                raise
            with self._guard:
                if self._closed or db.open_flags & apsw.SQLITE_OPEN_URI:  # an immutable view would miss what comes
                    db.close()
                else:
                    self._idle.append(db)

    def _require_open(self) -> None:
        if self._closed:
            raise StoreError(f"the index at {self.path} was closed; open it again")

    def _open_reader(self) -> apsw.Connection:
        if self._file.parent.is_file():
            raise StoreError(f"{self.path} is a file, and an index is a directory: give another --index")
        if not self._file.exists():
            raise _NoIndex(self.path)
        try:
            db = self._connect(str(self._file), apsw.SQLITE_OPEN_READONLY)
        except (apsw.CantOpenError, apsw.ReadOnlyError):
            # A directory where nothing can be written, so SQLite can't lay out its shared memory there. Without a
            # write-ahead log nobody is writing, and the file is the whole index.
            if Path(f"{self._file}-wal").exists():
                raise
            address = f"file:{pathname2url(str(self._file))}?immutable=1"
            db = self._connect(address, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)
        if not self._is_made(db):
            db.close()
            raise _NoIndex(self.path)
        return db

    def _open_writer(self) -> apsw.Connection:
        self._lock.require_exclusive()
        if not self._file.exists():
            os.close(os.open(self._file, os.O_RDWR | os.O_CREAT, 0o600))  # SQLite gives its other files the same mode
        db = self._connect(str(self._file), apsw.SQLITE_OPEN_READWRITE)
        try:
            made = self._is_made(db)
            if not made:
                db.pragma("page_size", 8192)  # vectors of 384 floats leave half of a smaller page empty
            if db.pragma("journal_mode", "wal") != "wal":
                raise StoreError(
                    f"the file system of {self.path} gives SQLite no shared memory (a network drive?): "
                    "put the index on a local disk"
                )
            db.pragma("synchronous", "full")
            db.pragma("fullfsync", True)  # on macOS a plain fsync stops at the drive's cache
            db.pragma("cache_size", -64_000)
            db.pragma("journal_size_limit", 64_000_000)
            if not made:
                db.execute("BEGIN IMMEDIATE")
                for statement in SCHEMA:
                    db.execute(statement)
                db.pragma("application_id", APPLICATION_ID)
                db.pragma("user_version", SCHEMA_VERSION)
                db.execute("COMMIT")
        except BaseException:
            db.close(True)
            raise
        return db

    def _connect(self, address: str, flags: int) -> apsw.Connection:
        db = apsw.Connection(address, flags=flags)
        try:
            db.set_busy_timeout(int(self._timeout * 1000))
            # An index may come from a stranger: nothing in its schema is to run, nor to reach under the tables.
            db.config(apsw.SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0)
            db.config(apsw.SQLITE_DBCONFIG_DEFENSIVE, 1)
            db.config(apsw.SQLITE_DBCONFIG_ENABLE_TRIGGER, 0)
            db.config(apsw.SQLITE_DBCONFIG_ENABLE_VIEW, 0)
            db.pragma("foreign_keys", True)
            db.pragma("schema_version")  # the first look into the file
        except BaseException:
            db.close(True)
            raise
        return db

    def _is_made(self, db: apsw.Connection) -> bool:
        """Whether the file holds an index; False when it is empty. Raises when it holds something else."""
        version = db.pragma("user_version")
        if db.pragma("application_id") != APPLICATION_ID:
            if version or db.execute("SELECT count(*) FROM sqlite_schema").get:
                raise StoreError(f"{self._file} is a database of another program: give another directory as --index")
            return False
        if version > SCHEMA_VERSION:
            raise StoreMismatch(
                f"the index at {self.path} was made by a newer Knotwork (its format is {version}, this one reads "
                f"{SCHEMA_VERSION}): pip install --upgrade knotwork"
            )
        return True

    @contextmanager
    def _explained(self) -> Iterator[None]:
        """SQLite's errors and the system's as ours."""
        try:
            yield
        except apsw.NotADBError as error:
            raise StoreError(
                f"{self._file} is not an index (not a SQLite database): move it away, or give another --index"
            ) from error
        except (apsw.CorruptError, UnicodeDecodeError, json.JSONDecodeError) as error:
            raise StoreError(
                f"{self._file} is damaged ({error}): restore a copy, or index the documents into another directory"
            ) from error
        except (apsw.BusyError, apsw.LockedError) as error:
            raise StoreLocked(
                f"the index at {self.path} is held by another program for over {self._timeout:g} s; "
                "close that program and try again"
            ) from error
        except apsw.FullError as error:
            raise StoreError(
                f"the disk of the index at {self.path} is full ({error}); nothing of this step was written: "
                "free some space and run again"
            ) from error
        except (apsw.Error, OSError) as error:
            said = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
            raise StoreError(
                f"the index at {self.path} cannot be used ({said}): check that the directory may be read and written"
            ) from error


class _NoIndex(StoreError):
    def __init__(self, path: Path) -> None:
        super().__init__(f"no index at {path}; make one with: knotwork index PATH --index {path}")


# -- the writer's lock ----------------------------------------------------------------------------


class _WriterLock:
    """Held by the one process that writes. The system drops it when that process dies, however it dies."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._path = directory.absolute() / "writer.lock"
        self._handle: int | None = None

    def acquire(self, timeout: float) -> None:
        """Wait for the lock. Raises StoreLocked saying who holds it after `timeout` seconds."""
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        handle = self._open()
        until = time.monotonic() + timeout
        try:
            while not self._try(handle):
                if time.monotonic() >= until:
                    raise StoreLocked(
                        f"the index at {self._directory} is being written by {self._holder(handle)}; wait for it to "
                        "end, or stop it, and run again"
                    )
                time.sleep(0.02)
            who = {"pid": os.getpid(), "host": platform.node(), "since": time.strftime("%Y-%m-%d %H:%M:%S %z")}
            os.ftruncate(handle, 0)
            os.lseek(handle, 0, os.SEEK_SET)
            os.write(handle, json.dumps(who).encode())
        except BaseException:
            os.close(handle)
            raise
        self._handle = handle

    def release(self) -> None:
        if self._handle is not None:
            os.ftruncate(self._handle, 0)
            os.close(self._handle)  # which gives the lock up
            self._handle = None

    def require_exclusive(self) -> None:
        """Raise StoreError where a lock that is held can be had once more: some network drives only pretend.

        SQLite's own locks can't be tested from one process, which never asks the system about itself. Network file
        systems make this lock out of the same ones.
        """
        handle = self._open()
        try:
            if self._try(handle):
                raise self._no_locks()
        finally:
            os.close(handle)

    def _no_locks(self) -> StoreError:
        return StoreError(
            f"the file system of {self._directory} does not lock files (a network drive?), so two runs could spoil "
            "the index there: put it on a local disk"
        )

    def _open(self) -> int:
        return os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)

    def _holder(self, handle: int) -> str:
        os.lseek(handle, 0, os.SEEK_SET)
        try:
            who = json.loads(os.read(handle, 4096))
            return f"process {who['pid']} on {who['host']} since {who['since']}"
        except (ValueError, TypeError, KeyError):  # it has the lock and is about to write its name
            return "another process"

    if sys.platform == "win32":

        def _try(self, handle: int) -> bool:
            import msvcrt

            os.lseek(handle, 1 << 20, os.SEEK_SET)  # a byte far behind the text, which stays readable
            try:
                msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
            except PermissionError:
                return False
            return True

    else:

        def _try(self, handle: int) -> bool:
            import fcntl

            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                return False
            except OSError as error:  # ENOLCK, ENOTSUP, ...: whatever it is, no lock can be had here
                raise self._no_locks() from error
            return True


def _text_row(db: apsw.Connection, id: NodeId, type: str) -> Any:
    """(properties, text) of a node of a type, None when there is none."""
    sql = "SELECT properties, text FROM nodes LEFT JOIN texts ON node = key WHERE id = ? AND type = ?"
    return db.execute(sql, (_to_id(id), type)).get


def _rows(db: apsw.Connection, sql: str, bindings: tuple[Any, ...] = ()) -> list[Any]:
    return db.execute(sql, bindings).fetchall()


# -- values ---------------------------------------------------------------------------------------


def _to_text(text: str) -> str | bytes:
    """Text as SQLite takes it: with a lone surrogate in it, which has no UTF-8 form, as bytes."""
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            return text.encode("utf-8", "surrogatepass")
    return text


def _from_text(value: str | bytes) -> str:
    return value if isinstance(value, str) else value.decode("utf-8", "surrogatepass")


def _to_id(id: NodeId) -> _Sql:
    if isinstance(id, str):
        text = _to_text(str(id))
        return text if isinstance(text, str) else b"s" + text
    if isinstance(id, int):
        return int(id) if -(2**63) <= id < 2**63 else b"i%d" % id
    if isinstance(id, UUID):
        return b"u" + id.bytes
    raise GraphError(f"the id {id!r} is a {type(id).__name__}; an index takes str, int and UUID")


def _from_id(value: _Sql) -> Any:
    if not isinstance(value, bytes):
        return value
    kind, rest = value[:1], value[1:]
    return UUID(bytes=rest) if kind == b"u" else int(rest) if kind == b"i" else _from_text(rest)


def _order(id: NodeId) -> tuple[int, Any]:
    """Sort key of ids of any kind."""
    return (0 if isinstance(id, int) else 1 if isinstance(id, str) else 2, id)


def _dump(properties: dict[str, Any], where: str) -> str:
    """Properties in their plain form as JSON."""
    try:
        text = json.dumps(properties, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError) as error:
        raise GraphError(f"{where}: its properties have no JSON form: {error}") from error
    return text if isinstance(_to_text(text), str) else json.dumps(properties, separators=(",", ":"))


def _load(text: str | None) -> Any:
    """A value of `_dump`, or of a part of it; None for none."""
    if text is None:
        return None
    value = json.loads(text)
    return _revive(value) if '"__' in text else value


def _line(value: Any) -> str:
    """A title or headings as one line of text, whatever a user made of them."""
    if isinstance(value, list | tuple):
        return ". ".join(line for line in map(_line, value) if line)
    return "" if value is None else str(value)


def _split(properties: Mapping[str, Any], where: str) -> tuple[dict[str, Any], str | bytes | None, list[_Array]]:
    """A node's properties as what goes into JSON, its text, and its arrays."""
    plain: dict[str, Any] = {}
    text: str | bytes | None = None
    arrays: list[_Array] = []
    for name, value in properties.items():
        if name == "page_content" and type(value) is str:
            text = _to_text(value)
        elif isinstance(value, np.ndarray) and value.dtype.kind in "biuf" and isinstance(_to_text(name), str):
            if value.dtype.kind == "f" and not np.isfinite(value).all():
                raise GraphError(f"{where}, property {name!r}: the array holds NaN or Infinity")
            arrays.append((name, value.dtype.str, json.dumps(value.shape), value.tobytes()))
        elif name == "sentences" and (pairs := _pairs(value)):
            arrays.append((name, *pairs))
        else:
            plain[name] = _plain(value, where, name)
    return plain, text, arrays


def _pairs(value: Any) -> tuple[str, str, bytes] | None:
    """A list of pairs of small ints as (kind, shape, data); None for anything else."""
    if not isinstance(value, list) or not value:
        return None
    for kind, form in _PAIRS.items():
        if all(type(pair) is form and len(pair) == 2 for pair in value):
            flat = list(chain.from_iterable(value))
            whole = all(isinstance(number, int | np.integer) and not isinstance(number, bool) for number in flat)
            if whole and max(map(abs, flat)) < 2**31:
                return kind, json.dumps([len(value), 2]), np.array(flat, "<i4").tobytes()
    return None


@lru_cache(maxsize=4096)
def _shape(text: str) -> tuple[int, ...]:
    return tuple(json.loads(text))


@lru_cache(maxsize=64)
def _dtype(name: str) -> np.dtype[Any]:
    return np.dtype("<i4" if name in _PAIRS else name)


def _read_array(dtype: str, shape: str, data: bytes) -> Any:
    array = np.frombuffer(data, _dtype(dtype)).reshape(_shape(shape))
    return list(map(_PAIRS[dtype], array.tolist())) if dtype in _PAIRS else array.copy()


# -- writing --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Net:
    """What a list of changes comes to: first what goes, then what comes."""

    gone: dict[NodeId, None] = field(default_factory=dict)
    unlinked: dict[NodeId, None] = field(default_factory=dict)
    nodes: dict[NodeId, Node] = field(default_factory=dict)
    values: dict[NodeId, dict[str, Any]] = field(default_factory=dict)
    links: dict[NodeId, Relationship] = field(default_factory=dict)
    ends: dict[NodeId, set[NodeId]] = field(default_factory=dict)  # node -> those of `links` that touch it, or did

    def take(self, change: Change) -> None:
        match change:
            case SetProperty(id, key, value):
                self.values.setdefault(id, {})[key.lower()] = value
            case AddNode(node):
                self.nodes.setdefault(node.id, node)
            case AddRelationship(link):
                self.links.setdefault(link.id, link)
                self.ends.setdefault(link.source.id, set()).add(link.id)
                self.ends.setdefault(link.target.id, set()).add(link.id)
            case RemoveNode(id):
                if self.nodes.pop(id, None) is None:
                    self.gone[id] = None
                self.values.pop(id, None)
                for touching in self.ends.pop(id, ()):
                    held = self.links.get(touching)
                    if held is not None and id in (held.source.id, held.target.id):
                        del self.links[touching]
            case RemoveRelationship(id):
                if self.links.pop(id, None) is None:
                    self.unlinked[id] = None


def _apply(db: apsw.Connection, changes: Sequence[Change]) -> None:
    """Make the changes inside a transaction."""
    net = _Net()
    for change in changes:
        net.take(change)
    stale: set[int] = set()  # nodes at and below which the full text is made again
    stale |= _remove_relationships(db, net.unlinked)
    stale |= _remove_nodes(db, net.gone)
    ends = (end.id for link in net.links.values() for end in (link.source, link.target))
    keys = _keys(db, chain(net.nodes, net.values, ends))
    fresh = [node for id, node in net.nodes.items() if id not in keys]  # a node that is there already is kept once
    known = {id: values for id, values in net.values.items() if id in keys or id not in net.nodes}
    stale |= _add_nodes(db, fresh, net.values, keys)
    stale |= _set_properties(db, known, keys)
    stale |= _add_relationships(db, net.links.values(), keys)
    _index_text(db, stale)


def _batches(items: Iterable[_Item], size: int = _BATCH) -> Iterator[list[_Item]]:
    whole = list(items)
    for start in range(0, len(whole), size):
        yield whole[start : start + size]


def _keys(db: apsw.Connection, ids: Iterable[NodeId]) -> dict[NodeId, int]:
    """The keys of those nodes that are stored."""
    wanted = {_to_id(id): id for id in ids}
    rows = db.executemany("SELECT id, key FROM nodes WHERE id = ?", ((value,) for value in wanted))
    return {wanted[value]: key for value, key in rows}


def _out_of_step(what: str) -> StoreError:
    return StoreError(
        f"{what} is not in the index: the graph was changed without it; read the graph anew and change that"
    )


def _remove_relationships(db: apsw.Connection, ids: Collection[NodeId]) -> set[int]:
    wanted = {_to_id(id): id for id in ids}
    sql = "SELECT id, key, type, target FROM relationships WHERE id = ?"
    rows = list(db.executemany(sql, ((value,) for value in wanted)))
    if len(rows) < len(wanted):
        lost = wanted.keys() - {row[0] for row in rows}
        raise _out_of_step(f"relationship {wanted[min(lost, key=repr)]!r}")
    db.executemany("DELETE FROM relationships WHERE key = ?", ((key,) for _, key, _, _ in rows))
    return {target for _, _, type, target in rows if type == "child"}


def _remove_nodes(db: apsw.Connection, ids: Collection[NodeId]) -> set[int]:
    keys = _keys(db, ids)
    for id in ids:
        if id not in keys:
            raise _out_of_step(f"node {id!r}")
    gone = [(key,) for key in keys.values()]
    children = db.executemany("SELECT target FROM relationships WHERE source = ? AND type = 'child'", gone)
    stale = {target for (target,) in children}
    db.executemany("DELETE FROM full_text WHERE rowid = ?", gone)
    db.executemany("DELETE FROM nodes WHERE key = ?", gone)
    return stale


def _add_nodes(
    db: apsw.Connection, nodes: Sequence[Node], values: Mapping[NodeId, dict[str, Any]], keys: dict[NodeId, int]
) -> set[int]:
    """Adds nodes with the values set later; their keys go into `keys`."""
    last: int = db.execute("SELECT max(key) FROM nodes").get or 0
    keys.update((node.id, key) for key, node in enumerate(nodes, last + 1))
    for batch in _batches(nodes):
        rows, texts, arrays = [], [], []
        for node in batch:
            key, where = keys[node.id], f"node {node.id!r}"
            properties = {**node.properties._data, **values.get(node.id, {})}
            plain, text, own = _split({name: item for name, item in properties.items() if item is not MISSING}, where)
            rows.append((key, _to_id(node.id), node.type.value, _dump(plain, where)))
            if text is not None:
                texts.append((key, text))
            arrays += [(key, *array) for array in own]
        db.executemany("INSERT INTO nodes VALUES (?, ?, ?, ?)", rows)
        _insert_values(db, texts, arrays)
    return {keys[node.id] for node in nodes if node.type is NodeType.CHUNK}


def _insert_values(
    db: apsw.Connection, texts: Iterable[tuple[int, str | bytes]], arrays: Iterable[tuple[Any, ...]]
) -> None:
    db.executemany("INSERT INTO texts VALUES (?, ?)", texts)
    db.executemany("INSERT INTO arrays (node, name, dtype, shape, data) VALUES (?, ?, ?, ?, ?)", arrays)


def _set_properties(
    db: apsw.Connection, values: Mapping[NodeId, dict[str, Any]], keys: Mapping[NodeId, int]
) -> set[int]:
    stale = set()
    for batch in _batches(values.items()):
        rows, texts, arrays, old = [], [], [], []
        for id, new in batch:
            if id not in keys:
                raise _out_of_step(f"node {id!r}")
            key, where = keys[id], f"node {id!r}"
            type, stored = db.execute("SELECT type, properties FROM nodes WHERE key = ?", (key,)).get
            plain, text, own = _split({name: item for name, item in new.items() if item is not MISSING}, where)
            after = _dump({name: item for name, item in json.loads(stored).items() if name not in new} | plain, where)
            if after != stored:
                rows.append((after, key))
            if text is not None:
                texts.append((key, text))
            arrays += [(key, *array) for array in own]
            old += [(key, name) for name in new if isinstance(_to_text(name), str)]
            read = {"document": {"title"}, "chunk": {"page_content", "headings"}}.get(type, set())
            if not read.isdisjoint(new):
                stale.add(key)
        db.executemany("UPDATE nodes SET properties = ? WHERE key = ?", rows)
        db.executemany("DELETE FROM texts WHERE node = ?", ((key,) for key, name in old if name == "page_content"))
        db.executemany("DELETE FROM arrays WHERE node = ? AND name = ?", old)
        _insert_values(db, texts, arrays)
    return stale


def _add_relationships(db: apsw.Connection, links: Collection[Relationship], keys: Mapping[NodeId, int]) -> set[int]:
    for link in links:
        for end in (link.source, link.target):
            if end.id not in keys:
                raise _out_of_step(f"node {end.id!r}, an end of relationship {link.id!r} ({link.type}),")
    db.executemany(
        f"INSERT INTO relationships ({LINK_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING",
        (_row(link, keys[link.source.id], keys[link.target.id]) for link in links),
    )
    return {keys[link.target.id] for link in links if link.type == "child"}


def _row(link: Relationship, source: int, target: int) -> tuple[Any, ...]:
    rest = dict(link.properties._data)
    columns: list[Any] = []
    for name, form in _COLUMNS:
        value = rest.get(name)
        if isinstance(value, np.generic):
            value = value.item()
        fits = type(value) is form and (not isinstance(value, int) or abs(value) < 2**63)
        columns.append(None if not fits else _to_text(value) if isinstance(value, str) else value)
        if fits:
            del rest[name]
    where = f"relationship {link.id!r}"
    said = _dump(_plain(rest, where), where) if rest else None
    return (_to_id(link.id), _to_text(link.type), source, target, int(link.bidirectional), *columns, said)


# -- full text ------------------------------------------------------------------------------------


def _index_text(db: apsw.Connection, stale: set[int]) -> None:
    """Make the full text of the chunks at and below some nodes anew: title, headings and text as search terms."""
    reached = front = stale
    while front:
        sql = "SELECT target FROM relationships WHERE source = ? AND type = 'child'"
        front = {target for (target,) in db.executemany(sql, ((key,) for key in front))} - reached
        reached = reached | front
    sql = "SELECT key FROM nodes WHERE key = ? AND type = 'chunk'"
    chunks: list[int] = sorted(key for (key,) in db.executemany(sql, ((key,) for key in reached)))
    if not chunks:
        return
    parents: dict[int, list[int]] = {}
    front = set(chunks)
    while front:
        sql = "SELECT target, source FROM relationships WHERE target = ? AND type = 'child'"
        for child, parent in db.executemany(sql, ((key,) for key in front)):
            parents.setdefault(child, []).append(parent)
        front = {parent for key in front for parent in parents.get(key, ())} - parents.keys() - set(chunks)
    above = {(parent,) for found in parents.values() for parent in found}
    sql = "SELECT key, id, properties -> '$.title' FROM nodes WHERE key = ? AND type = 'document'"
    documents = {key: (_from_id(id), _line(_load(title))) for key, id, title in db.executemany(sql, above)}
    homes = _documents_of(chunks, parents, {key: id for key, (id, _) in documents.items()})
    sql = "SELECT key, properties -> '$.headings', text FROM nodes LEFT JOIN texts ON node = key WHERE key = ?"
    for batch in _batches(chunks, 100):
        rows = []
        for key, headings, text in list(db.executemany(sql, ((key,) for key in batch))):
            title = documents[homes[key]][1] if key in homes else ""
            words = search_terms(f"{title}. {_line(_load(headings))} {_from_text(text or '')}")
            rows.append((key, " ".join(words)))
        db.executemany("INSERT OR REPLACE INTO full_text (rowid, words) VALUES (?, ?)", rows)


def _documents_of(
    chunks: Iterable[int], parents: Mapping[int, Sequence[int]], documents: Mapping[int, NodeId]
) -> dict[int, int]:
    """The document that each chunk belongs to: the nearest above it along "child"; of several, the first by id."""
    found = {}
    for chunk in chunks:
        level, seen = [chunk], {chunk}
        while level:
            level = [parent for key in level for parent in parents.get(key, ()) if parent not in seen]
            above = [key for key in level if key in documents]
            if above:
                found[chunk] = above[0] if len(above) == 1 else min(above, key=lambda key: _order(documents[key]))
                break
            seen.update(level)
    return found


def _stemmed(tokenizer: apsw.FTS5Tokenizer, text: str) -> list[str]:
    found = tokenizer(text.encode(), apsw.FTS5_TOKENIZE_QUERY, None, include_offsets=False, include_colocated=False)
    return [str(stem) for stem in found]


def _rarest(db: apsw.Connection, words: Sequence[str]) -> list[str]:
    """The words worth searching for, rarest first; those with one stem count once."""
    tokenizer = db.fts5_tokenizer(*TOKENIZER)
    by_stems: dict[tuple[str, ...], str] = {}
    for word in words:
        by_stems.setdefault(tuple(_stemmed(tokenizer, word)), word)
    stems = {stem for found in by_stems for stem in found}
    sql = "SELECT term, doc FROM full_text_terms WHERE term = ?"
    hits = dict(db.executemany(sql, ((stem,) for stem in stems)))
    counts = {word: min((hits.get(stem, 0) for stem in found), default=0) for found, word in by_stems.items()}
    ranked = sorted((count, word) for word, count in counts.items() if count) or [(0, words[0])]
    chunks: int = db.execute("SELECT count(*) FROM nodes WHERE type = 'chunk'").get
    rare = [word for count, word in ranked if count <= max(COMMON, chunks / 3)]
    return (rare or [word for _, word in ranked])[:MAX_TERMS]


@contextmanager
def _uncollected() -> Iterator[None]:
    """Millions of objects are made that all stay: the garbage collector would walk them again and again for nothing."""
    before = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if before:
            gc.enable()


# -- reading --------------------------------------------------------------------------------------


def _children(db: apsw.Connection) -> dict[int, list[int]]:
    """Every node's parents along "child"."""
    parents: dict[int, list[int]] = {}
    for source, target in db.execute("SELECT source, target FROM relationships WHERE type = 'child'"):
        parents.setdefault(target, []).append(source)
    return parents


def _place_of(start: Any) -> int:
    """A chunk's start, 0 when it has none."""
    return start if isinstance(start, int) and abs(start) < 2**63 else 0


def _graph(db: apsw.Connection) -> KnowledgeGraph:
    nodes: dict[int, Node] = {}
    kept: dict[int, dict[str, Any]] = {}
    for node, text in db.execute("SELECT node, text FROM texts"):
        kept.setdefault(node, {})["page_content"] = _from_text(text)
    for node, name, dtype, shape, data in db.execute("SELECT node, name, dtype, shape, data FROM arrays"):
        kept.setdefault(node, {})[name] = _read_array(dtype, shape, data)
    for key, id, type, stored in db.execute("SELECT key, id, type, properties FROM nodes"):
        properties = _load(stored)
        properties.update(kept.pop(key, {}))
        nodes[key] = Node(_from_id(id), dict(sorted(properties.items())), NodeType(type))
    places = {key: place for place, key in enumerate(sorted(nodes, key=_canonical(db, nodes)))}
    rows = _rows(db, f"SELECT {LINK_COLUMNS} FROM relationships ORDER BY type, id")
    ranks: dict[str | bytes, int] = {}
    types = [ranks.setdefault(row[1], len(ranks)) for row in rows]
    order = np.lexsort(([places[row[3]] for row in rows], [places[row[2]] for row in rows], types))
    links = (_relationship(rows[at], nodes) for at in order.tolist())
    return KnowledgeGraph((nodes[key] for key in places), links)


def _canonical(db: apsw.Connection, nodes: Mapping[int, Node]) -> Callable[[int], Any]:
    """The sort key of a node's key, see `SqliteStore.graph`."""
    ranks = {type: rank for rank, type in enumerate((*list(NodeType)[1:], NodeType.UNKNOWN))}
    documents = {key: node.id for key, node in nodes.items() if node.type is NodeType.DOCUMENT}
    homes = _documents_of((key for key, node in nodes.items() if node.type is NodeType.CHUNK), _children(db), documents)

    def order(key: int) -> Any:
        node = nodes[key]
        within: tuple[Any, ...] = ()
        if node.type is NodeType.CHUNK:
            within = _chunk_place(documents[homes[key]] if key in homes else None, node.get_property("start"))
        elif node.type is NodeType.COMMUNITY:
            level, path = node.get_property("level"), node.get_property("path")
            within = (level if isinstance(level, int) else 0, path if isinstance(path, str) else "")
        return ranks[node.type], *within, _order(node.id)

    return order


def _chunk_place(document: NodeId | None, start: Any) -> tuple[Any, ...]:
    return () if document is None else _order(document), _place_of(start)


def _relationship(row: tuple[Any, ...], nodes: Mapping[int, Node]) -> Relationship:
    id, type, source, target, bidirectional, start, end, surface, description, rest = row
    properties: dict[str, Any] = {}
    if description is not None:
        properties["description"] = _from_text(description)
    if end is not None:
        properties["end"] = end
    if start is not None:
        properties["start"] = start
    if surface is not None:
        properties["surface"] = _from_text(surface)
    if rest is not None:
        properties = dict(sorted((properties | _load(rest)).items()))
    return Relationship(_from_text(type), nodes[source], nodes[target], _from_id(id), bool(bidirectional), properties)


def _passages(db: apsw.Connection) -> Passages:
    documents = {
        key: (_from_id(id), _line(_load(title)))
        for key, id, title in db.execute("SELECT key, id, properties -> '$.title' FROM nodes WHERE type = 'document'")
    }
    rows = _rows(
        db, "SELECT key, id, properties ->> '$.start', properties -> '$.headings' FROM nodes WHERE type = 'chunk'"
    )
    homes = _documents_of((row[0] for row in rows), _children(db), {key: id for key, (id, _) in documents.items()})
    homeless = (None, "")
    chunks = [
        (key, _from_id(id), start, headings, documents.get(homes.get(key, -1), homeless))
        for key, id, start, headings in rows
    ]
    chunks.sort(key=lambda chunk: (*_chunk_place(chunk[4][0], chunk[2]), _order(chunk[1])))
    entities = [
        (key, _from_id(id), *_load(fields))
        for key, id, fields in db.execute(
            "SELECT key, id, json_array(properties -> '$.name', properties -> '$.aliases',"
            " properties -> '$.entity_type') FROM nodes WHERE type = 'entity'"
        )
    ]
    entities.sort(key=lambda entity: _order(entity[1]))
    chunk_keys, entity_keys = [chunk[0] for chunk in chunks], [entity[0] for entity in entities]
    vectors, spans, sentence_chunks, sentence_vectors = _vectors(db, chunk_keys, [chunk[1] for chunk in chunks])
    mentions = _mentions(db, chunk_keys, entity_keys)
    return Passages(
        chunk_ids=[chunk[1] for chunk in chunks],
        document_ids=["" if chunk[4][0] is None else chunk[4][0] for chunk in chunks],
        titles=[chunk[4][1] for chunk in chunks],
        headings=[_innermost(_load(chunk[3])) for chunk in chunks],
        starts=np.array([_place_of(chunk[2]) for chunk in chunks], np.int64),
        vectors=vectors,
        sentence_chunks=sentence_chunks,
        sentence_spans=spans,
        sentence_vectors=sentence_vectors,
        entity_ids=[entity[1] for entity in entities],
        entity_names=[_line(entity[2]) for entity in entities],
        entity_aliases=[
            tuple(map(_line, aliases)) if isinstance(aliases := entity[3], list | tuple) else () for entity in entities
        ],
        entity_types=[_line(entity[4]) for entity in entities],
        mention_entities=mentions[1],
        mention_chunks=mentions[0],
        mention_starts=mentions[2],
    )


def _innermost(headings: Any) -> str:
    return _line(headings[-1] if isinstance(headings, list | tuple) and headings else headings)


def _vectors(
    db: apsw.Connection, keys: Sequence[int], ids: Sequence[NodeId]
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int8]]:
    """Chunk vectors (n, d), sentence spans (s, 2), the chunks of sentences (s,), sentence vectors (s, d).

    First the shapes, from an index, then each array straight to its place: no second copy of all vectors.
    """
    places = {key: place for place, key in enumerate(keys)}
    wanted = "name IN ('embedding', 'sentences', 'sentence_embeddings')"
    spans, rows = np.zeros(len(keys), np.int64), np.zeros(len(keys), np.int64)
    widths: dict[str, set[int]] = {"embedding": set(), "sentence_embeddings": set()}
    for node, name, dtype, text in db.execute(f"SELECT node, name, dtype, shape FROM arrays WHERE {wanted}"):
        place, shape = places.get(node), _shape(text)
        if place is None:
            continue
        if len(shape) != (1 if name == "embedding" else 2) or (name == "sentence_embeddings" and dtype != "|i1"):
            raise StoreMismatch(
                f"chunk {ids[place]!r}: its {name} has the form {dtype}{list(shape)}; index its document again"
            )
        if name == "sentences":
            spans[place] = shape[0]
        else:
            widths[name].add(shape[-1])
            rows[place] = shape[0] if name == "sentence_embeddings" else rows[place]
    for name, found in widths.items():
        if len(found) > 1:
            lengths = " and ".join(map(str, sorted(found)))
            raise StoreMismatch(f"the {name} of chunks differ in length ({lengths}): index all anew with one embedder")
    for place in np.flatnonzero((rows > 0) & (rows != spans))[:1]:
        raise StoreMismatch(
            f"chunk {ids[place]!r} has {spans[place]} sentences and {rows[place]} sentence vectors: "
            "index its document again"
        )
    ends = np.cumsum(spans)
    total = int(spans.sum())
    vectors = np.zeros((len(keys), max(widths["embedding"], default=0)), np.float32)
    sentence_spans = np.zeros((total, 2), np.int32)
    sentence_vectors = np.zeros((total, max(widths["sentence_embeddings"], default=0)), np.int8)
    firsts, lasts = (ends - spans).tolist(), ends.tolist()
    for node, name, dtype, data in db.execute(f"SELECT node, name, dtype, data FROM arrays WHERE {wanted}"):
        place = places.get(node)
        if place is None:
            continue
        array = np.frombuffer(data, _dtype(dtype))
        if name == "embedding":
            vectors[place] = array
        else:
            into = sentence_spans if name == "sentences" else sentence_vectors
            into[firsts[place] : lasts[place]] = array.reshape(-1, into.shape[1])
    sentence_chunks = np.repeat(np.arange(len(keys), dtype=np.int32), spans)
    return vectors, sentence_spans, sentence_chunks, sentence_vectors


def _mentions(
    db: apsw.Connection, chunk_keys: Sequence[int], entity_keys: Sequence[int]
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """The chunks, entities and starts of all mentions, in that order. The table is walked: faster than its index."""
    sql = "SELECT target, source, coalesce(start, -1) FROM relationships NOT INDEXED WHERE type = 'mention'"
    table = np.fromiter(chain.from_iterable(db.execute(sql)), np.int64).reshape(-1, 3)
    chunks, entities = _replaced(table[:, 0], chunk_keys), _replaced(table[:, 1], entity_keys)
    starts = np.clip(table[:, 2], -1, 2**31 - 1).astype(np.int32)
    kept = (chunks >= 0) & (entities >= 0)
    chunks, entities, starts = chunks[kept], entities[kept], starts[kept]
    order = np.lexsort((starts, entities, chunks))
    return chunks[order], entities[order], starts[order]


def _replaced(values: npt.NDArray[np.int64], keys: Sequence[int]) -> npt.NDArray[np.int32]:
    """Each key by its place among `keys`, -1 where it has none."""
    places = np.full(int(max(values.max(initial=0), max(keys, default=0))) + 1, -1, np.int32)
    places[np.array(keys, np.int64)] = np.arange(len(keys), dtype=np.int32)
    return places[values]


# -- checking -------------------------------------------------------------------------------------


def _problems(db: apsw.Connection) -> list[str]:
    problems = [f"the file is damaged: {row}" for (row,) in db.execute("PRAGMA quick_check(10)") if row != "ok"]
    dangling = Counter(table for table, *_ in db.execute("PRAGMA foreign_key_check"))
    problems += [f"{count} rows of {table} belong to a node that is not there" for table, count in dangling.items()]
    unheard: int = db.execute(
        "SELECT count(*) FROM nodes WHERE type = 'chunk' AND key NOT IN (SELECT id FROM full_text_docsize)"
    ).get
    if unheard:
        problems.append(f"{unheard} chunks are missing from the full text")
    stray: int = db.execute(
        "SELECT count(*) FROM full_text_docsize WHERE id NOT IN (SELECT key FROM nodes WHERE type = 'chunk')"
    ).get
    if stray:
        problems.append(f"the full text holds {stray} chunks that are not there")
    doubled: int = db.execute("SELECT count(*) - count(DISTINCT node || ' ' || name) FROM arrays").get
    if doubled:
        problems.append(f"{doubled} arrays are there twice")
    broken = sum(
        size != prod(_shape(shape)) * _dtype(dtype).itemsize
        for dtype, shape, size in db.execute("SELECT dtype, shape, length(data) FROM arrays")
    )
    if broken:
        problems.append(f"{broken} arrays have the wrong number of bytes")
    elif not problems:
        try:
            _passages(db)
        except StoreMismatch as error:
            problems.append(str(error))
    return problems
