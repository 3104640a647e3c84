"""The graph for networkx: all of it, or its entities in the shape that a prompt builder takes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from knotwork import KnowledgeGraph, Node, NodeType
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
    `cluster` (paths of its communities, the widest first); edges have `weight` (the sum), `description` (a line
    each) and `source_id`. Entities that share a name are called by their ids.
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
    for link in kg.relationships:
        if link.type != "relates" or link.source.id not in names or link.target.id not in names:
            continue
        a, b = names[link.source.id], names[link.target.id]
        before: dict[str, Any] = graph.get_edge_data(a, b, {"weight": 0.0, "description": "", "source_id": ""})
        weight = link.get_property("weight")
        said = link.get_property("description") or link.get_property("relation")
        chunks = [*filter(None, before["source_id"].split(delimiter)), *(link.get_property("chunks") or ())]
        graph.add_edge(
            a,
            b,
            weight=before["weight"] + (1.0 if weight is None else float(weight)),
            description=_joined([*filter(None, before["description"].split("\n")), *filter(None, [said])], "\n"),
            source_id=_joined(chunks, delimiter),
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
