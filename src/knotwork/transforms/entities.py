"""Element instances to entities: one node a name, a mention for every place it stands, relations between names.

`EntityResolver` computes the whole entity layer from the chunks and returns only what differs from the graph. So it
does not matter in which order, or in how many runs, the chunks came.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from knotwork.gazetteer import Gazetteer
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
    RemoveRelationship,
    SetProperty,
)
from knotwork.nlp import lowercase_counts
from knotwork.text import normalise_name, stable_id
from knotwork.threads import in_thread
from knotwork.transforms.base import GraphTransform

LAYER = ("mention", "relates")
Instance: TypeAlias = tuple[str, int, int, str, str]
"""(surface, start, end, type, description) of a name in a chunk."""

MOST_TOLD = 8
"""Descriptions that an entity's is put together from; all of them stay on the mentions."""

CROWD = 8
"""Names of one sentence beyond this are a list: each is tied to its neighbours only, not to all."""


@dataclass(frozen=True, slots=True)
class _Mention:
    key: str
    start: int
    end: int
    surface: str
    description: str = ""


@dataclass
class _Entity:
    surfaces: Counter[str] = field(default_factory=Counter)
    types: Counter[str] = field(default_factory=Counter)
    mentions: list[tuple[Node, _Mention]] = field(default_factory=list)


@dataclass
class _Relation:
    description: str
    weight: float = 0.0
    chunks: dict[NodeId, None] = field(default_factory=dict)


@dataclass
class EntityResolver(GraphTransform):
    """Names that are one after normalising (case, width, accents, quotes, articles, possessives) become one entity.

    Reads the chunks' `elements` and `sentences`. A known name, a document title included, is then found everywhere it
    stands. A single word that the corpus writes in lower case more often than not is no name. The type is the most
    frequent one; other spellings are kept as `aliases`. Two names in one sentence are related: by the words of the
    parse where there are any, else by co-occurrence, with the sentence as description.
    """

    async def transform(self, kg: KnowledgeGraph) -> Sequence[Change]:
        return await in_thread(_resolve, kg)


def _resolve(kg: KnowledgeGraph) -> list[Change]:
    chunks = sorted(
        (node for node in kg.nodes_of(NodeType.CHUNK) if node.get_property("elements")),
        key=lambda node: (str(node.get_property("document")), node.get_property("start") or 0, str(node.id)),
    )
    common = lowercase_counts(node.get_property("page_content") for node in chunks)
    instances = [list(_instances(node)) for node in chunks]
    capitalised: Counter[str] = Counter()
    for found in instances:
        capitalised.update(surface for surface, *_ in found if " " not in surface)
    dropped = {normalise_name(word) for word, times in capitalised.items() if common[word.lower()] > times}

    entities: dict[str, _Entity] = defaultdict(_Entity)
    for found in instances:
        for surface, _, _, kind, _ in found:
            key = normalise_name(surface)
            if len(key) >= 2 and key not in dropped:
                entities[key].types[kind] += 1
                entities[key].surfaces[surface] += 1
    titles = {normalise_name(title): title for node in chunks if (title := _bare_title(node))}
    known = Gazetteer([*entities, *(key for key in titles if len(key) >= 3 and key not in dropped)])

    relations: dict[tuple[str, str, str], _Relation] = {}
    for node, found in zip(chunks, instances, strict=True):
        mentions = _mentions(node, found, entities, known)
        for mention in mentions:
            entity = entities[mention.key]
            entity.mentions.append((node, mention))
            entity.surfaces[mention.surface] += 0  # a spelling found later is an alias, not a vote
        _relate(node, found, mentions, entities, relations)
    return _difference(kg, *_layer(entities, relations))


def _instances(node: Node) -> Iterator[Instance]:
    """The names of a chunk. What a model told of one comes behind its type."""
    for surface, start, end, kind, *told in node.get_property("elements")["names"]:
        yield surface, start, end, kind, told[0] if told else ""


def _bare_title(node: Node) -> str:
    """The title without a trailing parenthesis, as in "Mercury (planet)"."""
    return re.sub(r"\s*\([^()]*\)$", "", node.get_property("title") or "")


def _mentions(node: Node, found: Iterable[Instance], entities: dict[str, _Entity], known: Gazetteer) -> list[_Mention]:
    """Every place in a chunk where a known name stands: those the profile found, then those the gazetteer adds."""
    text: str = node.get_property("page_content")
    mentions = []
    for surface, start, end, _, told in found:
        key = normalise_name(surface)
        if key in entities:
            mentions.append(_Mention(key, start, end, surface, told))
    taken = sorted((mention.start, mention.end) for mention in mentions)
    at = 0
    for start, end, key in known.find(text):
        while at < len(taken) and taken[at][1] <= start:
            at += 1
        if at == len(taken) or taken[at][0] >= end:
            mentions.append(_Mention(key, start, end, text[start:end]))
    mentions.sort(key=lambda mention: (mention.start, mention.end))
    return mentions


def _relate(
    node: Node,
    found: Sequence[Instance],
    mentions: Sequence[_Mention],
    entities: dict[str, _Entity],
    relations: dict[tuple[str, str, str], _Relation],
) -> None:
    text: str = node.get_property("page_content")
    linked: set[tuple[int, frozenset[str]]] = set()  # (sentence, pair) that the parse has said something about
    sentences = node.get_property("sentences") or [[0, len(text)]]
    elements = node.get_property("elements")
    for source, target, relation, start, end, *told in elements["links"]:
        ends = normalise_name(found[source][0]), normalise_name(found[target][0])
        if ends[0] != ends[1] and all(_can_relate(entities, key) for key in ends):
            description, strength = told or ("", 1.0)
            _add(relations, (*ends, relation), node, description or text[start:end], strength)
            linked.add((_sentence_at(sentences, start), frozenset(ends)))
    if elements.get("told"):
        return  # a model said which names are tied: standing in one sentence is no tie
    for at, keys in _by_sentence(mentions, sentences):
        named = [key for key in keys if _can_relate(entities, key)]
        for one, other in _pairs(named):
            if (at, frozenset((one, other))) not in linked:
                source_key, target_key = sorted((one, other))
                _add(relations, (source_key, target_key, ""), node, text[slice(*sentences[at])])


def _by_sentence(mentions: Sequence[_Mention], sentences: Sequence[Sequence[int]]) -> Iterator[tuple[int, list[str]]]:
    at = 0
    keys: dict[int, dict[str, None]] = {}
    for mention in mentions:
        while at + 1 < len(sentences) and mention.start >= sentences[at][1]:
            at += 1
        keys.setdefault(at, {})[mention.key] = None
    for sentence, found in keys.items():
        yield sentence, list(found)


def _sentence_at(sentences: Sequence[Sequence[int]], position: int) -> int:
    return next((at for at, (_, end) in enumerate(sentences) if position < end), len(sentences) - 1)


def _pairs(keys: Sequence[str]) -> Iterator[tuple[str, str]]:
    reach = len(keys) if len(keys) <= CROWD else 2
    for at, one in enumerate(keys):
        for other in keys[at + 1 : at + 1 + reach]:
            yield one, other


def _can_relate(entities: dict[str, _Entity], key: str) -> bool:
    return key in entities and _kind(entities[key]) != "date"


def _kind(entity: _Entity) -> str:
    """The most frequent type; a type beats none; ties go to the alphabet."""
    typed = {kind: count for kind, count in entity.types.items() if kind}
    return min(typed, key=lambda kind: (-typed[kind], kind)) if typed else ""


def _add(
    relations: dict[tuple[str, str, str], _Relation],
    key: tuple[str, str, str],
    node: Node,
    said: str,
    strength: float = 1.0,
) -> None:
    relation = relations.get(key)
    if relation is None:
        relation = relations[key] = _Relation(" ".join(said.split()))
    relation.weight += strength
    relation.chunks[node.id] = None


# -- the layer, and how it differs from the one in the graph --------------------------------------


def _shouts(surface: str) -> bool:
    """All in capitals, or not beginning and ending with a letter or digit: not the spelling to show."""
    return surface.isupper() or not (surface[0].isalnum() and surface[-1].isalnum())


def _layer(
    entities: dict[str, _Entity], relations: dict[tuple[str, str, str], _Relation]
) -> tuple[dict[str, dict[str, Any]], list[tuple[str, NodeId, NodeId, dict[str, Any]]]]:
    """Entity id → properties, and (type, source id, target id, properties) of every relationship."""
    ids: dict[str, str] = {}
    nodes: dict[str, dict[str, Any]] = {}
    links: list[tuple[str, NodeId, NodeId, dict[str, Any]]] = []
    for key in sorted(entities):
        entity = entities[key]
        if not entity.mentions:
            continue
        kind = _kind(entity)
        name = min(entity.surfaces, key=lambda surface: (-entity.surfaces[surface], _shouts(surface), surface))
        id = ids[key] = stable_id("entity", key, kind)
        aliases = sorted(surface for surface in entity.surfaces if surface != name)
        nodes[id] = {"name": name, "entity_type": kind, "description": _describe(entity, name), "aliases": aliases}
        for node, mention in entity.mentions:
            said = {
                "description": mention.description,
                "surface": mention.surface,
                "start": mention.start,
                "end": mention.end,
            }
            links.append(("mention", id, node.id, said))
    for (source, target, relation), what in relations.items():
        if source in ids and target in ids:
            links.append(
                (
                    "relates",
                    ids[source],
                    ids[target],
                    {
                        "relation": relation,
                        "description": what.description,
                        "weight": what.weight,
                        "chunks": list(what.chunks),
                    },
                )
            )
    return nodes, links


_IS = re.compile(r"\s*(?:\([^()]{1,80}\)|,[^,.]{1,80},)?\s*(?:(?:is|was|were|are)\b|是|为)")


def _describe(entity: _Entity, name: str) -> str:
    """What a model told of an entity in its chunks, each once; without one the sentence that says best what it is.

    That is one that goes on "is" or "was" after the name, else the first.
    """
    told = dict.fromkeys(mention.description for _, mention in entity.mentions if mention.description)
    if told:
        return " ".join(list(told)[:MOST_TOLD])
    first = ""
    for node, mention in entity.mentions[:50]:
        text: str = node.get_property("page_content")
        for start, end in node.get_property("sentences") or [[0, len(text)]]:
            if start <= mention.start < end:
                sentence = " ".join(text[start:end].split())
                if _IS.match(text, mention.end):
                    return sentence
                first = first or sentence
                break
    return first


def _difference(
    kg: KnowledgeGraph,
    nodes: dict[str, dict[str, Any]],
    links: list[tuple[str, NodeId, NodeId, dict[str, Any]]],
) -> list[Change]:
    """The changes that make the graph's entity layer the given one."""
    changes: list[Change] = []
    at: dict[NodeId, Node] = {node.id: node for node in kg.nodes if node.type is NodeType.CHUNK}
    removed = set()
    for node in kg.nodes_of(NodeType.ENTITY):
        if node.id not in nodes:
            changes.append(RemoveNode(node.id))
            removed.add(node.id)
        else:
            at[node.id] = node
            for key, value in nodes[str(node.id)].items():
                if node.get_property(key) != value:
                    changes.append(SetProperty(node.id, key, value))
    for id, properties in nodes.items():
        if id not in at:
            at[id] = Node(id, properties, NodeType.ENTITY)
            changes.append(AddNode(at[id]))
    wanted: dict[NodeId, Relationship] = {}
    for type, source, target, said in links:
        both_ways = type == "relates" and not said["relation"]
        link = Relationship(type, at[source], at[target], bidirectional=both_ways, properties=said)
        wanted[link.id] = link
    there = set()
    for link in kg.relationships:
        if link.type in LAYER:
            there.add(link.id)
            if link.id not in wanted and link.source.id not in removed and link.target.id not in removed:
                changes.append(RemoveRelationship(link.id))
    changes += [AddRelationship(link) for id, link in wanted.items() if id not in there]
    return changes
