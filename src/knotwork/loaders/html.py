"""HTML: what a reader sees, as lines; without menus and the like where enough remains."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from selectolax.lexbor import LexborHTMLParser, LexborNode

from knotwork.graph import Document
from knotwork.loaders.boilerplate import Line, spans_of, words_of
from knotwork.loaders.documents import outline_of, whole
from knotwork.loaders.encoding import decode
from knotwork.loaders.files import Found, read_bytes

Heading: TypeAlias = tuple[int, int, int]
"""(start, end, level) in the text; level 1 is the outermost."""

_HEADINGS = frozenset(["h1", "h2", "h3", "h4", "h5", "h6"])
_LONGEST_CELL = 300  # characters of a table's cell that belongs on one line
_ENOUGH = 200  # characters that must remain without menus, headers and footers
_DEEPEST = 512  # elements in each other, as in browsers
_LONGEST_TAG = 10_000

_CHARSET = re.compile(
    rb"""<meta[^>]+charset\s*=\s*["']?\s*([\w.:-]+)|<\?xml[^>]+encoding\s*=\s*["']([\w.:-]+)""", re.IGNORECASE
)
# Possessive, and never failing: no way back, so its time is linear.
_TAG = re.compile(r"""<!--(?:-?>)?|-->|<(/?)([A-Za-z][\w:-]*)((?:=\s*+"[^"]*"|=\s*+'[^']*'|[^<>])*+)>?""")
_ANY_TAG = re.compile(r"<[^<>]*>")
_LINK_BEGINS, _LINK_ENDS = "\x02", "\x03"  # stand in the markup for <a> and </a>
_LINK_MARK = re.compile("([\x02\x03])")
_LINE = re.compile(r"[^\n]*\n|[^\n]+\Z")
_DAY = re.compile(r"(\d{4})-?(\d\d)-?(\d\d)(?!\d)")
_DATES = (
    "article:published_time",
    "datepublished",
    "date",
    "dc.date",
    "dc.date.issued",
    "dcterms.date",
    "dcterms.created",
    "citation_publication_date",
    "pubdate",
    "publishdate",
    "article:modified_time",
    "last-modified",
)
_SPACE = re.compile(r"[ \t\r\n\f\xa0]+")
_INVISIBLE = re.compile("[\xad\u200b\u2060\ufeff]")  # places where a word may be broken, not characters of it

_ROLES = ("navigation", "banner", "contentinfo", "complementary", "search", "menu", "menubar")
_BOILERPLATE = ", ".join(["nav", "footer", "aside", *(f"[role={role} i]" for role in _ROLES)])


def _names(names: str) -> frozenset[str]:
    return frozenset(names.split())


_UNSEEN = _names(
    "audio button canvas datalist embed head iframe noscript object rp rt script select style svg template textarea "
    "title video"
)
_PARAGRAPHS = _names("blockquote dl figure h1 h2 h3 h4 h5 h6 hr ol p pre table ul")
_LINES = _names(
    "address article aside body caption center dd details dialog dir div dt fieldset figcaption footer form frameset "
    "header hgroup html legend li main menu nav section summary tbody tfoot thead tr"
)
# Elements that only mark words: their tags add nothing to the text, and mending their nesting costs a parser dearly.
_MARKS = _names(
    "a abbr acronym b big cite code del dfn em font i ins kbd mark nobr q s samp small span strike strong sub sup tt "
    "u var"
)
_RAW = _names("iframe noembed noframes script style textarea title xmp")  # tags in them are none
_VOID = _names("area base basefont bgsound br col embed frame hr img input keygen link meta param source track wbr")
_CLOSED_BY_OTHERS = _names(
    "body caption colgroup dd dt head html li optgroup option p rb rp rt rtc tbody td tfoot th thead tr"
)


def load(found: Found, kind: str) -> Iterator[Document]:
    data = read_bytes(found)
    declared = _CHARSET.search(data[:4096])
    label = (declared.group(1) or declared.group(2)).decode("ascii", "replace") if declared else ""
    decoded = decode(data, label)
    tree = LexborHTMLParser(_tamed(decoded.text))
    top = tree.body or tree.root
    page = _render(top, frozenset(node.mem_id for node in tree.css(_BOILERPLATE)))
    if len(page.text) <= _ENOUGH:
        page = _render(top)
    document = whole(found, kind, decoded, page.text, _title(tree))
    more: dict[str, Any] = {**_facts(tree), **outline_of(page.text, page.headings)}
    if spans := spans_of(page.text, _lines_of(page)):
        more["body"] = [list(span) for span in spans]
    yield replace(document, metadata={**document.metadata, **more})


def read_markup(markup: str) -> tuple[str, tuple[Heading, ...]]:
    """The text of some HTML, all of it, with its headings."""
    tree = LexborHTMLParser(_tamed(markup))
    page = _render(tree.body or tree.root)
    return page.text, page.headings


def _title(tree: LexborHTMLParser) -> str:
    for node in tree.css("title"):
        if node.parent is not None and node.parent.tag != "svg" and node.text().strip():
            return node.text()
    return _render(tree.css_first("h1")).text


def _facts(tree: LexborHTMLParser) -> dict[str, str]:
    """The day and the canonical address that a page states of itself."""
    said: dict[str, str] = {}
    for node in tree.css("meta[content]"):
        attributes = node.attributes
        name = attributes.get("property") or attributes.get("name") or attributes.get("itemprop") or ""
        said.setdefault(name.lower(), (attributes.get("content") or "").strip())
    facts: dict[str, str] = {}
    for name in _DATES:
        if day := _DAY.match(said.get(name, "")):
            facts["date"] = "-".join(day.groups())
            break
    else:
        times = (_DAY.match(node.attributes.get("datetime") or "") for node in tree.css("time[datetime]")[:1])
        facts.update(("date", "-".join(day.groups())) for day in times if day)
    link = tree.css_first("link[rel=canonical i]")
    for address in (link.attributes.get("href") if link is not None else None, said.get("og:url")):
        if address and _is_address(address):
            facts["url"] = address
            break
    return facts


def _is_address(said: str) -> bool:
    try:
        parts = urlsplit(said)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.netloc) and len(said) <= 2_000


# -- text -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Page:
    """What a reader sees: the text, its headings, and the spans of it that are links, in order."""

    text: str
    headings: tuple[Heading, ...]
    links: tuple[tuple[int, int], ...]


def _lines_of(page: _Page) -> list[Line]:
    """The lines of a page as they are judged: how much of each is link."""
    headed = {start for start, _, _ in page.headings}
    lines: list[Line] = []
    at = 0
    for match in _LINE.finditer(page.text):
        start, end = match.span()
        while at < len(page.links) and page.links[at][1] <= start:
            at += 1
        inside = page.links[at : bisect_left(page.links, (end, 0), at)]
        said = match.group().strip()
        linked = min(sum(min(stop, end) - max(begin, start) for begin, stop in inside) / max(len(said), 1), 1.0)
        count = len(inside)
        lines.append(Line(start, end, said, words_of(said), linked, count, count, start in headed, image=False))
    return lines


def _render(top: LexborNode | None, left_out: frozenset[int] = frozenset()) -> _Page:
    """What is seen of an element, without the elements of these memory ids."""
    lines = _Lines(_cells(top, left_out))
    for node, entering in _walk(top, left_out):
        if node.is_text_node:
            if entering and node.parent is not None and node.parent.tag == "noframes":
                lines.add(_SPACE.sub(" ", _ANY_TAG.sub(" ", node.text_content or "")))  # which parsers leave as it is
            elif entering:
                lines.add(node.text_content or "")
        elif entering:
            lines.enter(node)
        else:
            lines.leave(node)
    return lines.result()


def _cells(top: LexborNode | None, left_out: frozenset[int]) -> frozenset[int]:
    """The table cells, by memory id, that belong on one line: short ones without a table in them.

    Others lay out a page, as old ones do.
    """
    cells: list[int] = []
    open_cells: list[list[int]] = []  # of each cell we are in: characters and tables met before it
    length = tables = 0
    for node, entering in _walk(top, left_out):
        if node.is_text_node:
            length += len(node.text_content or "") if entering else 0
        elif node.tag == "table":
            tables += entering
        elif node.tag in ("td", "th"):
            if entering:
                open_cells.append([length, tables])
            elif open_cells:
                before = open_cells.pop()
                if length - before[0] <= _LONGEST_CELL and tables == before[1]:
                    cells.append(node.mem_id)
    return frozenset(cells)


def _walk(top: LexborNode | None, left_out: frozenset[int]) -> Iterator[tuple[LexborNode, bool]]:
    """Nodes on entering (True) and on leaving (False). No recursion; no == between nodes, which compares their HTML."""
    node, depth = top, 0
    while node is not None:
        if node.tag not in _UNSEEN and node.mem_id not in left_out:
            yield node, True
            child = node.first_child
            if child is not None:
                node, depth = child, depth + 1
                continue
            yield node, False
        while depth and node.next is None and node.parent is not None:
            node, depth = node.parent, depth - 1
            yield node, False
        node = node.next if depth else None


class _Lines:
    """Takes text as it comes and sets blanks and line ends as a browser would."""

    def __init__(self, cells: frozenset[int]) -> None:
        self.cells = cells
        self.pieces: list[str] = []
        self.length = 0
        self.breaks = 0  # line ends due before the next text
        self.gap = ""  # what is due before the next text on the same line
        self.verbatim = 0  # how many <pre> we are in
        self.in_cell = 0  # how many cells of one line we are in
        self.heading: tuple[int, int] | None = None  # level of the one we are in, and the pieces before it
        self.headings: list[Heading] = []
        self.linked = False  # whether we are in a link
        self.links: list[tuple[int, int]] = []

    def enter(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag == "br":
            self.end_line(1 if self.breaks < 1 else 2)
        self.verbatim += tag == "pre"
        self.end_line(_breaks(tag))
        self.in_cell += node.mem_id in self.cells
        if tag in _HEADINGS:
            self.heading = int(tag[1]), len(self.pieces)

    def leave(self, node: LexborNode) -> None:
        tag = node.tag or ""
        if tag in _HEADINGS and self.heading is not None:
            level, before = self.heading
            said = self.pieces[before:]
            if said and not said[0].strip():
                said = said[1:]  # what parts it from the text above
            start = self.length - sum(map(len, said))
            if said:
                self.headings.append((start, self.length, level))
            self.heading = None
        self.verbatim -= tag == "pre"
        self.end_line(_breaks(tag))
        self.in_cell -= node.mem_id in self.cells
        if tag in ("td", "th"):
            self.gap = "\t"

    def end_line(self, due: int) -> None:
        if due and self.in_cell:
            self.gap = self.gap or " "
        else:
            self.breaks = max(self.breaks, due)

    def add(self, text: str) -> None:
        for piece in _LINK_MARK.split(text):
            if piece in (_LINK_BEGINS, _LINK_ENDS):
                self.linked = piece == _LINK_BEGINS
            elif piece:
                self.add_piece(piece)

    def add_piece(self, text: str) -> None:
        if self.verbatim:
            self.put(text)
            return
        line = _SPACE.sub(" ", _INVISIBLE.sub("", text))
        words = line.strip(" ")
        if line.startswith(" "):
            self.gap = self.gap or " "
        if words:
            self.put(words)
            self.gap = " " if line.endswith(" ") else ""

    def put(self, text: str) -> None:
        if self.pieces:
            # A <pre> often ends with a line end of its own.
            had = self.breaks and len(self.pieces[-1]) - len(self.pieces[-1].rstrip("\n"))
            self.append("\n" * max(self.breaks - had, 0) if self.breaks else self.gap)
        if self.linked:
            self.links.append((self.length, self.length + len(text)))
        self.append(text)
        self.breaks, self.gap = 0, ""

    def append(self, piece: str) -> None:
        self.pieces.append(piece)
        self.length += len(piece)

    def result(self) -> _Page:
        joined = "".join(self.pieces)
        text = joined.lstrip("\n")
        before = len(joined) - len(text)
        text = text.rstrip("\n")
        headings = ((start - before, end - before, level) for start, end, level in self.headings)
        links = ((start - before, end - before) for start, end in self.links)
        return _Page(
            text,
            tuple(heading for heading in headings if 0 <= heading[0] < heading[1] <= len(text)),
            tuple(link for link in links if 0 <= link[0] < link[1] <= len(text)),
        )


def _breaks(tag: str) -> int:
    return 2 if tag in _PARAGRAPHS else 1 if tag in _LINES else 0


# -- markup ---------------------------------------------------------------------------------------


def _tamed(html: str) -> str:
    """The markup without tags that only mark words, elements nested too deep, and attributes of huge tags.

    A parser's time grows with the square of all three, and none of them is of use here. <x/> becomes <x></x>: meant
    so wherever it stands, but HTML would leave the element open to the end of the page.
    """
    return _TAG.sub(_Tamer().replacement, _LINK_MARK.sub("", html))


class _Tamer:
    """Follows the tags of one page. What it can't follow only loses its taming: the parser has the last word."""

    def __init__(self) -> None:
        self.open: list[str] = []
        self.count: Counter[str] = Counter()  # of the names in `open`
        self.until = ""  # the tag that ends a comment or raw text

    def replacement(self, match: re.Match[str]) -> str:
        whole = match.group()
        name = (match.group(2) or "").lower()
        closing = bool(match.group(1))
        if self.until:
            if whole == self.until or (closing and name == self.until):
                self.until = ""
            return whole
        if not name:
            self.until = "-->" if whole == "<!--" else ""
            return whole
        if name == "a":  # its nesting costs a parser dearly; that there is a link is worth knowing
            return _LINK_ENDS if closing else _LINK_BEGINS
        if name in _MARKS:
            return ""
        attributes = match.group(3) if len(whole) <= _LONGEST_TAG else ""
        if name in _VOID:
            return f"<{name}{attributes}>"
        if closing:
            return whole if self.close(name) else "<br>"
        if attributes.endswith("/"):
            return f"<{name}{attributes}></{name}>"
        if name in _RAW:
            self.until = name
        elif name not in _CLOSED_BY_OTHERS:
            self.open.append(name)
            self.count[name] += 1
        if len(self.open) > _DEEPEST and name not in _RAW:
            return "<br>"
        return f"<{name}{attributes}>" if whole.endswith(">") else whole

    def close(self, name: str) -> bool:
        """Whether the element to close was let through."""
        if not self.count[name]:
            return len(self.open) <= _DEEPEST
        while True:
            last = self.open.pop()
            self.count[last] -= 1
            if last == name:
                return len(self.open) < _DEEPEST
