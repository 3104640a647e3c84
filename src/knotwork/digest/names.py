"""The names in a text."""

from __future__ import annotations

from collections import Counter

from knotwork.digest.lines import GONE, plain_of
from knotwork.digest.pages import pieces
from knotwork.digest.phrases import LONGEST_WORD
from knotwork.digest.words import HAS_LETTER
from knotwork.nlp import Profile
from knotwork.nlp import profile as best_profile
from knotwork.text import normalise_name


def entities(text: str, max_num: int = 10, profile: Profile | None = None) -> list[str]:
    """The names in a text, the most frequent first, then in its order; no dates and no numbers.

    profile: how names are found; None: the best one installed. Spellings that `normalise_name` folds are one name,
    written as it first stands.
    """
    plain = plain_of(text).replace(GONE, " ")
    counts: Counter[str] = Counter()
    written: dict[str, str] = {}
    cut = [plain[start:end] for start, end in pieces(plain, 0, len(plain))]
    for analysis in (profile or best_profile()).analyse(cut) if plain.strip() else ():
        for name in analysis.names:
            key = normalise_name(name.text)
            if name.type != "date" and HAS_LETTER.search(key) and len(key) <= 4 * LONGEST_WORD:
                counts[key] += 1
                written.setdefault(key, name.text)
    return [written[key] for key, _ in counts.most_common(max_num)]
