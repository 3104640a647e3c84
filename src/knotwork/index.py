"""The index: what most users ever touch. Documents in, cited answers out.

Adding works in steps that are each one transaction: every batch of documents with all that is computed of them, then
each stage over the whole corpus. Killed anywhere, the next `add` finds what is missing and goes on from there.
"""

from __future__ import annotations

import json
import logging
import os
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast
from uuid import uuid4

from knotwork import chinese, loaders
from knotwork.errors import StoreMismatch
from knotwork.gather import KEPT, Gathered, Progress, Source, fingerprint, folders_of, gather, kept_by, share_of_chinese
from knotwork.graph import AddNode, AddRelationship, Change, Document, KnowledgeGraph, Node, NodeType, RemoveNode
from knotwork.models import embedder as make_embedder
from knotwork.models import offline_available
from knotwork.nlp import Profile
from knotwork.nlp import profile as make_profile
from knotwork.protocols import Embedder
from knotwork.recipes import Cut, corpus_transforms, document_transforms
from knotwork.search.answer import answer
from knotwork.search.evidence import Answer, Evidence
from knotwork.search.passages import Mode, PassageIndex
from knotwork.stores.sqlite import SqliteStore
from knotwork.threads import in_thread
from knotwork.transforms.base import Splitter
from knotwork.transforms.engine import Event, OnError, Report, Skipped, Stage, aapply_transforms, run_sync

if TYPE_CHECKING:
    from knotwork.settings import Settings

log = logging.getLogger("knotwork")

OFFLINE = {"wordllama-256": "fast", "minilm-l6-v2-int8": "nlp"}
"""Which name makes the offline embedder that an index records."""

POOLED = {"minilm-l6-v2-int8"}
"""Embedders so slow that passages take the mean of their sentences' vectors (docs/decisions/0005)."""

ZH_HINT = (
    "much of the text is Chinese: pip install 'knotwork[zh]' and a new index also find the persons, places and "
    "organisations in it, and read questions word by word"
)

BATCH = 100_000
"""Characters of documents that are worked on, and made durable, together."""


@dataclass(frozen=True, slots=True)
class Status:
    """What an index holds and what it was made with. complete: False while an interrupted run waits to be resumed."""

    path: str
    documents: int
    chunks: int
    entities: int
    relationships: int
    communities: int
    reports: int
    mentions: int
    profile: str
    embedder: str
    dimension: int
    complete: bool


class Index:
    """An index in a directory. Made by `Index.open`; every method has an async twin with `a` before its name."""

    def __init__(self, store: SqliteStore, settings: Settings, embedder: Any) -> None:
        self._store = store
        self._settings = settings
        self._asked_embedder = embedder
        self._models: tuple[Profile, Embedder | None] | None = None
        self._graph: KnowledgeGraph | None = None
        self._searcher: tuple[str | None, PassageIndex] | None = None

    @classmethod
    def open(
        cls,
        path: str | os.PathLike[str],
        *,
        embedder: Embedder | str | None = None,
        settings: Settings | None = None,
        readonly: bool = False,
    ) -> Index:
        """Open the index in a directory; nothing is written before the first `add`.

        embedder: an `Embedder`, or a name as in the settings; None: what the index was made with, or the settings say.
        """
        if settings is None:
            from knotwork.settings import load_settings  # its library is slow to import

            settings = load_settings()
        return cls(SqliteStore(Path(path), readonly=readonly), settings, embedder)

    # adding

    def add(
        self,
        source: Source,
        *,
        splitter: Splitter | None = None,
        on_error: OnError = "skip",
        progress: Progress | None = None,
    ) -> Report:
        """Index files, folders or Documents. What is there already is left alone, what changed is done anew, and what
        is gone from a folder given again is removed.

        Raises LoadError when a path does not exist. A file or document that cannot be used is left out and stands in
        the report with a reason; on_error="raise" stops at a transform that fails instead.
        """
        return run_sync(self.aadd(source, splitter=splitter, on_error=on_error, progress=progress))

    async def aadd(
        self,
        source: Source,
        *,
        splitter: Splitter | None = None,
        on_error: OnError = "skip",
        progress: Progress | None = None,
    ) -> Report:
        progress = progress or (lambda event: None)
        limits = loaders.Limits(self._settings.file_seconds, self._settings.file_megabytes)
        found = await in_thread(gather, source, self._store, limits, progress)
        if not found.documents and not self._store.exists:
            return Report(skipped=tuple(found.skipped))  # nothing to make an index of
        with self._store.writing():
            report = await self._update(found, splitter, on_error, progress)
        documents = found.documents.values()
        kinds = Counter(_kind(document) for document in documents)
        pages = sum(len(document.metadata.get("page_starts", ())) for document in documents if _from_file(document))
        hints = (ZH_HINT,) if not chinese.available() and share_of_chinese(documents) >= 0.2 else ()
        return replace(report, kinds=dict(sorted(kinds.items())), pages=pages, hints=hints)

    async def _update(
        self, found: Gathered, splitter: Splitter | None, on_error: OnError, progress: Progress
    ) -> Report:
        cut = self._where_cut()
        hashes = {record.id: record.content_hash for record in self._store.records()}
        folders = folders_of(self._store)
        changed = {
            id for id, document in found.documents.items() if id in hashes and hashes[id] != fingerprint(document)
        }
        new = [id for id in found.documents if id not in hashes]
        gone = {
            id
            for folder, ids in found.folders.items()
            for id in folders.get(folder, ())
            if id not in ids and id in hashes
        } - found.documents.keys()
        report = Report(skipped=tuple(found.skipped))
        todo = [found.documents[id] for id in found.documents if id in changed or id not in hashes]
        if todo or gone or self._store.note("stale") == "1":
            known = {folder: sorted({*folders.get(folder, ()), *ids}) for folder, ids in found.folders.items()}
            # written first: a file that vanishes between a kill and the next run is still noticed
            self._store.set_notes({"folders": json.dumps(folders | known, ensure_ascii=False), "stale": "1"})
            profile, embedder = await self._load_models(progress)
            model = (embedder.name, str(embedder.dimension)) if embedder is not None else ("", "0")
            made_with = {"profile": profile.name, "embedder": model[0], "dimension": model[1], "splitter": cut}
            self._store.set_notes(made_with)
            graph = self._store.graph()
            graph.subscribe(self._store.write)
            graph.apply([change for id in sorted(gone) for change in _removal(graph, id)])
            stages = document_transforms(
                profile=profile,
                embedder=embedder,
                splitter=splitter or cut,
                chunk_size=self._settings.chunk_size,
                chunk_overlap=self._settings.chunk_overlap,
                pooled=embedder is not None and embedder.name in POOLED,
            )
            failed: list[Skipped] = []
            done = 0
            progress(Event("start", "documents", total=len(todo)))
            for batch in _batches(todo):
                failed += await _add_batch(graph, batch, stages, on_error)
                done += len(batch)
                progress(Event("done", "documents", batch[-1].key, done, len(todo)))
            progress(Event("end", "documents", done=done, total=len(todo)))
            corpus = corpus_transforms(max_cluster_size=self._settings.max_cluster_size, seed=self._settings.seed)
            ran = await aapply_transforms(graph, corpus, callbacks=progress, progress=False)
            known = {folder: sorted(ids) for folder, ids in found.folders.items()}
            self._store.set_notes(
                {"folders": json.dumps(folders | known, ensure_ascii=False), "stale": "0", "generation": uuid4().hex}
            )
            self._graph = self._searcher = None
            lost = {skip.what for skip in failed}
            report = replace(
                report,
                stages=ran.stages,
                skipped=(*report.skipped, *failed),
                added=sum(id not in lost for id in new),
                changed=sum(id not in lost for id in changed),
                removed=len(gone),
            )
        self._keep(found)
        return replace(report, unchanged=len(found.documents) - len(new) - len(changed))

    def _keep(self, found: Gathered) -> None:
        """Note which documents the parsed files gave, as far as those are in the index."""
        before = kept_by(self._store)
        there = {record.id for record in self._store.records()}
        kept = {path: entry for path, entry in (before | found.kept).items() if entry[1] in there}
        if kept != before:
            self._store.set_notes({KEPT: json.dumps(kept, ensure_ascii=True)})

    # asking

    def ask(self, question: str, *, mode: Mode = "auto") -> Answer:
        """Answer from the documents, in their own sentences, each with a citation.

        `answer.found` is False, and the text says so, when the documents hold no evidence. Modes as in `search`.
        """
        return run_sync(self.aask(question, mode=mode))

    async def aask(self, question: str, *, mode: Mode = "auto") -> Answer:
        return await answer(question, await self._passages(), mode)

    def search(self, question: str, *, k: int = 10, mode: Mode = "auto") -> list[Evidence]:
        """The k passages that serve a question best. Modes: passages (the graph), bm25, dense, hybrid, auto."""
        return run_sync(self.asearch(question, k=k, mode=mode))

    async def asearch(self, question: str, *, k: int = 10, mode: Mode = "auto") -> list[Evidence]:
        return await (await self._passages()).search(question, k, mode)

    async def _passages(self) -> PassageIndex:
        """The index in memory, read again when a run has made another one of it."""
        version = self._store.note("generation")
        if self._searcher is None or self._searcher[0] != version:
            embedder = await in_thread(self._embedder)
            self._searcher = version, await in_thread(PassageIndex, self._store, embedder)
        return self._searcher[1]

    # models

    async def _load_models(self, progress: Progress) -> tuple[Profile, Embedder | None]:
        """The profile and embedder of this index: what it was made with, else what is asked for."""
        if self._models is None:
            progress(Event("loading", "models"))
            made_with = self._made_with("profile")
            wanted = None if self._settings.profile == "auto" else self._settings.profile
            if made_with and wanted and made_with != wanted:
                raise StoreMismatch(
                    f"{self._store.path} was made with the profile {made_with}, not {wanted}: leave the profile out, "
                    "or index into another directory"
                )
            profile = await in_thread(make_profile, made_with or wanted)
            embedder = await in_thread(self._embedder)
            # models load when first used: let that be now, while it is being said
            await in_thread(profile.analyse, ["Ada Lovelace wrote to Charles Babbage."])
            if embedder is not None:
                await embedder.embed(["models"])
            self._models = profile, embedder
            progress(Event("end", "models"))
        return self._models

    def _where_cut(self) -> Cut:
        """The splitter of this index: what it was made with, else what is asked for."""
        made_with, wanted = self._made_with("splitter"), self._settings.splitter
        if made_with and wanted not in ("auto", made_with):
            raise StoreMismatch(
                f"{self._store.path} was cut by the splitter {made_with}, not {wanted}: leave the splitter out, or "
                "index into another directory"
            )
        return cast(Cut, made_with or ("sentences" if wanted == "auto" else wanted))

    def _made_with(self, note: str) -> str | None:
        return self._store.note(note) if self._store.exists else None

    def _embedder(self) -> Embedder | None:
        """None where no offline one can be installed: full text and the graph serve without vectors."""
        if self._models is not None:
            return self._models[1]
        made_with = self._made_with("embedder")
        asked = self._asked_embedder
        if asked is None and self._settings.embedder != "offline":
            asked = self._settings.embedder
        if asked is None and made_with in OFFLINE:
            return make_embedder(OFFLINE[made_with])
        if asked is None and self._settings.profile == "fast":
            asked = "fast"
        if (made_with == "" and asked is None) or (asked is None and not offline_available()):
            log.warning("no embedder: %s is searched by full text and names alone", self._store.path)
            return None
        embedder = make_embedder(asked)
        if made_with and embedder.name != made_with:
            raise StoreMismatch(
                f"{self._store.path} holds vectors of {made_with}, which {embedder.name} cannot be compared with: open "
                f"it with the embedder it was made with{_how_named(made_with)}, or index into another directory"
            )
        return embedder

    # looking

    @property
    def graph(self) -> KnowledgeGraph:
        """The knowledge graph. Changes made to it, by transforms too, are written to the index as they are made."""
        if self._graph is None:
            self._graph = self._store.graph()
            self._graph.subscribe(self._store.write)
        return self._graph

    @property
    def documents(self) -> list[Document]:
        return list(self._store.documents())

    @property
    def communities(self) -> list[Node]:
        """The COMMUNITY nodes, by level and path."""
        return self.graph.nodes_of(NodeType.COMMUNITY)

    @property
    def reports(self) -> list[Node]:
        """The communities that have a report."""
        return [node for node in self.communities if node.get_property("report")]

    def status(self) -> Status:
        counts = self._store.counts()
        return Status(
            path=str(self._store.path),
            documents=counts.documents,
            chunks=counts.chunks,
            entities=counts.entities,
            relationships=counts.relationships,
            communities=counts.communities,
            reports=counts.reports,
            mentions=counts.mentions,
            profile=self._store.note("profile") or "",
            embedder=self._store.note("embedder") or "",
            dimension=int(self._store.note("dimension") or 0),
            complete=self._store.note("stale") != "1",
        )

    def check(self) -> list[str]:
        """What is wrong with the index on disk; empty when nothing is."""
        return self._store.check()

    def close(self) -> None:
        self._store.close()

    def __enter__(self) -> Index:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Index({str(self._store.path)!r})"


def _kind(document: Document) -> str:
    return str(document.metadata["kind"]) if _from_file(document) else "given"


def _from_file(document: Document) -> bool:
    return "path" in document.metadata and "kind" in document.metadata


def _how_named(embedder: str) -> str:
    return f" (KNOTWORK_EMBEDDER={embedder})" if embedder.startswith("openai:") else ""


# -- into the graph -------------------------------------------------------------------------------


def _batches(documents: Iterable[Document]) -> Iterator[list[Document]]:
    batch: list[Document] = []
    size = 0
    for document in documents:
        batch.append(document)
        size += len(document.text)
        if size >= BATCH:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


async def _add_batch(
    graph: KnowledgeGraph, batch: list[Document], stages: list[Stage], on_error: OnError
) -> list[Skipped]:
    """Work on a few documents in a graph of their own, then add them, whole, in one step. Returns those left out."""
    small = KnowledgeGraph(_document_node(document) for document in batch)
    report = await aapply_transforms(small, stages, on_error=on_error, progress=False)
    failed: dict[Any, Skipped] = {}
    for skip in report.skipped:
        node = small.get_node_by_id(skip.what) if skip.what is not None else None
        document_id = node.get_property("document") or node.id if node else skip.what
        failed.setdefault(document_id, Skipped(document_id, skip.reason, skip.transform))
    changes: list[Change] = []
    for document in batch:
        if document.key not in failed:
            changes += _removal(graph, document.key)
    kept = [node for node in small.nodes if (node.get_property("document") or node.id) not in failed]
    # nodes belong to the graph that took them first: the big graph gets its own
    changes += [AddNode(Node(node.id, node.properties, node.type)) for node in kept]
    ids = {node.id for node in kept}
    changes += [
        AddRelationship(link) for link in small.relationships if link.source.id in ids and link.target.id in ids
    ]
    graph.apply(changes)
    return list(failed.values())


def _document_node(document: Document) -> Node:
    properties = {
        "page_content": document.text,
        "title": document.title,
        "source": document.source,
        "metadata": document.metadata,
        "content_hash": fingerprint(document),
    }
    return Node(document.key, properties, NodeType.DOCUMENT)


def _removal(graph: KnowledgeGraph, document_id: str) -> list[Change]:
    """What takes a document and its chunks out of the graph."""
    node = graph.get_node_by_id(document_id)
    if node is None:
        return []
    return [RemoveNode(document_id), *(RemoveNode(chunk.id) for chunk in graph.neighbors(node, "child", "out"))]
