from __future__ import annotations

import asyncio
import hashlib
import inspect
import math
import random
import re
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from knotwork import Document, KnowledgeGraph, Node, NodeType, apply_transforms
from knotwork.errors import InputError, MissingExtra, TransformError
from knotwork.transforms.splitters.drift import LANGUAGES, Method, breaks_after, distances_between, sentences
from knotwork.transforms.splitters.semantic import EmbeddingBasedDocumentSplitter, SemanticSplitter

Rows = np.ndarray[Any, np.dtype[Any]]


class Embedder:
    """Vectors by a function of the text. Keeps the texts of each call."""

    name = "made by hand"
    dimension = 2

    def __init__(self, row: Callable[[str], Sequence[float]]) -> None:
        self.row = row
        self.calls: list[list[str]] = []

    async def embed(self, texts: Sequence[str]) -> Rows:
        self.calls.append(list(texts))
        return np.array([self.row(text) for text in texts], np.float32)


def by_angle(text: str) -> tuple[float, float]:
    """The direction of the last "A<degrees>" in a text."""
    degrees = math.radians(float(re.findall(r"A(\d+)", text)[-1]))
    return math.cos(degrees), math.sin(degrees)


def by_hash(text: str) -> list[float]:
    digest = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=4).digest()
    return [byte - 127.5 for byte in digest]


def splitter_of(row: Callable[[str], Sequence[float]] = by_angle, **settings: Any) -> EmbeddingBasedDocumentSplitter:
    splitter = EmbeddingBasedDocumentSplitter(document_embedder=Embedder(row), **settings)
    splitter.warm_up()
    return splitter


def split(text: str, row: Callable[[str], Sequence[float]] = by_angle, **settings: Any) -> list[str]:
    splits = splitter_of(row, **settings).run([Document(text)])["documents"]
    assert "".join(each.text for each in splits) == text
    return [each.text for each in splits]


def said(*degrees: int) -> str:
    return " ".join(f"Word A{each} here." for each in degrees)


# -- settings -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"sentences_per_group": 0}, "sentences_per_group"),
        ({"sentences_per_group": 1.5}, "sentences_per_group"),
        ({"percentile": -0.1}, "percentile"),
        ({"percentile": 1.1}, "percentile"),
        ({"percentile": math.nan}, "percentile"),
        ({"percentile": "0.5"}, "percentile"),
        ({"min_length": -1}, "min_length"),
        ({"min_length": 100, "max_length": 100}, "max_length"),
        ({"max_length": None}, "max_length"),
        ({"language": "xx"}, "unknown language 'xx'.*ja.*ko.*zh"),
    ],
)
@pytest.mark.parametrize("made", [EmbeddingBasedDocumentSplitter, SemanticSplitter])
def test_settings_out_of_range_are_refused(made: Any, settings: dict[str, Any], named: str) -> None:
    model = {"document_embedder": "offline"} if made is EmbeddingBasedDocumentSplitter else {}
    with pytest.raises(ValueError, match=named):
        made(**model, **settings)


def test_the_defaults_are_those_users_know() -> None:
    parameters = inspect.signature(EmbeddingBasedDocumentSplitter).parameters
    assert all(each.kind is each.KEYWORD_ONLY for each in parameters.values())
    assert {name: each.default for name, each in parameters.items()} == {
        "document_embedder": inspect.Parameter.empty,
        "sentences_per_group": 3,
        "percentile": 0.95,
        "min_length": 50,
        "max_length": 1000,
        "language": "en",
        "use_split_rules": True,
        "extend_abbreviations": True,
    }


def test_every_known_language_splits_sentences() -> None:
    assert {"en", "zh", "ja", "ko", "de", "ru", "sv"} <= LANGUAGES
    for language in LANGUAGES:
        stop = "։" if language == "hy" else "."
        text = f"Alpha lies here{stop} Beta stays there{stop} Gamma goes on{stop}"
        assert len(sentences(text, Method(language=language))) == 3


# -- the method -----------------------------------------------------------------------------------


def test_distances_are_one_less_the_cosine_and_a_zero_vector_is_far_from_everything() -> None:
    rows = np.array([by_angle(f"A{degrees}") for degrees in (0, 10, 30, 90)])
    assert distances_between(rows) == pytest.approx([0.0151922, 0.0603074, 0.5], abs=1e-7)
    assert distances_between(np.array([[1.0, 0.0], [0.0, 0.0], [0.0, 0.0]])).tolist() == [1.0, 1.0]


@pytest.mark.parametrize(
    ("percentile", "lengths"), [(0, [29, 15, 14]), (0.5, [44, 14]), (0.95, [44, 14]), (1, [58]), (1.0, [58])]
)
def test_the_worked_example(percentile: float, lengths: list[int]) -> None:
    made = split(said(0, 10, 30, 90), sentences_per_group=1, min_length=0, percentile=percentile)
    assert [len(content) for content in made] == lengths


@given(st.lists(st.floats(0, 2), min_size=2, max_size=30), st.floats(0, 0.999))
def test_breaks_are_the_distances_above_the_percentile_and_the_largest(values: list[float], percentile: float) -> None:
    distances = np.array(values)
    assume(np.ptp(distances) > 1e-5)
    threshold = np.quantile(distances, percentile)
    assume(np.abs(distances - threshold)[distances != threshold].min() > 1e-9)
    largest = distances >= distances.max() - 1e-6
    clear = [at for at, distance in enumerate(values) if abs(distance - threshold) > 1e-9 or largest[at]]
    found = breaks_after(distances, percentile)
    assert [at for at in clear if at in found] == [at for at in clear if values[at] > threshold or largest[at]]
    assert breaks_after(distances, 1) == []


def test_distances_tied_with_the_largest_are_breaks_unless_all_are_equal_and_small() -> None:
    assert breaks_after(np.array([0.7, 0.1, 0.7]), 0.95) == [0, 2]
    assert breaks_after(np.array([0.7, 0.7, 0.7]), 0.0) == [0, 1, 2]
    assert breaks_after(np.array([0.4, 0.4, 0.4]), 0.0) == []
    assert breaks_after(np.array([0.7, 0.7, 0.7]), 1.0) == []


def test_two_lone_sentences_split_when_they_lie_far_apart() -> None:
    assert len(split(said(0, 60), min_length=0)) == 2
    assert len(split(said(0, 59), min_length=0)) == 1
    assert len(split(said(0, 90), min_length=0, percentile=1)) == 1


def test_with_fewer_than_three_groups_each_sentence_is_its_own() -> None:
    splitter = splitter_of(min_length=0)
    contents = [each.text for each in splitter.run([Document(said(0, 0, 0, 0, 90))])["documents"]]
    assert contents == [said(0, 0, 0, 0) + " ", said(90)]
    assert splitter.document_embedder.calls == [["Word A0 here.", "Word A90 here."]]


def test_a_group_is_as_many_sentences_as_wanted() -> None:
    splitter = splitter_of(sentences_per_group=2, min_length=0)
    splitter.run([Document(said(0, 1, 2, 3, 4))])
    assert splitter.document_embedder.calls == [[said(0, 1), said(2, 3), said(4)]]


def test_a_piece_that_is_too_long_is_split_again_by_the_same_method_without_embedding_anew() -> None:
    # once over: only the jump to 90 breaks; "0 … 20" is too long then, and breaks at its own largest distance
    splitter = splitter_of(sentences_per_group=1, min_length=0, max_length=45)
    contents = [each.text for each in splitter.run([Document(said(0, 1, 19, 20, 90))])["documents"]]
    assert contents == [said(0, 1) + " ", said(19, 20) + " ", said(90)]
    assert len(splitter.document_embedder.calls) == 1


def test_a_piece_of_two_groups_that_is_too_long_is_split_by_its_sentences_in_a_second_pass() -> None:
    # sentences 0 … 5 are two groups of three, with the widest gap inside the second
    text = said(0, 0, 0, 1, 40, 41, 90, 91, 92)
    splitter = splitter_of(min_length=0, max_length=70)
    contents = [each.text for each in splitter.run([Document(text)])["documents"]]
    assert contents == [said(0, 0, 0, 1) + " ", said(40, 41) + " ", said(90, 91, 92)]
    first, second = splitter.document_embedder.calls
    assert first == [said(0, 0, 0), said(1, 40, 41), said(90, 91, 92)]
    assert second == ["Word A0 here.", "Word A1 here.", "Word A40 here.", "Word A41 here."]


def test_where_nothing_breaks_a_long_piece_is_cut_at_group_then_sentence_then_character_borders() -> None:
    same = said(*[0] * 9)
    assert [len(content) for content in split(same, min_length=0, max_length=100)] == [84, 41]
    assert split(same, min_length=0, max_length=60) == [said(0, 0, 0) + " "] * 2 + [said(0, 0, 0)]
    assert split(same, min_length=0, max_length=30) == [said(0, 0) + " "] * 4 + [said(0)]
    words = split("one two three four five six seven eight nine ten", min_length=0, max_length=20)
    assert [len(content) for content in words] == [14, 14, 20]
    assert all(content.endswith(" ") for content in words[:-1])
    assert [len(content) for content in split("x" * 101, min_length=0, max_length=50)] == [34, 34, 33]


def test_a_short_piece_joins_the_next_else_the_previous_while_both_fit() -> None:
    text = said(0, 90, 90, 180)  # pieces of 14, 30 and 15 characters
    settings: dict[str, Any] = {"sentences_per_group": 1}
    assert split(text, min_length=14, max_length=45, **settings) == [said(0) + " ", said(90, 90) + " ", said(180)]
    assert split(text, min_length=15, max_length=45, **settings) == [said(0, 90, 90) + " ", said(180)]
    assert split(text, min_length=20, max_length=45, **settings) == [said(0, 90, 90) + " ", said(180)]
    assert split(text, min_length=20, max_length=59, **settings) == [text]
    assert split(text, min_length=15, max_length=43, **settings) == [said(0) + " ", said(90, 90) + " ", said(180)]


@pytest.mark.parametrize("text", [" ", "\n\n\t\u3000\f", " " * 1000])
def test_a_text_of_white_space_comes_back_as_it_is(text: str) -> None:
    splitter = splitter_of()
    (made,) = splitter.run([Document(text)])["documents"]
    assert made.text == text
    assert splitter.document_embedder.calls == []


def test_one_call_a_pass_over_all_documents_and_each_text_once() -> None:
    splitter = splitter_of(by_hash, min_length=0, max_length=200)
    texts = [said(*range(number, number + 40)) for number in (0, 10, 50)]
    splitter.run([*map(Document, texts), Document("Just one."), Document(texts[0])])
    calls = splitter.document_embedder.calls
    assert len(calls) <= 2
    given = [text for call in calls for text in call]
    assert len(given) == len(set(given))
    assert "Just one." not in given  # there is nothing to compare it with


# -- promises over many texts ---------------------------------------------------------------------


def assert_promises(text: str, contents: list[str], least: int, most: int) -> None:
    assert "".join(contents) == text
    lengths = [len(content) for content in contents]
    assert all(0 < length <= most for length in lengths)
    joined = [one + other for one, other in pairwise(lengths)]
    for at, length in enumerate(lengths):
        if length < least:
            assert all(both > most for both in joined[max(at - 1, 0) : at + 1]), lengths


WORDS = ["river water flood", "star orbit comet", "bread oven dough", "judge trial oath", "engine steam valve"]


def drifting(rng: random.Random) -> str:
    """Sentences whose topic changes now and then, some long, some short."""
    topic, parts = rng.randrange(5), []
    for _ in range(rng.randrange(1, 60)):
        if rng.random() < 0.2:
            topic = rng.randrange(5)
        words = [rng.choice(WORDS[topic].split()) for _ in range(rng.choice([1, 4, 8, 12, 40]))]
        parts.append(" ".join(words).capitalize() + rng.choice([". ", "! ", "? ", ".\n", ".\n\n", ".", "。"]))
    return "".join(parts)


def by_topic(text: str) -> list[float]:
    return [0.01 + sum(text.lower().count(word) for word in topic.split()) for topic in WORDS]


def check_drifting(count: int) -> None:
    rng = random.Random(11)
    texts = [drifting(rng) for _ in range(count)]
    for least, most in [(50, 1000), (30, 120), (99, 100)]:
        splitter = splitter_of(by_topic, min_length=least, max_length=most)
        splits = splitter.run([Document(text, id=str(number)) for number, text in enumerate(texts)])["documents"]
        contents: list[list[str]] = [[] for _ in texts]
        for each in splits:
            contents[int(each.metadata["source_id"])].append(each.text)
        for text, parts in zip(texts, contents, strict=True):
            assert_promises(text, parts, least, most)


def test_documents_of_drifting_topics_keep_to_their_sizes() -> None:
    check_drifting(100)


@pytest.mark.slow
def test_three_thousand_documents_of_drifting_topics_keep_to_their_sizes() -> None:
    check_drifting(3000)


@given(
    st.text(st.sampled_from("Aa.!?。 \n\t\f\u3000\u00a0\"'()[]“”「」-1中🧠"), max_size=300),
    st.integers(0, 30),
    st.integers(1, 40),
    st.integers(1, 4),
    st.sampled_from([0, 0.5, 0.95, 1]),
)
def test_any_text_is_split_without_loss_and_to_size(
    text: str, least: int, room: int, group: int, percentile: float
) -> None:
    assume(text)
    settings = {"sentences_per_group": group, "percentile": percentile, "min_length": least, "max_length": least + room}
    assert_promises(text, split(text, by_hash, **settings), least, least + room)


def test_prose_is_embedded_once() -> None:
    rng = random.Random(3)
    text = "".join(drifting(rng) for _ in range(60))
    splitter = splitter_of(by_topic, max_length=3000)
    splitter.run([Document(text)])
    assert sum(len(each) for call in splitter.document_embedder.calls for each in call) <= 1.1 * len(text)


# -- sentences ------------------------------------------------------------------------------------


def sentences_of(text: str, **settings: Any) -> list[str]:
    return [text[start:end].strip() for start, end in sentences(text, Method(**settings))]


@pytest.mark.parametrize(
    ("text", "joined", "apart"),
    [
        (
            'He said "I go. You stay." Then he left.',
            ['He said "I go. You stay."', "Then he left."],
            ['He said "I go.', 'You stay."', "Then he left."],
        ),
        (
            "This works (see below. And there.) quite well. Yes.",
            ["This works (see below. And there.) quite well.", "Yes."],
            ["This works (see below.", "And there.)", "quite well.", "Yes."],
        ),
        (
            "It was [so. And so] then. Yes.",
            ["It was [so. And so] then.", "Yes."],
            ["It was [so.", "And so] then.", "Yes."],
        ),
        ("1. First thing. 2. Second.", ["1. First thing.", "2. Second."], ["1.", "First thing.", "2.", "Second."]),
        ("他说：“你好。再见。”走了。", ["他说：“你好。再见。”", "走了。"], ["他说：“你好。", "再见。”", "走了。"]),
    ],
)
def test_split_rules_join_what_ends_in_brackets_quotes_or_a_list_mark(
    text: str, joined: list[str], apart: list[str]
) -> None:
    assert sentences_of(text) == joined
    assert sentences_of(text, use_split_rules=False) == apart


def test_a_quote_that_is_never_closed_joins_nothing() -> None:
    assert len(sentences_of('It is "open here. And on. And on (it goes. Still. Yes.')) == 5


def test_brackets_in_two_paragraphs_are_no_pair() -> None:
    assert len(sentences_of("One (is here. Two.\n\nThree. Four) is here.")) == 4


def test_abbreviations_of_the_language_end_no_sentence() -> None:
    text = "Dr. Lane met Mr. Hill. They left."
    assert sentences_of(text) == ["Dr. Lane met Mr. Hill.", "They left."]
    assert sentences_of(text, extend_abbreviations=False) == ["Dr.", "Lane met Mr.", "Hill.", "They left."]
    assert len(sentences_of("Das sagt Prof. Meier. Ja.", language="de")) == 2
    assert len(sentences_of("Das sagt Prof. Meier. Ja.", language="de", extend_abbreviations=False)) == 3


def test_both_rules_change_what_comes_out() -> None:
    text = 'Dr. Lane said "Go out. Come in." She left. The same. The same.'
    made = {
        (rules, known): tuple(
            split(
                text,
                by_hash,
                sentences_per_group=1,
                percentile=0,
                min_length=0,
                use_split_rules=rules,
                extend_abbreviations=known,
            )
        )
        for rules in (True, False)
        for known in (True, False)
    }
    assert len(set(made.values())) == 4


@pytest.mark.parametrize(
    ("text", "language", "wanted"),
    [
        ("沃森来了。他坐下！真的？是。", "zh", ["沃森来了。", "他坐下！", "真的？", "是。"]),
        ("これは文です。次の文です！本当？", "ja", ["これは文です。", "次の文です！", "本当？"]),
        ("한국어 문장입니다. 다음 문장입니다.", "ko", ["한국어 문장입니다.", "다음 문장입니다."]),
        ("No blanks here.Then another.And one more.", "en", ["No blanks here.", "Then another.", "And one more."]),
        ("Wanted\n- apples and pears\n- bread\n* milk", "en", ["Wanted", "- apples and pears", "- bread", "* milk"]),
        ("1) one thing\n2) another\n（一）其他", "en", ["1) one thing", "2) another", "（一）其他"]),
        ("A\u00a0. B\u3000. C\u2028.", "en", ["A\u00a0. B\u3000. C\u2028."]),
    ],
)
def test_sentences_of_scripts_and_lists(text: str, language: str, wanted: list[str]) -> None:
    assert sentences_of(text, language=language) == wanted


# -- documents in and out -------------------------------------------------------------------------


@dataclass
class Foreign:
    """A document of haystack's shape."""

    content: str | None
    meta: dict[str, Any] = field(default_factory=dict)
    id: str = ""
    embedding: Any = None


class ForeignEmbedder:
    """An embedder of haystack's shape."""

    def __init__(self, model: str = "m", row: Callable[[str], Any] = by_angle) -> None:
        self.model = model
        self.row = row
        self.warm = 0
        self.given: list[list[Any]] = []

    def warm_up(self) -> None:
        self.warm += 1

    def run(self, *, documents: list[Any]) -> dict[str, Any]:
        self.given.append(documents)
        for document in documents:
            document.embedding = self.row(document.content)
        return {"documents": documents}

    def to_dict(self) -> dict[str, Any]:
        return {"type": f"{__name__}.ForeignEmbedder", "init_parameters": {"model": self.model}}


def test_a_split_knows_where_it_comes_from_and_shares_nothing_with_its_source() -> None:
    text = "\f " + said(0) + " \f" + said(90) + "\f\f " + said(180)
    document = Document(text, id="d", title="T", source="s", metadata={"tags": ["x"], "page_number": 4})
    splits = splitter_of(min_length=0).run([document])["documents"]
    assert [each.metadata["page_number"] for each in splits] == [5, 6, 8]
    for number, each in enumerate(splits):
        assert (each.title, each.source) == ("T", "s")
        assert each.metadata["tags"] == ["x"]
        assert each.metadata["tags"] is not document.metadata["tags"]
        assert (each.metadata["source_id"], each.metadata["split_id"]) == ("d", number)
        start = each.metadata["split_idx_start"]
        assert text[start : start + len(each.text)] == each.text
    assert document.metadata == {"tags": ["x"], "page_number": 4}


def test_a_document_without_page_number_begins_on_page_one() -> None:
    splits = splitter_of(min_length=0).run([Document(said(0) + "\f" + said(90))])["documents"]
    assert [each.metadata["page_number"] for each in splits] == [1, 2]


def test_the_body_of_a_framed_text_stays_what_it_was() -> None:
    text = said(0, 90, 180)
    document = Document(text, metadata={"body": [[5, 20]]})
    splits = splitter_of(min_length=0, percentile=0).run([document])["documents"]
    marked = [[each.text[start:end] for start, end in each.metadata["body"]] for each in splits]
    assert "".join(part for parts in marked for part in parts) == text[5:20]
    assert marked[-1] == [""]


def test_ids_are_the_same_every_time_and_all_different() -> None:
    document = Document("Same A0 here. Else A90 here. Same A0 here. Else A90 here.", id="d")
    settings: dict[str, Any] = {"sentences_per_group": 1, "percentile": 0, "min_length": 0}
    once, again = (splitter_of(**settings).run([document])["documents"] for _ in range(2))
    assert [each.id for each in once] == [each.id for each in again]
    assert len({each.id for each in once}) == 4


def test_foreign_documents_come_back_as_their_class_and_are_what_a_foreign_embedder_gets() -> None:
    model = ForeignEmbedder()
    splitter = EmbeddingBasedDocumentSplitter(document_embedder=model, min_length=0)
    splitter.warm_up()
    splitter.warm_up()
    splits = splitter.run([Foreign(said(0, 90), {"a": 1}, "f")])["documents"]
    assert model.warm == 1
    assert [each.content for each in splits] == [said(0) + " ", said(90)]
    assert all(type(each) is Foreign and each.id for each in splits)
    assert splits[1].meta == {"a": 1, "source_id": "f", "split_id": 1, "page_number": 1, "split_idx_start": 14}
    assert [[type(each) for each in call] for call in model.given] == [[Foreign, Foreign]]


def test_foreign_documents_go_with_an_embedder_of_ours() -> None:
    splits = splitter_of(min_length=0).run([Foreign(said(0, 90))])["documents"]
    assert [type(each) for each in splits] == [Foreign, Foreign]


def test_documents_of_ours_go_with_a_foreign_embedder_only_when_its_library_is_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "haystack", None)
    splitter = EmbeddingBasedDocumentSplitter(document_embedder=ForeignEmbedder())
    splitter.warm_up()
    with pytest.raises(MissingExtra, match="haystack"):
        splitter.run([Document(said(0, 90))])


def test_a_sync_embedder_of_another_shape_serves() -> None:
    class Plain:
        def embed_documents(self, texts: list[str]) -> list[list[float]]:
            return [list(by_angle(text)) for text in texts]

    splitter = EmbeddingBasedDocumentSplitter(document_embedder=Plain(), min_length=0)
    splitter.warm_up()
    assert len(splitter.run([Document(said(0, 90))])["documents"]) == 2


def test_it_runs_inside_a_running_loop_and_can_be_awaited() -> None:
    splitter = splitter_of(min_length=0)

    async def both() -> tuple[list[Any], list[Any]]:
        documents = [Document(said(0, 90))]
        return splitter.run(documents)["documents"], (await splitter.run_async(documents))["documents"]

    sync, awaited = asyncio.run(both())
    assert sync == awaited
    assert len(sync) == 2


def test_no_documents_give_none_and_cost_nothing() -> None:
    splitter = splitter_of()
    assert splitter.run([]) == {"documents": []}
    assert splitter.document_embedder.calls == []


# -- bad input ------------------------------------------------------------------------------------


def test_it_says_when_it_was_not_warmed_up() -> None:
    with pytest.raises(RuntimeError, match="warm_up"):
        EmbeddingBasedDocumentSplitter(document_embedder=Embedder(by_angle)).run([Document("A0.")])


@pytest.mark.parametrize(
    "documents", ["text", Document("A0."), (Document("A0."),), [Document("A0."), "text"], [Document], [None], None]
)
def test_anything_but_a_list_of_documents_is_a_type_error(documents: Any) -> None:
    with pytest.raises(TypeError, match="list of documents"):
        splitter_of().run(documents)


@pytest.mark.parametrize("document", [Document("", id="bad"), Foreign(None, id="bad"), Foreign("", id="bad")])
def test_a_document_without_text_is_named(document: Any) -> None:
    with pytest.raises(ValueError, match="'bad'"):
        splitter_of().run([Document("A0."), document])


def test_content_or_metadata_of_a_wrong_type_is_named() -> None:
    with pytest.raises(TypeError, match="'bad' is bytes"):
        splitter_of().run([Foreign(b"bytes", id="bad")])  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="metadata of document 'bad' is list"):
        splitter_of().run([Foreign("A0.", [], "bad")])  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="'bad': page_number is 'iv'"):
        splitter_of().run([Foreign("A0.", {"page_number": "iv"}, "bad")])


BAD_VECTORS: dict[str, Callable[[str], Any]] = {
    "NaN": lambda text: [math.nan, 1.0],
    "None for a vector": lambda text: None,
    "None for a number": lambda text: [None, 1.0],
    "a vector of another length": lambda text: [1.0],
    "no numbers": lambda text: ["a", "b"],
    "a number": lambda text: 1.0,
}


@pytest.mark.parametrize("bad", BAD_VECTORS)
def test_vectors_that_cannot_be_used_name_the_document(bad: str) -> None:
    def row(text: str) -> Any:
        return BAD_VECTORS[bad](text) if "bad" in text else by_angle(text)

    documents = [Foreign(said(0, 90), id="good"), Foreign("One bad A0 here. Two A90 here.", id="worse")]
    splitter = EmbeddingBasedDocumentSplitter(document_embedder=ForeignEmbedder(row=row))
    splitter.warm_up()
    with pytest.raises(ValueError, match="document 'worse': the embedder gave"):
        splitter.run(documents)


@pytest.mark.parametrize("made", [None, {}, {"documents": None}, {"documents": []}, {"documents": [Foreign("x")] * 2}])
def test_documents_that_come_back_without_vectors_name_the_document(made: Any) -> None:
    class Empty(ForeignEmbedder):
        def run(self, *, documents: list[Any]) -> Any:
            return made

    splitter = EmbeddingBasedDocumentSplitter(document_embedder=Empty())
    splitter.warm_up()
    with pytest.raises(ValueError, match="document 'd'"):
        splitter.run([Foreign(said(0, 90), id="d")])


@pytest.mark.parametrize(
    "rows", [np.full((2, 2), math.nan), None, np.zeros((1, 2)), np.zeros((3, 2)), [[1.0], [1.0, 2.0]]]
)
@pytest.mark.parametrize("foreign", [False, True])
def test_so_do_those_of_an_embedder_of_ours_or_an_adapted_one(rows: Any, foreign: bool) -> None:
    class Broken(Embedder):
        async def embed(self, texts: Sequence[str]) -> Any:
            return rows

    class Adapted:
        def embed(self, texts: Sequence[str]) -> Any:
            return rows

    splitter = EmbeddingBasedDocumentSplitter(document_embedder=Adapted() if foreign else Broken(by_angle))
    splitter.warm_up()
    with pytest.raises(ValueError, match="document 'd'"):
        splitter.run([Document(said(0, 90), id="d")])


def test_so_do_those_of_an_adapted_embedder() -> None:
    class Broken:
        def embed_documents(self, texts: list[str]) -> Any:
            return [None for _ in texts]

    splitter = EmbeddingBasedDocumentSplitter(document_embedder=Broken())
    splitter.warm_up()
    with pytest.raises(ValueError, match="document 'd'"):
        splitter.run([Document(said(0, 90), id="d")])


# -- written down ---------------------------------------------------------------------------------


def test_it_is_written_down_and_read_back_with_its_embedder() -> None:
    splitter = EmbeddingBasedDocumentSplitter(
        document_embedder=ForeignEmbedder("large"), sentences_per_group=2, percentile=0.9, language="de"
    )
    data = splitter.to_dict()
    assert data["type"] == "knotwork.transforms.splitters.semantic.EmbeddingBasedDocumentSplitter"
    assert data["init_parameters"]["document_embedder"] == {
        "type": f"{__name__}.ForeignEmbedder",
        "init_parameters": {"model": "large"},
    }
    sys.modules.setdefault(__name__, inspect.getmodule(ForeignEmbedder))  # type: ignore[arg-type]
    again = EmbeddingBasedDocumentSplitter.from_dict(data)
    assert again.to_dict() == data == splitter.to_dict()
    assert again.document_embedder.model == "large"


def test_the_name_of_an_embedder_is_written_as_it_is() -> None:
    data = EmbeddingBasedDocumentSplitter(document_embedder="fast").to_dict()
    assert data["init_parameters"]["document_embedder"] == "fast"
    assert EmbeddingBasedDocumentSplitter.from_dict(data).to_dict() == data


def test_an_embedder_that_cannot_be_written_down_is_named() -> None:
    with pytest.raises(TypeError, match="Embedder has no to_dict"):
        splitter_of().to_dict()


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "init_parameters"),
        (None, "init_parameters"),
        ({"init_parameters": {"document_embedder": "fast", "size": 3}}, "size"),
        ({"init_parameters": {"document_embedder": {"type": "no.such.Thing"}}}, "no.such.Thing"),
        ({"init_parameters": {"document_embedder": {"type": "json.Missing"}}}, "json.Missing"),
        ({"init_parameters": {"document_embedder": {"type": 3}}}, "3"),
    ],
)
def test_what_was_not_written_by_to_dict_is_refused(data: Any, message: str) -> None:
    with pytest.raises(InputError, match=message):
        EmbeddingBasedDocumentSplitter.from_dict(data)


# -- as a transform -------------------------------------------------------------------------------


def test_the_transform_makes_the_same_pieces_as_chunks_tied_to_their_parent() -> None:
    text = said(0, 0, 0, 1, 40, 41, 90, 91, 92)
    kg = KnowledgeGraph([Node("d", {"page_content": text, "title": "T", "metadata": {"a": 1}}, NodeType.DOCUMENT)])
    settings: dict[str, Any] = {"min_length": 0, "max_length": 70}
    cutter = SemanticSplitter(embedding_model=Embedder(by_angle), filter_nodes=lambda node: node.id == "d", **settings)
    apply_transforms(kg, cutter)
    chunks = list(kg.nodes_of(NodeType.CHUNK))
    assert [chunk.get_property("page_content") for chunk in chunks] == split(text, **settings)
    for chunk in chunks:
        assert text[chunk.get_property("start") : chunk.get_property("end")] == chunk.get_property("page_content")
        assert (chunk.get_property("title"), chunk.get_property("metadata")) == ("T", {"a": 1})
    assert [link.target for link in kg.relationships if link.type == "child"] == chunks
    assert [link.target for link in kg.relationships if link.type == "next"] == chunks[1:]
    before, calls = kg.to_dict(), len(cutter.embedding_model.calls)
    apply_transforms(kg, cutter)
    assert (kg.to_dict(), len(cutter.embedding_model.calls)) == (before, calls)


def test_the_transform_keeps_to_the_body_and_makes_no_blank_chunk() -> None:
    text = "Licence. " + said(0, 90) + " " * 60 + "Licence."
    node = Node("d", {"page_content": text, "metadata": {"body": [[9, 97]]}})
    cutter = SemanticSplitter(embedding_model=Embedder(by_angle), min_length=0, max_length=40)
    nodes, _ = asyncio.run(cutter.split(node))
    contents = [made.get_property("page_content") for made in nodes]
    assert "".join(contents) == text[9:97]
    assert all(content.strip() for content in contents)
    assert asyncio.run(cutter.split(Node("e", {"page_content": " \n"}))) == ([], [])
    assert asyncio.run(cutter.split(Node("e", {}))) == ([], [])


def test_the_transform_names_the_node_whose_vectors_cannot_be_used() -> None:
    kg = KnowledgeGraph([Node("node-7", {"page_content": said(0, 90)})])
    with pytest.raises(TransformError, match="node 'node-7': the embedder gave a vector with NaN") as raised:
        apply_transforms(kg, SemanticSplitter(embedding_model=Embedder(lambda text: [math.nan, 1.0])))
    assert isinstance(raised.value, ValueError)


def test_the_transform_tells_the_language_from_the_text() -> None:
    text = "沃森来了。他坐下！真的？是。"
    cutter = SemanticSplitter(embedding_model=Embedder(by_hash), sentences_per_group=1, percentile=0, min_length=0)
    nodes, _ = asyncio.run(cutter.split(Node("d", {"page_content": text})))
    assert len(nodes) > 1
