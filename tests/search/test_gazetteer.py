"""Known names found again in text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork.gazetteer import Gazetteer
from knotwork.text import normalise_name


def found(names: list[str], text: str) -> list[str]:
    return [text[start:end] for start, end, _ in Gazetteer(names).find(text)]


def test_the_longest_name_wins() -> None:
    assert found(["York", "New York", "New York Times"], "He read the New York Times in New York.") == [
        "New York Times",
        "New York",
    ]


def test_a_name_is_given_back_as_it_was_handed_in() -> None:
    assert Gazetteer(["the royal society"]).find("At the Royal Society") == [(7, 20, "the royal society")]


@pytest.mark.parametrize(
    ("text", "surface"),
    [
        ("It was Franklin's picture.", "Franklin"),
        ("It was “Franklin”.", "Franklin"),
        ("We met Franklin, then left.", "Franklin"),
        ("In Franklin’s notes", "Franklin"),
        ("the town of _Franklin_ is", "Franklin"),
    ],
)
def test_a_span_holds_the_name_without_possessive_and_punctuation(text: str, surface: str) -> None:
    assert found(["Franklin"], text) == [surface]


def test_accents_and_width_do_not_matter() -> None:
    assert found(["Bela Bartok"], "music by Béla Bartók") == ["Béla Bartók"]


def test_a_word_in_lower_case_is_no_name() -> None:
    assert found(["Bath", "Reading"], "He was reading in the bath.") == []


def test_a_lone_word_that_begins_a_sentence_counts_only_if_the_text_has_it_elsewhere() -> None:
    assert found(["Hope"], "Hope is a virtue.") == []
    assert found(["Hope"], "Hope left. We saw Hope again.") == ["Hope", "Hope"]
    assert found(["Bob Hope"], "Bob Hope left.") == ["Bob Hope"]


def test_stop_words_bare_numbers_and_single_letters_are_not_looked_for() -> None:
    assert found(["The", "1953", "K", "DN"], "So The 1953 K DN went") == []


def test_a_number_with_a_word_is_a_name() -> None:
    assert found(["Photo 51"], "He took Photo 51 then.") == ["Photo 51"]


def test_a_name_inside_a_longer_word_is_not_found() -> None:
    assert found(["Ann", "Rome"], "We like Annual Romeo plays") == []


def test_a_chinese_name_is_found_inside_a_run() -> None:
    text = "我们知道富兰克林拍摄了照片。"
    assert Gazetteer(["富兰克林", "富兰"]).find(text) == [(4, 8, "富兰克林")]


def test_a_mixed_name_is_found_whatever_its_case_and_not_inside_a_latin_word() -> None:
    assert found(["DNA双螺旋"], "关于dna双螺旋的论文") == ["dna双螺旋"]
    assert found(["DNA双螺旋"], "关于cDNA双螺旋的论文") == []


def test_no_names_or_no_text_finds_nothing() -> None:
    assert Gazetteer([]).find("Some Text") == []
    assert Gazetteer(["Some Text", "", "  "]).find("") == []


@given(
    st.lists(st.text(alphabet="AbcÉ 's-.双螺旋富12", max_size=8), max_size=6),
    st.text(alphabet="AbcÉ 's-.,\n双螺旋富12“”", max_size=80),
)
def test_hits_are_in_order_apart_and_spell_their_name(names: list[str], text: str) -> None:
    # the names themselves, too, so that there is something to find
    text = f"{text} so {' and '.join(names)}."
    hits = Gazetteer(names).find(text)
    assert hits == Gazetteer(names).find(text)
    position = 0
    for start, end, name in hits:
        assert position <= start < end <= len(text)
        assert name in names
        assert normalise_name(text[start:end]) == normalise_name(name)
        position = end
