from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork import KnowledgeGraph, Node, NodeType, apply_transforms
from knotwork.errors import InputError
from knotwork.text import count_tokens
from knotwork.transforms import SentenceSplitter
from knotwork.transforms.splitters.sentences import split_spans

PIECES = [*"aA b.,!?;:'\"()[]<|>{}\n\t\r\f\u00a0\u3000。！中文🧠é", "Mr. ", "<|endoftext|>", "\n\n", "x" * 50]
TEXT = st.lists(st.sampled_from(PIECES), max_size=200).map("".join)


@given(TEXT, st.integers(3, 40))
def test_without_overlap_the_chunks_are_the_text_and_no_chunk_is_too_long(text: str, size: int) -> None:
    spans = split_spans(text, size)
    assert "".join(text[start:end] for start, end in spans) == text
    counts = count_tokens([text[start:end] for start, end in spans])
    assert all(tokens <= size or end - start == 1 for tokens, (start, end) in zip(counts, spans, strict=True))


@given(TEXT, st.integers(4, 40))
def test_with_overlap_the_chunks_cover_the_text_and_go_forward(text: str, size: int) -> None:
    spans = split_spans(text, size, size // 2)
    at = 0
    for start, end in spans:
        assert start <= at < end or not text
        at = end
    assert at == len(text)
    assert all(one[0] < other[0] for one, other in itertools.pairwise(spans))


def document(text: str, **properties: object) -> KnowledgeGraph:
    return KnowledgeGraph([Node("d", {"page_content": text, **properties}, NodeType.DOCUMENT)])


def test_chunks_know_their_place_and_are_tied_to_parent_and_neighbour() -> None:
    text = "One is here. Two is there. Three is nowhere.\n"
    kg = document(text, title="Places", metadata={"a": 1})
    apply_transforms(kg, SentenceSplitter(chunk_size=6, chunk_overlap=0))
    chunks = kg.nodes_of(NodeType.CHUNK)
    assert [chunk.get_property("page_content") for chunk in chunks] == [
        "One is here. ",
        "Two is there. ",
        "Three is nowhere.\n",
    ]
    for chunk in chunks:
        assert text[chunk.get_property("start") : chunk.get_property("end")] == chunk.get_property("page_content")
        assert chunk.get_property("title") == "Places"
        assert chunk.get_property("metadata") == {"a": 1}
    assert [(link.source.id, link.target) for link in kg.relationships if link.type == "child"] == [
        ("d", chunk) for chunk in chunks
    ]
    assert [link.target for link in kg.relationships if link.type == "next"] == chunks[1:]


def test_a_document_split_once_is_left_as_it_is() -> None:
    kg = document("One is here. Two is there.")
    splitter = SentenceSplitter(chunk_size=6, chunk_overlap=0, filter_nodes=lambda node: node.type is NodeType.DOCUMENT)
    apply_transforms(kg, splitter)
    before = kg.to_dict()
    report = apply_transforms(kg, splitter)
    assert report.stages[0].done == 0
    assert kg.to_dict() == before


def test_an_edit_renames_only_the_chunk_it_touches() -> None:
    one, other = (
        document("Alpha is first. Beta is next. Gamma is last."),
        document("Alpha is first. Delta is next. Gamma is last."),
    )
    for kg in (one, other):
        apply_transforms(kg, SentenceSplitter(chunk_size=6, chunk_overlap=0))
    ids = [[chunk.id for chunk in kg.nodes_of(NodeType.CHUNK)] for kg in (one, other)]
    assert ids[0][0] == ids[1][0]
    assert ids[0][1] != ids[1][1]
    assert ids[0][2] == ids[1][2]


def test_a_text_repeated_in_one_document_makes_chunks_of_their_own() -> None:
    kg = document("Same again here. Same again here. Same again here.")
    apply_transforms(kg, SentenceSplitter(chunk_size=5, chunk_overlap=0))
    assert len({chunk.id for chunk in kg.nodes_of(NodeType.CHUNK)}) == 3


def test_blank_stretches_belong_to_the_chunk_beside_them() -> None:
    kg = document("\n" * 50 + "Word here. " + " " * 2000 + "\n\nLast one.")
    apply_transforms(kg, SentenceSplitter(chunk_size=8, chunk_overlap=0))
    chunks = kg.nodes_of(NodeType.CHUNK)
    assert all(chunk.get_property("page_content").strip() for chunk in chunks)
    assert "".join(chunk.get_property("page_content") for chunk in chunks) == kg.nodes[0].get_property("page_content")


def test_only_the_body_of_a_framed_text_is_cut_into_chunks() -> None:
    text = "Licence first. The story goes on. Licence last."
    kg = document(text, metadata={"body": [[15, 34]]})
    apply_transforms(kg, SentenceSplitter())
    (chunk,) = kg.nodes_of(NodeType.CHUNK)
    assert chunk.get_property("page_content") == text[15:34] == "The story goes on. "
    assert chunk.get_property("start") == 15


@pytest.mark.parametrize(("size", "overlap"), [(0, 0), (10, 10), (10, -1)])
def test_impossible_sizes_are_refused(size: int, overlap: int) -> None:
    with pytest.raises(InputError, match="chunk_"):
        SentenceSplitter(chunk_size=size, chunk_overlap=overlap)
