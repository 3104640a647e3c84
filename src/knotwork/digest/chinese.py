"""Phrases in Chinese: strings that are repeated."""

from __future__ import annotations

from collections import Counter

from knotwork.digest.pages import Block
from knotwork.digest.phrases import SMALL, Phrase, nested
from knotwork.digest.words import HAN_RUN, ZH_COMMON, ZH_EDGE, ZH_FIRST, ZH_LAST

_MAX_CHARACTERS = 8  # of a phrase
_COUNTED = frozenset("年月日时分秒号个名人次条家元岁点万亿")  # what a number counts


def chinese_phrases(plain: str, blocks: list[Block]) -> dict[str, Phrase]:
    """In a small text the short stretches between function words too."""
    spans = [_span(plain, *match.span()) for b in blocks for match in HAN_RUN.finditer(plain, b.start, b.end)]
    starts = [at for start, end in spans for at in range(start, end - 1)]
    phrases: dict[str, Phrase] = {}
    for length in range(2, _MAX_CHARACTERS + 2):  # a string is repeated only if its parts are
        grams = [plain[at : at + length] for at in starts]
        counts = Counter(grams)
        held = {at for at, gram in zip(starts, grams, strict=True) if counts[gram] > 1}
        for at, gram in zip(starts, grams, strict=True):
            if at in held and gram not in phrases:
                phrases[gram] = Phrase(length - 1, at, at + length, counts[gram], counts[gram])
        starts = [at for at in starts if at in held and at + 1 in held]
    kept = {key: phrase for key, phrase in nested(phrases).items() if len(key) <= _MAX_CHARACTERS and _is_word(key)}
    if sum(end - start for start, end in spans) <= SMALL:
        for start, end in spans:
            if 2 <= end - start <= _MAX_CHARACTERS and plain[start:end] not in ZH_COMMON:
                kept.setdefault(plain[start:end], Phrase(end - start - 1, start, end, 1, 1))
    return kept


def _span(plain: str, start: int, end: int) -> tuple[int, int]:
    """A stretch without the measure word of a number before it."""
    counted = plain[start] in _COUNTED and plain[max(0, start - 2) : start].rstrip()[-1:].isdigit()
    return start + counted, end


def _is_word(said: str) -> bool:
    if not ZH_COMMON.isdisjoint((said, said[:2], said[-2:])):
        return False
    first, last = said[0], said[-1]
    return (first not in ZH_EDGE or first in ZH_FIRST) and (last not in ZH_EDGE or last in ZH_LAST)
