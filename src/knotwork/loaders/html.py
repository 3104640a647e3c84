"""HTML: what a reader sees, as lines; without menus and the like where enough remains."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from knotwork.graph import Document
from knotwork.loaders.documents import whole
from knotwork.loaders.encoding import decode
from knotwork.loaders.files import Found, read_bytes

_ENOUGH = 200  # characters that must remain without menus, headers and footers
_DEEPEST = 512  # elements in each other, as in browsers
_LONGEST_TAG = 10_000

_CHARSET = re.compile(
    rb"""<meta[^>]+charset\s*=\s*["']?\s*([\w.:-]+)|<\?xml[^>]+encoding\s*=\s*["']([\w.:-]+)""", re.IGNORECASE
)
# Possessive, and never failing: no way back, so its time is linear.
_TAG = re.compile(r"""<!--(?:-?>)?|-->|<(/?)([A-Za-z][\w:-]*)((?:=\s*+"[^"]*"|=\s*+'[^']*'|[^<>])*+)>?""")
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
    text = _text(top, frozenset(node.mem_id for node in tree.css(_BOILERPLATE)))
    if len(text) <= _ENOUGH:
        text = _text(top)
    yield whole(found, kind, decoded, text, _title(tree))


def _title(tree: LexborHTMLParser) -> str:
    for node in tree.css("title"):
        if node.parent is not None and node.parent.tag != "svg" and node.text().strip():
            return node.text()
    return _text(tree.css_first("h1"))


# -- text -----------------------------------------------------------------------------------------


def _text(top: LexborNode | None, left_out: frozenset[int] = frozenset()) -> str:
    """The text in an element, without the elements of these memory ids."""
    lines = _Lines()
    for node, entering in _walk(top, left_out):
        if node.is_text_node:
            if entering:
                lines.add(node.text_content or "")
        elif entering:
            lines.enter(node.tag or "")
        else:
            lines.leave(node.tag or "")
    return "".join(lines.pieces).strip("\n")


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

    def __init__(self) -> None:
        self.pieces: list[str] = []
        self.breaks = 0  # line ends due before the next text
        self.gap = ""  # what is due before the next text on the same line
        self.verbatim = 0  # how many <pre> we are in

    def enter(self, tag: str) -> None:
        if tag == "br":
            self.breaks = min(self.breaks + 1, 2)
        self.verbatim += tag == "pre"
        self.end_line(tag)

    def leave(self, tag: str) -> None:
        self.verbatim -= tag == "pre"
        self.end_line(tag)
        if tag in ("td", "th"):
            self.gap = "\t"

    def end_line(self, tag: str) -> None:
        due = 2 if tag in _PARAGRAPHS else 1 if tag in _LINES else 0
        self.breaks = max(self.breaks, due)

    def add(self, text: str) -> None:
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
            self.pieces.append("\n" * max(self.breaks - had, 0) if self.breaks else self.gap)
        self.pieces.append(text)
        self.breaks, self.gap = 0, ""


# -- markup ---------------------------------------------------------------------------------------


def _tamed(html: str) -> str:
    """The markup without tags that only mark words, elements nested too deep, and attributes of huge tags.

    A parser's time grows with the square of all three, and none of them is of use here. <x/> becomes <x></x>: meant
    so wherever it stands, but HTML would leave the element open to the end of the page.
    """
    return _TAG.sub(_Tamer().replacement, html)


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
