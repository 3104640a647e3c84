"""Pure functions on text: normal forms, ids, tokens, sentences, languages."""

from __future__ import annotations

import hashlib
import re
import unicodedata
from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import lru_cache
from importlib import resources
from itertools import pairwise
from typing import Any

_SPACE = re.compile(r"\s+")
_QUOTES = str.maketrans({"’": "'", "‘": "'", "ʼ": "'", "＇": "'", "“": '"', "”": '"', "„": '"', "«": '"', "»": '"'})
_EDGE = " \t\n\"'`.,;:!?()[]{}<>-–—_*|/\\，。、；：！？（）《》「」『』【】·"
_POSSESSIVE = re.compile(r"(?:'s|(?<=s)')$", re.IGNORECASE)
_ARTICLE = re.compile(r"^(?:the|an|a) (?=\S)", re.IGNORECASE)
_CJK_END = re.compile(r"[。！？]+[”’」』）》)\"']*\s*")
_WORD = re.compile(r"\w+")

# Han, kana, hangul: scripts written without blanks between words, or searched by character.
CJK = "\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff"
_CJK_RUN = re.compile(f"[{CJK}]+")
_HALF_WIDTH = {0x3000: " ", **{code: chr(code - 0xFEE0) for code in range(0xFF01, 0xFF5F)}}


def fold_accents(text: str) -> str:
    """Latin, Greek and Cyrillic letters without their accents; other scripts are left as they are."""
    if text.isascii():
        return text
    return "".join(map(_unaccented, text))


@lru_cache(maxsize=4096)
def _unaccented(char: str) -> str:
    if "\u0590" <= char < "\u1e00" or char >= "\u2000":  # Hangul and kana fall apart into marks that matter
        return char
    return "".join(part for part in unicodedata.normalize("NFKD", char) if not unicodedata.combining(part))


@lru_cache(maxsize=1)
def _simplified() -> dict[int, str]:
    traditional, simplified, *_ = (resources.files("knotwork") / "data/simplified.txt").read_text("utf-8").split("\n")
    table = str.maketrans(traditional, simplified)
    return {code: char if isinstance(char, str) else chr(char) for code, char in table.items()}


def simplified(text: str) -> str:
    """Traditional Chinese characters as simplified ones, each by itself, so that lengths stay.

    Which of several simplified characters one stands for is not asked: both sides of a comparison get the same.
    """
    return text.translate(_simplified()) if _CJK_RUN.search(text) else text


def fold_characters(text: str) -> str:
    """Full-width letters, digits and signs at half width, and simplified characters; one character to one."""
    if text.isascii():
        return text
    return simplified(text.translate(_HALF_WIDTH))


def normalise_name(name: str) -> str:
    """The form under which two spellings of one name meet.

    Width, case, accents, quotes, outer punctuation, a leading article and a trailing possessive go; traditional
    characters are as simplified ones.

    >>> normalise_name("The “Cavendish”  Laboratory’s")
    'cavendish laboratory'
    """
    if not name.isascii():
        name = simplified(unicodedata.normalize("NFKC", name)).translate(_QUOTES)
    # lower, not casefold: "ß" must keep its length class for offset-free comparison with text
    name = _SPACE.sub(" ", fold_accents(name.lower()))  # a lone accent leaves a blank
    while True:  # what one step lays bare another may take: the form is that of its own form
        stripped = _ARTICLE.sub("", _POSSESSIVE.sub("", name.strip(_EDGE)))
        if stripped == name:
            return name
        name = stripped


def stable_id(*parts: Any) -> str:
    """A short id that depends on the parts alone: 32 hex digits of BLAKE2b over their text forms.

    Parts are length-prefixed, so ("ab", "c") and ("a", "bc") differ.
    """
    digest = hashlib.blake2b(digest_size=16)
    for part in parts:
        data = str(part).encode("utf-8", "surrogatepass")
        digest.update(b"%d:" % len(data))
        digest.update(data)
    return digest.hexdigest()


def content_hash(text: str) -> str:
    """Hash of a document's text, to notice an edit."""
    return stable_id(text)


# -- tokens ---------------------------------------------------------------------------------------


@lru_cache(maxsize=1)
def _encoding() -> Any:
    from toktok import _encoding  # the public face counts and truncates but has no offsets

    return _encoding("o200k_base")


def count_tokens(texts: Iterable[str]) -> list[int]:
    """Tokens of each text in the o200k vocabulary; special-token strings count as plain text."""
    return list(_encoding().count_batch([_encodable(text) for text in texts], 1, False))


def token_ends(text: str) -> list[int]:
    """The character offset after each token, ascending; never inside a character.

    A character spelt by several tokens gives several equal offsets.
    """
    _, spans = _encoding().encode_with_offsets(_encodable(text), unit="char")
    return [end for _, end in spans]


def token_slices(text: str, size: int) -> list[tuple[int, int]]:
    """Spans of at most `size` tokens that together are the text, ending after a blank where there is one near.

    A single character of more tokens than `size` stays whole.
    """
    ends = token_ends(text)
    pieces: list[tuple[int, int]] = []
    at, first = 0, 0
    while at < len(text):
        stop = first + size
        border = len(text) if stop >= len(ends) else ends[stop - 1]
        if stop < len(ends) and ends[stop] == border:  # inside a character: it goes to the next piece, or whole here
            earlier = bisect_left(ends, border)
            border = ends[earlier - 1] if earlier > first else border
        if border < len(text) and not text[border - 1].isspace():
            blank = max(text.rfind(" ", at, border), text.rfind("\n", at, border))
            border = blank + 1 if blank > at + (border - at) // 2 else border
        pieces.append((at, border))
        at, first = border, bisect_right(ends, border)
    # a piece read by itself may fall into more tokens than it had in its text: such a one is cut again
    fitted: list[tuple[int, int]] = []
    for (start, end), tokens in zip(pieces, count_tokens([text[a:b] for a, b in pieces]), strict=True):
        if tokens <= size or end - start == 1:
            fitted.append((start, end))
            continue
        middle = (start + end) // 2
        for left, right in ((start, middle), (middle, end)):
            fitted += [(left + a, left + b) for a, b in token_slices(text[left:right], size)]
    return fitted


def _encodable(text: str) -> str:
    # Lone surrogates can't be encoded; one stand-in character each keeps the offsets true.
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return re.sub("[\ud800-\udfff]", "\ufffd", text)
    return text


# -- languages and words --------------------------------------------------------------------------


def cjk_share(text: str) -> float:
    """Share of the letters that are Chinese, Japanese or Korean, between 0 and 1."""
    cjk = sum(len(run) for run in _CJK_RUN.findall(text))
    if not cjk:
        return 0.0
    letters = sum(len(run) for run in _WORD.findall(text))
    return cjk / max(letters, 1)


def language_of(text: str) -> str:
    """ "zh" where at least a fifth of the letters are CJK, else "en"."""
    return "zh" if cjk_share(text[:20_000]) >= 0.2 else "en"


def search_terms(text: str) -> list[str]:
    """The words full text is searched by: lower-case words without accents; CJK runs as overlapping pairs.

    Traditional characters count as simplified ones.

    >>> search_terms("Crick's DNA 双螺旋")
    ['crick', 's', 'dna', '双螺', '螺旋']
    """
    if not text.isascii():
        text = simplified(unicodedata.normalize("NFKC", text))
    terms: list[str] = []
    for word in _WORD.findall(fold_accents(text.lower())):
        if word.isascii() or not _CJK_RUN.search(word):
            terms.append(word)
            continue
        position = 0
        for run in _CJK_RUN.finditer(word):
            if run.start() > position:
                terms.append(word[position : run.start()])
            chars = run.group()
            terms.extend([chars] if len(chars) == 1 else [chars[i : i + 2] for i in range(len(chars) - 1)])
            position = run.end()
        if position < len(word):
            terms.append(word[position:])
    return terms


# -- sentences ------------------------------------------------------------------------------------

# sentencex panics on a capital, one of these and a full stop; as blanks they change no offset.
_WIDE_BLANKS = str.maketrans(
    dict.fromkeys("\x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B))), " ")
)
_SURE_END = re.compile(r"\n\s*\n\s*|[。！？]+[”’」』）》)\"']*\s*")
_BLOCK = 4_000  # characters


def sentence_spans(text: str, language: str | None = None) -> list[tuple[int, int]]:
    """Spans of the sentences of a text, in order, that together are the whole text.

    White space after a sentence belongs to it. `language` is an ISO code; None: told from the text.
    """
    language = language or language_of(text)
    if not text.isascii():
        text = text.translate(_WIDE_BLANKS)
    spans: list[tuple[int, int]] = []
    for first, last in _blocks(text):
        spans += [(first + start, first + end) for start, end in _sentences(text[first:last], language)]
    return spans


def _blocks(text: str) -> list[tuple[int, int]]:
    """A text in stretches that end where a sentence ends for certain.

    sentencex takes the square of the length of a stretch without blanks.
    """
    borders = [0]
    for match in _SURE_END.finditer(text):
        if match.end() - borders[-1] >= _BLOCK and text[borders[-1] : match.end()].strip():
            borders.append(match.end())
    return list(pairwise([*borders, len(text)]))


def _sentences(text: str, language: str) -> list[tuple[int, int]]:
    if not text:
        return []
    import sentencex

    # The segmenter drops some paragraph breaks; taking only its starts makes the spans lossless anyway.
    begun = {match.end() for match in _CJK_END.finditer(text)}
    for piece in sentencex.get_sentence_boundaries(language, _encodable(text)):
        if piece["text"].strip():
            begun.add(piece["start_index"])
    starts, end = [0], len(text.rstrip())
    for start in sorted(begun):
        if 0 < start < end and text[starts[-1] : start].strip():
            starts.append(start)
    return list(zip(starts, [*starts[1:], len(text)], strict=True))
