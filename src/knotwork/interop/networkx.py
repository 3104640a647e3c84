"""The graph for networkx: all of it, or its entities in the shape that a prompt builder takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from knotwork import KnowledgeGraph, Node, NodeType, Relationship
from knotwork.errors import MissingExtra

if TYPE_CHECKING:
    import networkx as nx


def to_networkx(kg: KnowledgeGraph) -> nx.MultiDiGraph:
    """The whole graph: node and edge keys are ids, attributes are `type` and the properties.

    An edge has `bidirectional` besides. A property called `type` or `bidirectional` gives way to it. Values are
    shared, not copied.
    """
    graph = _networkx().MultiDiGraph()
    for node in kg.nodes:
        graph.add_nodes_from([(node.id, {**node.properties, "type": node.type.value})])
    for link in kg.relationships:
        said = {**link.properties, "type": link.type, "bidirectional": bool(link.bidirectional)}
        graph.add_edges_from([(link.source.id, link.target.id, link.id, said)])
    return graph


def entity_graph(kg: KnowledgeGraph, delimiter: str = "\n") -> nx.Graph:
    """The entities by name and what relates them, one edge a pair, as `PromptBuilder` and graphragzen take them.

    Nodes have `type`, `description`, `source_id` (ids of the chunks that name it, joined by the delimiter) and
    `cluster` (paths of its communities, the widest first); edges have `weight` (the sum, of a missing one 0),
    `description` (those of the relationships, each once) and `source_id`. Entities that share a name are called by
    their ids.
    """
    graph = _networkx().Graph()
    entities = kg.nodes_of(NodeType.ENTITY)
    names = _names(entities)
    for node in entities:
        chunks = [chunk.id for chunk in kg.neighbors(node, "mention", "out")]
        paths = [str(end.get_property("path")) for end in kg.neighbors(node, "member", "out")]
        graph.add_node(
            names[node.id],
            type=node.get_property("entity_type") or "",
            description=node.get_property("description") or "",
            source_id=_joined(chunks, delimiter),
            cluster=sorted(paths, key=lambda path: (path.count(","), path)),
        )
    pairs: dict[tuple[Any, Any], list[Relationship]] = {}
    for link in kg.relationships:
        if link.type == "relates" and link.source.id in names and link.target.id in names:
            a, b = names[link.source.id], names[link.target.id]
            pairs.setdefault((b, a) if (b, a) in pairs else (a, b), []).append(link)
    for (a, b), links in pairs.items():
        said = [link.get_property("description") or link.get_property("relation") for link in links]
        chunks = [chunk for link in links for chunk in link.get_property("chunks") or ()]
        weight = sum(float(link.get_property("weight") or 0) for link in links)
        graph.add_edge(
            a, b, weight=weight, description=_joined(filter(None, said), "\n"), source_id=_joined(chunks, delimiter)
        )
    return graph


def _names(entities: Sequence[Node]) -> dict[Any, Any]:
    """What each entity is called, by id: its name, or where others have it too its id, as `PromptBuilder` does."""
    names = {node.id: str(node.get_property("name") or node.id) for node in entities}
    times = Counter(names.values())
    return {id: name if times[name] == 1 else id for id, name in names.items()}


def _joined(parts: Iterable[Any], delimiter: str) -> str:
    return delimiter.join(dict.fromkeys(map(str, parts)))


def _networkx() -> Any:
    try:
        import networkx
    except ImportError as error:
        raise MissingExtra("knotwork.interop.networkx", "networkx") from error
    return networkx
