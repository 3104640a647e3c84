"""Documents from LangChain and to it."""

from __future__ import annotations

from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from tests.interop.packages import need

from knotwork import Document, Evidence, Node, NodeType
from knotwork.interop.langchain import from_langchain, to_langchain


@pytest.fixture
def lc() -> ModuleType:
    return need("langchain_core.documents")


def theirs(text: Any, id: str | None = None, **metadata: Any) -> Any:
    return SimpleNamespace(page_content=text, id=id, metadata=metadata)


def test_text_metadata_and_id_come_in(lc: ModuleType) -> None:
    given = lc.Document(page_content="Ada wrote.", id="a", metadata={"source": "a.txt", "title": "Ada", "page": 2})
    [made] = from_langchain([given])
    assert made == Document("Ada wrote.", "a", "Ada", "a.txt", {"source": "a.txt", "title": "Ada", "page": 2})


def test_without_an_id_the_source_says_which_document_it_is() -> None:
    [made] = from_langchain([theirs("Text.", source="a.txt")])
    assert made.key == Document("Other text.", source="a.txt").key


def test_pages_of_one_file_stay_apart() -> None:
    pages = [theirs("One.", source="a.pdf", page=0), theirs("Two.", source="a.pdf", page=1)]
    first, second = from_langchain(pages)
    assert first.key != second.key
    assert from_langchain(pages[1:])[0].key == second.key


def test_documents_of_one_source_stay_apart_without_pages_too() -> None:
    keys = [made.key for made in from_langchain([theirs(text, source="a.txt") for text in ("One.", "Two.", "Three.")])]
    assert len(set(keys)) == 3


def test_documents_with_nothing_but_text_are_known_by_it() -> None:
    [made] = from_langchain([theirs("Text.")])
    assert made.key == Document("Text.").key


@pytest.mark.parametrize("given", ["a string", theirs(None), object()])
def test_what_has_no_text_is_named(given: object) -> None:
    with pytest.raises(ValueError, match=r"document 1 is .* page_content"):
        from_langchain([theirs("Fine."), given])


def test_metadata_that_is_no_dict_is_named() -> None:
    with pytest.raises(ValueError, match="metadata of document 0 is list"):
        from_langchain([SimpleNamespace(page_content="Text.", id=None, metadata=["a"])])


def test_evidence_goes_out_with_where_it_stands(lc: ModuleType) -> None:
    [made] = to_langchain([Evidence("wrote", 0.5, "a", "Ada", "a.txt", 4, 9, "named")])
    assert isinstance(made, lc.Document)
    assert made.page_content == "wrote"
    assert made.id == "a#4-9"
    assert made.metadata == {
        "document_id": "a", "title": "Ada", "source": "a.txt", "start": 4, "end": 9, "score": 0.5, "why": "named",
    }  # fmt: skip


def test_a_chunk_goes_out_with_its_properties_but_not_its_vector(lc: ModuleType) -> None:
    properties = {"page_content": "Text.", "start": 3, "embedding": np.ones(3), "metadata": {"author": "Ann"}}
    [made] = to_langchain([Node("c1", properties, NodeType.CHUNK)])
    assert (made.page_content, made.id) == ("Text.", "c1")
    assert made.metadata == {"author": "Ann", "start": 3}


def test_documents_come_back_as_they_went(lc: ModuleType) -> None:
    document = Document("Text.", "a", "Title", "a.txt", {"author": "Ann"})
    [back] = from_langchain(to_langchain([document]))
    assert (back.text, back.id, back.title, back.source) == ("Text.", "a", "Title", "a.txt")
    assert back.metadata["author"] == "Ann"


@pytest.mark.parametrize("given", [Node("e1", {"name": "Ada"}), 3])
def test_what_has_no_text_does_not_go_out(lc: ModuleType, given: Any) -> None:
    with pytest.raises(ValueError, match=r"e1|int"):
        to_langchain([given])
