"""What a text says in short, without a model: summary, title, topic, key phrases, headlines, names, themes.

English and Chinese by design; other languages by what they share with these: words, capitals, frequency. All functions
are deterministic, linear in the text, and take texts of megabytes, in one line too. Markdown's marks, addresses, code
and tables are no part of what a text says. A blank text gives "" or [].
"""

from __future__ import annotations

import heapq
import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate, islice, pairwise
from typing import NamedTuple

from knotwork import nlp
from knotwork.text import CJK, language_of, normalise_name, sentence_spans

_TITLE_WORDS = 12
_TITLE_CHARACTERS = 30  # of a Chinese title
_LONGEST = 1_000  # characters of a sentence; a longer one is several
_LONG = 400  # … that says what a text is about
_PIECE = 4_000  # characters given to the sentence splitter at once: it is quadratic in a line of Chinese
_READ = 20_000  # … and to a profile, which gives its text to that
_LONGEST_WORD = 50  # a longer one is no word but data
_MAX_WORDS = 4  # of a phrase
_MAX_CHARACTERS = 8  # of a Chinese phrase
_SMALL = 400  # words, or Chinese characters, of a text in which a phrase said once counts too

# -- words ----------------------------------------------------------------------------------------


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Words that say nothing of a text: function words, and what is at home in any text.
_STOP = nlp._STOP | _words(
    """
    say says said saying tell tells told ask asks asked answer answered reply replied speak spoke cry cried think
    thinks thought know knows known knew see sees seen saw look looks looked looking seem seems seemed appear appears
    appeared come comes came coming go goes went gone going get gets got getting give gives gave given giving take
    takes took taken taking make makes made making put puts keep keeps kept let lets leave leaves left find finds
    found use uses used using want wants wanted need needs needed try tries tried call calls called show shows shown
    showed become becomes became begin begins began begun start started turn turns turned stand stood sit sat hold
    held bring brought hear heard feel felt follow follows followed following include includes included including
    remain remains remained continue continued run ran move moved set help helped work works worked play read provide
    provides provided allow allows allowed lead led based concerning regarding related add added born died click

    new old good better best bad great greater greatest large larger largest big small smaller little high higher
    highest low lower long longer short early late later main major minor common general special certain different
    similar particular possible impossible able available important significant various several many full real true
    right wrong sure whole entire half double single recent current present former previous next last other another
    likely unlikely first second third one two three four five six seven eight nine ten eleven twelve hundred
    thousand million billion dozen number numbers lot lots kind kinds sort sorts way ways thing things bit part parts
    case cases example examples fact people person man men woman women mr mrs ms dr sir

    time times day days week weeks month months year years hour hours minute minutes moment today monday tuesday
    wednesday thursday friday saturday sunday january february march april june july august september october
    november december jan feb mar apr jun jul aug sep sept oct nov dec

    just only still well now back down up away ever both all most few far quite much more less least enough usually
    over under inside outside round around widely mainly mostly highly no will may image images page pages http https
    www com org html pdf login menu
    """
)
# What stands before a verb and seldom before a noun, and the other way round: enough to tell "visits" from "visit".
_BEFORE_VERB = _words("to will would can could may might must shall should not never i he she we they you it who which")
_BEFORE_NOUN = _words(
    "the a an of his her its their our my your this these those in on for by with no any some each every"
)
_AFTER_NOUN = _words("of is are was were has have had in on at for to from that which who")

# Characters that hold a sentence together (Japanese: all hiragana), and those no word begins or ends with …
_ZH_BREAK = "的了吗呢吧啊着们这那你我他她它您哪谁很也都又就才却而且但并或若虽之乎者矣焉兮\u3041-\u309f"
_ZH_EDGE = frozenset(
    "和与及是在有为于以从向到由对被把将让使给跟同比按据至自因所其该此每各某个些只还再已曾会能可要想应需不没无非未"
    "更最太等如则便仍即里上下中内外前后间时说称道去来做年月日号第一二三四五六七八九十百千万亿两几多少"
)
_ZH_FIRST = frozenset("不无非未中上下内外前三日应")  # … but for these, which begin many,
_ZH_LAST = frozenset("会能间号中")  # … and these, which end many
_ZH_COUNTED = frozenset("年月日时分秒号个名人次条家元岁点万亿")  # what a number counts
_ZH_COMMON = _words(
    """
    表示 可以 进行 目前 没有 已经 相关 记者 报道 通过 以及 因为 所以 如果 但是 一个 这个 可能 需要 认为 成为 包括 其中
    同时 此前 今年 去年 近日 今日 昨日 消息 问题 工作 方面 情况 对于 关于 由于 根据 按照 为了 不是 就是 还是 或者 有关
    并且 而且 虽然 然而 因此 其他 任何 所有 部分 主要 重要 正在 开始 出现 发现 介绍 指出 强调 来源 原标题 标题 责任
    编辑 图片 声明 文章 内容 本文 正文 网站 公开 显示 提供 实现 作为 当前 之后 之前 之间 以来 以上 以下 左右 发生 存在
    使用 继续 进一步 人员 时间 过程 方式 一些 许多 什么 怎么 如何 自己 大家 万元 亿元 美元 人民币 千米 公里 开展
    加强 推进 推动 加快 积极 全面 得到 受到 做好 发布 宣布 获悉 了解 告诉 来自 具有 拥有 这些 那些 现在 今天 昨天
    明天 未来 最后 首先 其次 不会 不能 不断 接受 采访 前后 上下 中间 日前 日电 上午 下午 下面 上面 不同 不少 不过
    不仅 不得 不到 不要 无法 无论 应当 应该 提高 下降 增长 超过 达到 约为 预计 同比 环比 广告 转载
    """
)

_LETTER = rf"(?:(?![{CJK}])[^\W_])"
_TOKEN = re.compile(rf"[{CJK}]+|{_LETTER}+(?:['’&.-]{_LETTER}+)*")
_HAN = re.compile(f"[{CJK}]")
_ZH_RUN = re.compile(f"(?:(?![{_ZH_BREAK}])[{CJK}])+")
_HAS_WORD = re.compile(r"[^\W_]")
_HAS_LETTER = re.compile(r"[^\W\d_]")


def _singular(word: str) -> str:
    """A word's form without a plural s; one form for what a reader takes for one word, not always a word itself."""
    if len(word) < 4 or not word.endswith("s") or word.endswith(("ss", "us", "is")):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    return word[:-2] if word.endswith(("sses", "shes", "ches", "xes")) else word[:-1]


# -- lines, paragraphs, sentences -----------------------------------------------------------------

_LINE = re.compile(r"[^\r\n]+")
_FENCE = re.compile(r"[ >]{0,6}(`{3,}|~{3,})")
_ATX = re.compile(r"(?:[ \t]{0,3}>){0,4}[ \t]{0,3}(#{1,6})[ \t]+(?=\S)")
_UNDERLINE = re.compile(r"\s{0,3}(={2,}|-{2,})\s*")
_RULE = re.compile(r"[\s>]*[-=_*~+#.|: ]{3,}\s*")
_ITEM = re.compile(r"[\s>]{0,12}(?:[-*+•·▪◦●–]|\d{1,3}[.)]|\(?[a-z]\))[ \t]+")
_TABLE = re.compile(r"\s*\|.*\||[^\n|]*(?:\|[^\n|]*){3}")
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
_GONE = "\0"  # stands for each character of markup, so that offsets stay true
_SENTENCE_END = re.compile(r"[.!?。！？…][\"'”’」』》)\]*_\0]*\s*$")


class _Line(NamedTuple):
    start: int
    end: int
    kind: str  # text, item, code, table, rule
    blank_before: bool


class Headline(NamedTuple):
    """A heading of a text: `text[start:end]` is what it says, without marks before and behind it."""

    start: int
    end: int
    level: int


class _Block(NamedTuple):
    """A paragraph, a list item or a heading."""

    start: int
    end: int
    kind: str  # text, item, heading


def _lines(text: str) -> list[_Line]:
    """The lines with something on them. Code is told by its fences."""
    lines: list[_Line] = []
    fence = ""
    last = 0
    blank = True
    for match in _LINE.finditer(text):
        start, end = match.span()
        gap = text[last:start]
        blank = blank or gap.count("\n") > 1 or gap.count("\r") > 1
        last = end
        head = text[start : min(end, start + 300)]
        if not head.strip() and not text[start:end].strip():
            blank = True
            continue
        opening = _FENCE.match(head)
        if fence:
            kind = "code"
            if opening and opening[1].startswith(fence) and not text[start:end].strip(" >`~\t"):
                fence = ""
        elif opening:
            kind, fence = "code", opening[1]
        elif end - start < 300 and _RULE.fullmatch(head):
            kind = "rule"
        elif _ITEM.match(head):
            kind = "item"
        elif "|" in head and _TABLE.match(head):
            kind = "table"
        else:
            kind = "text"
        lines.append(_Line(start, end, kind, blank))
        blank = False
    return lines


def _plain(text: str) -> str:
    """The text, equally long, with its inline markup and its addresses made zeros."""
    return _MARKUP.sub(lambda match: _GONE * len(match.group()), text)


def _said(plain: str) -> str:
    """What a reader sees of a stretch of plain text, on one line."""
    return " ".join(plain.replace(_GONE, "").split())


# -- headlines ------------------------------------------------------------------------------------

_ZH_NUMBER = r"[一二三四五六七八九十百零〇两\d]{1,6}"
_COUNT = "one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
# (pattern of what numbers a heading, level); of a bare number each point goes a level down
_NUMBERINGS = tuple(
    (re.compile(pattern, re.IGNORECASE), level)
    for pattern, level in (
        (rf"(?:part|book|volume) (?:\d{{1,3}}|[ivxlc]{{1,8}}|{_COUNT})\b|第{_ZH_NUMBER}[编篇卷部]", 1),
        (
            rf"(?:chapter|stave|act|lecture|appendix|canto) (?:\d{{1,3}}|[ivxlc]{{1,8}}|[a-z]|{_COUNT})\b"
            rf"|第{_ZH_NUMBER}[章回集]",
            2,
        ),
        (rf"(?:section|scene|article) (?:\d{{1,3}}|[ivxlc]{{1,8}}|{_COUNT})\b|第{_ZH_NUMBER}[节条]", 3),
        (r"\d{1,2}(?:\.\d{1,2}){0,4}(?=[.)、．]?\s+[^\W\d_]|[、．][^\W\d_])|[IVX]{1,5}(?=\.\s)", 2),
        (rf"{_ZH_NUMBER}(?=[、．])", 3),
        (rf"[（(]{_ZH_NUMBER}[)）]", 4),
    )
)
_BLANK = _GONE + " \t\f\v\u3000\xa0"
_CAPITALS, _STANDING = 5, 6  # levels of lines that only their looks make headings
_MONTH = re.compile(
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sept?(?:ember)?|oct(?:ober)?|"
    r"nov(?:ember)?|dec(?:ember)?)\b",
    re.IGNORECASE,
)
_CAPITAL = re.compile(rf"[\"“‘《]?(?:[A-ZÀ-ÞΑ-ΩА-Я]|[{CJK}])")
_NO_HEADING = re.compile(r"[,;:，。；：、…\"”|=<>{}]$|\|\s|[@=<>{}\\]|\w\.\s+\w{3}")


def headlines(text: str, max_num: int = 5) -> list[str]:
    """The headings of a text, in its order; each stands in the text, on one line. None in mere prose.

    Headings are the lines that Markdown marks as such ("# Title", or underlined); numbered lines ("1.2 Methods",
    "Chapter 1", "第一章"); and, in a text with no more than one of Markdown's, lines of capitals, in title case, or of
    a few Chinese characters, that stand alone over prose. A heading is given without the marks around it, "# Title" as
    "Title". Lines of code are none. Of too many the highest-level ones stay; of one level those over the longest
    sections.
    """
    found: dict[str, Headline] = {}
    for head in _headlines(_plain(text), _lines(text)):
        found.setdefault(text[head.start : head.end], head)
    ends = [*(head.start for head in found.values()), len(text)][1:]
    length = {head: end - head.start for head, end in zip(found.values(), ends, strict=False)}
    best = sorted(length, key=lambda head: (head.level, -length[head], head.start))[:max_num]
    return [text[head.start : head.end] for head in sorted(best)]


def _headlines(plain: str, lines: list[_Line]) -> list[Headline]:
    marked: dict[int, Headline] = {}
    looks: dict[int, Headline] = {}
    for i, line in enumerate(lines):
        if line.kind == "code" or line.end - line.start > 400:
            continue
        head = _atx(plain, line) or _underlined(plain, lines, i)
        if head is not None:
            marked[i] = head
        elif i + 1 < len(lines) and line.end - line.start <= 120:
            head = _numbered(plain, lines, i) or _alone(plain, lines, i)
            if head is not None:
                looks[i] = head
    if len(marked) > 1:
        return list(marked.values())
    running = Counter(_without_digits(plain, head) for head in looks.values())  # a page's head, over and over
    kept = {i: head for i, head in looks.items() if running[_without_digits(plain, head)] < 3 or head.level < _CAPITALS}
    return [head for _, head in sorted((marked | kept).items())]


def _without_digits(plain: str, head: Headline) -> str:
    return re.sub(r"[\W\d_]+", "", plain[head.start : head.end])


def _atx(plain: str, line: _Line) -> Headline | None:
    match = _ATX.match(plain, line.start, line.end)
    if match is None:
        return None
    end = line.end
    closed = plain[match.end() : end].rstrip().rstrip("#")
    if not closed or closed[-1:].isspace():
        end = match.end() + len(closed)
    return _headline(plain, match.end(), end, len(match[1]))


def _underlined(plain: str, lines: list[_Line], i: int) -> Headline | None:
    line = lines[i]
    if i + 1 == len(lines) or not line.blank_before or line.kind != "text":
        return None
    below = lines[i + 1]
    match = _UNDERLINE.fullmatch(plain, below.start, below.end)
    if below.kind != "rule" or below.blank_before or match is None or "   " in plain[line.start : line.end].strip():
        return None
    return _headline(plain, line.start, line.end, 1 if match[1][0] == "=" else 2)


def _headline(plain: str, start: int, end: int, level: int) -> Headline | None:
    """The heading between two places, less the marks and blanks at its ends; beside links, its longest part."""
    parts = [match.span() for match in re.finditer(r"(?:[^\0]|(?<!\0)\0{1,3}(?!\0))+", plain[start:end])]
    a, b = max(parts, key=lambda part: part[1] - part[0], default=(0, 0))
    inner = plain[start + a : start + b]
    start += a + len(inner) - len(inner.lstrip(_BLANK))
    said = inner.strip(_BLANK)
    words = len(said.split())
    if len(said) > 200 or words > 25 or (words > 8 and said[-1] in ".。;") or not _HAS_LETTER.search(said):
        return None
    return Headline(start, start + len(said), level)


def _numbering(said: str) -> tuple[int, int] | None:
    """(level, where the number ends) of a numbered line."""
    for pattern, level in _NUMBERINGS:
        match = pattern.match(said)
        if match is not None:
            return level + match.group().count("."), match.end()
    return None


def _numbered(plain: str, lines: list[_Line], i: int) -> Headline | None:
    said = _said(plain[lines[i].start : lines[i].end])
    number = _numbering(said) if lines[i].kind in ("text", "item") else None
    if number is None or len(said) > 90 or len(said.split()) > _TITLE_WORDS:
        return None
    level, at = number
    rest = said[at:].lstrip(".)、．:：— -")
    if _NO_HEADING.search(rest) or rest.endswith(".") or _MONTH.match(rest) or rest[:1].islower():
        return None
    for other in (i - 1, i + 1):  # one of a list, or of a table of contents
        near = _numbering(_said(plain[lines[other].start : lines[other].end][:120])) if other >= 0 else None
        if near is not None and near[0] == level:
            return None
    begins = lines[i].blank_before or i == 0 or _SENTENCE_END.search(plain, lines[i - 1].start, lines[i - 1].end)
    below = lines[i + 1]
    stands = below.blank_before or (len(said) <= 60 and _CAPITAL.match(plain, below.start))
    if not begins or not stands:
        return None
    return _headline(plain, lines[i].start, lines[i].end, level)


def _alone(plain: str, lines: list[_Line], i: int) -> Headline | None:
    """A short line between blank ones, over prose, that looks like a heading."""
    line, below = lines[i], lines[i + 1]
    if line.kind != "text" or not line.blank_before or not below.blank_before or below.kind != "text":
        return None
    head = _headline(plain, line.start, line.end, _STANDING)
    if head is None or not _over_prose(plain, below):
        return None
    said = plain[head.start : head.end]
    words = said.split()
    if plain.count(_GONE, line.start, line.end) > 6 or _NO_HEADING.search(said) or len(words) > 10:
        return None
    if _HAN.search(said):
        return head if len(said) <= 20 and not re.search(r"[！？,.!?“]", said) else None
    letters = [char for char in said if char.isalpha()]
    if len(letters) > 2 and said.isupper():
        return head._replace(level=_CAPITALS)
    title = said[0].isupper() or said[0].isdigit()
    titled = all(not word.islower() or len(word) < 4 for word in words) and not any(map(_MONTH.fullmatch, words))
    return head if title and titled and len(letters) > 2 and said[-1] not in ".!?" else None


def _over_prose(plain: str, line: _Line) -> bool:
    long = line.end - line.start >= 60
    return long or _SENTENCE_END.search(plain, line.start, line.end) is not None


# -- sentences ------------------------------------------------------------------------------------


def _blocks(plain: str, lines: list[_Line], heads: list[Headline]) -> list[_Block]:
    """Paragraphs, list items and headings; no code and no tables, where there is anything else.

    A line belongs to the paragraph of the line before it when that was wrapped: is long, or goes on in small letters.
    """
    starts = [head.start for head in heads]
    blocks: list[_Block] = []
    open_block = False
    last = _Line(0, 0, "", True)
    for line in lines:
        at = bisect_right(starts, line.end) - 1
        if at >= 0 and starts[at] >= line.start:
            blocks.append(_Block(line.start, line.end, "heading"))
            open_block = False
        elif line.kind not in ("text", "item"):
            open_block = False
        elif open_block and line.kind == "text" and not line.blank_before and _wrapped(plain, last, line):
            blocks[-1] = blocks[-1]._replace(end=line.end)
        else:
            blocks.append(_Block(line.start, line.end, line.kind))
            open_block = True
        last = line
    if not any(block.kind != "heading" for block in blocks):
        return [_Block(line.start, line.end, "text") for line in lines]
    return blocks


def _wrapped(plain: str, line: _Line, below: _Line) -> bool:
    begin = plain[below.start : below.start + 50].lstrip()[:1]
    width = line.end - line.start
    return width >= 45 or begin.islower() or (width >= 20 and _HAN.match(begin) is not None)


class _Page(NamedTuple):
    """A text as all methods read it."""

    plain: str
    lines: list[_Line]
    heads: list[Headline]
    blocks: list[_Block]


def _read(text: str) -> _Page:
    plain, lines = _plain(text), _lines(text)
    heads = _headlines(plain, lines)
    return _Page(plain, lines, heads, _blocks(plain, lines, heads))


class _Sentence(NamedTuple):
    text: str
    terms: tuple[str, ...]  # its words that say something, each once
    shape: float  # how well it reads alone, 0 to 1


_LEADING = " >|-–—•*#.,:;，。、；：！？)]）】」』”"
_DANGLING = re.compile(
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


def _sentences(page: _Page) -> Iterator[str]:
    """The sentences of the running text, each as a reader sees it."""
    plain = page.plain
    language = language_of(plain)
    for block in page.blocks:
        if block.kind == "heading":
            continue
        start = block.start
        if block.kind == "item":
            match = _ITEM.match(plain, start, block.end)
            start = match.end() if match else start
        for piece_start, piece_end in _pieces(plain, start, block.end, _PIECE):
            piece = plain[piece_start:piece_end]
            for a, b in sentence_spans(piece, language):
                said = _said(piece[a:b]).lstrip(_LEADING)
                if _HAS_WORD.search(said):
                    yield from _cut(said)


def _pieces(plain: str, start: int, end: int, size: int) -> Iterator[tuple[int, int]]:
    """Spans of at most `size` characters, ending behind a line or a sentence where one ends, else behind a blank."""
    while end - start > size:
        middle, stop = start + size // 2, start + size
        marks = (plain.rfind(mark, middle, stop) + len(mark) for mark in ("\n", "。", ". ", "！", "？", " "))
        cut = next((mark for mark in marks if mark > middle), stop)
        yield start, cut
        start = cut
    yield start, end


def _cut(said: str) -> Iterator[str]:
    while len(said) > _LONGEST:
        blank = said.rfind(" ", _LONGEST // 2, _LONGEST)
        at = blank if blank > 0 else _LONGEST
        yield said[:at]
        said = said[at:].lstrip()
    if said:
        yield said


def _terms(said: str) -> tuple[str, ...]:
    """The words that say something, folded, each once: Latin words, pairs of Chinese characters."""
    found: dict[str, None] = {}
    for token in _TOKEN.findall(said.lower().replace("’", "'")):
        if _HAN.match(token):
            for run in _ZH_RUN.findall(token):
                for i in range(len(run) - 1):
                    pair = run[i : i + 2]
                    if pair not in _ZH_COMMON and not (pair[0] in _ZH_EDGE and pair[1] in _ZH_EDGE):
                        found[pair] = None
        elif len(token) > 2 and token not in _STOP:
            found[_singular(token.removesuffix("'s"))] = None
    return tuple(found)


def _shape(said: str) -> float:
    chinese = len(_HAN.findall(said))
    words = len(said.split()) if chinese < len(said) / 5 else chinese / 1.7
    shape = 1.0 if _SENTENCE_END.search(said) else 0.35
    if said.endswith(("?", "？")):
        shape *= 0.5
    if _DANGLING.match(said):
        shape *= 0.7
    if said[0] in "\"“”‘'「(（[…":
        shape *= 0.6
    if words < 6:
        shape *= 0.4
    elif words > 45:
        shape *= math.sqrt(45 / words)
    letters = sum(map(str.isalpha, said))
    if letters < 0.65 * len(said):
        shape *= 0.4
    if not chinese and words >= 6 and sum(word[0].isupper() for word in said.split()) > 0.6 * words:
        shape *= 0.3  # a menu, a table, a line of headings
    if " | " in said or " ### " in said:
        shape *= 0.4
    if _BOILERPLATE.search(said):
        shape *= 0.1
    return shape


def summary(text: str, max_sentences: int = 3) -> str:
    """The sentences that say most of what the text says, in reading order, on one line.

    Each sentence is worth the weights of its words: how many sentences have the word, more for a word of the title and
    for a sentence near the beginning (Edmundson 1969, New Methods in Automatic Extracting). What a sentence chosen has
    said is worth less in the next (SumBasic: Nenkova and Vanderwende 2005), so that one choice doesn't repeat another.
    Lazy greedy choice (Minoux 1978) keeps this near to linear for any number of sentences. A sentence of more than a
    thousand characters counts as several.
    """
    return _joined(sentence.text for sentence in _central(text, max_sentences))


def _joined(sentences: Iterable[str]) -> str:
    """Sentences behind each other, with a blank where the next is not in Chinese."""
    joined = ""
    for said in sentences:
        joined += said if not joined or _HAN.match(said.lstrip("“「『《（")) else " " + said
    return joined


def _central(text: str, count: int) -> list[_Sentence]:
    page = _read(text)
    plain, heads = page.plain, page.heads
    sentences = list(_distinct_sentences(page))
    if not sentences:
        said = _said(plain) or " ".join(text.split())
        return [_Sentence(part, (), 1.0) for part in islice(_cut(said), 1)]
    weights = {term: n**0.6 for term, n in Counter(t for sentence in sentences for t in sentence.terms).items()}
    for term in _terms(_said(plain[heads[0].start : heads[0].end])) if heads else ():
        if term in weights:
            weights[term] *= 3

    places = list(accumulate((sentence.shape > 0.5 for sentence in sentences), initial=0))  # in the prose

    def worth(i: int) -> float:
        sentence = sentences[i]
        said: float = sum(weights[term] for term in sentence.terms) / (len(sentence.terms) + 4) ** 0.7
        return said * sentence.shape * (1 + 1 / (1 + places[i] / 2))

    heap = [(-worth(i), i) for i in range(len(sentences))]
    heapq.heapify(heap)
    chosen: list[int] = []
    while heap and len(chosen) < count:
        _, i = heapq.heappop(heap)
        now = -worth(i)
        if heap and now > heap[0][0]:
            heapq.heappush(heap, (now, i))
            continue
        chosen.append(i)
        for term in sentences[i].terms:
            weights[term] *= 0.3
    return [sentences[i] for i in sorted(chosen)]


def _distinct_sentences(page: _Page) -> Iterator[_Sentence]:
    """Each sentence once, by its words."""
    seen: set[tuple[str, ...]] = set()
    for said in _sentences(page):
        terms = _terms(said)
        key = terms or (said,)
        if key not in seen:
            seen.add(key)
            yield _Sentence(said, terms, _shape(said))


# -- phrases --------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Phrase:
    """A phrase of a text under its folded form."""

    words: int
    first: int  # where it first stands: text[first:end]
    end: int
    count: int = 0
    lower: int = 0  # times without a capital
    longer: int = 0  # times inside the commonest phrase that holds it
    small: tuple[int, int] | None = None  # where it first stands without a capital
    heading: bool = False  # whether it stands in one
    whole: bool = False  # whether it fills the space between two function words somewhere
    score: float = 0.0

    def span(self) -> tuple[int, int]:
        """Where it stands as it is mostly written."""
        return self.small if self.small is not None and 2 * self.lower >= self.count else (self.first, self.end)


class _Token(NamedTuple):
    word: str  # lower case
    start: int
    end: int
    capitals: int
    joined: bool  # only a blank, or a wrapped line, parts it from the one before
    heading: bool


def keyphrases(text: str, max_num: int = 5) -> list[str]:
    """The phrases that say what a text is about, best first, as they stand there; of two that overlap in words one.

    Candidates are runs of up to four content words (as in RAKE: Rose et al. 2010) that don't end in a verb or an
    adjective, as far as their neighbours and endings tell; in Chinese, strings of up to eight characters that are
    repeated. They are ranked by C-value: how often a phrase stands outside of longer ones, times the logarithm of its
    length (Frantzi, Ananiadou and Mima 2000); a Chinese string that only ever stands inside one longer string is so
    ruled out, as it is by accessor variety (Feng et al. 2004). Headings and the beginning count for more.
    """
    plain, phrases = _phrases(text)
    return _chosen(plain, phrases, max_num)


def themes(text: str, max_num: int = 10) -> list[str]:
    """The general subjects of a text, most important first: its key phrases in small letters of up to three words.

    In Chinese, those that are no names by pattern.
    """
    plain, phrases = _phrases(text)
    names = {normalise_name(name.text) for name in nlp.pattern_names(plain)} if _HAN.search(plain) else set()
    general = {
        key: phrase
        for key, phrase in phrases.items()
        if 2 * phrase.lower >= phrase.count and phrase.words <= 3 and key not in names
    }
    return _chosen(plain, general, max_num)


def _chosen(plain: str, phrases: dict[str, _Phrase], max_num: int) -> list[str]:
    """The best phrases, no one of which is part of another."""
    kept: dict[str, str] = {}
    covered: set[str] = set()  # parts of what is kept, and other spellings of it
    for key, phrase in sorted(phrases.items(), key=lambda item: (-item[1].score, item[1].first)):
        if len(kept) >= max_num or phrase.score <= 0:
            break
        parts = _inside(key)
        if key in covered or not parts.isdisjoint(kept) or not _threes(key).isdisjoint(covered):
            continue
        said = " ".join(plain[slice(*phrase.span())].split())
        if normalise_name(said) not in covered:
            kept[key] = said
            covered |= parts | {normalise_name(said)}
    return list(kept.values())


def _inside(key: str) -> set[str]:
    """The phrases that are part of a phrase, itself included."""
    units, glue = (list(key), "") if _HAN.match(key) else (key.split(), " ")
    return {glue.join(units[i:j]) for i in range(len(units)) for j in range(i + 1, len(units) + 1)}


def _threes(key: str) -> set[str]:
    """The parts of three characters of a Chinese phrase; one that has such a part of another is but its neighbour."""
    return {key[i : i + 3] for i in range(len(key) - 2)} if _HAN.match(key) else set()


def _phrases(text: str) -> tuple[str, dict[str, _Phrase]]:
    """(plain text, its phrases with their scores by their folded form)."""
    plain, _, heads, blocks = _read(text)
    tokens = list(_tokens(plain, blocks))
    phrases = _latin_phrases(tokens) if tokens else {}
    if _HAN.search(plain):
        phrases |= _chinese_phrases(plain, blocks)
    title = heads[0].end if heads and heads[0].start < 500 else 0
    for key, phrase in phrases.items():
        free = phrase.count - (1.0 if _HAN.match(key) else 0.8) * phrase.longer
        length = math.log2(phrase.words + 1)
        if phrase.count == 1:  # then its length may be chance
            length = math.sqrt(length)
        phrase.score = free * length * (1 + 1 / (1 + phrase.first / 600))
        phrase.score *= 2 if phrase.first < title else 1.3 if phrase.heading else 1
    return plain, phrases


def _tokens(plain: str, blocks: list[_Block]) -> Iterator[_Token]:
    """The words in scripts with letters."""
    for block in blocks:
        heading = block.kind == "heading"
        last = -2
        for match in _TOKEN.finditer(plain, block.start, block.end):
            start, end = match.span()
            word = match.group()
            if _HAN.match(word):
                continue
            joined = start == last + 1 and plain[last].isspace()
            if joined and plain[last] in "\r\n":
                joined = plain.rfind("\n", max(block.start, last - 45), last) < 0 and last - block.start >= 45
            last = end
            lower = word.lower().replace("’", "'")
            capitals = 0 if lower == word else sum(map(str.isupper, word))
            if lower.endswith("'s"):
                lower, end = lower[:-2], end - 2
            yield _Token(lower, start, end, capitals, joined, heading)


def _latin_phrases(tokens: list[_Token]) -> dict[str, _Phrase]:
    words = Counter(token.word for token in tokens)
    grammar = _Grammar(tokens, words)
    least = 1 if len(tokens) <= _SMALL else 2
    folded = {word: _singular(word) for word in words}
    counts: Counter[str] = Counter()
    for word, count in words.items():
        counts[folded[word]] += count
    phrases: dict[str, _Phrase] = {}
    for run in _runs(tokens, grammar):
        keys = [folded[token.word] for token in run]
        ends = [grammar.may_end(token, alone=len(run) == 1) for token in run]
        frequent = [counts[key] >= least for key in keys]
        for i in range(len(run)):
            if not grammar.may_begin(run[i]):
                continue
            for j in range(i + 1, min(i + _MAX_WORDS, len(run)) + 1):
                if not frequent[j - 1]:
                    break
                # a word alone only where it ends a run: before other words it may be an adjective
                if ends[j - 1] and (j > i + 1 or j == len(run)):
                    _count(phrases, " ".join(keys[i:j]), run[i:j], whole=j - i == len(run))
    # what is said once must be all that stands between two function words
    kept = {key: phrase for key, phrase in phrases.items() if phrase.count > 1 or (phrase.whole and least == 1)}
    return _nested(kept)


def _count(phrases: dict[str, _Phrase], key: str, run: list[_Token], whole: bool) -> None:
    span = run[0].start, run[-1].end
    phrase = phrases.get(key)
    if phrase is None:
        phrase = phrases[key] = _Phrase(len(run), *span)
    phrase.count += 1
    if not any(token.capitals for token in run):
        phrase.small = phrase.small or span
        phrase.lower += 1
    phrase.heading |= run[0].heading
    phrase.whole |= whole


def _nested(phrases: dict[str, _Phrase]) -> dict[str, _Phrase]:
    """With what each phrase occurs in the commonest longer one."""
    for key, phrase in phrases.items():
        units, glue = (list(key), "") if _HAN.match(key) else (key.split(), " ")
        for part in (units[1:], units[:-1]) if len(units) > 1 else ():
            inner = phrases.get(glue.join(part))
            if inner is not None:
                inner.longer = max(inner.longer, phrase.count)
    return phrases


class _Grammar:
    """What can be told of a text's words without a dictionary: by a list, by endings, by what stands before them."""

    def __init__(self, tokens: list[_Token], words: Counter[str]) -> None:
        self.stop: frozenset[str] | set[str] = _STOP
        self.english = sum(words[word] for word in nlp._STOP if word in words) >= 0.15 * len(tokens)
        self.verb: Counter[str] = Counter()
        self.noun: Counter[str] = Counter()
        self.small = {token.word for token in tokens if not token.capitals}
        if self.english:
            for before, token in pairwise(tokens):
                if token.joined and before.word in _BEFORE_VERB:
                    self.verb[token.word] += 1
                elif token.joined and before.word in _BEFORE_NOUN:
                    self.noun[token.word] += 1
                if token.joined and token.word in _AFTER_NOUN:
                    self.noun[before.word] += 1
        elif len(tokens) > 30:  # the short words of a language are mostly its function words, and so are its commonest
            often = max(3, len(tokens) // 200)
            self.stop = _STOP | {
                word for word in self.small if len(word) < 4 or (len(word) < 7 and words[word] >= often)
            }

    def breaks(self, token: _Token) -> bool:
        """Whether a word is in no phrase: a function word, a verb, an adverb, a stretch of data."""
        word = token.word
        if (
            word in self.stop
            or word.endswith(("n't", "'re", "'ve", "'ll", "'d", "'m"))
            or (len(word) < 2 and word.isalpha())
            or len(word) > _LONGEST_WORD
        ):
            return True
        if not self.english or self._name(token):
            return False
        return (word.endswith("ly") and len(word) > 5) or self.verb[word] > self.noun[word]

    def _name(self, token: _Token) -> bool:
        return token.capitals > 0 and token.word not in self.small

    def may_begin(self, token: _Token) -> bool:
        word = token.word
        verb = self.english and word.endswith("ed") and len(word) > 4 and not self._name(token) and not self.noun[word]
        return _HAS_LETTER.search(word) is not None and not verb

    def may_end(self, token: _Token, alone: bool) -> bool:
        word = token.word
        if len(word) < 3 and not token.capitals and not word[0].isdigit():
            return False
        if not self.english or self._name(token):
            return True
        if word.endswith("ed") and len(word) > 4:
            return False
        if word.endswith("ing") and len(word) > 5:
            return not alone or self.noun[word] > 1
        return not word.endswith(("ous", "ive", "ful", "able", "ible", "less", "ical", "ish")) or self.noun[word] > 2


def _runs(tokens: list[_Token], grammar: _Grammar) -> Iterator[list[_Token]]:
    """Stretches of words that may stand in a phrase."""
    run: list[_Token] = []
    for token in tokens:
        if run and not token.joined:
            yield run
            run = []
        number = _HAS_LETTER.search(token.word) is None  # at home behind a name: "Apollo 11"
        if grammar.breaks(token) or (number and not (run and run[-1].capitals)):
            if run:
                yield run
            run = []
        else:
            run.append(token)
    if run:
        yield run


def _chinese_phrases(plain: str, blocks: list[_Block]) -> dict[str, _Phrase]:
    """Strings of Chinese that are repeated; in a small text the short stretches between function words too."""
    spans: list[tuple[int, int]] = []
    titles: list[tuple[int, int]] = []
    for block in blocks:
        for match in _ZH_RUN.finditer(plain, block.start, block.end):
            start, end = match.span()
            if plain[start] in _ZH_COUNTED and plain[max(0, start - 2) : start].rstrip()[-1:].isdigit():
                start += 1
            spans.append((start, end))
            if block.kind == "heading":
                titles.append((start, end))
    starts = [at for start, end in spans for at in range(start, end - 1)]
    ends = dict.fromkeys(end for _, end in spans)
    phrases: dict[str, _Phrase] = {}
    for length in range(2, _MAX_CHARACTERS + 2):  # a string is repeated only if its parts are
        grams = [plain[at : at + length] for at in starts]
        counts = Counter(grams)
        held = {at for at, gram in zip(starts, grams, strict=True) if counts[gram] > 1}
        for at, gram in zip(starts, grams, strict=True):
            if at in held and gram not in phrases:
                phrases[gram] = _Phrase(length - 1, at, at + length, counts[gram], counts[gram])
        starts = [at for at in starts if at in held and at + 1 in held and at + length not in ends]
    phrases = _nested(phrases)
    kept = {key: phrase for key, phrase in phrases.items() if len(key) <= _MAX_CHARACTERS and _zh_word(key)}
    if sum(end - start for start, end in spans) <= _SMALL:
        for start, end in spans:
            if 2 <= end - start <= _MAX_CHARACTERS and plain[start:end] not in _ZH_COMMON:
                kept.setdefault(plain[start:end], _Phrase(end - start - 1, start, end, 1, 1))
    for start, end in titles:
        for key in _inside(plain[start : start + 60]) & kept.keys() if end - start > 1 else ():
            kept[key].heading = True
    return kept


def _zh_word(said: str) -> bool:
    if said in _ZH_COMMON or said[:2] in _ZH_COMMON or said[-2:] in _ZH_COMMON:
        return False
    first, last = said[0], said[-1]
    return (first not in _ZH_EDGE or first in _ZH_FIRST) and (last not in _ZH_EDGE or last in _ZH_LAST)


# -- title and topic ------------------------------------------------------------------------------


def title(text: str) -> str:
    """A heading for a text, of twelve words or thirty Chinese characters at most.

    The text's own where one stands at its beginning; or its first line, when that is short and ends without a full
    stop; or what its first sentence defines ("X is …"); or that sentence, when it is short; else, in Chinese, the
    clause that says most of the first sentences, and in other languages their key phrases.
    """
    page = _read(text)
    if not page.lines:
        return ""
    return next(filter(None, _titles(page)), "") or " ".join(text[:_LONGEST].split())[:_TITLE_CHARACTERS]


def _titles(page: _Page) -> Iterator[str]:
    """Titles that a text could have, the best first."""
    plain, lines, heads, _ = page
    if heads and heads[0].start < _LONGEST:
        yield _short(_said(plain[heads[0].start : heads[0].end]))
    first = _said(plain[lines[0].start : min(lines[0].end, lines[0].start + 200)])
    alone = len(lines) == 1 or lines[1].blank_before or not _wrapped(plain, lines[0], lines[1])
    if alone and _fits(first) and _HAS_LETTER.search(first) and not _SENTENCE_END.search(first):
        yield _tidy(first)
    lead = list(islice(_sentences(page), 3))
    if lead:
        yield _defined(lead[0])
        yield _tidy(lead[0]) if _fits(lead[0]) else ""
        yield _clause(lead)
        yield _short(", ".join(keyphrases(" ".join(lead), 3)))
        yield _short(lead[0])
    yield _short(first)


def _fits(said: str) -> bool:
    if len(_HAN.findall(said)) > len(said) / 3:
        return len(said) <= _TITLE_CHARACTERS
    return len(said.split()) <= _TITLE_WORDS and len(said) <= 120


def _short(said: str) -> str:
    """As much as fits into a title, cut at a mark where one is in the second half, else behind a word."""
    if _fits(said):
        return said
    if len(_HAN.findall(said)) > len(said) / 3:
        said = said[:_TITLE_CHARACTERS]
    else:
        said = " ".join(said.split()[:_TITLE_WORDS])[:120]
        said = said if len(said) < 120 or " " not in said else said.rsplit(" ", 1)[0]
    marks = [match.start() for match in re.finditer(r" [-–—|] |[:;,](?= )|[，；：、。！？]", said)]
    cut = next((mark for mark in reversed(marks) if mark > len(said) / 2), len(said))
    return _tidy(said[:cut])


def _tidy(said: str) -> str:
    """Without the marks of a sentence at its ends, and without quotation marks that lost their partner."""
    said = said.lstrip(_LEADING).rstrip(" |-–—.,:;，。、；：")
    for opening, closing in ('""', "“”", "「」", "『』"):
        if said.count(opening) % 2 if opening == closing else said.count(opening) != said.count(closing):
            said = said.strip(opening + closing + " ")
    return said


_DEFINED = re.compile(r"(?:An? )?((?:The )?[^\W\d_a-z][^,]{1,80}?),? (?:is|was|are|were) ")
_BRACKETS = re.compile(r" ?\([^()]{0,300}\)")


def _defined(said: str) -> str:
    """X of a sentence "X (…) is …"."""
    match = _DEFINED.match(_BRACKETS.sub("", said))
    words = match[1].split() if match else []
    first = words[words[:1] == ["The"]].lower() if words else ""
    return _tidy(" ".join(words)) if first and len(words) < 8 and first not in nlp._STOP else ""


def _clause(lead: list[str]) -> str:
    """The Chinese clause that says most of the beginning, if one fits into a title."""
    clauses = [clause for said in lead for clause in re.split(r"[，。：；！？,:;!?\s]+", said) if len(clause) > 5]
    clauses = [clause for clause in clauses if not _DANGLING.match(clause)] or clauses
    weights = Counter(term for clause in clauses for term in _terms(clause) if _HAN.match(term))

    def worth(clause: str) -> float:
        return sum(weights[term] for term in _terms(clause)) / math.sqrt(len(clause))

    return _tidy(max(filter(_fits, clauses), key=worth, default="")) if weights else ""


def topic_description(text: str) -> str:
    """What a text is about: its most central sentence, as `summary` finds it; where that is long, its key phrases."""
    said = summary(text, 1)
    return said if len(said) <= _LONG else ", ".join(keyphrases(text)) or said[:_LONG]


# -- names ----------------------------------------------------------------------------------------


def entities(text: str, max_num: int = 10, profile: nlp.Profile | None = None) -> list[str]:
    """The names in a text, the most frequent first, then in its order; no dates and no numbers.

    profile: how names are found; None: the best one installed. Spellings that `normalise_name` folds are one name,
    written as it first stands.
    """
    plain = _plain(text).replace(_GONE, " ")
    pieces = [plain[start:end] for start, end in _pieces(plain, 0, len(plain), _READ)] if plain.strip() else []
    counts: Counter[str] = Counter()
    written: dict[str, str] = {}
    for analysis in (profile or nlp.profile()).analyse(pieces) if pieces else ():
        for name in analysis.names:
            key = normalise_name(name.text)
            if name.type != "date" and _HAS_LETTER.search(key) and len(key) <= 4 * _LONGEST_WORD:
                counts[key] += 1
                written.setdefault(key, name.text)
    return [written[key] for key, _ in counts.most_common(max_num)]
