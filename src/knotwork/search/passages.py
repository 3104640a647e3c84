"""Search without a model: bridges and personalised PageRank over passages and names; BM25, vectors, and their fusion.

Nothing here is trained and nothing costs tokens. `PassageIndex` holds an index in memory; its arrays are never
written to after construction, so that threads may share it.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import PurePath
from typing import Literal

import numpy as np
import numpy.typing as npt

from knotwork.errors import InputError
from knotwork.gazetteer import STOP_WORDS
from knotwork.places import Places
from knotwork.protocols import DocumentRecord, Embedder, Passages, Store, Vectors, knows
from knotwork.search.evidence import Evidence
from knotwork.search.linking import QUESTION_WORDS, Link, Linker, asked_for
from knotwork.search.sparse import Rows, by_row
from knotwork.text import CJK, language_of, normalise_name, search_terms

Mode = Literal["auto", "passages", "hybrid", "dense", "bm25"]
Floats = npt.NDArray[np.float32]
Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
Vectors8 = npt.NDArray[np.int8]

_PARENTHESIS = re.compile(r"\s*[(（][^)）]*[)）]$")
_CALENDAR = frozenset(
    re.findall(
        r"\w+",
        """
        january february march april may june july august september october november december monday tuesday wednesday
        thursday friday saturday sunday today yesterday tomorrow year years month months week weeks day days century
        decade season s st nd rd th the of in early late mid ad bc bce ce last next first second third fourth fifth
        """,
    )
)
_DATE_NUMBER = re.compile(r"\d{1,2}|1\d\d\d|20\d\d|\d+s")
_DATE_PART = re.compile(r"[a-z]+|\d+")
_CJK_DATE = re.compile(r"[\d〇零一二三四五六七八九十百]+(?:年|月|日|世纪|年代)")
_CJK = re.compile(f"[{CJK}]")
_COMMONEST = {
    "en": ["the", "of", "and", "to", "in"],
    "zh": [
        "一个",
        "可以",
        "进行",
        "我们",
        "中国",
        "自己",
        "没有",
        "公司",
        "工作",
        "他们",
        "成为",
        "开始",
        "这个",
        "时间",
        "年的",
    ],
}
_LONGEST_QUESTION = 2_000  # characters; the rest of a longer one is not read
_MOST_TERMS = 100  # of a question, for full text


@dataclass(frozen=True, slots=True)
class PassageParameters:
    """The settings of the search; the defaults are one frozen setting measured on two multi-hop sets."""

    title_weight: float = 12.0  # of a title's name in its own passages, against 1 for a name said once
    most_passages: float = 0.2  # a name in a larger share of the passages is dropped …
    least_dropped: int = 20  # … unless it is in no more passages than this
    similarity: float = 0.75  # Dice of 3-grams from which a name of the question counts as a known one
    uncased_weight: float = 0.7  # of a name that the question writes without capitals
    least_named: float = 0.07  # of the passages with such a name's words, the share that must hold it as a name
    seed_sentences: int = 3  # nearest sentences looked at per seed
    bridges_per_seed: int = 6
    bridges: int = 16
    bridge_weight: float = 0.7
    second_questions: int = 8
    prior_weight: float = 0.15  # of a passage's own nearness to the question, against 1 for a rare name in it …
    peak_weight: float = 0.5  # … and of all passages together, shared out by softmax
    peak_words: float = 0.25  # part of full text in that softmax; 1 where the question names nothing known
    damping: float = 0.5
    iterations: int = 8
    deep: int = 20  # passages among which the first are chosen for coverage
    seed_bonus: float = 1.0  # of a seed not yet covered, in standard deviations of the log score
    bridge_bonus: float = 0.5
    dense_weight: float = 1.5  # of vectors in the fusion, against 1 for full text
    matches: int = 1_000  # chunks that full text hands over
    short_document: int = 5  # chunks up to which "auto" trusts the graph


@dataclass(frozen=True, slots=True)
class Hit:
    """A chunk by its number, its score, and in words how it was found."""

    chunk: int
    score: float
    why: str


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """What a search found, and what it asked on the way.

    question: (1, d) its unit vector, (0, d) where no embedder can read it; asked: (q, d) those of the second-round
    questions, or again the question's when there are none; leads: the names the question says or its bridges reach.
    """

    hits: list[Hit]
    question: Vectors
    asked: Vectors
    leads: frozenset[int] = frozenset()


# -- the graph ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PassageGraph:
    """Names and passages as sparse matrices: n passages, m names, s sentences.

    Entities that share a normalised name are one name here, whatever their types.
    """

    names: list[str]
    keys: dict[str, int]  # normalised names and aliases -> name; -1 for one that is in too many passages
    dates: npt.NDArray[np.bool_]  # (m,) whether a name is a date
    frequency: npt.NDArray[np.int64]  # (m,) passages that hold it
    idf: Floats  # (m,) ln(1 + n / frequency)
    own: npt.NDArray[np.int64]  # (n,) the name that a passage is about, -1 for none
    short: Flags  # (n,) whether the passage's document is short
    passage_names: Rows  # (n, m)
    name_passages: Rows  # (m, n)
    sentence_names: Rows  # (s, m) of ones
    name_sentences: Rows  # (m, s)
    passage_weight: Floats  # (n,) sums of the edges
    name_weight: Floats  # (m,)


def build_graph(
    passages: Passages, sources: Mapping[str, str] | None = None, parameters: PassageParameters = PassageParameters()
) -> PassageGraph:
    """The graph of an index. `sources` (of documents, by id) tell a title that is only a file's name."""
    n, s = len(passages.chunk_ids), len(passages.sentence_chunks)
    keys, names, entities, dates = _vocabulary(passages)
    own = _own_names(passages, sources or {}, keys, names, entities)
    mentioned, chunks = entities[passages.mention_entities], passages.mention_chunks.astype(np.int64)
    sentences = _sentence_of(passages, chunks, passages.mention_starts)

    documents = _numbered(passages.document_ids)
    short = (np.bincount(documents, minlength=1)[documents] <= parameters.short_document) if n else np.zeros(0, bool)
    frequency = _frequency(len(names), documents, own, mentioned, chunks)
    kept = (frequency > 0) & (frequency <= max(parameters.most_passages * n, parameters.least_dropped))
    number = np.append(np.where(kept, np.cumsum(kept) - 1, -1), -1)  # old -> new; the last stays "none"
    own, mentioned, m = number[own], number[mentioned], int(kept.sum())
    idf = np.log(1 + n / frequency[kept]).astype(np.float32)

    row, column, count = _counted([np.arange(n), chunks], [own, mentioned])
    weight = 1 + np.log(count) + (parameters.title_weight - 1) * (short[row] & (own[row] == column))
    edges = (weight * idf[column]).astype(np.float32)
    passage_names, name_passages = by_row(row, column, edges, n), by_row(column, row, edges, m)
    # Every sentence of a short document is about what its title names; those of a book are about many things.
    about = np.where(short, own, -1)[passages.sentence_chunks]
    said = np.where(sentences >= 0, mentioned, -1)
    row, column, _ = _counted([np.arange(s), sentences], [about, said])
    ones = np.ones(len(row), np.float32)
    kept_names = [name for name, keep in zip(names, kept, strict=True) if keep]
    return PassageGraph(
        names=kept_names,
        keys={key: int(number[name]) for key, name in keys.items()},
        dates=np.array([is_date(normalise_name(name)) for name in kept_names], bool)
        | np.isin(np.flatnonzero(kept), dates),
        frequency=frequency[kept],
        idf=idf,
        own=own,
        short=short,
        passage_names=passage_names,
        name_passages=name_passages,
        sentence_names=by_row(row, column, ones, s),
        name_sentences=by_row(column, row, ones, m),
        passage_weight=np.maximum(passage_names.sums(), 1e-9),
        name_weight=np.maximum(name_passages.sums(), 1e-9),
    )


def is_date(name: str) -> bool:
    """Whether a normalised name is a date or a span of time, every word of it."""
    if _CJK.search(name):
        return _CJK_DATE.sub("", name) == ""
    parts = _DATE_PART.findall(name)
    return bool(parts) and all(part in _CALENDAR or _DATE_NUMBER.fullmatch(part) for part in parts)


def _is_name(key: str) -> bool:
    return (len(key) >= 3 and key not in STOP_WORDS) or (len(key) == 2 and bool(_CJK.search(key)))


def _vocabulary(passages: Passages) -> tuple[dict[str, int], list[str], Integers, list[int]]:
    """Normalised names to numbers, the names, each entity's number (-1: none), and the numbers that are dates."""
    keys: dict[str, int] = {}
    names: list[str] = []
    dates: list[int] = []
    entities = np.full(len(passages.entity_ids), -1, np.int64)
    for entity, (name, kind) in enumerate(zip(passages.entity_names, passages.entity_types, strict=True)):
        key = normalise_name(name)
        if not _is_name(key) or not (_CJK.search(name) or any(c.isupper() or c.isdigit() for c in name)):
            continue
        if key not in keys:
            keys[key] = len(names)
            names.append(name)
        entities[entity] = keys[key]
        if kind.lower() in ("date", "time"):
            dates.append(keys[key])
    for entity, aliases in enumerate(passages.entity_aliases):
        for key in map(normalise_name, aliases):
            if entities[entity] >= 0 and _is_name(key):
                keys.setdefault(key, int(entities[entity]))
    return keys, names, entities, dates


def _own_names(
    passages: Passages, sources: Mapping[str, str], keys: dict[str, int], names: list[str], entities: Integers
) -> Integers:
    """The name each passage is about: its document's title; without one its heading, else its first name; else -1.

    Titles and headings that are no known names yet are added to `keys` and `names`.
    """
    own = np.full(len(passages.chunk_ids), -1, np.int64)
    for chunk, document in enumerate(passages.document_ids):
        title = passages.titles[chunk]
        named = title and title != PurePath(sources.get(document, "")).stem
        label = _PARENTHESIS.sub("", title if named else passages.headings[chunk])
        key = normalise_name(label)
        if _is_name(key):
            if key not in keys:
                keys[key] = len(names)
                names.append(label)
            own[chunk] = keys[key]
    order = np.lexsort((passages.mention_starts, passages.mention_chunks))[::-1]
    named_mentions = order[entities[passages.mention_entities[order]] >= 0]
    first = np.full(len(own), -1, np.int64)
    first[passages.mention_chunks[named_mentions]] = entities[passages.mention_entities[named_mentions]]
    return np.where(own < 0, first, own)


def _numbered(labels: Sequence[str]) -> Integers:
    """Equal labels to equal numbers, from 0."""
    numbers: dict[str, int] = {}
    return np.array([numbers.setdefault(label, len(numbers)) for label in labels], np.int64)


def _counted(rows: list[Integers], columns: list[Integers]) -> tuple[Integers, Integers, Integers]:
    """The distinct (row, column) pairs with how often each stands there; a column of -1 is left out."""
    row, column = np.concatenate(rows), np.concatenate(columns)
    row, column = row[column >= 0], column[column >= 0]
    width = int(column.max(initial=0)) + 1
    pair, count = np.unique(row * width + column, return_counts=True)
    return pair // width, pair % width, count


def _sentence_of(passages: Passages, chunks: Integers, starts: npt.NDArray[np.int32]) -> Integers:
    """The sentence that holds each mention; -1 for a mention without a place (its start is -1)."""
    wide = np.int64(1) << 32
    sentence_starts = passages.sentence_chunks * wide + passages.sentence_spans[:, 0]
    at = np.searchsorted(sentence_starts, chunks * wide + starts, side="right") - 1
    return np.where((at >= 0) & (np.append(passages.sentence_chunks, -1)[at] == chunks), at, -1)


def _frequency(names: int, documents: Integers, own: Integers, mentioned: Integers, chunks: Integers) -> Integers:
    """In how many passages each name stands.

    The name a document is about counts once for the whole of it where its text never says it, so that a long
    document does not make its own name common.
    """
    chunk, name, _ = _counted([chunks], [mentioned])
    elsewhere = np.bincount(name[own[chunk] != name], minlength=names)
    inside = own[chunk] == name
    _, _, said = _counted([documents, documents[chunk[inside]]], [own, name[inside]])
    _, title, passages = _counted([documents], [own])  # the same pairs in the same order
    at_home = np.bincount(title, weights=np.maximum(said - passages, 1), minlength=names)
    return elsewhere + at_home.astype(np.int64)


# -- from names to passages -----------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Bridges:
    """Names that sentences about a seed lead to, heaviest first, each with its weight."""

    near: dict[int, float]  # all of them
    onward: dict[int, float]  # those that stand in other passages too
    seed: dict[int, int]  # the seed each was first reached from


def find_bridges(
    graph: PassageGraph, sentences: Vectors8, question: Floats, seeds: Sequence[int], parameters: PassageParameters
) -> Bridges:
    """The names said in the sentences of each seed that are nearest to the question, weighted by cosine.

    Dates lead nowhere. A name that stands in one passage only carries no mass onward.
    """
    near: dict[int, float] = {}
    onward: dict[int, float] = {}
    origin: dict[int, int] = {}
    for seed in seeds:
        reached: dict[int, float] = {}
        rows = graph.name_sentences.row(seed)
        cosines = _cosines(sentences[rows], question)
        for best in np.argsort(-cosines, kind="stable")[: parameters.seed_sentences]:
            if cosines[best] <= 0:
                break
            for name in graph.sentence_names.row(rows[best]):
                if name not in seeds and not graph.dates[name]:
                    reached[name] = reached.get(name, 0.0) + float(cosines[best])
                    origin.setdefault(name, seed)
        for name, weight in _heaviest(reached, parameters.bridges_per_seed).items():
            near[name] = near.get(name, 0.0) + weight
        reached = {name: weight for name, weight in reached.items() if graph.frequency[name] > 1}
        for name, weight in _heaviest(reached, parameters.bridges_per_seed).items():
            onward[name] = onward.get(name, 0.0) + weight
    return Bridges(_heaviest(near, parameters.bridges), _heaviest(onward, parameters.bridges), origin)


def second_questions(
    question: str, links: Sequence[Link], bridges: Bridges, names: Sequence[str], most: int
) -> list[str]:
    """The question with a seed's name replaced by that of a bridge, for the `most` heaviest bridges."""
    asked = []
    for name in list(bridges.near)[:most]:
        link = next(link for link in links if link.entity == bridges.seed[name])
        asked.append(f"{question[: link.start]}{names[name]}{question[link.end :]}")
    return asked


def prior_of(
    cosines: Floats, words: Floats, named: bool, parameters: PassageParameters, readable: Flags | None = None
) -> Floats:
    """What speaks for each passage before any name does: its nearness, evenly, and a peak on the few best.

    The peak is softmax(w z(full text) + d z(cosine)). Without it the mass that a hundred middling passages hold
    together would drown the best one; with it alone the second hop would find nothing. A question that names
    nothing known has the peak alone, and the graph carries it to passages that share names with the best. Passages
    that are not `readable` for the embedder are as near as the average.
    """
    if readable is not None and readable.any():
        cosines = np.where(readable, cosines, cosines[readable].mean())
    words = np.where(np.isfinite(words), words, np.float32(0))
    share = parameters.peak_words if named else 1.0
    peak = share * standardised(words) + parameters.dense_weight * standardised(cosines, readable)
    peak = np.exp(peak - peak.max()).astype(np.float32)
    peak *= parameters.peak_weight / float(peak.sum())
    if not named:
        return np.asarray(peak, np.float32)
    spread = (cosines - cosines.min()) / max(float(cosines.max() - cosines.min()), 1e-9)
    return np.asarray(parameters.prior_weight * spread + peak, np.float32)


def page_rank(graph: PassageGraph, prior: Floats, mass: Floats, parameters: PassageParameters) -> Floats:
    """Personalised PageRank of the passages (Haveliwala 2002): x <- d W x + (1 - d) r, on a bipartite graph.

    The reset r is `prior` (n,) over passages with `mass` (m,) over names; W spreads a node's score over its
    edges by their weights.
    """
    total = max(float(prior.sum() + mass.sum()), 1e-9)
    prior, mass = prior / total, mass / total
    d, passages, names = parameters.damping, prior, mass
    for _ in range(parameters.iterations):
        passages, names = (
            d * (graph.passage_names.times(names / graph.name_weight)) + (1 - d) * prior,
            d * (graph.name_passages.times(passages / graph.passage_weight)) + (1 - d) * mass,
        )
    return passages


def choose(
    graph: PassageGraph, scores: Floats, seeds: Sequence[int], bridges: Bridges, k: int, parameters: PassageParameters
) -> list[int]:
    """The k passages of highest score, the first of them chosen so that every seed is covered.

    Greedy over the `deep` best: the log of the score, plus a bonus for each seed not covered yet (by the passage
    about it; where there is none, by one that says it), plus one for a seed whose bridges have no passage yet.
    """
    ranked = [int(i) for i in np.argsort(-scores, kind="stable")[: max(k, parameters.deep)] if scores[i] > -np.inf]
    if not ranked:
        return []
    log = np.log(np.maximum(scores[ranked], 1e-12) / max(float(scores[ranked[0]]), 1e-12))
    deep = min(parameters.deep, len(ranked))
    spread = float(log[:deep].std()) + 1e-9
    wanted = [seed for seed in seeds if not graph.dates[seed]]
    homes = {seed for seed in wanted if (graph.own == seed).any()}
    covers = []
    for passage in ranked[:deep]:
        said = set(graph.passage_names.row(passage).tolist())
        covers.append({s for s in wanted if graph.own[passage] == s or (s not in homes and s in said)})
    bridged = [
        bridges.seed[own] if (own := int(graph.own[passage])) in bridges.onward else None for passage in ranked[:deep]
    ]

    left, chosen = list(range(deep)), list[int]()
    seen: set[int] = set()
    crossed: set[int | None] = {None}
    while left and len(chosen) < k:
        new_seeds = [len(covers[i] - seen) for i in left]
        new_bridges = [bridged[i] not in crossed for i in left]
        bonus = parameters.seed_bonus * np.array(new_seeds) + parameters.bridge_bonus * np.array(new_bridges)
        best = left.pop(int((log[left] + spread * bonus).argmax()))
        chosen.append(best)
        seen |= covers[best]
        crossed.add(bridged[best])
    return [ranked[i] for i in [*chosen, *left, *range(deep, len(ranked))]][:k]


def _heaviest(weights: dict[int, float], most: int) -> dict[int, float]:
    return dict(sorted(weights.items(), key=lambda item: -item[1])[:most])


def _cosines(rows: Vectors8, question: Floats) -> Floats:
    """Of int8 rows (127 times a unit vector, rounded) with a unit vector."""
    wide = rows.astype(np.float32)
    return np.asarray((wide @ question) / np.maximum(np.linalg.norm(wide, axis=1), 1e-9), np.float32)


def standardised(scores: Floats, among: Flags | None = None) -> Floats:
    """z-scores over all, or over those among which they mean something: the others get 0."""
    if among is not None and not among.all():
        found = np.zeros_like(scores)
        found[among] = standardised(scores[among]) if among.any() else 0
        return found
    deviation = float(scores.std())
    return (scores - scores.mean()) / deviation if deviation > 0 else np.zeros_like(scores)


# -- search ---------------------------------------------------------------------------------------


class PassageIndex:
    """An index in memory, ready for questions."""

    def __init__(
        self, store: Store, embedder: Embedder | None = None, parameters: PassageParameters = PassageParameters()
    ) -> None:
        self.store = store
        self.parameters = parameters
        self.passages = store.passages()
        self.embedder = embedder if embedder is not None and self.passages.vectors.shape[1] else None
        self.records: dict[str, DocumentRecord] = {record.id: record for record in store.records()}
        self.graph = build_graph(self.passages, {id: record.source for id, record in self.records.items()}, parameters)
        self._linker = Linker(self.graph.keys)
        self._readable: Flags = np.any(self.passages.vectors, axis=1)  # in a language it knows
        self._number = {id: number for number, id in enumerate(self.passages.chunk_ids)}
        self._types = dict(zip(self.passages.entity_names, self.passages.entity_types, strict=True))

    async def search(
        self, question: str, k: int = 10, mode: Mode = "passages", documents: Collection[str] | None = None
    ) -> list[Evidence]:
        """The k chunks that bear on a question, best first, each once; of `documents` (ids) only, when given.

        Raises InputError for a mode or a k that is none.
        """
        return self.read(await self.hits(question, k, mode, documents))

    def read(self, hits: Sequence[Hit]) -> list[Evidence]:
        """The hits with their texts and places."""
        texts = self.store.chunk_texts([self.passages.chunk_ids[hit.chunk] for hit in hits])
        places = self.places(self.passages.document_ids[hit.chunk] for hit in hits)
        return [self._evidence(hit, text, places) for hit, text in zip(hits, texts, strict=True)]

    def places(self, documents: Iterable[str]) -> dict[str, Places]:
        """The pages and headings of documents, by id."""
        known = [id for id in dict.fromkeys(documents) if id in self.records]
        found = zip(known, self.store.metadata(known), strict=True)
        return {id: Places.of(metadata, self.records[id].title) for id, metadata in found}

    def sentences(self, chunk: int) -> range:
        """The rows of a chunk's sentences in the index's arrays."""
        first, last = np.searchsorted(self.passages.sentence_chunks, [chunk, chunk + 1])
        return range(int(first), int(last))

    def nearness(self, rows: Sequence[int], questions: Vectors) -> Floats:
        """(questions, rows) cosines of sentences, each read with its title when it was indexed, to unit vectors."""
        vectors = self.passages.sentence_vectors[np.asarray(rows, np.int64)].astype(np.float32)
        vectors /= np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1e-9)
        return np.asarray(questions @ vectors.T, np.float32)

    async def hits(
        self, question: str, k: int = 10, mode: Mode = "passages", documents: Collection[str] | None = None
    ) -> list[Hit]:
        """As `search`, without the texts."""
        return (await self.explore(question, k, mode, documents)).hits

    async def explore(
        self, question: str, k: int = 10, mode: Mode = "passages", documents: Collection[str] | None = None
    ) -> Found:
        """As `hits`, with what was asked on the way."""
        if k < 1:
            raise InputError(f"k is {k}: ask for at least 1 piece of evidence")
        question = question[:_LONGEST_QUESTION]
        allowed = self._allowed(documents)
        if mode == "auto":
            mode = await self.mode_for(question, documents)
        if mode not in ("passages", "hybrid", "dense", "bm25"):
            raise InputError(f"no search mode {mode!r}: use auto, passages, hybrid, dense or bm25")
        vector = await self._vector(question)
        if not question.strip() or not allowed.any():
            return Found([], vector, vector)
        if mode == "passages" and len(vector):
            return await self._by_graph(question, vector, k, allowed)
        words = self._full_text(question, allowed)
        if mode == "bm25" or (mode != "dense" and not len(vector)):
            return Found(_best(words, k, "full text"), vector, vector)
        cosines = self._cosines(vector, allowed)
        if mode == "dense":
            return Found(_best(np.where(self._readable, cosines, -np.inf), k, "meaning"), vector, vector)
        return Found(_best(self._fused(words, cosines, allowed), k, "full text and meaning"), vector, vector)

    async def mode_for(self, question: str, documents: Collection[str] | None = None) -> Mode:
        """What "auto" runs: the graph where at least five of the ten best chunks are from short documents, else fusion.

        A short document is about the thing its title names, and the graph goes by that; long ones are about many.
        """
        best = await self.hits(question, 10, "hybrid", documents)
        return "passages" if sum(bool(self.graph.short[hit.chunk]) for hit in best) >= min(5, len(best)) else "hybrid"

    @cached_property
    def languages(self) -> frozenset[str]:
        """The languages ("en", "zh") that more than a few of the chunks are in, by their commonest words."""
        total = max(len(self.passages.chunk_ids), 1)
        shares = {
            language: max(self.store.frequencies(words).values()) / total for language, words in _COMMONEST.items()
        }
        return frozenset(language for language, share in shares.items() if share > 0.02)

    def reads(self, language: str) -> bool:
        """Whether there is an embedder, and it knows a language."""
        return self.embedder is not None and knows(self.embedder, language)

    def names_in(self, row: int) -> list[tuple[int, str, str]]:
        """(number, name, type) of the names in a sentence, the title's among them where the document is short."""
        names = self.graph.sentence_names.row(row).tolist()
        return [(name, self.graph.names[name], self._types.get(self.graph.names[name], "")) for name in names]

    def names_said(self, text: str) -> list[str]:
        """The stretches of a text that are known names, as they stand there."""
        return [text[link.start : link.end] for link in self._links(text)]

    def _links(self, question: str) -> list[Link]:
        """The known names in a question; not "the double helix" where a memoir of that title is one passage of many."""
        links = self._linker.link(question, self.parameters.similarity)
        stems = self.store.stems([question[link.start : link.end] for link in links])
        counts = self.store.frequencies([stem for found in stems for stem in found])
        return [
            link
            for link, found in zip(links, stems, strict=True)
            if link.cased
            or self.graph.frequency[link.entity]
            >= self.parameters.least_named * min((counts[stem] for stem in found), default=0)
        ]

    # Each of these gives a score for every chunk; -inf where nothing speaks for it.

    def _full_text(self, question: str, allowed: Flags) -> Floats:
        scores = np.full(len(allowed), -np.inf, np.float32)
        terms = query_terms(question)
        limit = self.parameters.matches if allowed.all() else len(allowed)
        for id, score in self.store.match(terms, limit) if terms else ():
            # another process may have written since this index was read
            number = self._number.get(id)
            if number is not None and allowed[number]:
                scores[number] = score
        return scores

    def _cosines(self, vectors: Vectors, allowed: Flags) -> Floats:
        """Of each chunk with the nearest of some unit vectors."""
        if not len(vectors):
            return np.full(len(allowed), -np.inf, np.float32)
        return np.where(allowed, (self.passages.vectors @ vectors.T).max(axis=1), -np.inf).astype(np.float32)

    def _fused(self, words: Floats, cosines: Floats, allowed: Flags) -> Floats:
        """z(full text) + w z(cosine), standardised over all chunks, and over all that the embedder can read."""
        found = np.where(np.isfinite(words), words, 0.0)[allowed]
        fused = np.full(len(allowed), -np.inf, np.float32)
        readable = self._readable[allowed]
        fused[allowed] = standardised(found) + self.parameters.dense_weight * standardised(cosines[allowed], readable)
        return fused

    async def _vector(self, question: str) -> Vectors:
        """(1, d), or (0, d) where no embedder can read the question."""
        if self.embedder is None or not question.strip() or not knows(self.embedder, language_of(question)):
            return np.zeros((0, self.passages.vectors.shape[1]), np.float32)
        return await self.embedder.embed([question])

    async def _by_graph(self, question: str, vector: Vectors, k: int, allowed: Flags) -> Found:
        graph, parameters = self.graph, self.parameters
        links = self._links(question)
        seeds = [link.entity for link in links]
        bridges = find_bridges(graph, self.passages.sentence_vectors, vector[0], seeds, parameters)
        asked = second_questions(question, links, bridges, graph.names, parameters.second_questions)
        vectors = await self.embedder.embed(asked) if asked and self.embedder is not None else vector
        cosines = self._cosines(vectors, np.ones(len(allowed), bool))
        prior = prior_of(cosines, self._full_text(question, allowed), bool(seeds), parameters, self._readable)
        mass = np.zeros(len(graph.idf), np.float32)
        for link in links:
            mass[link.entity] = 1.0 if link.cased else parameters.uncased_weight
        for name, weight in bridges.onward.items():
            mass[name] = parameters.bridge_weight * weight
        scores = page_rank(graph, prior, mass * graph.idf / graph.idf.max(initial=1e-9), parameters)
        scores = np.where(allowed, scores, -np.inf)
        chosen = choose(graph, scores, seeds, bridges, k, parameters)
        hits = [Hit(chunk, float(scores[chunk]), self._path(chunk, seeds, bridges)) for chunk in chosen]
        return Found(hits, vector, vectors, frozenset([*seeds, *bridges.near]))

    def _path(self, chunk: int, seeds: Sequence[int], bridges: Bridges) -> str:
        """The names that led to a chunk."""
        names = self.graph.names
        said = set(self.graph.passage_names.row(chunk).tolist())
        own = int(self.graph.own[chunk])
        named = [names[seed] for seed in seeds if seed in said]
        bridge = own if own in bridges.near else next((name for name in bridges.near if name in said), None)
        if bridge is not None and (own == bridge or not named):
            return f"names {names[bridges.seed[bridge]]} → {names[bridge]}"
        return f"names {', '.join(named)}" if named else "close to the question"

    def _allowed(self, documents: Collection[str] | None) -> Flags:
        if documents is None:
            return np.ones(len(self.passages.chunk_ids), bool)
        wanted = set(documents)
        return np.array([id in wanted for id in self.passages.document_ids], bool)

    def _evidence(self, hit: Hit, text: str, places: Mapping[str, Places]) -> Evidence:
        document = self.passages.document_ids[hit.chunk]
        record = self.records.get(document)
        start = int(self.passages.starts[hit.chunk])
        place = places.get(document, Places())
        return Evidence(
            text=text,
            score=hit.score,
            document_id=document,
            title=self.passages.titles[hit.chunk],
            source=record.source if record is not None else "",
            start=start,
            end=start + len(text),
            why=hit.why,
            page=place.page(start),
            headings=place.headings(start, start + len(text)),
        )


def query_terms(question: str) -> list[str]:
    """The distinct words of a question that full text is asked for: no stop words, not too many."""
    terms = dict.fromkeys(search_terms(asked_for(question)))
    told = [term for term in terms if term not in STOP_WORDS and term not in QUESTION_WORDS]
    # Chinese is searched by pairs of characters; one that lost its neighbours stands in most texts, or in none.
    return ([term for term in told if len(term) > 1 or not _CJK.search(term)] or told)[:_MOST_TERMS]


def _best(scores: Floats, k: int, why: str) -> list[Hit]:
    ranked = np.argsort(-scores, kind="stable")[:k]
    return [Hit(int(chunk), float(scores[chunk]), why) for chunk in ranked if scores[chunk] > -np.inf]
