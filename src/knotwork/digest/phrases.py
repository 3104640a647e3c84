"""A phrase of a text, and what holds it."""

from __future__ import annotations

from dataclasses import dataclass

from knotwork.digest.words import HAN

SMALL = 400  # words, or Chinese characters, of a text in which a phrase said once counts too
LONGEST_WORD = 50  # characters; a longer one is no word but data


@dataclass(slots=True)
class Phrase:
    """A phrase under its folded form, its key."""

    words: int
    first: int  # where it first stands: text[first:end]
    end: int
    count: int = 0
    lower: int = 0  # times without a capital
    longer: int = 0  # times inside the commonest phrase that holds it
    small: tuple[int, int] | None = None  # where it first stands without a capital
    whole: bool = False  # whether it fills the space between two function words somewhere

    def span(self) -> tuple[int, int]:
        """Where it stands as it is mostly written."""
        return self.small if self.small is not None and 2 * self.lower >= self.count else (self.first, self.end)


def parts(key: str) -> set[str]:
    """The phrases that are part of a phrase, itself included."""
    units, glue = _units(key)
    return {glue.join(units[i:j]) for i in range(len(units)) for j in range(i + 1, len(units) + 1)}


def nested(phrases: dict[str, Phrase]) -> dict[str, Phrase]:
    """With what each phrase occurs in the commonest longer one."""
    for key, phrase in phrases.items():
        units, glue = _units(key)
        for part in (units[1:], units[:-1]):
            if inner := phrases.get(glue.join(part)):
                inner.longer = max(inner.longer, phrase.count)
    return phrases


def _units(key: str) -> tuple[list[str], str]:
    return (list(key), "") if HAN.match(key) else (key.split(), " ")
