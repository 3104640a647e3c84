"""Which known names a question speaks of."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from knotwork import chinese
from knotwork.gazetteer import STOP_WORDS, Gazetteer
from knotwork.text import CJK, cjk_share, fold_characters, normalise_name

QUESTION_WORDS = frozenset(
    re.findall(
        r"\w+",
        """
        who what when where which whose whom how why is are was were did do does in on at of the a an if
        """,
    )
)
# Words that say that something is asked, not what; and the commonest that join others.
_ASKING_ZH = re.compile(
    "请问|告诉|为什么|为何|什么时候|什么|哪里|哪儿|哪位|哪些|哪个|哪一?年|怎么样?|怎样|如何|多少|何时|谁|吗|呢|了|的|是|在|被|有|和|与|把|几"
)
_JOINING = frozenset(["of", "the", "and", "de", "in", "for", "a", "an", "to", "von"]) | {","}
_CJK_RUN = re.compile(f"[{CJK}]+")
_WORD = re.compile(r"[\w’'&./()-]+|,")
_ABBREVIATION = re.compile(r".*\b\w\.$")
_NOT_ALNUM = re.compile(r"[^a-z0-9]+")
_MOST_WORDS = 300  # of a question that are looked at
_LONGEST = 12  # words of a name
_SHORTEST_UNCASED = 4  # letters of a single word


def asked_for(question: str) -> str:
    """What a question is about: of its Chinese the words that say something, parted by blanks, the rest as it is.

    By jieba where it is installed; else what is left when words that ask are cut out.
    """
    if not cjk_share(question):
        return question
    return chinese.content_of(question) if chinese.available() else _ASKING_ZH.sub(" ", fold_characters(question))


def lone_words(question: str) -> list[str]:
    """What a question asks in single Chinese characters, which no pair of characters finds."""
    return [run for run in _CJK_RUN.findall(asked_for(question)) if len(run) == 1]


@dataclass(frozen=True, slots=True)
class Link:
    """A known name in a question: its number, where it stands, and whether it is written as a name."""

    entity: int
    start: int
    end: int
    cased: bool = True


class Linker:
    """Finds known names in questions; immutable.

    `names` maps normalised names to numbers, several to one allowed; a number below 0 marks a name that is known,
    so that no other is taken for it, and leads nowhere.
    """

    def __init__(self, names: Mapping[str, int]) -> None:
        self._names = dict(names)
        self._gazetteer = Gazetteer(name for name in names if cjk_share(name))
        self._grams = _Grams(list(names), [names[name] for name in names])

    def link(self, question: str, similarity: float = 0.75) -> list[Link]:
        """The names in a question, each once: exact ones, longest first, then capitalised runs that resemble one.

        People type questions without capitals, so an exact name needs none; a single word without must have four
        letters. A capitalised run that is no known name is taken for the one of highest Dice similarity over
        character 3-grams, when that reaches `similarity`.
        """
        words = _words(question)
        used = [False] * len(words)
        links = [*self._exact(question, words, used), *self._without_blanks(question)]
        links += self._similar(question, words, used, similarity)
        first: dict[int, Link] = {}
        for link in links:
            if link.entity >= 0:
                first.setdefault(link.entity, link)
        return list(first.values())

    def _exact(self, question: str, words: list[tuple[int, int]], used: list[bool]) -> list[Link]:
        links = []
        for count in range(min(_LONGEST, len(words)), 0, -1):
            for at in range(len(words) - count + 1):
                start, end = words[at][0], words[at + count - 1][1]
                if any(used[at : at + count]) or question[start] == "," or question[end - 1] == ",":
                    continue
                name = normalise_name(question[start:end])
                entity = self._names.get(name)
                if entity is None or name in STOP_WORDS:
                    continue
                spelt = [question[a:b] for a, b in words[at : at + count]]
                if at == 0 and count == 1 and spelt[0].lower() in QUESTION_WORDS:
                    continue
                cased = _cased(name, spelt)
                if cased or " " in name or len(name) >= _SHORTEST_UNCASED:
                    links.append(Link(entity, start, end, cased))
                    used[at : at + count] = [True] * count
        return links

    def _without_blanks(self, question: str) -> list[Link]:
        return [Link(self._names[name], start, end) for start, end, name in self._gazetteer.find(question)]

    def _similar(self, question: str, words: list[tuple[int, int]], used: list[bool], similarity: float) -> list[Link]:
        links = []
        at = 0
        while at < len(words):
            start, end = words[at]
            asks = at == 0 and question[start:end].lower() in QUESTION_WORDS
            if used[at] or asks or not question[start].isupper():
                at += 1
                continue
            while at < len(words) and not used[at] and _runs_on(question, words, at):
                end = words[at][1]
                at += 1
            name = normalise_name(question[start:end])
            entity = self._grams.nearest(name, similarity) if len(name) >= 5 else None
            if entity is not None:
                links.append(Link(entity, start, end))
        return links


class _Grams:
    """Character 3-grams of the known names, as postings."""

    def __init__(self, names: list[str], entities: list[int]) -> None:
        self._entities = entities
        rows: dict[str, list[int]] = {}
        counts = np.zeros(len(names), np.float32)
        for number, name in enumerate(names):
            grams = _grams(name)
            counts[number] = len(grams)
            for gram in grams:
                rows.setdefault(gram, []).append(number)
        self._counts = counts
        self._rows: dict[str, npt.NDArray[np.int32]] = {gram: np.array(row, np.int32) for gram, row in rows.items()}

    def nearest(self, name: str, similarity: float) -> int | None:
        """The entity of the most similar name, 2 |A ∩ B| / (|A| + |B|), or None below `similarity`."""
        grams = _grams(name)
        rows = [self._rows[gram] for gram in grams if gram in self._rows]
        if not rows:
            return None
        shared = np.bincount(np.concatenate(rows), minlength=len(self._counts))
        dice = 2 * shared / (len(grams) + self._counts)
        best = int(dice.argmax())
        return self._entities[best] if dice[best] >= similarity else None


def _grams(name: str) -> set[str]:
    padded = f" {_NOT_ALNUM.sub(' ', name).strip()} "
    return {padded[i : i + 3] for i in range(len(padded) - 2)}


def _words(question: str) -> list[tuple[int, int]]:
    """Spans of words and commas; a full stop stays only with an abbreviation."""
    spans = []
    for match in _WORD.finditer(question):
        start, end = match.span()
        word = match.group()
        if len(word) > 2 and word.endswith(".") and not _ABBREVIATION.match(word):
            end -= 1
        spans.append((start, end))
        if len(spans) == _MOST_WORDS:
            break
    return spans


def _capital(word: str) -> bool:
    return word[:1].isupper() or word[:1].isdigit()


def _cased(name: str, words: list[str]) -> bool:
    """Whether words that spell a known name are written like one."""
    content = [word for word in words if word != "," and word.lower() not in STOP_WORDS]
    if " " in name:
        return any(map(_capital, content))
    return name.isdigit() or bool(content and content[-1][:1].isupper())


def _runs_on(question: str, words: list[tuple[int, int]], at: int) -> bool:
    word = question[words[at][0] : words[at][1]]
    if _capital(word):
        return True
    return word.lower() in _JOINING and at + 1 < len(words) and question[words[at + 1][0]].isupper()
