"""ragas' knowledge graphs in and out, as files and as live objects.

Its nodes have UUIDs as ids and three types: unknown, document and chunk. Our other types go there as unknown, with the
property `knotwork_type`, by which they come back. Keys of properties are lower case here, as ragas looks them up. What
a graph remembers of transforms that ran (its journal) has no place there.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import NAMESPACE_URL, UUID, uuid5

from knotwork import KnowledgeGraph, Node, NodeType, Relationship
from knotwork.errors import InputError, MissingExtra
from knotwork.graph import write_atomically

if TYPE_CHECKING:
    from ragas.testset.graph import KnowledgeGraph as RagasGraph

TYPE = "knotwork_type"
_THEIRS = {NodeType.UNKNOWN, NodeType.DOCUMENT, NodeType.CHUNK}


def load_ragas(path: str | Path) -> KnowledgeGraph:
    """The graph in a file that ragas' `KnowledgeGraph.save` wrote; ids are UUIDs, as there.

    Raises InputError naming the file and what is wrong with it.
    """
    try:
        data = json.loads(Path(path).read_bytes())
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path}: not JSON: {error}") from error
    try:
        return _graph(data["nodes"], data["relationships"])
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise InputError(f"{path}: not a knowledge graph of ragas: {error!r}") from error


def save_ragas(kg: KnowledgeGraph, path: str | Path) -> None:
    """Write the graph so that ragas' `KnowledgeGraph.load` reads it.

    An id that is no UUID is turned into one, the same each time; arrays and tuples become lists. The old file stays
    as it was unless the new one is whole on disk. Raises InputError naming node and property for a value without
    JSON form.
    """
    data = _data(kg)
    try:
        content = json.dumps(data, ensure_ascii=False, allow_nan=False, indent=2).encode()
    except UnicodeEncodeError:  # lone surrogates exist in JSON as escapes only
        content = json.dumps(data, allow_nan=False, indent=2).encode()
    try:
        write_atomically(Path(path), content)
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def from_ragas(kg: RagasGraph) -> KnowledgeGraph:
    """A live graph of ragas as ours. Values of properties are shared, not copied."""
    nodes = [{"id": node.id, "type": node.type.value, "properties": node.properties} for node in kg.nodes]
    links = [
        {
            "id": link.id,
            "type": link.type,
            "source": link.source.id,
            "target": link.target.id,
            "bidirectional": link.bidirectional,
            "properties": link.properties,
        }
        for link in kg.relationships
    ]
    return _graph(nodes, links)


def to_ragas(kg: KnowledgeGraph) -> RagasGraph:
    """Our graph as a live one of ragas, what `save_ragas` and its `load` would make."""
    try:
        from ragas.testset.graph import KnowledgeGraph as Graph
        from ragas.testset.graph import Node as RagasNode
        from ragas.testset.graph import Relationship as RagasRelationship
    except ImportError as error:
        raise MissingExtra("to_ragas", "ragas") from error
    data = _data(kg)
    nodes = {item["id"]: RagasNode(**item) for item in data["nodes"]}
    links = [
        RagasRelationship(**{**item, "source": nodes[item["source"]], "target": nodes[item["target"]]})
        for item in data["relationships"]
    ]
    return Graph(nodes=list(nodes.values()), relationships=links)


# -- theirs to ours -------------------------------------------------------------------------------


def _graph(nodes: Iterable[Mapping[str, Any]], links: Iterable[Mapping[str, Any]]) -> KnowledgeGraph:
    kg = KnowledgeGraph()
    for number, item in enumerate(nodes):
        if item["id"] is None:
            raise InputError(f"node {number} has no id")
        node = _node(item)
        if kg.get_node_by_id(node.id) is not None:
            raise InputError(f"node {number} has the id {item['id']!r} of another one")
        kg.add(node)
    kg.relationships.extend([_link(item, kg) for item in links])
    return kg


def _node(item: Mapping[str, Any]) -> Node:
    properties = dict(item.get("properties") or {})
    return Node(_read_id(item["id"]), properties, properties.pop(TYPE, None) or item.get("type") or NodeType.UNKNOWN)


def _link(item: Mapping[str, Any], kg: KnowledgeGraph) -> Relationship:
    ends = []
    for word in ("source", "target"):
        said = item[word]["id"] if isinstance(item[word], Mapping) else item[word]  # a whole node, before ragas 0.2.7
        end = kg.get_node_by_id(_read_id(said))
        if end is None:
            raise InputError(f"relationship {item.get('id')!r} names an unknown {word}, {said!r}")
        ends.append(end)
    id = _read_id(item["id"]) if item.get("id") is not None else None
    return Relationship(
        item["type"], ends[0], ends[1], id, bool(item.get("bidirectional")), dict(item.get("properties") or {})
    )


def _read_id(value: Any) -> Any:
    """The UUID that a text is; what is none stays as it is."""
    try:
        return UUID(value) if isinstance(value, str) else value
    except ValueError:
        return value


# -- ours to theirs -------------------------------------------------------------------------------


def _data(kg: KnowledgeGraph) -> dict[str, Any]:
    ours = kg.to_dict()
    ids: dict[str, Any] = {}
    for item in ours["nodes"]:
        if ids.setdefault(_uuid(item["id"]), item["id"]) is not item["id"]:
            first = ids[_uuid(item["id"])]
            raise InputError(f"the nodes {first!r} and {item['id']!r} would have one UUID in ragas; rename one of them")
    return {"nodes": [_their_node(item) for item in ours["nodes"]],
            "relationships": [_their_link(item) for item in ours["relationships"]]}  # fmt: skip


def _their_node(item: dict[str, Any]) -> dict[str, Any]:
    type, properties = item["type"], _untagged(item["properties"])
    if type not in _THEIRS:
        type, properties = NodeType.UNKNOWN.value, {**properties, TYPE: type}
    return {"id": _uuid(item["id"]), "properties": properties, "type": type}


def _their_link(item: dict[str, Any]) -> dict[str, Any]:
    ids = {key: _uuid(item[key]) for key in ("id", "source", "target")}
    return {**item, **ids, "properties": _untagged(item["properties"])}


def _uuid(id: Any) -> str:
    """An id, as our files have it, as a UUID: the one it is, or one made from it."""
    said = id["__uuid__"] if isinstance(id, dict) else id
    try:
        return str(UUID(said))
    except (ValueError, AttributeError, TypeError):
        return str(uuid5(NAMESPACE_URL, f"knotwork:{said!r}"))


def _untagged(value: Any) -> Any:
    """A value from our files, which say what was an array, a tuple or a UUID, in plain JSON."""
    if isinstance(value, list):
        return [_untagged(item) for item in value]
    if not isinstance(value, dict):
        return value
    if "__ndarray__" in value:
        return _nested(value["__ndarray__"], value["shape"])
    if "__tuple__" in value:
        return _untagged(value["__tuple__"])
    if "__uuid__" in value:
        return str(UUID(value["__uuid__"]))
    return {key: _untagged(item) for key, item in value.get("__dict__", value).items()}


def _nested(flat: list[Any], shape: list[int]) -> Any:
    if not shape:
        return flat[0]
    if len(shape) == 1:
        return flat
    size = len(flat) // shape[0] if shape[0] else 0
    return [_nested(flat[at * size : (at + 1) * size], shape[1:]) for at in range(shape[0])]
