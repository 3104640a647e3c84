"""Names that a question speaks of."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork.search.linking import Linker

NAMES = {
    "rosalind franklin": 0,
    "franklin": 1,
    "photo 51": 2,
    "king's college london": 3,
    "will": 4,
    "washington, d.c": 5,
    "双螺旋": 6,
    "film": 7,
    "scrooge": -1,
    "scrooge scrooge": 8,
}


def linked(question: str) -> list[int]:
    return [link.entity for link in Linker(NAMES).link(question)]


def test_the_longest_known_name_is_taken() -> None:
    assert linked("What did Rosalind Franklin do?") == [0]


def test_a_link_says_where_the_name_stands() -> None:
    question = "Who took Photo 51?"
    (link,) = Linker(NAMES).link(question)
    assert question[link.start : link.end] == "Photo 51"
    assert link.cased


def test_a_question_without_capitals_is_understood() -> None:
    (link,) = Linker(NAMES).link("what did rosalind franklin do?")
    assert link.entity == 0
    assert not link.cased


def test_a_word_in_lower_case_needs_four_letters() -> None:
    assert Linker({"art": 0, "arts": 1}).link("is it art or arts") == Linker({"arts": 1}).link("is it art or arts")


def test_a_question_word_is_no_name() -> None:
    assert Linker({"who": 0, "which": 1}).link("Who is it?") == []
    assert Linker({"who": 0, "which": 1}).link("Which is it?") == []


def test_a_misspelt_name_is_taken_for_the_most_similar_one() -> None:
    assert linked("What did Rosalynd Franklin do?") != []
    assert linked("Where is Kings College London?") == [3]
    assert linked("Where is Emperors Collage Lisbon?") == []


def test_a_name_with_punctuation_is_found() -> None:
    assert linked("Was it in Washington, D.C.?") == [5]


def test_a_chinese_name_is_found_without_blanks() -> None:
    assert linked("谁发现了双螺旋结构？") == [6]


def test_a_name_marked_as_everywhere_leads_nowhere_and_no_other_is_taken_for_it() -> None:
    assert linked("Which spirits visit Scrooge?") == []


@pytest.mark.parametrize("question", ["", "?", "   ", "the of and", ",,,", "a" * 20_000, "Franklin " * 5_000])
def test_odd_questions_are_no_trouble(question: str) -> None:
    assert len(linked(question)) <= 1


@given(st.text(max_size=60))
def test_each_name_is_linked_once_and_spans_lie_in_the_question(question: str) -> None:
    links = Linker(NAMES).link(question)
    assert len({link.entity for link in links}) == len(links)
    assert all(0 <= link.start < link.end <= len(question) for link in links)
