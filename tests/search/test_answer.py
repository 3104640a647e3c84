"""Answers in the documents' own sentences."""

from __future__ import annotations

import asyncio
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.search.toy import FILMS, NAMES, ToyEmbedder, ToyStore

from knotwork.graph import Document
from knotwork.search.answer import NO_EVIDENCE, SENTENCES, answer
from knotwork.search.evidence import Answer
from knotwork.search.passages import Mode, PassageIndex

INDEX = PassageIndex(ToyStore(FILMS, NAMES), ToyEmbedder())
BLIND = PassageIndex(ToyStore(FILMS, NAMES, vectors=False))
EMPTY = PassageIndex(ToyStore([], {}), ToyEmbedder())
TEXTS = {document.key: document.text for document in FILMS}

EXPEDITION = [
    Document(
        "# The Climb\n\nAn aim of Ann Berg in the first climb was the route. She kept a diary.", "e1", "The Climb"
    ),
    Document("An aim of Tom Reed in the first climb was the weather. He also cooked.", "e2", "Weather"),
    Document("An aim of Olof Lind in the first climb was the map. The map is lost.", "e3", "The Map"),
    Document(
        "The first climb began in May. The second climb began in June. The last climb began in July.", "e4", "Dates"
    ),
    Document("Bread is made from flour and water. It is baked in an oven.", "e5", "Bread"),
]


def ask(question: str, index: PassageIndex = INDEX, mode: Mode = "auto") -> Answer:
    return asyncio.run(answer(question, index, mode))


def expedition(question: str) -> Answer:
    return ask(question, PassageIndex(ToyStore(EXPEDITION, NAMES), ToyEmbedder()))


def test_the_sentence_that_answers_is_cited_at_its_place() -> None:
    found = ask("What is bread made from?")
    assert found.found
    assert found.text.startswith("Bread is made from flour and water. [1]")
    first = found.citations[0]
    assert (first.n, first.document_id, first.title, first.page) == (1, "d7", "Bread", None)
    assert TEXTS["d7"][first.start : first.end] == first.quote == "Bread is made from flour and water."


def test_a_second_hop_is_told_with_the_first() -> None:
    found = ask("Where was the director of The Glass Tower born?")
    assert "directed by Ann Berg" in found.text
    assert "born in Malmo" in found.text


def test_a_question_for_several_persons_names_each_of_them() -> None:
    found = expedition("Who were the leaders with an aim in the first climb?")
    assert all(name in found.text for name in ("Ann Berg", "Tom Reed", "Olof Lind"))
    assert len({citation.document_id for citation in found.citations}) == 3


def test_every_part_of_a_compound_question_is_answered() -> None:
    found = expedition("What was the aim of Tom Reed in the first climb, and what is bread made from?")
    assert "weather" in found.text
    assert "flour" in found.text


def test_an_order_is_answered_by_sentences_that_count() -> None:
    found = expedition("In what order were the climbs that began?")
    assert {"first", "second", "last"} <= set(re.findall(r"\w+", found.text))


def test_a_heading_is_no_sentence() -> None:
    assert not any(
        "#" in citation.quote for citation in expedition("What was the aim of Ann Berg in the climb?").citations
    )


@pytest.mark.parametrize(
    "question",
    [
        "What is the capital of Mongolia?",
        "Who discovered penicillin?",
        "Which shoes did Ann Berg wear?",
        "How are transistors manufactured?",
    ],
)
def test_what_the_documents_do_not_speak_of_is_not_answered(question: str) -> None:
    for index in (INDEX, BLIND, EMPTY):
        found = ask(question, index)
        assert not found.found
        assert found.text == NO_EVIDENCE["en"]
        assert found.citations == ()


def test_a_year_that_stands_nowhere_is_not_answered() -> None:
    assert ask("Who directed The Glass Tower in 1931?").found
    assert not ask("Who directed The Glass Tower in 1977?").found


def test_without_an_embedder_words_decide() -> None:
    assert ask("What is bread made from?", BLIND).text.startswith("Bread is made from flour and water. [1]")


def test_a_chinese_question_is_answered_in_chinese() -> None:
    documents = [
        Document("面包是用面粉和水做的。面包放在烤箱里烤。", "a", "面包"),
        Document("奥斯陆是挪威的首都。", "b", "奥斯陆"),
    ]
    index = PassageIndex(ToyStore(documents, {}), ToyEmbedder(name="minilm-l6-v2-int8"))
    found = ask("面包是用什么做的？", index)
    assert found.text.startswith("面包是用面粉和水做的。[1]")
    assert ask("谁写了红楼梦？", index).text == NO_EVIDENCE["zh"]


def test_the_mode_that_ran_is_told() -> None:
    assert ask("What is bread made from?").mode == "passages"
    assert ask("What is bread made from?", mode="bm25").mode == "bm25"


def test_a_notebook_shows_documents_as_text() -> None:
    documents = [Document("Bread <script>alert(1)</script> is made from flour & water.", "a", "<b>Bread</b>")]
    shown = ask("What is bread made from?", PassageIndex(ToyStore(documents, {}), ToyEmbedder()))._repr_html_()
    assert "&lt;script&gt;" in shown
    assert "<script>" not in shown
    assert "<b>Bread" not in shown


ODD = ["", "  ", "?", "who is the of", "\x00\ud800", "Ann Berg " * 2_500, "???;;;", "and what and who and why"]


@pytest.mark.parametrize("question", ODD, ids=repr)
@pytest.mark.parametrize("mode", ["auto", "passages", "hybrid", "dense", "bm25"])
def test_odd_questions_are_no_trouble(question: str, mode: Mode) -> None:
    for index in (INDEX, BLIND, EMPTY):
        check(ask(question, index, mode))


@given(st.lists(st.sampled_from([*NAMES, "who", "born", "director", "and what", "film", "the", ",", "?"]), max_size=9))
def test_an_answer_is_made_of_its_quotes_each_at_its_place_and_cited_once(words: list[str]) -> None:
    found = ask(" ".join(words))
    check(found)
    assert found == ask(" ".join(words))


def check(found: Answer) -> None:
    assert len(found.citations) <= SENTENCES
    assert [citation.n for citation in found.citations] == list(range(1, len(found.citations) + 1))
    assert len({(citation.document_id, citation.start) for citation in found.citations}) == len(found.citations)
    for citation in found.citations:
        assert TEXTS[citation.document_id][citation.start : citation.end] == citation.quote
        assert any(
            one.document_id == citation.document_id and one.start <= citation.start and citation.end <= one.end
            for one in found.evidence
        )
    if found.citations:
        assert found.text == " ".join(f"{citation.quote} [{citation.n}]" for citation in found.citations)
    else:
        assert found.text in NO_EVIDENCE.values()
