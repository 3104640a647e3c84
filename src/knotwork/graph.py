"""The one data structure: a property graph that changes only by `apply` and can undo every change.

    undo = graph.apply(changes)   # all of them, or none and an error
    graph.apply(undo)             # the graph is what it was, order included

`add`, `remove_node`, `add_property` on a node and `nodes.append` all go through `apply`, so a user's own
code is recorded like ours.
"""

from __future__ import annotations

import json
import math
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, MutableMapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import deepcopy
from dataclasses import dataclass, field
from enum import StrEnum
from hashlib import blake2b
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Any, Generic, Literal, TypeAlias, TypeVar, overload
from uuid import UUID, uuid4

import numpy as np

from knotwork.errors import GraphError
from knotwork.text import stable_id
from knotwork.threads import uncollected

NodeId: TypeAlias = str | int | UUID
Direction = Literal["in", "out", "both"]
FORMAT_VERSION = 1


@dataclass(frozen=True, slots=True)
class Document:
    """A text to index. Spans of evidence and citations index `text`.

    An id left out comes from the source when there is one, else from the text.
    """

    text: str
    id: str | None = None
    title: str = ""
    source: str = ""
    metadata: dict[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> str:
        """The id given, or the derived one."""
        if self.id:
            return self.id
        return stable_id("document", self.source) if self.source else stable_id("document-text", self.text)


class NodeType(StrEnum):
    """Kinds of node that the pipeline writes; a user's own nodes may stay UNKNOWN."""

    UNKNOWN = ""
    DOCUMENT = "document"
    CHUNK = "chunk"
    ENTITY = "entity"
    COMMUNITY = "community"


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


MISSING = _Missing()
"""As a property's new value: take the property away."""


# -- nodes and relationships ----------------------------------------------------------------------


class Properties(MutableMapping[str, Any]):
    """A mapping with case-insensitive keys.

    Of a node in a graph, every write is a change of that graph. Of a relationship in a graph, they are fixed.
    """

    __slots__ = ("_data", "_owner")

    def __init__(self, data: Mapping[str, Any] | None = None, owner: Node | None = None) -> None:
        try:
            self._data: dict[str, Any] = {key.lower(): value for key, value in data.items()} if data else {}
        except AttributeError as error:
            raise GraphError(f"properties are a mapping with strings as keys, not {data!r}") from error
        self._owner: Node | KnowledgeGraph | None = owner  # the graph of a relationship that is in one

    def __getitem__(self, key: str) -> Any:
        return self._data[_lower(key)]

    def __setitem__(self, key: str, value: Any) -> None:
        self._write(_lower(key), value)

    def __delitem__(self, key: str) -> None:
        if key not in self:
            raise KeyError(key)
        self._write(_lower(key), MISSING)

    def _write(self, key: str, value: Any) -> None:
        owner = self._owner
        if isinstance(owner, KnowledgeGraph):
            raise GraphError(
                f"cannot set {key!r}: properties of a relationship in a graph are fixed; remove it and add another"
            )
        if owner is not None and owner._graph is not None:
            owner._graph.apply([SetProperty(owner.id, key, value)])
        elif value is MISSING:
            self._data.pop(key, None)
        else:
            self._data[key] = value

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and key.lower() in self._data

    def __iter__(self) -> Iterator[str]:
        return iter(self._data)

    def __len__(self) -> int:
        return len(self._data)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Properties):
            return same(self._data, other._data)
        if isinstance(other, Mapping):
            return same(self._data, {str(key).lower(): value for key, value in other.items()})
        return NotImplemented

    def __repr__(self) -> str:
        return repr(self._data)


def _lower(key: str) -> str:
    if not isinstance(key, str):
        raise GraphError(f"property names are strings, not {key!r}")
    return key.lower()


class Node:
    """A node of the graph; equal and hashed by id. It belongs to the first graph that took it."""

    __slots__ = ("_graph", "_properties", "id", "type")

    def __init__(
        self,
        id: NodeId | None = None,
        properties: Mapping[str, Any] | None = None,
        type: NodeType | str = NodeType.UNKNOWN,
    ) -> None:
        self._graph: KnowledgeGraph | None = None
        self._properties = Properties(properties, self)
        self.type = type if isinstance(type, NodeType) else _node_type(type)
        self.id: NodeId = _known_id(id) if id is not None else uuid4().hex

    @property
    def properties(self) -> Properties:
        return self._properties

    @properties.setter
    def properties(self, value: Mapping[str, Any]) -> None:
        new = Properties(value)._data
        if self._graph is None:
            self._properties._data = new
            return
        gone = [SetProperty(self.id, key, MISSING) for key in self._properties]
        self._graph.apply([*gone, *(SetProperty(self.id, key, item) for key, item in new.items())])

    def add_property(self, key: str, value: Any) -> None:
        """Set a property that is not there yet; ValueError when it is."""
        if key in self._properties:
            raise GraphError(
                f"node {self.id!r} already has the property {key!r}; assign to node.properties[{key!r}] to replace it"
            )
        self._properties[key] = value

    def get_property(self, key: str) -> Any:
        """The value, or None where there is no such property."""
        return self._properties._data.get(key.lower())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Node) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        shown = ", ".join(self._properties)
        return f"Node(id={self.id!r}, type={self.type.value!r}, properties=[{shown}])"


class Relationship:
    """A typed edge from `source` to `target`; equal and hashed by id.

    Without an id it gets one from its type, ends and properties, so the same relationship made twice is one.
    """

    __slots__ = ("bidirectional", "id", "properties", "source", "target", "type")
    id: NodeId

    def __init__(
        self,
        type: str,
        source: Node,
        target: Node,
        id: NodeId | None = None,
        bidirectional: bool = False,
        properties: Mapping[str, Any] | None = None,
    ) -> None:
        if not (isinstance(source, Node) and isinstance(target, Node)):
            raise GraphError(f"the ends of a relationship are two Nodes, not {source!r} and {target!r}")
        self.type = type
        self.source = source
        self.target = target
        self.bidirectional = bidirectional
        self.properties = Properties(properties)
        if id is not None:
            self.id = _known_id(id)
        elif not _PLAIN.issuperset(map(_kind, self.properties._data.values())):
            # A value that may change later, or of which no id can be made.
            self.id = relationship_id(type, source.id, target.id, self.properties._data)

    if not TYPE_CHECKING:  # it would allow any name

        def __getattr__(self, name: str) -> NodeId:
            """The id, when first asked for: of a million edges that a builder proposes, few may be kept."""
            if name != "id":
                raise AttributeError(f"'Relationship' object has no attribute {name!r}")
            self.id = relationship_id(self.type, self.source.id, self.target.id, self.properties._data)
            return self.id

    @classmethod
    def many(
        cls,
        type: str,
        sources: Iterable[Node],
        targets: Iterable[Node],
        properties: Iterable[dict[str, Any]],
        bidirectional: bool = False,
    ) -> list[Relationship]:
        """What a call for each would make, in a tenth of the time: nothing is checked and nothing copied.

        properties: a dict each, for it alone, with lower-case keys.
        """
        made: list[Relationship] = []
        new, new_properties = cls.__new__, Properties.__new__
        with uncollected():
            for source, target, data in zip(sources, targets, properties, strict=True):
                link, kept = new(cls), new_properties(Properties)
                kept._data, kept._owner = data, None
                link.type, link.source, link.target = type, source, target
                link.bidirectional, link.properties = bidirectional, kept
                made.append(link)
        return made

    def get_property(self, key: str) -> Any:
        """The value, or None where there is no such property."""
        return self.properties._data.get(key.lower())

    def other_end(self, node: Node) -> Node:
        return self.target if node.id == self.source.id else self.source

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Relationship) and self.id == other.id

    def __hash__(self) -> int:
        return hash(self.id)

    def __repr__(self) -> str:
        arrow = "--" if self.bidirectional else "->"
        return f"Relationship({self.source.id!r} -{self.type}{arrow} {self.target.id!r})"


def relationship_id(type: str, source: NodeId, target: NodeId, properties: Mapping[str, Any]) -> str:
    """The id of a relationship that was given none. Raises GraphError for properties that have no JSON form."""
    said = f"{_told(type)}{_told(source)}{_told(target)}"
    for key in sorted(properties):
        said = f"{said}{len(key)}:{key}{_told(properties[key])}"
    return blake2b(said.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


_PLAIN = frozenset({str, int, float, bool, NoneType})
_kind = type  # also where an argument has that name


def _told(value: Any) -> str:
    """A text that no other value has. Written by hand for the short and frequent kinds: this runs once an edge."""
    kind = type(value)
    if kind is str:
        return f"s{len(value)}:{value}"
    if kind is int or kind is float or kind is bool or value is None:
        return f"{value!r};"
    if isinstance(value, str):
        return _told(str.__str__(value))
    if isinstance(value, np.generic):
        return _told(value.item())
    try:
        text = _canonical(value)
    except (TypeError, ValueError, RecursionError) as error:
        raise GraphError(f"no id can be made from the value {value!r} ({error}); give the relationship one") from error
    return f"j{len(text)}:{text}"


def _node_type(name: str) -> NodeType:
    try:
        return NodeType(name)
    except ValueError as error:
        known = ", ".join(repr(kind.value) for kind in NodeType)
        raise GraphError(f"{name!r} is no type of node; there are {known}") from error


def _known_id(id: NodeId) -> NodeId:
    if not isinstance(id, str | int | UUID):
        raise GraphError(f"an id is a str, int or UUID, not {id!r} ({type(id).__name__})")
    return id


# -- changes --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class AddNode:
    """`order` is the place among the nodes, as an undo knows it; None: at the end."""

    node: Node
    order: float | None = None


@dataclass(frozen=True, slots=True)
class RemoveNode:
    """Takes the node's relationships with it."""

    id: NodeId


@dataclass(frozen=True, slots=True)
class SetProperty:
    """Set a property of a node; MISSING takes it away.

    `position` is its place among the keys; None: last or unchanged.
    """

    id: NodeId
    key: str
    value: Any
    position: int | None = None


@dataclass(frozen=True, slots=True)
class AddRelationship:
    """`order` is the place among the relationships, as an undo knows it; None: at the end."""

    relationship: Relationship
    order: float | None = None


@dataclass(frozen=True, slots=True)
class RemoveRelationship:
    id: NodeId


Change: TypeAlias = AddNode | RemoveNode | SetProperty | AddRelationship | RemoveRelationship
Listener: TypeAlias = Callable[[Sequence[Change]], object]


class Recording(list[Change]):
    """The changes made to a graph, growing as they are made."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        super().__init__()
        self.graph = graph
        self._back: list[Change] = []

    def undo(self) -> list[Change]:
        """The changes that take these back."""
        return self._back[::-1]


_recordings: ContextVar[tuple[Recording, ...]] = ContextVar("knotwork_recordings", default=())


@dataclass(frozen=True, slots=True)
class Applied:
    """One line of a graph's journal: a transform that ran, what undoes it, and what it must remember.

    settings: tells transforms of one name apart; removed: node ids it took away, never to be made again; wrote: the
    property names it wrote; done: nodes it dealt with that carry no mark of it. A node that was removed and made
    anew is another node, not dealt with. `undo` and `by` (the transforms themselves) live in memory only.
    """

    transform: str
    removed: tuple[NodeId, ...] = ()
    wrote: tuple[str, ...] = ()
    done: tuple[Node, ...] = ()
    settings: str = ""
    undo: tuple[Change, ...] = ()
    by: tuple[object, ...] = ()


# -- the graph ------------------------------------------------------------------------------------

T = TypeVar("T", Node, Relationship)


class Items(Sequence[T], Generic[T]):
    """The nodes or relationships of a graph as an ordered sequence; `append` and `extend` add to the graph.

    An iteration sees them as they were when it began.
    """

    def __init__(self, graph: KnowledgeGraph, items: dict[NodeId, T]) -> None:
        self._graph = graph
        self._items: dict[NodeId, T] = items
        self._listed: list[T] = []
        self._version = -1  # of the graph when they were listed

    def _list(self) -> list[T]:
        if self._version != self._graph.version:
            self._graph._sort()
            self._listed, self._version = list(self._items.values()), self._graph.version
        return self._listed

    def append(self, item: T) -> None:
        self._graph.add(item)

    def extend(self, items: Iterable[T]) -> None:
        self._graph.add_all(items)

    def __iter__(self) -> Iterator[T]:
        return iter(self._list())

    def __len__(self) -> int:
        return len(self._items)

    def __contains__(self, item: object) -> bool:
        return isinstance(item, Node | Relationship) and self._items.get(item.id) == item

    @overload
    def __getitem__(self, index: int) -> T: ...
    @overload
    def __getitem__(self, index: slice) -> list[T]: ...
    def __getitem__(self, index: int | slice) -> T | list[T]:
        return self._list()[index]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __repr__(self) -> str:
        return repr(list(self))


class KnowledgeGraph:
    """Nodes and relationships, each kept in order, with look-up by id and adjacency in O(1)."""

    def __init__(self, nodes: Iterable[Node] = (), relationships: Iterable[Relationship] = ()) -> None:
        self._nodes: dict[NodeId, Node] = {}
        self._relationships: dict[NodeId, Relationship] = {}
        self._links: dict[NodeId, dict[NodeId, Relationship]] = {}  # node id -> its relationships
        self._order: dict[NodeId, float] = {}  # place of a node; kept sparse, only its order counts
        self._link_order: dict[NodeId, float] = {}
        self._places: set[float] = set()  # those of both
        self._last = 0.0
        self._nodes_moved = False  # whether a node was put between others since the last `_sort`
        self._links_moved: set[NodeId] = set()  # ends of relationships that were
        self._listeners: list[Listener] = []
        self._is_view = False
        self._all_nodes = Items(self, self._nodes)
        self._all_relationships = Items(self, self._relationships)
        self._kept: list[Any] = []  # results of failed stages, for the engine's next try
        self.version = 0
        """Grows with every change."""
        self.journal: list[Applied] = []
        self.add_all([*nodes, *relationships])

    # reading

    @property
    def nodes(self) -> Items[Node]:
        return self._all_nodes

    @property
    def relationships(self) -> Items[Relationship]:
        return self._all_relationships

    def get_node_by_id(self, node_id: NodeId) -> Node | None:
        return self._nodes.get(node_id)

    def get_relationship_by_id(self, relationship_id: NodeId) -> Relationship | None:
        return self._relationships.get(relationship_id)

    def nodes_of(self, type: NodeType) -> list[Node]:
        """The nodes of one type, in order."""
        return [node for node in self.nodes if node.type is type]

    def relationships_of(
        self, node: Node, type: str | None = None, direction: Direction = "both"
    ) -> list[Relationship]:
        """The relationships at a node, in order; a bidirectional one counts in either direction."""
        if direction not in ("in", "out", "both"):
            raise GraphError(f"direction is 'in', 'out' or 'both', not {direction!r}")
        if self._links_moved:
            self._sort()
        id = node.id
        return [
            link
            for link in self._links.get(id, {}).values()
            if (type is None or link.type == type)
            and (
                direction == "both"
                or link.bidirectional
                or (link.source.id if direction == "out" else link.target.id) == id
            )
        ]

    def neighbors(self, node: Node, type: str | None = None, direction: Direction = "both") -> list[Node]:
        """The nodes one relationship away, each once, in the order of the relationships."""
        ends = {end.id: end for link in self.relationships_of(node, type, direction) for end in [link.other_end(node)]}
        return list(ends.values())

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, KnowledgeGraph):
            return NotImplemented
        return (
            self.nodes == other.nodes
            and self.relationships == other.relationships
            and all(map(_same_node, self.nodes, other.nodes))
            and all(map(_same_relationship, self.relationships, other.relationships))
            and self._remembered() == other._remembered()
        )

    __hash__ = None  # type: ignore[assignment]  # it can change, so it has no hash

    def __repr__(self) -> str:
        return f"KnowledgeGraph(nodes: {len(self._nodes)}, relationships: {len(self._relationships)})"

    __str__ = __repr__

    # writing

    def add(self, item: Node | Relationship) -> None:
        """Add a node or a relationship. One that is there already is kept once."""
        self.add_all([item])

    def add_all(self, items: Iterable[Node | Relationship]) -> None:
        changes: list[Change] = []
        for item in items:
            if isinstance(item, Node):
                changes.append(AddNode(item))
            elif isinstance(item, Relationship):
                changes.append(AddRelationship(item))
            else:
                raise GraphError(f"a graph holds Node and Relationship, not {type(item).__name__}")
        if changes:
            self.apply(changes)

    def remove_node(self, node: Node, inplace: bool = True) -> KnowledgeGraph | None:
        """Remove a node and its relationships: here, or (inplace=False) in a copy that is returned."""
        if not inplace:
            smaller = self.copy()
            smaller.remove_node(node)
            return smaller
        self.apply([RemoveNode(node.id)])
        return None

    def apply(self, changes: Iterable[Change]) -> list[Change]:
        """Make the changes, all or none, and return what undoes them.

        Raises GraphError naming the node or relationship when a change does not fit the graph; the graph is
        then as it was. Listeners hear of the changes once they are made; when one raises, they are undone.
        """
        if self._is_view:
            raise GraphError("a view of a graph is for reading: change the graph it was made from, or a copy()")
        undo: list[Change] = []
        made: list[Change] = []
        told: list[Listener] = []
        try:
            for change in changes:
                before = len(undo)
                self._make(change, undo)
                if len(undo) > before:
                    made.append(change)
            self.version += 1
            for listener in tuple(self._listeners) if made else ():
                listener(made)
                told.append(listener)
        except BaseException:
            undo.reverse()
            for change in undo:
                self._make(change, [])
            self.version += 1
            for listener in told:
                listener(undo)
            raise
        for recording in _recordings.get():
            if recording.graph is self:
                recording += made
                recording._back += undo
        undo.reverse()
        return undo

    def subscribe(self, listener: Listener) -> None:
        """Call `listener` with every list of changes made from now on; if it raises, they are undone."""
        self._listeners.append(listener)

    def unsubscribe(self, listener: Listener) -> None:
        self._listeners.remove(listener)

    @contextmanager
    def recording(self) -> Iterator[Recording]:
        """A list that fills with the changes made inside the block: by this task, and what it starts."""
        recording = Recording(self)
        token = _recordings.set((*_recordings.get(), recording))
        try:
            yield recording
        finally:
            _recordings.reset(token)

    def _make(self, change: Change, undo: list[Change]) -> None:
        match change:
            case AddRelationship():
                self._add_relationship(change.relationship, change.order, undo)
            case SetProperty():
                self._set_property(change, undo)
            case AddNode():
                self._add_node(change.node, change.order, undo)
            case RemoveRelationship():
                self._remove_relationship(change.id, undo)
            case RemoveNode():
                self._remove_node(change.id, undo)
            case _:
                raise GraphError(f"{change!r} is not a change")

    def _add_node(self, node: Node, order: float | None, undo: list[Change]) -> None:
        if not isinstance(node, Node):
            raise GraphError(f"{node!r} is no Node")
        there = self._nodes.get(node.id)
        if there is not None:
            if there.type is not node.type:
                raise GraphError(f"node id {node.id!r} is taken by a node of type {there.type.value!r}")
            return
        self._nodes[node.id] = node
        if node._graph is None:
            node._graph = self
        self._order[node.id] = self._place(order)
        self._nodes_moved |= order is not None
        undo.append(RemoveNode(node.id))

    def _add_relationship(self, link: Relationship, order: float | None, undo: list[Change]) -> None:
        if not isinstance(link, Relationship):
            raise GraphError(f"{link!r} is no Relationship")
        id = link.id
        there = self._relationships.get(id)
        if there is not None:
            if (there.type, there.source, there.target) != (link.type, link.source, link.target):
                raise GraphError(f"the id {id!r} of {link!r} is taken by {there!r}")
            return
        source, target = self._end(link, link.source, "source"), self._end(link, link.target, "target")
        if link.properties._owner is not None and (link.source is not source or link.target is not target):
            # it ties another graph's nodes of the same ids, and goes on doing so
            link = Relationship(link.type, source, target, link.id, link.bidirectional, link.properties)
        link.source, link.target = source, target
        if link.properties._owner is None:
            link.properties._owner = self
        self._relationships[id] = link
        self._links.setdefault(source.id, {})[id] = link
        self._links.setdefault(target.id, {})[id] = link
        self._link_order[id] = self._place(order)
        if order is not None:
            self._links_moved.update((source.id, target.id))
        undo.append(RemoveRelationship(id))

    def _end(self, link: Relationship, end: Node, word: str) -> Node:
        node = self._nodes.get(end.id)
        if node is None:
            raise GraphError(
                f"relationship {link.id!r} ({link.type}): its {word} {end.id!r} is not in the graph; add the node first"
            )
        return node

    def _remove_node(self, id: NodeId, undo: list[Change]) -> None:
        node = self._nodes.get(id)
        if node is None:
            raise GraphError(f"cannot remove node {id!r}: no such node in the graph")
        for link_id in list(self._links.pop(id, ())):
            self._remove_relationship(link_id, undo)
        undo.append(AddNode(node, self._order[id]))
        self._places.discard(self._order.pop(id))
        del self._nodes[id]
        if node._graph is self:
            node._graph = None

    def _remove_relationship(self, id: NodeId, undo: list[Change]) -> None:
        link = self._relationships.pop(id, None)
        if link is None:
            raise GraphError(f"cannot remove relationship {id!r}: no such relationship in the graph")
        for end in (link.source, link.target):
            if end.id in self._links:
                self._links[end.id].pop(id, None)
        undo.append(AddRelationship(link, self._link_order[id]))
        self._places.discard(self._link_order.pop(id))
        if link.properties._owner is self:
            link.properties._owner = None

    def _set_property(self, change: SetProperty, undo: list[Change]) -> None:
        node, key, value = self._nodes.get(change.id), _lower(change.key), change.value
        if node is None:
            raise GraphError(f"cannot set {key!r} of node {change.id!r}: no such node in the graph")
        data = node._properties._data
        if key in data and value is MISSING:
            undo.append(SetProperty(node.id, key, data[key], list(data).index(key)))
            del data[key]
        elif key in data:
            undo.append(SetProperty(node.id, key, data[key]))
            data[key] = value
        elif value is not MISSING:
            undo.append(SetProperty(node.id, key, MISSING))
            after = list(data)[change.position :] if change.position is not None else []
            data[key] = value
            for other in after:  # a dict's only way to put something before them
                data[other] = data.pop(other)

    def _place(self, order: float | None) -> float:
        """A place that nothing else has: the one given, or just after what is there; None: after all."""
        if order is None:  # beyond all others
            order = self._last = self._last + 1
        else:
            while order in self._places:
                order = math.nextafter(order, math.inf)
            self._last = max(self._last, math.ceil(order))
        self._places.add(order)
        return order

    def _sort(self) -> None:
        if self._nodes_moved:
            _sort_in_place(self._nodes, self._order)
            self._nodes_moved = False
        if self._links_moved:
            _sort_in_place(self._relationships, self._link_order)
            for id in self._links_moved & self._links.keys():
                _sort_in_place(self._links[id], self._link_order)
            self._links_moved.clear()

    def copy(self, *, deep: bool = False) -> KnowledgeGraph:
        """The same graph with nodes of its own. deep: with property values of their own too, else they are shared."""
        nodes = {node.id: Node(node.id, _values(node, deep), node.type) for node in self.nodes}
        links = [
            Relationship(
                link.type,
                nodes[link.source.id],
                nodes[link.target.id],
                link.id,
                link.bidirectional,
                _values(link, deep),
            )
            for link in self.relationships
        ]
        twin = self._like(nodes.values(), links)
        for node in nodes.values():
            node._graph = twin
        for link in links:
            link.properties._owner = twin
        twin.journal = [
            Applied(
                line.transform, line.removed, line.wrote, tuple(nodes[n.id] for n in self._there(line)), line.settings
            )
            for line in self.journal
        ]
        return twin

    def view(self, keep: Callable[[Node], bool]) -> KnowledgeGraph:
        """For reading: the same node objects where `keep` holds, and the relationships with both ends kept."""
        nodes = {node.id: node for node in self.nodes if keep(node)}
        links = [link for link in self.relationships if link.source.id in nodes and link.target.id in nodes]
        part = self._like(nodes.values(), links)
        part.journal = self.journal
        part._is_view = True
        return part

    def _like(self, nodes: Iterable[Node], links: Iterable[Relationship]) -> KnowledgeGraph:
        """A graph of these, in the same places as here; they still belong to whom they belonged."""
        graph = KnowledgeGraph()
        graph._last = self._last
        for node in nodes:
            graph._nodes[node.id] = node
            graph._order[node.id] = self._order[node.id]
        for link in links:
            graph._relationships[link.id] = link
            graph._link_order[link.id] = self._link_order[link.id]
            graph._links.setdefault(link.source.id, {})[link.id] = link
            graph._links.setdefault(link.target.id, {})[link.id] = link
        graph._places = {*graph._order.values(), *graph._link_order.values()}
        graph.version = 1
        return graph

    def release(self) -> None:
        """Let go of all nodes and relationships, so that another graph can have them. This one is then spent."""
        for node in self.nodes:
            if node._graph is self:
                node._graph = None
        for link in self.relationships:
            if link.properties._owner is self:
                link.properties._owner = None

    def _there(self, line: Applied) -> list[Node]:
        """The nodes of a journal's line that are still the same."""
        return [node for node in line.done if self._nodes.get(node.id) is node]

    def _remembered(self) -> list[dict[str, Any]]:
        """The journal as a file keeps it: what each transform must remember, one entry a transform."""
        entries: dict[tuple[str, str], dict[str, dict[Any, None]]] = {}
        for line in self.journal:
            memory = {"removed": line.removed, "wrote": line.wrote, "done": [node.id for node in self._there(line)]}
            if any(memory.values()):
                entry = entries.setdefault((line.transform, line.settings), {word: {} for word in memory})
                for word, said in memory.items():
                    entry[word].update(dict.fromkeys(said))
        return [
            {"transform": name, "settings": settings, **{word: [*map(_plain_id, said)] for word, said in entry.items()}}
            for (name, settings), entry in entries.items()
        ]

    # queries

    def find_indirect_clusters(
        self,
        relationship_condition: Callable[[Relationship], bool] = lambda _: True,
        depth_limit: int = 3,
    ) -> list[set[Node]]:
        """The maximal sets of nodes within `depth_limit` edges of a start node over matching relationships.

        A set inside another is left out, and so are lone nodes. In the order of their start nodes.
        """
        if depth_limit < 1:
            raise GraphError(f"depth_limit must be at least 1, not {depth_limit}")
        steps = self._steps(relationship_condition)
        balls = dict.fromkeys(steps.ball(start, depth_limit) for start in steps.out)
        return [{self._nodes[id] for id in ball} for ball in _maximal([ball for ball in balls if len(ball) > 1])]

    def find_n_indirect_clusters(
        self,
        n: int,
        relationship_condition: Callable[[Relationship], bool] = lambda _: True,
        depth_limit: int = 3,
        seed: int = 42,
    ) -> list[set[Node]]:
        """Up to `n` of those clusters, spread over the graph: each next start is as fresh as can be had.

        Starts are drawn with `seed`; a start that an earlier cluster holds is used only when no other is left.
        """
        if n < 1 or depth_limit < 1:
            raise GraphError(f"n and depth_limit must be at least 1, not {n} and {depth_limit}")
        steps = self._steps(relationship_condition)
        starts = [id for id, ends in steps.out.items() if ends]
        random.Random(seed).shuffle(starts)
        chosen: list[frozenset[NodeId]] = []
        covered: set[NodeId] = set()
        for fresh in (True, False):
            for start in starts:
                if len(chosen) == n:
                    break
                if fresh == (start in covered):
                    continue
                ball = steps.ball(start, depth_limit)
                if any(ball <= other for other in chosen):
                    continue
                chosen = [other for other in chosen if not other < ball] + [ball]
                covered |= ball
        return [{self._nodes[id] for id in ball} for ball in chosen]

    def find_two_nodes_single_rel(
        self, relationship_condition: Callable[[Relationship], bool] = lambda _: True
    ) -> list[tuple[Node, Relationship, Node]]:
        """(source, relationship, target) for every matching relationship between two different nodes."""
        return [
            (link.source, link, link.target)
            for link in self.relationships
            if link.source.id != link.target.id and relationship_condition(link)
        ]

    def _steps(self, condition: Callable[[Relationship], bool]) -> _Steps:
        return _Steps((node.id for node in self.nodes), (link for link in self.relationships if condition(link)))

    # files

    def to_dict(self) -> dict[str, Any]:
        """The graph as strict JSON values. Raises GraphError naming node and key for a value with no JSON form."""
        return {
            "version": FORMAT_VERSION,
            "nodes": [
                {
                    "id": _plain_id(node.id),
                    "type": node.type.value,
                    "properties": _plain_properties(node.properties, f"node {node.id!r}"),
                }
                for node in self.nodes
            ],
            "relationships": [
                {
                    "id": _plain_id(link.id),
                    "type": link.type,
                    "source": _plain_id(link.source.id),
                    "target": _plain_id(link.target.id),
                    "bidirectional": link.bidirectional,
                    "properties": _plain_properties(link.properties, f"relationship {link.id!r}"),
                }
                for link in self.relationships
            ],
            "journal": self._remembered(),
        }

    @classmethod
    def from_dict(cls, data: dict[str, Any], name: str = "graph") -> KnowledgeGraph:
        """The graph of `to_dict`. `name` is what errors call it."""
        if not isinstance(data, dict) or "nodes" not in data or "relationships" not in data:
            raise GraphError(f"{name}: not a knowledge graph (it needs the keys nodes and relationships)")
        graph = cls()
        try:
            if data.get("version", FORMAT_VERSION) > FORMAT_VERSION:
                raise GraphError(
                    f"version {data['version']} is newer than this Knotwork reads ({FORMAT_VERSION}); upgrade knotwork"
                )
            graph.add_all([_read_node(item) for item in data["nodes"]])
            if len(graph.nodes) < len(data["nodes"]):
                raise GraphError("two nodes have the same id")
            graph.add_all([_read_relationship(item, graph) for item in data["relationships"]])
            graph.journal = [
                Applied(
                    line["transform"],
                    tuple(map(_read_id, line.get("removed", ()))),
                    tuple(line.get("wrote", ())),
                    tuple(graph._nodes[id] for id in map(_read_id, line.get("done", ())) if id in graph._nodes),
                    line.get("settings", ""),
                )
                for line in data.get("journal") or ()
            ]
        except GraphError as error:
            raise GraphError(f"{name}: {error}") from error
        except (KeyError, TypeError, AttributeError, ValueError, RecursionError) as error:
            raise GraphError(f"{name}: not a knowledge graph: {error!r}") from error
        return graph

    def save(self, path: str | Path) -> None:
        """Write the graph as JSON. The old file stays as it was unless the new one is whole on disk."""
        path = Path(path)
        data = self.to_dict()
        try:
            content = _json(data, ensure_ascii=False).encode()
        except UnicodeEncodeError:  # lone surrogates exist in JSON as escapes only
            content = _json(data, ensure_ascii=True).encode()
        try:
            write_atomically(path, content)
        except OSError as error:
            raise GraphError(f"{path}: {error.strerror or error}") from error

    @classmethod
    def load(cls, path: str | Path) -> KnowledgeGraph:
        """Read what `save` wrote. Raises GraphError naming the file and what is wrong with it."""
        path = Path(path)
        try:
            data = json.loads(path.read_bytes(), parse_constant=_no_json)
        except OSError as error:
            raise GraphError(f"{path}: {error.strerror or error}") from error
        except (ValueError, RecursionError) as error:
            raise GraphError(f"{path}: not JSON: {error}") from error
        return cls.from_dict(data, str(path))


def _sort_in_place(items: dict[NodeId, T], order: dict[NodeId, float]) -> None:
    ordered = sorted(items.items(), key=lambda pair: order[pair[0]])
    items.clear()
    items.update(ordered)


def _values(item: Node | Relationship, deep: bool) -> dict[str, Any]:
    data = item.properties._data
    return deepcopy(data) if deep else data


def _same_node(left: Node, right: Node) -> bool:
    return left.type is right.type and left.properties == right.properties


def _same_relationship(left: Relationship, right: Relationship) -> bool:
    return (
        (left.type, left.source, left.target, bool(left.bidirectional))
        == (right.type, right.source, right.target, bool(right.bidirectional))
    ) and left.properties == right.properties


def get_child_nodes(node: Node, graph: KnowledgeGraph, level: int = 1) -> list[Node]:
    """The nodes at most `level` steps below a node along "child" relationships, nearest first, each once."""
    return _walk(node, graph, level, "out")


def get_parent_nodes(node: Node, graph: KnowledgeGraph, level: int = 1) -> list[Node]:
    """The nodes at most `level` steps above a node along "child" relationships, nearest first, each once."""
    return _walk(node, graph, level, "in")


def _walk(node: Node, graph: KnowledgeGraph, level: int, direction: Direction) -> list[Node]:
    found: dict[NodeId, Node] = {}
    front = [node]
    for _ in range(level):
        ends = {end.id: end for at in front for end in graph.neighbors(at, "child", direction)}
        front = [end for id, end in ends.items() if id not in found and id != node.id]
        found.update((end.id, end) for end in front)
    return list(found.values())


class _Steps:
    """Which node leads to which, by the relationships that match."""

    def __init__(self, nodes: Iterable[NodeId], links: Iterable[Relationship]) -> None:
        self.out: dict[NodeId, set[NodeId]] = {id: set() for id in nodes}
        self.back: dict[NodeId, set[NodeId]] = {id: set() for id in self.out}
        for link in links:
            ends = [(link.source.id, link.target.id)]
            if link.bidirectional:
                ends.append((link.target.id, link.source.id))
            for start, end in ends:
                if start != end:
                    self.out[start].add(end)
                    self.back[end].add(start)
        self.component: dict[NodeId, set[NodeId]] = {}
        for start in self.out:
            if start not in self.component:
                whole, front = {start}, {start}
                while front:
                    front = set[NodeId]().union(*(self.out[at] | self.back[at] for at in front)) - whole
                    whole |= front
                self.component.update(dict.fromkeys(whole, whole))

    def ball(self, start: NodeId, depth: int) -> frozenset[NodeId]:
        """All nodes within `depth` steps of a start.

        Once the front is large the search turns round and asks each node not yet reached whether the front
        leads to it (direction-optimising BFS, Beamer et al. 2012): dense graphs then cost what sparse ones do.
        """
        reached, front = {start}, {start}
        for _ in range(depth):
            left = len(self.component[start]) - len(reached)
            if 16 * len(front) < left:
                front = set[NodeId]().union(*(self.out[at] for at in front)) - reached
            else:
                front = {at for at in self.component[start] - reached if not self.back[at].isdisjoint(front)}
            if not front:
                break
            reached |= front
        return frozenset(reached)


def _maximal(balls: list[frozenset[NodeId]]) -> list[frozenset[NodeId]]:
    """Those that lie inside no other, in their order."""
    holders: dict[NodeId, list[int]] = {}
    kept: list[int] = []
    for index in sorted(range(len(balls)), key=lambda i: -len(balls[i])):
        ball = balls[index]
        rarest = min(ball, key=lambda id: len(holders.get(id, ())))
        if any(ball <= balls[other] for other in holders.get(rarest, ())):
            continue
        kept.append(index)
        for id in ball:
            holders.setdefault(id, []).append(index)
    return [balls[index] for index in sorted(kept)]


# -- JSON -----------------------------------------------------------------------------------------


def write_atomically(path: Path, data: bytes) -> None:
    """Replace a file by new content, or leave it exactly as it was."""
    path = path.resolve()  # a link stays one
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            shutil.copymode(path, temporary)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise


def _json(data: Any, ensure_ascii: bool) -> str:
    return json.dumps(data, ensure_ascii=ensure_ascii, allow_nan=False, separators=(",", ":"))


def _no_json(word: str) -> None:
    raise ValueError(f"{word} is not JSON")


_TAGS = {"__ndarray__", "__tuple__", "__uuid__", "__dict__"}


def _encode(value: Any) -> Any:
    """JSON form of a value that json does not know; each tagged so that it comes back as what it was."""
    if isinstance(value, np.ndarray):
        if value.dtype.kind not in "biufU" or value.dtype.char == "g":
            raise TypeError(f"an array of {value.dtype} has no JSON form")
        return {"__ndarray__": value.ravel().tolist(), "dtype": value.dtype.str, "shape": list(value.shape)}
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, UUID):
        return {"__uuid__": value.hex}
    if isinstance(value, Properties):
        return value._data
    raise TypeError(f"{type(value).__name__} has no JSON form")


_canonical = json.JSONEncoder(sort_keys=True, default=_encode, ensure_ascii=False).encode


def _plain_properties(properties: Properties, where: str) -> dict[str, Any]:
    plain: dict[str, Any] = {}
    for key, value in properties._data.items():
        if not isinstance(key, str):
            raise GraphError(f"{where}: the key {key!r} is no string")
        try:
            plain[key] = _plain(value, where, key)
        except RecursionError:
            raise GraphError(f"{where}, property {key!r}: it holds itself, or is nested too deeply") from None
    return plain if _TAGS.isdisjoint(plain) else {"__dict__": plain}


def _plain(value: Any, where: str, key: str = "") -> Any:
    """A value as strict JSON. `where` and `key` name it in errors."""
    if isinstance(value, np.generic):
        value = value.item()
    if value is None or isinstance(value, bool | str | int):
        return str.__str__(value) if isinstance(value, str) else value
    if isinstance(value, float):
        if value != value or value in (float("inf"), float("-inf")):
            raise GraphError(
                f"{where}, property {key!r}: {value} has no JSON form; store a finite number or leave it out"
            )
        return float(value)
    if isinstance(value, dict | Properties):
        items = value._data if isinstance(value, Properties) else value
        for name in items:
            if not isinstance(name, str):
                raise GraphError(f"{where}, property {key or name!r}: the key {name!r} is no string")
        plain = {name: _plain(item, where, f"{key}.{name}" if key else name) for name, item in items.items()}
        return plain if _TAGS.isdisjoint(plain) else {"__dict__": plain}
    if isinstance(value, list):
        return [_plain(item, where, key) for item in value]
    if isinstance(value, tuple):
        return {"__tuple__": [_plain(item, where, key) for item in value]}
    if isinstance(value, np.ndarray) and value.dtype.kind == "f" and not np.isfinite(value).all():
        raise GraphError(f"{where}, property {key!r}: the array holds NaN or Infinity")
    try:
        return _encode(value)
    except TypeError as error:
        raise GraphError(f"{where}, property {key!r}: {error}") from error


def _revive(value: Any) -> Any:
    """A value from its strict JSON."""
    if isinstance(value, dict):
        if "__dict__" in value:
            return {key: _revive(item) for key, item in value["__dict__"].items()}
        if "__ndarray__" in value:
            return np.array(value["__ndarray__"], dtype=value["dtype"]).reshape(value["shape"])
        if "__tuple__" in value:
            return tuple(_revive(item) for item in value["__tuple__"])
        if "__uuid__" in value:
            return UUID(value["__uuid__"])
        return {key: _revive(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_revive(item) for item in value]
    return value


def _plain_id(id: Any) -> Any:
    return {"__uuid__": id.hex} if isinstance(id, UUID) else id


def _read_id(value: Any) -> Any:
    return UUID(value["__uuid__"]) if isinstance(value, dict) else value


def _read_node(item: dict[str, Any]) -> Node:
    if item["id"] is None:
        raise GraphError("a node has no id")
    return Node(_read_id(item["id"]), _revive(item.get("properties") or {}), item.get("type") or NodeType.UNKNOWN)


def _read_relationship(item: dict[str, Any], graph: KnowledgeGraph) -> Relationship:
    ends = []
    for word in ("source", "target"):
        end = graph.get_node_by_id(_read_id(item[word]))
        if end is None:
            raise GraphError(f"relationship {item.get('id')!r} names an unknown {word}, {item[word]!r}")
        ends.append(end)
    properties = _revive(item.get("properties") or {})
    return Relationship(
        item["type"], ends[0], ends[1], _read_id(item.get("id")), bool(item.get("bidirectional")), properties
    )


def same(left: Any, right: Any) -> bool:
    """Equality of property values, arrays included."""
    if left is right:
        return True
    if isinstance(left, np.ndarray) or isinstance(right, np.ndarray):
        return (
            isinstance(left, np.ndarray)
            and isinstance(right, np.ndarray)
            and left.dtype == right.dtype
            and np.array_equal(left, right)
        )
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[key], right[key]) for key in left)
    if isinstance(left, list | tuple) and isinstance(right, list | tuple):
        alike = isinstance(left, list) is isinstance(right, list) and len(left) == len(right)
        return alike and all(map(same, left, right))
    return bool(left == right)
