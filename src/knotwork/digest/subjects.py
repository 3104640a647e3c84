"""Key phrases and themes: what a text speaks of."""

from __future__ import annotations

import math

from knotwork.digest.chinese import chinese_phrases
from knotwork.digest.latin import latin_phrases
from knotwork.digest.pages import read
from knotwork.digest.phrases import Phrase, parts
from knotwork.digest.words import HAN
from knotwork.nlp import pattern_names
from knotwork.text import normalise_name


def keyphrases(text: str, max_num: int = 5) -> list[str]:
    """The phrases that say what a text is about, best first, as they stand there; of two that overlap in words one.

    Candidates are runs of up to four content words (as in RAKE: Rose et al. 2010) that don't end in a verb or an
    adjective, as far as their neighbours and endings tell; in Chinese, strings of up to eight characters that are
    repeated. They are ranked by C-value: how often a phrase stands outside of longer ones, times the logarithm of its
    length (Frantzi, Ananiadou and Mima 2000); a Chinese string that only ever stands inside one longer string is so
    ruled out, as it is by accessor variety (Feng et al. 2004). The title and the beginning count for more.
    """
    plain, phrases, scores = _scored(text)
    return _best(plain, phrases, scores, max_num)


def themes(text: str, max_num: int = 10) -> list[str]:
    """The general subjects of a text, most important first: its key phrases in small letters of up to three words.

    In Chinese, those that are no names by pattern.
    """
    plain, phrases, scores = _scored(text)
    names = {normalise_name(name.text) for name in pattern_names(plain)} if HAN.search(plain) else set()
    general = {
        key: phrase
        for key, phrase in phrases.items()
        if 2 * phrase.lower >= phrase.count and phrase.words <= 3 and key not in names
    }
    return _best(plain, general, scores, max_num)


def _scored(text: str) -> tuple[str, dict[str, Phrase], dict[str, float]]:
    """(plain text, its phrases, their scores), by their keys."""
    plain, heads, blocks = read(text)
    phrases = latin_phrases(plain, blocks) | chinese_phrases(plain, blocks)
    title = heads[0].end if heads and heads[0].start < 500 else 0
    scores: dict[str, float] = {}
    for key, phrase in phrases.items():
        free = phrase.count - (1.0 if HAN.match(key) else 0.8) * phrase.longer
        length = math.log2(phrase.words + 1)
        if phrase.count == 1:  # then its length may be chance
            length = math.sqrt(length)
        scores[key] = free * length * (1 + 1 / (1 + phrase.first / 600)) * (2 if phrase.first < title else 1)
    return plain, phrases, scores


def _best(plain: str, phrases: dict[str, Phrase], scores: dict[str, float], max_num: int) -> list[str]:
    """The best phrases, no one of which is part of another."""
    kept: dict[str, str] = {}
    covered: set[str] = set()  # parts of what is kept, and other spellings of it
    for key, phrase in sorted(phrases.items(), key=lambda item: (-scores[item[0]], item[1].first)):
        if len(kept) >= max_num or scores[key] <= 0:
            break
        inside = parts(key)
        near = {part for part in inside if len(part) > 2} if HAN.match(key) else {key}  # three characters of another
        said = " ".join(plain[slice(*phrase.span())].split())
        spelling = normalise_name(said)
        if inside.isdisjoint(kept) and covered.isdisjoint({key, spelling} | near):
            kept[key] = said
            covered |= inside | {spelling}
    return list(kept.values())
