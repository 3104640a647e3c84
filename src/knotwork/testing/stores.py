"""What every `Store` must do, as tests to inherit.

class TestMyStore(StoreContract):
    def make(self, tmp_path: Path) -> Store:
        return MyStore(tmp_path / "index")
"""

from __future__ import annotations

import json
import random
import threading
from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest

from knotwork.errors import GraphError, StoreError, StoreMismatch
from knotwork.graph import (
    MISSING,
    AddNode,
    AddRelationship,
    Change,
    KnowledgeGraph,
    Node,
    NodeId,
    NodeType,
    Relationship,
    RemoveNode,
    RemoveRelationship,
    SetProperty,
    get_parent_nodes,
)
from knotwork.protocols import Counts, DocumentRecord, Store


def content(graph: KnowledgeGraph) -> dict[str, list[str]]:
    """What a graph holds, whatever the order of its nodes, relationships and properties."""
    saved = graph.to_dict()
    return {
        part: sorted(json.dumps(item, sort_keys=True) for item in saved[part]) for part in ("nodes", "relationships")
    }


def everything(graph: KnowledgeGraph) -> list[Change]:
    """The changes that make a graph out of an empty one."""
    return [*map(AddNode, graph.nodes), *map(AddRelationship, graph.relationships)]


def rich_graph() -> KnowledgeGraph:
    """A graph with something of everything that a store must keep, in an order that is not the canonical one."""
    vectors = np.eye(3, dtype=np.float32)
    english = Node(
        "doc-en",
        {
            "page_content": "Rosalind Franklin was running X-ray studies.\n\nMaurice Wilkins watched.",
            "title": "King's College",
            "source": "notes/kings.md",
            "root": "notes",
            "content_hash": "h1",
            "metadata": {"year": 1952, "tags": ("x", "y"), "nested": {"weights": np.arange(3)}},
        },
        NodeType.DOCUMENT,
    )
    chinese = Node("doc-zh", {"page_content": "罗莎琳德在研究双螺旋结构。", "title": "富兰克林"}, NodeType.DOCUMENT)
    first = Node(
        "chunk-b",  # its id comes after the other's, its place in the text before
        {
            "page_content": "Rosalind Franklin was running X-ray studies.",
            "start": 0,
            "end": 44,
            "page": 1,
            "headings": ["Physics", "Laboratories"],
            "sentences": [[0, 18], [18, 44]],
            "embedding": vectors[0],
            "sentence_embeddings": np.array([[127, 0, 0], [0, 90, 90]], np.int8),
        },
        NodeType.CHUNK,
    )
    second = Node(
        "chunk-a",
        {
            "page_content": "Maurice Wilkins watched.",
            "start": 46,
            "end": 70,
            "sentences": [(0, 24)],
            "embedding": vectors[1],
            "sentence_embeddings": np.array([[0, 0, -127]], np.int8),
        },
        NodeType.CHUNK,
    )
    third = Node(
        "chunk-c",
        {"page_content": "罗莎琳德在研究双螺旋结构。", "start": 0, "end": 13, "embedding": vectors[2]},
        NodeType.CHUNK,
    )
    franklin = Node(
        "entity-2",
        {
            "name": "Rosalind Franklin",
            "entity_type": "person",
            "description": "A chemist",
            "aliases": ["Franklin", "罗莎琳德"],
        },
        NodeType.ENTITY,
    )
    wilkins = Node("entity-1", {"name": "Maurice Wilkins", "entity_type": "person", "aliases": []}, NodeType.ENTITY)
    top = Node(
        "community-0",
        {"level": 0, "path": "0", "title": "King's", "report": "They worked at King's."},
        NodeType.COMMUNITY,
    )
    sub = Node("community-1", {"level": 1, "path": "0,0", "title": "Physics"}, NodeType.COMMUNITY)
    odd = Node(
        UUID(int=7),
        {"tuple": (1, ("a", None)), "matrix": np.zeros((2, 3)), "flag": True, "none": None, "text": "\0\ud800"},
    )
    number = Node(7, {"big": 2**70, "small": 0.1, "bits": np.array([True, False])})
    said = {"description": "She ran\nX-ray studies.", "surface": "Rosalind Franklin", "start": 0, "end": 17}
    links = [
        Relationship(
            "relates",
            wilkins,
            franklin,
            bidirectional=True,
            properties={"relation": "", "weight": 2, "chunks": ["chunk-b"]},
        ),
        Relationship(
            "relates",
            franklin,
            wilkins,
            properties={"relation": "works with", "description": "both at King's", "weight": 1},
        ),
        Relationship("member", franklin, top),
        Relationship("member", wilkins, top),
        Relationship(
            "mention", franklin, third, properties={"surface": "罗莎琳德", "start": 0, "end": 4, "description": ""}
        ),
        Relationship("mention", franklin, first, properties=said),
        Relationship(
            "mention", wilkins, second, properties={"surface": "Maurice Wilkins", "score": (0.5, None), "start": "?"}
        ),
        Relationship("next", first, second),
        Relationship("child", english, second),
        Relationship("child", english, first),
        Relationship("child", chinese, third),
        Relationship("similar", odd, number, id=UUID(int=9), properties={"cosine_similarity": 0.25}),
        Relationship("similar", number, odd, id=3, properties={"vector": np.array([1.5])}),
    ]
    nodes = [number, sub, top, third, second, franklin, odd, wilkins, first, chinese, english]
    return KnowledgeGraph(nodes, links)


CANONICAL: list[NodeId] = [
    *("doc-en", "doc-zh", "chunk-b", "chunk-a", "chunk-c", "entity-1", "entity-2", "community-0", "community-1"),
    *(7, UUID(int=7)),
]
"""The nodes of `rich_graph` as `Store.graph` must give them: a user's own ones at the end, numbers before others."""


def random_changes(graph: KnowledgeGraph, rng: random.Random, count: int = 8) -> list[Change]:
    """Changes that fit a graph one after the other, of every kind; ids, keys and values meet often."""
    draft = graph.copy()
    made: list[Change] = []
    while len(made) < count:
        change = _random_change(draft, rng)
        if change is not None:
            # Nodes are shared with the draft but must belong to the graph, so each gets its own.
            twin = (
                AddNode(Node(change.node.id, change.node.properties, change.node.type))
                if isinstance(change, AddNode)
                else change
            )
            draft.apply([change])
            made.append(twin)
    return made


def _random_change(draft: KnowledgeGraph, rng: random.Random) -> Change | None:
    ids: list[NodeId] = ["a", "b", "c", "d", "文", 1, -2, 2**80, UUID(int=1)]
    nodes, links = [node.id for node in draft.nodes], [link.id for link in draft.relationships]
    kind = rng.choice(["node", "node", "property", "property", "property", "link", "link", "no node", "no link"])
    if kind == "node":
        free = [id for id in ids if id not in nodes]
        if not free:
            return None
        keys = rng.sample(sorted(_VALUES), rng.randrange(4))
        return AddNode(
            Node(rng.choice(free), {key: rng.choice(_VALUES[key]) for key in keys}, rng.choice(list(NodeType)))
        )
    if kind == "link" and nodes:
        free = [id for id in ids if id not in links]
        source, target = (draft.get_node_by_id(rng.choice(nodes)) for _ in range(2))
        if not free or source is None or target is None:
            return None
        said = dict(rng.choice(_SAID))
        type = rng.choice(["child", "child", "child", "mention", "relates", "next"])
        ends = Node(source.id), Node(target.id)  # the graph puts its own nodes of these ids in their place
        return AddRelationship(Relationship(type, *ends, rng.choice(free), type == "relates", said))
    if kind == "property" and nodes:
        key = rng.choice(sorted(_VALUES))
        node = draft.get_node_by_id(rng.choice(nodes))
        if node is None or (rng.random() < 0.2 and key not in node.properties):
            return None
        value = MISSING if key in node.properties and rng.random() < 0.4 else rng.choice(_VALUES[key])
        return SetProperty(node.id, rng.choice([key, key.upper()]), value)
    if kind == "no node" and nodes:
        return RemoveNode(rng.choice(nodes))
    if kind == "no link" and links:
        return RemoveRelationship(rng.choice(links))
    return None


_SAID: list[dict[str, Any]] = [
    *({}, {"start": 3, "surface": "文"}, {"start": "3", "x": (1,)}, {"description": "d", "end": 2**70})
]
_VALUES: dict[str, list[Any]] = {
    "page_content": ["alpha beta", "gamma", "", "中文文本", None, ["alpha"]],
    "title": ["alpha", "delta", None, 5],
    "headings": [["alpha"], "epsilon", ["beta", "gamma"]],
    "start": [0, 5, -1, "5", None],
    "embedding": [np.ones(3, np.float32), np.zeros(3, np.float32), np.arange(3, dtype=np.float32)],
    "sentences": [[[0, 2]], [(0, 1), (1, 2)], ["alpha"], []],
    "x": [1, 1.5, "x", (1, [2]), {"k": np.arange(2)}, np.ones((2, 2)), None, True],
}


def found_by(graph: KnowledgeGraph, word: str) -> set[NodeId]:
    """The chunks that full text must find by a word: it stands in their text, headings or document's title."""
    found = set()
    for chunk in graph.nodes_of(NodeType.CHUNK):
        home = _document_of(graph, chunk)
        text, headings = chunk.get_property("page_content"), chunk.get_property("headings")
        said = [text if isinstance(text, str) else "", *(headings if isinstance(headings, list) else [str(headings)])]
        if word in " ".join([*said, str(home.get_property("title")) if home else ""]).split():
            found.add(chunk.id)
    return found


def _document_of(graph: KnowledgeGraph, chunk: Node) -> Node | None:
    for level in range(1, len(graph.nodes) + 1):
        above = [node for node in get_parent_nodes(chunk, graph, level) if node.type is NodeType.DOCUMENT]
        if above:
            kinds = [int, str, UUID]
            return min(above, key=lambda node: (kinds.index(type(node.id)), node.id))
    return None


class StoreContract(ABC):
    """Inherit, say how a store is made, and pytest does the rest."""

    @abstractmethod
    def make(self, tmp_path: Path) -> Store:
        """A store under this directory: an empty one, or the one that was made there before."""

    def reopen(self, store: Store, tmp_path: Path) -> Store:
        store.close()
        return self.make(tmp_path)

    # writing and reading the graph

    def test_a_graph_comes_back_as_it_was(self, tmp_path: Path) -> None:
        graph, store = rich_graph(), self.make(tmp_path)
        store.write(everything(graph))
        assert content(store.graph()) == content(graph)
        assert content(self.reopen(store, tmp_path).graph()) == content(graph)

    def test_the_order_of_a_graph_is_canonical_whatever_the_order_of_writing(self, tmp_path: Path) -> None:
        saved = set()
        for seed in range(4):
            rng, graph, store = random.Random(seed), rich_graph(), self.make(tmp_path / str(seed))
            nodes, links = list(graph.nodes), list(graph.relationships)
            rng.shuffle(nodes)
            rng.shuffle(links)
            for node in nodes:
                pairs = list(node.properties.items())
                rng.shuffle(pairs)
                store.write([AddNode(Node(node.id, {}, node.type)), *(SetProperty(node.id, *pair) for pair in pairs)])
            for link in links:
                store.write([AddRelationship(link)])
            read = store.graph()
            assert [node.id for node in read.nodes] == CANONICAL
            place = {id: at for at, id in enumerate(CANONICAL)}
            ends = [(link.type, place[link.source.id], place[link.target.id]) for link in read.relationships]
            assert ends == sorted(ends)
            saved.add(json.dumps(read.to_dict()))
            store.close()
        assert len(saved) == 1

    def test_a_store_follows_the_graph_it_listens_to(self, tmp_path: Path) -> None:
        graph, store = KnowledgeGraph(), self.make(tmp_path)
        graph.subscribe(store.write)
        graph.apply(everything(rich_graph()))
        node = graph.get_node_by_id("doc-en")
        assert node is not None
        undo = graph.apply(
            [RemoveNode("doc-en"), RemoveNode("entity-2"), SetProperty("chunk-a", "Page_Content", "Changed.")]
        )
        assert content(store.graph()) == content(graph)
        graph.apply(undo)
        assert content(store.graph()) == content(graph) == content(rich_graph())

    @pytest.mark.parametrize("seed", range(12))
    def test_a_store_follows_any_changes(self, tmp_path: Path, seed: int) -> None:
        self.follow(self.make(tmp_path), random.Random(seed))

    def follow(self, store: Store, rng: random.Random) -> None:
        """The law: after any changes the store holds what the graph does, and finds every chunk by its words."""
        graph = KnowledgeGraph()
        store.set_notes({"made": "yes"})
        graph.subscribe(store.write)
        for _ in range(4):
            undo = graph.apply(random_changes(graph, rng))
            if rng.random() < 0.2:
                graph.apply(undo)
            assert content(store.graph()) == content(graph)
            for word in ("alpha", "beta", "delta"):
                assert {id for id, _ in store.match([word], 99)} == found_by(graph, word)

    def test_removing_a_node_removes_what_hangs_on_it(self, tmp_path: Path) -> None:
        graph, store = rich_graph(), self.make(tmp_path)
        store.write(everything(graph))
        store.write([RemoveNode("chunk-b"), RemoveNode("entity-1")])
        graph.apply([RemoveNode("chunk-b"), RemoveNode("entity-1")])
        assert content(store.graph()) == content(graph)
        passages = store.passages()
        assert passages.chunk_ids == ["chunk-a", "chunk-c"]
        assert passages.vectors.tolist() == [[0, 1, 0], [0, 0, 1]]
        assert passages.sentence_vectors.tolist() == [[0, 0, -127]]
        assert [passages.chunk_ids[chunk] for chunk in passages.mention_chunks] == ["chunk-c"]
        assert store.match(["running"], 10) == []
        with pytest.raises(StoreError):
            store.chunk_texts(["chunk-b"])

    def test_a_property_is_set_changed_and_taken_away(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        store.write([AddNode(Node("n", {"Kept": 1, "x": "text"})), SetProperty("n", "new", 1)])
        for value in (np.arange(4, dtype=np.int8), [1, (2,)], "text", np.ones((2, 2), np.float16), None):
            for key in ("x", "page_content", "sentences"):
                store.write([SetProperty("n", key.upper(), value)])
            read = store.graph().nodes[0].properties
            assert read == {"kept": 1, "new": 1, "x": value, "page_content": value, "sentences": value}
            if isinstance(value, np.ndarray):
                assert read["x"].dtype == value.dtype
                assert read["x"].flags.writeable
        for number in (1, True, 1.0):  # equal, yet not the same
            store.write([SetProperty("n", "new", number)])
            assert type(store.graph().nodes[0].properties["new"]) is type(number)
        store.write([SetProperty("n", key, MISSING) for key in ("x", "page_content", "sentences", "new")])
        assert store.graph().nodes[0].properties == {"kept": 1}

    def test_changes_in_one_list_follow_one_another(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        one, other = Node("a", {"x": 1}), Node("b")
        link = Relationship("knows", one, other, id="r")
        store.write(
            [
                *(
                    AddNode(one),
                    AddNode(other),
                    AddRelationship(link),
                    SetProperty("a", "x", 2),
                    SetProperty("a", "y", 3),
                ),
                *(RemoveNode("b"), AddNode(Node("b", {"second": True})), SetProperty("a", "y", MISSING)),
            ]
        )
        graph = store.graph()
        assert [dict(node.properties) for node in graph.nodes] == [{"x": 2}, {"second": True}]
        assert len(graph.relationships) == 0
        store.write([AddRelationship(link), RemoveRelationship("r"), AddRelationship(link)])
        store.write([RemoveRelationship("r"), AddRelationship(Relationship("likes", other, one, id="r"))])
        assert [(link.type, link.source.id) for link in store.graph().relationships] == [("likes", "b")]
        itself = Relationship("is", other, other, id="r")
        store.write(
            [
                *(RemoveRelationship("r"), AddRelationship(link), RemoveRelationship("r"), AddRelationship(itself)),
                RemoveNode("a"),  # an end of the first "r", not of the one that stands now
            ]
        )
        assert [link.type for link in store.graph().relationships] == ["is"]

    def test_what_is_written_twice_is_kept_once(self, tmp_path: Path) -> None:
        graph, store = rich_graph(), self.make(tmp_path)
        store.write(everything(graph))
        store.write(everything(graph))
        assert content(store.graph()) == content(graph)
        assert len(store.match(["running"], 10)) == 1

    def test_a_write_that_fails_leaves_everything_as_it_was(self, tmp_path: Path) -> None:
        graph, store = KnowledgeGraph(), self.make(tmp_path)
        graph.subscribe(store.write)
        graph.apply(everything(rich_graph()))
        with pytest.raises(GraphError, match=r"'bad'.*'deep\.x'"):
            graph.apply(
                [
                    *(AddNode(Node("good", {"page_content": "quokka"}, NodeType.CHUNK)), RemoveNode("doc-zh")),
                    *(AddNode(Node("bad")), SetProperty("bad", "deep", {"x": float("nan")})),
                ]
            )
        with pytest.raises(GraphError, match="bad"):
            store.write([AddNode(Node("bad", {"x": np.array([np.inf])}))], {"step": "1"})
        with pytest.raises(GraphError, match="bad"):
            store.write([AddNode(Node("bad", {"x": object()}))], {"step": "1"})
        assert content(store.graph()) == content(graph) == content(rich_graph())
        assert store.note("step") is None
        assert store.match(["quokka"], 10) == []
        assert len(store.match(["双螺"], 10)) == 1

    @pytest.mark.parametrize(
        "change",
        [
            SetProperty("nobody", "x", 1),
            RemoveNode("nobody"),
            RemoveRelationship("nothing"),
            AddRelationship(Relationship("knows", Node("somebody"), Node("nobody"))),
        ],
        ids=["property", "node", "relationship", "end"],
    )
    def test_a_change_that_does_not_fit_is_an_error_that_names_it(self, tmp_path: Path, change: Change) -> None:
        store = self.make(tmp_path)
        store.write([AddNode(Node("somebody"))])
        with pytest.raises(StoreError, match=r"nobody|nothing"):
            store.write([SetProperty("somebody", "x", 1), change])
        assert store.graph().nodes[0].properties == {}

    def test_text_that_is_no_unicode_is_kept(self, tmp_path: Path) -> None:
        strange = "half a pair \ud800 and a \0"
        graph = KnowledgeGraph([Node("d", {"page_content": strange, "title": strange}, NodeType.DOCUMENT)])
        chunk = Node(strange, {"page_content": strange, "headings": [strange], strange: strange}, NodeType.CHUNK)
        graph.add(chunk)
        graph.add(Relationship("child", graph.nodes[0], chunk, id=strange, properties={"surface": strange}))
        store = self.make(tmp_path)
        store.write(everything(graph), {strange: strange})
        assert content(store.graph()) == content(graph)
        assert store.note(strange) == strange
        assert store.chunk_texts([strange]) == [strange]
        assert store.passages().titles == [strange]
        assert [document.text for document in store.documents()] == [strange]
        assert [id for id, _ in store.match(["pair"], 1)] == [strange]

    # notes and counts

    def test_notes_are_kept_beside_the_graph(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        store.write([AddNode(Node("n"))], {"embedder": "minilm", "todo": "a"})
        store.set_notes({"todo": "b", "leer": ""})
        store = self.reopen(store, tmp_path)
        assert [store.note(key) for key in ("embedder", "todo", "leer", "other")] == ["minilm", "b", "", None]

    def test_counts_say_how_much_there_is(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        store.set_notes({"made": "yes"})
        assert store.counts() == Counts(0, 0, 0, 0, 0, 0, 0)
        store.write(everything(rich_graph()))
        assert store.counts() == Counts(
            documents=2, chunks=3, entities=2, relationships=2, communities=2, reports=1, mentions=3
        )

    # documents and passages

    def test_documents_are_listed_without_and_with_their_texts(self, tmp_path: Path) -> None:
        graph, store = rich_graph(), self.make(tmp_path)
        store.write(everything(graph))
        assert store.records() == [
            DocumentRecord("doc-en", "King's College", "notes/kings.md", "notes", "h1"),
            DocumentRecord("doc-zh", "富兰克林", "", "", ""),
        ]
        english, chinese = store.documents()
        assert (english.id, english.title, english.source) == ("doc-en", "King's College", "notes/kings.md")
        assert english.text == graph.nodes[-1].get_property("page_content")
        assert english.metadata["tags"] == ("x", "y")
        assert english.metadata["nested"]["weights"].tolist() == [0, 1, 2]
        assert (chinese.text, chinese.metadata) == ("罗莎琳德在研究双螺旋结构。", {})
        assert [document.id for document in store.documents(["doc-zh", "doc-en", "doc-zh"])] == [
            "doc-zh",
            "doc-en",
            "doc-zh",
        ]
        assert store.metadata(["doc-zh", "doc-en"])[0] == {}
        assert store.metadata(["doc-en"])[0]["tags"] == ("x", "y")
        for absent in ("chunk-a", "doc"):
            with pytest.raises(StoreError, match=f"'{absent}'"):
                list(store.documents([absent]))
            with pytest.raises(StoreError, match=f"'{absent}'"):
                store.metadata([absent])

    def test_documents_are_those_of_the_moment_they_were_asked_for(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        store.write(everything(rich_graph()))
        documents = store.documents()
        next(documents)
        store.write([RemoveNode("doc-zh")])
        assert [document.id for document in documents] == ["doc-zh"]
        assert [document.id for document in store.documents()] == ["doc-en"]

    def test_passages_are_arrays_in_canonical_order(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        store.write(everything(rich_graph()))
        passages = store.passages()
        assert passages.chunk_ids == ["chunk-b", "chunk-a", "chunk-c"]
        assert passages.document_ids == ["doc-en", "doc-en", "doc-zh"]
        assert passages.titles == ["King's College", "King's College", "富兰克林"]
        assert passages.headings == ["Laboratories", "", ""]
        assert passages.starts.tolist() == [0, 46, 0]
        assert passages.vectors.tolist() == np.eye(3).tolist()
        assert passages.sentence_chunks.tolist() == [0, 0, 1]
        assert passages.sentence_spans.tolist() == [[0, 18], [18, 44], [0, 24]]
        assert passages.sentence_vectors.tolist() == [[127, 0, 0], [0, 90, 90], [0, 0, -127]]
        assert passages.entity_ids == ["entity-1", "entity-2"]
        assert passages.entity_names == ["Maurice Wilkins", "Rosalind Franklin"]
        assert passages.entity_aliases == [(), ("Franklin", "罗莎琳德")]
        assert passages.entity_types == ["person", "person"]
        assert passages.mention_chunks.tolist() == [0, 1, 2]
        assert passages.mention_entities.tolist() == [1, 0, 1]
        assert passages.mention_starts.tolist() == [0, -1, 0]
        kinds = ("starts", "vectors", "sentence_chunks", "sentence_spans", "sentence_vectors", "mention_starts")
        assert [getattr(passages, kind).dtype.name for kind in kinds] == [
            *("int64", "float32", "int32", "int32", "int8", "int32")
        ]

    def test_passages_without_vectors_have_width_nought(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        store.set_notes({"made": "yes"})
        assert store.passages().vectors.shape == (0, 0)
        store.write([AddNode(Node("c", {"page_content": "Ab.", "sentences": [[0, 3]]}, NodeType.CHUNK))])
        passages = store.passages()
        assert passages.vectors.shape == (1, 0)
        assert passages.sentence_spans.shape == (1, 2)
        assert passages.sentence_vectors.shape == (1, 0)
        assert passages.mention_chunks.shape == (0,)

    def test_a_chunk_without_a_vector_has_zeros(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        store.write(everything(rich_graph()))
        store.write(
            [SetProperty("chunk-b", "embedding", MISSING), SetProperty("chunk-b", "sentence_embeddings", MISSING)]
        )
        passages = store.passages()
        assert passages.vectors.tolist() == [[0, 0, 0], [0, 1, 0], [0, 0, 1]]
        assert passages.sentence_vectors.tolist() == [[0, 0, 0], [0, 0, 0], [0, 0, -127]]

    @pytest.mark.parametrize(
        ("key", "value"),
        [
            ("embedding", np.ones(4, np.float32)),
            ("embedding", np.ones((1, 3), np.float32)),
            ("sentence_embeddings", np.ones((3, 3), np.int8)),
            ("sentence_embeddings", np.ones((2, 3), np.float32)),
            ("sentences", MISSING),
        ],
    )
    def test_vectors_of_another_shape_are_a_mismatch(self, tmp_path: Path, key: str, value: Any) -> None:
        store = self.make(tmp_path)
        store.write(everything(rich_graph()))
        store.write([SetProperty("chunk-b", key, value)])
        with pytest.raises(StoreMismatch, match="index"):
            store.passages()

    def test_texts_of_chunks_come_in_the_order_asked_for(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        store.write([*everything(rich_graph()), AddNode(Node("empty", type=NodeType.CHUNK))])
        assert store.chunk_texts(["chunk-a", "empty", "chunk-c", "chunk-a"]) == [
            *("Maurice Wilkins watched.", "", "罗莎琳德在研究双螺旋结构。", "Maurice Wilkins watched.")
        ]
        assert store.chunk_texts([]) == []
        with pytest.raises(StoreError, match="doc-en"):
            store.chunk_texts(["chunk-a", "doc-en"])

    # full text

    @pytest.mark.parametrize(
        ("terms", "found"),
        [
            (["run"], {"chunk-b"}),
            (["studying", "watches"], {"chunk-b", "chunk-a"}),
            (["双螺", "螺旋"], {"chunk-c"}),
            (["富兰"], {"chunk-c"}),  # the document's title
            (["college"], {"chunk-b", "chunk-a"}),
            (["laboratory"], {"chunk-b"}),  # a heading
            (["physics"], {"chunk-b"}),
            (["quantum"], set()),
            ([], set()),
            ([""], set()),
        ],
    )
    def test_words_are_found_stemmed_and_chinese_by_pairs(
        self, tmp_path: Path, terms: list[str], found: set[str]
    ) -> None:
        store = self.make(tmp_path)
        store.write(everything(rich_graph()))
        hits = store.match(terms, 10)
        assert {id for id, _ in hits} == found
        assert all(score > 0 for _, score in hits)

    def test_the_best_match_comes_first_and_ties_go_by_id(self, tmp_path: Path) -> None:
        texts = {"c": "zebra", "a": "zebra", "b": "zebra and lion"} | {f"other{at}": "cow" for at in range(9)}
        store = self.make(tmp_path)
        store.write([AddNode(Node(id, {"page_content": text}, NodeType.CHUNK)) for id, text in texts.items()])
        hits = store.match(["zebra", "lion", "zebras"], 10)
        assert [id for id, _ in hits] == ["b", "a", "c"]
        assert [score for _, score in hits] == sorted((score for _, score in hits), reverse=True)
        assert store.match(["zebra", "lion"], 2) == hits[:2]
        assert store.match(["zebra"], 0) == []

    def test_full_text_follows_texts_titles_headings_and_homes(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        store.write(everything(rich_graph()))

        def found(term: str) -> list[str]:
            return sorted(id for id, _ in store.match([term], 10))

        store.write(
            [SetProperty("chunk-a", "page_content", "Gosling took it."), SetProperty("doc-en", "title", "Strand")]
        )
        assert (found("watched"), found("gosling")) == ([], ["chunk-a"])
        assert (found("college"), found("strand")) == ([], ["chunk-a", "chunk-b"])
        store.write([SetProperty("chunk-b", "headings", MISSING), RemoveNode("doc-en")])
        assert (found("laboratories"), found("strand"), found("franklin")) == ([], [], ["chunk-b"])
        chinese = Node("doc-zh")
        store.write([AddRelationship(Relationship("child", chinese, Node("chunk-a"), id="moved"))])
        assert found("富兰") == ["chunk-a", "chunk-c"]
        store.write([RemoveRelationship("moved")])
        assert found("富兰") == ["chunk-c"]

    @pytest.mark.parametrize(
        "terms",
        [
            ['"', "zebra"],
            ['zebra" OR "x'],
            ["zebra", "AND", "OR", "NOT"],
            ["NEAR(", "zebra"],
            ["zebra*", "*"],
            ["zebra\0lion"],
            ["^zebra", "words:", "{words}", "-", "+", "'", ";"],
            ["\ud800", "zebra"],
            ["___", "zebra"],
            ["ｚｅｂｒａ"],
            [f"word{number}" for number in range(10_000)] + ["zebra"],
            ["zebra"] + [f"word{number}" for number in range(10_000)],
        ],
    )
    def test_a_hostile_term_is_only_a_word(self, tmp_path: Path, terms: list[str]) -> None:
        store = self.make(tmp_path)
        texts = ["A zebra near the river.", "A lion and a cow.", *(f"word{number}" for number in range(40))]
        store.write([AddNode(Node(f"c{at}", {"page_content": text}, NodeType.CHUNK)) for at, text in enumerate(texts)])
        hits = [id for id, _ in store.match(terms, 100)]
        assert ("c0" in hits) or len(terms) > 1000
        assert len(hits) <= 40

    # several at once

    def test_readers_beside_a_writer_see_whole_steps(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)
        store.set_notes({"made": "yes"})
        done = threading.Event()
        torn: list[str] = []

        def read() -> None:
            while not done.is_set():
                try:
                    nodes, passages = len(store.graph().nodes), store.passages()
                    texts = store.chunk_texts(passages.chunk_ids)
                    found = len(store.match(["zebra"], 10_000))
                    if nodes % 10 or len(passages.chunk_ids) % 10 or found % 10 or len(passages.vectors) != len(texts):
                        torn.append(f"{nodes} nodes, {len(passages.chunk_ids)} chunks, {found} found")
                except BaseException as error:
                    torn.append(repr(error))
                    raise

        readers = [threading.Thread(target=read) for _ in range(2)]
        for reader in readers:
            reader.start()
        said = {"page_content": "a zebra", "embedding": np.ones(3, np.float32)}
        for step in range(15):
            store.write([AddNode(Node(f"{step}-{at}", dict(said), NodeType.CHUNK)) for at in range(10)])
        done.set()
        for reader in readers:
            reader.join()
        assert torn == []
        assert store.counts().chunks == 150

    def test_several_threads_may_write(self, tmp_path: Path) -> None:
        store = self.make(tmp_path)

        def write(name: str) -> None:
            for step in range(5):
                store.write([AddNode(Node(f"{name}{step}"))], {name: str(step)})

        writers = [threading.Thread(target=write, args=(name,)) for name in "abc"]
        for writer in writers:
            writer.start()
        for writer in writers:
            writer.join()
        assert len(store.graph().nodes) == 15
        assert [store.note(name) for name in "abc"] == ["4", "4", "4"]
