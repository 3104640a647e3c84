"""Titles and topics: what a text is about, in a line."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import islice

from knotwork.digest.lines import SENTENCE_END, said_of
from knotwork.digest.pages import Page, read, sentences
from knotwork.digest.subjects import keyphrases
from knotwork.digest.summaries import DANGLING, summary
from knotwork.digest.words import HAN, HAS_LETTER, terms
from knotwork.nlp import STOP_WORDS

_WORDS = 12  # of a title
_CHARACTERS, _ZH_CHARACTERS = 120, 30  # … and of a Chinese one
_NEAR = 1_000  # characters from the beginning
_LONG = 400  # characters of a sentence that says no more in short what a text is about


def title(text: str) -> str:
    """A heading for a text, of twelve words or thirty Chinese characters at most.

    The text's own where one stands at its beginning; or its first line, when that is short and ends without a full
    stop; or what its first sentence defines ("X is …"); or that sentence, when it is short; else, in Chinese, the
    clause that says most of the first sentences, and in other languages their key phrases.
    """
    page = read(text)
    return next(filter(None, _titles(page)), "") or " ".join(text[:_NEAR].split())[:_ZH_CHARACTERS]


def _titles(page: Page) -> Iterator[str]:
    """Titles that a text could have, the best first."""
    plain, heads, blocks = page
    if heads and heads[0].start < _NEAR:
        yield _short(said_of(plain[heads[0].start : heads[0].end]))
    first = said_of(plain[blocks[0].start : blocks[0].end][:200]) if blocks else ""
    if _fits(first) and not SENTENCE_END.search(first):
        yield _tidy(first)
    lead = list(islice(sentences(page), 3))
    if lead:
        yield _defined(lead[0])
        yield _tidy(lead[0]) if _fits(lead[0]) else ""
        yield _clause(lead)
        yield _short(", ".join(keyphrases(" ".join(lead), 3)))
    yield _short(first)


def _fits(said: str) -> bool:
    if _chinese(said):
        return len(said) <= _ZH_CHARACTERS
    return len(said.split()) <= _WORDS and len(said) <= _CHARACTERS and HAS_LETTER.search(said) is not None


def _chinese(said: str) -> bool:
    return len(HAN.findall(said)) > len(said) / 3


def _short(said: str) -> str:
    """As much as fits into a title, cut at a mark where one is in the second half, else behind a word."""
    if _fits(said):
        return said
    said = said[:_ZH_CHARACTERS] if _chinese(said) else " ".join(said.split()[:_WORDS])
    if len(said) > _CHARACTERS:
        said = said[:_CHARACTERS].rpartition(" ")[0] or said[:_CHARACTERS]
    marks = [match.start() for match in re.finditer(r" [-–—|] |[:;,](?= )|[，；：、。！？]", said)]
    return _tidy(said[: marks[-1]] if marks and marks[-1] > len(said) / 2 else said)


def _tidy(said: str) -> str:
    """Without the marks of a sentence at its ends, and without quotation marks that lost their partner."""
    said = said.strip(" |-–—.,:;，。、；：")
    for opening, closing in ("“”", "「」", "『』"):
        if said.count(opening) != said.count(closing):
            said = said.strip(opening + closing + " ")
    return said


_DEFINED = re.compile(r"(?:An? )?(?=[^\W\d_a-z])((?:The )?(\w+)[^,]{0,80}?),? (?:is|was|are|were) ")
_BRACKETS = re.compile(r" ?\([^()]{0,300}\)")


def _defined(said: str) -> str:
    """X of a sentence "X (…) is …"."""
    match = _DEFINED.match(_BRACKETS.sub("", said))
    return _tidy(match[1]) if match and _fits(match[1]) and match[2].lower() not in STOP_WORDS else ""


def _clause(lead: list[str]) -> str:
    """The Chinese clause that says most of the beginning, if one fits into a title."""
    clauses = [clause for said in lead for clause in re.split(r"[，。：；！？,:;!?\s]+", said) if len(clause) > 5]
    clauses = [clause for clause in clauses if not DANGLING.match(clause)] or clauses
    weights = Counter(term for clause in clauses for term in terms(clause) if HAN.match(term))

    def worth(clause: str) -> float:
        return sum(weights[term] for term in terms(clause)) / math.sqrt(len(clause))

    return _tidy(max(filter(_fits, clauses), key=worth, default="")) if weights else ""


def topic_description(text: str) -> str:
    """What a text is about: its most central sentence, as `summary` finds it; where that is long, its key phrases."""
    said = summary(text, 1)
    return said if len(said) <= _LONG else ", ".join(keyphrases(text)) or said[:_LONG]
