"""Entities that belong together, as a tree of communities."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from knotwork.errors import InputError
from knotwork.graph import (
    AddNode,
    AddRelationship,
    Change,
    KnowledgeGraph,
    Node,
    NodeId,
    NodeType,
    Relationship,
    RemoveNode,
    SetProperty,
)
from knotwork.text import stable_id
from knotwork.threads import in_thread
from knotwork.transforms.base import GraphTransform

Edge: TypeAlias = tuple[str, str, float]
MAX_DEPTH = 8


@dataclass
class CommunityBuilder(GraphTransform):
    """Hierarchical Leiden (Traag, Waltman, van Eck 2019) over the "relates" edges, weights summed a pair.

    A community of more than `max_cluster_size` entities is split into communities of the next level. Every entity is
    in exactly one community of level 0; one not split further stands for itself below. An entity without edges is a
    community of its own. The result depends on the graph and the seed, never on the order of insertion.
    """

    max_cluster_size: int = 10
    seed: int = 42

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.max_cluster_size < 1:
            raise InputError(f"max_cluster_size must be at least 1, not {self.max_cluster_size}")

    async def transform(self, kg: KnowledgeGraph) -> Sequence[Change]:
        return await in_thread(_build, kg, self.max_cluster_size, self.seed)


def _build(kg: KnowledgeGraph, size: int, seed: int) -> list[Change]:
    entities = {str(node.id): node for node in kg.nodes_of(NodeType.ENTITY)}
    weights: dict[tuple[str, str], float] = defaultdict(float)
    for link in kg.relationships:
        ends = sorted((str(link.source.id), str(link.target.id)))
        if link.type == "relates" and ends[0] != ends[1]:
            weights[ends[0], ends[1]] += float(link.get_property("weight") or 1.0)
    edges = [(source, target, weight) for (source, target), weight in sorted(weights.items())]
    tree = _split(sorted(entities), edges, size, seed)
    wanted: dict[str, tuple[dict[str, Any], list[str]]] = {}
    for path, members in tree.items():
        level = len(path) - 1
        id = stable_id("community", level, *members)
        wanted[id] = ({"level": level, "path": ",".join(map(str, path))}, members)
    return _difference(kg, entities, wanted)


def _split(members: list[str], edges: list[Edge], size: int, seed: int) -> dict[tuple[int, ...], list[str]]:
    """Path → sorted members of every community: level 0 always, deeper ones for those above `size`."""
    tree: dict[tuple[int, ...], list[str]] = {}
    todo: list[tuple[tuple[int, ...], list[str], list[Edge]]] = [((), members, edges)]
    while todo:
        path, inside, within = todo.pop()
        parts = _leiden(inside, within, seed)
        if path and len(parts) == 1:
            parts = _even_parts(inside, within, size)
        home = {member: at for at, part in enumerate(parts) for member in part}
        inner: list[list[Edge]] = [[] for _ in parts]
        for edge in within:
            if home[edge[0]] == home[edge[1]]:
                inner[home[edge[0]]].append(edge)
        for at, part in enumerate(parts):
            tree[*path, at] = part
            if len(part) > size and len(path) < MAX_DEPTH:
                todo.append(((*path, at), part, inner[at]))
    return tree


def _leiden(members: list[str], edges: list[Edge], seed: int) -> list[list[str]]:
    """One clustering, biggest part first, then by first member; a member without edges is a part of its own."""
    parts: dict[Any, list[str]] = defaultdict(list)
    if edges:
        from graspologic_native import leiden

        _, found = leiden(
            edges=edges,
            starting_communities=None,
            resolution=1.0,
            randomness=0.001,
            iterations=2,
            use_modularity=True,
            seed=seed,
            trials=1,
        )
        for member in members:
            parts[found.get(member, member)].append(member)
    else:
        for member in members:
            parts[member].append(member)
    return sorted(parts.values(), key=lambda part: (-len(part), part[0]))


def _even_parts(members: list[str], edges: list[Edge], size: int) -> list[list[str]]:
    """Cuts what Leiden holds together (a star, a clique): neighbours stay near, in parts of at most `size`."""
    near: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for source, target, weight in edges:
        near[source].append((-weight, target))
        near[target].append((-weight, source))
    order: dict[str, None] = {}
    for start in sorted(members, key=lambda member: (-len(near[member]), member)):
        order.setdefault(start)
        order.update((neighbour, None) for _, neighbour in sorted(near[start]) if neighbour not in order)
    line = list(order)
    count = -(-len(line) // size)
    length = -(-len(line) // count)
    return [sorted(line[at : at + length]) for at in range(0, len(line), length)]


def _difference(
    kg: KnowledgeGraph, entities: dict[str, Node], wanted: dict[str, tuple[dict[str, Any], list[str]]]
) -> list[Change]:
    changes: list[Change] = []
    there: set[NodeId] = set()
    for node in kg.nodes_of(NodeType.COMMUNITY):
        if str(node.id) not in wanted:
            changes.append(RemoveNode(node.id))
            continue
        there.add(node.id)
        properties, members = wanted[str(node.id)]
        changes += [
            SetProperty(node.id, key, value) for key, value in properties.items() if node.get_property(key) != value
        ]
        # a member that was taken away and came back has lost its tie
        tied = {str(link.source.id) for link in kg.relationships_of(node, "member", "in")}
        changes += _ties(node, (entities[member] for member in members if member not in tied))
    for id, (properties, members) in wanted.items():
        if id not in there:
            node = Node(id, properties, NodeType.COMMUNITY)
            changes.append(AddNode(node))
            changes += _ties(node, (entities[member] for member in members))
    return changes


def _ties(community: Node, members: Iterable[Node]) -> list[Change]:
    return [AddRelationship(Relationship("member", member, community)) for member in members]
