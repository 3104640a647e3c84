"""An answer in the documents' own sentences: the few that answer best, each with its place.

Nothing is written that does not stand in a document. When the documents do not speak of what is asked, the answer
says so and cites nothing.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest

import numpy as np

from knotwork.search.evidence import Answer, Citation, Evidence
from knotwork.search.passages import Floats, Hit, Mode, PassageIndex, blind, query_terms
from knotwork.text import language_of, normalise_name

NO_EVIDENCE = {
    "en": "The documents hold no evidence that answers this question.",
    "zh": "文档中没有能回答这个问题的依据。",
}
PASSAGES = 12  # looked at
SENTENCES = 7  # in an answer at most
LONGEST = 2_000  # characters of a question that are looked at
MOST_PARTS = 4
REPEAT = 0.5  # off for words already told that were not asked for, in shares of the question's words
ENOUGH = 0.55  # a further sentence must be worth this share of the best one
NEW_PERSON = 0.4  # what the person most spoken of, not yet named, is worth to a who-question, in shares of its words
SUPPORT = 0.8  # share of the question's words plus cosine that one sentence must reach
COVERED = 0.5  # where no embedder can read the question: share of its words that one passage must hold
NEAR = 0.65  # cosine of a sentence from which words other than the question's are believed to answer it …
NEAR_STATIC = 0.8  # … with static vectors, which are near to each other sooner

_PART = re.compile(
    r"[?？;；]|,?\s+(?:and|or)\s+(?=(?:in\s+|at\s+|to\s+|for\s+|by\s+)?(?:what|who|whom|whose|when|where|which|how|why)\b)",
    re.IGNORECASE,
)
# Words that say that something is asked, not what.
_ASKING = frozenset(["happen", "happens", "happened", "happening", "tell", "describe", "explain", "give", "name", "list", "please", "know", "about"])
_ASKING_ZH = re.compile(
    "请问|告诉|为什么|为何|什么时候|什么|哪里|哪儿|哪位|哪些|哪个|哪一?年|怎么样?|怎样|如何|多少|何时|谁|吗|呢|了|的|是|在|被|有|和|与|把|几"
)
_ASKS_WHO = re.compile(
    r"\b(?:who|whom|whose|which (?:person|people|scientist|man|woman)\w*)\b|谁|哪些人|哪位", re.IGNORECASE
)
_ASKS_NUMBER = re.compile(
    r"\b(?:when|how (?:many|much|old|long|far)|what (?:year|date))\b|何时|什么时候|哪一?年|多少|几", re.IGNORECASE
)
_DIGIT = re.compile(r"\d")
_PARAGRAPH = re.compile(r"(?:(?!\n[^\S\n]*\n).)+", re.DOTALL)


@dataclass(frozen=True, slots=True)
class _Sentence:
    evidence: Evidence
    rank: int
    row: int  # in the index's arrays
    start: int  # in the document
    text: str
    stems: frozenset[str]
    people: frozenset[str]


async def answer(question: str, index: PassageIndex, mode: Mode = "auto") -> Answer:
    """The best sentences of the best passages, in reading order, each followed by its citation [n].

    A question of several parts is searched for as a whole and part by part.
    """
    if mode == "auto" and question.strip():
        mode = await index.mode_for(question)
    parts = [part for piece in _PART.split(question[:LONGEST]) if (part := piece.strip(" ,，。.\n"))][:MOST_PARTS]
    searches = [await index.hits(question, PASSAGES, mode)]
    searches += [await index.hits(part, PASSAGES, "hybrid" if mode == "passages" else mode) for part in parts]
    hits = _interleaved(searches)
    evidence = tuple(index.read(hits))
    language = language_of(question)
    nothing = Answer(NO_EVIDENCE[language], evidence=evidence, mode=mode)
    whole = _weights(index, question)
    sentences = _sentences(index, hits, evidence, whole)
    if not sentences or not whole:
        return nothing
    nearness = await _nearness(index, [question, *parts], sentences)
    if not _supported(question, index, whole, sentences, nearness[0]):
        return nothing
    chosen: list[int] = []
    for number, (part, near) in enumerate(zip(parts, nearness[1:], strict=True), 1):
        limit = len(chosen) + max(1, round((SENTENCES - len(chosen)) / (len(parts) - number + 1)))
        limit = min(SENTENCES, limit + bool(_ASKS_WHO.search(part) and len(parts) > 1))
        chosen = _choose(question, part, _weights(index, part) or whole, sentences, near, chosen, limit)
    return _written(language, evidence, [sentences[at] for at in chosen], mode)


# -- what there is to choose from -----------------------------------------------------------------


def _interleaved(searches: Sequence[Sequence[Hit]]) -> list[Hit]:
    """The first of each, then the second of each, and so on; each chunk once."""
    found: dict[int, Hit] = {}
    for row in zip_longest(*searches):
        for hit in row:
            if hit is not None:
                found.setdefault(hit.chunk, hit)
    return list(found.values())


def _weights(index: PassageIndex, text: str) -> dict[str, float]:
    """The question's stems, each with its inverse document frequency ln(1 + n / (1 + df)); no stop words."""
    terms = [term for term in query_terms(_ASKING_ZH.sub(" ", text)) if term not in _ASKING]
    stems = list(dict.fromkeys(stem for found in index.store.stems([" ".join(terms)]) for stem in found))
    counts = index.store.frequencies(stems)
    total = len(index.passages.chunk_ids)
    return {stem: math.log(1 + total / (1 + counts[stem])) for stem in stems}


def _sentences(
    index: PassageIndex, hits: Sequence[Hit], evidence: Sequence[Evidence], wanted: Mapping[str, float]
) -> list[_Sentence]:
    """The sentences of the passages, headings and fragments left out, each once. A title's words count as said."""
    found: list[tuple[int, int, int, str]] = []
    seen: set[str] = set()
    for rank, (hit, passage) in enumerate(zip(hits, evidence, strict=True)):
        for row in index.sentences(hit.chunk):
            for first, last in _paragraphs(passage.text, *map(int, index.passages.sentence_spans[row])):
                text = passage.text[first:last]
                if _is_sentence(text) and text not in seen:
                    seen.add(text)
                    found.append((rank, row, passage.start + first, text))
    titles = index.store.stems([passage.title for passage in evidence])
    stems = index.store.stems([text for *_, text in found])
    return [
        _Sentence(
            evidence[rank],
            rank,
            row,
            start,
            text,
            frozenset(said) | wanted.keys() & frozenset(titles[rank]),
            index.people_in(text),
        )
        for (rank, row, start, text), said in zip(found, stems, strict=True)
    ]


def _paragraphs(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """A sentence without outer blanks, and apart from a heading that stands before it as a paragraph of its own."""
    spans: list[tuple[int, int]] = []
    for piece in _PARAGRAPH.finditer(text, start, end):
        said = piece.group()
        first, last = piece.start() + len(said) - len(said.lstrip()), piece.start() + len(said.rstrip())
        if first < last:
            spans.append((first, last))
    return spans


def _is_sentence(text: str) -> bool:
    if text.startswith(("#", "|", "[Illustration", "![")):
        return False
    if language_of(text) == "zh":
        return len(text) >= 6
    words = text.split()
    return len(words) >= 4 and any(word[:1].islower() for word in words)


async def _nearness(index: PassageIndex, questions: list[str], sentences: list[_Sentence]) -> Floats:
    """(questions, sentences) cosines; zeros where the embedder can't read the question."""
    if index.embedder is None or blind(index.embedder, questions[0]):
        return np.zeros((len(questions), len(sentences)), np.float32)
    return index.nearness([one.row for one in sentences], await index.embedder.embed(questions))


# -- whether, and which ---------------------------------------------------------------------------


def _share(weights: Mapping[str, float], stems: frozenset[str]) -> float:
    total = sum(weights.values())
    return sum(weight for stem, weight in weights.items() if stem in stems) / total if total else 0.0


def _supported(
    question: str, index: PassageIndex, whole: dict[str, float], sentences: list[_Sentence], near: Floats
) -> bool:
    """Whether the best passages speak of what is asked.

    Rare words weigh most, and a word that stands nowhere weighs more than any. What is asked of a known name must be
    said too, in the question's words or in others: a text on Linus Pauling does not tell which car he drove. The
    thresholds were set on 40 questions that the demo corpus answers and 40 that it does not.
    """
    if any(not count for count in index.store.frequencies(_numbers(index, question)).values()):
        return False
    passages: dict[int, frozenset[str]] = {}
    for one in sentences:
        passages[one.rank] = passages.get(one.rank, frozenset()) | one.stems
    if not near.any():
        return max(_share(whole, stems) for stems in passages.values()) >= COVERED
    names = {stem for found in index.store.stems(index.names_said(question)) for stem in found}
    asked = {stem: weight for stem, weight in whole.items() if stem not in names}
    spoken_of = not asked or any(not stems.isdisjoint(asked) for stems in passages.values())
    static = index.embedder is not None and "wordllama" in index.embedder.name
    if not spoken_of and float(near.max()) < (NEAR_STATIC if static else NEAR):
        return False
    return max(_share(whole, one.stems) + float(near[at]) for at, one in enumerate(sentences)) >= SUPPORT


def _numbers(index: PassageIndex, question: str) -> list[str]:
    """The years and other numbers of a question: a document that answers it holds them."""
    return [stem for found in index.store.stems(re.findall(r"\d{3,}", question)) for stem in found]


def _choose(
    question: str,
    part: str,
    weights: Mapping[str, float],
    sentences: Sequence[_Sentence],
    near: Floats,
    chosen: Sequence[int],
    limit: int,
) -> list[int]:
    """Adds the sentences that serve one part best: words and meaning, new words and people, few repeats."""
    base = np.array([_share(weights, one.stems) + near[at] + 0.15 / (1 + one.rank) for at, one in enumerate(sentences)])
    if _ASKS_NUMBER.search(part):
        base += np.array([0.2 * bool(_DIGIT.search(one.text)) for one in sentences])
    asked = {normalise_name(word) for word in re.findall(r"\w+", question)}
    who = bool(_ASKS_WHO.search(part))
    spoken_of = Counter(name for one in sentences for name in one.people - asked)
    most = max(spoken_of.values(), default=1)
    taken = list(chosen)
    best = -np.inf
    while len(taken) < limit:
        told = frozenset[str]().union(*(sentences[at].stems for at in taken)) - weights.keys()
        named = asked.union(*(sentences[at].people for at in taken))
        gains = base.copy()
        for at, one in enumerate(sentences):
            gains[at] -= REPEAT * _overlap(one.stems - weights.keys(), told)
            if who:
                weights_of_new = sorted((spoken_of[name] for name in one.people - named), reverse=True)
                gains[at] += NEW_PERSON * sum(weights_of_new[:2]) / most
        gains[taken] = -np.inf
        at = int(gains.argmax())
        if gains[at] == -np.inf or gains[at] < ENOUGH * best:
            break
        best = max(best, float(gains[at]))
        taken.append(at)
    return taken


def _overlap(stems: frozenset[str], told: frozenset[str]) -> float:
    return len(stems & told) / max(len(stems), 1)


# -- writing --------------------------------------------------------------------------------------


def _written(language: str, evidence: tuple[Evidence, ...], sentences: list[_Sentence], mode: Mode) -> Answer:
    """Documents in order of their best passage, sentences as they stand in them."""
    first = {one.evidence.document_id: one.rank for one in sorted(sentences, key=lambda one: -one.rank)}
    ordered = sorted(sentences, key=lambda one: (first[one.evidence.document_id], one.evidence.document_id, one.start))
    citations = tuple(
        Citation(
            n,
            one.evidence.document_id,
            one.evidence.title,
            one.evidence.source,
            None,
            one.start,
            one.start + len(one.text),
            one.text,
        )
        for n, one in enumerate(ordered, 1)
    )
    gap = "" if language == "zh" else " "
    text = gap.join(f"{' '.join(citation.quote.split())}{gap}[{citation.n}]" for citation in citations)
    return Answer(text, citations, evidence, mode=mode)
