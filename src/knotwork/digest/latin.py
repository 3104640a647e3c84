"""Phrases in scripts with letters: runs of content words."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

from knotwork.digest.pages import Block
from knotwork.digest.phrases import LONGEST_WORD, SMALL, Phrase, nested
from knotwork.digest.words import HAS_LETTER, LATIN_WORD, STOP, singular, words
from knotwork.nlp import STOP_WORDS

_MAX_WORDS = 4  # of a phrase
# What stands before a verb and seldom before a noun, and the other way round: enough to tell "visits" from "visit".
_BEFORE_VERB = words("to will would can could may might must shall should not never i he she we they you it who which")
_BEFORE_NOUN = words(
    "the a an of his her its their our my your this these those in on for by with no any some each every"
)
_AFTER_NOUN = words("of is are was were has have had in on at for to from that which who")
_ADJECTIVE = ("ous", "ive", "ful", "able", "ible", "less", "ical", "ish")
_CONTRACTED = ("n't", "'re", "'ve", "'ll", "'d", "'m")
# the blank between two words of a phrase; a line break only where the line was wrapped
_JOINT = re.compile(r"[^\S\r\n]|(?<=[^\r\n]{45})\r?\n")


class _Token(NamedTuple):
    word: str  # lower case, without a possessive
    start: int
    end: int
    capital: bool
    joined: bool  # only a blank, or a wrapped line, parts it from the one before


def latin_phrases(plain: str, blocks: list[Block]) -> dict[str, Phrase]:
    tokens = list(_tokens(plain, blocks))
    grammar = _Grammar(tokens)
    least = 1 if len(tokens) <= SMALL else 2
    folded = {token.word: singular(token.word) for token in tokens}
    counts = Counter(folded[token.word] for token in tokens)
    phrases: dict[str, Phrase] = {}
    for run in _runs(tokens, grammar):
        keys = [folded[token.word] for token in run]
        for i, j in _stretches(run, grammar):
            if all(counts[key] >= least for key in keys[i:j]):
                _count(phrases, " ".join(keys[i:j]), run[i:j], whole=j - i == len(run))
    # what is said once must be all that stands between two function words
    kept = {key: phrase for key, phrase in phrases.items() if phrase.count > 1 or (phrase.whole and least == 1)}
    return nested(kept)


def _tokens(plain: str, blocks: list[Block]) -> Iterator[_Token]:
    for block in blocks:
        last = -1
        for match in LATIN_WORD.finditer(plain, block.start, block.end):
            start, end = match.span()
            joined = last > 0 and _JOINT.fullmatch(plain, last, start) is not None
            last = end
            said = match.group().replace("’", "'")
            if said.endswith(("'s", "'S")):
                said, end = said[:-2], end - 2
            yield _Token(said.lower(), start, end, said != said.lower(), joined)


class _Grammar:
    """What can be told of a text's words without a dictionary: by a list, by endings, by what stands beside them."""

    def __init__(self, tokens: list[_Token]) -> None:
        self.stop: frozenset[str] = STOP
        self.english = sum(token.word in STOP_WORDS for token in tokens) >= 0.15 * len(tokens)
        self.small = {token.word for token in tokens if not token.capital}
        self.noun: Counter[str] = Counter()  # how much oftener a word stands like a noun than like a verb
        if self.english:
            for before, token in pairwise(tokens):
                if token.joined:
                    self.noun[token.word] += (before.word in _BEFORE_NOUN) - (before.word in _BEFORE_VERB)
                    self.noun[before.word] += token.word in _AFTER_NOUN
        elif len(tokens) > 30:  # the short words of a language are mostly its function words, and so are its commonest
            often = Counter(token.word for token in tokens)
            least = max(3, len(tokens) // 200)
            short = {word for word in self.small if len(word) < 4 or (len(word) < 7 and often[word] >= least)}
            self.stop = STOP | short

    def breaks(self, token: _Token) -> bool:
        """Whether a word is in no phrase: a function word, a verb, an adverb, a stretch of data."""
        word = token.word
        if word in self.stop or word.endswith(_CONTRACTED) or len(word) > LONGEST_WORD:
            return True
        if len(word) < 2 and word.isalpha():
            return True
        if not self.english or self._name(token):
            return False
        return (word.endswith("ly") and len(word) > 5) or self.noun[word] < 0

    def may_begin(self, token: _Token) -> bool:
        return HAS_LETTER.search(token.word) is not None and (not self._participle(token) or self.noun[token.word] > 0)

    def may_end(self, token: _Token, alone: bool) -> bool:
        word = token.word
        if len(word) < 3 and not token.capital and not word.isdigit():
            return False
        if not self.english or self._name(token):
            return True
        doubtful = word.endswith(_ADJECTIVE) or (alone and word.endswith("ing"))
        return not self._participle(token) and (not doubtful or self.noun[word] > 1)

    def _participle(self, token: _Token) -> bool:
        ending = token.word.endswith("ed") and not token.word.endswith("eed")
        return self.english and ending and not self._name(token)

    def _name(self, token: _Token) -> bool:
        return token.capital and token.word not in self.small


def _runs(tokens: list[_Token], grammar: _Grammar) -> Iterator[list[_Token]]:
    """Stretches of words that may stand in a phrase."""
    run: list[_Token] = []
    for token in tokens:
        number = not HAS_LETTER.search(token.word)
        breaks = grammar.breaks(token)
        if run and (breaks or not token.joined or (number and not run[-1].capital)):
            yield run
            run = []
        if not breaks and (run or not number):  # a number is at home behind a name: "Apollo 11"
            run.append(token)
    if run:
        yield run


def _stretches(run: list[_Token], grammar: _Grammar) -> Iterator[tuple[int, int]]:
    """Where phrases may begin and end in a run; one word only at its end: before others it may be an adjective."""
    ends = [grammar.may_end(token, alone=len(run) == 1) for token in run]
    for i, token in enumerate(run):
        if grammar.may_begin(token):
            for j in range(i + 1, min(i + _MAX_WORDS, len(run)) + 1):
                if ends[j - 1] and (j > i + 1 or j == len(run)):
                    yield i, j


def _count(phrases: dict[str, Phrase], key: str, said: list[_Token], whole: bool) -> None:
    span = said[0].start, said[-1].end
    phrase = phrases.setdefault(key, Phrase(len(said), *span))
    phrase.count += 1
    phrase.whole |= whole
    if not any(token.capital for token in said):
        phrase.small = phrase.small or span
        phrase.lower += 1
