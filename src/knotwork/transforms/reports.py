"""What a community is about, in the documents' own words."""

from __future__ import annotations

import math
from bisect import bisect_right
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from knotwork.graph import Change, KnowledgeGraph, Node, NodeId, NodeType, SetProperty
from knotwork.threads import in_thread
from knotwork.transforms.base import GraphTransform

Place = tuple[Node, int, int]
"""A sentence: its chunk and its span there."""


@dataclass
class CommunityReporter(GraphTransform):
    """Writes `title`, `summary`, `report`, `rating` (0–10) and `findings` of communities with two members or more.

    Extractive: the sentences that name the most members. A finding is {"summary", "chunk", "start", "end"}, the text
    and its place. The rating is 10 · ln(1 + mentions) / ln(1 + mentions of the busiest community).
    """

    max_sentences: int = 6

    async def transform(self, kg: KnowledgeGraph) -> Sequence[Change]:
        return await in_thread(self._write, kg)

    def _write(self, kg: KnowledgeGraph) -> list[Change]:
        members: dict[NodeId, list[Node]] = defaultdict(list)
        for link in kg.relationships:
            if link.type == "member":
                members[link.target.id].append(link.source)
        places: dict[NodeId, list[Place]] = {}
        busiest = 1
        for node in kg.nodes_of(NodeType.COMMUNITY):
            for member in members[node.id]:
                if member.id not in places:
                    places[member.id] = _places(kg, member)
            busiest = max(busiest, sum(len(places[member.id]) for member in members[node.id]))
        changes: list[Change] = []
        for node in kg.nodes_of(NodeType.COMMUNITY):
            inside = members[node.id]
            said = _report(kg, inside, places, self.max_sentences, busiest) if len(inside) > 1 else {}
            changes += [
                SetProperty(node.id, key, value) for key, value in said.items() if node.get_property(key) != value
            ]
        return changes


def _places(kg: KnowledgeGraph, entity: Node) -> list[Place]:
    """The sentences that mention an entity."""
    found: dict[tuple[NodeId, int], Place] = {}
    for link in kg.relationships_of(entity, "mention", "out"):
        chunk = link.target
        spans = chunk.get_property("sentences") or [[0, len(chunk.get_property("page_content"))]]
        at = max(bisect_right(spans, link.get_property("start"), key=lambda span: span[0]) - 1, 0)
        found.setdefault((chunk.id, at), (chunk, spans[at][0], spans[at][1]))
    return list(found.values())


def _report(
    kg: KnowledgeGraph, members: list[Node], places: dict[NodeId, list[Place]], limit: int, busiest: int
) -> dict[str, Any]:
    names: Counter[tuple[NodeId, int]] = Counter()
    spans: dict[tuple[NodeId, int], Place] = {}
    for member in members:
        for place in places[member.id]:
            key = place[0].id, place[1]
            names[key] += 1
            spans[key] = place
    if not spans:
        return {}
    total = sum(len(places[member.id]) for member in members)
    leading = sorted(members, key=lambda node: (-len(places[node.id]), str(node.get_property("name"))))
    title = ", ".join(str(node.get_property("name")) for node in leading[:3])

    def order(key: tuple[NodeId, int]) -> tuple[Any, ...]:
        chunk, start, _ = spans[key]
        return str(chunk.get_property("document")), (chunk.get_property("start") or 0) + start, str(chunk.id)

    best = sorted(spans, key=lambda key: (-names[key], order(key)))[:limit]
    findings = [_finding(spans[key]) for key in sorted(best, key=order)]
    summary = " ".join(finding["summary"] for finding in findings[:3])
    return {
        "title": title,
        "summary": summary,
        "report": "\n".join([f"# {title}", "", *(f"- {finding['summary']}" for finding in findings)]),
        "rating": round(10 * math.log1p(total) / math.log1p(busiest), 2),
        "findings": findings,
    }


def _finding(place: Place) -> dict[str, Any]:
    chunk, start, end = place
    text = chunk.get_property("page_content")[start:end]
    return {"summary": " ".join(text.split()), "chunk": chunk.id, "start": start, "end": end}
