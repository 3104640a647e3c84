"""Bytes to text: which encoding, and whether it is text at all."""

from __future__ import annotations

import codecs
import re
import unicodedata
from dataclasses import dataclass

from knotwork.loaders.files import Unreadable

_HEAD = 8 * 1024
_SAMPLE = 256 * 1024
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_MAGIC = (
    (b"%PDF-", "PDF"),
    (b"PK\x03\x04", "ZIP or office"),
    (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "old office"),
    (b"{\\rtf", "RTF"),
)
# Control characters that occur in texts: tab, line and page breaks, escape (colours), backspace (overstriking).
_CONTROLS = bytes(sorted({*range(32), 127} - {*b"\t\n\v\f\r\x1b\b"}))

# What running text in each East Asian encoding is full of. Decoded with the wrong one, text holds next to none of it:
# this tells them apart from ten characters on, where statistical detectors still take GB18030 for Big5 or Korean.
_CHINESE = (
    "的一是在不了有和人这中大为上个国我以要他时来用们生到作地于出就分对成会可主发年动同工也能下过子说产种面而方后多定行学"
    "法所民得经三之进着等部度家电力里如水化高自二理起小物现实加量都两体制机当使点从业本去把性好应开它合还因由其些然前外天"
    "政四日那社义事平形相全表间样与关各重新线内数正心反你明看原又么利比或但质气第向道命此变条只没结解问意建月公无系军很情"
    "這為個國時來們動過說產種麼會發對經進裡電點業應開還與關線內數體質氣變條沒結問無軍題黨員總設長頭資邊級圖統將組見計別幾"
    "區強決幹戰則據處實當間樣後學現機從於，。、；：“”「」《》（）？！"
)
_HIRAGANA = "".join(map(chr, range(0x3041, 0x3094)))
_JAPANESE = _HIRAGANA + "ーアイウエオカキクコサシスセタチッテトナニネノハフプマムメモャュラリルレロワンドグジバ、。「」"
_KOREAN = (
    "이다는의에을가고로하한지은를도사서기시인대자나리아그있어들해정수여전것게만부과일라보상스제장주와원으니소조구공성국년신동안"
    "화문유생면비우선적무중세방경당모실영위개연관진미치바마데"
)
_EAST_ASIAN = (
    ("gb18030", frozenset(_CHINESE)),
    ("big5hkscs", frozenset(_CHINESE)),
    ("cp932", frozenset(_JAPANESE)),
    ("euc_jp", frozenset(_JAPANESE)),
    ("cp949", frozenset(_KOREAN)),
)
# Of the Latin letters beyond ASCII, those that Western and those that Central Europe writes.
_WESTERN = frozenset("àáâãäåæçèéêëìíîïñòóôõöøùúûüßœ’‘“”–—…«»°£€¿¡·•±©®§²³½ÀÁÄÅÇÉÈÊÍÓÖØÚÜÑ\xa0")
_CENTRAL = frozenset("ąćęłńóśźżáčďéěíňřšťúůýžäôĺľŕöüőűăâîșțĄĆĘŁŃÓŚŹŻÁČĎÉĚÍŇŘŠŤÚŮÝŽÖÜŐŰ„”“–—…«»°€§\xa0")
_LATIN = (("cp1252", _WESTERN), ("cp1250", _CENTRAL))
_ALPHABETS = ["cp1251", "koi8_r", "cp1253", "cp1252"]

# Labels that pages declare, and the encoding that they mean in practice (a superset of what they say).
_MEANT = {
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "big5": "big5hkscs",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "ascii": "cp1252",
    "iso8859-1": "cp1252",
    "iso8859-9": "cp1254",
}
_DECLARABLE = re.compile(r"(gb|big5|cp932|cp949|cp125|euc_|shift_jis|iso2022_jp|iso8859|koi8|mac|tis)")


@dataclass(frozen=True, slots=True)
class Decoded:
    """A text without its byte order mark; `replaced` bad places stand in it as U+FFFD."""

    text: str
    encoding: str
    replaced: int = 0

    @property
    def notes(self) -> dict[str, str | int]:
        """What a Document's metadata says of it: nothing for plain UTF-8."""
        notes: dict[str, str | int] = {}
        if self.encoding != "utf-8" or self.replaced:
            notes["encoding"] = self.encoding
        if self.replaced:
            notes["replaced"] = self.replaced
        return notes


def decode(data: bytes, declared: str = "", *, drop_nul: bool = False) -> Decoded:
    """The text of a file. Unreadable when it is binary or blank.

    By byte order mark, else UTF-8, else as `declared`, else told from the bytes; a few bad bytes in UTF-8 are
    replaced. `drop_nul` takes NUL characters out, which some programs pad tables with, instead of calling it binary.
    """
    for magic, kind in _MAGIC:
        if data.startswith(magic):
            raise Unreadable(f"by its first bytes a {kind} file, which cannot be read by this version")
    decoded = _by_mark(data) or _utf16_unmarked(data)
    if decoded is None:
        if drop_nul:
            data = data.replace(b"\0", b"")
        if reason := _binary(data[:_HEAD]):
            raise Unreadable(reason)
        decoded = _unmarked(data, declared)
    elif drop_nul:
        decoded = Decoded(decoded.text.replace("\0", ""), decoded.encoding, decoded.replaced)
    if decoded.replaced * 3 > len(decoded.text):
        raise Unreadable(f"looks binary (as {decoded.encoding}, {decoded.replaced} characters are not valid)")
    if not decoded.text:
        raise Unreadable("empty")
    if decoded.text.isspace():
        raise Unreadable("holds only white space")
    return decoded


def _by_mark(data: bytes) -> Decoded | None:
    for mark, encoding in _BOMS:
        if data.startswith(mark):
            decoded = _lenient(data[len(mark) :], encoding)
            if encoding != "utf-32-le" or not decoded.replaced:  # else UTF-16 whose first character is NUL
                return decoded
    return None


def _binary(head: bytes) -> str:
    """Why these bytes are no text, "" when they may be one."""
    if b"\0" in head:
        return "looks binary (it holds NUL bytes)"
    controls = len(head) - len(head.translate(None, _CONTROLS))
    many = controls * 50 > len(head)
    return f"looks binary ({controls} control characters in its first {len(head):,} bytes)" if many else ""


def _unmarked(data: bytes, declared: str) -> Decoded:
    try:
        return Decoded(data.decode("utf-8"), "utf-8")
    except UnicodeDecodeError as error:
        sample = _sample(data, error.start)
    encoding = _declarable(declared)
    if encoding and _bad(sample.decode(encoding, "replace")) <= len(sample) // 100:
        return _lenient(data, encoding)
    guess = _lenient(sample, "utf-8")
    if _beyond_ascii(guess.text) >= 3 * guess.replaced:  # at least two good characters for a bad one
        return _lenient(data, "utf-8")
    return _lenient(data, _east_asian(sample) or _single_byte(sample))


def _lenient(data: bytes, encoding: str) -> Decoded:
    text = data.decode(encoding, "replace")
    replaced = _bad(text)
    own = "\ufffd".encode(encoding, "ignore")  # the file may hold some itself, where its encoding has them
    if replaced and own:
        replaced = max(replaced - data.count(own), 0)
    return Decoded(text, encoding, replaced)


def _sample(data: bytes, start: int) -> bytes:
    """From where the text stops being UTF-8, and some from the middle of the rest."""
    start = max(0, start - 1024)
    middle = (start + len(data)) // 2
    head = data[start : start + _SAMPLE]
    return head if middle < start + _SAMPLE else head + b"\n" + data[middle : middle + _SAMPLE // 4]


def _bad(text: str) -> int:
    return text.count("\ufffd")


def _beyond_ascii(text: str) -> int:
    return len(text) - len(text.encode("ascii", "ignore"))


def _share(sample: bytes, encoding: str, usual: frozenset[str]) -> float:
    """Of the characters beyond ASCII, decoded so, the share of usual ones; 0 when over 2 % cannot be decoded."""
    text = sample.decode(encoding, "replace")
    beyond = _beyond_ascii(text)
    if not beyond or _bad(text) * 50 > beyond:
        return 0.0
    return sum(char in usual for char in text) / beyond


def _east_asian(sample: bytes) -> str | None:
    shares = [(_share(sample, encoding, usual), encoding) for encoding, usual in _EAST_ASIAN]
    best, encoding = max(shares, key=lambda share: share[0])
    return encoding if best >= 0.1 else None


def _single_byte(sample: bytes) -> str:
    runs = re.findall(rb"[\x80-\xff]+", sample)
    if len(runs) >= 4 and all(len(run) % 2 == 0 for run in runs) and not _bad(sample.decode("gb18030", "replace")):
        return "gb18030"  # names and the like, without any usual character, but in pairs of bytes throughout
    letters = re.findall(rb"[\xc0-\xff]+", sample)
    together = sum(len(run) for run in letters if len(run) > 1)
    # Latin letters beyond ASCII stand alone among others; Cyrillic and Greek ones stand together.
    if together >= 4 and together * 2 > sum(map(len, letters)):
        from charset_normalizer import from_bytes

        best = from_bytes(sample, cp_isolation=_ALPHABETS, threshold=0.9, enable_fallback=False).best()
        if best:
            return best.encoding
    share, encoding = max(((_share(sample, *entry), entry[0]) for entry in _LATIN), key=lambda share: share[0])
    return encoding if share >= 0.5 else "utf-8"  # no language's letters: damage, not an encoding


def _declarable(label: str) -> str | None:
    try:
        name = codecs.lookup(label.strip()).name if label else ""
    except (LookupError, ValueError):  # a label nobody knows says nothing
        return None
    return _MEANT.get(name, name) if _DECLARABLE.match(name) or name in _MEANT else None


def _utf16_unmarked(data: bytes) -> Decoded | None:
    """UTF-16 without a mark: what would be binary, and read so is full of letters in common use."""
    head = data[:_HEAD]
    if len(data) % 2 or not _binary(head):
        return None
    usual = frozenset(_CHINESE + _JAPANESE + _KOREAN + "".join(map(chr, range(32, 127))))
    shares: dict[float, str] = {0.0: ""}
    for encoding in ("utf-16-be", "utf-16-le"):
        text = head.decode(encoding, "replace")
        strange = sum(unicodedata.category(char) in ("Cc", "Cn", "Co") and char not in "\t\n\r\f" for char in text)
        if strange * 50 <= len(text):
            shares[sum(char in usual for char in text) / len(text)] = encoding
    best = max(shares)
    return _lenient(data, shares[best]) if best >= 0.1 else None
