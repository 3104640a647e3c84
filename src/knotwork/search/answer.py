"""An answer in the documents' own sentences: the few that answer best, each with its place.

Nothing is written that does not stand in a document. When the documents do not speak of what is asked, the answer
says so and cites nothing.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import zip_longest

import numpy as np

from knotwork import chinese
from knotwork.places import Places
from knotwork.search.evidence import Answer, Citation, Evidence
from knotwork.search.linking import asked_for, lone_words
from knotwork.search.passages import Floats, Found, Hit, Mode, PassageIndex, query_terms
from knotwork.text import CJK, cjk_share, language_of, normalise_name, search_terms

FOREIGN = {
    "en": "the documents are in another language; ask in theirs, or index them with an embedder that knows both "
    "(knotwork index --embedder openai:NAME, or Index.open(..., embedder=...))",
    "zh": "文档用的是另一种语言。可以改用文档的语言提问，"
    "或换用多语言向量模型重新建索引（knotwork index --embedder openai:NAME，或 Index.open(..., embedder=...)）。",
}
NO_EVIDENCE = {
    "en": "The documents hold no evidence that answers this question.",
    "zh": "文档中没有能回答这个问题的依据。",
}
PASSAGES = 12  # looked at, for the whole question and for each part
SENTENCES = 6  # in an answer at most
LONGEST = 2_000  # characters of a question that are looked at
MOST_PARTS = 3
SHARE = 0.3  # what holding all words of the question is worth, in cosine
LEAD = 0.05  # … a name that the search went by
NUMBER = 0.1  # … a number, where one is asked for
ORDINAL = 0.15  # … each first, second or last, where an order is asked for
DEFINITION = 0.3  # … "X is a …", where only a name is asked about
PERSON = 0.25  # … a person not yet named, where one is asked for
PERSONS = 0.5  # … where several are
REPEAT = 0.3  # what repeating only words already told costs
ENOUGH = 0.5  # a further sentence must be worth this share of the best one …
MORE = 0.2  # … and this much more where one sentence says all that is asked
DIRECT = 0.6  # share of the question's words in one sentence from which it needs no second hop
SUPPORT = 1.2  # 0.75 (share of the words in the five best passages + in one) + cosine that it takes to answer
COVERED = 0.45  # where no embedder can read the question: share of its words that one passage must hold
NEAR = 0.65  # cosine of a sentence from which words other than the question's are believed to answer it …
NEAR_STATIC = 0.8  # … with static vectors, which are near to each other sooner
STEM = 0.8  # share of a stem's letters that make it another's kin: supervisor, supervis(ion)

_PART = re.compile(
    r"[?？;；]|,?\s+(?:and|or)\s+(?=(?:in\s+|at\s+|to\s+|for\s+|by\s+)?(?:what|who|whom|whose|when|where|which|how|why)\b)",
    re.I,
)
# Words that say that something is asked, not what.
_ASKING = frozenset(
    re.findall(
        r"\w+",
        """
        happen happens happened happening tell describe explain give name list please know about order sequence
        """,
    )
)
_ASKS_WHO = re.compile(r"\b(?:who|whom|whose|which (?:person|people|scientist|man|woman)\w*)\b|谁|哪些人|哪位", re.I)
_ASKS_MANY = re.compile(
    r"\b(?:who|whom) (?:were|are)\b|\bwhich \w+s\b|\w(?:ors|ers|ists|people|men|women)\b|哪些人|哪些|谁", re.I
)
_ASKS_NUMBER = re.compile(
    r"\b(?:when|how (?:many|much|old|long|far)|what (?:year|date))\b|何时|什么时候|哪一?年|多少|几", re.I
)
_ASKS_ORDER = re.compile(r"\b(?:order|sequence|one after (?:the other|another))\b|顺序|先后|次序", re.I)
_ORDINAL = re.compile(r"\b(?:first|second|third|fourth|fifth|last|finally|next)\b|第[一二三四五]|首先|最后", re.I)
_IS = re.compile(r"(?:the |an? )?(.{2,60}?) (?:is|was|are|were) |(.{2,30}?)(?:是|为)", re.I)
_DIGIT = re.compile(r"\d")
_WORD = re.compile(r"\w+")
_CJK_RUN = re.compile(f"[{CJK}]+")
_PARAGRAPH = re.compile(r"(?:(?!\n[^\S\n]*\n).)+", re.DOTALL)


@dataclass(frozen=True, slots=True, eq=False)
class _Part:
    """A question, or a part of one, and what a search for it found."""

    text: str
    weights: dict[str, float]  # its stems, by how rare they are
    found: Found


@dataclass(frozen=True, slots=True)
class _Sentence:
    evidence: Evidence
    rank: int
    row: int  # in the index's arrays
    start: int  # in the document
    text: str
    stems: frozenset[str]
    names: frozenset[int]
    people: frozenset[str]


async def answer(question: str, index: PassageIndex, mode: Mode = "auto") -> Answer:
    """The best sentences of the best passages, in reading order, each followed by its citation [n].

    A question of several parts is searched for as a whole and part by part.
    """
    question = question[:LONGEST]
    if mode == "auto":
        mode = await index.mode_for(question)
    whole = await _part(question, index, mode)
    parts = await _parts(whole, index, mode)
    hits = _interleaved([part.found.hits for part in dict.fromkeys([whole, *parts])])
    evidence = tuple(index.read(hits))
    language = language_of(question)
    sentences = _sentences(index, hits, evidence)
    if not sentences or not whole.weights or not _supported(whole, index, evidence, sentences):
        return Answer(NO_EVIDENCE[language], evidence=evidence, mode=mode, hint=_hint(language, index))
    chosen: list[int] = []
    rooms = [2 if _asks_many(part.text) else 1 for part in parts]
    for number, part in enumerate(parts):
        room = math.ceil((SENTENCES - len(chosen)) * rooms[number] / sum(rooms[number:]))
        chosen += _choose(question, part, index, sentences, chosen, room)
    written = _written(evidence, [sentences[at] for at in chosen], mode, index)
    return replace(written, hint=_hint(language, index))


def _hint(language: str, index: PassageIndex) -> str:
    """What would help where question and documents differ in language and the embedder knows only one of the two."""
    foreign = index.languages - {language}
    if language in index.languages or not foreign or index.reads(language) == all(map(index.reads, foreign)):
        return ""
    return FOREIGN[language]


async def _part(text: str, index: PassageIndex, mode: Mode) -> _Part:
    return _Part(text, _weights(index, text), await index.explore(text, PASSAGES, mode))


async def _parts(whole: _Part, index: PassageIndex, mode: Mode) -> list[_Part]:
    """The parts of a compound question that say enough to be asked alone; else the whole."""
    pieces = [piece.strip(" ,，。.\n") for piece in _PART.split(whole.text)]
    telling = [piece for piece in pieces if len(_weights(index, piece)) >= 2][:MOST_PARTS]
    if len(telling) < 2:
        return [whole]
    # The names that lead on stand in the whole question; a part is asked for what it says.
    return [await _part(piece, index, "hybrid" if mode == "passages" else mode) for piece in telling]


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
    """The question's stems, each with its inverse document frequency ln(1 + n / (1 + df)); no stop words.

    A Chinese word is searched by its pairs of characters, which share its weight.
    """
    terms = [term for term in query_terms(text) if term not in _ASKING]
    stems = list(dict.fromkeys(stem for found in index.store.stems([" ".join(terms)]) for stem in found))
    counts = index.store.frequencies(stems)
    total = len(index.passages.chunk_ids)
    shares = _shares(text, counts)
    if "zh" not in index.languages:  # then no Chinese word stands anywhere, and says nothing by that
        stems = [stem for stem in stems if not cjk_share(stem)] or stems
    weights = {stem: shares.get(stem, 1.0) * math.log(1 + total / (1 + counts[stem])) for stem in stems}
    return {stem: weight for stem, weight in weights.items() if weight}


def _shares(text: str, counts: Mapping[str, int]) -> dict[str, float]:
    """What part of a word each pair of Chinese characters of a question is; 0 for one that lies between two words.

    Where jieba doesn't tell, a run of characters may hold several words, of two as a rule; and a pair that stands
    nowhere, beside one that does, is taken for the end of a word and the beginning of the next.
    """
    shares: dict[str, float] = {}
    for run in _CJK_RUN.findall(asked_for(text)):
        pairs = search_terms(run)
        known = [False, *(counts.get(pair, 0) > 0 for pair in pairs), False]
        told = chinese.available()
        share = min((1 if told else len(run) / 2) / len(pairs), 1.0)
        for at, pair in enumerate(pairs, 1):
            between = not told and not known[at] and (known[at - 1] or known[at + 1])
            shares[pair] = 0.0 if between else share
    return shares


def _sentences(index: PassageIndex, hits: Sequence[Hit], evidence: Sequence[Evidence]) -> list[_Sentence]:
    """The sentences of the passages, headings and fragments left out, each once."""
    found: dict[str, tuple[int, int, int]] = {}
    for rank, (hit, passage) in enumerate(zip(hits, evidence, strict=True)):
        for row in index.sentences(hit.chunk):
            for first, last in _paragraphs(passage.text, *map(int, index.passages.sentence_spans[row])):
                text = passage.text[first:last]
                if _is_sentence(text):
                    found.setdefault(text, (rank, row, passage.start + first))
    names = [index.names_in(row) for _, row, _ in found.values()]
    surnames = {_surname(name) for said in names for _, name, kind in said if _is_person(name, kind)}
    return [
        _Sentence(
            evidence=evidence[rank],
            rank=rank,
            row=row,
            start=start,
            text=text,
            stems=frozenset(stems),
            names=frozenset(number for number, _, _ in said),
            people=_people(text, surnames),
        )
        for (text, (rank, row, start)), stems, said in zip(
            found.items(), index.store.stems(list(found)), names, strict=True
        )
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


def _is_person(name: str, kind: str) -> bool:
    """A name of two words or more whose kind is not known counts as a person's."""
    return not _DIGIT.search(name) and (kind == "person" or (not kind and bool(re.search(r"\w[ ·•]\w", name))))


def _surname(name: str) -> str:
    """The last word of a name: "Watson" and "James Watson" are one."""
    return re.split(r"[ ·•]", normalise_name(name))[-1]


def _people(text: str, surnames: Iterable[str]) -> frozenset[str]:
    said = {normalise_name(word) for word in _WORD.findall(text)}
    return frozenset(name for name in surnames if name in said or (cjk_share(name) and name in text))


# -- whether, and which ---------------------------------------------------------------------------


def _share(weights: Mapping[str, float], stems: frozenset[str]) -> float:
    total = sum(weights.values())
    return sum(weight for stem, weight in weights.items() if stem in stems) / total if total else 0.0


def _supported(whole: _Part, index: PassageIndex, evidence: Sequence[Evidence], sentences: Sequence[_Sentence]) -> bool:
    """Whether the best passages speak of what is asked.

    Rare words weigh most, and a word that stands nowhere weighs more than any. What is asked of a known name must be
    said too, in the question's words or in others: a text on Linus Pauling does not tell which car he drove. The
    weights are a logistic regression's over questions put to the corpus they were written for and to another.
    """
    if not all(index.store.frequencies(_numbers(index, whole.text)).values()):
        return False
    titles = index.store.stems([item.title for item in evidence])
    texts = index.store.stems([item.text for item in evidence])
    said = [frozenset([*title, *text]) for title, text in zip(titles, texts, strict=True)]
    first = frozenset[str]().union(*said[:5])
    weights = _kindred(whole.weights, frozenset[str]().union(*said))
    best = max(_share(weights, stems) for stems in said)
    named = {stem for found in index.store.stems(index.names_said(whole.text)) for stem in found}
    asked = {stem: weight for stem, weight in weights.items() if stem not in named}
    if not len(whole.found.question):
        lone = () if asked else lone_words(whole.text)  # all that it says of its names
        return best >= COVERED and all(any(word in item.text for item in evidence) for word in lone)
    near = float(index.nearness([one.row for one in sentences], whole.found.question).max())
    static = index.embedder is not None and "wordllama" in index.embedder.name
    if asked and not any(_share(asked, stems) for stems in said) and near < (NEAR_STATIC if static else NEAR):
        return False
    return 0.75 * (_share(weights, first) + best) + near >= SUPPORT


def _kindred(weights: Mapping[str, float], said: frozenset[str]) -> dict[str, float]:
    """The weights, those of stems that are not said given to their kin that are: supervisor to supervis(ion)."""
    found: dict[str, float] = {}
    for stem, weight in weights.items():
        kin = stem
        if stem not in said and len(stem) >= 6:
            start = stem[: max(6, math.ceil(STEM * len(stem)))]
            kin = min((other for other in said if other.startswith(start)), default=stem)
        found[kin] = max(found.get(kin, 0.0), weight)
    return found


def _numbers(index: PassageIndex, question: str) -> list[str]:
    """The years and other numbers of a question: documents that answer it hold them."""
    return [stem for found in index.store.stems(re.findall(r"\d{3,}", question)) for stem in found]


def _choose(
    question: str,
    part: _Part,
    index: PassageIndex,
    sentences: Sequence[_Sentence],
    chosen: Sequence[int],
    room: int,
) -> list[int]:
    """The sentences that serve one part best, `room` at most: near to it, then new words and persons, few repeats."""
    weights = _kindred(part.weights, frozenset[str]().union(*(one.stems for one in sentences)))
    base = _worth(part, weights, index, sentences)
    shares = np.array([_share(weights, one.stems) for one in sentences])
    person = PERSONS if _asks_many(part.text) else PERSON if _ASKS_WHO.search(part.text) else 0.0
    known = _people(question, frozenset[str]().union(*(one.people for one in sentences)))
    said = Counter(name for one in sentences for name in one.people - known)
    enough, best = ENOUGH + MORE * float(shares.max()), float(base.max())
    taken: list[int] = []
    while len(taken) < room:
        told = frozenset[str]().union(*(sentences[at].stems for at in (*chosen, *taken)))
        named = known.union(*(sentences[at].people for at in (*chosen, *taken)))
        gains = base.copy()
        for at, one in enumerate(sentences):
            gains[at] -= REPEAT * len(one.stems & told) / max(len(one.stems), 1)
            new = sum(said[name] for name in one.people - named) / max(said.values(), default=1)
            gains[at] += person * shares[at] * min(new, 1.0)
        gains[[*chosen, *taken]] = -np.inf
        at = int(gains.argmax())
        if gains[at] < enough * best:
            break
        taken.append(at)
    return taken


def _asks_many(text: str) -> bool:
    return bool(_ASKS_WHO.search(text) and _ASKS_MANY.search(text))


def _worth(part: _Part, weights: Mapping[str, float], index: PassageIndex, sentences: Sequence[_Sentence]) -> Floats:
    """What each sentence is worth by itself, in cosine."""
    rows = [one.row for one in sentences]
    shares = [_share(weights, one.stems) for one in sentences]
    near = np.array(shares, np.float32)  # where no embedder can read the question
    if len(part.found.question):
        # Where one sentence says all that is asked, what the second-round questions ask leads away.
        onward = index.nearness(rows, part.found.asked).max(axis=0) - max(0.0, max(shares) - DIRECT)
        near = np.maximum(index.nearness(rows, part.found.question)[0] - 0.05, onward)
    named = {stem for found in index.store.stems(index.names_said(part.text)) for stem in found}
    defines = named >= weights.keys()
    number, order = bool(_ASKS_NUMBER.search(part.text)), bool(_ASKS_ORDER.search(part.text))
    worth = near + SHARE * np.array(shares, np.float32)
    for at, one in enumerate(sentences):
        worth[at] += LEAD * len(one.names & part.found.leads)
        worth[at] += NUMBER * (number and bool(_DIGIT.search(one.text)))
        worth[at] += ORDINAL * order * len(set(_ORDINAL.findall(one.text.lower())))
        subject = _IS.match(one.text)
        if defines and subject is not None:
            words = frozenset(index.store.stems([subject[1] or subject[2]])[0])
            worth[at] += DEFINITION * (bool(words) and words <= named)
    return worth


# -- writing --------------------------------------------------------------------------------------


def _written(evidence: tuple[Evidence, ...], sentences: list[_Sentence], mode: Mode, index: PassageIndex) -> Answer:
    """Documents in order of their best passage, sentences as they stand in them."""
    found = index.places(one.evidence.document_id for one in sentences)
    places = {one.evidence.document_id: found.get(one.evidence.document_id, Places()) for one in sentences}
    first = {one.evidence.document_id: one.rank for one in sorted(sentences, key=lambda one: -one.rank)}
    ordered = sorted(sentences, key=lambda one: (first[one.evidence.document_id], one.evidence.document_id, one.start))
    citations = tuple(
        Citation(
            n=n,
            document_id=one.evidence.document_id,
            title=one.evidence.title,
            source=one.evidence.source,
            page=places[one.evidence.document_id].page(one.start),
            start=one.start,
            end=one.start + len(one.text),
            quote=one.text,
            headings=places[one.evidence.document_id].headings(one.start, one.start + len(one.text)),
        )
        for n, one in enumerate(ordered, 1)
    )
    gaps = ["" if language_of(citation.quote) == "zh" else " " for citation in citations]
    said = [f"{' '.join(one.quote.split())}{gap}[{one.n}]{gap}" for one, gap in zip(citations, gaps, strict=True)]
    text = "".join(said).rstrip()
    return Answer(text, citations, evidence, mode=mode)
