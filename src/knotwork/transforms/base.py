"""What a transform is: it looks at the graph, computes, and yields changes. It never half-writes.

Five kinds, each with one async method to write:

    Extractor             extract(node) -> (name, value)            a property of a node
    Splitter              split(node) -> (nodes, relationships)     a node into smaller ones
    RelationshipBuilder   transform(kg) -> [Relationship]           edges between nodes
    NodeFilter            custom_filter(node, kg) -> bool           True takes the node away
    GraphTransform        transform(kg) -> [Change]                 anything else, over the whole graph

The engine asks a transform for its `calls_on` a graph (the paid work, one a node), runs them, and hands the results
to `changes_from`. Both have a default here that fits the kind. Every method to write may also be a plain `def`: it
then runs in a thread.
"""

from __future__ import annotations

import json
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from functools import wraps
from pathlib import Path
from typing import Any, ClassVar, TypeAlias

from knotwork.errors import InputError
from knotwork.graph import (
    AddNode,
    AddRelationship,
    Applied,
    Change,
    KnowledgeGraph,
    Node,
    NodeId,
    Relationship,
    RemoveNode,
    SetProperty,
    write_atomically,
)
from knotwork.prompts import Prompt, prompt_from
from knotwork.text import stable_id
from knotwork.threads import in_coroutine

_NOT_IN_A_FILE_NAME = re.compile(r"[^\w.-]")


class _EveryNode:
    # An object, not a function: as a class attribute it must not turn into a method.
    def __call__(self, node: Node) -> bool:
        return True

    def __repr__(self) -> str:
        return "default_filter"


default_filter = _EveryNode()
"""The filter that keeps every node."""


@dataclass(slots=True)  # not frozen, which would double the cost of making one
class Call:
    """One unit of work: the unit of timeout, retry and progress. `nodes` is empty for work on the whole graph."""

    nodes: tuple[Node, ...]
    function: Callable[..., Coroutine[Any, Any, Any]]
    """Called with the nodes."""

    def run(self) -> Coroutine[Any, Any, Any]:
        return self.function(*self.nodes)

    @property
    def node_id(self) -> NodeId | None:
        return self.nodes[0].id if self.nodes else None


Results: TypeAlias = Sequence[tuple[Call, Any]]


@dataclass
class BaseGraphTransformation(ABC):
    """Common to all transforms. `filter_nodes` says which nodes it sees; an empty name becomes the class name.

    A transform may declare `reads` and `writes`, sets of property names: members of a `Parallel` that would get
    in each other's way are then refused before anything is paid for.
    """

    name: str = ""
    filter_nodes: Callable[[Node], bool] = default_filter

    reads: ClassVar[frozenset[str]] = frozenset()
    needed_placeholders: ClassVar[frozenset[str]] = frozenset({"text"})
    """What a prompt can't do without, of the placeholders that the one in its place has."""
    __settings = ""

    def __post_init__(self) -> None:
        self.name = self.name or type(self).__name__
        if self.filter_nodes is default_filter:
            vars(self).pop("filter_nodes", None)  # a subclass may have it as a method, which the field would hide
        # Taken now, not when asked for: a subclass may count its calls in a field.
        self.__settings = _settings(self)

    def told_apart_by(self) -> str:
        """What tells transforms of one name apart: a hash of the plain values among their settings."""
        return self.__settings

    @property
    def writes(self) -> frozenset[str]:
        return frozenset()

    @abstractmethod
    async def transform(self, kg: KnowledgeGraph) -> Any:
        """What the transform makes of the graph."""

    def filter(self, kg: KnowledgeGraph) -> KnowledgeGraph:
        """The part of the graph this transform sees: the same node objects, and relationships with both ends kept."""
        return kg if self.filter_nodes is default_filter else kg.view(self.filter_nodes)

    def calls_on(self, kg: KnowledgeGraph) -> Iterable[Call]:
        """The work to be done on this graph; what was done before is left out."""
        view, transform = self.filter(kg), in_coroutine(self.transform)
        yield Call((), lambda: transform(view))

    def changes_from(self, kg: KnowledgeGraph, results: Results) -> list[Change]:
        """The changes that follow from the results of `calls_on`, in their order."""
        return []

    def settled_by(self, results: Results) -> list[Node]:
        """Nodes that are dealt with though the changes leave no mark on them: they are not asked about again."""
        return []

    # prompts: the fields that hold one

    def get_prompts(self) -> dict[str, Prompt]:
        """The prompts by the names of the fields that hold them."""
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, Prompt)}

    def set_prompts(self, **prompts: str | Prompt) -> None:
        """Put others in their place: a text for the instruction alone, or a Prompt. Raises InputError otherwise."""
        mine = self.get_prompts()
        for name in prompts:
            if name not in mine:
                known = ", ".join(mine) or "none"
                raise InputError(f"{label(self)} has no prompt {name!r}; its prompts: {known}")
        for name, prompt in prompts.items():
            needed = mine[name].placeholders & self.needed_placeholders
            setattr(self, name, mine[name].replaced_by(prompt).needs(sorted(needed), f"{label(self)}.{name}"))
        self.__settings = _settings(self)

    def save_prompts(self, folder: str | Path) -> None:
        """Write each prompt into a folder, as `<name>.<field>.json`: instruction and examples, to be edited."""
        Path(folder).mkdir(parents=True, exist_ok=True)
        for name, prompt in self.get_prompts().items():
            content = json.dumps(prompt.to_dict(), ensure_ascii=False, indent=2)
            write_atomically(self._prompt_file(folder, name), content.encode())

    def load_prompts(self, folder: str | Path) -> None:
        """Take the prompts that `save_prompts` wrote. Raises InputError, naming the file that can't be used."""
        loaded = {}
        for name in self.get_prompts():
            path = self._prompt_file(folder, name)
            try:
                data = json.loads(path.read_text("utf-8-sig"))
            except (OSError, ValueError) as error:
                raise InputError(f"{path} holds no prompt: {error}") from error
            loaded[name] = prompt_from(data, str(path))
        self.set_prompts(**loaded)

    def _prompt_file(self, folder: str | Path, name: str) -> Path:
        return Path(folder) / f"{_NOT_IN_A_FILE_NAME.sub('_', label(self))}.{name}.json"

    def generate_execution_plan(self, kg: KnowledgeGraph) -> Sequence[Coroutine[Any, Any, None]]:
        """Coroutines that write into the graph when awaited.

        The engine calls it only where a subclass has written its own, on a copy of the graph, and takes over what
        they wrote.
        """

        async def write(call: Call) -> None:
            kg.apply(self.changes_from(kg, [(call, await call.run())]))

        return [write(call) for call in self.calls_on(kg)]


def label(transform: BaseGraphTransformation) -> str:
    """The name a transform goes by, also when a subclass skipped __post_init__."""
    return transform.name or type(transform).__name__


def _settings(transform: BaseGraphTransformation) -> str:
    """Models and functions have no text that would last, and what can change may be a log: these don't count."""
    values = {field.name: getattr(transform, field.name) for field in fields(transform)}
    said: dict[str, Any] = {
        name: value for name, value in values.items() if value is None or isinstance(value, str | int | float)
    }
    said |= {name: prompt.to_dict() for name, prompt in values.items() if isinstance(prompt, Prompt)}
    return stable_id(json.dumps(said, sort_keys=True, default=str))[:16]


def lines_of(transform: BaseGraphTransformation, kg: KnowledgeGraph) -> list[Applied]:
    """What the graph's journal says of a transform of this name and settings."""
    name, settings = label(transform), transform.told_apart_by()
    return [line for line in kg.journal if line.transform == name and line.settings == settings]


def _dealt_with(transform: BaseGraphTransformation, kg: KnowledgeGraph) -> set[NodeId]:
    """Nodes that were dealt with before without leaving a mark on them."""
    return {node.id for line in lines_of(transform, kg) for node in line.done if kg.get_node_by_id(node.id) is node}


@dataclass
class Extractor(BaseGraphTransformation):
    """Computes one property of a node. A node that has the property is skipped before anything is paid for."""

    batch_size: ClassVar[int] = 1
    """How many nodes `extract_many` takes at once; at 1 the engine calls `extract`."""

    @abstractmethod
    async def extract(self, node: Node) -> tuple[str, Any]:
        """The property's name and value; None as the value: nothing to store."""

    async def extract_many(self, nodes: Sequence[Node]) -> list[tuple[str, Any]]:
        """As `extract`, for several nodes at once. Override it, and set `batch_size`, where a batch is cheaper."""
        extract = in_coroutine(self.extract)
        return [await extract(node) for node in nodes]

    async def transform(self, kg: KnowledgeGraph) -> list[tuple[Node, tuple[str, Any]]]:
        """Extract from every node that lacks the property; computes, does not write."""
        return list(_found([(call, await call.run()) for call in self.calls_on(kg)]))

    @property
    def writes(self) -> frozenset[str]:
        name = getattr(self, "property_name", None)
        return frozenset([name.lower()]) if name else frozenset()

    def calls_on(self, kg: KnowledgeGraph) -> Iterator[Call]:
        names = self.writes.union(*(line.wrote for line in lines_of(self, kg)))
        done = _dealt_with(self, kg)
        todo = [node for node in kg.nodes if node.id not in done and _lacks(node, names) and self.filter_nodes(node)]
        if type(self).extract_many is not Extractor.extract_many:
            for start in range(0, len(todo), self.batch_size):
                yield Call(tuple(todo[start : start + self.batch_size]), self._many)
            return
        extract = in_coroutine(self.extract)

        async def one(node: Node) -> list[tuple[str, Any]]:
            return [_pair(await extract(node))]

        for node in todo:
            yield Call((node,), one)

    async def _many(self, *nodes: Node) -> list[tuple[str, Any]]:
        pairs = [_pair(pair) for pair in await in_coroutine(self.extract_many)(nodes)]
        if len(pairs) != len(nodes):
            raise TypeError(f"extract_many returned {len(pairs)} pairs for {len(nodes)} nodes")
        return pairs

    def changes_from(self, kg: KnowledgeGraph, results: Results) -> list[Change]:
        return [
            SetProperty(node.id, name.lower(), value)
            for node, (name, value) in _found(results)
            if node.get_property(name) is None
        ]

    def settled_by(self, results: Results) -> list[Node]:
        return [
            node for call, pairs in results for node, pair in zip(call.nodes, pairs, strict=True) if pair[1] is None
        ]


def _lacks(node: Node, names: Iterable[str]) -> bool:
    for name in names:  # noqa: SIM110 - all() with a generator takes three times as long, and this runs once a node
        if node.get_property(name) is not None:
            return False
    return True


def _pair(found: Any) -> tuple[str, Any]:
    if not isinstance(found, tuple) or len(found) != 2 or not isinstance(found[0], str):
        raise TypeError(f"extract must return a pair (property name, value), not {found!r}")
    return found


def _found(results: Results) -> Iterator[tuple[Node, tuple[str, Any]]]:
    """Each node with its pair, less those for which there was nothing."""
    for call, pairs in results:
        for node, pair in zip(call.nodes, pairs, strict=True):
            if pair[1] is not None:
                yield node, pair


@dataclass
class Splitter(BaseGraphTransformation):
    """Cuts a node into smaller ones. A node that this splitter has split, or that can't be split, stays as it is."""

    @abstractmethod
    async def split(self, node: Node) -> tuple[list[Node], list[Relationship]]:
        """The new nodes and the relationships that tie them to the old one and to each other."""

    async def transform(self, kg: KnowledgeGraph) -> tuple[list[Node], list[Relationship]]:
        """All new nodes and relationships; computes, does not write."""
        nodes: list[Node] = []
        links: list[Relationship] = []
        for call in self.calls_on(kg):
            more_nodes, more_links = await call.run()
            nodes += more_nodes
            links += more_links
        return nodes, links

    def calls_on(self, kg: KnowledgeGraph) -> Iterator[Call]:
        done = _dealt_with(self, kg)
        split = in_coroutine(self.split)

        async def one(node: Node) -> tuple[list[Node], list[Relationship]]:
            made = await split(node)
            if not isinstance(made, tuple) or len(made) != 2:
                raise TypeError(f"split must return a pair (nodes, relationships), not {made!r}")
            return made

        for node in kg.nodes:
            if node.id not in done and self.filter_nodes(node):
                yield Call((node,), one)

    def changes_from(self, kg: KnowledgeGraph, results: Results) -> list[Change]:
        made: list[Change] = []
        for _, (nodes, links) in results:
            made += map(AddNode, nodes)
            made += map(AddRelationship, links)
        return made

    def settled_by(self, results: Results) -> list[Node]:
        return [node for call, (made, _) in results for node in (*call.nodes, *made)]  # it doesn't split its own chunks


@dataclass
class RelationshipBuilder(BaseGraphTransformation):
    """Adds edges between nodes. Whoever calls `transform`, it sees the filtered graph."""

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "transform" in vars(cls):
            cls.transform = _on_filtered(cls.transform)  # type: ignore[method-assign]

    @abstractmethod
    async def transform(self, kg: KnowledgeGraph) -> list[Relationship]:
        """The relationships to add; one that is there already is added once."""

    def calls_on(self, kg: KnowledgeGraph) -> Iterator[Call]:
        yield Call((), lambda: self.transform(kg))

    def changes_from(self, kg: KnowledgeGraph, results: Results) -> list[Change]:
        return [AddRelationship(link) for _, links in results for link in links]


def _on_filtered(transform: Callable[..., Any]) -> Callable[..., Coroutine[Any, Any, Any]]:
    @wraps(transform)
    async def filtered(self: RelationshipBuilder, kg: KnowledgeGraph) -> Any:
        return await in_coroutine(transform)(self, self.filter(kg))

    return filtered


@dataclass
class NodeFilter(BaseGraphTransformation):
    """Takes nodes away. All verdicts are taken on the same graph, then applied; each is asked for once."""

    @abstractmethod
    async def custom_filter(self, node: Node, kg: KnowledgeGraph) -> bool:
        """True when the node is to be removed."""

    async def transform(self, kg: KnowledgeGraph) -> KnowledgeGraph:
        """A graph without every flagged node; `kg` itself is left alone."""
        results = [(call, await call.run()) for call in self.calls_on(kg)]
        smaller = kg.copy()
        smaller.apply(self.changes_from(kg, results))
        return smaller

    def calls_on(self, kg: KnowledgeGraph) -> Iterator[Call]:
        done = _dealt_with(self, kg)
        ask = in_coroutine(self.custom_filter)
        for node in kg.nodes:
            if node.id not in done and self.filter_nodes(node):
                yield Call((node,), lambda node: ask(node, kg))

    def changes_from(self, kg: KnowledgeGraph, results: Results) -> list[Change]:
        flagged = {node.id: node for call, remove in results if remove for node in call.nodes}
        return [*bridges(kg, flagged), *map(RemoveNode, flagged)]

    def settled_by(self, results: Results) -> list[Node]:
        return [node for call, remove in results if not remove for node in call.nodes]


def bridges(kg: KnowledgeGraph, removed: Mapping[NodeId, Node]) -> Iterator[AddRelationship]:
    """ "next" relationships over the gaps that removed nodes leave in a chain."""
    for node in removed.values():
        for before in kg.neighbors(node, "next", "in"):
            if before.id in removed:
                continue
            after, seen = [node], {before.id, *(end.id for end in kg.neighbors(before, "next", "out"))} - removed.keys()
            while after:
                at = after.pop(0)
                if at.id in seen:
                    continue
                seen.add(at.id)
                if at.id in removed:
                    after += kg.neighbors(at, "next", "out")
                else:
                    yield AddRelationship(Relationship("next", before, at))


@dataclass
class GraphTransform(BaseGraphTransformation):
    """Anything over the whole graph: reads it and returns the changes it wants, without making them."""

    @abstractmethod
    async def transform(self, kg: KnowledgeGraph) -> Sequence[Change]: ...

    def changes_from(self, kg: KnowledgeGraph, results: Results) -> list[Change]:
        return [change for _, changes in results for change in changes]
