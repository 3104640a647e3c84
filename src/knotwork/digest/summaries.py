"""Summaries: the sentences that say most."""

from __future__ import annotations

import heapq
import math
import re
from collections import Counter
from itertools import accumulate

from knotwork.digest.lines import SENTENCE_END, said_of
from knotwork.digest.pages import LONGEST, read, sentences
from knotwork.digest.words import HAN, terms

DANGLING = re.compile(
    r"(?i:and|but|or|so|yet|then|he|she|it|they|his|her|their|this|that|these|those|however|also|thus|hence|therefore|"
    r"moreover|furthermore|such|i|we|you|my|our|your|here|there)\b|[a-z]"
    r"|但|而|因此|所以|此外|同时|于是|如今|据|他|她|它|这|那|其"
)
_BOILERPLATE = re.compile(
    r"\b(?:cookies?|privacy policy|terms of (?:use|service)|all rights reserved|copyright|trademarks?|licen[cs]e|"
    r"permission|subscri\w+|don(?:ors?|at\w+)|sign (?:up|in)|log ?in|newsletter|click here|javascript|advertis\w+|"
    r"your (?:browser|email|account)|wayback machine|internet archive|project gutenberg|e-?books?)\b"
    r"|©|广告声明|责任编辑|版权|未经授权|转载|免责声明|扫码|关注我们|点击|客户端|仅供参考",
    re.IGNORECASE,
)


def summary(text: str, max_sentences: int = 3) -> str:
    """The sentences that say most of what the text says, in reading order, on one line.

    Each sentence is worth the weights of its words: how many sentences have the word, more for a word of the title and
    for a sentence near the beginning (Edmundson 1969, New Methods in Automatic Extracting). What a sentence chosen has
    said is worth less in the next (SumBasic: Nenkova and Vanderwende 2005), so that one choice doesn't repeat another.
    Lazy greedy choice (Minoux 1978) keeps this near to linear for any number of sentences. A sentence of more than a
    thousand characters counts as several.
    """
    page = read(text)
    by_terms: dict[tuple[str, ...], str] = {}  # the first of those that say the same
    for said in sentences(page):
        by_terms.setdefault(terms(said) or (said,), said)
    if not by_terms:
        return (said_of(page.plain) or " ".join(text.split()))[:LONGEST]
    title = said_of(page.plain[slice(*page.heads[0][:2])]) if page.heads else ""
    found = list(by_terms.values())
    chosen = _chosen(list(by_terms), [_shape(said) for said in found], terms(title), max_sentences)
    joined = ""
    for said in (found[i] for i in sorted(chosen)):
        joined += said if not joined or HAN.match(said.lstrip("“「『《（")) else " " + said
    return joined


def _chosen(keys: list[tuple[str, ...]], shapes: list[float], title: tuple[str, ...], count: int) -> list[int]:
    """The sentences of most worth, the best first, each less what those before it have said."""
    weights = {term: n**0.6 for term, n in Counter(term for key in keys for term in key).items()}
    weights |= {term: 3 * weights[term] for term in title if term in weights}
    places = list(accumulate((shape > 0.5 for shape in shapes), initial=0))  # in the prose

    def worth(i: int) -> float:
        said: float = sum(weights[term] for term in keys[i]) / (len(keys[i]) + 4) ** 0.7
        return said * shapes[i] * (1 + 1 / (1 + places[i] / 2))

    heap = [(-worth(i), i) for i in range(len(keys))]
    heapq.heapify(heap)
    chosen: list[int] = []
    while heap and len(chosen) < count:
        _, i = heapq.heappop(heap)
        now = -worth(i)
        if heap and now > heap[0][0]:
            heapq.heappush(heap, (now, i))
            continue
        chosen.append(i)
        for term in keys[i]:
            weights[term] *= 0.3
    return chosen


def _shape(said: str) -> float:
    """How well a sentence reads alone, and as prose, 0 to 1."""
    words = said.split()
    chinese = len(HAN.findall(said))
    length = chinese / 1.7 if chinese else len(words)
    capitals = 0 if chinese else sum(word[0].isupper() for word in words)
    flaws = (
        (0.35, not SENTENCE_END.search(said)),
        (0.5, said.endswith(("?", "？"))),
        (0.7, DANGLING.match(said)),
        (0.6, said[0] in "\"“”‘'「(（[…"),
        (0.4, length < 6),
        (0.3, length >= 6 and capitals > 0.6 * length),  # a menu, a table, a line of headings
        (0.4, sum(map(str.isalpha, said)) < 0.65 * len(said)),
        (0.4, " | " in said or " ### " in said),
        (0.1, _BOILERPLATE.search(said)),
    )
    return math.prod(factor for factor, flawed in flaws if flawed) * min(1.0, math.sqrt(45 / max(length, 1)))
