from __future__ import annotations

import asyncio
import inspect
import io
import logging
import os
import signal
import subprocess
import sys
import threading
import warnings
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given, reject
from hypothesis import strategies as st
from tests import strategies as some
from tests.strategies import dangling, saved

from knotwork.errors import InputError, MissingExtra, ModelError, TransformError
from knotwork.graph import (
    AddNode,
    AddRelationship,
    Change,
    KnowledgeGraph,
    Node,
    Relationship,
    RemoveNode,
    RemoveRelationship,
    SetProperty,
)
from knotwork.threads import in_thread
from knotwork.transforms.base import (
    BaseGraphTransformation,
    Extractor,
    GraphTransform,
    NodeFilter,
    RelationshipBuilder,
    Splitter,
)
from knotwork.transforms.engine import (
    Event,
    Parallel,
    Report,
    RunConfig,
    Skipped,
    aapply_transforms,
    apply_transforms,
    rollback_transforms,
    run_sync,
)

AT_ONCE = RunConfig(max_retries=0)
NO_WAIT = RunConfig(max_wait=0)


class Gauge:
    """How many calls run at once, at most."""

    def __init__(self) -> None:
        self.now = self.peak = self.calls = 0
        self.lock = threading.Lock()

    def __enter__(self) -> None:
        with self.lock:
            self.calls += 1
            self.now += 1
            self.peak = max(self.peak, self.now)

    def __exit__(self, *_: object) -> None:
        with self.lock:
            self.now -= 1


@dataclass
class Mark(Extractor):
    """Writes the node's id; fails on the nodes of `broken`."""

    property_name: str = "mark"
    broken: dict[Any, BaseException] = field(default_factory=dict)
    seen: list[Any] = field(default_factory=list)

    async def extract(self, node: Node) -> tuple[str, Any]:
        self.seen.append(node.id)
        await asyncio.sleep(0)
        if node.id in self.broken:
            raise self.broken[node.id]
        return self.property_name, f"{self.property_name} of {node.id}"


@dataclass
class Halves(Splitter):
    async def split(self, node: Node) -> tuple[list[Node], list[Relationship]]:
        parts = [Node(f"{node.id}.{at}") for at in range(2)]
        return parts, [*(Relationship("child", node, part) for part in parts), Relationship("next", *parts)]


@dataclass
class Pairs(RelationshipBuilder):
    type: str = "pair"

    async def transform(self, kg: KnowledgeGraph) -> list[Relationship]:
        return [Relationship(self.type, one, other) for one, other in pairwise(kg.nodes)]


@dataclass
class Drop(NodeFilter):
    flagged: tuple[Any, ...] = ()

    async def custom_filter(self, node: Node, kg: KnowledgeGraph) -> bool:
        return node.id in self.flagged


@dataclass
class Want(GraphTransform):
    """Yields the changes given."""

    wanted: Sequence[Change] = ()

    async def transform(self, kg: KnowledgeGraph) -> Sequence[Change]:
        return self.wanted


@dataclass
class Scribble(BaseGraphTransformation):
    """A user's transform that writes into the graph by itself, in every way there is."""

    async def transform(self, kg: KnowledgeGraph) -> None:
        first, second, *_ = kg.nodes
        first.add_property("own", [1])
        first.properties["LIST"] = [0]
        second.properties["list"].append("more")
        del second.properties["tag"]
        new = Node("new", {"text": "n"})
        kg.nodes.append(new)
        new.properties["later"] = 1
        kg.relationships.extend([Relationship("made", first, new), Relationship("made", new, second)])
        await asyncio.sleep(0)
        kg.remove_node(kg.nodes[2])


@dataclass
class Planned(BaseGraphTransformation):
    """A user's transform with a plan of its own; later coroutines end first."""

    broken: tuple[Any, ...] = ()

    async def transform(self, kg: KnowledgeGraph) -> Any:
        raise AssertionError("the plan is what runs")

    def generate_execution_plan(self, kg: KnowledgeGraph) -> Sequence[Coroutine[Any, Any, None]]:
        async def write(node: Node, wait: float) -> None:
            kg.add(made := Node(f"{node.id}+", {"from": node.id}))
            await asyncio.sleep(wait)
            if node.id in self.broken:
                raise ModelError("no answer")
            node.properties["planned"] = True
            kg.add(Relationship("made", node, made))

        nodes = list(self.filter(kg).nodes)
        return [write(node, 0.01 * (len(nodes) - at)) for at, node in enumerate(nodes)]


def graph_of(*ids: Any) -> KnowledgeGraph:
    return KnowledgeGraph([Node(id, {"list": [1], "tag": "t", "vector": np.ones(2)}) for id in ids])


def chain(*ids: Any) -> KnowledgeGraph:
    graph = graph_of(*ids)
    apply_transforms(graph, Pairs(type="next"))
    graph.journal.clear()
    return graph


def ids_of(graph: KnowledgeGraph) -> list[Any]:
    return [node.id for node in graph.nodes]


def marks(graph: KnowledgeGraph, key: str = "mark") -> list[Any]:
    return [node.id for node in graph.nodes if key in node.properties]


# -- what can be applied --------------------------------------------------------------------------


def test_a_list_one_transform_a_parallel_and_any_nesting_can_be_applied() -> None:
    nested = Parallel(Mark("", property_name="a"), Parallel(Mark(property_name="b"), Parallel(Mark(property_name="c"))))
    assert len(nested.transformations) == 2
    assert repr(nested).startswith("Parallel(Mark(")
    for transforms in (Mark(), [Mark()], (Mark(), Pairs()), nested, [nested, Mark(property_name="d")], [], Parallel()):
        graph = graph_of(1, 2)
        report = apply_transforms(graph, transforms)  # type: ignore[arg-type]
        assert isinstance(report, Report)
        assert all(stage.done == len(marks(graph, stage.transform)) or True for stage in report.stages)
    graph = graph_of(1)
    apply_transforms(graph, nested)
    assert set(graph.nodes[0].properties) >= {"a", "b", "c"}


@pytest.mark.parametrize(
    "wrong",
    ["Mark", None, 5, [Mark(), "Mark"], [Mark], Parallel("x"), [Parallel(Parallel(5))], [[Mark()]], {"a": Mark()}],
)
def test_anything_else_is_a_value_error_before_anything_runs(wrong: Any) -> None:
    graph = graph_of(1)
    before = saved(graph)
    with pytest.raises(ValueError, match="transform"):
        apply_transforms(graph, wrong)
    with pytest.raises(ValueError, match="transform"):
        rollback_transforms(graph, wrong)
    assert saved(graph) == before


def test_wrong_options_are_refused_by_name() -> None:
    graph = graph_of(1)
    with pytest.raises(InputError, match="'ignore'"):
        apply_transforms(graph, Mark(), on_error="ignore")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="RunConfig"):
        apply_transforms(graph, Mark(), {"timeout": 5})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="callback"):
        apply_transforms(graph, Mark(), callbacks=["tell"])  # type: ignore[list-item]


@pytest.mark.parametrize(
    "wrong",
    [
        {"max_workers": 0},
        {"max_retries": -1},
        {"timeout": 0},
        {"timeout": None},
        {"max_wait": -1},
        {"exception_types": "all"},
        {"exception_types": [OSError]},
    ],
)
def test_a_run_config_that_cannot_work_is_refused(wrong: Any) -> None:
    with pytest.raises(InputError, match="RunConfig"):
        RunConfig(**wrong)


def test_the_signature_is_the_documented_one() -> None:
    parameters = inspect.signature(apply_transforms).parameters
    assert list(parameters) == ["kg", "transforms", "run_config", "callbacks", "on_error"]
    assert parameters["run_config"].default == RunConfig(180, 10, 60, 16, (Exception,), False, 42)
    assert parameters["on_error"].kind is inspect.Parameter.KEYWORD_ONLY


# -- at the same time -----------------------------------------------------------------------------


@dataclass
class Slow(Extractor):
    property_name: str = "slow"
    gauge: Gauge = field(default_factory=Gauge)

    async def extract(self, node: Node) -> tuple[str, Any]:
        with self.gauge:
            await asyncio.sleep(0.02)
        return self.property_name, 1


@dataclass
class SlowSync(Slow):
    def extract(self, node: Node) -> tuple[str, Any]:  # type: ignore[override]
        with self.gauge:
            self.barrier.wait(timeout=20)
        return self.property_name, threading.current_thread() is threading.main_thread()

    barrier: Any = None


@pytest.mark.parametrize(("workers", "peak"), [(16, 15), (4, 4), (1, 1)])
def test_members_of_a_parallel_run_at_the_same_time_bounded_together(workers: int, peak: int) -> None:
    gauge = Gauge()
    apply_transforms(
        graph_of(*range(5)),
        Parallel(*(Slow(property_name=name, gauge=gauge) for name in "abc")),
        RunConfig(max_workers=workers),
    )
    assert (gauge.peak, gauge.calls) == (peak, 15)


@pytest.mark.parametrize(("workers", "peak"), [(16, 15), (5, 5)])
def test_plain_functions_run_in_threads_at_the_same_time(workers: int, peak: int) -> None:
    gauge, barrier = Gauge(), threading.Barrier(peak)
    graph = graph_of(*range(5))
    members = [SlowSync(property_name=name, gauge=gauge, barrier=barrier) for name in "abc"]
    apply_transforms(graph, Parallel(*members), RunConfig(max_workers=workers))
    assert (gauge.peak, gauge.calls) == (peak, 15)
    assert [node.get_property("b") for node in graph.nodes] == [False] * 5


def test_every_method_to_write_may_be_a_plain_function() -> None:
    class SyncSplit(Splitter):
        def split(self, node: Node) -> Any:
            return [Node(f"{node.id}'")], []

    class SyncFilter(NodeFilter):
        def custom_filter(self, node: Node, kg: KnowledgeGraph) -> bool:  # type: ignore[override]
            return node.id == 2

    class SyncBuild(RelationshipBuilder):
        def transform(self, kg: KnowledgeGraph) -> Any:
            return [Relationship("pair", kg.nodes[0], kg.nodes[1])]

    class SyncWant(GraphTransform):
        def transform(self, kg: KnowledgeGraph) -> Any:
            return [SetProperty(1, "x", threading.current_thread().name)]

    class SyncBare(BaseGraphTransformation):
        def transform(self, kg: KnowledgeGraph) -> None:  # type: ignore[override]
            kg.nodes[0].properties["y"] = 1

    graph = graph_of(1, 2)
    apply_transforms(graph, [SyncSplit(), SyncFilter(), SyncBuild(), SyncWant(), SyncBare()])
    assert ids_of(graph) == [1, "1'", "2'"]
    assert len(graph.relationships) == 1
    assert graph.nodes[0].get_property("x") == "knotwork"
    assert graph.nodes[0].get_property("y") == 1


@given(st.data())
def test_a_parallel_of_independent_transforms_equals_their_sequence(data: st.DataObject) -> None:
    ids = data.draw(st.lists(st.integers(0, 20), unique=True, max_size=8))
    split, dropped = set(data.draw(st.lists(st.integers(0, 20)))), tuple(data.draw(st.lists(st.integers(0, 20))))
    waits = data.draw(st.permutations(range(4)))

    class Late(Mark):
        wait: ClassVar[int] = 0

        async def extract(self, node: Node) -> tuple[str, Any]:
            for _ in range(self.wait):
                await asyncio.sleep(0)
            return await super().extract(node)

    late = [type("Late", (Late,), {"wait": wait})(property_name=f"p{at}") for at, wait in enumerate(waits)]
    members = [
        late[0],
        Halves(filter_nodes=lambda node: node.id in split and node.id not in dropped),
        Parallel(late[1], Want(wanted=[AddNode(Node("w"))])),
        late[2],
        Drop(flagged=dropped),
        late[3],
    ]
    # later members of a sequence see what the earlier ones made
    originals = {"filter_nodes": lambda node: isinstance(node.id, int)}
    for member in late:
        member.filter_nodes = originals["filter_nodes"]
    together, after_another = chain(*ids), chain(*ids)
    apply_transforms(together, Parallel(*members))
    apply_transforms(after_another, members)
    assert not dangling(together)
    together.journal.clear()
    after_another.journal.clear()
    assert saved(together) == saved(after_another)


def test_members_see_the_graph_as_it_was_when_the_parallel_began() -> None:
    seen: list[int] = []

    class Look(GraphTransform):
        async def transform(self, kg: KnowledgeGraph) -> Sequence[Change]:
            await asyncio.sleep(0.01)
            seen.append(len(kg.nodes))
            return [AddNode(Node(f"{self.name}"))]

    graph = graph_of(1, 2)
    apply_transforms(graph, Parallel(Look("x"), Halves(), Look("y")))
    assert seen == [2, 2]
    assert ids_of(graph) == [1, 2, "x", "1.0", "1.1", "2.0", "2.1", "y"]


def test_changes_are_applied_in_written_order_whoever_ends_first() -> None:
    class Late(Slow):
        async def extract(self, node: Node) -> tuple[str, Any]:
            await asyncio.sleep(0.03 if self.property_name == "a" else 0)
            return self.property_name, node.id

    graph = KnowledgeGraph([Node(1)])
    apply_transforms(graph, Parallel(Late(property_name="a"), Late(property_name="b")))
    assert list(graph.nodes[0].properties) == ["a", "b"]


def test_a_property_for_a_node_that_an_earlier_member_removed_is_dropped_and_counted() -> None:
    graph = chain(1, 2, 3)
    report = apply_transforms(graph, Parallel(Drop(flagged=(2,)), Mark(), Pairs()))
    assert [(stage.transform, stage.dropped) for stage in report.stages] == [("Drop", 0), ("Mark", 1), ("Pairs", 2)]
    assert marks(graph) == [1, 3]
    other = chain(1, 2, 3)
    report = apply_transforms(other, Parallel(Mark(), Drop(flagged=(2,))))
    assert [stage.dropped for stage in report.stages] == [0, 0]
    assert marks(other) == [1, 3]


def test_filters_in_a_parallel_bridge_what_they_remove_together() -> None:
    together, after_another = chain(*range(6)), chain(*range(6))
    filters = [Drop(flagged=(1, 4)), Drop("other", flagged=(2, 4))]
    apply_transforms(together, Parallel(*filters))
    apply_transforms(after_another, filters)
    links = {(link.source.id, link.target.id) for link in together.relationships}
    assert links == {(0, 3), (3, 5)} == {(link.source.id, link.target.id) for link in after_another.relationships}
    assert not dangling(together)


def test_two_members_may_remove_the_same_relationship() -> None:
    graph = chain(1, 2)
    cut = [RemoveRelationship(graph.relationships[0].id)]
    report = apply_transforms(
        graph, Parallel(Want("a", wanted=cut), Want("b", wanted=cut), Want("c", wanted=[RemoveNode(1)]))
    )
    assert [stage.dropped for stage in report.stages] == [0, 1, 0]
    assert (ids_of(graph), len(graph.relationships)) == ([2], 0)


def test_a_node_that_one_member_replaces_is_there_for_the_next() -> None:
    graph = graph_of(1)
    anew = [RemoveNode(1), AddNode(Node(1))]
    apply_transforms(graph, Parallel(Want(wanted=anew), Mark()))
    assert dict(graph.nodes[0].properties) == {"mark": "mark of 1"}


# -- conflicts ------------------------------------------------------------------------------------


@dataclass
class Reader(Mark):
    property_name: str = "read"

    @property
    def reads(self) -> frozenset[str]:  # type: ignore[override]
        return frozenset(["MARK"])


@pytest.mark.parametrize(
    ("members", "said"),
    [
        ((Mark(), Mark(name="other")), "Mark and other both write mark"),
        ((Mark(), Parallel(Pairs(), Mark(property_name="MARK"))), "both write mark"),
        ((Mark(), Reader()), "Reader reads mark, which Mark writes"),
        ((Reader(), Mark()), "Reader reads mark, which Mark writes"),
    ],
)
def test_declared_conflicts_are_refused_before_anything_is_paid(members: Any, said: str) -> None:
    graph = graph_of(1)
    before = saved(graph)
    with pytest.raises(ValueError, match=said):
        apply_transforms(graph, Parallel(*members))
    assert saved(graph) == before
    assert not [node for member in members if isinstance(member, Mark) for node in member.seen]


def test_the_same_transform_twice_in_a_parallel_is_a_conflict_with_itself() -> None:
    mark = Mark()
    with pytest.raises(ValueError, match="both write"):
        apply_transforms(graph_of(1), Parallel(mark, mark))


def test_members_that_write_one_property_on_different_nodes_are_no_conflict() -> None:
    graph = graph_of(1, 2)
    apply_transforms(
        graph, Parallel(Mark(filter_nodes=lambda node: node.id == 1), Mark(filter_nodes=lambda node: node.id == 2))
    )
    assert marks(graph) == [1, 2]


@pytest.mark.parametrize("names", [("one", "other"), ("same", "same")])
def test_undeclared_conflicts_are_refused_before_anything_is_applied(names: tuple[str, str]) -> None:
    class Secret(Mark):
        writes = frozenset()

    graph = graph_of(1, 2)
    before = saved(graph)
    one, other = Secret(names[0]), Secret(names[1])
    with pytest.raises(ValueError, match=f"{names[1]} failed on node 1: {names[0]} writes 'mark' too") as caught:
        apply_transforms(graph, Parallel(Halves(), one, other))
    assert saved(graph) == before
    assert isinstance(caught.value, TransformError)
    apply_transforms(graph, [one, other])  # as the error says, and nothing is paid for again
    assert marks(graph) == [1, 2]
    assert one.seen == [1, 2]


def test_a_filter_function_that_raises_is_a_transform_error_that_names_the_transform() -> None:
    def broken(node: Node) -> bool:
        return bool(node.properties["absent"])

    for stage in (Mark(filter_nodes=broken), Parallel(Mark("Other"), Mark(filter_nodes=broken))):
        with pytest.raises(TransformError, match="Mark failed: KeyError: 'absent'"):
            apply_transforms(graph_of(1), stage)


# -- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", [ValueError, TypeError, OSError, KeyError, ModelError, asyncio.CancelledError])
def test_a_transform_error_names_transform_node_and_cause_and_is_of_its_causes_kind(kind: Any) -> None:
    cause = kind("no luck")
    with pytest.raises(TransformError, match=r"Mark failed on node 2: (KeyError: ')?no luck") as caught:
        apply_transforms(graph_of(1, 2), Mark(broken={2: cause}), AT_ONCE)
    error = caught.value
    assert (error.transform, error.node_id, error.cause, error.__cause__) == ("Mark", 2, cause, cause)
    assert isinstance(error, ValueError) is issubclass(kind, ValueError)
    assert isinstance(error, TypeError) is issubclass(kind, TypeError)


def test_a_transform_of_the_whole_graph_that_fails_names_no_node() -> None:
    class Broken(GraphTransform):
        async def transform(self, kg: KnowledgeGraph) -> Sequence[Change]:
            raise ZeroDivisionError

    with pytest.raises(TransformError, match="Broken failed: ZeroDivisionError") as caught:
        apply_transforms(graph_of(1), Broken())
    assert caught.value.node_id is None


@pytest.mark.parametrize(
    ("wanted", "node", "said"),
    [
        ([AddRelationship(Relationship("t", Node(1), Node("z")))], 1, "target 'z' is not in the graph"),
        ([SetProperty("z", "x", 1)], "z", "no such node"),
        ([AddNode("z")], None, "'z' is no Node"),
        (["z"], None, "not a change"),
        (None, None, "not iterable"),
    ],
)
def test_changes_that_do_not_fit_are_an_error_that_names_transform_and_node(wanted: Any, node: Any, said: str) -> None:
    graph = graph_of(1, 2)
    before = saved(graph)
    with pytest.raises(TransformError, match=f"Want failed.*{said}") as caught:
        apply_transforms(graph, Parallel(Mark(), Want(wanted=wanted), Pairs()))
    assert caught.value.node_id == node
    assert saved(graph) == before


def test_a_listener_that_refuses_a_stage_is_heard_as_it_is_and_the_results_are_kept() -> None:
    graph, mark = graph_of(1), Mark()
    full = True

    def store(made: Any) -> None:
        if full:
            raise OSError("disk full")

    graph.subscribe(store)
    before = saved(graph)
    with pytest.raises(OSError, match=r"^disk full"):
        apply_transforms(graph, mark)
    assert saved(graph) == before
    full = False
    apply_transforms(graph, mark)
    assert mark.seen == [1]


def test_a_failed_stage_leaves_the_graph_as_it_was_before_it_and_earlier_stages_stay() -> None:
    graph = graph_of(1, 2)
    first = Mark("First", property_name="first")
    with pytest.raises(TransformError) as caught:
        apply_transforms(
            graph,
            [
                first,
                Parallel(Halves(), Pairs(), Drop(flagged=(1,)), Mark(broken={2: OSError("x")})),
                Mark(property_name="z"),
            ],
            AT_ONCE,
        )
    assert caught.value.transform == "Mark"
    assert ids_of(graph) == [1, 2]
    assert not graph.relationships
    assert (marks(graph, "first"), marks(graph), marks(graph, "z")) == ([1, 2], [], [])
    rollback_transforms(graph, first)
    assert saved(graph) == saved(graph_of(1, 2))


def test_finished_results_are_in_the_error_and_used_by_the_next_apply() -> None:
    graph = graph_of(*range(6))
    broken: dict[Any, BaseException] = {3: OSError("down")}
    mark, late = Mark(broken=broken), Mark("Late", property_name="late")
    with pytest.raises(TransformError) as caught:
        apply_transforms(graph, Parallel(mark, late), RunConfig(max_retries=0, max_workers=2))
    assert (
        caught.value.changes
        == [SetProperty(at, "mark", f"mark of {at}") for at in (0, 1, 2, 4)][: len(caught.value.changes)]
    )
    paid = len(mark.seen)
    assert paid in (4, 5)  # the call beside it ended too
    assert marks(graph) == []
    del broken[3]
    report = apply_transforms(graph, Parallel(mark, late))
    assert sorted(mark.seen) == sorted([*range(6), 3])
    assert (report.stages[0].cached, report.stages[0].done) == (paid - 1, 6 - (paid - 1))
    assert marks(graph) == marks(graph, "late") == list(range(6))
    apply_transforms(graph, Parallel(mark, late))
    assert len(mark.seen) == 7


def test_finished_results_serve_a_transform_made_anew_and_no_other() -> None:
    graph = graph_of(1, 2)
    down: dict[Any, BaseException] = {2: OSError("down")}
    with pytest.raises(TransformError):
        apply_transforms(graph, Mark(broken=down), RunConfig(max_retries=0, max_workers=1))
    other = Mark(property_name="other")
    apply_transforms(graph, other)
    assert other.seen == [1, 2]
    anew = Mark()
    apply_transforms(graph, anew)
    assert anew.seen == [2]
    assert marks(graph) == [1, 2]


def test_results_on_the_whole_graph_serve_the_next_try_only_while_it_is_unchanged() -> None:
    @dataclass
    class Dear(GraphTransform):
        calls: int = 0

        async def transform(self, kg: KnowledgeGraph) -> Sequence[Change]:
            self.calls += 1
            return [AddNode(Node("dear", {"saw": len(kg.nodes)}))]

    graph, dear, down = graph_of(1), Dear(), Mark(broken={1: OSError("down")})
    for calls in (1, 1):
        with pytest.raises(TransformError):
            apply_transforms(graph, Parallel(dear, down), AT_ONCE)
        assert dear.calls == calls
    graph.add(Node(2))
    down.broken.clear()
    apply_transforms(graph, Parallel(dear, down))
    assert dear.calls == 2
    assert graph.nodes[2].get_property("saw") == 2


def test_with_skip_it_goes_on_and_the_report_lists_the_skipped_nodes() -> None:
    graph = graph_of(1, 2, 3)
    mark = Mark(broken={2: OSError("down")})
    report = apply_transforms(graph, [mark, Pairs()], AT_ONCE, on_error="skip")
    assert report.skipped == (Skipped(2, "Mark failed on node 2: down", "Mark"),)
    assert marks(graph) == [1, 3]
    assert len(graph.relationships) == 2
    assert (report.stages[0].done, report.stages[0].failed, report.stages[0].changes) == (2, 1, 2)
    mark.broken.clear()
    report = apply_transforms(graph, [mark, Pairs()])
    assert marks(graph) == [1, 2, 3]
    assert mark.seen == [1, 2, 3, 2]
    assert report.stages[0].changes == 1


def test_with_skip_all_nodes_of_a_batch_that_failed_are_listed() -> None:
    @dataclass
    class Batched(Mark):
        batch_size: ClassVar[int] = 2

        async def extract_many(self, nodes: Sequence[Node]) -> list[tuple[str, Any]]:
            return [await self.extract(node) for node in nodes]

    graph = graph_of(1, 2, 3)
    report = apply_transforms(graph, Batched(broken={2: ValueError("x")}), on_error="skip")
    assert [skip.what for skip in report.skipped] == [1, 2]
    assert marks(graph) == [3]


def test_with_skip_a_transform_of_the_whole_graph_is_skipped_as_a_whole() -> None:
    class Broken(Pairs):
        async def transform(self, kg: KnowledgeGraph) -> list[Relationship]:
            raise ValueError("NaN on node 1")

    report = apply_transforms(graph_of(1, 2), [Broken(), Mark()], on_error="skip")
    assert report.skipped == (Skipped(None, "Broken failed: NaN on node 1", "Broken"),)


# -- timeout and retries --------------------------------------------------------------------------


@dataclass
class Hangs(Mark):
    on: tuple[Any, ...] = (2,)

    async def extract(self, node: Node) -> tuple[str, Any]:
        self.seen.append(node.id)
        if node.id in self.on:
            await asyncio.sleep(60)
        return self.property_name, 1


@dataclass
class HangsInAThread(Hangs):
    def extract(self, node: Node) -> tuple[str, Any]:  # type: ignore[override]
        self.seen.append(node.id)
        if node.id in self.on:
            threading.Event().wait(60)
        return self.property_name, 1


@pytest.mark.parametrize("kind", [Hangs, HangsInAThread])
def test_the_timeout_is_that_of_one_nodes_call(kind: Any) -> None:
    hangs = kind()
    report = apply_transforms(
        graph_of(1, 2, 3), hangs, RunConfig(timeout=0.05, max_retries=1, max_wait=0, max_workers=1), on_error="skip"
    )
    assert report.skipped == (Skipped(2, f"{hangs.name} failed on node 2: no answer within 0.05 s", hangs.name),)
    assert hangs.seen == [1, 2, 2, 3]


def test_a_call_that_hangs_in_a_thread_does_not_keep_the_program_from_ending() -> None:
    script = """
import threading
from knotwork.graph import KnowledgeGraph, Node
from knotwork.transforms.base import Extractor
from knotwork.transforms.engine import RunConfig, apply_transforms
class Hangs(Extractor):
    def extract(self, node):
        threading.Event().wait(60)
apply_transforms(KnowledgeGraph([Node(1)]), Hangs(), RunConfig(timeout=0.05, max_retries=0), on_error="skip")
print("done")
"""
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=30, check=True)
    assert (ran.stdout, ran.stderr) == ("done\n", "")


def test_a_time_out_of_the_users_own_inside_a_call_works() -> None:
    class Patient(Mark):
        async def extract(self, node: Node) -> tuple[str, Any]:
            try:
                async with asyncio.timeout(0.01):
                    await asyncio.sleep(60)
            except TimeoutError:
                await asyncio.sleep(0)
            return "mark", await asyncio.wait_for(asyncio.sleep(0, "late"), 5)

    graph = graph_of(1)
    apply_transforms(graph, Patient())
    assert graph.nodes[0].get_property("mark") == "late"


@dataclass
class Flaky(Mark):
    """Fails `times` times on every node, with this error."""

    times: int = 2
    error: BaseException = field(default_factory=lambda: OSError("busy"))
    llm: Any = None

    async def extract(self, node: Node) -> tuple[str, Any]:
        self.seen.append(node.id)
        if self.seen.count(node.id) <= self.times:
            raise self.error
        return self.property_name, 1


def test_a_call_that_fails_is_tried_again_as_often_as_said() -> None:
    graph, flaky = graph_of(1, 2), Flaky(times=2)
    apply_transforms(graph, flaky, NO_WAIT)
    assert sorted(flaky.seen) == [1, 1, 1, 2, 2, 2]
    assert marks(graph) == [1, 2]
    with pytest.raises(TransformError):
        apply_transforms(graph_of(1), gone := Flaky(times=99), NO_WAIT)
    assert len(gone.seen) == 11
    with pytest.raises(TransformError):
        apply_transforms(graph_of(1), gone := Flaky(times=99), RunConfig(max_retries=3, max_wait=0))
    assert len(gone.seen) == 4


@pytest.mark.parametrize(
    "error",
    [ValueError("x"), TypeError("x"), InputError("x"), MissingExtra("x", "y"), UnicodeDecodeError("a", b"", 0, 1, "x")],
    ids=lambda error: type(error).__name__,
)
def test_errors_that_would_come_again_are_not_tried_again(error: BaseException) -> None:
    flaky = Flaky(times=99, error=error)
    with pytest.raises(TransformError):
        apply_transforms(graph_of(1), flaky, NO_WAIT)
    assert flaky.seen == [1]


def test_only_the_exception_types_said_are_tried_again() -> None:
    for types, tries in (((ModelError, OSError), 3), (ModelError, 1), (OSError, 3)):
        flaky = Flaky(times=2)
        apply_transforms(graph_of(1), flaky, RunConfig(max_wait=0, exception_types=types), on_error="skip")
        assert len(flaky.seen) == tries


def test_a_model_that_retries_by_itself_is_not_retried_again() -> None:
    class Retried:
        retries = 5

    flaky = Flaky(times=99, llm=Retried())
    apply_transforms(graph_of(1), flaky, NO_WAIT, on_error="skip")
    assert flaky.seen == [1]


def test_waits_double_with_jitter_from_the_seed_up_to_max_wait(caplog: pytest.LogCaptureFixture) -> None:
    def waits(seed: int) -> list[str]:
        caplog.clear()
        config = RunConfig(max_retries=2, max_wait=0.01, log_tenacity=True, seed=seed)
        with caplog.at_level(logging.WARNING, "knotwork"):
            apply_transforms(graph_of(1), Flaky(times=2), config)
        assert "Flaky on node 1: try 1 failed (busy)" in caplog.text
        return [record.getMessage() for record in caplog.records]

    assert len(waits(1)) == 2
    caplog.clear()
    apply_transforms(graph_of(1), Flaky(times=1), NO_WAIT)
    assert not caplog.records


def test_after_a_failure_nobody_waits_for_another_try() -> None:
    class Two(Mark):
        async def extract(self, node: Node) -> tuple[str, Any]:
            await asyncio.sleep(0 if node.id == 1 else 0.02)
            raise OSError("busy") if node.id == 1 else ValueError("bad")

    with pytest.raises(ValueError, match="bad"):  # would take a minute else
        apply_transforms(graph_of(1, 2), Two(), RunConfig(max_retries=1, max_wait=60))


# -- twice is once --------------------------------------------------------------------------------


def pipeline() -> list[Any]:
    documents = {"filter_nodes": lambda node: isinstance(node.id, int)}
    chunks = {"filter_nodes": lambda node: isinstance(node.id, str)}
    return [
        Halves(**documents),
        Parallel(Mark(**chunks), Mark("Nothing", property_name="nothing"), Pairs(**chunks)),
        Drop(flagged=("1.0",), **chunks),
        Mark(property_name="last"),
    ]


def test_applying_the_same_transforms_twice_changes_nothing_and_calls_nothing(caplog: pytest.LogCaptureFixture) -> None:
    graph, transforms = graph_of(1, 2), pipeline()
    apply_transforms(graph, transforms)
    before, version = saved(graph), len(graph.journal)
    loaded = KnowledgeGraph.from_dict(graph.to_dict())
    with caplog.at_level(logging.DEBUG):
        for again, same in ((graph, transforms), (graph, pipeline()), (loaded, pipeline())):
            report = apply_transforms(again, same)
            calls = {stage.transform: stage.done for stage in report.stages if stage.transform != "Pairs"}
            assert set(calls.values()) == {0}
            assert {stage.changes for stage in report.stages} == {0}
            assert saved(again) == before
    assert not [record for record in caplog.records if record.name == "knotwork"]
    assert len(graph.journal) > version  # the transforms made anew, that they can be rolled back
    assert rollback_transforms(graph, graph.journal[-1].by) is None  # type: ignore[arg-type]


@pytest.mark.parametrize("names", [("a", "b"), ("same", "same")])
def test_transforms_of_the_same_name_do_not_get_in_each_others_way(names: tuple[str, str]) -> None:
    class Sparse(Mark):
        async def extract(self, node: Node) -> tuple[str, Any]:
            found = await super().extract(node)
            return found if f"{self.property_name}{node.id}" in ("links1", "emails2") else (self.property_name, None)

    def both() -> list[Sparse]:
        return [Sparse(names[0], property_name="links"), Sparse(names[1], property_name="emails")]

    for stage in (lambda members: members, lambda members: [Parallel(*members)]):
        graph, members = graph_of(1, 2), both()
        apply_transforms(graph, stage(members))
        assert (marks(graph, "links"), marks(graph, "emails")) == ([1], [2])
        again = both()
        apply_transforms(graph, stage(again))
        assert [member.seen for member in again] == [[], []]


# -- rollback -------------------------------------------------------------------------------------


@dataclass
class Stray(Mark):
    """Writes into the graph where it should only compute."""

    async def extract(self, node: Node) -> tuple[str, Any]:
        node.properties["stray"] = True
        await in_thread(node.properties.pop, "tag")
        return await super().extract(node)


@dataclass
class StrayBuilder(Pairs):
    async def transform(self, kg: KnowledgeGraph) -> list[Relationship]:
        kg.relationships.append(Relationship("stray", kg.nodes[0], kg.nodes[1]))
        return await super().transform(kg)


ALL_KINDS = [
    Mark(),
    Halves(),
    Pairs(),
    Drop(flagged=(2, 3)),
    Want(wanted=[RemoveNode(1), AddNode(Node(1, {"again": 1}))]),
    Scribble(),
    Planned(),
    Planned(filter_nodes=lambda node: node.id != 2),
    Stray(),
    StrayBuilder(),
]


@pytest.mark.parametrize("transform", ALL_KINDS, ids=lambda transform: type(transform).__name__)
def test_rollback_restores_the_saved_graph_byte_for_byte(transform: Any) -> None:
    graph = chain(1, 2, 3, 4)
    before = saved(graph)
    apply_transforms(graph, transform)
    assert saved(graph) != before
    assert not dangling(graph)
    rollback_transforms(graph, transform)
    assert saved(graph) == before
    assert graph.journal == []
    with pytest.raises(InputError, match="not applied"):
        rollback_transforms(graph, transform)


@given(some.graphs(), st.lists(st.sampled_from(ALL_KINDS[:5] + ALL_KINDS[7:9]), max_size=3))
def test_rollback_restores_any_graph_byte_for_byte(graph: KnowledgeGraph, transforms: list[Any]) -> None:
    transforms = [Halves("h"), Want(wanted=[AddNode(Node("w"))]), Pairs("p"), *transforms]
    before = saved(graph)
    try:
        apply_transforms(graph, transforms, RunConfig(max_retries=0), on_error="skip")
    except TransformError:  # a change that does not fit the graph, as removing a node that is not there
        reject()
    assert not dangling(graph)
    rollback_transforms(graph, transforms)
    assert saved(graph) == before


def test_rollback_undoes_several_stages_at_once_and_stage_by_stage() -> None:
    graph, transforms = chain(1, 2, 3), pipeline()
    states = [saved(graph)]
    for stage in transforms:
        apply_transforms(graph, stage)
        states.append(saved(graph))
    for stage in reversed(transforms):
        assert saved(graph) == states.pop()
        rollback_transforms(graph, stage)
    assert saved(graph) == states[0]
    apply_transforms(graph, transforms)
    rollback_transforms(graph, transforms)
    assert saved(graph) == states[0]


def test_rollback_takes_the_latest_application_of_a_transform() -> None:
    graph, mark, pairs = graph_of(1, 2), Mark(), Pairs()
    apply_transforms(graph, [mark, pairs])
    graph.add(Node(3))
    before = saved(graph)
    apply_transforms(graph, mark)
    rollback_transforms(graph, mark)
    assert saved(graph) == before
    with pytest.raises(InputError, match="cannot roll back Mark: Pairs came later"):
        rollback_transforms(graph, mark)


def test_rollback_of_what_is_not_the_latest_names_what_came_later() -> None:
    graph, first, second, third = graph_of(1, 2), Mark(), Pairs(), Halves()
    apply_transforms(graph, [first, second, third])
    before = saved(graph)
    for wrong in (first, [first, second], [first, third]):
        with pytest.raises(InputError, match="came later"):
            rollback_transforms(graph, wrong)
    with pytest.raises(InputError, match="cannot roll back Mark: Pairs, Halves came later"):
        rollback_transforms(graph, first)
    with pytest.raises(InputError, match="Mark: it was not applied"):
        rollback_transforms(graph, [third, Mark()])  # an equal one is not the same one
    with pytest.raises(InputError, match="not applied"):
        rollback_transforms(KnowledgeGraph.from_dict(graph.to_dict()), third)
    assert saved(graph) == before
    rollback_transforms(graph, [])
    assert saved(graph) == before


def test_a_part_of_a_parallel_cannot_be_rolled_back() -> None:
    graph, mark, pairs = graph_of(1, 2), Mark(), Pairs()
    before = saved(graph)
    apply_transforms(graph, Parallel(mark, pairs))
    with pytest.raises(InputError, match="part of a Parallel: Mark"):
        rollback_transforms(graph, pairs)
    rollback_transforms(graph, [pairs, mark])
    assert saved(graph) == before


def test_rollback_of_a_graph_changed_by_hand_since_fails_whole_and_says_so() -> None:
    graph, mark = graph_of(1, 2), Mark()
    apply_transforms(graph, mark)
    graph.remove_node(graph.nodes[0])
    before = saved(graph)
    with pytest.raises(InputError, match=r"changed by hand since.*node 1"):
        rollback_transforms(graph, mark)
    assert saved(graph) == before


def test_what_was_rolled_back_can_be_applied_again() -> None:
    graph, drop, mark = chain(1, 2, 3), Drop(flagged=(2,)), Mark()
    apply_transforms(graph, [mark, drop])
    after = saved(graph)
    rollback_transforms(graph, [mark, drop])
    apply_transforms(graph, [mark, drop])
    assert saved(graph) == after
    assert len(mark.seen) == 6


# -- transforms that write by themselves ----------------------------------------------------------


def test_a_users_own_transform_writes_into_the_graph_as_if_it_were_alone() -> None:
    graph, alone = chain(1, 2, 3, 4), chain(1, 2, 3, 4)
    apply_transforms(graph, Scribble())
    asyncio.run(Scribble().transform(alone))
    graph.journal.clear()
    assert graph == alone
    assert graph.nodes[1].get_property("list") == [1, "more"]
    with graph.recording() as made:
        graph.get_node_by_id("new").properties["x"] = 1  # type: ignore[union-attr]
    assert len(made) == 1
    assert not dangling(graph)


def test_a_plan_of_the_users_own_is_run_and_timing_does_not_show() -> None:
    graph = graph_of(1, 2, 3)
    apply_transforms(graph, Planned(filter_nodes=lambda node: node.id != 2))
    assert ids_of(graph) == [1, 2, 3, "1+", "3+"]
    assert [(link.source.id, link.target.id) for link in graph.relationships] == [(1, "1+"), (3, "3+")]
    assert not dangling(graph)


def test_a_users_own_transform_sees_the_part_it_filters() -> None:
    seen: list[Any] = []

    class Look(BaseGraphTransformation):
        async def transform(self, kg: KnowledgeGraph) -> None:
            seen.extend(ids_of(kg))
            kg.add(Relationship("seen", kg.nodes[0], kg.nodes[1]))

    graph = graph_of(1, 2, 3)
    apply_transforms(graph, Look(filter_nodes=lambda node: node.id != 2))
    assert seen == [1, 3]
    assert [(link.source.id, link.target.id) for link in graph.relationships] == [(1, 3)]


@pytest.mark.parametrize("transform", [Planned(broken=(2,)), Stray(broken={2: ModelError("no answer")})])
def test_what_a_failed_transform_of_the_user_has_written_is_gone(transform: Any) -> None:
    graph = graph_of(1, 2, 3)
    before = saved(graph)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(TransformError, match="no answer"):
            apply_transforms(graph, transform, RunConfig(max_retries=0, max_workers=1))
    assert saved(graph) == before
    assert graph.journal == []


def test_with_skip_what_a_failed_coroutine_wrote_is_left_out() -> None:
    graph = graph_of(1, 2, 3)
    report = apply_transforms(graph, Planned(broken=(2,)), on_error="skip")
    assert ids_of(graph) == [1, 2, 3, "1+", "3+"]
    assert marks(graph, "planned") == [1, 3]
    assert report.skipped == (Skipped(None, "Planned failed: no answer", "Planned"),)


def test_a_plan_may_hold_any_awaitable_and_nothing_else() -> None:
    class Odd(BaseGraphTransformation):
        async def transform(self, kg: KnowledgeGraph) -> Any: ...

        def generate_execution_plan(self, kg: KnowledgeGraph) -> Any:
            return [asyncio.sleep(0), "later"]

    with pytest.raises(TypeError, match="await"):
        apply_transforms(graph_of(1), Odd())


def test_a_plan_that_is_never_run_complains_of_nothing() -> None:
    class Broken(Mark):
        def filter_nodes(self, node: Node) -> bool:  # type: ignore[override]
            raise ValueError("broken")

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ValueError, match="broken"):
            apply_transforms(graph_of(1), Parallel(Planned(), Scribble(), Broken()))


def test_two_users_transforms_that_write_one_property_beside_each_other_conflict() -> None:
    graph = graph_of(1, 2, 3)
    with pytest.raises(ValueError, match="Planned writes 'planned' too"):
        apply_transforms(graph, Parallel(Planned(), Planned()))
    assert marks(graph, "planned") == []


def test_writes_into_a_filtered_graph_are_refused_rather_than_lost() -> None:
    class Wrong(Pairs):
        async def transform(self, kg: KnowledgeGraph) -> list[Relationship]:
            kg.add(Node("lost"))
            return []

    with pytest.raises(ValueError, match="a view of a graph is for reading"):
        apply_transforms(graph_of(1, 2), Wrong(filter_nodes=lambda node: node.id == 1))


# -- events and progress --------------------------------------------------------------------------


def test_callbacks_get_an_event_for_all_that_happens() -> None:
    graph, mark, heard = graph_of(1, 2), Mark(broken={2: OSError("down")}), []
    one_by_one = RunConfig(max_retries=0, max_workers=1)
    with pytest.raises(TransformError):
        apply_transforms(graph, mark, one_by_one, heard.append)
    failed = "Mark failed on node 2: down"
    assert heard == [
        Event("start", "Mark", None, 0, 2),
        Event("done", "Mark", 1, 1, 2),
        Event("failed", "Mark", 2, 2, 2, failed),
        Event("end", "Mark", None, 2, 2),
    ]
    mark.broken.clear()
    again: list[Event] = []
    counted: list[str] = []
    apply_transforms(graph, mark, one_by_one, [again.append, lambda event: counted.append(event.kind)])
    assert again == [
        Event("start", "Mark", None, 1, 2),
        Event("cached", "Mark", None, 1, 2),
        Event("done", "Mark", 2, 2, 2),
        Event("end", "Mark", None, 2, 2),
    ]
    assert counted == [event.kind for event in again]


def test_a_callback_that_raises_stops_the_run_and_loses_nothing() -> None:
    graph, mark = graph_of(*range(5)), Mark()

    def stop(event: Event) -> None:
        if event.kind == "done" and event.done == 3:
            raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        apply_transforms(graph, mark, RunConfig(max_workers=1), stop)
    assert marks(graph) == []
    apply_transforms(graph, mark)
    assert mark.seen == [0, 1, 2, 3, 4]


class Terminal(io.StringIO):
    def __init__(self, terminal: bool) -> None:
        super().__init__()
        self.terminal = terminal

    def isatty(self) -> bool:
        return self.terminal


def test_progress_is_shown_on_a_terminal_only(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("TERM", "xterm")
    stage = Parallel(Mark("Same[1]", property_name="a"), Mark("Same[1]", property_name="b", broken={2: OSError("x")}))
    for terminal in (False, True):
        shown = Terminal(terminal)
        monkeypatch.setattr(sys, "stderr", shown)
        apply_transforms(graph_of(1, 2), [stage, Pairs()], AT_ONCE, on_error="skip")
        assert bool(shown.getvalue()) is terminal
    assert "Same[1], Same[1]" in shown.getvalue()
    assert "4/4" in shown.getvalue()
    assert "1 failed" in shown.getvalue()
    monkeypatch.setattr(sys, "stderr", None)  # as under pythonw
    apply_transforms(graph_of(1), Mark())
    assert capfd.readouterr() == ("", "")


def test_progress_can_be_switched_off_and_counts_what_was_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    graph, mark = graph_of(1, 2), Mark(broken={2: OSError("x")})
    shown = Terminal(True)
    monkeypatch.setattr(sys, "stderr", shown)
    with pytest.raises(TransformError):
        asyncio.run(aapply_transforms(graph, mark, RunConfig(max_retries=0, max_workers=1), progress=False))
    assert shown.getvalue() == ""
    mark.broken.clear()
    asyncio.run(aapply_transforms(graph, mark))
    assert "1 cached" in shown.getvalue()


# -- loops, threads, interruption -----------------------------------------------------------------


def test_the_sync_call_works_inside_a_running_loop_as_in_a_notebook() -> None:
    graph, mark = graph_of(1, 2), Mark()

    async def cell() -> Report:
        return apply_transforms(graph, mark)

    async def twin() -> Report:
        return await aapply_transforms(graph, Mark(property_name="twin"))

    for _ in range(2):
        assert asyncio.run(cell()).stages[0].transform == "Mark"
    asyncio.run(twin())
    assert marks(graph) == marks(graph, "twin") == [1, 2]


def test_a_sync_call_from_knotworks_own_loop_is_an_error_not_a_deadlock_and_not_retried() -> None:
    class Nested(Mark):
        async def extract(self, node: Node) -> tuple[str, Any]:
            self.seen.append(node.id)
            apply_transforms(graph_of(1), Mark())
            return "mark", 1

    nested = Nested()
    with pytest.raises(TransformError, match="await its twin"):
        apply_transforms(graph_of(1), nested)
    assert nested.seen == [1]


def test_a_sync_call_from_a_thread_of_a_running_transform_works() -> None:
    class Nested(Mark):
        def extract(self, node: Node) -> tuple[str, Any]:  # type: ignore[override]
            inner = graph_of(1)
            apply_transforms(inner, Mark())
            return "mark", marks(inner)

    graph = graph_of(1)
    apply_transforms(graph, Nested())
    assert graph.nodes[0].get_property("mark") == [1]


@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt])
def test_a_transform_that_exits_is_heard_of_and_the_loop_lives_on(kind: Any) -> None:
    with pytest.raises(kind):
        apply_transforms(graph_of(1), Mark(broken={1: kind("bye")}))
    graph = graph_of(1)
    apply_transforms(graph, Mark())
    assert marks(graph) == [1]


def test_cancelling_leaves_the_graph_as_it_was_and_keeps_finished_results() -> None:
    graph, hangs = graph_of(1, 2, 3), Hangs()

    async def interrupted() -> None:
        run = asyncio.create_task(aapply_transforms(graph, Parallel(hangs, Halves())))
        while 3 not in hangs.seen:
            await asyncio.sleep(0.001)
        await asyncio.sleep(0.01)
        run.cancel()
        with pytest.raises(asyncio.CancelledError):
            await run

    before = saved(graph)
    asyncio.run(interrupted())
    assert saved(graph) == before
    hangs.on = ()
    apply_transforms(graph, hangs)
    assert hangs.seen == [1, 2, 3, 2]
    assert marks(graph) == [1, 2, 3]


@pytest.mark.skipif(os.name == "nt", reason="no signals to a thread")
def test_ctrl_c_leaves_the_graph_as_it_was_and_keeps_finished_results() -> None:
    graph, hangs = graph_of(1, 2, 3), Hangs()
    main = threading.main_thread().ident
    assert main is not None

    def interrupt() -> None:
        while 3 not in hangs.seen:
            threading.Event().wait(0.01)
        signal.pthread_kill(main, signal.SIGINT)

    before = saved(graph)
    thread = threading.Thread(target=interrupt)
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        apply_transforms(graph, hangs)
    thread.join()
    assert saved(graph) == before
    hangs.on = ()
    apply_transforms(graph, hangs)
    assert hangs.seen == [1, 2, 3, 2]


def test_run_sync_returns_and_raises_what_the_coroutine_does() -> None:
    async def fail() -> None:
        raise ValueError("x")

    assert run_sync(asyncio.sleep(0, 5)) == 5
    with pytest.raises(ValueError, match="x"):
        run_sync(fail())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_process_has_a_loop_and_threads_of_its_own() -> None:
    script = """
import os
from knotwork.graph import KnowledgeGraph, Node
from knotwork.transforms.base import Extractor
from knotwork.transforms.engine import apply_transforms
class Plain(Extractor):
    def extract(self, node):
        return "x", os.getpid()
apply_transforms(KnowledgeGraph([Node(1)]), Plain())
child = os.fork()
graph = KnowledgeGraph([Node(1)])
apply_transforms(graph, Plain())
assert graph.nodes[0].get_property("x") == os.getpid()
if not child:
    os._exit(7)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
"""
    subprocess.run([sys.executable, "-W", "ignore", "-c", script], check=True, timeout=30)


# -- a graph shared by two ------------------------------------------------------------------------


def in_threads(*functions: Any) -> None:
    errors: list[BaseException] = []

    def caught(function: Any) -> None:
        try:
            function()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=caught, args=(function,)) for function in functions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


@pytest.mark.parametrize("run", [apply_transforms, lambda *given: asyncio.run(aapply_transforms(*given))])
def test_two_applies_at_once_on_one_graph_both_land(run: Any) -> None:
    graph = graph_of(*range(20))
    transforms = [Mark(property_name="a"), Mark(property_name="b"), Pairs(), Scribble()]
    in_threads(*(lambda transform=transform: run(graph, transform) for transform in transforms))
    assert not dangling(graph)
    assert len(marks(graph, "a")) >= 19
    assert len(marks(graph, "b")) >= 19
    assert graph.get_node_by_id("new") is not None


def test_the_same_transforms_at_once_on_one_graph_are_applied_once() -> None:
    graph, alone = graph_of(1, 2, 3), graph_of(1, 2, 3)
    mine, yours = pipeline(), pipeline()
    in_threads(lambda: apply_transforms(graph, mine), lambda: apply_transforms(graph, yours))
    apply_transforms(alone, pipeline())
    assert saved(graph) == saved(alone)


def test_a_node_that_another_apply_removed_meanwhile_is_dropped_and_counted() -> None:
    graph = graph_of(1, 2)

    async def both() -> Report:
        slow = asyncio.create_task(aapply_transforms(graph, Slow()))
        await asyncio.sleep(0)
        await aapply_transforms(graph, Drop(flagged=(1,)))
        return await slow

    report = asyncio.run(both())
    assert report.stages[0].dropped == 1
    assert marks(graph, "slow") == [2]


def test_a_failing_apply_undoes_its_own_writes_only() -> None:
    graph = graph_of(1, 2)

    class Late(Stray):
        async def extract(self, node: Node) -> tuple[str, Any]:
            await super().extract(node)
            await asyncio.sleep(0.03)
            raise ValueError("late")

    async def both() -> None:
        late = asyncio.create_task(aapply_transforms(graph, Late()))
        await asyncio.sleep(0.01)
        await aapply_transforms(graph, Mark())
        with pytest.raises(ValueError, match="late"):
            await late

    asyncio.run(both())
    assert marks(graph) == marks(graph, "tag") == [1, 2]
    assert marks(graph, "stray") == []
