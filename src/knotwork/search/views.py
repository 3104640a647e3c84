"""A networkx graph, or ours, as the context functions see it: entities with their descriptions, edges by weight."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeAlias
from uuid import UUID

import numpy as np

from knotwork.errors import InputError
from knotwork.graph import KnowledgeGraph, Node, NodeId, NodeType

Key: TypeAlias = Any  # how a graph itself knows a node: networkx by the node, ours by the id
Pair: TypeAlias = tuple[Key, Key]
Texts: TypeAlias = Callable[[Any], str | None]
"""From the id of a source to its text."""


@dataclass(frozen=True, slots=True)
class Described:
    """A node or an edge. `source_id` and `cluster` as they stand in the graph; `type` and `cluster` are a node's."""

    description: str
    source_id: Any
    type: str = ""
    cluster: Any = None


class View(Protocol):
    """The look-ups in a graph. Keys and pairs are the graph's own."""

    def find(self, name: Any) -> Key | None:
        """The node that a name stands for."""

    def name(self, key: Key) -> str:
        """What a node is called in a text."""

    def label(self, key: Key) -> Any:
        """The name by which `find` finds a node."""

    def node(self, key: Key) -> Described: ...

    def links(self, key: Key) -> Mapping[Key, float]:
        """The neighbours of a node, itself perhaps, with the weight of all that ties them."""

    def directed(self, one: Key, other: Key) -> Pair:
        """The pair in the direction of its heaviest edge; as given when there is none."""

    def edge(self, one: Key, other: Key) -> Described | None: ...

    def keys(self) -> Iterable[Key]:
        """Every node."""

    def texts(self) -> Texts | None:
        """What finds sources, where the graph itself holds them."""

    def reports(self) -> list[tuple[Any, Any]]:
        """(cluster id, description) of the reports that the graph itself holds; another list when they changed."""


def view_of(graph: Any) -> View:
    """Raises InputError for what is no graph."""
    if isinstance(graph, KnowledgeGraph):
        return _Entities(graph)
    if all(hasattr(graph, name) for name in ("adj", "nodes", "get_edge_data", "is_directed", "is_multigraph")):
        return _Networkx(graph)
    raise InputError(f"graph must be a networkx graph or a KnowledgeGraph, not {type(graph).__name__}")


class _Networkx:
    """A networkx graph of any of the four kinds; every look-up is live."""

    def __init__(self, graph: Any) -> None:
        self._graph = graph
        self._multi = graph.is_multigraph()
        self._sides = (graph.adj, graph.pred) if graph.is_directed() else (graph.adj,)

    def find(self, name: Any) -> Key | None:
        return name if name in self._graph else None

    def name(self, key: Key) -> str:
        return str(key)

    def label(self, key: Key) -> Any:
        return key

    def node(self, key: Key) -> Described:
        said = self._graph.nodes[key]
        return Described(
            text_of(said.get("description")), said.get("source_id"), text_of(said.get("type")), said.get("cluster")
        )

    def links(self, key: Key) -> dict[Key, float]:
        if not self._multi and len(self._sides) == 1:  # the frequent kind, in half the time
            near = self._sides[0][key].items()
            return {other: _weight(said.get("weight"), key, other) for other, said in near}
        weights: dict[Key, float] = {}
        for side in self._sides:
            for other, data in side[key].items():
                if other == key and key in weights:
                    continue  # a loop, which stands on both sides
                records = data.values() if self._multi else (data,)
                weight = sum(_weight(said.get("weight"), key, other) for said in records)
                weights[other] = weights.get(other, 0.0) + weight
        return weights

    def directed(self, one: Key, other: Key) -> Pair:
        if len(self._sides) == 1 or one == other:
            return one, other
        back, there = (self._strongest(*ends) for ends in ((other, one), (one, other)))
        return (other, one) if back > there else (one, other)

    def _strongest(self, one: Key, other: Key) -> float:
        return max((_weight(said.get("weight"), one, other) for said in self._records(one, other)), default=-math.inf)

    def _records(self, one: Key, other: Key) -> list[Mapping[str, Any]]:
        data = self._graph.get_edge_data(one, other)
        if data is None:
            return []
        return list(data.values()) if self._multi else [data]

    def edge(self, one: Key, other: Key) -> Described | None:
        records = self._records(one, other)
        if len(self._sides) == 2 and one != other:
            records += self._records(other, one)
        if not records:
            return None
        if len(records) == 1:
            return Described(text_of(records[0].get("description")), records[0].get("source_id"))
        records.sort(key=lambda said: -_weight(said.get("weight"), one, other))
        return Described(
            _joined(text_of(said.get("description")) for said in records), [said.get("source_id") for said in records]
        )

    def keys(self) -> Iterable[Key]:
        return list(self._graph.nodes)

    def texts(self) -> Texts | None:
        return None

    def reports(self) -> list[tuple[Any, Any]]:
        return []


@dataclass
class _Known:
    """What was looked up in a KnowledgeGraph, good for one version of it."""

    version: int
    named: dict[str, list[NodeId]] = field(default_factory=dict)
    reports: list[tuple[Any, Any]] = field(default_factory=list)
    nodes: dict[NodeId, Described] = field(default_factory=dict)
    ties: dict[NodeId, dict[NodeId, _Tie]] = field(default_factory=dict)


@dataclass
class _Tie:
    """All "relates" between two entities, the heaviest first."""

    weight: float
    direction: Pair
    described: Described


class _Entities:
    """The entities of a KnowledgeGraph. A change of the graph empties what is remembered of it."""

    def __init__(self, graph: KnowledgeGraph) -> None:
        self._graph = graph
        self._last: _Known | None = None

    @property
    def _known(self) -> _Known:
        version = self._graph.version
        if self._last is None or self._last.version != version:
            known = _Known(version)
            for node in self._graph.nodes:
                if node.type is NodeType.ENTITY:
                    known.named.setdefault(_name(node), []).append(node.id)
                elif node.type is NodeType.COMMUNITY and not missing(node.get_property("path")):
                    summary = text_of(node.get_property("summary")) or text_of(node.get_property("report"))
                    if summary:
                        said = {key: node.get_property(key) for key in ("title", "rating")}
                        known.reports.append((text_of(node.get_property("path")), {**said, "summary": summary}))
            self._last = known
        return self._last

    def find(self, name: Any) -> Key | None:
        if not isinstance(name, str | int | UUID):
            return None
        node = self._graph.get_node_by_id(name)
        if node is not None and node.type is NodeType.ENTITY:
            return node.id
        return next(iter(self._known.named.get(str(name), ())), None)

    def name(self, key: Key) -> str:
        return _name(self._there(key))

    def label(self, key: Key) -> Any:
        name = self.name(key)
        return name if self.find(name) == key and len(self._known.named[name]) == 1 else key

    def node(self, key: Key) -> Described:
        known = self._known
        if key not in known.nodes:
            node = self._there(key)
            mentions = self._graph.neighbors(node, "mention", "out")
            homes = self._graph.neighbors(node, "member", "out")
            known.nodes[key] = Described(
                text_of(node.get_property("description")),
                [chunk.id for chunk in mentions],
                text_of(node.get_property("entity_type")),
                [home.get_property("path") for home in homes],
            )
        return known.nodes[key]

    def _there(self, key: NodeId) -> Node:
        node = self._graph.get_node_by_id(key)
        assert node is not None  # keys come from `find`, or lie at the other end of a relationship
        return node

    def _ties(self, key: Key) -> dict[NodeId, _Tie]:
        known = self._known
        if key not in known.ties:
            node = self._there(key)
            between: dict[NodeId, list[tuple[float, Any]]] = {}
            for link in self._graph.relationships_of(node, "relates"):
                other = link.other_end(node)
                if other.type is NodeType.ENTITY:
                    weight = _weight(link.get_property("weight"), link.source.id, link.target.id)
                    between.setdefault(other.id, []).append((weight, link))
            known.ties[key] = {other: _tie(links) for other, links in between.items()}
        return known.ties[key]

    def links(self, key: Key) -> dict[Key, float]:
        return {other: tie.weight for other, tie in self._ties(key).items()}

    def directed(self, one: Key, other: Key) -> Pair:
        tie = self._ties(one).get(other)
        return (one, other) if tie is None else tie.direction

    def edge(self, one: Key, other: Key) -> Described | None:
        tie = self._ties(one).get(other)
        return None if tie is None else tie.described

    def keys(self) -> Iterable[Key]:
        return [id for ids in self._known.named.values() for id in ids]

    def texts(self) -> Texts | None:
        return self._text_of

    def _text_of(self, id: Any) -> str | None:
        node = self._graph.get_node_by_id(id) if isinstance(id, str | int | UUID) else None
        text = node.get_property("page_content") if node is not None else None
        return text if isinstance(text, str) else None

    def reports(self) -> list[tuple[Any, Any]]:
        return self._known.reports


def _name(node: Node) -> str:
    return text_of(node.get_property("name")) or str(node.id)


def _tie(links: list[tuple[float, Any]]) -> _Tie:
    links.sort(key=lambda pair: -pair[0])
    heaviest = links[0][1]
    said = (text_of(link.get_property("description")) or text_of(link.get_property("relation")) for _, link in links)
    chunks = dict.fromkeys(chunk for _, link in links for chunk in link.get_property("chunks") or ())
    return _Tie(
        sum(weight for weight, _ in links),
        (heaviest.source.id, heaviest.target.id),
        Described(_joined(said), list(chunks)),
    )


def missing(value: Any) -> bool:
    """None, and what pandas writes for it: NaN, or NA."""
    if value is None or isinstance(value, str):
        return value is None
    try:
        return bool(value != value)
    except TypeError:  # NA is neither equal nor unequal to anything
        return True
    except ValueError:  # an array, equal in parts
        return False


def text_of(value: Any) -> str:
    if isinstance(value, str):
        return value
    parts = several(value)
    if parts is not None:
        return _joined(map(text_of, parts))
    return "" if missing(value) else str(value)


def several(value: Any) -> list[Any] | None:
    """The parts of a value that has some."""
    if isinstance(value, np.ndarray):  # a list, as Parquet gives it back
        value = value.tolist()
    return list(value) if isinstance(value, list | tuple | set | frozenset) else None


def _joined(texts: Iterable[str]) -> str:
    """The different texts, a line each; one alone is left as it is."""
    return "\n".join(dict.fromkeys(text for text in texts if text))


def _weight(value: Any, one: Any, other: Any) -> float:
    if type(value) is float or type(value) is int:
        return value if value == value else 0.0
    if missing(value):
        return 0.0
    try:
        return float(value)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(f"edge ({one!r}, {other!r}): its weight must be a number, not {value!r}") from error
