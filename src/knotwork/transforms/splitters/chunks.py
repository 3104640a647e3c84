"""What the splitters share: which part of a text is cut, where blank stretches go, and the nodes that come of it."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeAlias

from knotwork.errors import InputError
from knotwork.graph import Node, NodeType, Relationship
from knotwork.places import MAPS, Places
from knotwork.text import stable_id

Span: TypeAlias = tuple[int, int]
Test: TypeAlias = Callable[[Span], bool]

INHERITED = ("title", "source", "metadata", "headings")


def body(node: Node, text: str) -> list[Span]:
    """The spans of a node's text that are cut: all of it, or what the metadata's `body` names.

    `body` is [[start, end], …] in the document's text; a node that is itself a chunk has its part of it. Blank spans
    are left out. Raises InputError naming the node for a `body` of another shape.
    """
    metadata = node.get_property("metadata")
    named = metadata.get("body") if isinstance(metadata, dict) else None
    if not named:
        return [(0, len(text))] if text.strip() else []
    offset = node.get_property("start") or 0
    try:
        spans = [(max(start - offset, 0), min(end - offset, len(text))) for start, end in named]
    except (TypeError, ValueError) as error:
        raise InputError(
            f"node {node.id!r}: metadata 'body' must be pairs of offsets [[start, end], …], not {named!r}"
        ) from error
    return [(start, end) for start, end in spans if text[start:end].strip()]


def shifted(spans: Iterable[Span], by: int) -> list[Span]:
    return [(start + by, end + by) for start, end in spans]


def join_short(spans: Sequence[Span], short: Test, fits: Test) -> list[Span]:
    """Neighbouring spans, short ones joined to the next, else to the previous, where the two together fit.

    What stays short then fits neither neighbour: they only grow.
    """
    joined: list[Span] = []
    rest = list(reversed(spans))
    while rest:
        start, end = rest.pop()
        if short((start, end)):
            if rest and fits((start, rest[-1][1])):
                rest[-1] = (start, rest[-1][1])
                continue
            if joined and fits((joined[-1][0], end)):
                joined[-1] = (joined[-1][0], end)
                continue
        joined.append((start, end))
    return joined


def without_blanks(text: str, spans: Sequence[Span], fits: Test) -> list[Span]:
    """The spans, each with something visible: a blank one goes to the neighbour that has room for it.

    Where neither has, one is cut in two, so that its near end has. A blank stretch that leaves no room at all stays
    with its neighbour, whatever that one's size: a chunk of blanks would say nothing.
    """
    kept: list[Span] = []
    rest = list(reversed(spans))
    while rest:
        start, end = rest.pop()
        if text[start:end].strip():
            kept.append((start, end))
            continue
        before = (kept[-1][0], end) if kept else None
        after = (start, rest[-1][1]) if rest else None
        if before and fits(before):
            kept[-1] = before
        elif after and fits(after):
            rest[-1] = after
        elif before and (halves := _halves(text, before, fits)):
            kept[-1:] = halves
        elif after and (halves := _halves(text, after, fits)):
            rest[-1:] = reversed(halves)
        elif before:
            kept[-1] = before
        elif after:
            rest[-1] = after
    return kept


def _halves(text: str, span: Span, fits: Test) -> list[Span]:
    """A span that is too long by the blanks around it in two that fit; none where there is no such cut."""
    start, end = span
    content = text[start:end]
    first, last = end - len(content.lstrip()), start + len(content.rstrip())
    step = (last - first) // 2
    while step > 0:
        for border in (last - step, first + step):
            halves = [(start, border), (border, end)]
            if all(text[slice(*half)].strip() and fits(half) for half in halves):
                return halves
        step //= 2
    return []


def chunk_nodes(
    parent: Node, text: str, spans: Sequence[Span], headings: Sequence[Sequence[str]] = ()
) -> tuple[list[Node], list[Relationship]]:
    """CHUNK nodes for the spans of a parent's text, with "child" and "next".

    They inherit title, source, metadata (but for the maps of places) and headings; `headings`, parallel to the spans,
    has those that a chunk stands under besides, outermost first, in place of what the metadata's outline names.
    `start` and `end` are in the text of the document, which `document` names; `page` is where a chunk begins. An id
    comes from the parent, the chunk's text and its n-th repeat: an edit elsewhere renames nothing.
    """
    offset = parent.get_property("start") or 0
    document = parent.get_property("document") or parent.id
    inherited = {key: value for key in INHERITED if (value := parent.get_property(key)) is not None}
    above = list(inherited.get("headings") or ())
    title = inherited.get("title")
    metadata = inherited.get("metadata")
    places = Places.of(metadata, title if isinstance(title, str) else "")
    if isinstance(metadata, dict):
        inherited["metadata"] = {key: value for key, value in metadata.items() if key not in MAPS}
    nodes: list[Node] = []
    repeats: dict[str, int] = {}
    for (start, end), own in zip(spans, headings or itertools.repeat(()), strict=False):
        content = text[start:end]
        repeat = repeats[content] = repeats.get(content, -1) + 1
        place = {"page_content": content, "start": offset + start, "end": offset + end, "document": document}
        under: dict[str, Any] = {}
        if path := above + list(own or places.headings(offset + start, offset + end)):
            under["headings"] = path
        if page := places.page(offset + start):
            under["page"] = page
        id = stable_id("chunk", parent.id, content, repeat)
        nodes.append(Node(id, {**place, **inherited, **under}, NodeType.CHUNK))
    links = [Relationship("child", parent, node) for node in nodes]
    links += [Relationship("next", one, other) for one, other in itertools.pairwise(nodes)]
    return nodes, links
