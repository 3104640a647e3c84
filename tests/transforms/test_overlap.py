from __future__ import annotations

import asyncio
import itertools
import math
import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rapidfuzz.distance import Hamming, Jaro, JaroWinkler, Levenshtein

from knotwork import KnowledgeGraph, Node, Parallel, Relationship, apply_transforms
from knotwork.errors import InputError, TransformError
from knotwork.transforms import NERExtractor
from knotwork.transforms.relationships import pairs, spelling
from knotwork.transforms.relationships.overlap import DistanceMeasure, JaccardSimilarityBuilder, OverlapScoreBuilder
from knotwork.transforms.relationships.spelling import spelled_alike

Builder = JaccardSimilarityBuilder | OverlapScoreBuilder
BUILDERS = [JaccardSimilarityBuilder, OverlapScoreBuilder]
SIMILARITY = {
    DistanceMeasure.LEVENSHTEIN: Levenshtein.normalized_similarity,
    DistanceMeasure.HAMMING: Hamming.normalized_similarity,
    DistanceMeasure.JARO: Jaro.normalized_similarity,
    DistanceMeasure.JARO_WINKLER: JaroWinkler.normalized_similarity,
}


def graph(lists: Sequence[Any]) -> KnowledgeGraph:
    return KnowledgeGraph([Node(at, {"entities": items}) for at, items in enumerate(lists)])


def made(builder: Builder, lists: Sequence[Any]) -> list[Relationship]:
    return asyncio.run(builder.transform(graph(lists)))


def scores(builder: Builder, lists: Sequence[Any]) -> dict[tuple[Any, Any], float]:
    """The score of each pair, in the order of the relationships."""
    key = "entities_overlap_score" if isinstance(builder, OverlapScoreBuilder) else "jaccard_similarity"
    return {(link.source.id, link.target.id): link.get_property(key) for link in made(builder, lists)}


@pytest.fixture
def in_small_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is done in pieces is done in very small ones."""
    monkeypatch.setattr(pairs, "AT_ONCE", 5)
    monkeypatch.setattr(spelling, "BLOCK", 5)


# -- Jaccard --------------------------------------------------------------------------------------


def jaccard(lists: Sequence[Sequence[str]], threshold: float) -> dict[tuple[int, int], float]:
    """By comparing all pairs."""
    found = {}
    for (i, one), (j, other) in itertools.combinations(enumerate(map(set, lists)), 2):
        score = len(one & other) / max(len(one | other), 1)
        if score >= threshold and score:
            found[i, j] = score
    return found


ITEMS = st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=8), max_size=15)
SHARES = st.sampled_from([0, 0.1, 0.2, 1 / 3, 0.5, 0.6, 2 / 3, 0.75, 0.9, 1])


@given(ITEMS, SHARES)
def test_the_share_of_common_items_links_the_pairs_that_comparing_all_finds(
    lists: list[list[str]], threshold: float
) -> None:
    found = scores(JaccardSimilarityBuilder(threshold=threshold), lists)
    assert list(found.items()) == list(jaccard(lists, threshold).items())


@pytest.mark.usefixtures("in_small_pieces")
@pytest.mark.parametrize("threshold", [0, 0.3, 0.5, 0.8])
def test_many_nodes_with_common_and_rare_items_are_linked_as_comparing_all_does(threshold: float) -> None:
    rnd = random.Random(1)
    lists = [[str(int(rnd.paretovariate(0.7))) for _ in range(rnd.randint(0, 12))] for _ in range(150)]
    lists += lists[:20]
    assert scores(JaccardSimilarityBuilder(threshold=threshold), lists) == jaccard(lists, threshold)


def test_jaccard_edges_go_both_ways_and_compare_items_as_written() -> None:
    links = made(JaccardSimilarityBuilder(), [["A", "b", "b"], ["b", "A"], ["a", "b"]])
    assert [(link.type, link.source.id, link.target.id, link.bidirectional) for link in links] == [
        ("jaccard_similarity", 0, 1, True)
    ]
    assert dict(links[0].properties) == {"jaccard_similarity": 1.0}


# -- overlap --------------------------------------------------------------------------------------


def overlap(
    lists: Sequence[Sequence[str]], measure: DistanceMeasure, distance_threshold: float, threshold: float
) -> list[tuple[int, int, float, list[tuple[str, str]]]]:
    """By comparing all items of all pairs."""
    counts = Counter(itertools.chain.from_iterable(lists))
    noisy = {item for item, _ in counts.most_common(math.floor(len(counts) * 0.05))}
    found = []
    for (i, one), (j, other) in itertools.combinations(enumerate(lists), 2):
        cross = [(x, y) for x in one for y in other if x not in noisy and y not in noisy]
        alike = [(x, y) for x, y in cross if SIMILARITY[measure](x.lower(), y.lower()) >= distance_threshold]
        if alike and len(alike) / len(cross) >= threshold:
            found.append((i, j, len(alike) / len(cross), alike))
    return found


def told(links: Sequence[Relationship]) -> list[tuple[Any, Any, float, list[tuple[str, str]]]]:
    return [
        (
            link.source.id,
            link.target.id,
            link.get_property("entities_overlap_score"),
            link.get_property("overlapped_items"),
        )
        for link in links
    ]


WORD = st.text("abcAB ", max_size=7) | st.sampled_from(
    ["", "Straße", "STRASSE", "İstanbul", "爱因斯坦", "爱因斯", "ab\0"]
)


@given(
    st.lists(st.lists(WORD, max_size=6), max_size=8),
    st.sampled_from(DistanceMeasure),
    st.sampled_from([0, 0.3, 0.5, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95, 1]),
    st.sampled_from([0, 0.01, 0.1, 0.25, 0.5, 1]),
)
def test_the_share_of_alike_items_links_the_pairs_that_comparing_all_finds(
    lists: list[list[str]], measure: DistanceMeasure, distance_threshold: float, threshold: float
) -> None:
    builder = OverlapScoreBuilder(distance_measure=measure, distance_threshold=distance_threshold, threshold=threshold)
    assert told(made(builder, lists)) == overlap(lists, measure, distance_threshold, threshold)


def names(count: int) -> list[str]:
    """Some alike by a letter more, less or changed, or by letters that changed places."""
    rnd = random.Random(4)
    words: list[str] = []
    while len(words) < count:
        if words and rnd.random() < 0.6:
            letters = [*rnd.choice(words)]
            for _ in range(rnd.randint(1, 3)):
                at = rnd.randrange(len(letters) + 1)
                letters[at : at + rnd.randint(0, 1)] = rnd.choice(["", rnd.choice("aeinst "), "ß", "京"])
                if len(letters) > 2:
                    x, y = rnd.randrange(len(letters)), rnd.randrange(len(letters))
                    letters[x], letters[y] = letters[y], letters[x]
            words.append("".join(letters))
        else:
            words.append("".join(rnd.choice("abdeilmnorst ") for _ in range(int(rnd.paretovariate(0.9)) % 40)))
    return list(dict.fromkeys(words))


@pytest.mark.parametrize("small", [False, True])
@pytest.mark.parametrize("threshold", [0.6, 0.8, 0.85, 0.9, 0.93, 1])
@pytest.mark.parametrize("measure", DistanceMeasure)
def test_no_pair_of_texts_spelled_alike_is_lost(
    measure: DistanceMeasure, threshold: float, small: bool, request: pytest.FixtureRequest
) -> None:
    if small:
        request.getfixturevalue("in_small_pieces")
    texts = names(60 if small else 400)
    found = [
        tuple(sorted((i, j)))
        for one, other in spelled_alike(texts, measure, threshold)
        for i, j in zip(one.tolist(), other.tolist(), strict=True)
    ]
    expected = {
        (i, j)
        for (i, x), (j, y) in itertools.combinations(enumerate(texts), 2)
        if SIMILARITY[measure](x, y) >= threshold
    }
    assert len(found) == len(set(found))
    assert set(found) == expected
    assert expected or small or threshold > 0.9


@pytest.mark.usefixtures("in_small_pieces")
def test_many_nodes_in_small_pieces_are_linked_as_comparing_all_does() -> None:
    rnd, words = random.Random(5), names(60)
    lists = [[rnd.choice(words) for _ in range(rnd.randint(0, 5))] for _ in range(40)]
    links = made(OverlapScoreBuilder(), lists)
    assert told(links) == overlap(lists, DistanceMeasure.JARO_WINKLER, 0.9, 0.01)
    assert len(links) > 20


def test_the_worked_example() -> None:
    (link,) = made(OverlapScoreBuilder(), [["Einstein", "Bohr"], ["Einstein", "Curie"]])
    assert (link.type, link.bidirectional) == ("entities_overlap", True)
    assert dict(link.properties) == {
        "entities_overlap_score": 0.25,
        "overlapped_items": [("Einstein", "Einstein")],
    }


def test_the_names_of_type_and_properties_come_from_the_arguments() -> None:
    kg = KnowledgeGraph([Node(at, {"Themes": ["war", "peace"]}) for at in range(2)])
    (link,) = asyncio.run(OverlapScoreBuilder(property_name="Themes", new_property_name="Score").transform(kg))
    assert link.type == "Themes_overlap"
    assert link.get_property("Themes_Score") == 0.5
    (link,) = asyncio.run(JaccardSimilarityBuilder(property_name="themes", new_property_name="Like").transform(kg))
    assert (link.type, link.get_property("like")) == ("Like", 1.0)


def test_alike_items_are_told_in_the_order_and_spelling_of_both_lists() -> None:
    (link,) = made(OverlapScoreBuilder(), [["Bohr", "Niels BOHR", "Bohr"], ["niels bohr", "bohr"]])
    assert link.get_property("overlapped_items") == [("Bohr", "bohr"), ("Niels BOHR", "niels bohr"), ("Bohr", "bohr")]
    assert link.get_property("entities_overlap_score") == 0.5


def test_the_most_common_twentieth_is_noise_on_both_sides_and_of_equals_the_first_to_appear() -> None:
    others = [f"{letter}{letter}{letter}" for letter in "abcdefghijklmnopqr"]
    for rest, noisy in ((others[:17], None), (others, "rome")):
        lists = [["oslo", "rome"], ["rome", "oslo"], ["rome"], rest]
        found = made(OverlapScoreBuilder(), lists)
        assert {item for link in found for pair in link.get_property("overlapped_items") for item in pair} == (
            {"oslo", "rome"} - {noisy}
        )
    lists = [["oslo", "rome"], ["rome", "oslo"], others]
    assert [link.get_property("overlapped_items") for link in made(OverlapScoreBuilder(), lists)] == [
        [("rome", "rome")]
    ]


def test_an_item_is_noise_by_the_nodes_that_the_filter_keeps() -> None:
    others = [f"{letter}{letter}{letter}" for letter in "abcdefghijklmnopqrs"]
    kg = graph([["rome"], ["rome", "oslo"], others, ["oslo", "oslo", "oslo"]])
    assert made(OverlapScoreBuilder(), [node.get_property("entities") for node in kg.nodes])[0].source.id == 0
    builder = OverlapScoreBuilder(filter_nodes=lambda node: node.id != 3)
    assert asyncio.run(builder.transform(kg)) == []


def test_hamming_and_levenshtein_are_shares_of_the_length() -> None:
    lists = [["abcdefghij"], ["abcdefghiX"]]
    for measure in ("levenshtein", "hamming"):
        builder = OverlapScoreBuilder(distance_measure=DistanceMeasure(measure), distance_threshold=0.9)
        assert scores(builder, lists) == {(0, 1): 1.0}
        builder = OverlapScoreBuilder(distance_measure=DistanceMeasure(measure), distance_threshold=0.91)
        assert scores(builder, lists) == {}


# -- both -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("builder", BUILDERS)
def test_nothing_in_common_is_never_linked(builder: type[Builder]) -> None:
    assert scores(builder(threshold=0), [["a"], ["b"], [], []]) == {}


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("count", [0, 1])
def test_none_or_one_node_gives_nothing(builder: type[Builder], count: int) -> None:
    assert made(builder(threshold=0), [["a"]] * count) == []


@pytest.mark.parametrize("builder", BUILDERS)
def test_applied_twice_saved_and_loaded_there_is_nothing_new(builder: type[Builder], tmp_path: Path) -> None:
    kg = graph([["Ada", "Bob"], ["ada", "Bob"], ("Bob",)])
    apply_transforms(kg, builder(threshold=0.1))
    before = kg.to_dict()
    assert len(kg.relationships) == 3
    apply_transforms(kg, builder(threshold=0.1))
    assert kg.to_dict() == before
    kg.save(tmp_path / "graph.json")
    loaded = KnowledgeGraph.load(tmp_path / "graph.json")
    assert loaded == kg
    apply_transforms(loaded, builder(threshold=0.1))
    assert loaded == kg


@pytest.mark.parametrize("builder", BUILDERS)
def test_only_filtered_nodes_are_linked_by_either_route(builder: type[Builder]) -> None:
    kg = graph([["a"]] * 4)
    kg.add(Node("without"))
    one_way = builder(filter_nodes=lambda node: node.id in (1, 3))
    assert [(link.source.id, link.target.id) for link in asyncio.run(one_way.transform(kg))] == [(1, 3)]
    apply_transforms(kg, one_way)
    assert [(link.source.id, link.target.id) for link in kg.relationships] == [(1, 3)]


@pytest.mark.parametrize("builder", BUILDERS)
def test_of_a_dict_the_key_holds_the_list_and_without_it_there_are_no_items(builder: type[Builder]) -> None:
    lists = [{"people": ["Ada"], "places": ["Oslo"]}, {"people": ["Ada"], "places": ["Rome"]}, {"places": ["Rome"]}]
    assert scores(builder(key_name="people"), lists) == {(0, 1): 1.0}
    assert scores(builder(key_name="places"), lists) == {(1, 2): 1.0}


@pytest.mark.parametrize("builder", BUILDERS)
@given(lists=ITEMS, top_k=st.integers(1, 3))
def test_top_k_keeps_the_best_partners_of_every_node(
    builder: type[Builder], lists: list[list[str]], top_k: int
) -> None:
    everything = scores(builder(threshold=0), lists)
    kept = set()
    for node in range(len(lists)):
        mine = [pair for pair in everything if node in pair]
        kept |= set(sorted(mine, key=lambda pair: (-everything[pair], sum(pair)))[:top_k])
    found = scores(builder(threshold=0, top_k=top_k), lists)
    assert list(found.items()) == [(pair, score) for pair, score in everything.items() if pair in kept]


@pytest.mark.usefixtures("in_small_pieces")
@pytest.mark.parametrize("builder", BUILDERS)
def test_top_k_tells_the_items_of_the_pairs_that_are_kept(builder: type[Builder]) -> None:
    rnd = random.Random(6)
    lists = [rnd.sample("abcdefghijkl", 4) for _ in range(40)]
    everything = {link.id: link for link in made(builder(threshold=0), lists)}
    kept = made(builder(threshold=0, top_k=2), lists)
    assert 40 <= len(kept) < len(everything) / 2
    assert all(everything[link.id].properties == link.properties for link in kept)


BAD = {
    "missing": (None, None, "node 'bad' has no property 'entities'"),
    "text": ("Ada", None, "node 'bad': property 'entities' is str 'Ada'; a list of str is needed"),
    "numbers": (["Ada", 3], None, "node 'bad': property 'entities' holds int 3; a list of str is needed"),
    "none inside": ([None], None, "node 'bad': property 'entities' holds NoneType None"),
    "nested": ([["Ada"]], None, "node 'bad': property 'entities' holds list"),
    "NaN": (math.nan, None, "node 'bad': property 'entities' is float nan"),
    "dict": ({"people": ["Ada"]}, None, "key_name says which of 'people' to take"),
    "list": (["Ada"], "people", "node 'bad': property 'entities' is list .*; for key_name='people' a dict is needed"),
    "key": ({"people": "Ada"}, "people", "node 'bad': property 'entities', key 'people', is str 'Ada'"),
}


@pytest.mark.parametrize("builder", BUILDERS)
@pytest.mark.parametrize("case", BAD)
def test_what_is_no_list_of_str_is_an_error_naming_node_and_property(builder: type[Builder], case: str) -> None:
    value, key_name, message = BAD[case]
    kg = graph([{"people": ["Ada"]} if key_name else ["Ada"]])
    kg.add(Node("bad", {} if value is None else {"Entities": value}))
    with pytest.raises(InputError, match=message):
        asyncio.run(builder(key_name=key_name).transform(kg))
    with pytest.raises(TransformError, match=message) as raised:
        apply_transforms(kg, builder(key_name=key_name))
    assert isinstance(raised.value, ValueError)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"threshold": math.nan}, "threshold is a number from 0 to 1, not nan"),
        ({"threshold": -0.1}, "threshold"),
        ({"threshold": "0.5"}, "threshold"),
        ({"top_k": 0}, "top_k is a whole number from 1 on, not 0"),
        ({"property_name": ""}, "property_name"),
        ({"new_property_name": 1}, "new_property_name"),
        ({"key_name": ""}, "key_name"),
    ],
)
@pytest.mark.parametrize("builder", BUILDERS)
def test_impossible_arguments_are_refused(builder: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"{builder.__name__}: {message}"):
        builder(**arguments)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"distance_measure": "cosine"}, "no distance_measure 'cosine'; there are levenshtein, hamming, jaro"),
        ({"distance_measure": None}, "no distance_measure None"),
        ({"distance_threshold": math.nan}, "distance_threshold is a number from 0 to 1, not nan"),
        ({"distance_threshold": 90}, "distance_threshold"),
    ],
)
def test_impossible_measures_are_refused(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(InputError, match=f"OverlapScoreBuilder: .*{message}"):
        OverlapScoreBuilder(**arguments)


def test_the_defaults_are_those_of_the_contract() -> None:
    jaccard, overlap = JaccardSimilarityBuilder(), OverlapScoreBuilder()
    assert (jaccard.name, jaccard.property_name, jaccard.key_name) == ("JaccardSimilarityBuilder", "entities", None)
    assert (jaccard.new_property_name, jaccard.threshold, jaccard.top_k) == ("jaccard_similarity", 0.5, None)
    assert (overlap.name, overlap.property_name, overlap.key_name) == ("OverlapScoreBuilder", "entities", None)
    assert (overlap.new_property_name, overlap.threshold, overlap.top_k) == ("overlap_score", 0.01, None)
    assert (overlap.distance_measure, overlap.distance_threshold) == (DistanceMeasure.JARO_WINKLER, 0.9)


@pytest.mark.parametrize("builder", BUILDERS)
def test_beside_the_writer_of_its_property_it_is_refused(builder: type[Builder]) -> None:
    with pytest.raises(InputError, match=f"{builder.__name__} reads entities"):
        apply_transforms(graph([]), Parallel(NERExtractor(), builder()))
