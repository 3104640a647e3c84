"""What of a graph bears on a question: entities, edges, sources and reports, for `PromptBuilder` or for you.

Entities are dicts: {"entity_type": "node", "entity_name": name} or {"entity_type": "edge", "entity_name": (a, b)},
from a search with a "score". The graph is a networkx graph or a `KnowledgeGraph`:

    networkx          node attributes type, description, source_id (ids joined by a delimiter), cluster ("2,11" is
                      sub-cluster 11 of cluster 2; a str or a list of them); edge attributes weight, description,
                      source_id
    KnowledgeGraph    entity nodes by their name (by id where two have one name); "relates" as the edges; source ids
                      are the chunks of its "mention", clusters the paths of its communities

Direction counts for nothing here: all edges between two nodes are one, of their summed weight. An attribute that is
missing (None, NaN) is "" or 0. Look-ups cost what lies next to the entities. What is read whole, by each call of a
function and by a `PromptBuilder` once, is a table, and of a KnowledgeGraph the names (again when it has changed).
"""

from __future__ import annotations

import heapq
import logging
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any, Literal, NamedTuple, TypeAlias

from knotwork.errors import InputError
from knotwork.search.vectors import (
    FEATURE,
    EmbeddingModel,
    InMemoryVectorDatabase,
    VectorDatabase,
    as_embedding_model,
)
from knotwork.search.views import Described, Key, Pair, Texts, View, missing, several, text_of, view_of
from knotwork.text import stable_id

Entity: TypeAlias = dict[str, Any]

BATCH = 4096  # texts embedded at once
log = logging.getLogger("knotwork")


# -- the five functions ---------------------------------------------------------------------------


def semantic_similar_entities(
    embedding_model: EmbeddingModel,
    vector_db: VectorDatabase,
    query: str,
    k: int,
    entity_types: Sequence[str] = ("node", "edge"),
    features_to_match: Sequence[str] = (FEATURE,),
    score_threshold: float = 0.0,
) -> list[Entity]:
    """The entities whose vectors are most like the query's, best first, each once with its best score.

    embedding_model: one whose `embed` takes a task, or any that `knotwork.models.embedder` takes.
    """
    filters = {"feature": _listed(features_to_match), "entity_type": _listed(entity_types)}
    return similar(as_embedding_model(embedding_model), vector_db, query, k, score_threshold, filters)


def extra_inside_edges(graph: Any, entities: Iterable[Entity], k: int, only_new_edges: bool = True) -> list[Entity]:
    """The k heaviest edges with both ends among the nodes of `entities`; ties in the order of those nodes.

    only_new_edges: without the edges that are among `entities` themselves, in either order.
    """
    return _extra_edges(graph, entities, k, only_new_edges, outside=False)


def extra_outside_edges(graph: Any, entities: Iterable[Entity], k: int, only_new_edges: bool = True) -> list[Entity]:
    """The k heaviest edges with exactly one end among the nodes of `entities`; otherwise as `extra_inside_edges`."""
    return _extra_edges(graph, entities, k, only_new_edges, outside=True)


def source_texts(
    source_documents: Any,
    graph: Any,
    entities: Iterable[Entity],
    k: int,
    id_key: str = "chunk_id",
    source_key: str = "chunk",
    feature_delimiter: str = "\n",
) -> list[str]:
    """The texts of the k sources that most entities come from; ties by first appearance.

    source_documents: a DataFrame or a list of dicts; None: the chunks of a `KnowledgeGraph`. Ids are compared as
    text. An id without a text is passed over, with one warning.
    """
    view = view_of(graph)
    texts = Sources(source_documents, view).texts(id_key, source_key)
    return top_sources(items_of(view, entities), k, texts, feature_delimiter)


def cluster_summaries(graph: Any, cluster_report: Any, entities: Iterable[Entity], k: int) -> list[dict[str, str]]:
    """{"title", "summary"} of the k clusters that say most: most nodes of `entities` in them times their rating.

    A node is in its clusters and in the ancestors of these; ties go to the first node's, the innermost cluster first.
    cluster_report: columns cluster and description (a text, whose title is then the cluster's id, or a dict with
    title, summary and rating, 1 when missing), and perhaps node_name, for graphs that don't carry the cluster;
    None: the reports of a `KnowledgeGraph`.
    """
    view = view_of(graph)
    return top_reports(items_of(view, entities), k, Reports(cluster_report, view))


def entity_vectors(
    graph: Any, embedding_model: Any = None, entity_types: Sequence[str] = ("node", "edge")
) -> InMemoryVectorDatabase:
    """A vector database of a graph's entities, made by any embedder (None: the offline one).

    A node is embedded as "name: description", an edge as "a, b: description". It is of the graph as it is now.
    """
    view, made = view_of(graph), InMemoryVectorDatabase()
    unknown = set(entity_types) - {"node", "edge"}
    if unknown or isinstance(entity_types, str):
        raise InputError(f'entity_types is a list of "node", "edge" or both, not {entity_types!r}')
    model = as_embedding_model(embedding_model)
    batch: list[tuple[Entity, str]] = []
    for entity, text in _texts(view, entity_types):
        batch.append((entity, text))
        if len(batch) == BATCH:
            _add(made, model, batch)
            batch = []
    _add(made, model, batch)
    return made


# -- entities and edges ---------------------------------------------------------------------------


class Item(NamedTuple):
    """An entity that is in the graph: by the graph's key or pair of keys, with what the graph says of it."""

    kind: Literal["node", "edge"]
    key: Any
    what: Described


def similar(
    model: EmbeddingModel,
    vector_db: VectorDatabase,
    query: str,
    k: int,
    score_threshold: float,
    filters: Mapping[str, list[str]],
) -> list[Entity]:
    """`semantic_similar_entities` of a model that takes a task."""
    if not isinstance(query, str):
        raise InputError(f"the query must be a str, not {query!r}")
    if not whole(k, "k"):
        return []
    vectors = model.embed(query, task="embed_query")
    found = vector_db.search(vectors, k, score_threshold=score_threshold, filters=filters)
    if not isinstance(found, Sequence):
        raise InputError(f"vector_db.search must give a list of hits for each query, not {found!r}")
    best: dict[Any, Entity] = {}
    for hit in found[0] if found else ():
        entity = _entity_of(hit)
        best.setdefault(_once(entity["entity_type"], entity["entity_name"]), entity)
    return list(best.values())


def _listed(values: Sequence[str]) -> list[str]:
    return [values] if isinstance(values, str) else list(values)


def whole(value: int, name: str) -> int:
    """The number itself. Raises InputError when it is no whole number from 0 on."""
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise InputError(f"{name} must be a whole number from 0 on, not {value!r}")
    return value


def _entity_of(hit: Any) -> Entity:
    """The entity that a vector database found."""
    metadata = hit.get("metadata") if isinstance(hit, Mapping) else None
    if not isinstance(metadata, Mapping) or "score" not in hit:
        raise InputError(f'vector_db.search must give {{"uuid", "score", "metadata"}} dicts, not {hit!r}')
    kind, name = _checked(metadata)
    return {"entity_type": kind, "entity_name": name, "score": hit["score"]}


def _checked(entity: Any) -> tuple[str, Any]:
    """Type and name of an entity; a pair may have become a list in somebody's JSON."""
    if isinstance(entity, Mapping):
        kind, name = entity.get("entity_type"), entity.get("entity_name")
        if kind == "edge" and isinstance(name, list) and len(name) == 2:
            name = tuple(name)
        fits = kind == "node" or (kind == "edge" and isinstance(name, tuple) and len(name) == 2)
        if fits and name is not None and _hashable(name):
            return str(kind), name
    raise InputError(
        'an entity is {"entity_type": "node", "entity_name": name} or '
        f'{{"entity_type": "edge", "entity_name": (a, b)}}, not {entity!r}'
    )


def _hashable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _once(kind: str, name: Any) -> Any:
    """What is equal for the same entity: an edge's ends may stand in either order."""
    return frozenset(name) if kind == "edge" else (name,)


def items_of(view: View, entities: Iterable[Entity]) -> list[Item]:
    """The entities that are in the graph, each once; the others are left out with one warning."""
    return present(view, map(_checked, entities))


def present(view: View, entities: Iterable[tuple[str, Any]]) -> list[Item]:
    """`items_of` for (type, name) pairs that are known to be of the right form."""
    items: dict[Any, Item] = {}
    gone = []
    for kind, name in entities:
        if kind == "node":
            key = view.find(name)
            item = None if key is None else Item("node", key, view.node(key))
        else:
            one, other = map(view.find, name)
            item = None if one is None or other is None else edge_item(view, (one, other))
        if item is None:
            gone.append(name)
        else:
            items.setdefault(_once(kind, item.key), item)
    if gone:
        shown = ", ".join(map(repr, gone[:3])) + (" …" if len(gone) > 3 else "")
        log.warning("%d entities are not in the graph (any more) and left out: %s", len(gone), shown)
    return list(items.values())


def edge_item(view: View, pair: Pair) -> Item | None:
    what = view.edge(*pair)
    return None if what is None else Item("edge", pair, what)


def edges_around(view: View, items: Iterable[Item], only_new: bool = True) -> tuple[list[_Edge], list[_Edge]]:
    """The edges between the nodes of the items, and those that lead out from them; each once, in no order.

    only_new: without the edges of the items.
    """
    places: dict[Key, int] = {}
    known: dict[Key, list[Key]] = {}  # node → the other ends of edges not to be found again
    for kind, key, _ in items:
        if kind == "node":
            places[key] = len(places)
        elif only_new:
            one, other = key
            known.setdefault(one, []).append(other)
            known.setdefault(other, []).append(one)
    inside: list[_Edge] = []
    outside: list[_Edge] = []
    for key, place in places.items():
        skipped = known.get(key, ())
        for other, weight in view.links(key).items():
            if other in skipped:
                continue
            far = places.get(other)
            if far is None:
                outside.append((-weight, place, len(outside), key, other))
            elif far >= place:
                inside.append((-weight, place, far, key, other))
    return inside, outside


_Edge: TypeAlias = tuple[float, int, int, Key, Key]
"""Less weight, two numbers that decide between equal weights and are unlike for unlike edges, and the ends."""


def heaviest(view: View, edges: list[_Edge], k: int) -> list[Pair]:
    return [view.directed(one, other) for _, _, _, one, other in heapq.nsmallest(k, edges)]


def _extra_edges(graph: Any, entities: Iterable[Entity], k: int, only_new: bool, outside: bool) -> list[Entity]:
    view = view_of(graph)
    found = edges_around(view, items_of(view, entities), only_new)[outside]
    return [
        {"entity_type": "edge", "entity_name": (view.label(one), view.label(other))}
        for one, other in heaviest(view, found, whole(k, "k"))
    ]


def _texts(view: View, entity_types: Sequence[str]) -> Iterator[tuple[Entity, str]]:
    """Every entity with what is embedded of it."""
    keys = list(view.keys())
    for key in keys if "node" in entity_types else ():
        yield {"entity_type": "node", "entity_name": view.label(key)}, _said([key], view, view.node(key))
    seen: set[frozenset[Key]] = set()
    for key in keys if "edge" in entity_types else ():
        for other in view.links(key):
            tie = view.edge(key, other)
            if tie is not None and frozenset((key, other)) not in seen:
                seen.add(frozenset((key, other)))
                pair = view.directed(key, other)
                yield {"entity_type": "edge", "entity_name": tuple(map(view.label, pair))}, _said(pair, view, tie)


def _said(ends: Iterable[Key], view: View, what: Described) -> str:
    names = ", ".join(map(view.name, ends))
    return f"{names}: {what.description}" if what.description else names


def _add(made: InMemoryVectorDatabase, model: EmbeddingModel, batch: list[tuple[Entity, str]]) -> None:
    if not batch:
        return
    vectors = model.embed([text for _, text in batch], task="embed_document")
    if len(vectors) != len(batch):
        raise InputError(f"the embedding model gave {len(vectors)} vectors for {len(batch)} texts")
    made.add_vectors(
        {
            "uuid": stable_id(entity["entity_type"], repr(entity["entity_name"])),
            "vector": vector,
            "metadata": {**entity, "feature": FEATURE},
        }
        for (entity, _), vector in zip(batch, vectors, strict=True)
    )


# -- sources and reports --------------------------------------------------------------------------


class Sources:
    """The texts of sources by their ids, the table indexed once for each pair of columns that is asked for."""

    def __init__(self, table: Any, view: View) -> None:
        self._table = table
        self._view = view
        self._indexed: dict[tuple[str, str], dict[str, str]] = {}

    def texts(self, id_key: str, source_key: str) -> Texts | None:
        """What finds them; None where there are none."""
        if self._table is None:
            return self._view.texts()
        index = self._indexed.get((id_key, source_key))
        if index is None:
            ids, texts = columns(self._table, (id_key, source_key), "source_documents")
            index = {}
            for id, text in zip(ids, texts, strict=True):
                if not missing(id) and not missing(text):
                    index.setdefault(_id(id), text_of(text))
            self._indexed[id_key, source_key] = index
        known = index
        return lambda id: known.get(_id(id))


def top_sources(items: Iterable[Item], k: int, texts: Texts | None, delimiter: str) -> list[str]:
    """The texts of the k most frequent source ids among the items, ties by first appearance."""
    if not isinstance(delimiter, str) or not delimiter:
        raise InputError(f"the delimiter between source ids must be a str of at least one character, not {delimiter!r}")
    if texts is None or not whole(k, "k"):
        return []
    counts: Counter[Any] = Counter()
    for item in items:
        counts.update(_ids(item.what.source_id, delimiter))
    found: list[str] = []
    unknown = []
    for id, _ in counts.most_common():
        text = texts(id)
        if text is None:
            unknown.append(id)
        else:
            found.append(text)
        if len(found) == k:
            break
    if unknown:
        log.warning("%d source ids have no text and are passed over, the first is %r", len(unknown), unknown[0])
    return found


def _ids(value: Any, delimiter: str) -> Iterator[Any]:
    if isinstance(value, str):
        yield from filter(None, value.split(delimiter))
        return
    parts = several(value)
    for part in parts or ():
        yield from _ids(part, delimiter)
    if parts is None and not missing(value):
        yield value


def _id(value: Any) -> str:
    """An id as text; a whole number that pandas made a float of, as the number."""
    if isinstance(value, str):
        return value
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)


class Reports:
    """The reports of clusters by their ids. A table is read once; without one the graph's own are taken."""

    def __init__(self, table: Any, view: View) -> None:
        self._view = view
        self._rows: list[tuple[Any, Any]] | None = None  # what the reports were read from
        self._read: dict[str, _Report] = {}
        self._homes: dict[Any, list[str]] = {}  # clusters by the name of a node, as far as the table says
        self._from_table = table is not None
        if table is None:
            return
        ids, descriptions = columns(table, ("cluster", "description"), "cluster_report")
        self._read = _reports(zip(ids, descriptions, strict=True))
        for id, names in zip(ids, _optional(table, "node_name", len(ids)), strict=True):
            for name in several(names) or [names]:
                if not missing(name) and not missing(id):
                    self._homes.setdefault(str(name), []).append(cluster_id(id))

    def by_id(self) -> Mapping[str, _Report]:
        if not self._from_table:
            rows = self._view.reports()
            if rows is not self._rows:
                self._rows, self._read = rows, _reports(rows)
        return self._read

    def homes(self, item: Item) -> Iterable[str]:
        """The clusters of a node and their ancestors, each once, innermost first."""
        own = item.what.cluster
        parts = several(own)
        ids = [cluster_id(id) for id in ([own] if parts is None else parts) if not missing(id)]
        return dict.fromkeys(up for id in ids or self._homes.get(self._view.name(item.key), []) for up in _lineage(id))


@dataclass(frozen=True, slots=True)
class _Report:
    title: str
    summary: str
    rating: float


def cluster_id(value: Any) -> str:
    """ "2,11", whether it came as a text, with blanks, or as a number."""
    return ",".join(part.strip() for part in _id(value).split(","))


def _lineage(id: str) -> Iterator[str]:
    while id:
        yield id
        id = id.rpartition(",")[0]


def _reports(rows: Iterable[tuple[Any, Any]]) -> dict[str, _Report]:
    found: dict[str, _Report] = {}
    for value, description in rows:
        if missing(value) or (not isinstance(description, Mapping) and not text_of(description)):
            continue
        id = cluster_id(value)
        if not isinstance(description, Mapping):
            found.setdefault(id, _Report(id, text_of(description), 1.0))
            continue
        rating = description.get("rating")
        try:
            rated = 1.0 if rating is None or missing(rating) else float(rating)
        except (TypeError, ValueError, OverflowError) as error:
            raise InputError(f"cluster {id!r}: the rating in its report must be a number, not {rating!r}") from error
        title = text_of(description.get("title")) or id
        found.setdefault(id, _Report(title, text_of(description.get("summary")), rated))
    return found


def top_reports(items: Iterable[Item], k: int, reports: Reports) -> list[dict[str, str]]:
    """The k reports with the most nodes of the items times their rating, ties by first appearance."""
    found = reports.by_id()
    counts: Counter[str] = Counter()
    for item in items:
        if item.kind == "node":
            counts.update(id for id in reports.homes(item) if id in found)
    best = sorted(counts, key=lambda id: -counts[id] * found[id].rating)[: whole(k, "k")]
    return [{"title": found[id].title, "summary": found[id].summary} for id in best]


def columns(table: Any, names: Sequence[str], what: str) -> list[list[Any]]:
    """Columns of a DataFrame or of a list of dicts. Raises InputError naming the column that is not there."""
    if hasattr(table, "columns"):
        there = list(table.columns)
        for name in names:
            if name not in there:
                raise InputError(f"{what} has no column {name!r}; it has {', '.join(map(repr, there)) or 'none'}")
        return [list(table[name]) for name in names]
    if not isinstance(table, Sequence) or not all(isinstance(row, Mapping) for row in table):
        raise InputError(f"{what} must be a DataFrame or a list of dicts, not {type(table).__name__}")
    for number, row in enumerate(table):
        for name in names:
            if name not in row:
                raise InputError(f"{what}, row {number}: no {name!r}; it has {', '.join(map(repr, row)) or 'nothing'}")
    return [[row[name] for row in table] for name in names]


def _optional(table: Any, name: str, length: int) -> Iterable[Any]:
    if hasattr(table, "columns"):
        return list(table[name]) if name in list(table.columns) else repeat(None, length)
    return [row.get(name) for row in table]
