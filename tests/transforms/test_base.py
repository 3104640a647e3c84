from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import pytest
from tests.strategies import saved

from knotwork.graph import AddNode, Change, KnowledgeGraph, Node, NodeType, Relationship, SetProperty
from knotwork.threads import in_thread
from knotwork.transforms.base import (
    BaseGraphTransformation,
    Extractor,
    GraphTransform,
    NodeFilter,
    RelationshipBuilder,
    Splitter,
    default_filter,
    in_coroutine,
    label,
)
from knotwork.transforms.engine import apply_transforms


@dataclass
class Upper(Extractor):
    property_name: str = "upper"
    seen: list[Any] = field(default_factory=list)

    async def extract(self, node: Node) -> tuple[str, Any]:
        self.seen.append(node.id)
        text = node.get_property("page_content")
        return self.property_name, text.upper() if text else None


@dataclass
class Halves(Splitter):
    seen: list[Any] = field(default_factory=list)

    async def split(self, node: Node) -> tuple[list[Node], list[Relationship]]:
        self.seen.append(node.id)
        text = node.get_property("page_content") or ""
        if len(text) < 2:
            return [], []
        middle = len(text) // 2
        parts = [
            Node(f"{node.id}.{at}", {"page_content": part}) for at, part in enumerate((text[:middle], text[middle:]))
        ]
        return parts, [*(Relationship("child", node, part) for part in parts), Relationship("next", *parts)]


@dataclass
class AllPairs(RelationshipBuilder):
    async def transform(self, kg: KnowledgeGraph) -> list[Relationship]:
        return [Relationship("pair", one, other) for one in kg.nodes for other in kg.nodes if one.id < other.id]


@dataclass
class Drop(NodeFilter):
    flagged: tuple[Any, ...] = ()
    seen: list[Any] = field(default_factory=list)

    async def custom_filter(self, node: Node, kg: KnowledgeGraph) -> bool:
        self.seen.append(node.id)
        return node.id in self.flagged


def texts(**given: str) -> KnowledgeGraph:
    return KnowledgeGraph([Node(id, {"page_content": text}) for id, text in given.items()])


def chain(length: int) -> KnowledgeGraph:
    graph = KnowledgeGraph([Node(f"c{at}") for at in range(length)])
    nodes = graph.nodes
    graph.add_all(Relationship("next", nodes[at], nodes[at + 1]) for at in range(length - 1))
    return graph


def links_of(graph: KnowledgeGraph) -> set[tuple[str, Any, Any]]:
    return {(link.type, link.source.id, link.target.id) for link in graph.relationships}


# -- all transforms -------------------------------------------------------------------------------


def test_name_and_filter_come_first_and_an_empty_name_becomes_the_class_name() -> None:
    assert Upper("mine", lambda node: True, "other").property_name == "other"
    assert Upper(name="n", property_name="y").name == "n"
    assert Upper().name == "Upper"
    assert Upper().filter_nodes is default_filter
    assert repr(default_filter) == "default_filter"


def test_a_subclass_that_makes_itself_without_the_dataclass_still_works() -> None:
    class Bare(Extractor):
        def __init__(self) -> None:
            self.prefix = "x"

        async def extract(self, node: Node) -> tuple[str, Any]:
            return "bare", self.prefix

    graph = texts(a="t")
    apply_transforms(graph, Bare())
    assert graph.nodes[0].get_property("bare") == "x"
    assert label(Bare()) == "Bare"
    assert Bare().told_apart_by() == ""


def test_the_filter_may_be_any_callable() -> None:
    class Chosen:
        def __call__(self, node: Node) -> bool:
            return node.id == "b"

        def method(self, node: Node) -> bool:
            return node.id == "b"

    @dataclass
    class Own(Upper):
        def filter_nodes(self, node: Node) -> bool:  # type: ignore[override]
            return node.id == "b"

    for transform in (
        Upper(filter_nodes=Chosen()),
        Upper(filter_nodes=Chosen().method),
        Upper(filter_nodes=lambda node: node.id == "b"),
        Own(),
    ):
        graph = texts(a="x", b="y")
        apply_transforms(graph, transform)
        assert transform.seen == ["b"]
        assert [node.id for node in transform.filter(graph).nodes] == ["b"]


def test_filter_gives_the_same_nodes_and_the_relationships_with_both_ends_kept() -> None:
    graph = chain(3)
    part = AllPairs(filter_nodes=lambda node: node.id != "c0").filter(graph)
    assert [node is graph.nodes[at] for at, node in enumerate(part.nodes, 1)] == [True, True]
    assert links_of(part) == {("next", "c1", "c2")}
    assert AllPairs().filter(graph) is graph


@pytest.mark.parametrize("kind", [BaseGraphTransformation, Extractor, Splitter, RelationshipBuilder, NodeFilter])
def test_a_transform_without_its_method_cannot_be_made(kind: Any) -> None:
    with pytest.raises(TypeError, match="abstract"):
        kind()


@pytest.mark.parametrize("transform", [Upper(), Halves(), AllPairs(), Drop(flagged=("a",))], ids=label)
def test_an_execution_plan_is_coroutines_that_write_into_the_graph(transform: Any) -> None:
    planned, applied = texts(a="ab", b="cd"), texts(a="ab", b="cd")

    async def run() -> None:
        for coroutine in transform.generate_execution_plan(planned):
            assert saved(planned) is not None
            await coroutine

    asyncio.run(run())
    apply_transforms(applied, transform)
    applied.journal.clear()
    assert planned == applied
    assert saved(planned) != saved(texts(a="ab", b="cd"))


def test_settings_tell_transforms_of_one_name_apart_and_equal_ones_not() -> None:
    assert Upper(property_name="a").told_apart_by() != Upper(property_name="b").told_apart_by()
    one, other = Upper(), Upper(filter_nodes=lambda node: True)
    one.seen.append("counted")
    assert one.told_apart_by() == other.told_apart_by()


def test_names_that_a_user_would_choose_are_free() -> None:
    @dataclass
    class Mine(Upper):
        calls: int = 0
        changes: int = 0
        settings: int = 0
        batch_size: int = 5  # type: ignore[misc]

        async def extract(self, node: Node) -> tuple[str, Any]:
            self.calls += 1
            return await super().extract(node)

    graph, mine = texts(a="", b=""), Mine()
    apply_transforms(graph, mine)
    apply_transforms(graph, Mine())
    assert mine.calls == 2


# -- extractors -----------------------------------------------------------------------------------


def test_an_extractor_computes_and_does_not_write() -> None:
    graph = texts(a="x", b="", c="z")
    before = saved(graph)
    found = asyncio.run(Upper().transform(graph))
    assert found == [(graph.nodes[0], ("upper", "X")), (graph.nodes[2], ("upper", "Z"))]
    assert saved(graph) == before


def test_a_node_that_has_the_property_in_any_case_is_skipped_before_extract_is_paid_for() -> None:
    graph = texts(a="x", b="y", c="z")
    graph.nodes[0].properties["UPPER"] = "there"
    graph.nodes[1].properties["upper"] = None  # nothing is there
    upper = Upper(property_name="Upper")
    assert upper.writes == {"upper"}
    asyncio.run(upper.transform(graph))
    apply_transforms(graph, upper)
    assert upper.seen == ["b", "c", "b", "c"]
    assert [node.get_property("upper") for node in graph.nodes] == ["there", "Y", "Z"]


def test_an_extractor_without_a_property_name_is_remembered_by_the_names_it_returned() -> None:
    class Named(Extractor):
        calls = 0

        async def extract(self, node: Node) -> tuple[str, Any]:
            Named.calls += 1
            return ("Short" if len(node.get_property("page_content")) < 3 else "long"), True

    graph = texts(a="x", b="yyyy")
    apply_transforms(graph, Named())
    apply_transforms(graph, Named())
    again = KnowledgeGraph.from_dict(graph.to_dict())
    apply_transforms(again, Named())
    assert Named.calls == 2
    again.add(Node("c", {"page_content": "z"}))
    apply_transforms(again, Named())
    assert Named.calls == 3


def test_an_extractor_that_returns_another_name_than_its_own_is_not_paid_twice() -> None:
    @dataclass
    class Other(Upper):
        async def extract(self, node: Node) -> tuple[str, Any]:
            return "other", (await super().extract(node))[1]

    graph, transform = texts(a="x"), Other()
    apply_transforms(graph, transform)
    apply_transforms(graph, transform)
    assert transform.seen == ["a"]


def test_none_is_never_stored_and_not_asked_for_again_also_after_loading() -> None:
    graph = texts(a="", b="y")
    first, second, third = Upper(), Upper(), Upper()
    apply_transforms(graph, first)
    assert "upper" not in graph.nodes[0].properties
    before = saved(graph)
    apply_transforms(graph, second)
    assert saved(graph) == before
    again = KnowledgeGraph.from_dict(graph.to_dict())
    apply_transforms(again, third)
    assert (first.seen, second.seen, third.seen) == (["a", "b"], [], [])


def test_transforms_of_one_name_do_not_share_what_they_remember() -> None:
    graph = texts(a="")
    apply_transforms(graph, Upper(property_name="one"))
    other = Upper(property_name="two")
    apply_transforms(graph, other)
    assert other.seen == ["a"]


def test_a_node_that_was_removed_and_made_anew_is_asked_about_again() -> None:
    graph, upper = texts(a="", b=""), Upper()
    apply_transforms(graph, upper)
    graph.remove_node(graph.nodes[0])
    graph.add(Node("a", {"page_content": "x"}))
    apply_transforms(graph, upper)
    assert upper.seen == ["a", "b", "a"]


def test_an_extractor_can_take_nodes_in_batches() -> None:
    @dataclass
    class Batched(Extractor):
        property_name: str = "size"
        batch_size: ClassVar[int] = 2
        seen: list[Any] = field(default_factory=list)

        async def extract(self, node: Node) -> tuple[str, Any]:
            raise AssertionError

        async def extract_many(self, nodes: Sequence[Node]) -> list[tuple[str, Any]]:
            self.seen.append([node.id for node in nodes])
            return [(self.property_name, len(nodes)) for _ in nodes]

    graph, batched = texts(a="", b="", c=""), Batched()
    assert len(asyncio.run(batched.transform(graph))) == 3
    apply_transforms(graph, batched)
    assert batched.seen == [["a", "b"], ["c"]] * 2
    assert [node.get_property("size") for node in graph.nodes] == [2, 2, 1]


def test_extract_many_asks_extract_for_each_also_where_that_is_a_plain_function() -> None:
    class Plain(Extractor):
        def extract(self, node: Node) -> tuple[str, Any]:  # type: ignore[override]
            return "x", node.id

    assert asyncio.run(Plain().extract_many([Node(1), Node(2)])) == [("x", 1), ("x", 2)]


@pytest.mark.parametrize("wrong", [None, "upper", ("upper",), (1, "value"), ["upper", "x"]])
def test_an_extract_that_returns_no_pair_is_a_type_error_that_names_the_node(wrong: Any) -> None:
    class Wrong(Extractor):
        async def extract(self, node: Node) -> tuple[str, Any]:
            return wrong  # type: ignore[no-any-return]

    with pytest.raises(TypeError, match=r"Wrong failed on node 'a': extract must return a pair"):
        apply_transforms(texts(a="x"), Wrong())


def test_an_extract_many_that_returns_too_few_pairs_is_a_type_error() -> None:
    class Short(Upper):
        batch_size: ClassVar[int] = 2

        async def extract_many(self, nodes: Sequence[Node]) -> list[tuple[str, Any]]:
            return [("x", 1)]

    with pytest.raises(TypeError, match="1 pairs for 2 nodes"):
        apply_transforms(texts(a="x", b="y"), Short())


# -- splitters ------------------------------------------------------------------------------------


def test_a_splitter_computes_and_does_not_write() -> None:
    graph = texts(a="ab", b="x")
    before = saved(graph)
    nodes, links = asyncio.run(Halves().transform(graph))
    assert [node.id for node in nodes] == ["a.0", "a.1"]
    assert [link.type for link in links] == ["child", "child", "next"]
    assert saved(graph) == before


def test_a_node_that_was_split_or_cannot_be_split_is_left_as_it_is() -> None:
    documents = {"filter_nodes": lambda node: "." not in node.id}
    graph, halves = texts(a="abcd", b="x"), Halves(**documents)
    apply_transforms(graph, halves)
    assert [node.id for node in graph.nodes] == ["a", "b", "a.0", "a.1"]
    before = saved(graph)
    apply_transforms(graph, halves)
    apply_transforms(graph, Halves(**documents))
    again = KnowledgeGraph.from_dict(graph.to_dict())
    apply_transforms(again, late := Halves(**documents))
    assert saved(graph) == saved(again) == before
    assert (halves.seen, late.seen) == (["a", "b"], [])


def test_two_splitters_of_one_class_each_split_with_their_own_settings() -> None:
    @dataclass
    class Cut(Splitter):
        size: int = 1

        async def split(self, node: Node) -> tuple[list[Node], list[Relationship]]:
            return [Node(f"{node.id}/{self.size}")], []

    graph = texts(a="x")
    only_a = {"filter_nodes": lambda node: node.id == "a"}
    apply_transforms(graph, [Cut(size=1, **only_a), Cut(size=2, **only_a)])
    assert [node.id for node in graph.nodes] == ["a", "a/1", "a/2"]


def test_a_split_that_returns_no_pair_is_a_type_error_that_names_the_node() -> None:
    class Wrong(Splitter):
        async def split(self, node: Node) -> Any:
            return [Node("b")]

    with pytest.raises(TypeError, match="Wrong failed on node 'a': split must return a pair"):
        apply_transforms(texts(a="x"), Wrong())


# -- relationship builders ------------------------------------------------------------------------


def test_a_builder_honours_its_filter_called_directly_or_by_the_engine() -> None:
    graph = texts(a="", b="", c="")
    some = AllPairs(filter_nodes=lambda node: node.id != "b")
    direct = asyncio.run(some.transform(graph))
    assert [(link.source.id, link.target.id) for link in direct] == [("a", "c")]
    assert direct[0].source is graph.nodes[0]
    apply_transforms(graph, some)
    assert links_of(graph) == {("pair", "a", "c")}


def test_a_builder_honours_its_filter_also_as_a_plain_function_and_through_inheritance() -> None:
    class Plain(RelationshipBuilder):
        def transform(self, kg: KnowledgeGraph) -> list[Relationship]:  # type: ignore[override]
            assert threading.current_thread() is not threading.main_thread()
            return [Relationship("self", node, node) for node in kg.nodes]

    class Both(AllPairs):
        async def transform(self, kg: KnowledgeGraph) -> list[Relationship]:
            return [*await super().transform(kg), *(Relationship("own", node, node) for node in kg.nodes)]

    graph = texts(a="", b="", c="")
    keep = {"filter_nodes": lambda node: node.id != "c"}
    assert len(asyncio.run(Plain(**keep).transform(graph))) == 2
    assert [link.type for link in asyncio.run(Both(**keep).transform(graph))] == ["pair", "own", "own"]


def test_a_relationship_that_is_there_already_is_added_once() -> None:
    graph = texts(a="", b="")
    apply_transforms(graph, [AllPairs(), AllPairs(name="again")])
    assert len(graph.relationships) == 1


# -- filters --------------------------------------------------------------------------------------


def test_a_filter_returns_a_graph_without_every_flagged_node_and_leaves_the_given_one_alone() -> None:
    graph = chain(4)
    before = saved(graph)
    smaller = asyncio.run(Drop(flagged=("c0", "c1", "c2")).transform(graph))
    assert [node.id for node in smaller.nodes] == ["c3"]
    assert saved(graph) == before


@pytest.mark.parametrize("way", ["directly", "by the engine"])
def test_removed_chunks_leave_a_bridge_in_their_next_chain(way: str) -> None:
    graph, drop = chain(6), Drop(flagged=("c1", "c2", "c4"))
    if way == "directly":
        graph = asyncio.run(drop.transform(graph))
    else:
        apply_transforms(graph, drop)
    assert links_of(graph) == {("next", "c0", "c3"), ("next", "c3", "c5")}


@pytest.mark.parametrize("flagged", [("c0",), ("c3",), ("c0", "c1"), ("c0", "c1", "c2", "c3")])
def test_the_ends_of_a_chain_need_no_bridge(flagged: tuple[str, ...]) -> None:
    graph = chain(4)
    apply_transforms(graph, Drop(flagged=flagged))
    kept = [f"c{at}" for at in range(4) if f"c{at}" not in flagged]
    assert links_of(graph) == {("next", one, other) for one, other in pairwise(kept)}


def test_a_bridge_ties_no_node_to_itself_and_no_pair_twice() -> None:
    ring = chain(3)
    ring.add(Relationship("next", ring.nodes[2], ring.nodes[0]))
    apply_transforms(ring, Drop(flagged=("c1", "c2")))
    assert links_of(ring) == set()
    tied = chain(3)
    tied.add(Relationship("next", tied.nodes[0], tied.nodes[2], id="own"))
    apply_transforms(tied, Drop(flagged=("c1",)))
    assert [link.id for link in tied.relationships] == ["own"]


def test_a_bridge_spans_forks() -> None:
    graph = chain(3)
    graph.add(Node("d"))
    graph.add(Relationship("next", graph.nodes[1], graph.nodes[3]))
    apply_transforms(graph, Drop(flagged=("c1",)))
    assert links_of(graph) == {("next", "c0", "c2"), ("next", "c0", "d")}


def test_all_verdicts_are_taken_on_the_same_graph_then_applied() -> None:
    @dataclass
    class HasSuccessor(NodeFilter):
        async def custom_filter(self, node: Node, kg: KnowledgeGraph) -> bool:
            await asyncio.sleep(0)
            return bool(kg.neighbors(node, "next", "out"))

    graph = chain(4)
    apply_transforms(graph, HasSuccessor())
    assert [node.id for node in graph.nodes] == ["c3"]


def test_verdicts_are_remembered_also_after_loading() -> None:
    graph = chain(3)
    first, second, third = Drop(flagged=("c1",)), Drop(flagged=("c1",)), Drop(flagged=("c1",))
    apply_transforms(graph, first)
    before = saved(graph)
    apply_transforms(graph, second)
    again = KnowledgeGraph.from_dict(graph.to_dict())
    apply_transforms(again, third)
    assert saved(graph) == saved(again) == before
    assert (first.seen, second.seen, third.seen) == (["c0", "c1", "c2"], [], [])
    again.add(Node("new"))
    apply_transforms(again, third)
    assert third.seen == ["new"]


def test_a_chunk_that_a_filter_removed_is_not_made_again_nor_tied_to_anything() -> None:
    graph = texts(a="abcd")
    drop = Drop(filter_nodes=lambda node: "." in node.id, flagged=("a.0",))
    apply_transforms(graph, [Halves(filter_nodes=lambda node: node.id == "a"), drop])
    again = KnowledgeGraph.from_dict(graph.to_dict())
    before = saved(again)
    # a splitter of another name does not know that the document was split
    report = apply_transforms(again, Halves(name="anew", filter_nodes=lambda node: node.id == "a"))
    assert [node.id for node in again.nodes] == ["a", "a.1"]
    assert links_of(again) == {("child", "a", "a.1")}
    assert report.stages[0].dropped == 3
    assert saved(again) != before  # the new splitter is remembered


def test_a_node_put_back_by_hand_after_a_filter_removed_it_is_there_to_stay() -> None:
    graph = texts(a="", b="", c="")
    drop = Drop(flagged=("b",))
    apply_transforms(graph, drop)
    graph.add(Node("b"))
    apply_transforms(graph, AllPairs())
    assert ("pair", "a", "b") in links_of(graph)


# -- any other transform --------------------------------------------------------------------------


def test_a_graph_transform_returns_the_changes_it_wants() -> None:
    @dataclass
    class Count(GraphTransform):
        async def transform(self, kg: KnowledgeGraph) -> Sequence[Change]:
            return [AddNode(Node("sum", {"n": len(kg.nodes)}, NodeType.COMMUNITY)), SetProperty("a", "Seen", True)]

    graph = texts(a="", b="")
    apply_transforms(graph, Count(filter_nodes=lambda node: node.id == "a"))
    assert graph.nodes[2].get_property("n") == 1
    assert graph.nodes[0].get_property("seen") is True


# -- threads --------------------------------------------------------------------------------------


def test_blocking_functions_run_in_threads_as_many_as_there_are_at_once() -> None:
    together = threading.Barrier(40)

    async def run() -> list[int]:
        return await asyncio.gather(*(in_thread(together.wait, 20) for _ in range(40)))

    assert sorted(asyncio.run(run())) == list(range(40))


def test_what_a_thread_raises_arrives_where_it_is_awaited() -> None:
    def fail(error: BaseException) -> None:
        raise error

    for error in (ValueError("x"), KeyboardInterrupt()):
        with pytest.raises(type(error)):
            asyncio.run(in_thread(fail, error))
    with pytest.raises(RuntimeError, match="StopIteration"):
        asyncio.run(in_thread(fail, StopIteration()))


def test_a_function_that_returns_an_awaitable_is_awaited() -> None:
    async def twice(value: int) -> int:
        return 2 * value

    assert in_coroutine(twice) is twice
    assert asyncio.run(in_coroutine(lambda value: twice(value))(2)) == 4


def test_what_a_thread_writes_is_recorded_with_the_task_that_waits_for_it() -> None:
    graph = texts(a="")

    async def run() -> list[Change]:
        with graph.recording() as made:
            await in_thread(graph.nodes[0].add_property, "x", 1)
        return made

    assert asyncio.run(run()) == [SetProperty("a", "x", 1)]
