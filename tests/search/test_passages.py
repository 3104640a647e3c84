"""Search over passages without a model."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.search.toy import FILMS, NAMES, ToyEmbedder, ToyStore

from knotwork.errors import InputError
from knotwork.graph import Document
from knotwork.search.evidence import Evidence
from knotwork.search.passages import (
    Mode,
    PassageGraph,
    PassageIndex,
    PassageParameters,
    build_graph,
    is_date,
    page_rank,
    query_terms,
)

MODES: list[Mode] = ["auto", "passages", "hybrid", "dense", "bm25"]
INDEX = PassageIndex(ToyStore(FILMS, NAMES), ToyEmbedder())
BLIND = PassageIndex(ToyStore(FILMS, NAMES, vectors=False))
EMPTY = PassageIndex(ToyStore([], {}), ToyEmbedder())


def search(question: str, k: int = 5, mode: Mode = "passages", index: PassageIndex = INDEX) -> list[Evidence]:
    return asyncio.run(index.search(question, k, mode))


def titles(question: str, k: int = 5, mode: Mode = "passages", index: PassageIndex = INDEX) -> list[str]:
    return [evidence.title for evidence in search(question, k, mode, index)]


# what is found


def weight_of(graph: PassageGraph, passage: int, name: int) -> float:
    """Of the edge between a passage and a name, 0 where there is none."""
    only = np.zeros(len(graph.names), np.float32)
    only[name] = 1
    return float(graph.passage_names.times(only)[passage])


def test_a_bridge_leads_to_the_passage_that_the_question_does_not_name() -> None:
    question = "In which town did the maker of The Glass Tower die?"
    assert titles(question, 2) == ["The Glass Tower", "Ann Berg"]
    assert "Ann Berg" not in titles(question, 2, "bm25")


def test_the_path_says_which_names_led_there() -> None:
    found = {evidence.title: evidence.why for evidence in search("Where was the director of The Glass Tower born?")}
    assert found["The Glass Tower"] == "names The Glass Tower"
    assert found["Ann Berg"] == "names The Glass Tower → Ann Berg"


def test_each_seed_of_a_comparison_has_its_passage_among_the_first() -> None:
    assert set(titles("Are Malmo and Oslo both on a fjord?", 2)) == {"Malmo", "Oslo"}


def test_a_question_in_lower_case_finds_the_same_names() -> None:
    assert titles("where was tom reed born?", 2) == titles("Where was Tom Reed born?", 2)


def test_second_round_questions_name_the_bridge_and_are_embedded_in_one_call() -> None:
    embedder = ToyEmbedder()
    index = PassageIndex(ToyStore(FILMS, NAMES), embedder)
    search("Where was the director of The Glass Tower born?", index=index)
    assert embedder.calls[0] == ["Where was the director of The Glass Tower born?"]
    assert "Where was the director of Ann Berg born?" in embedder.calls[1]
    assert len(embedder.calls) == 2


def test_dates_are_no_bridges() -> None:
    embedder = ToyEmbedder()
    search("Who directed The Glass Tower?", index=PassageIndex(ToyStore(FILMS, NAMES), embedder))
    assert not any("1931" in asked for asked in embedder.calls[1])


def test_a_question_that_names_nothing_known_is_answered_by_words_and_meaning() -> None:
    assert titles("What is baked from flour and water?", 1) == ["Bread"]


def test_full_text_alone_is_enough_without_an_embedder() -> None:
    for mode in ("auto", "passages", "hybrid", "bm25"):
        assert titles("What is baked from flour?", 1, mode, BLIND) == ["Bread"]
    assert titles("What is baked from flour?", 1, "dense", BLIND) == []


def test_full_text_leads_where_the_embedder_knows_no_chinese() -> None:
    documents = [
        Document("面包是用面粉和水做的。", "a", "面包"),
        Document("奥斯陆是一座城市。", "b", "奥斯陆"),
        Document("A film about bread.", "c", "Film"),
    ]
    index = PassageIndex(ToyStore(documents, {"面包": "", "奥斯陆": "place"}), ToyEmbedder(name="minilm-l6-v2-int8"))
    for mode in ("auto", "passages", "hybrid"):
        assert titles("什么是用面粉做的？", 1, mode, index) == ["面包"]


def test_a_chinese_name_is_a_seed_where_the_embedder_can_read_it() -> None:
    documents = [
        Document("玻璃塔是一部电影。导演是安娜。", "a", "玻璃塔"),
        Document("安娜出生在马尔默。", "b", "安娜"),
        Document("面包是用面粉和水做的。", "c", "面包"),
    ]
    index = PassageIndex(ToyStore(documents, {"玻璃塔": "work", "安娜": "person", "马尔默": "place"}), ToyEmbedder())
    found = search("玻璃塔的导演在哪里出生？", 2, index=index)
    assert {evidence.title for evidence in found} == {"玻璃塔", "安娜"}
    assert found[0].why.startswith("names ")


def test_only_the_documents_asked_for_are_searched() -> None:
    for mode in MODES:
        found = asyncio.run(INDEX.search("Where was Ann Berg born?", 5, mode, documents=["d5", "d8"]))
        assert {evidence.document_id for evidence in found} <= {"d5", "d8"}
        assert asyncio.run(INDEX.search("Where was Ann Berg born?", 5, mode, documents=[])) == []


def test_auto_takes_the_graph_where_documents_are_short_and_fusion_where_they_are_long() -> None:
    assert asyncio.run(INDEX.mode_for("Where was Ann Berg born?")) == "passages"
    book = "\n\n".join(f"Ann Berg went to Paris in chapter {number}." for number in range(20))
    index = PassageIndex(ToyStore([Document(book, "book", "A Life")], NAMES), ToyEmbedder())
    assert asyncio.run(index.mode_for("Where did Ann Berg go?")) == "hybrid"


def test_a_common_phrase_is_not_taken_for_the_title_of_one_book() -> None:
    shelf = [
        Document(f"The double helix is model number {number}.", f"m{number}", f"Model {number}") for number in range(30)
    ]
    memoir = Document("In 1968 he wrote a book, The Double Helix, about friends.", "memoir", "A Memoir")
    index = PassageIndex(ToyStore([*shelf, memoir], {"The Double Helix": "work"}), ToyEmbedder())
    assert index.names_said("what is the double helix?") == []
    assert index.names_said("who wrote The Double Helix?") == ["The Double Helix"]


# laws


@pytest.mark.parametrize("mode", MODES)
def test_evidence_is_a_true_span_each_chunk_once_and_no_more_than_asked_for(mode: Mode) -> None:
    texts = {document.key: document.text for document in FILMS}
    for k in (1, 2, 5, 100):
        found = search("Where was the director of The Glass Tower born, in Malmo or in Oslo?", k, mode)
        assert 0 < len(found) <= k
        assert len({(one.document_id, one.start) for one in found}) == len(found)
        assert all(texts[one.document_id][one.start : one.end] == one.text for one in found)


def test_spans_are_those_of_the_document_when_it_has_several_chunks() -> None:
    text = "Ann Berg lived here.\n\nLater Ann Berg moved to Malmo.\n\nTom Reed stayed in Oslo."
    index = PassageIndex(ToyStore([Document(text, "d", "Lives", "lives.txt")], NAMES), ToyEmbedder())
    for evidence in search("Where did Ann Berg move to?", index=index):
        assert text[evidence.start : evidence.end] == evidence.text
        assert evidence.source == "lives.txt"


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize(
    "question",
    [
        "",
        "  \n ",
        "?",
        "who is the of and",
        'NEAR("a" b) AND title:x* OR -"',
        "' OR 1=1; --",
        "\x00\ud800",
        "Ann Berg " * 2_500,
        "x" * 20_000,
        "[bold]Ann[/bold]",
    ],
    ids=repr,
)
def test_odd_questions_are_no_trouble(question: str, mode: Mode) -> None:
    for index in (INDEX, BLIND, EMPTY):
        assert len(search(question, 3, mode, index)) <= 3


@pytest.mark.parametrize("mode", MODES)
def test_an_empty_index_has_no_evidence(mode: Mode) -> None:
    assert search("Where was Ann Berg born?", 5, mode, EMPTY) == []


@pytest.mark.parametrize("mode", MODES)
def test_the_same_question_has_the_same_evidence_in_another_index_of_the_same_store(mode: Mode) -> None:
    again = PassageIndex(ToyStore(FILMS, NAMES), ToyEmbedder())
    question = "Who directed The Iron Bridge?"
    assert search(question, 5, mode) == search(question, 5, mode, again)


def test_questions_may_be_asked_from_several_threads_at_once() -> None:
    questions = [f"Where was {name} born or made?" for name in NAMES] * 5
    one_by_one = [search(question) for question in questions]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(search, questions)) == one_by_one


def test_a_wrong_mode_or_k_is_an_error_that_says_what_would_do() -> None:
    with pytest.raises(InputError, match="use auto, passages, hybrid, dense or bm25"):
        search("x", mode="global")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="at least 1"):
        search("x", k=0)


@given(st.lists(st.sampled_from([*NAMES, "who", "born", "director", "the", "of", ",", "?"]), max_size=8).map(" ".join))
def test_any_question_gets_distinct_evidence_in_every_mode(question: str) -> None:
    for mode in MODES:
        found = search(question, 4, mode)
        assert len({(one.document_id, one.start) for one in found}) == len(found) <= 4
        assert all(np.isfinite(one.score) for one in found)


# the graph


def test_a_title_that_is_only_the_file_s_name_is_not_what_a_passage_is_about() -> None:
    documents = [Document("Ann Berg met Tom Reed.", "d", "notes-7", "x/notes-7.txt")]
    passages = ToyStore(documents, NAMES).passages()
    graph = build_graph(passages, {"d": "x/notes-7.txt"})
    assert graph.names[graph.own[0]] == "Ann Berg"
    graph = build_graph(replace(passages, headings=["The Meeting"]), {"d": "x/notes-7.txt"})
    assert graph.names[graph.own[0]] == "The Meeting"
    graph = build_graph(passages, {"d": "x/other.txt"})
    assert graph.names[graph.own[0]] == "notes-7"


def test_what_a_passage_is_about_weighs_most_unless_the_document_is_long() -> None:
    long = Document("\n\n".join(f"Chapter {number} is on Oslo." for number in range(9)), "long", "Ann Berg")
    graph = build_graph(ToyStore([*FILMS, long], NAMES).passages(), {})
    name = graph.keys["ann berg"]
    column = np.array([weight_of(graph, passage, name) for passage in range(len(graph.own))])
    assert column[1] == max(column)
    assert max(column[len(FILMS) :]) < column[1] / 5


def test_entities_of_one_name_are_one_whatever_their_types() -> None:
    passages = ToyStore(FILMS, NAMES).passages()
    twice = replace(
        passages,
        entity_ids=[*passages.entity_ids, "other"],
        entity_names=[*passages.entity_names, "PARIS"],
        entity_aliases=[*passages.entity_aliases, ("The City of Light",)],
        entity_types=[*passages.entity_types, "person"],
    )
    graph = build_graph(twice)
    assert graph.keys["paris"] == graph.keys["city of light"]


def test_a_mention_without_a_place_counts_for_its_passage_only() -> None:
    passages = ToyStore(FILMS, NAMES).passages()
    graph = build_graph(replace(passages, mention_starts=np.full_like(passages.mention_starts, -1)))
    name = graph.keys["malmo"]
    assert weight_of(graph, 1, name) > 0
    assert set(graph.name_sentences.row(name).tolist()) == set(np.flatnonzero(passages.sentence_chunks == 2))


def test_a_name_in_most_passages_of_a_large_index_is_dropped() -> None:
    shelf = [Document(f"Ann Berg wrote volume {number}.", f"v{number}", f"Volume {number}") for number in range(40)]
    graph = build_graph(ToyStore(shelf, NAMES).passages())
    assert graph.keys["ann berg"] == -1
    assert "Ann Berg" not in graph.names


def test_page_rank_hands_out_what_the_reset_gave() -> None:
    graph = INDEX.graph
    prior, mass = np.full(len(FILMS), 0.01, np.float32), np.zeros(len(graph.names), np.float32)
    mass[graph.keys["oslo"]] = 1
    scores = page_rank(graph, prior, mass, PassageParameters())
    assert scores.argmax() == 7
    assert 0 < scores.sum() < 1


@pytest.mark.parametrize(
    "name", ["1953", "25 april 1953", "the 1920s", "monday", "1950年", "1953年4月25日", "二十世纪"]
)
def test_dates_are_told_from_names(name: str) -> None:
    assert is_date(name)


@pytest.mark.parametrize("name", ["april hunter", "photo 51", "may", "年", ""])
def test_names_are_told_from_dates(name: str) -> None:
    assert is_date(name) == (name == "may")


def test_full_text_is_asked_for_few_distinct_words_that_say_something() -> None:
    assert query_terms("Who is the the mayor of Malmo, the mayor?") == ["mayor", "malmo"]
    assert len(query_terms(" ".join(f"word{number}" for number in range(500)))) <= 100
