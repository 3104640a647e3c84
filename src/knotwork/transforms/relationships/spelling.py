"""Which of many texts are spelled alike."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import StrEnum
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from rapidfuzz import process
from rapidfuzz.distance import Hamming, Jaro, JaroWinkler, Levenshtein

from knotwork.transforms.relationships.pairs import ROUNDING, Bits, Ints, fingerprints, starts

BLOCK = 1 << 18
"""How many pairs are looked at at once: few enough for the processor's cache, enough to be worth a call of numpy."""


class DistanceMeasure(StrEnum):
    """How alike two texts are, from 0 to 1: the normalised similarities of rapidfuzz."""

    LEVENSHTEIN = "levenshtein"
    HAMMING = "hamming"
    JARO = "jaro"
    JARO_WINKLER = "jaro_winkler"


SIMILARITY: dict[DistanceMeasure, Callable[..., float]] = {
    DistanceMeasure.LEVENSHTEIN: Levenshtein.normalized_similarity,
    DistanceMeasure.HAMMING: Hamming.normalized_similarity,
    DistanceMeasure.JARO: Jaro.normalized_similarity,
    DistanceMeasure.JARO_WINKLER: JaroWinkler.normalized_similarity,
}


def spelled_alike(texts: Sequence[str], measure: DistanceMeasure, threshold: float) -> Iterator[tuple[Ints, Ints]]:
    """The pairs of distinct texts with a similarity >= threshold, each pair once, by their places.

    Texts that are so alike have many characters in common, wherever these stand: two are compared only where their
    fingerprints allow of it. Under Jaro-Winkler fewer will do for texts that begin alike, so those are looked for
    among the texts of one first letter, and the others everywhere.
    """
    letters, objects = _Letters.of(texts), np.array(texts, object)
    for one, other in _candidates(letters, measure, threshold):
        here, there = objects[one].tolist(), objects[other].tolist()
        score = process.cpdist(here, there, scorer=SIMILARITY[measure], dtype=np.float64, workers=1)
        yield one[score >= threshold], other[score >= threshold]


class _Letters(NamedTuple):
    """What is compared of texts before they are."""

    length: Ints
    start: np.ndarray[Any, np.dtype[np.uint32]]
    """(texts, 4): their first characters, 0 where there are none."""
    prints: tuple[Bits, Bits]
    """Fingerprints, of two kinds, of their characters, the n-th "a" told apart from the others."""

    @classmethod
    def of(cls, texts: Sequence[str]) -> _Letters:
        length = np.array([len(text) for text in texts], np.int64)
        letters = np.frombuffer("".join(texts).encode("utf-32-le", "surrogatepass"), np.uint32)
        padded = np.concatenate([letters, np.zeros(4, np.uint32)])
        start = np.where(np.arange(4) < length[:, None], padded[starts(length)[:, None] + np.arange(4)], 0)
        keys = np.sort(np.repeat(np.arange(len(texts)) << 32, length) | letters)
        run = np.flatnonzero(np.diff(keys, prepend=-1))
        nth = np.arange(len(keys)) - np.repeat(run, np.diff(run, append=len(keys)))
        features = (keys & 0xFFFFFFFF) << 24 | nth
        return cls(length, start, (fingerprints(features, length), fingerprints(features, length, seed=1)))

    def differing(self, one: Ints, other: Ints) -> Ints:
        """How many characters are in one of two texts only, at least."""
        counts: Ints = np.bitwise_count(self.prints[1][one] ^ self.prints[1][other]).astype(np.int64)
        return counts


def _candidates(letters: _Letters, measure: DistanceMeasure, threshold: float) -> Iterator[tuple[Ints, Ints]]:
    """The pairs of texts that may be alike, each once."""
    winkler = measure is DistanceMeasure.JARO_WINKLER
    spare = partial(_spare, measure, threshold)
    length, first = letters.length, letters.start[:, 0]
    order = np.argsort(length, kind="stable")
    for one, other in _near(letters, order, np.zeros_like(first), spare):
        near = letters.differing(one, other) <= spare(length[one], length[other])
        if winkler:
            near &= first[one] != first[other]
        yield one[near], other[near]
    if winkler:
        order = order[np.argsort(first[order], kind="stable")]
        for one, other in _near(letters, order, first, partial(spare, prefix=4)):
            same = np.logical_and.accumulate(letters.start[one] == letters.start[other], axis=1).sum(1)
            near = letters.differing(one, other) <= spare(length[one], length[other], prefix=same)
            yield one[near], other[near]


def _near(
    letters: _Letters, order: Ints, group: np.ndarray[Any, Any], spare: Callable[[Any, Any], np.ndarray[Any, Any]]
) -> Iterator[tuple[Ints, Ints]]:
    """The pairs of one group whose fingerprints differ in no more bits than `spare` allows for their lengths.

    order: the texts by group, in each by length.
    """
    prints, end = letters.prints[0][order], np.searchsorted(group[order], group[order], "right")
    lengths, kind = np.unique(letters.length[order], return_inverse=True)
    allowed = spare(lengths[:, None], lengths)
    allowed[allowed < np.abs(lengths[:, None] - lengths)] = -1
    allowed = (np.minimum(allowed, 64) + 1).astype(np.uint8)  # 0: never
    longest = np.where(allowed > 0, np.arange(len(lengths)), 0).max(1, initial=0)  # grows with the length
    top = 0
    while top < len(order):
        bottom = min(int(end[top]), top + 1 + BLOCK // int(end[top] - top))
        right = top + int(np.searchsorted(kind[top : end[top]], longest[kind[bottom - 1]], "right"))
        differ = np.bitwise_count(prints[top:bottom, None] ^ prints[top:right])
        if kind[top] == kind[bottom - 1]:
            near = np.flatnonzero(differ < allowed[kind[top], kind[top:right]])
        else:
            near = np.flatnonzero(differ < allowed[kind[top:bottom, None], kind[top:right]])
        one, other = near // (right - top) + top, near % (right - top) + top
        yield order[one[one < other]], order[other[one < other]]
        top = bottom


def _spare(measure: DistanceMeasure, threshold: float, one: Any, other: Any, prefix: Any = 0) -> np.ndarray[Any, Any]:
    """How many characters two texts may have that are not in both, by their lengths and the prefix that they share.

    Levenshtein and Hamming: 1 - d / max, where d >= max - common. Jaro: (common / one + common / other + 1) / 3 at
    most; Winkler (1990) adds, for each of up to four characters they begin with, a tenth of what is missing to 1.
    """
    if measure in (DistanceMeasure.LEVENSHTEIN, DistanceMeasure.HAMMING):
        common = threshold * np.maximum(one, other)
    else:
        if measure is DistanceMeasure.JARO_WINKLER:
            threshold = (threshold - 0.1 * prefix) / (1 - 0.1 * prefix)
        common = (3 * threshold - 1) * one * other / np.maximum(one + other, 1)
    spare: np.ndarray[Any, Any] = one + other - 2 * np.ceil(np.maximum(common, 0) - ROUNDING)
    return spare
