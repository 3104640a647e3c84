"""Finding files below a folder, and their bytes."""

from __future__ import annotations

import difflib
import os
import stat
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from knotwork.errors import LoadError
from knotwork.graph import Document

MAX_BYTES = 256 * 1024 * 1024
"""A larger file is skipped: its text is held in memory several times over while it is read."""


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file, row, item or line that gave no Document, and why."""

    source: str
    reason: str


@dataclass(frozen=True, slots=True)
class Found:
    """A file to read. `root` is the folder given, or the folder of the file given; `relative` the path below it.

    `relative` has forward slashes; characters that can't be shown stand in it as escapes like \\x1b.
    """

    path: Path
    root: Path
    relative: str


class Unreadable(Exception):
    """A whole file is no use; says why. Never leaves the loaders: `read` makes a Skipped of it."""


def find(path: str | Path) -> list[Found | Skipped]:
    """The files below a folder, sorted by path; of a file, itself.

    Hidden files and folders and `__pycache__` are passed over. A symbolic link is followed when it stays inside the
    folder and leads to something not read already. LoadError when there is no such path.
    """
    if not str(path):
        raise LoadError("no path given: it is empty. '.' is the folder you are in")
    given = Path(os.path.abspath(os.path.expanduser(path)))
    try:
        mode = given.stat().st_mode
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise LoadError(_no_such(path, given, error)) from error
    if stat.S_ISDIR(mode):
        return _Walk(given).run()
    name = printable(given.name)
    return [Found(given, given.parent, name)] if stat.S_ISREG(mode) else [Skipped(name, _what(mode))]


def read_bytes(found: Found, most: int | None = None) -> bytes:
    """The content of a file, or its first `most` bytes.

    Unreadable with the system's reason, or when it is empty, too large, or no file any more.
    """
    try:
        # Not to wait for ever when the file has become a pipe since it was found.
        descriptor = os.open(found.path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
        with open(descriptor, "rb") as file:
            status = os.fstat(descriptor)
            if not stat.S_ISREG(status.st_mode):
                raise Unreadable(_what(status.st_mode))
            wanted = MAX_BYTES + 1 if most is None else most
            data = file.read(wanted) if status.st_size <= MAX_BYTES else b""
    except OSError as error:
        raise Unreadable(_said(error)) from error
    size = max(len(data), status.st_size)
    if size > MAX_BYTES:
        raise Unreadable(f"holds {size / 2**20:,.1f} MB, more than MAX_BYTES ({MAX_BYTES / 2**20:,.0f} MB); split it")
    if not data:
        raise Unreadable("empty")
    return data


def not_yet(found: Found, kind: str) -> Iterable[Document | Skipped]:
    """The loader of kinds that this version knows of and cannot read."""
    raise Unreadable(f"{kind} files cannot be read by this version; save it as PDF, .docx, text or HTML")


def printable(name: str) -> str:
    """A file name that can be shown and encoded: control characters and bytes outside the encoding as escapes.

    Lone surrogates, which stand for such bytes, become the byte's \\xNN, so two names stay two.
    """
    if name.isprintable():
        return name
    return "".join(_escape(char) if unicodedata.category(char) in ("Cc", "Cs") else char for char in name)


def _escape(char: str) -> str:
    code = ord(char)
    return f"\\x{code - 0xDC00 if 0xDC80 <= code <= 0xDCFF else code:02x}"


# -- the walk -------------------------------------------------------------------------------------


class _Walk:
    """What is below one folder. No recursion: folders may lie deeper than Python's stack."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.real_root = Path(os.path.realpath(root))
        self.results: list[Found | Skipped] = []
        self.folders = [root]
        self.links: list[Path] = []
        self.seen: set[str] = set()  # real paths of the folders and files met

    def run(self) -> list[Found | Skipped]:
        while self.folders or self.links:
            # Links come last, so that which of link and target is read doesn't depend on their names.
            if self.folders:
                self.enter(self.folders.pop())
            else:
                self.links.sort(reverse=True)
                self.follow(self.links.pop())
        return sorted(self.results, key=lambda item: item.relative if isinstance(item, Found) else item.source)

    def enter(self, folder: Path) -> None:
        real = os.path.realpath(folder)
        if real in self.seen:
            return
        self.seen.add(real)
        try:
            entries = list(os.scandir(folder))
        except OSError as error:
            self.skip(folder, _said(error))
            return
        for entry in entries:
            if entry.name.startswith(".") or entry.name == "__pycache__":
                continue
            path = folder / entry.name
            if entry.is_symlink():
                self.links.append(path)
            elif entry.is_dir(follow_symlinks=False):
                self.folders.append(path)
            else:
                self.take(path, os.path.join(real, entry.name))

    def follow(self, link: Path) -> None:
        try:
            target = Path(os.path.realpath(link, strict=True))
        except OSError as error:
            self.skip(link, f"a link that leads nowhere: {_said(error)}")
            return
        if not target.is_relative_to(self.real_root):
            self.skip(link, f"a link that leaves the folder, to {printable(str(target))}")
        elif str(target) in self.seen:
            inside = target.relative_to(self.real_root).as_posix()
            self.skip(link, f"a link to {printable(inside)}, which is read there")
        elif target.is_dir():
            self.folders.append(link)
        else:
            self.take(link, str(target))

    def take(self, path: Path, real: str) -> None:
        self.seen.add(real)
        try:
            mode = path.stat().st_mode
        except OSError as error:
            self.skip(path, _said(error))
            return
        if stat.S_ISREG(mode):
            self.results.append(Found(path, self.root, self.relative(path)))
        else:
            self.skip(path, _what(mode))

    def skip(self, path: Path, reason: str) -> None:
        self.results.append(Skipped(self.relative(path), reason))

    def relative(self, path: Path) -> str:
        return printable(path.relative_to(self.root).as_posix())


# -- words for errors -----------------------------------------------------------------------------


def _said(error: Exception) -> str:
    reason = error.strerror if isinstance(error, OSError) else None
    return (reason or str(error) or type(error).__name__).lower()


def _what(mode: int) -> str:
    kinds = (
        (stat.S_ISDIR, "a folder"),
        (stat.S_ISFIFO, "a pipe"),
        (stat.S_ISSOCK, "a socket"),
        (stat.S_ISCHR, "a device"),
        (stat.S_ISBLK, "a device"),
    )
    return next((name for test, name in kinds if test(mode)), "something else") + ", not a file"


def _no_such(path: str | Path, given: Path, error: Exception) -> str:
    shown = repr(printable(str(path)[:200]))
    if not isinstance(error, FileNotFoundError | NotADirectoryError):
        hint = "" if isinstance(error, PermissionError) else ". To index a text itself, give Document(text)"
        return f"cannot read {shown}: {_said(error)}{hint}"
    nearest = next(parent for parent in given.parents if os.path.exists(parent))
    message = f"no such file or folder: {shown}. The nearest that exists is {printable(str(nearest))!r}"
    missing = given.relative_to(nearest).parts[0]
    try:
        names = [name for name in os.listdir(nearest) if name != missing]
    except OSError:  # no hint then: the message says enough without it
        names = []
    similar = difflib.get_close_matches(missing, names, 1)
    return message + (f"; did you mean {printable(similar[0])!r} in it?" if similar else "")
