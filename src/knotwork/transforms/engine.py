"""Runs transforms on a graph: really in parallel, all or nothing a stage, nothing paid for twice.

A stage is one transform or one `Parallel`. Its members see the graph as it was when the stage began; their calls
share one pool of workers; their changes are applied together, in written order, in a single `graph.apply`. So
timing never shows in the result, a failed stage leaves the graph as it was, and a stage can be undone.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
import os
import random
import sys
import threading
import time
import types
from collections import Counter
from collections.abc import Callable, Coroutine, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Literal, TypeAlias, TypeVar, cast

from knotwork.errors import GraphError, InputError, KnotworkError, MissingExtra, ModelError, TransformError
from knotwork.graph import (
    AddNode,
    AddRelationship,
    Applied,
    Change,
    KnowledgeGraph,
    Node,
    NodeId,
    Recording,
    RemoveNode,
    RemoveRelationship,
    SetProperty,
    same,
)
from knotwork.threads import in_coroutine, uncollected
from knotwork.transforms.base import (
    BaseGraphTransformation,
    Call,
    NodeFilter,
    Results,
    bridges,
    label,
)

T = TypeVar("T")
OnError = Literal["raise", "skip"]
log = logging.getLogger("knotwork")


@dataclass(frozen=True, slots=True)
class RunConfig:
    """How calls are made. The unit of timeout and retry is one node's call.

    timeout, max_wait: seconds. A sync call that exceeds the timeout can't be stopped: it goes on in its thread, beyond
    max_workers. max_retries: further tries after the first. exception_types: what is retried;
    ValueError, TypeError and our own input errors never are. seed: of the jitter between tries.
    log_tenacity: log every retry (the name is the one users know).
    """

    timeout: float = 180
    max_retries: int = 10
    max_wait: float = 60
    max_workers: int = 16
    exception_types: type[BaseException] | tuple[type[BaseException], ...] = (Exception,)
    log_tenacity: bool = False
    seed: int = 42

    def __post_init__(self) -> None:
        try:
            fits = self.max_workers >= 1 and self.max_retries >= 0 and self.timeout > 0 and self.max_wait >= 0
            isinstance(None, self.exception_types)
        except TypeError as error:
            raise InputError(f"{self}: {error}") from error
        if not fits:
            raise InputError(f"{self}: max_workers >= 1, max_retries >= 0, timeout > 0 and max_wait >= 0 are needed")


DEFAULT = RunConfig()


class Parallel:
    """Transforms that run at the same time and do not see each other's results. May be nested."""

    def __init__(self, *transformations: BaseGraphTransformation | Parallel) -> None:
        self.transformations = list(transformations)

    def __repr__(self) -> str:
        return f"Parallel({', '.join(map(repr, self.transformations))})"


Stage: TypeAlias = BaseGraphTransformation | Parallel
Transforms: TypeAlias = Sequence[Stage] | Stage


@dataclass(frozen=True, slots=True)
class Event:
    """Something that happened while transforms ran.

    kind: "start" and "end" of a transform, "done" or "failed" of a call, "cached" for calls whose results were kept
    from an earlier try, "loading" of models. done and total count the transform's calls.
    """

    kind: Literal["loading", "start", "done", "failed", "cached", "end"]
    transform: str
    node_id: NodeId | None = None
    done: int = 0
    total: int = 0
    error: str | None = None


Callback: TypeAlias = Callable[[Event], object]


@dataclass(frozen=True, slots=True)
class StageReport:
    """What one transform did.

    done, failed, cached: calls made, failed, taken over from an earlier try. changes: made to the graph. dropped:
    changes to something that was no longer there. seconds: those of the whole stage.
    """

    transform: str
    done: int
    failed: int
    cached: int
    changes: int
    dropped: int
    seconds: float


@dataclass(frozen=True, slots=True)
class Skipped:
    """Something left out, and why: a node that a transform failed on, or a file or row that could not be read."""

    what: NodeId | None
    reason: str
    transform: str = ""


@dataclass(frozen=True, slots=True)
class Report:
    """What a run did. What it says of documents comes from `Index.add`; `apply_transforms` leaves it empty.

    kinds: how many documents of each kind there were; pages: those of PDF files, slides and sheets among them; hints:
    what would serve these documents better.
    """

    stages: tuple[StageReport, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    added: int = 0
    changed: int = 0
    removed: int = 0
    unchanged: int = 0
    kinds: Mapping[str, int] = field(default_factory=dict)
    pages: int = 0
    hints: tuple[str, ...] = ()


# -- the public face ------------------------------------------------------------------------------


def apply_transforms(
    kg: KnowledgeGraph,
    transforms: Transforms,
    run_config: RunConfig = DEFAULT,
    callbacks: Callback | Sequence[Callback] | None = None,
    *,
    on_error: OnError = "raise",
) -> Report:
    """Run transforms on a graph, in place. Works in notebooks and under a running loop: it has a loop of its own.

    Raises TransformError (transform, node, cause; finished results in `.changes` are used by the next apply) and
    InputError for something that is no transform. on_error="skip" goes on without the nodes that failed.
    """
    return run_sync(aapply_transforms(kg, transforms, run_config, callbacks, on_error=on_error))


async def aapply_transforms(
    kg: KnowledgeGraph,
    transforms: Transforms,
    run_config: RunConfig = DEFAULT,
    callbacks: Callback | Sequence[Callback] | None = None,
    *,
    on_error: OnError = "raise",
    progress: bool | None = None,
) -> Report:
    """The twin of `apply_transforms` in the caller's loop.

    progress: one bar a transform on standard error; None: when that is a terminal.
    """
    if on_error not in ("raise", "skip"):
        raise InputError(f"on_error is 'raise' or 'skip', not {on_error!r}")
    if not isinstance(run_config, RunConfig):
        raise InputError(f"run_config is a RunConfig, not {run_config!r}")
    stages = _stages(transforms)
    listeners = [callbacks] if callable(callbacks) else list(callbacks or ())
    for listener in listeners:
        if not callable(listener):
            raise InputError(f"a callback is a callable that takes an Event, not {listener!r}")
    reports: list[StageReport] = []
    skipped: list[Skipped] = []
    if progress is None:
        progress = sys.stderr is not None and sys.stderr.isatty()
    with _bars(progress) as bar_of:
        for stage in stages:
            leaves = _leaves(stage)
            run = _StageRun(kg, leaves, run_config, on_error, [*listeners, *bar_of(", ".join(map(label, leaves)))])
            await run.run()
            reports += run.reports
            skipped += run.skipped
    return Report(tuple(reports), tuple(skipped))


def rollback_transforms(kg: KnowledgeGraph, transforms: Transforms) -> None:
    """Undo the latest applied transforms, last first: the graph is then what it was before them.

    Raises InputError when they were not applied to this graph, or something was applied after them.
    """
    wanted = [leaf for stage in _stages(transforms) for leaf in _leaves(stage)]
    start = len(kg.journal)
    while start and any(_is_in(leaf, wanted) for leaf in kg.journal[start - 1].by):
        start -= 1
    lines = kg.journal[start:]
    undone: list[Any] = [leaf for line in lines for leaf in line.by]
    for transform in wanted:
        if _is_in(transform, undone):
            continue
        earlier = [at for at, line in enumerate(kg.journal) if _is_in(transform, line.by)]
        if not earlier:
            raise InputError(f"cannot roll back {label(transform)}: it was not applied to this graph by this process")
        later = dict.fromkeys(
            line.transform for line in kg.journal[earlier[-1] + 1 :] if not _is_in(transform, line.by)
        )
        raise InputError(f"cannot roll back {label(transform)}: {', '.join(later)} came later; roll back that first")
    for leaf in undone:
        if not _is_in(leaf, wanted):
            raise InputError(f"cannot roll back a part of a Parallel: {label(leaf)} ran beside it")
    try:
        kg.apply([change for line in reversed(lines) for change in line.undo])
    except GraphError as error:
        names = ", ".join(map(label, wanted))
        raise InputError(f"cannot roll back {names}: the graph was changed by hand since ({error})") from error
    del kg.journal[start:]


def _is_in(item: object, items: Iterable[object]) -> bool:
    return any(item is other for other in items)  # by identity: transforms with the same fields are equal


# -- one stage ------------------------------------------------------------------------------------


def _stages(transforms: Transforms) -> list[Stage]:
    if isinstance(transforms, BaseGraphTransformation | Parallel):
        transforms = [transforms]
    if isinstance(transforms, str) or not isinstance(transforms, Iterable):
        kind = type(transforms).__name__
        raise InputError(f"transforms are a list of transforms and Parallels, or one of them, not a {kind}")
    stages = list(transforms)
    for stage in stages:
        for leaf in _leaves(stage):
            if not isinstance(leaf, BaseGraphTransformation):
                raise InputError(f"{leaf!r} is no transform (a BaseGraphTransformation) and no Parallel")
    return stages


def _leaves(stage: Any) -> list[BaseGraphTransformation]:
    if isinstance(stage, Parallel):
        return [leaf for inner in stage.transformations for leaf in _leaves(inner)]
    return [stage]


_Key: TypeAlias = tuple[tuple[NodeId, ...], int]


class _Member:
    """One transform of a stage: its calls, what came of them, and how its changes are found."""

    def __init__(self, transform: BaseGraphTransformation, kg: KnowledgeGraph) -> None:
        self.transform = transform
        self.name = label(transform)
        self.kg = kg
        self.copy: _Copy | None = _Copy(transform, kg) if _writes_itself(transform) else None
        self.calls: list[Call] = self.copy.calls if self.copy else list(transform.calls_on(kg))
        self.results: dict[int, Any] = {}
        self.done: tuple[Node, ...] = ()  # nodes to be remembered as dealt with
        self.cached = self.failed = self.dropped = 0

    def finished(self) -> Results:
        return [(self.calls[at], self.results[at]) for at in sorted(self.results)]

    def changes(self) -> list[Change]:
        results = self.finished()
        if self.copy is not None:
            return self.copy.changes([written for _, written in results])
        self.done = tuple(self.transform.settled_by(results))
        return self.transform.changes_from(self.kg, results)

    def keys(self) -> Iterator[_Key]:
        """What each call is known by at the next try: its nodes, and the how manieth of these nodes it is."""
        seen: Counter[tuple[NodeId, ...]] = Counter()
        for call in self.calls:
            ids = tuple(node.id for node in call.nodes)
            yield ids, seen[ids]
            seen[ids] += 1


def _writes_itself(transform: BaseGraphTransformation) -> bool:
    return _has_own_plan(transform) or type(transform).changes_from is BaseGraphTransformation.changes_from


def _has_own_plan(transform: BaseGraphTransformation) -> bool:
    return type(transform).generate_execution_plan is not BaseGraphTransformation.generate_execution_plan


class _Copy:
    """A copy of the graph, for a user's coroutines that write by themselves. What they write is taken over."""

    def __init__(self, transform: BaseGraphTransformation, kg: KnowledgeGraph) -> None:
        if _has_own_plan(transform):
            self.graph = kg.copy(deep=True)
            self.plan: list[Any] = list(transform.generate_execution_plan(self.graph))
        else:
            self.graph = transform.filter(kg).copy(deep=True)
            self.plan = [in_coroutine(transform.transform)(self.graph)]
        self.before = {node.id: dict(node.properties) for node in kg.nodes}
        self.calls = [Call((), lambda work=work: self._record(work)) for work in self.plan]

    def close(self) -> None:
        """Coroutines that were never begun would complain of it."""
        for work in self.plan:
            if inspect.iscoroutine(work):
                work.close()

    async def _record(self, work: Coroutine[Any, Any, Any]) -> Recording:
        with self.graph.recording() as written:
            try:
                await work
            except BaseException:
                self.graph.apply(written.undo())
                raise
        return written

    def changes(self, written: Sequence[Recording]) -> list[Change]:
        """What each coroutine wrote, in the order of the plan, and what they changed inside values."""
        made = [change for recording in written for change in recording]
        told = {(change.id, change.key.lower()) for change in made if isinstance(change, SetProperty)}
        for node in self.graph.nodes:
            before = self.before.get(node.id, {})
            for key, value in node.properties.items():
                if key in before and (node.id, key) not in told and not same(before[key], value):
                    made.append(SetProperty(node.id, key, value))
        self.graph.release()
        return made


@dataclass(frozen=True, slots=True)
class _Kept:
    """The finished results of a transform whose stage failed."""

    transform: BaseGraphTransformation
    results: dict[_Key, Any]
    version: int  # of the graph; results on the whole of it hold for this version only

    def serves(self, transform: BaseGraphTransformation) -> bool:
        """Whether it is this transform, or one made anew that is the same by all that can be told."""
        return self.transform is transform or (
            type(self.transform) is type(transform)
            and label(self.transform) == label(transform)
            and self.transform.told_apart_by() == transform.told_apart_by()
        )


class _StageRun:
    def __init__(
        self,
        kg: KnowledgeGraph,
        transforms: list[BaseGraphTransformation],
        config: RunConfig,
        on_error: OnError,
        callbacks: list[Callback],
    ) -> None:
        self.kg = kg
        self.transforms = transforms
        self.config = config
        self.on_error = on_error
        self.callbacks = callbacks
        self.jitter = random.Random(config.seed)
        self.members: list[_Member] = []
        self.failed = asyncio.Event()
        self.failure: TransformError | None = None
        self.removed: set[NodeId] = set()  # since the stage began, by whomever
        self.skipped: list[Skipped] = []
        self.reports: list[StageReport] = []

    async def run(self) -> None:
        _refuse_declared_conflicts(self.transforms, self.kg)
        started = time.perf_counter()
        self.kg.subscribe(self._watch)
        try:
            # A user's extract or transform may write into the graph by itself: that is undone with the stage.
            with self.kg.recording() as made:
                try:
                    with uncollected():
                        self._prepare()
                    await self._work()
                    with uncollected():
                        changes = self._changes()
                        self._apply(changes)
                except BaseException as error:
                    self._keep(error)
                    if made:
                        self.kg.apply(made.undo())
                    raise
        finally:
            self.kg.unsubscribe(self._watch)
            for member in self.members:
                if member.copy is not None:
                    member.copy.close()
        with uncollected():
            self._forget_kept()
            self._report(changes, made, time.perf_counter() - started)
            self._remember(changes, made.undo())

    def _watch(self, changes: Sequence[Change]) -> None:
        self.removed.update(change.id for change in changes if isinstance(change, RemoveNode))

    def _prepare(self) -> None:
        for transform in self.transforms:
            with _blaming(transform):
                member = _Member(transform, self.kg)
            self._take_kept(member)
            self.members.append(member)

    # calls

    async def _work(self) -> None:
        for member in self.members:
            self._tell(member, "start")
            if member.cached:
                self._tell(member, "cached")
        todo = [(member, at) for member in self.members for at in range(len(member.calls)) if at not in member.results]
        jobs = iter(todo)
        workers = [asyncio.ensure_future(self._worker(jobs)) for _ in range(min(self.config.max_workers, len(todo)))]
        try:
            await asyncio.gather(*workers)
        except BaseException:
            for worker in workers:
                worker.cancel()
            await asyncio.gather(*workers, return_exceptions=True)
            raise
        for member in self.members:
            self._tell(member, "end")
        if self.failure is not None:
            raise self.failure

    async def _worker(self, jobs: Iterator[tuple[_Member, int]]) -> None:
        for count, (member, at) in enumerate(jobs, 1):
            if self.failure is not None:
                return
            if count % 256 == 0:
                await asyncio.sleep(0)  # calls that never wait must not starve the loop
            call = member.calls[at]
            try:
                member.results[at] = await self._call(member, call)
            except (Exception, asyncio.CancelledError) as error:
                task = asyncio.current_task()
                if isinstance(error, asyncio.CancelledError) and task is not None and task.cancelling():
                    raise
                self._failed(member, call, error)
            else:
                if self.callbacks:
                    self._tell(member, "done", call)

    async def _call(self, member: _Member, call: Call) -> Any:
        """One call with its timeout and retries. The wait doubles from half a second, with jitter, up to max_wait."""
        again = 0
        while True:
            try:
                return await _within(call.run(), self.config.timeout if call.nodes else None)
            except Exception as error:
                if (
                    again >= self.config.max_retries
                    or self.failure is not None
                    or not self._retriable(member, call, error)
                ):
                    raise
                again += 1
                wait = min(self.config.max_wait, 0.25 * 2**again) * (0.5 + self.jitter.random() / 2)
                if self.config.log_tenacity:
                    told = (member.name, call.node_id, again, error, wait)
                    log.warning("%s on node %r: try %d failed (%s), again in %.1f s", *told)
                with suppress(TimeoutError):
                    await asyncio.wait_for(self.failed.wait(), wait)

    def _retriable(self, member: _Member, call: Call, error: Exception) -> bool:
        if not call.nodes or isinstance(error, ValueError | TypeError | MissingExtra):
            return False
        if isinstance(error, KnotworkError) and not isinstance(error, ModelError):
            return False
        models = (getattr(member.transform, name, None) for name in ("llm", "embedding_model"))
        if any(getattr(model, "retries", False) for model in models):
            return False  # the model retries by itself
        return isinstance(error, self.config.exception_types)

    def _failed(self, member: _Member, call: Call, error: BaseException) -> None:
        member.failed += 1
        cause = error
        if isinstance(error, TimeoutError) and not str(error):
            cause = TimeoutError(f"no answer within {self.config.timeout:g} s")
        failure = TransformError(member.name, call.node_id, cause)
        failure.__cause__ = error
        if self.on_error == "skip":
            ids: list[NodeId | None] = [node.id for node in call.nodes]
            self.skipped += [Skipped(id, str(failure), member.name) for id in ids or [None]]
        elif self.failure is None:
            self.failure = failure
            self.failed.set()
        self._tell(member, "failed", call, str(failure))

    # results

    def _take_kept(self, member: _Member) -> None:
        """Results that an earlier, failed try left behind."""
        kept = [kept for kept in self.kg._kept if kept.serves(member.transform)]
        kept.sort(key=lambda kept: kept.transform is member.transform)
        for found in kept[-1:]:
            for at, key in enumerate(member.keys()):
                if key in found.results and (key[0] or found.version == self.kg.version):
                    member.results[at] = found.results[key]
                    member.cached += 1

    def _keep(self, error: BaseException) -> None:
        self._forget_kept()
        changes: list[Change] = []
        for member in self.members:
            if member.copy is None and member.results:
                results = {key: member.results[at] for at, key in enumerate(member.keys()) if at in member.results}
                self.kg._kept.append(_Kept(member.transform, results, self.kg.version))
                try:
                    changes += member.changes()
                except Exception as failed:  # that is what failed, and is being raised
                    log.debug("%s: results kept, no changes from them yet: %s", member.name, failed)
        if isinstance(error, TransformError):
            error.changes = changes

    def _forget_kept(self) -> None:
        self.kg._kept[:] = [kept for kept in self.kg._kept if not any(map(kept.serves, self.transforms))]

    def _changes(self) -> list[list[Change]]:
        """The changes of each member, in written order, less those that came too late."""
        sieve = _Sieve(self.kg, self.removed)
        kept: list[list[Change]] = []
        for member in self.members:
            with _blaming(member.transform):
                changes = member.changes()
            mine = [change for change in changes if not sieve.too_late(change)] if sieve.gone or sieve.cut else changes
            member.dropped = len(changes) - len(mine)
            if len(self.members) > 1:
                sieve.take(member, mine)
            kept.append(mine)
        if sum(isinstance(member.transform, NodeFilter) for member in self.members) > 1:
            kept[-1] += bridges(self.kg, sieve.taken)  # over gaps that no filter sees whole
        return kept

    def _apply(self, changes: list[list[Change]]) -> None:
        at: tuple[_Member, Change] | None = None

        def everything() -> Iterator[Change]:
            nonlocal at
            for member, mine in zip(self.members, changes, strict=True):
                for change in mine:
                    at = member, change
                    yield change
            at = None

        try:
            self.kg.apply(everything())
        except GraphError as error:
            if at is None:  # all were made: it was a listener
                raise
            member, change = at
            raise TransformError(member.name, next(iter(_touched(change, self.kg)), None), error) from error

    def _report(self, changes: list[list[Change]], made: Recording, seconds: float) -> None:
        effective = set(map(id, made))
        for member, mine in zip(self.members, changes, strict=True):
            count = len(effective.intersection(map(id, mine)))
            done = len(member.results) - member.cached
            self.reports.append(
                StageReport(member.name, done, member.failed, member.cached, count, member.dropped, seconds)
            )

    def _remember(self, changes: list[list[Change]], undo: list[Change]) -> None:
        """A line a member in the graph's journal. The stage is undone as one: the first line has the undo."""
        known = any(_is_in(transform, line.by) for line in self.kg.journal for transform in self.transforms)
        lines: list[Applied] = []
        for member, mine in zip(self.members, changes, strict=True):
            removed: tuple[NodeId, ...] = ()
            if isinstance(member.transform, NodeFilter):  # others may make anew what they removed
                removed = tuple(change.id for change in mine if isinstance(change, RemoveNode))
            keys = dict.fromkeys(change.key for change in mine if isinstance(change, SetProperty))
            wrote = tuple(dict.fromkeys(key.lower() for key in keys))
            back = () if lines else tuple(undo)
            by = tuple(self.transforms)
            lines.append(Applied(member.name, removed, wrote, member.done, member.transform.told_apart_by(), back, by))
        if not known or undo or any(line.done for line in lines):
            self.kg.journal += lines

    def _tell(self, member: _Member, kind: Any, call: Call | None = None, error: str | None = None) -> None:
        if self.callbacks:
            done = len(member.results) + member.failed
            event = Event(kind, member.name, call.node_id if call else None, done, len(member.calls), error)
            for callback in self.callbacks:
                callback(event)


class _Sieve:
    """What the members of a stage, and a stage that ended meanwhile, have taken away from the later ones."""

    def __init__(self, kg: KnowledgeGraph, removed: set[NodeId]) -> None:
        self.kg = kg
        there = kg.get_node_by_id
        self.barred = {id for line in kg.journal for id in line.removed if there(id) is None}  # by a filter, for good
        self.gone = self.barred | {id for id in removed if there(id) is None}
        self.cut: set[NodeId] = set()  # relationships
        self.taken: dict[NodeId, Node] = {}  # nodes removed by a member
        self.writers: dict[tuple[NodeId, str], _Member] = {}

    def too_late(self, change: Change) -> bool:
        """Whether a change refers to something that is gone, or would bring back what a filter removed."""
        if isinstance(change, AddNode):
            return change.node.id in self.barred
        if isinstance(change, RemoveRelationship) and change.id in self.cut:
            return True
        return not self.gone.isdisjoint(_touched(change, self.kg))

    def take(self, member: _Member, changes: Sequence[Change]) -> None:
        """Note what a member does. Raises TransformError where another one has written the same property."""
        for change in changes:
            if isinstance(change, SetProperty):
                other = self.writers.setdefault((change.id, change.key.lower()), member)
                if other is not member:
                    cause = ValueError(f"{other.name} writes {change.key!r} too; run them one after the other")
                    raise TransformError(member.name, change.id, cause)
            elif isinstance(change, RemoveNode):
                self.gone.add(change.id)
                node = self.kg.get_node_by_id(change.id)
                if node is not None:
                    self.taken[node.id] = node
            elif isinstance(change, AddNode) and isinstance(change.node, Node):  # else the graph will say so
                self.gone.discard(change.node.id)
            elif isinstance(change, RemoveRelationship):
                self.cut.add(change.id)


@contextmanager
def _blaming(transform: BaseGraphTransformation) -> Iterator[None]:
    """What goes wrong in the block is the fault of this transform."""
    try:
        yield
    except TransformError:
        raise
    except Exception as error:
        raise TransformError(label(transform), None, error) from error


def _refuse_declared_conflicts(transforms: Sequence[BaseGraphTransformation], kg: KnowledgeGraph) -> None:
    for at, one in enumerate(transforms):
        for other in transforms[at + 1 :]:
            for reader, writer in ((one, other), (other, one)):
                read = _names(reader.reads) & _names(writer.writes)
                if read:
                    raise InputError(
                        f"{label(reader)} reads {', '.join(sorted(read))}, which {label(writer)} writes in the same "
                        f"Parallel; run {label(writer)} before it"
                    )
            both = _names(one.writes) & _names(other.writes)
            if both and _meet(one, other, kg):
                raise InputError(
                    f"{label(one)} and {label(other)} both write {', '.join(sorted(both))} on the same nodes in one "
                    "Parallel; give one another property_name or other nodes, or run them one after the other"
                )


def _meet(one: BaseGraphTransformation, other: BaseGraphTransformation, kg: KnowledgeGraph) -> bool:
    seen = {}
    for transform in (one, other):
        with _blaming(transform):
            seen[id(transform)] = {node.id for node in kg.nodes if transform.filter_nodes(node)}
    return one is other or not seen[id(one)].isdisjoint(seen[id(other)])


def _names(declared: Iterable[str]) -> set[str]:
    return {name.lower() for name in declared}


def _touched(change: Change, kg: KnowledgeGraph) -> tuple[NodeId, ...]:
    """The nodes that must be there for a change to be made."""
    if isinstance(change, SetProperty | RemoveNode):
        return (change.id,)
    link = change.relationship if isinstance(change, AddRelationship) else None
    if isinstance(change, RemoveRelationship):
        link = kg.get_relationship_by_id(change.id)
    return (link.source.id, link.target.id) if link is not None else ()


# -- awaiting, cheaply ----------------------------------------------------------------------------


async def _within(coroutine: Coroutine[Any, Any, T], timeout: float | None) -> T:
    """Await with a timeout. One that never waits is driven to its end at once, without the cost of a timer."""
    try:
        waited_for = coroutine.send(None)
    except StopIteration as end:
        return cast(T, end.value)
    async with asyncio.timeout(timeout):
        return await _go_on(coroutine, waited_for)


@types.coroutine
def _go_on(coroutine: Coroutine[Any, Any, T], waited_for: Any) -> Generator[Any, Any, T]:
    """The rest of a coroutine that has been started by hand."""
    try:
        while True:
            try:
                sent = yield waited_for
            except GeneratorExit:
                coroutine.close()
                raise
            except BaseException as error:
                waited_for = coroutine.throw(error)
            else:
                waited_for = coroutine.send(sent)
    except StopIteration as end:
        return cast(T, end.value)


# -- the private loop -----------------------------------------------------------------------------


@cache
def _loop() -> asyncio.AbstractEventLoop:
    loop = asyncio.new_event_loop()

    def serve() -> None:
        while True:  # a task that calls sys.exit() stops the loop; whoever waits for it hears of it
            with suppress(SystemExit, KeyboardInterrupt):
                loop.run_forever()

    threading.Thread(target=serve, name="knotwork-loop", daemon=True).start()
    return loop


_loop_lock = threading.Lock()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_loop.cache_clear)  # a child has no such thread


def run_sync(coroutine: Coroutine[Any, Any, T]) -> T:
    """Run a coroutine on Knotwork's own loop and wait for it, from any thread but that loop's."""
    with _loop_lock:
        loop = _loop()
    running: asyncio.AbstractEventLoop | None = None
    with suppress(RuntimeError):  # no loop runs in this thread
        running = asyncio.get_running_loop()
    if running is loop:
        coroutine.close()
        raise InputError("a synchronous call from inside Knotwork's own loop would wait for itself; await its twin")
    ended = threading.Event()
    future = asyncio.run_coroutine_threadsafe(_ending(coroutine, ended), loop)
    try:
        return future.result()
    except BaseException:
        if future.cancel():  # Ctrl-C: what runs puts its things in order first
            ended.wait(timeout=10)
        raise


async def _ending(coroutine: Coroutine[Any, Any, T], ended: threading.Event) -> T:
    try:
        return await coroutine
    finally:
        ended.set()


# -- progress -------------------------------------------------------------------------------------


@contextmanager
def _bars(shown: bool) -> Iterator[Callable[[str], list[Callback]]]:
    """One progress bar a stage on standard error. Gives, for a stage's title, the callbacks that draw its bar."""
    if not shown:
        yield lambda title: []
        return
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[extra]}", markup=False),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True)) as progress:

        def bar_of(title: str) -> list[Callback]:
            task = progress.add_task(title, total=0, extra="")
            counts = {"total": 0, "done": 0, "failed": 0, "cached": 0}

            def draw(event: Event) -> None:
                if event.kind == "start":
                    counts["total"] += event.total
                elif event.kind == "cached":
                    counts["cached"] += event.done
                elif event.kind in ("done", "failed"):
                    counts[event.kind] += 1
                extra = " ".join(f"{counts[kind]} {kind}" for kind in ("failed", "cached") if counts[kind])
                ended = counts["done"] + counts["failed"] + counts["cached"]
                progress.update(task, total=counts["total"], completed=ended, extra=extra)

            return [draw]

        yield bar_of
