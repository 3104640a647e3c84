"""Chunks of whole sentences up to a number of tokens."""

from __future__ import annotations

import itertools
from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from dataclasses import dataclass

from knotwork.errors import InputError
from knotwork.graph import Node, NodeType, Relationship
from knotwork.text import count_tokens, sentence_spans, stable_id, token_ends
from knotwork.transforms.base import Splitter, in_thread

Span = tuple[int, int]


@dataclass
class SentenceSplitter(Splitter):
    """Cuts `page_content` at sentence borders into chunks of at most `chunk_size` tokens (o200k vocabulary).

    chunk_overlap: tokens of whole sentences that a chunk repeats from the one before it; at 0 the chunks together
    are the text. A sentence longer than `chunk_size` is cut between characters. Chunks are tied to the parent
    ("child") and to each other ("next"), and carry `start`, `end` (in the parent's text) and the parent's title
    and metadata. Where the parent's metadata names its `body`, [[start, end], …], the rest is left out.
    """

    chunk_size: int = 1024
    chunk_overlap: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.chunk_size < 1 or not 0 <= self.chunk_overlap < self.chunk_size:
            raise InputError(
                "chunk_size must be at least 1 and chunk_overlap in [0, chunk_size), "
                f"not {self.chunk_size} and {self.chunk_overlap}"
            )

    async def split(self, node: Node) -> tuple[list[Node], list[Relationship]]:
        text = node.get_property("page_content")
        if not isinstance(text, str) or not text.strip():
            return [], []
        spans: list[Span] = []
        for start, end in _body(node, text):
            inside = await in_thread(split_spans, text[start:end], self.chunk_size, self.chunk_overlap)
            spans += [(start + first, start + last) for first, last in inside]
        return chunk_nodes(node, text, spans)


def _body(node: Node, text: str) -> list[Span]:
    metadata = node.get_property("metadata")
    spans = metadata.get("body") if isinstance(metadata, dict) else None
    return [(start, end) for start, end in spans] if spans else [(0, len(text))]


def split_spans(text: str, size: int, overlap: int = 0) -> list[Span]:
    """Spans of chunks of at most `size` tokens, on sentence borders where sentences fit."""
    pieces = sentence_spans(text)
    counts = count_tokens([text[start:end] for start, end in pieces])
    fitting: list[tuple[Span, int]] = []
    for (start, end), tokens in zip(pieces, counts, strict=True):
        fitting += [((start, end), tokens)] if tokens <= size else _cut(text, start, end, size)
    groups: list[Span] = []  # of sentences, by index
    first = 0
    while first < len(fitting):
        last, tokens = first, 0
        while last < len(fitting) and (last == first or tokens + fitting[last][1] <= size):
            tokens += fitting[last][1]
            last += 1
        groups.append((first, last))
        if last == len(fitting):
            break
        begun, first, kept = first, last, 0
        # never back to where this chunk began, nor so far that the next sentence would not fit
        room = min(overlap, size - fitting[last][1])
        while first - 1 > begun and kept + fitting[first - 1][1] <= room:
            first -= 1
            kept += fitting[first][1]
    return _within_size(text, [span for span, _ in fitting], groups, size)


def _within_size(text: str, pieces: list[Span], groups: list[Span], size: int) -> list[Span]:
    """The groups as spans. Joined sentences may have a token more than the sum of theirs: such a group is halved."""
    spans = [(pieces[first][0], pieces[last - 1][1]) for first, last in groups]
    fitted: list[Span] = []
    for (first, last), span, tokens in zip(groups, spans, count_tokens([text[a:b] for a, b in spans]), strict=True):
        if tokens <= size or last - first == 1:
            fitted.append(span)
        else:
            middle = (first + last) // 2
            fitted += _within_size(text, pieces, [(first, middle), (middle, last)], size)
    return fitted


def _cut(text: str, start: int, end: int, size: int) -> list[tuple[Span, int]]:
    """A sentence that is too long, in pieces of at most `size` tokens, after a blank where there is one near.

    A single character of more tokens than `size` stays whole.
    """
    ends = [start + at for at in token_ends(text[start:end])]
    pieces: list[Span] = []
    at, first = start, 0
    while at < end:
        stop = first + size
        border = end if stop >= len(ends) else ends[stop - 1]
        if stop < len(ends) and ends[stop] == border:  # inside a character: it goes to the next piece, or whole here
            earlier = bisect_left(ends, border)
            border = ends[earlier - 1] if earlier > first else border
        if border < end and not text[border - 1].isspace():
            blank = max(text.rfind(" ", at, border), text.rfind("\n", at, border))
            border = blank + 1 if blank > at + (border - at) // 2 else border
        pieces.append((at, border))
        at, first = border, bisect_right(ends, border)
    # a piece read by itself may fall into more tokens than it had in its sentence
    counted = zip(pieces, count_tokens([text[left:right] for left, right in pieces]), strict=True)
    return [
        fitting
        for span, tokens in counted
        for fitting in ([(span, tokens)] if tokens <= size or span[1] - span[0] == 1 else _halves(text, span, size))
    ]


def _halves(text: str, span: Span, size: int) -> list[tuple[Span, int]]:
    middle = (span[0] + span[1]) // 2
    return _cut(text, span[0], middle, size) + _cut(text, middle, span[1], size)


def chunk_nodes(parent: Node, text: str, spans: Sequence[Span]) -> tuple[list[Node], list[Relationship]]:
    """CHUNK nodes for the spans of a parent's text, blank ones left to their neighbour, with "child" and "next".

    An id comes from the parent, the chunk's text and its n-th repeat: an edit elsewhere renames nothing.
    """
    offset = parent.get_property("start") or 0
    inherited = {
        key: value for key in ("title", "source", "metadata") if (value := parent.get_property(key)) is not None
    }
    nodes: list[Node] = []
    repeats: dict[str, int] = {}
    for start, end in _visible(text, spans):
        content = text[start:end]
        repeat = repeats[content] = repeats.get(content, -1) + 1
        id = stable_id("chunk", parent.id, content, repeat)
        nodes.append(
            Node(
                id,
                {
                    "page_content": content,
                    "start": offset + start,
                    "end": offset + end,
                    "document": parent.id,
                    **inherited,
                },
                NodeType.CHUNK,
            )
        )
    links = [Relationship("child", parent, node) for node in nodes]
    links += [Relationship("next", one, other) for one, other in itertools.pairwise(nodes)]
    return nodes, links


def _visible(text: str, spans: Sequence[Span]) -> list[Span]:
    """The spans with blank ones joined to the one before, or after when they come first."""
    kept: list[Span] = []
    begin: int | None = None
    for start, end in spans:
        if text[start:end].strip():
            kept.append((start if begin is None else begin, end))
            begin = None
        elif kept:
            kept[-1] = (kept[-1][0], end)
        elif begin is None:
            begin = start
    return kept
