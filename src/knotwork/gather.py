"""What there is to index: files, folders and Documents, as Documents with ids of their own."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeAlias

from knotwork import loaders
from knotwork.errors import GraphError, InputError
from knotwork.graph import Document, KnowledgeGraph, Node
from knotwork.stores.sqlite import SqliteStore
from knotwork.text import cjk_share, stable_id
from knotwork.transforms.engine import Event, Skipped

Source: TypeAlias = str | os.PathLike[str] | Document | Iterable["str | os.PathLike[str] | Document"]
Progress: TypeAlias = Callable[[Event], object]

KEPT = "files"
"""The note of a store that says which document each parsed file gave."""


@dataclass
class Gathered:
    """Documents by id, in order; what was left out; and for each folder given, the ids found in it.

    kept: of each file that is dear to parse, [its stamp, the id of its document, what of it gave no text], so that it
    is parsed again only when it has changed.
    """

    documents: dict[str, Document] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    folders: dict[str, list[str]] = field(default_factory=dict)
    kept: dict[str, list[Any]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _File:
    """A document, the folder it was found by ("" for a file given by itself), its file, and what of it gave no text."""

    document: Document
    folder: str
    found: loaders.Found
    gaps: tuple[tuple[str, str], ...] = ()


def gather(source: Source, store: SqliteStore, limits: loaders.Limits, progress: Progress) -> Gathered:
    """What a source holds. Raises LoadError for a path that does not exist, InputError for something else."""
    if source is None or isinstance(source, bytes | int):
        raise InputError(f"what can be indexed is a path, a Document, or several of them, not {type(source).__name__}")
    items = [source] if isinstance(source, str | os.PathLike | Document) else list(source)
    found = Gathered()
    paths: list[tuple[loaders.Found, str]] = []
    for item in items:
        if isinstance(item, Document):
            _take(found, item)
        elif isinstance(item, str | os.PathLike):
            paths += _find(os.fspath(item), found)
        else:
            raise InputError(f"what can be indexed is a path or a Document, not {type(item).__name__}")
    files = list(_read(paths, found, store, limits, progress))
    if files and store.exists:
        homes = {record.id: record.source for record in store.records()}
        owned = {id: folder for folder, ids in folders_of(store).items() for id in ids}
    else:
        homes, owned = {}, {}
    for file in sorted(files, key=lambda file: (file.document.source, file.folder)):
        document = _apart(file, found, homes, owned)
        stamp = loaders.stamp(file.found)
        if _take(found, document, file.folder) and stamp:
            found.kept[str(file.found.path)] = [stamp, document.key, [list(gap) for gap in file.gaps]]
    return found


def folders_of(store: SqliteStore) -> dict[str, list[str]]:
    """The ids of the documents that came with each folder."""
    return dict(json.loads(store.note("folders") or "{}"))


def kept_by(store: SqliteStore) -> dict[str, list[Any]]:
    """What the index knows of parsed files, as `Gathered.kept`."""
    return dict(json.loads(store.note(KEPT) or "{}"))


def fingerprint(document: Document) -> str:
    metadata = json.dumps(document.metadata, sort_keys=True, default=str, ensure_ascii=False)
    return stable_id(document.text, document.title, metadata)


def share_of_chinese(documents: Iterable[Document]) -> float:
    """By the beginnings of the texts."""
    sizes = [(len(document.text), cjk_share(document.text[:2_000])) for document in documents]
    return sum(size * share for size, share in sizes) / max(sum(size for size, _ in sizes), 1)


def _find(path: str, found: Gathered) -> Iterator[tuple[loaders.Found, str]]:
    """The files to read, each with the folder it was found by."""
    folder = str(Path(path).resolve()) if path and Path(path).is_dir() else ""
    if folder:
        found.folders.setdefault(folder, [])
    for file in loaders.find(path):
        if isinstance(file, loaders.Skipped):
            found.skipped.append(Skipped(file.source, file.reason))
        elif not (file.path.parent / "index.db").is_file():  # an index, perhaps this one: its files are no documents
            yield file, folder


def _read(
    paths: list[tuple[loaders.Found, str]],
    found: Gathered,
    store: SqliteStore,
    limits: loaders.Limits,
    progress: Progress,
) -> Iterator[_File]:
    unchanged = _unchanged((file for file, _ in paths), store) if store.exists else {}
    progress(Event("start", "files", total=len(paths)))
    contents = loaders.read_all((file for file, _ in paths if str(file.path) not in unchanged), limits)
    for done, (file, folder) in enumerate(paths, 1):
        if (entry := unchanged.get(str(file.path))) is not None:
            _, id, gaps = entry
            items: list[Document | loaders.Skipped] = [_as_read(next(store.documents([id])), file)]
            items += [loaders.Skipped(source, reason) for source, reason in gaps]
        else:
            _, items = next(contents)
        missing = [item for item in items if isinstance(item, loaders.Skipped)]
        found.skipped += [Skipped(item.source, item.reason) for item in missing]
        gaps = tuple((item.source, item.reason) for item in missing)
        yield from (_File(item, folder, file, gaps) for item in items if isinstance(item, Document))
        progress(Event("done", "files", file.relative, done, len(paths)))
    progress(Event("end", "files", done=len(paths), total=len(paths)))


def _unchanged(files: Iterable[loaders.Found], store: SqliteStore) -> dict[str, list[Any]]:
    """What is known of the files that are as they were when they were parsed."""
    known = kept_by(store)
    there = {record.id for record in store.records()}
    return {
        path: known[path]
        for file in files
        if (path := str(file.path)) in known and known[path][0] == loaders.stamp(file) and known[path][1] in there
    }


def _as_read(document: Document, file: loaders.Found) -> Document:
    """A document of the index as its file would give it: under its first id, which may not be the one it got there."""
    return replace(document, id=loaders.document_id(file), source=file.relative)


def _apart(file: _File, found: Gathered, homes: dict[str, str], owned: dict[str, str]) -> Document:
    """The document under an id of its own, where the id it has belongs to another file.

    homes: the source of every document in the index; owned: the folder that a document came with.
    """
    document, folder, path = file.document, file.folder, file.found.path
    id = document.key
    if id in found.documents:
        taken = found.documents[id].source != document.source or (folder and id not in found.folders[folder])
    elif id not in homes or (id in owned and owned[id] == folder):
        taken = False
    elif id in owned:  # by another folder: this one moved, unless the other file is still there
        other = Path(owned[id], homes[id].split("#")[0])
        taken = other.exists() and not other.samefile(path)
    else:
        taken = homes[id] != document.source
    return replace(document, id=stable_id("document", folder, document.source, id) if taken else id)


def _take(found: Gathered, document: Document, folder: str = "") -> bool:
    """Whether a document can be indexed; it is found then, else skipped with a reason."""
    if not isinstance(document.text, str):
        kind = type(document.text).__name__
        found.skipped.append(Skipped(document.source or document.id, f"its text is {kind}, a str is needed"))
        return False
    document = replace(document, id=str(document.key))
    id = document.key
    try:
        KnowledgeGraph([Node(id, {"metadata": document.metadata})]).to_dict()
    except GraphError as error:
        found.skipped.append(Skipped(document.source or id, str(error)))
        return False
    reason = ""
    if not document.text.strip():
        reason = "holds only white space"
    elif id in found.documents and found.documents[id] != document:
        reason = f"another document has the id {id!r}: give each its own"
    if reason:
        found.skipped.append(Skipped(document.source or id, reason))
        return False
    found.documents[id] = document
    if folder:
        found.folders[folder].append(id)
    return True
