"""Web pages saved as text or Markdown: which of their lines are content, and which menus, share bars and footers.

Lines are judged as jusText judges blocks (Pomikálek 2011, Removing Boilerplate and Duplicate Content from Web Corpora):
first each by itself, by the share of link text in it and its length, then short ones by their neighbours. Only the page
itself is asked, never other documents: an index made file by file is the same as one made at once. In doubt a line
stays, and a text without signs of a saved page stays whole.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import date
from itertools import groupby
from typing import Literal

from knotwork.text import CJK

Span = tuple[int, int]
Kind = Literal["content", "boilerplate", "short", "picture", "blank"]

_ENOUGH = 200  # characters of content that must remain
_LINKED = 0.7  # share of link text from which a line is one of links
_LONG = 10  # words of a line that says something
_PROSE = 40  # words from which a line is prose, however many links are in it
_RUN = 4  # lines of links that are a menu
_FEW = 3  # lines of links that are none, inside the content
_BEFORE = 5  # short lines before the content that may be its title, author and date
_GAP = 40  # characters of boilerplate between content that are not worth a cut

_LINE = re.compile(r"[^\r\n]*(?:\r\n|\r|\n|\Z)")
# Runs are taken whole (*+ and ++): on a page of nothing but stars or blanks nothing is tried twice.
_TARGET = r"[^()\s]*+(?:\([^()]*+\)[^()\s]*+)*+"  # an address, which may have brackets of its own
_TITLE = r"(?:\s++[\"'][^\"']*+[\"'])?"
_IMAGE = re.compile(rf"!\[[^\[\]]*+\](?:\({_TARGET}{_TITLE}\))?")
_LINK = re.compile(rf"\[([^\[\]]*+)\]\(\s*+({_TARGET}){_TITLE}\s*+\)")
_BARE = re.compile(r"<?https?://[^\s<>()]+>?")
_MARKS = re.compile(r"[\s>]*+(?:[*+-]\s++(?:\[[ xX]\]\s*+)?|\d++\.\s++)?")
_UNDERLINE = re.compile(r"(?:={3,}|-{3,})$")
_RULE = re.compile(r"^[\s>*_=~·•|+-]*$")
_HEADING = re.compile(r"^\s*#{1,6}\s")
_WORD = re.compile(rf"(?:(?![{CJK}])[^\W_])+")
_HAN = re.compile(f"[{CJK}]")
_ENDS = re.compile(r"[.!?。！？…][\"'”’»)\]）」』]*$")
_BY = re.compile(r"(?:by|authors?|written by|作者|记者|文)\b\s*[:：]?\s*(?=\S)", re.IGNORECASE)
_DATED = re.compile(r"\b(?:1[89]|20)\d\d\b|年\d{1,2}月")

# What the frame of a page says; each must be the whole of a short line, or begin it.
_FRAME = (
    r"(?:skip|jump) to (?:main |primary )?(?:content|navigation|search|next paragraph)",
    r"(?:main |toggle )?(?:menu|navigation)\b",
    r"(?:sign|log) ?(?:in|up|out)\b",
    r"create (?:an )?account",
    r"(?:my )?account\b",
    r"subscribe|newsletter|follow us|share (?:this|on|via)",
    r"(?:share|print|email|e-mail|tweet|pin it|search|home|next|previous|hide|close(?: banner)?|edit(?: links)?)$",
    r"(?:facebook|twitter|linkedin|whatsapp|reddit|pinterest|instagram|youtube)$",
    r"(?:we|this (?:web)?site|our (?:web)?site|by continuing).{0,60}\bcookies?\b",
    r"(?:accept|manage|reject|show).{0,20}cookies",
    r"cookie (?:policy|settings|preferences|notice)|privacy (?:policy|notice|statement)|terms (?:of|and)",
    r"advertise(?:ment)?\b|sponsored|all rights reserved|copyright\b|©|contact us|about us|site ?map|back to top",
    r"related (?:articles|stories|posts|topics|content)|you (?:may|might) also like|(?:recommended|top) stories",
    r"read (?:more|next)|most (?:read|popular)|(?:leave|post|add) a comment|show (?:more|less)|load(?:ing)? more",
    r"move to sidebar|enlarge this image|please (?:don.t|do not) scroll|donate|remind me|go to top",
    r"(?:责任编辑|责编|编辑)[：:]|(?:来源|稿源)[：:].{0,12}$|点击(?:查看|进入|这里|阅读)|扫(?:一扫|码|描二维码)",
    r"分享(?:到|至)|版权(?:所有|声明)|返回(?:首页|顶部)|相关(?:阅读|新闻|推荐|链接)|热门(?:推荐|新闻)|登录|注册",
    r"首页|导航|关注我们|收藏本站|免责声明|广告(?:服务|$)|我要(?:评论|分享)|打印(?:本页)?$|关闭(?:窗口)?$",
    r"上一篇|下一篇|网站地图|联系我们|关于我们",
)
_CHROME = re.compile("|".join(_FRAME), re.IGNORECASE)
_FRAMES_ALL = re.compile(
    r"cookies?\b|rights reserved|subscri|newsletter|sign(?:ing)? (?:in|up)|版权|编辑|扫", re.IGNORECASE
)


_HEAD = 4_000  # characters in which a page states its address and date
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_ADDRESS = re.compile(
    r"^(?:URL Source|Source URL|URL|Canonical|原文链接|The Wayback Machine -)\s*[:：]?\s*(https?://[^\s<>]{3,2000})",
    re.MULTILINE | re.IGNORECASE,
)
_SAYS_DATE = re.compile(
    r"^[*_\s]*(?:published|posted|updated|date|发布时间|发布日期|时间|日期)(?: (?:on|time|online))?[*_]*\s*[:：]?\s*"
    r"((?:\d|[a-z]{3}).{5,30})",
    re.MULTILINE | re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Line:
    """A line of a page, with its line end: text[start:end]."""

    start: int
    end: int
    said: str  # what a reader sees of it: link texts, no images and addresses
    words: float
    linked: float  # share of link text in what is said
    links: int
    abroad: int  # links with a whole address, as a saved page has them and a text's author seldom
    heading: bool
    image: bool


def content_spans(text: str) -> list[Span] | None:
    """The spans of a saved page that are its content: at line borders, in order, none blank.

    None where the text is no saved page, or where nothing, or nearly all, of it would go.
    """
    if "](" not in text:
        return None
    lines = _underlined([_read(*match.span(), match.group()) for match in _LINE.finditer(text) if match.group()])
    return spans_of(text, lines) if _is_page(lines, [_kind(line) for line in lines]) else None


def spans_of(text: str, lines: Sequence[Line]) -> list[Span] | None:
    """The same of a text that is known to be a page, by its lines."""
    kinds = [_kind(line) for line in lines]
    said = Counter(line.said for line, kind in zip(lines, kinds, strict=True) if kind == "short")
    kinds = [
        "boilerplate" if kind == "short" and said[line.said] > 2 else kind
        for line, kind in zip(lines, kinds, strict=True)
    ]
    spans = _spans(text, lines, _by_neighbours(lines, _few_links(lines, kinds)))
    kept = sum(end - start for start, end in spans)
    whole = len(spans) == 1 and not (text[: spans[0][0]] + text[spans[0][1] :]).strip()
    return None if kept < _ENOUGH or whole else spans


def words_of(said: str) -> float:
    """About how many words a reader sees in a line: of Chinese, one for 1.7 characters."""
    return len(_WORD.findall(said)) + len(_HAN.findall(said)) / 1.7


def page_facts(text: str) -> dict[str, str]:
    """The "url" and "date" (a day, ISO 8601) that the first lines of a saved page state, as far as they do."""
    head = text[:_HEAD]
    address, said = _ADDRESS.search(head), _SAYS_DATE.search(head)
    facts = {"url": address.group(1) if address else "", "date": _day(said.group(1)) if said else ""}
    return {key: value for key, value in facts.items() if value}


def _day(said: str) -> str:
    """ "April 9, 2010", "9 April 2010", "2010-04-09" or "2010年4月9日" as the last but one; "" for anything else."""
    if match := re.match(r"(\d{4})[-/.年](\d{1,2})[-/.月](\d{1,2})(?!\d)", said):
        year, month, day = map(int, match.groups())
    elif match := re.match(
        r"(?:([A-Za-z]{3,9})\.? )?(\d{1,2})(?:st|nd|rd|th)?(?: ([A-Za-z]{3,9})\.?)?,? (\d{4})(?!\d)", said
    ):
        name = (match.group(1) or match.group(3) or "")[:3].lower()
        month = _MONTHS.index(name) + 1 if name in _MONTHS else 0
        day, year = int(match.group(2)), int(match.group(4))
    else:
        return ""
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return ""


# -- one line -------------------------------------------------------------------------------------


def _read(start: int, end: int, raw: str) -> Line:
    without = _IMAGE.sub(" ", raw)
    anchors: list[str] = []
    abroad = 0

    def anchor(match: re.Match[str]) -> str:
        nonlocal abroad
        anchors.append(match.group(1))
        abroad += match.group(2).startswith(("http:", "https:", "//", "javascript:", "mailto:"))
        return f" {match.group(1)} "

    shown = _BARE.sub(" ", _LINK.sub(anchor, without))
    said = " ".join(_MARKS.sub("", shown, count=1).rstrip(" \t\r\n*_|").strip("# \t").split())
    linked = sum(len("".join(one.split())) for one in anchors) / max(len("".join(said.split())), 1)
    heading, image = bool(_HEADING.match(raw)), without != raw
    return Line(start, end, said, words_of(said), min(linked, 1.0), len(anchors), abroad, heading, image)


def _underlined(lines: list[Line]) -> list[Line]:
    """Lines with a rule of = or - under them are headings."""
    found = list(lines)
    for at in range(1, len(lines)):
        one = lines[at - 1]
        if one.said and _UNDERLINE.match(lines[at].said) and not (one.heading or _RULE.match(one.said)):
            found[at - 1] = replace(one, heading=True)
    return found


def _kind(line: Line) -> Kind:
    if not line.said or _RULE.match(line.said):
        return "boilerplate" if line.links else "picture" if line.image else "blank"
    if line.words >= _PROSE:
        return "content" if line.linked < 0.9 else "boilerplate"
    if line.heading:
        return "short"
    if _is_frame(line):
        return "boilerplate"
    if line.linked >= _LINKED and not _BY.match(line.said):
        row = "\t" in line.said  # of a table, whose links may be its content
        return "boilerplate" if line.links and not row else "short"
    unlinked = line.words * (1 - line.linked)
    return "content" if unlinked >= _LONG or (unlinked >= 5 and _ENDS.search(line.said)) else "short"


def _is_frame(line: Line) -> bool:
    """Whether a line is one of a page's frame, by its words; not a sentence that only begins with one of them."""
    if line.words > 12 or not _CHROME.match(line.said):
        return False
    sentence = line.words >= 5 and line.linked < 0.5 and _ENDS.search(line.said) is not None
    return not sentence or _FRAMES_ALL.search(line.said) is not None


def _is_page(lines: Sequence[Line], kinds: Sequence[Kind]) -> bool:
    """Whether a text shows the signs of a saved page: words of its frame, menus, pictures; and prose beside them."""
    filled = [(line, kind) for line, kind in zip(lines, kinds, strict=True) if kind != "blank"]
    framed = len({line.said.lower()[:20] for line, _ in filled if _is_frame(line)})
    menus = sum(
        linked and len(list(run)) >= _RUN
        for linked, run in groupby(filled, key=lambda one: one[1] == "boilerplate" and one[0].abroad > 0)
    )
    pictures = any(line.image for line, _ in filled)
    prose = any(kind == "content" for _, kind in filled)
    return prose and framed + menus + pictures >= 2


# -- by neighbours --------------------------------------------------------------------------------


def _few_links(lines: Sequence[Line], kinds: Sequence[Kind]) -> list[Kind]:
    """Inside the content a line or two of links are a reference, not a menu: they count as short lines."""
    found = list(kinds)
    first, last = _region(kinds)
    order = [at for at in range(first, last) if kinds[at] not in ("blank", "picture")]
    for linked, run in groupby(order, key=lambda at: kinds[at] == "boilerplate"):
        places = list(run)
        if linked and len(places) < _FEW and not any(_is_frame(lines[at]) for at in places):
            for at in places:
                found[at] = "short" if lines[at].said else kinds[at]
    return found


def _region(kinds: Sequence[Kind]) -> Span:
    """From the first line that is content by itself to behind the last."""
    content = [at for at, kind in enumerate(kinds) if kind == "content"]
    return (content[0], content[-1] + 1) if content else (0, 0)


def _by_neighbours(lines: Sequence[Line], kinds: Sequence[Kind]) -> list[Kind]:
    """Each run of short lines as what stands around it."""
    found = list(kinds)
    first, behind_last = _region(kinds)
    order = [at for at, kind in enumerate(kinds) if kind not in ("blank", "picture")]
    at = 0
    while at < len(order):
        last = at
        while last < len(order) and kinds[order[last]] == "short":
            last += 1
        if last > at:
            before = kinds[order[at - 1]] if at else "boilerplate"
            behind = kinds[order[last]] if last < len(order) else "boilerplate"
            inside = first <= order[at] < behind_last
            settled = _settled(lines, order[at:last], before, behind, inside)
            for place, kind in zip(order[at:last], settled, strict=True):
                found[place] = kind
        at = max(last, at + 1)
    return found


def _settled(lines: Sequence[Line], run: Sequence[int], before: Kind, behind: Kind, inside: bool) -> list[Kind]:
    if before == "content" and behind == "content":
        return ["content"] * len(run)
    if before == "content":  # the end of the content: what is headed belongs to what follows
        headed = next((at for at, place in enumerate(run) if lines[place].heading), len(run))
        return ["content" if at < headed else "boilerplate" for at in range(len(run))]
    if behind == "content":
        headed = next((at for at, place in enumerate(run) if lines[place].heading), max(len(run) - _BEFORE, 0))
        return ["content" if at >= headed else "boilerplate" for at in range(len(run))]
    return ["content" if inside and len(run) < _RUN else _lone(lines[place]) for place in run]


def _lone(line: Line) -> Kind:
    """A short line among boilerplate is content when it says something in words of its own."""
    telling = line.words >= 6 and line.linked < 0.5 and not _is_frame(line)
    return "content" if telling or _DATED.search(line.said) else "boilerplate"


def _spans(text: str, lines: Sequence[Line], kinds: Sequence[Kind]) -> list[Span]:
    spans: list[Span] = []
    dropped = 0  # characters since the last content
    for line, kind in zip(lines, kinds, strict=True):
        if kind == "content":
            if spans and dropped <= _GAP:
                spans[-1] = (spans[-1][0], line.end)
            else:
                spans.append((line.start, line.end))
            dropped = 0
        elif kind != "blank":
            dropped += line.end - line.start
    return [span for span in spans if text[slice(*span)].strip()]
