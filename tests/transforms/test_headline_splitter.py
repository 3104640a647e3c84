from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork import KnowledgeGraph, Node, NodeType, apply_transforms
from knotwork.errors import InputError, TransformError
from knotwork.text import count_tokens
from knotwork.transforms.splitters.headlines import HeadlineSplitter, heading_lines

PAPER = (
    "We say what was done; the Conclusion comes last.\n\n"
    "# Methods\n\nWater was boiled. Then it was weighed again.\n\n"
    "# Conclusion\n\nNothing was lost. The weight stayed the same.\n"
)


def chunks_of(
    text: str, headlines: Any, /, min_tokens: int = 5, max_tokens: int = 100, **properties: Any
) -> list[Node]:
    more = {} if headlines is None else {"headlines": headlines}
    kg = KnowledgeGraph([Node("d", {"page_content": text, **more, **properties}, NodeType.DOCUMENT)])
    apply_transforms(kg, HeadlineSplitter(min_tokens=min_tokens, max_tokens=max_tokens))
    return list(kg.nodes_of(NodeType.CHUNK))


def texts(chunks: list[Node]) -> list[str]:
    return [chunk.get_property("page_content") for chunk in chunks]


def test_a_heading_mentioned_earlier_in_prose_cuts_at_its_line() -> None:
    assert [text.split("\n")[0] for text in texts(chunks_of(PAPER, ["Methods", "Conclusion"]))] == [
        "We say what was done; the Conclusion comes last.",
        "# Methods",
        "# Conclusion",
    ]


def test_the_headings_that_the_document_brings_along_are_headlines_too() -> None:
    text = "Aims\n\nThe aim was old ice.\n\nHow it was done\n\nAda Stone turned the drill by hand.\n"
    outline = [[0, 1, "Aims"], [text.index("How"), 2, "How it was done"]]
    chunks = chunks_of(text, ["Absent"], metadata={"outline": outline})
    assert [chunk.get_property("headings") for chunk in chunks] == [["Aims"], ["Aims", "How it was done"]]
    assert "outline" not in chunks[0].get_property("metadata")


def test_the_order_of_headlines_and_repeats_among_them_change_nothing() -> None:
    wanted = texts(chunks_of(PAPER, ["Methods", "Conclusion"]))
    assert texts(chunks_of(PAPER, ["Conclusion", "Methods", "Conclusion", "methods"])) == wanted
    assert len(wanted) == 3


def test_the_chunks_are_the_text_newlines_included() -> None:
    assert (
        "".join(texts(chunks_of("\n\n" + PAPER + "\r\n \n", ["Methods", "Conclusion"]))) == "\n\n" + PAPER + "\r\n \n"
    )


@pytest.mark.parametrize(
    "line", ["## Methods", "2. Methods:", "**Methods**", "Methods", "  METHODS  ", "Methods\n======="]
)
def test_a_heading_line_is_found_whatever_its_marks(line: str) -> None:
    text = f"Methods of old are told of here.\n{line}\nWater was boiled and weighed.\n"
    assert texts(chunks_of(text, ["Methods"], min_tokens=2)) == [
        "Methods of old are told of here.\n",
        f"{line}\nWater was boiled and weighed.\n",
    ]


def test_a_headline_without_a_line_of_its_own_cuts_where_it_begins_a_sentence() -> None:
    text = "It is about Results too. Results We saw nothing at all. In all Results of this kind we did."
    assert [heading.start for heading in heading_lines(text, ["Results", "Missing"])] == [25]


def test_a_heading_that_stands_twice_cuts_twice() -> None:
    text = "# A\nResults\nOne was seen here.\n# B\nResults\nTwo were seen here.\n"
    assert len(chunks_of(text, ["Results"], min_tokens=1)) == 3


def test_a_short_section_joins_the_next_and_the_last_one_the_previous() -> None:
    long = "Here are some more words of it, enough to stand alone. "
    text = f"# A\nTiny.\n# B\n{long}\n# C\n{long}\n# D\nTiny.\n"
    assert texts(chunks_of(text, ["A", "B", "C", "D"], min_tokens=12)) == [
        f"# A\nTiny.\n# B\n{long}\n",
        f"# C\n{long}\n# D\nTiny.\n",
    ]


@given(
    st.lists(
        st.sampled_from(["# A\n", "# B\n", "word ", "Long one here. ", "x" * 40, "\n", "中文。", "🧠"]), max_size=120
    ),
    st.integers(16, 40),
)
def test_no_chunk_is_too_long_and_none_is_short_that_could_join_a_neighbour(parts: list[str], size: int) -> None:
    text = "".join(parts)
    made = texts(chunks_of(text, ["A", "B"], min_tokens=size // 3, max_tokens=size))
    assert "".join(made) == (text if text.strip() else "")
    assert all(one.strip() for one in made)
    counts = count_tokens(made)
    assert all(tokens <= size for tokens in counts)
    joined = count_tokens(one + other for one, other in itertools.pairwise(made))
    for at, tokens in enumerate(counts):
        if tokens < size // 3:
            assert all(both > size for both in joined[max(at - 1, 0) : at + 1])


def test_text_without_blanks_keeps_to_max_tokens() -> None:
    made = texts(chunks_of("ab9Z" * 500, [], max_tokens=50))
    assert "".join(made) == "ab9Z" * 500
    assert max(count_tokens(made)) <= 50


def test_a_long_section_is_cut_into_parts_of_about_equal_length_on_sentence_borders() -> None:
    made = texts(chunks_of("This is one sentence of it. " * 30, [], min_tokens=50, max_tokens=200))
    assert len(made) == 2
    assert all(text.startswith("This") for text in made)
    assert min(count_tokens(made)) > 80


def test_chunks_carry_metadata_offsets_headings_and_links() -> None:
    text = (
        "# Top\nSome words stand here first.\n## Inner\nOther words stand in here.\n# Next\nThe last words are here.\n"
    )
    kg = KnowledgeGraph(
        [Node("d", {"page_content": text, "headlines": ["Next", "Inner", "Top"], "metadata": {"a": 1}, "title": "T"})]
    )
    apply_transforms(kg, HeadlineSplitter(min_tokens=5, max_tokens=50, filter_nodes=lambda node: node.id == "d"))
    chunks = list(kg.nodes_of(NodeType.CHUNK))
    assert [chunk.get_property("headings") for chunk in chunks] == [["Top"], ["Top", "Inner"], ["Next"]]
    for chunk in chunks:
        assert text[chunk.get_property("start") : chunk.get_property("end")] == chunk.get_property("page_content")
        assert chunk.get_property("metadata") == {"a": 1}
        assert chunk.get_property("title") == "T"
    assert [link.target for link in kg.relationships if link.type == "child"] == chunks
    assert [(link.source, link.target) for link in kg.relationships if link.type == "next"] == list(
        itertools.pairwise(chunks)
    )


def test_a_chunk_of_a_chunk_knows_its_place_in_the_document_and_the_headings_above() -> None:
    text = "Some words here.\nInner\nOther words here."
    node = Node("c", {"page_content": text, "headlines": ["Inner"], "start": 100, "document": "d", "headings": ["Top"]})
    nodes, _ = asyncio.run(HeadlineSplitter(min_tokens=2, max_tokens=50).split(node))
    assert [(made.get_property("start"), made.get_property("document")) for made in nodes] == [(100, "d"), (117, "d")]
    assert [made.get_property("headings") for made in nodes] == [["Top"], ["Top", "Inner"]]


def test_only_the_body_is_cut() -> None:
    text = "Licence.\nA\nThe story goes on for long.\nB\nAnd on it goes to its end.\nLicence."
    made = chunks_of(text, ["A", "B"], metadata={"body": [[9, 67]]})
    assert "".join(texts(made)) == text[9:67]
    assert [chunk.get_property("start") for chunk in made] == [9, 39]


def test_a_text_below_min_tokens_needs_no_headlines() -> None:
    assert texts(chunks_of("Short as it is.\n", None, min_tokens=50)) == ["Short as it is.\n"]


@pytest.mark.parametrize("text", ["", " \n\f\u3000"])
def test_a_blank_text_makes_no_chunk(text: str) -> None:
    assert chunks_of(text, None) == []


@pytest.mark.parametrize(
    ("properties", "said"),
    [
        ({}, "'page_content' is missing"),
        ({"page_content": 7}, "'page_content' is int"),
        ({"page_content": PAPER}, "'headlines' is missing"),
        ({"page_content": PAPER, "headlines": "Methods"}, "'headlines' is str"),
        ({"page_content": PAPER, "headlines": ["Methods", 7]}, "'headlines' holds 7"),
        ({"page_content": PAPER, "metadata": {"body": [5]}}, "'body'"),
    ],
)
def test_what_is_missing_or_of_a_wrong_type_is_an_error_that_names_node_and_property(
    properties: dict[str, Any], said: str
) -> None:
    node = Node("node-7", properties)
    with pytest.raises(InputError, match=said) as raised:
        asyncio.run(HeadlineSplitter(min_tokens=5, max_tokens=50).split(node))
    assert "'node-7'" in str(raised.value)
    with pytest.raises(TransformError, match="node-7"):
        apply_transforms(KnowledgeGraph([node]), HeadlineSplitter(min_tokens=5, max_tokens=50))


@pytest.mark.parametrize(("least", "most"), [(-1, 10), (11, 10), (0, 0)])
def test_impossible_sizes_are_refused(least: int, most: int) -> None:
    with pytest.raises(InputError, match="_tokens"):
        HeadlineSplitter(min_tokens=least, max_tokens=most)


def test_the_defaults_are_those_users_know() -> None:
    splitter = HeadlineSplitter("cut", lambda node: True)
    assert (splitter.name, splitter.min_tokens, splitter.max_tokens) == ("cut", 300, 1000)


def test_splitting_twice_changes_nothing() -> None:
    kg = KnowledgeGraph([Node("d", {"page_content": PAPER, "headlines": ["Methods"]}, NodeType.DOCUMENT)])
    splitter = HeadlineSplitter(min_tokens=5, max_tokens=50, filter_nodes=lambda node: node.type is NodeType.DOCUMENT)
    apply_transforms(kg, splitter)
    before = kg.to_dict()
    apply_transforms(kg, splitter)
    assert kg.to_dict() == before


def test_a_long_section_falls_into_few_pieces_of_about_equal_length() -> None:
    text = " ".join(f"Sentence number {n} is here." for n in range(400))
    sizes = count_tokens(texts(chunks_of(text, [], min_tokens=10)))
    assert len(sizes) <= 1.2 * count_tokens([text])[0] / 100
    assert max(sizes) <= 100
    assert min(sizes) >= 60
