from __future__ import annotations

import logging
import subprocess
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.search.test_context import HUNT, KINDS, SQUARE, TALE, Recorded, TwoNumbers, hit, made, report
from tests.search.toy import ToyEmbedder

from knotwork import Node, NodeType, Relationship
from knotwork.errors import InputError
from knotwork.prompts import Prompt
from knotwork.search import LOCAL_SEARCH_PROMPT, PromptBuilder, entity_vectors
from knotwork.text import count_tokens

SOURCES = [{"chunk_id": f"c{number}", "chunk": f"Text {number}."} for number in range(1, 6)]
HEADERS = ["SPECIFIC SOURCES", "GLOBAL SOURCES", "ENTITIES", "RELATIONSHIPS"]
CONTEXT = "{context_data}\n{query}"


def builder(graph: Any, *hits: Any, sources: Any = None, reports: Any = None) -> PromptBuilder:
    return PromptBuilder(TwoNumbers(), Recorded(*hits), graph, sources, reports)


def headers(prompt: str) -> list[str]:
    return [line.strip("-") for line in prompt.splitlines() if line.startswith("-") and line.endswith("-")]


@pytest.mark.parametrize("kind", KINDS)
def test_the_four_sections_stand_in_order_each_header_alone_between_dashes(kind: str) -> None:
    graph = made(
        kind,
        {
            "Ahab": {"type": "person", "description": "a captain", "source_id": "c2\nc1", "cluster": "0,1"},
            "Whale": {"type": "animal", "description": "a whale", "source_id": "c2", "cluster": "0"},
        },
        [
            ("Ahab", "Whale", {"description": "hunts it", "weight": 2, "source_id": "c3"}),
            ("Whale", "Sea", {"description": "lives there", "weight": 1}),
        ],
    )
    reports = report(("0", {"title": "The hunt", "summary": "It ends badly."}), ("0,1", "The crew."))
    found = builder(graph, hit("node", "Ahab"), hit("node", "Whale"), sources=SOURCES, reports=reports)
    assert found.build_prompt("Who hunts?", CONTEXT) == (
        "-----SPECIFIC SOURCES-----\n"
        "SOURCE 1:\nText 2.\n"
        "SOURCE 2:\nText 1.\n"
        "SOURCE 3:\nText 3.\n"
        "\n"
        "-----GLOBAL SOURCES-----\n"
        "GLOBAL 1: The hunt\nIt ends badly.\n"
        "GLOBAL 2: 0,1\nThe crew.\n"
        "\n"
        "-----ENTITIES-----\n"
        "Ahab (person): a captain\n"
        "Whale (animal): a whale\n"
        "\n"
        "-----RELATIONSHIPS-----\n"
        "Ahab <-> Whale: hunts it\n"
        "Whale <-> Sea: lives there\n"
        "Who hunts?"
    )


@pytest.mark.parametrize("kind", KINDS)
def test_edges_found_come_first_then_those_inside_then_those_outside(kind: str) -> None:
    graph = made(kind, {}, SQUARE)
    prompt = builder(graph, hit("node", "A"), hit("node", "B"), hit("edge", ("C", "B"))).build_prompt("?", CONTEXT)
    lines = prompt.partition("RELATIONSHIPS-----\n")[2].splitlines()[:-1]
    assert [frozenset(line.partition(":")[0].split(" <-> ")) for line in lines] == [
        {"C", "B"},
        {"A", "B"},
        {"A", "C"},
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_no_hit_leaves_the_context_empty_and_one_is_enough(kind: str) -> None:
    graph = made(kind, TALE, HUNT)
    assert builder(graph).build_prompt("who?", CONTEXT) == "\nwho?"
    assert "who?" in builder(graph).build_prompt("who?")
    assert headers(builder(graph, hit("node", "Ahab")).build_prompt("who?", CONTEXT)) == ["ENTITIES", "RELATIONSHIPS"]
    assert headers(builder(graph, hit("edge", ("Ahab", "Whale"))).build_prompt("who?", CONTEXT)) == ["RELATIONSHIPS"]


def test_a_top_k_of_nought_leaves_its_section_out() -> None:
    graph = made("ours", {"A": {"source_id": "c1", "cluster": "0"}, "B": {}}, SQUARE)
    found = builder(graph, hit("node", "A"), hit("node", "B"), sources=SOURCES, reports=report(("0", "text")))
    assert headers(found.build_prompt("?")) == HEADERS
    assert headers(found.build_prompt("?", top_k_source_documents=0)) == HEADERS[1:]
    assert headers(found.build_prompt("?", top_k_cluster_descriptions=0)) == [HEADERS[0], *HEADERS[2:]]
    assert headers(found.build_prompt("?", top_k_inside_edges=0, top_k_outside_edges=0)) == HEADERS[:3]
    assert headers(found.build_prompt("?", top_k_similar_entities=0)) == []


@pytest.mark.parametrize(
    "name",
    [
        "top_k_similar_entities",
        "top_k_inside_edges",
        "top_k_outside_edges",
        "top_k_cluster_descriptions",
        "top_k_source_documents",
        "max_context_tokens",
    ],
)
@pytest.mark.parametrize("value", [-1, 1.5, "3", True])
def test_numbers_that_are_none_are_refused(name: str, value: Any) -> None:
    with pytest.raises(InputError, match="whole number from 0 on"):
        builder(made("ours", TALE, HUNT), hit("node", "Ahab")).build_prompt("?", **{name: value})


@pytest.mark.parametrize("kind", KINDS)
def test_missing_attributes_are_left_blank(kind: str) -> None:
    graph = made(kind, {"A": {}, "B": {"type": None, "description": float("nan")}}, [("A", "B", {})])
    prompt = builder(graph, hit("node", "A"), hit("node", "B"), sources=SOURCES).build_prompt("?", CONTEXT)
    assert prompt == "-----ENTITIES-----\nA (): \nB (): \n\n-----RELATIONSHIPS-----\nA <-> B: \n?"


@pytest.mark.parametrize("kind", KINDS)
def test_hits_that_are_no_longer_in_the_graph_are_left_out_with_one_warning(
    kind: str, caplog: pytest.LogCaptureFixture
) -> None:
    found = builder(made(kind, TALE, HUNT), hit("node", "Ishmael"), hit("edge", ("Ahab", "Sea")), hit("node", "Ahab"))
    with caplog.at_level(logging.WARNING):
        prompt = found.build_prompt("?", CONTEXT)
    assert len(caplog.records) == 1
    assert "Ishmael" in caplog.records[0].getMessage()
    assert "Ahab (person): captain of a ship" in prompt


PARALLEL: list[tuple[str, str, dict[str, Any]]] = [
    ("Ahab", "Whale", {"weight": 1, "description": "fears it"}),
    ("Whale", "Ahab", {"weight": 3, "description": "bit him"}),
    ("Ahab", "Whale", {"weight": 2, "description": "hunts it"}),
    ("Ahab", "Whale", {"weight": 0.5, "relation": "sees", "description": "fears it"}),
]


def test_several_relationships_of_a_pair_all_survive_the_heaviest_first() -> None:
    prompt = builder(made("ours", TALE, PARALLEL), hit("node", "Ahab")).build_prompt("?", CONTEXT)
    assert "Whale <-> Ahab: bit him\nhunts it\nfears it\n?" in prompt


@pytest.mark.parametrize("kind", ["MultiGraph", "MultiDiGraph"])
def test_so_do_parallel_edges_of_networkx(kind: str) -> None:
    graph = getattr(pytest.importorskip("networkx"), kind)(PARALLEL)
    prompt = builder(graph, hit("node", "Ahab")).build_prompt("?", CONTEXT)
    assert ": bit him\nhunts it\nfears it\n?" in prompt


# -- the template ---------------------------------------------------------------------------------


def test_braces_that_are_no_placeholder_are_literal() -> None:
    found = builder(made("ours", TALE, HUNT))
    template = 'As JSON {"answer": {}, "a": {0}, {other}}} {{query}}: {query}, %s'
    assert found.build_prompt("who?", template) == 'As JSON {"answer": {}, "a": {0}, {other}}} {who?}: who?, %s'


def test_what_is_filled_in_is_never_taken_for_a_placeholder() -> None:
    graph = made("ours", {"{query}": {"description": "{context_data} \\1 \\g<0> {query}", "source_id": "c1"}})
    sources = [{"chunk_id": "c1", "chunk": "{query}"}]
    prompt = builder(graph, hit("node", "{query}"), sources=sources).build_prompt("{context_data}?", CONTEXT)
    assert prompt == (
        "-----SPECIFIC SOURCES-----\nSOURCE 1:\n{query}\n\n"
        "-----ENTITIES-----\n{query} (): {context_data} \\1 \\g<0> {query}\n"
        "{context_data}?"
    )


@given(st.text(), st.text(), st.text())
def test_texts_pass_through_unchanged(name: str, text: str, query: str) -> None:
    kg = made("ours", {name: {"description": text, "type": text, "source_id": "c1"}}) if name else None
    if kg is None:
        return
    sources = [{"chunk_id": "c1", "chunk": text}]
    prompt = builder(kg, hit("node", name), sources=sources).build_prompt(query, CONTEXT)
    assert prompt.endswith(f"SOURCE 1:\n{text}\n\n-----ENTITIES-----\n{name} ({text}): {text}\n{query}")


@pytest.mark.parametrize("template", ["no placeholder", "{context_data}", "{ query }", "{query"])
def test_a_template_without_the_query_is_refused(template: str) -> None:
    with pytest.raises(InputError, match=r"\{query\}"):
        builder(made("ours", TALE, HUNT)).build_prompt("who?", template)


@pytest.mark.parametrize("template", [None, 5, ""])
def test_what_is_no_template_is_refused(template: Any) -> None:
    with pytest.raises(InputError, match="prompt"):
        builder(made("ours", TALE, HUNT)).build_prompt("who?", template)


def test_a_prompt_object_serves_too() -> None:
    prompt = Prompt("{query}|{context_data}", examples=[("in", "out")])
    assert builder(made("ours", TALE, HUNT)).build_prompt("who?", prompt).endswith("Input: in\nOutput: out\n\nwho?|")


def test_the_standard_prompt_has_both_placeholders_and_names_the_labels_that_sources_bear() -> None:
    assert Prompt(LOCAL_SEARCH_PROMPT).placeholders == {"context_data", "query"}
    assert "SOURCE 2" in LOCAL_SEARCH_PROMPT
    assert "GLOBAL 1" in LOCAL_SEARCH_PROMPT


# -- what may change, and what may not ------------------------------------------------------------


def test_a_networkx_graph_that_changes_is_seen_as_it_is_now() -> None:
    graph = made("networkx", TALE, HUNT)
    found = builder(graph, hit("node", "Ahab"))
    assert "hunts" in found.build_prompt("?", CONTEXT)
    graph.add_edge("Ahab", "Sea", description="sails", weight=9)
    graph.nodes["Ahab"]["description"] = "drowned"
    prompt = found.build_prompt("?", CONTEXT, top_k_outside_edges=1)
    assert prompt == "-----ENTITIES-----\nAhab (person): drowned\n\n-----RELATIONSHIPS-----\nAhab <-> Sea: sails\n?"
    graph.remove_node("Ahab")
    assert found.build_prompt("?", CONTEXT) == "\n?"


def test_a_knowledge_graph_that_changes_is_seen_as_it_is_now() -> None:
    kg = made("ours", TALE, HUNT)
    found = builder(kg, hit("node", "Ahab"))
    assert "hunts" in found.build_prompt("?", CONTEXT)
    ahab = kg.get_node_by_id("entity Ahab")
    home = Node("home", {"path": "0", "title": "Crew", "summary": "All drown."}, NodeType.COMMUNITY)
    sea = Node("sea", {"name": "Sea"}, NodeType.ENTITY)
    kg.add_all([home, sea, Relationship("member", ahab, home)])
    kg.add(Relationship("relates", ahab, sea, properties={"weight": 9, "description": "sails"}))
    ahab.properties["description"] = "drowned"
    assert found.build_prompt("?", CONTEXT, top_k_outside_edges=1) == (
        "-----GLOBAL SOURCES-----\nGLOBAL 1: Crew\nAll drown.\n\n"
        "-----ENTITIES-----\nAhab (person): drowned\n\n"
        "-----RELATIONSHIPS-----\nAhab <-> Sea: sails\n?"
    )
    ahab.properties["name"] = "Captain"
    assert found.build_prompt("?", CONTEXT) == "\n?"
    kg.remove_node(ahab)
    assert found.build_prompt("?", CONTEXT) == "\n?"


class Counted(dict[str, Any]):
    """A row that counts how often it is read."""

    reads = 0

    def __getitem__(self, key: str) -> Any:
        Counted.reads += 1
        return super().__getitem__(key)


def test_a_table_is_read_once_not_once_a_question() -> None:
    Counted.reads = 0
    sources = [Counted(row) for row in SOURCES]
    graph = made("ours", {"A": {"source_id": "c1"}})
    found = builder(graph, hit("node", "A"), sources=sources)
    first = found.build_prompt("?")
    reads = Counted.reads
    assert reads <= 2 * len(SOURCES)
    assert found.build_prompt("?") == first
    assert Counted.reads == reads


def test_other_columns_and_another_delimiter_may_be_named() -> None:
    graph = made("networkx", {"A": {"source_id": "x;y"}})
    sources = [{"key": "x", "words": "X."}, {"key": "y", "words": "Y."}]
    prompt = builder(graph, hit("node", "A"), sources=sources).build_prompt(
        "?",
        CONTEXT,
        source_documents_id_key="key",
        source_documents_source_key="words",
        source_documents_feature_delimiter=";",
    )
    assert "SOURCE 1:\nX.\nSOURCE 2:\nY.\n" in prompt


def test_a_column_that_is_not_there_is_named() -> None:
    graph = made("ours", {"A": {"source_id": "c1"}})
    with pytest.raises(InputError, match=r"source_documents.*'chunk_id'.*'id'"):
        builder(graph, hit("node", "A"), sources=[{"id": "c1"}]).build_prompt("?")
    with pytest.raises(InputError, match=r"cluster_report.*'description'.*'cluster'"):
        builder(graph, reports=[{"cluster": "0"}])


@pytest.mark.parametrize("graph", [None, "graph", {"A": {}}])
def test_what_is_no_graph_is_refused_at_once(graph: Any) -> None:
    with pytest.raises(InputError, match="networkx graph or a KnowledgeGraph"):
        builder(graph)


# -- the budget -----------------------------------------------------------------------------------

LONG = "The whale was white and very old, and nobody had ever come back from where it dived. "


def long_context(sources: int = 3, words: int = 6) -> PromptBuilder:
    """Sections of all kinds: each source has `words` long sentences, the others some each."""
    nodes = {
        f"node {at}": {"description": LONG, "type": "thing", "source_id": f"c{at}", "cluster": f"{at}"}
        for at in range(5)
    }
    edges = [(f"node {at}", f"node {at + 1}", {"weight": at, "description": LONG}) for at in range(4)]
    table = [{"chunk_id": f"c{at}", "chunk": LONG * words} for at in range(sources)]
    reports = report(*((str(at), {"title": f"Report {at}", "summary": LONG * 3}) for at in range(5)))
    graph = made("ours", nodes, edges)
    return builder(graph, *(hit("node", name) for name in nodes), sources=table, reports=reports)


def context_of(found: PromptBuilder, budget: int | None) -> str:
    return found.build_prompt("", CONTEXT, max_context_tokens=budget)[:-1]


def tokens(text: str) -> int:
    return count_tokens([text])[0]


@pytest.mark.parametrize("budget", [*range(0, 40), 50, 75, 100, 150, 200, 333, 500, 700, 900, 1200])
def test_the_context_never_exceeds_the_budget(budget: int) -> None:
    assert tokens(context_of(long_context(), budget)) <= budget


PIECES = st.sampled_from([*"。中🧠\n-é\u3000", "word ", "Wort", "  ", "<|endoftext|>", "1234567890"])


@given(st.lists(st.lists(PIECES, max_size=30).map("".join), min_size=1, max_size=6), st.integers(0, 150))
def test_whatever_the_text_the_budget_holds(texts: list[str], budget: int) -> None:
    nodes = {f"n{at}": {"description": text, "source_id": f"c{at}"} for at, text in enumerate(texts)}
    table = [{"chunk_id": f"c{at}", "chunk": text} for at, text in enumerate(texts)]
    found = builder(made("ours", nodes), *(hit("node", name) for name in nodes), sources=table)
    assert tokens(context_of(found, budget)) <= budget


def test_a_budget_that_is_just_enough_changes_nothing() -> None:
    found = long_context()
    whole = context_of(found, None)
    assert context_of(found, tokens(whole)) == whole
    assert context_of(found, tokens(whole) - 1) != whole


def test_whole_items_go_from_the_end_of_a_section() -> None:
    found = long_context(words=2)
    whole, less = context_of(found, None), context_of(found, 500)
    assert headers(less) == headers(whole) == HEADERS
    for part, cut in zip(whole.split("\n\n"), less.split("\n\n"), strict=True):
        assert part.startswith(cut)
        assert part == cut or part[len(cut)] == "\n"
    assert tokens(less) > 400


def test_each_section_has_its_share_and_takes_what_the_others_leave() -> None:
    full = dict(zip(HEADERS, map(tokens, context_of(long_context(), 600).split("\n\n")), strict=True))
    assert all(full[header] > 0.5 * share * 600 for header, share in zip(HEADERS, (0.5, 0.2, 0.15, 0.15), strict=True))
    without_sources = long_context(sources=0)
    assert tokens(context_of(without_sources, None)) > 350
    alone = context_of(without_sources, 350)
    assert headers(alone) == HEADERS[1:]
    assert tokens(alone) > 280


def test_a_single_item_too_long_for_its_section_is_cut_and_marked() -> None:
    found = long_context(sources=1, words=50)
    text = context_of(found, 300)
    source = text.partition("SOURCE 1:\n")[2].partition("\n\n---")[0]
    assert source.endswith("…")
    assert (LONG * 50).startswith(source[:-1])
    assert 100 < tokens(source) < 200


def test_a_long_item_has_the_room_that_the_others_do_not_need() -> None:
    kg = made("ours", {"A": {"description": "short", "cluster": "0"}})
    found = builder(kg, hit("node", "A"), reports=report(("0", LONG * 10)))
    cut = context_of(found, 150)
    assert 130 < tokens(cut) <= 150
    assert "A (): short" in cut


def test_what_is_spare_serves_first_a_section_that_has_nothing_yet() -> None:
    kg = made("ours", {"A": {"source_id": "c1\nc2\nc3", "cluster": "0"}})
    sources = [{"chunk_id": f"c{at}", "chunk": LONG * 3} for at in (1, 2, 3)]
    found = builder(kg, hit("node", "A"), sources=sources, reports=report(("0", LONG * 5)))
    text = context_of(found, 240)
    assert "…" not in text
    assert headers(text) == HEADERS[:3]
    assert "SOURCE 3" not in text


def test_the_budget_holds_where_texts_cost_more_together_than_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    from knotwork.search import prompt_builder

    costs = prompt_builder._costs
    monkeypatch.setattr(prompt_builder, "_costs", lambda section: [cost // 2 for cost in costs(section)])
    text = context_of(long_context(), 600)
    assert 400 < tokens(text) <= 600


# -- models and databases -------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
def test_one_of_our_embedders_and_vectors_of_the_graph_make_a_builder(kind: str) -> None:
    graph = made(kind, TALE, HUNT)
    found = PromptBuilder(ToyEmbedder(), entity_vectors(graph, ToyEmbedder()), graph)
    prompt = found.build_prompt("Who is captain of a ship?", CONTEXT, score_threshold=0.3)
    assert "Ahab (person): captain of a ship" in prompt
    assert "Whale (animal)" not in prompt


def test_the_threshold_and_the_number_of_hits_reach_the_database() -> None:
    model, db = TwoNumbers(), Recorded()
    PromptBuilder(model, db, made("ours", TALE, HUNT)).build_prompt("?", score_threshold=0.4, top_k_similar_entities=7)
    assert model.asked == [("?", "embed_query")]
    assert db.asked == [((1, 2), 7, 0.4, {"feature": ["description"], "entity_type": ["node", "edge"]})]


def test_data_frames_serve_as_tables() -> None:
    pandas = pytest.importorskip("pandas")
    graph = made("networkx", {"A": {"source_id": "c1", "cluster": "0"}})
    sources = pandas.DataFrame(SOURCES)
    reports = pandas.DataFrame({"cluster": ["0"], "node_name": ["A"], "description": [{"title": "t", "summary": "s"}]})
    prompt = builder(graph, hit("node", "A"), sources=sources, reports=reports).build_prompt("?", CONTEXT)
    assert "SOURCE 1:\nText 1.\n" in prompt
    assert "GLOBAL 1: t\ns\n" in prompt


def test_a_query_vector_that_does_not_fit_says_so() -> None:
    graph = made("ours", TALE, HUNT)
    with pytest.raises(InputError, match="2 numbers, those in the database 128"):
        PromptBuilder(TwoNumbers(), entity_vectors(graph, ToyEmbedder()), graph).build_prompt("?")


def test_importing_search_loads_neither_networkx_nor_pandas() -> None:
    code = (
        "import sys, knotwork.search\n"
        "light = set(sys.modules)\n"
        "from knotwork.search import *\n"
        "print('numpy' in light, 'networkx' in sys.modules, 'pandas' in sys.modules)"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ran.stdout.split() == ["False", "False", "False"]


def test_the_public_names_of_search_are_exactly_these() -> None:
    from knotwork import search

    assert set(search.__all__) == {
        "LOCAL_SEARCH_PROMPT",
        "EmbedderAdapter",
        "InMemoryVectorDatabase",
        "PromptBuilder",
        "cluster_summaries",
        "entity_vectors",
        "extra_inside_edges",
        "extra_outside_edges",
        "semantic_similar_entities",
        "source_texts",
    }
    assert all(getattr(search, name) is not None for name in search.__all__)
    assert set(search.__all__) <= set(dir(search))
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = search.no_such_name
