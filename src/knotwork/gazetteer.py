"""Known names found again in text: everywhere, longest first, in one pass."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from knotwork.text import CJK, normalise_name, sentence_spans

# Capitalised at the start of a sentence and often enough elsewhere, and still no names.
STOP_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        the a an this that these those he she it they his her its their i we you in on at of and or but for with from by
        as is was are were be been when where who what which how why if then than after before during while also not no
        yes there here one two first second
        """,
    )
)

_TOKEN = re.compile(r"[^\W_][\w’'&./-]*")
_TAIL = re.compile(r"(?:['’]s?)?[’'&./_-]*$", re.IGNORECASE)
_CJK = re.compile(f"[{CJK}]")
_LONGEST = 8  # words of a name that is looked for


class Gazetteer:
    """Finds names in texts; immutable, so that threads may share it.

    Names and text meet in the form of `normalise_name`. A name of Latin words must begin with a capital or a
    digit in the text and stand on word borders; a single word that begins a sentence counts only when the text
    also has it elsewhere with a capital, since any word is capitalised there. A name with Chinese, Japanese or
    Korean characters is found wherever its characters stand. Not looked for: stop words, bare numbers, Latin
    names under three letters, CJK names under two.
    """

    def __init__(self, names: Iterable[str]) -> None:
        self._names: dict[str, str] = {}
        words: dict[str, set[int]] = {}
        chars: dict[str, set[int]] = {}
        for name in names:
            key = normalise_name(name)
            if key in self._names or key in STOP_WORDS:
                continue
            if _CJK.search(key):
                if len(key) >= 2:
                    self._names[key] = name
                    chars.setdefault(key[0], set()).add(len(key))
            elif len(key) >= 3:
                tokens = _TOKEN.findall(key)
                if tokens and len(tokens) <= _LONGEST and not (len(tokens) == 1 and key.isdigit()):
                    self._names[key] = name
                    words.setdefault(normalise_name(tokens[0]), set()).add(len(tokens))
        # lengths, longest first, by what a name begins with
        self._words = {first: sorted(lengths, reverse=True) for first, lengths in words.items()}
        self._chars = {first: sorted(lengths, reverse=True) for first, lengths in chars.items()}
        self._first_char = re.compile("[" + re.escape("".join(sorted(chars))) + "]") if chars else None

    def find(self, text: str) -> list[tuple[int, int, str]]:
        """(start, end, name) of each occurrence in reading order, not overlapping; `name` as it was given.

        `normalise_name(text[start:end])` is the name's normal form.
        """
        found = self._find_words(text) if self._words else []
        if self._first_char is not None and _CJK.search(text):
            found = _merge(found, self._find_characters(text))
        return found

    def _find_words(self, text: str) -> list[tuple[int, int, str]]:
        tokens = [match.span() for match in _TOKEN.finditer(text)]
        found: list[tuple[int, int, str]] = []
        doubtful: list[tuple[int, int, str]] = []  # single words that begin a sentence
        sure: set[str] = set()
        initial = _initial_offsets(text, tokens)
        at = 0
        while at < len(tokens):
            start, end = tokens[at]
            step = 1
            if text[start].isupper() or text[start].isdigit():
                for count in self._words.get(normalise_name(text[start:end]), ()):
                    if at + count > len(tokens):
                        continue
                    end = tokens[at + count - 1][1]
                    name = self._names.get(normalise_name(text[start:end]))
                    if name is None:
                        continue
                    hit = (start, _trim(text, start, end), name)
                    if count == 1 and start in initial:
                        doubtful.append(hit)
                    else:
                        found.append(hit)
                        sure.add(name)
                        step = count
                    break
            at += step
        accepted = [hit for hit in doubtful if hit[2] in sure]
        return sorted(found + accepted) if accepted else found

    def _find_characters(self, text: str) -> list[tuple[int, int, str]]:
        assert self._first_char is not None
        folded = _same_length(text)
        found: list[tuple[int, int, str]] = []
        match = self._first_char.search(folded)
        while match is not None:
            start = at = match.start()
            if not _inside_word(folded, start):
                for length in self._chars[folded[start]]:
                    name = self._names.get(folded[start : start + length])
                    if name is not None and not _inside_word(folded, start + length):
                        found.append((start, start + length, name))
                        at = start + length - 1
                        break
            match = self._first_char.search(folded, at + 1)
        return found


def _initial_offsets(text: str, tokens: list[tuple[int, int]]) -> set[int]:
    """Where the first word of each sentence starts."""
    initial: set[int] = set()
    token = 0
    for start, _ in sentence_spans(text):
        while token < len(tokens) and tokens[token][0] < start:
            token += 1
        if token < len(tokens):
            initial.add(tokens[token][0])
    return initial


def _trim(text: str, start: int, end: int) -> int:
    """The end without the punctuation and the possessive that a normal form loses."""
    tail = _TAIL.search(text, start, end)
    return tail.start() if tail is not None and tail.start() > start else end


def _same_length(text: str) -> str:
    """Lower case and half width, character by character, so that offsets stay true."""
    if text.isascii():
        return text.lower()
    return "".join(map(_fold, text))


@lru_cache(maxsize=1 << 16)
def _fold(char: str) -> str:
    folded = normalise_name(char)
    return folded if len(folded) == 1 else char


def _inside_word(text: str, at: int) -> bool:
    """Whether an offset lies between two Latin letters or digits."""
    if not 0 < at < len(text):
        return False
    before, after = text[at - 1], text[at]
    return before.isascii() and after.isascii() and before.isalnum() and after.isalnum()


def _merge(words: list[tuple[int, int, str]], characters: list[tuple[int, int, str]]) -> list[tuple[int, int, str]]:
    """Both lists in reading order; of two that overlap the longer stays."""
    kept: list[tuple[int, int, str]] = []
    for hit in sorted(words + characters):
        if kept and hit[0] < kept[-1][1]:
            if hit[1] - hit[0] > kept[-1][1] - kept[-1][0]:
                kept[-1] = hit
        else:
            kept.append(hit)
    return kept
