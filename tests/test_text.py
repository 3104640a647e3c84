from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from knotwork.text import (
    content_hash,
    count_tokens,
    fold_accents,
    language_of,
    normalise_name,
    search_terms,
    sentence_spans,
    stable_id,
    token_ends,
)

ANY = st.text(max_size=200)


@given(ANY)
def test_sentences_together_are_the_text(text: str) -> None:
    spans = sentence_spans(text)
    assert "".join(text[start:end] for start, end in spans) == text
    assert all(text[start:end].strip() for start, end in spans) or not text.strip()


def test_sentences_end_at_full_stops_of_either_script_and_not_at_abbreviations() -> None:
    text = "Dr. Watson came. 沃森来了。1953年发表。“好。”He left!"
    assert [text[a:b].strip() for a, b in sentence_spans(text, "en")][:2] == ["Dr. Watson came.", "沃森来了。"]
    assert len(sentence_spans("沃森来了。1953年发表。")) == 2


def test_a_quote_before_a_paragraph_break_loses_nothing() -> None:
    text = 'He said. "Let\'s proceed."\n\nAs they went on. \r\n\r\nEnd'
    assert "".join(text[a:b] for a, b in sentence_spans(text)) == text


@example("0¸ 0")
@given(ANY)
def test_a_normal_form_is_its_own_normal_form(text: str) -> None:
    assert normalise_name(normalise_name(text)) == normalise_name(text)


def test_spellings_of_one_name_meet_and_scripts_without_accents_keep_their_marks() -> None:
    assert normalise_name("The “Curie  Institute’s”") == normalise_name("ＣＵＲＩＥ institute") == "curie institute"
    assert fold_accents("Schrödinger Ελλάς") == "Schrodinger Ελλας"
    assert fold_accents("서울 ガス") == "서울 ガス"


@given(ANY)
def test_token_ends_ascend_to_the_end_of_the_text_as_many_as_are_counted(text: str) -> None:
    ends = token_ends(text)
    assert ends == sorted(ends)
    assert (ends[-1] if ends else 0) == len(text)
    assert count_tokens([text]) == [len(ends)]


def test_special_tokens_in_a_text_are_counted_as_text() -> None:
    assert count_tokens(["<|endoftext|>"])[0] > 1


def test_search_terms_are_folded_words_and_pairs_of_chinese_characters() -> None:
    assert search_terms("Café DNA双螺旋，Ｘ") == ["cafe", "dna", "双螺", "螺旋", "x"]


def test_ids_depend_on_the_parts_and_their_borders() -> None:
    assert stable_id("ab", "c") != stable_id("a", "bc")
    assert content_hash("a") == content_hash("a") != content_hash("b")


def test_a_text_is_chinese_from_a_fifth_of_its_letters_on() -> None:
    assert language_of("DNA 双螺旋结构") == "zh"
    assert language_of("The double helix (双)") == "en"
