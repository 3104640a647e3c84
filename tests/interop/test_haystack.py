"""The semantic splitter among haystack's own components."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.interop.packages import need

from knotwork import transforms

need("haystack")

from haystack import Document, Pipeline, component  # noqa: E402
from haystack.components.converters import TextFileToDocument  # noqa: E402
from haystack.components.preprocessors import DocumentCleaner  # noqa: E402
from haystack.components.writers import DocumentWriter  # noqa: E402
from haystack.core.serialization import allow_deserialization_module  # noqa: E402
from haystack.document_stores.in_memory import InMemoryDocumentStore  # noqa: E402

from knotwork.interop.haystack import EmbeddingBasedDocumentSplitter  # noqa: E402

allow_deserialization_module(__name__)

CAT = "The cat sleeps on the mat. The cat eats fish. The cat likes milk. "
CAR = "A car needs fuel. A car has wheels. A car drives fast."


@component
class CatEmbedder:
    """Cats one way, everything else another. Counts what it is given."""

    def __init__(self, weight: float = 1.0) -> None:
        self.weight = weight
        self.warm = False
        self.calls = 0
        self.given: list[Document] = []

    def warm_up(self) -> None:
        self.warm = True

    @component.output_types(documents=list[Document])
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        assert self.warm
        self.calls += 1
        self.given += documents
        return {"documents": [replace(document, embedding=self._vector(document)) for document in documents]}

    def _vector(self, document: Document) -> list[float]:
        return [self.weight, 0.0] if "cat" in (document.content or "") else [0.0, self.weight]


def splitter(model: Any = None, **settings: Any) -> Any:
    settings = {"sentences_per_group": 1, "percentile": 0.8, "min_length": 0, **settings}
    return EmbeddingBasedDocumentSplitter(document_embedder=model or CatEmbedder(), **settings)


def pipeline(model: Any = None) -> tuple[Any, Any]:
    store = InMemoryDocumentStore()
    made = Pipeline()
    made.add_component("clean", DocumentCleaner())
    made.add_component("split", splitter(model))
    made.add_component("write", DocumentWriter(document_store=store))
    made.connect("clean.documents", "split.documents")
    made.connect("split.documents", "write.documents")
    return made, store


def contents(documents: list[Document]) -> list[str | None]:
    return [document.content for document in sorted(documents, key=lambda document: document.meta["split_id"])]


def test_it_runs_in_a_pipeline_between_two_haystack_components() -> None:
    made, store = pipeline()
    result = made.run({"clean": {"documents": [Document(content=CAT + CAR, meta={"author": "Ann"})]}})
    assert result == {"write": {"documents_written": 2}}
    written = store.filter_documents()
    assert contents(written) == [CAT, CAR]
    assert all(type(document) is Document and document.meta["author"] == "Ann" for document in written)


def test_its_splits_point_back_to_the_document() -> None:
    original = Document(content=CAT + CAR, meta={"page_number": 4})
    made = splitter()
    made.warm_up()
    splits = made.run(documents=[original])["documents"]
    assert [split.meta["source_id"] for split in splits] == [original.id] * 2
    assert [split.meta["split_id"] for split in splits] == [0, 1]
    assert [split.meta["split_idx_start"] for split in splits] == [0, len(CAT)]
    assert [split.meta["page_number"] for split in splits] == [4, 4]
    assert original.meta == {"page_number": 4}


def test_files_read_by_haystack_come_out_in_pieces(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text(CAT + CAR, encoding="utf-8")
    made = Pipeline()
    made.add_component("read", TextFileToDocument())
    made.add_component("split", splitter())
    made.connect("read", "split")
    documents = made.run({"read": {"sources": [tmp_path / "a.txt"]}})["split"]["documents"]
    assert contents(documents) == [CAT, CAR]
    assert all(document.meta["file_path"] == "a.txt" for document in documents)


def test_the_pipeline_warms_the_embedder_and_hands_it_haystack_documents() -> None:
    model = CatEmbedder()
    made, _ = pipeline(model)
    made.run({"clean": {"documents": [Document(content=CAT + CAR), Document(content=CAR + " " + CAT)]}})
    assert model.warm
    assert model.calls == 1
    assert all(type(document) is Document for document in model.given)


def test_it_must_be_warm_before_it_runs() -> None:
    with pytest.raises(RuntimeError, match="warm_up"):
        splitter().run(documents=[Document(content=CAT)])


def test_a_pipeline_with_it_can_be_written_down_and_read_in_again() -> None:
    made, _ = pipeline(CatEmbedder(weight=2.0))
    again = Pipeline.loads(made.dumps())
    assert again.dumps() == made.dumps()
    part = again.get_component("split")
    assert type(part) is EmbeddingBasedDocumentSplitter
    assert part.document_embedder.weight == 2.0
    assert (part.sentences_per_group, part.percentile, part.min_length, part.max_length) == (1, 0.8, 0, 1000)
    assert again.run({"clean": {"documents": [Document(content=CAT + CAR)]}}) == {"write": {"documents_written": 2}}


def test_its_dict_has_haystacks_form_and_every_parameter() -> None:
    data = splitter(language="de").to_dict()
    assert data["type"] == "knotwork.interop.haystack.EmbeddingBasedDocumentSplitter"
    assert data["init_parameters"].pop("document_embedder")["init_parameters"] == {"weight": 1.0}
    assert data["init_parameters"] == {
        "sentences_per_group": 1,
        "percentile": 0.8,
        "min_length": 0,
        "max_length": 1000,
        "language": "de",
        "use_split_rules": True,
        "extend_abbreviations": True,
    }


def test_reading_a_dict_in_leaves_the_dict_alone() -> None:
    data = splitter().to_dict()
    EmbeddingBasedDocumentSplitter.from_dict(data)
    assert data == splitter().to_dict()


def test_an_offline_embedder_is_written_down_by_its_name() -> None:
    made = splitter("offline")
    assert made.to_dict()["init_parameters"]["document_embedder"] == "offline"
    again = EmbeddingBasedDocumentSplitter.from_dict(made.to_dict())
    assert again.document_embedder == "offline"


def test_settings_out_of_range_are_refused_as_by_the_plain_class() -> None:
    with pytest.raises(ValueError, match="sentences_per_group"):
        splitter(sentences_per_group=0)


def test_it_is_the_plain_class_with_sockets() -> None:
    made = splitter()
    assert isinstance(made, transforms.EmbeddingBasedDocumentSplitter)
    assert made.__haystack_input__.documents.type == list[Document]
    assert made.__haystack_output__.documents.type == list[Document]


def test_a_pipeline_can_await_it() -> None:
    made, store = pipeline()
    asyncio.run(made.run_async({"clean": {"documents": [Document(content=CAT + CAR)]}}))
    assert contents(store.filter_documents()) == [CAT, CAR]
