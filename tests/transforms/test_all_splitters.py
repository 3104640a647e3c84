"""What every splitter promises, on texts that are hard to split."""

from __future__ import annotations

import asyncio
import hashlib
import random
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from knotwork import Document, KnowledgeGraph, Node, NodeType, apply_transforms
from knotwork.errors import InputError
from knotwork.text import count_tokens, sentence_spans
from knotwork.transforms import Splitter
from knotwork.transforms.splitters.chunks import body, join_short, without_blanks
from knotwork.transforms.splitters.headlines import HeadlineSplitter
from knotwork.transforms.splitters.semantic import EmbeddingBasedDocumentSplitter, SemanticSplitter
from knotwork.transforms.splitters.sentences import SentenceSplitter

QUOTES = ['He said "', '" ', "it's ", "’tis ", "‘So.’ ", "“", "”", "«", "»", "「", "」", "'Go.' "]
BRACKETS = ["(see ", ") ", "[", "]", "{", "}", "（", "）", "(a. B) "]
BLANKS = ["\t", "\u00a0", "\u3000", "\f", "\n", "\n\n", "\r\n", "\u2028", " ", " " * 30]
LISTS = ["\n- ", "\n• ", "\n1. ", "\n2) ", "\n（三）", "* x\n"]
WORDS = ["the ", "river ", "Stone ", "Word here. ", "Next one! ", "Dr. ", "e.g. ", "B", "é", ". ", "? ", ".", "1953"]
OTHERS = ["中文很好", "他说：", "。", "！？", "🧠", "👩‍👩‍👧", "x" * 70, "ab9Z" * 20, "<|endoftext|>", "\ud800"]
HEADINGS = ["\n# Head\n", "\nMethods\n", "\n## Methods\n"]
ALL = [*QUOTES, *BRACKETS, *BLANKS, *LISTS, *WORDS, *OTHERS, *HEADINGS]
WITHOUT_BLANKS = [part for part in ALL if not any(char.isspace() for char in part)]


def random_texts(count: int, seed: int) -> list[str]:
    rng = random.Random(seed)
    alphabets = [ALL, ALL, WORDS + QUOTES, WORDS + LISTS + HEADINGS, [*OTHERS, "中文。"], WITHOUT_BLANKS]
    return ["".join(rng.choices(rng.choice(alphabets), k=rng.randrange(1, 200))) for _ in range(count)]


class HashEmbedder:
    """Vectors that have nothing to do with one another."""

    name = "by hash"
    dimension = 4

    async def embed(self, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.float32]]:
        digests = [hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).digest() for text in texts]
        return np.array([list(digest) for digest in digests], np.float32) - 127.5


def in_tokens(contents: list[str]) -> list[int]:
    return count_tokens(contents)


def in_characters(contents: list[str]) -> list[int]:
    return [len(content) for content in contents]


Sizes = tuple[Splitter, Callable[[list[str]], list[int]], int, int]

SPLITTERS: dict[str, Sizes] = {
    "sentences": (SentenceSplitter(chunk_size=30, chunk_overlap=0), in_tokens, 0, 30),
    "headlines": (HeadlineSplitter(min_tokens=12, max_tokens=40), in_tokens, 12, 40),
    "semantic": (
        SemanticSplitter(embedding_model=HashEmbedder(), min_length=30, max_length=120),
        in_characters,
        30,
        120,
    ),
    "semantic, short": (
        SemanticSplitter(
            embedding_model=HashEmbedder(),
            sentences_per_group=1,
            percentile=0.3,
            min_length=60,
            max_length=61,
            use_split_rules=False,
            extend_abbreviations=False,
        ),
        in_characters,
        60,
        61,
    ),
}


def assert_sizes(contents: list[str], measure: Callable[[list[str]], list[int]], least: int, most: int) -> None:
    sizes = measure(contents)
    assert all(size <= most for size in sizes), contents
    joined = measure([one + other for one, other in pairwise(contents)])
    for at, size in enumerate(sizes):
        if size < least:
            assert all(both > most for both in joined[max(at - 1, 0) : at + 1]), contents


def check(name: str, count: int) -> None:
    splitter, measure, least, most = SPLITTERS[name]

    async def split_all() -> None:
        for text in random_texts(count, seed=len(name)):
            node = Node("d", {"page_content": text, "headlines": ["Head", "Methods", "Nowhere"]})
            nodes, links = await splitter.split(node)
            contents = [made.get_property("page_content") for made in nodes]
            assert "".join(contents) == (text if text.strip() else "")
            assert all(content.strip() for content in contents)
            assert_sizes(contents, measure, least, most)
            for made in nodes:
                place = slice(made.get_property("start"), made.get_property("end"))
                assert text[place] == made.get_property("page_content")
            assert len({made.id for made in nodes}) == len(nodes)
            assert len(links) == max(2 * len(nodes) - 1, 0)

    asyncio.run(split_all())


def check_documents(count: int) -> None:
    splitter = EmbeddingBasedDocumentSplitter(document_embedder=HashEmbedder(), min_length=40, max_length=150)
    splitter.warm_up()
    documents = [Document(text, id=str(number)) for number, text in enumerate(random_texts(count, seed=1))]
    contents: dict[str, list[str]] = {str(document.id): [] for document in documents}
    for each in splitter.run(documents)["documents"]:
        text, start = documents[int(each.metadata["source_id"])].text, each.metadata["split_idx_start"]
        assert text[start : start + len(each.text)] == each.text
        assert each.metadata["split_id"] == len(contents[each.metadata["source_id"]])
        pages = 1 + text[: start + len(each.text) - len(each.text.lstrip())].count("\f")
        assert each.metadata["page_number"] == pages or not each.text.strip()
        contents[each.metadata["source_id"]].append(each.text)
    for document in documents:
        made = contents[str(document.id)]
        assert "".join(made) == document.text
        assert_sizes(made, in_characters, 40, 150)


@pytest.mark.parametrize("name", SPLITTERS)
def test_hard_texts_are_split_without_loss_to_size_and_with_true_offsets(name: str) -> None:
    check(name, 100)


@pytest.mark.slow
@pytest.mark.parametrize("name", SPLITTERS)
def test_two_thousand_hard_texts_are(name: str) -> None:
    check(name, 2000)


def test_hard_documents_are_split_without_loss_to_size_and_with_true_offsets() -> None:
    check_documents(100)


@pytest.mark.slow
def test_two_thousand_hard_documents_are() -> None:
    check_documents(2000)


def test_with_overlap_the_chunks_of_hard_texts_cover_them() -> None:
    splitter = SentenceSplitter(chunk_size=30, chunk_overlap=10)
    for text in random_texts(300, seed=2):
        nodes, _ = asyncio.run(splitter.split(Node("d", {"page_content": text})))
        at = 0
        for made in nodes:
            assert made.get_property("start") <= at < made.get_property("end")
            at = made.get_property("end")
        assert at == (len(text) if text.strip() else 0)
        assert max(count_tokens([made.get_property("page_content") for made in nodes]), default=0) <= 30


# -- what they share ------------------------------------------------------------------------------


def spans_of(*parts: str) -> tuple[str, list[tuple[int, int]]]:
    ends = np.cumsum([0, *map(len, parts)]).tolist()
    return "".join(parts), list(pairwise(ends))


def test_a_blank_span_goes_where_there_is_room() -> None:
    def cut(*parts: str) -> list[str]:
        text, spans = spans_of(*parts)
        return [text[a:b] for a, b in without_blanks(text, spans, lambda span: span[1] - span[0] <= 6)]

    assert cut("one", "  ", "two") == ["one  ", "two"]
    assert cut("oneone", "  ", "two") == ["oneone", "  two"]
    assert cut("oneone", "  ", "twotwo") == ["one", "one  ", "twotwo"]
    assert cut("  ", "twotwo") == ["  two", "two"]
    assert cut("one", " " * 9, "two") == ["one" + " " * 9, "two"]
    assert cut("  ", "\n") == []


def test_short_spans_join_the_next_else_the_previous() -> None:
    def join(*parts: str) -> list[str]:
        text, spans = spans_of(*parts)
        joined = join_short(spans, lambda span: span[1] - span[0] < 3, lambda span: span[1] - span[0] <= 5)
        return [text[a:b] for a, b in joined]

    assert join("a", "bbb", "cccc") == ["abbb", "cccc"]
    assert join("bbb", "a", "ccccc") == ["bbba", "ccccc"]
    assert join("bbbbb", "a", "ccccc") == ["bbbbb", "a", "ccccc"]
    assert join("a", "a", "a", "a", "bb") == ["aaa", "abb"]
    assert join() == []


def test_a_chunk_has_its_part_of_the_body() -> None:
    node = Node("c", {"start": 100, "metadata": {"body": [[0, 50], [110, 120], [130, 1000]]}})
    assert body(node, "x" * 50) == [(10, 20), (30, 50)]
    with pytest.raises(InputError, match=r"'c'.*body"):
        body(Node("c", {"metadata": {"body": [["a", "b"]]}}), "text")


def test_a_chunk_of_a_chunk_knows_its_document_and_its_place_there() -> None:
    chunk = Node("c", {"page_content": "One here. Two here.", "start": 40, "document": "d", "headings": ["Top"]})
    nodes, _ = asyncio.run(SentenceSplitter(chunk_size=4, chunk_overlap=0).split(chunk))
    assert [made.get_property("start") for made in nodes] == [40, 50]
    assert {made.get_property("document") for made in nodes} == {"d"}
    assert [made.get_property("headings") for made in nodes] == [["Top"], ["Top"]]


def test_wide_blanks_before_a_full_stop_do_no_harm() -> None:
    text = "A\u00a0. B\u2028. C\u3000. D\u202f."
    assert "".join(text[start:end] for start, end in sentence_spans(text)) == text


def test_long_chinese_text_without_blanks_falls_into_its_sentences() -> None:
    text = "他说：“你好。”她走了！" * 2000
    spans = sentence_spans(text)
    assert "".join(text[start:end] for start, end in spans) == text
    assert len(spans) == 4000


def test_a_splitter_that_sees_every_node_does_not_split_its_own_chunks(tmp_path: Path) -> None:
    def splitter() -> SentenceSplitter:
        return SentenceSplitter(chunk_size=4, chunk_overlap=0)

    kg = KnowledgeGraph([Node("d", {"page_content": "One here. Two here."}, NodeType.DOCUMENT)])
    apply_transforms(kg, splitter())
    assert len(kg.nodes) == 3
    apply_transforms(kg, splitter())
    assert len(kg.nodes) == 3
    kg.save(tmp_path / "kg.json")
    again = KnowledgeGraph.load(tmp_path / "kg.json")
    apply_transforms(again, splitter())
    assert len(again.nodes) == 3
