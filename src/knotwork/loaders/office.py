"""What the files of office programs share: a zip archive of XML parts, looked at before a library unpacks it."""

from __future__ import annotations

import re
import zipfile
import zlib
from xml.etree import ElementTree

from knotwork.loaders.files import Unreadable
from knotwork.loaders.parsed import tidy

MAX_UNPACKED = 2**30
"""Bytes that the parts of a file may have together; more is taken for an attack."""
_MAX_RATIO = 300  # unpacked to packed, of a large part: text is packed to a twentieth at best
_LARGE = 50 * 2**20


def check_archive(path: str) -> None:
    """Raises Unreadable for a file that is no archive, is encrypted, or would grow out of all measure."""
    try:
        with zipfile.ZipFile(path) as archive:
            parts = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError) as error:
        raise Unreadable(f"is broken ({error}): open it in an office program and save it anew") from error
    if any(part.flag_bits & 1 for part in parts):
        raise Unreadable("is encrypted: save a copy without a password")
    size = sum(part.file_size for part in parts)
    swollen = any(
        part.file_size > _LARGE and part.file_size > _MAX_RATIO * max(part.compress_size, 1) for part in parts
    )
    if size > MAX_UNPACKED or swollen:
        raise Unreadable(
            f"would unpack to {size / 2**20:,.0f} MB, as archives made to harm do; if it is sound, split it"
        )


def core_properties(path: str) -> dict[str, str]:
    """Title, author and date that an office file says of itself; none where it doesn't, or not in a form to be read."""
    try:
        with zipfile.ZipFile(path) as archive:
            name = next(name for name in archive.namelist() if name.lower().endswith("docprops/core.xml"))
            tree = ElementTree.fromstring(archive.read(name))
    except (StopIteration, ElementTree.ParseError, zipfile.BadZipFile, zlib.error, OSError, ValueError):
        return {}
    said = {node.tag.rpartition("}")[2]: " ".join(tidy(node.text or "").split()) for node in tree}
    day = _DAY.match(said.get("modified") or said.get("created") or "")
    found = {"title": said.get("title", ""), "author": said.get("creator", ""), "date": day.group() if day else ""}
    if _NO_TITLE.match(found["title"]):
        found["title"] = ""
    if found["author"].lower() in _NO_AUTHORS:
        found["author"] = ""
    return {key: value[:500] for key, value in found.items() if value}


_DAY = re.compile(r"\d{4}-\d\d-\d\d")
_NO_TITLE = re.compile(
    r"(?:powerpoint presentation|slide 1|untitled.*|word document|document\d*|presentation\d*|workbook\d*|"
    r"幻灯片 ?1|powerpoint 演示文稿|[\W\d_]*)$",
    re.I,
)
_NO_AUTHORS = frozenset(["python-docx", "openpyxl", "steve canny", "microsoft office user", "user", "admin"])
