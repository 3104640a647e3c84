"""Chunks of whole sentences up to a number of tokens."""

from __future__ import annotations

from dataclasses import dataclass

from knotwork.errors import InputError
from knotwork.graph import Node, Relationship
from knotwork.text import count_tokens, sentence_spans, token_slices
from knotwork.threads import in_thread
from knotwork.transforms.arguments import check_count
from knotwork.transforms.base import Splitter, label
from knotwork.transforms.splitters.chunks import Span, body, chunk_nodes, shifted, without_blanks


@dataclass
class SentenceSplitter(Splitter):
    """Cuts `page_content` at sentence borders into chunks of at most `chunk_size` tokens (o200k vocabulary).

    chunk_overlap: tokens of whole sentences that a chunk repeats from the one before it; at 0 the chunks together
    are the text. A sentence longer than `chunk_size` is cut between characters; only a blank stretch that is longer
    makes a chunk too long, for it stays with the text beside it. Chunks are tied to the parent
    ("child") and to each other ("next"), and carry `start`, `end` (in the parent's text) and the parent's title
    and metadata. Where the parent's metadata names its `body`, [[start, end], …], the rest is left out.
    """

    chunk_size: int = 1024
    chunk_overlap: int = 20

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count(label(self), "chunk_size", self.chunk_size)
        check_count(label(self), "chunk_overlap", self.chunk_overlap, 0)
        if self.chunk_overlap >= self.chunk_size:
            raise InputError(f"chunk_overlap ({self.chunk_overlap}) must be less than chunk_size ({self.chunk_size})")

    async def split(self, node: Node) -> tuple[list[Node], list[Relationship]]:
        text = node.get_property("page_content")
        if not isinstance(text, str):
            return [], []
        spans: list[Span] = []
        for start, end in body(node, text):
            spans += shifted(await in_thread(self._spans, text[start:end]), start)
        return chunk_nodes(node, text, spans)

    def _spans(self, text: str) -> list[Span]:
        spans = split_spans(text, self.chunk_size, self.chunk_overlap)
        spans = without_blanks(text, spans, lambda span: count_tokens([text[slice(*span)]])[0] <= self.chunk_size)
        # of one cut to make room for blanks, the first part may lie in the overlap, and in the chunk before it
        ends = [-1, *(end for _, end in spans)]
        return [span for span, before in zip(spans, ends, strict=False) if span[1] > before]


def split_spans(text: str, size: int, overlap: int = 0) -> list[Span]:
    """Spans of chunks of at most `size` tokens, on sentence borders where sentences fit."""
    pieces = sentence_spans(text)
    counts = count_tokens([text[start:end] for start, end in pieces])
    fitting: list[tuple[Span, int]] = []
    for (start, end), tokens in zip(pieces, counts, strict=True):
        fitting += [((start, end), tokens)] if tokens <= size else _slices(text, start, end, size)
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


def _slices(text: str, start: int, end: int, size: int) -> list[tuple[Span, int]]:
    """A sentence that is too long, in pieces with their tokens."""
    spans = shifted(token_slices(text[start:end], size), start)
    return list(zip(spans, count_tokens([text[a:b] for a, b in spans]), strict=True))


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
