"""What a file is by its first bytes, whatever its name says."""

from __future__ import annotations

import zipfile

from knotwork.loaders.files import Found, Unreadable, read_bytes

_PDF_WITHIN = 1024  # bytes before %PDF that readers put up with
_PARTS = (("word/", "docx"), ("ppt/", "pptx"), ("xl/", "xlsx"))
_HEAD = 4096
_DIRECTORY = 2**24  # bytes of an old office file in which its list of parts is looked for


def format_of(found: Found) -> str | None:
    """ "pdf", "docx", "pptx", "xlsx", "html", or None for what these bytes don't tell.

    Raises Unreadable for what cannot be read at all, and for formats that no text can be had from.
    """
    head = read_bytes(found, _HEAD)
    named_pdf = found.path.suffix.lower() == ".pdf"
    if head.startswith(b"%PDF-") or (named_pdf and b"%PDF-" in head[:_PDF_WITHIN]):
        return "pdf"
    if head.startswith((b"PK\x03\x04", b"PK\x05\x06")):
        return _in_archive(found)
    if head.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        raise Unreadable(_ole(found))
    if head.startswith(b"{\\rtf"):
        raise Unreadable("is an RTF file, which cannot be read by this version; save it as .docx, or as text")
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()[:64].lower()
    return "html" if start.startswith((b"<!doctype html", b"<html")) else None


def _in_archive(found: Found) -> str:
    try:
        with zipfile.ZipFile(found.path) as archive:
            names = archive.namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError) as error:
        raise Unreadable(f"is a broken ZIP or office file ({error}); get it again, or save it anew") from error
    lower = [name.lower() for name in names]
    for folder, format in _PARTS:
        if any(name.startswith(folder) for name in lower):
            if format == "xlsx" and any(name.endswith("workbook.bin") for name in lower):
                raise Unreadable(
                    "is a binary Excel file (.xlsb), which cannot be read by this version; save it as .xlsx"
                )
            return format
    if "mimetype" in lower:
        raise Unreadable(
            "is an OpenDocument or EPUB file, which cannot be read by this version; save it as PDF, .docx or HTML"
        )
    raise Unreadable(f"is a ZIP archive of {len(names)} files; unpack it and index what is in it")


def _ole(found: Found) -> str:
    """What the old office container holds: old formats, or a new one that is encrypted."""
    if "EncryptedPackage".encode("utf-16-le") in read_bytes(found, _DIRECTORY):
        return "is encrypted and opens with a password only; save a copy without"
    return (
        "is in an old office format (.doc, .xls, .ppt, .msg), which cannot be read by this version; save it as .docx, "
        ".xlsx or .pptx"
    )
