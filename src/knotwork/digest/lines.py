"""The lines of a text, and the text without its markup."""

from __future__ import annotations

import re
from typing import NamedTuple

from knotwork.digest.words import HAS_WORD

_LINE = re.compile(r"[^\r\n]+")
ITEM = re.compile(r"[\s>]{0,12}(?:[-*+•·▪◦●–]|\d{1,3}[.)]|\(?[a-z]\))[ \t]+")
_CODE = re.compile(r"^[ >]{0,6}(`{3,}|~{3,}).*?(?:^[ >]{0,6}\1[`~]*\s*?$|\Z)", re.MULTILINE | re.DOTALL)
# Markup inside a line. Each alternative is bounded or begins with a mark of its own, so that the whole is linear.
_MARKUP = re.compile(
    r"!\[[^\[\]\n]{0,500}\]\([^()\s]{0,1000}(?:[ \t][^()\n]{0,300})?\)"  # an image
    r"|\]\((?:[^()\n]|\([^()\n]{0,200}\)){0,1200}\)"  # a link's address
    r"|\[\^?\d{1,3}\]|!?\[|\](?:\[\w{0,30}\])?"  # a reference, a link's brackets
    r"|<(?:https?:|mailto:|/?[A-Za-z!])[^<>\n]{0,500}>"
    r"|\b(?:https?://|www\.)[^\s<>()\[\]\"'“”，。；！？、（）]{1,2000}(?<![.,;:!?])"
    r"|`{1,3}|\*{2,3}|(?<!\w)[*_]{1,3}(?=[^\W_]|[\[\"“])|(?<=[^\W_]|[.,;:!?)\]\"”])[*_]{1,3}(?!\w)"
    r"|&(?:nbsp|amp|lt|gt|quot|#\d{1,5});|\ufeff"
)
GONE = "\0"  # stands for each character of markup, so that offsets stay true
SENTENCE_END = re.compile(r"[.!?。！？…][\"'”’」』》)\]*_\0]*\s*$")


class Line(NamedTuple):
    start: int
    end: int
    kind: str  # text, item, table, or rule: without a word
    blank_before: bool


def lines_of(plain: str) -> list[Line]:
    """The lines with something on them."""
    lines: list[Line] = []
    last = 0
    for match in _LINE.finditer(plain):
        line = match.group()
        if line.strip():
            gap = plain[last : match.start()]
            blank = not lines or gap.count("\n") > 1 or gap.count("\r") > 1
            lines.append(Line(*match.span(), _kind(line), blank))
            last = match.end()
    return lines


def _kind(line: str) -> str:
    if not HAS_WORD.search(line):
        return "rule"
    if ITEM.match(line):
        return "item"
    bars = line[:300].count("|")
    return "table" if bars > 2 or (bars > 1 and line.lstrip()[0] == "|") else "text"


def plain_of(text: str) -> str:
    """The text, equally long, with its fenced code made blanks, its inline markup and addresses zeros."""
    text = _CODE.sub(lambda match: " " * len(match.group()), text)
    return _MARKUP.sub(lambda match: GONE * len(match.group()), text)


def said_of(plain: str) -> str:
    """What a reader sees of a stretch of plain text, on one line."""
    return " ".join(plain.replace(GONE, "").split())
