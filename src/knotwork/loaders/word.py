"""Word documents, turned to HTML by mammoth and read as that: tracked changes as accepted, notes at the end."""

from __future__ import annotations

import re
from typing import Any

from knotwork.loaders.files import Unreadable
from knotwork.loaders.html import read_markup
from knotwork.loaders.office import check_archive, core_properties
from knotwork.loaders.parsed import Parsed, opening

_NOTE_MARK = re.compile(r'<sup><a href="#(?:foot|end)note-[^"]*" id="[^"]*">\[\d+\]</a></sup>')
_NOTE_BACK = re.compile(r' ?<a href="#(?:foot|end)note-ref-[^"]*">↑</a>')


def parse(path: str, tell: Any = None) -> Parsed:
    """The text of a .docx, .docm or .dotx. Raises Unreadable for one that is broken, encrypted or empty."""
    import mammoth

    check_archive(path)
    with open(path, "rb") as file:
        markup = mammoth.convert_to_html(file, convert_image=lambda image: []).value
    text, headings = read_markup(_NOTE_BACK.sub("", _NOTE_MARK.sub("", markup)))
    if not text.strip():
        raise Unreadable("holds no text; where it holds pictures of text, save it as PDF and run ocrmypdf on that")
    metadata = core_properties(path)
    return Parsed(text, metadata.pop("title", "") or opening(text, headings), headings=headings, metadata=metadata)
