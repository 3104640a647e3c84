"""What the verbs print: foreign text made harmless, JSON for programs, progress, and errors in one line.

Results go to standard output, everything else to standard error. Whatever comes from documents, file names or other
people's errors passes through `clean` before a terminal sees it, and is never read as markup.
"""

from __future__ import annotations

import codecs
import json
import logging
import os
import re
import sys
import threading
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

from knotwork.errors import InputError

if TYPE_CHECKING:
    from rich.console import Console

    from knotwork import Event

FAILED = 1
NO_EVIDENCE = 3
STOPPED = 130  # as shells have it for Ctrl-C

# Controls (C0 but tab and newline, C1), what turns the direction of writing, line separators, halves of characters.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")

# Of our own signs and what stands most in texts, for a terminal that lacks them.
_PLAIN = {"—": "-", "–": "-", "…": "...", "‘": "'", "’": "'", "“": '"', "”": '"', "\u00a0": " "}


def prepare() -> None:
    """Make no character of any text an error: what the terminal's encoding lacks is spelled in ASCII."""
    codecs.register_error("knotwork", _spelled)
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)  # none on a stream that a program put in its place
        if reconfigure is not None:
            reconfigure(errors="knotwork")
    if not any(isinstance(handler, _Log) for handler in logging.getLogger("knotwork").handlers):
        logging.getLogger("knotwork").addHandler(_Log(logging.WARNING))


def _spelled(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    lost = error.object[error.start : error.end]
    return "".join(_PLAIN.get(char) or char.encode("ascii", "backslashreplace").decode() for char in lost), error.end


# -- foreign text ---------------------------------------------------------------------------------


def clean(text: object) -> str:
    """Text with control characters shown as escapes (\\x1b), so that no terminal obeys them."""
    return _UNSAFE.sub(lambda found: found.group().encode("unicode_escape").decode(), str(text).replace("\r\n", "\n"))


def one_line(text: object, width: int | None = None) -> str:
    """Clean text on one line, blanks drawn together, cut at a word to at most `width` characters."""
    line = clean(" ".join(str(text).split()))
    if width is None or len(line) <= width:
        return line
    head = line[: width - 1]
    blank = head.rfind(" ", width - 25)
    return f"{(head[:blank] if blank > 0 else head).rstrip()}…"


def shell(*words: object) -> str:
    """A command as it can be typed into this system's shell."""
    if os.name == "nt":
        from subprocess import list2cmdline

        return clean(list2cmdline([str(word) for word in words]))
    from shlex import join

    return clean(join(str(word) for word in words))


# -- printing -------------------------------------------------------------------------------------


def say(text: str = "", style: str = "") -> None:
    """A result, on standard output. `text` is shown as it is, so foreign parts of it must be clean."""
    _print(text, style, stderr=False)


def note(text: str, style: str = "") -> None:
    """Anything but a result, on standard error."""
    _print(text, style, stderr=True)


def _print(text: str, style: str, stderr: bool) -> None:
    from rich.text import Text

    console = _console(stderr)
    # Words are wrapped for a reader; what a program reads keeps its lines.
    console.print(Text(text, style), soft_wrap=not console.is_terminal)


def _console(stderr: bool) -> Console:
    from rich.console import Console

    plain = bool(os.environ.get("NO_COLOR"))
    return Console(stderr=stderr, color_system=None if plain else "auto", markup=False, highlight=False, emoji=False)


def say_json(data: object) -> None:
    """One JSON value as a line of standard output, in ASCII where its encoding is not Unicode."""
    unicode = str(getattr(sys.stdout, "encoding", None) or "").lower().startswith("utf")
    print(_json(data, ascii=not unicode), flush=True)


def write_json(path: Path, data: object) -> None:
    """One JSON value as a file, whole or not at all. Raises InputError when it cannot be written."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(_json(data, indent=2) + "\n", "utf-8")
        beside.replace(path)
    except OSError as error:
        beside.unlink(missing_ok=True)
        raise InputError(f"{path} cannot be written: {error.strerror or error}") from error


def _json(data: object, ascii: bool = False, indent: int | None = None) -> str:
    text = json.dumps(data, ensure_ascii=ascii, allow_nan=False, default=_plain, indent=indent)
    # Valid JSON and the same text, but nothing that a terminal obeys.
    return _UNSAFE.sub(lambda found: f"\\u{ord(found.group()):04x}", text)


def _plain(value: Any) -> Any:
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, Mapping):
        return dict(value)
    item = getattr(value, "item", None)  # numpy's numbers
    return item() if callable(item) else str(value)


# -- errors ---------------------------------------------------------------------------------------


def fail(message: object) -> NoReturn:
    """End with an error in one line."""
    note(f"error: {one_line(message)}", "red")
    raise SystemExit(FAILED)


def fail_unexpected(error: BaseException, debug: bool) -> NoReturn:
    """End with an error that nobody foresaw."""
    if debug:
        note(clean("".join(traceback.format_exception(error))))
    how = "" if debug else "; KNOTWORK_DEBUG=1 in the environment or --verbose shows where it happened"
    fail(f"{type(error).__name__}: {error}. This is a bug in Knotwork, please report it{how}")


def pipe_closed() -> NoReturn:
    """End quietly: whoever read our output wants no more of it."""
    # What is still buffered must have somewhere to go, or Python complains when it ends.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    raise SystemExit(FAILED)


class _Log(logging.Handler):
    """The library's own warnings, which may quote documents."""

    def emit(self, record: logging.LogRecord) -> None:
        note(f"{record.levelname.lower()}: {one_line(record.getMessage())}")


def be_verbose() -> None:
    """Show what the library logs, too."""
    log = logging.getLogger("knotwork")
    log.setLevel(logging.INFO)
    for handler in log.handlers:
        handler.setLevel(logging.INFO)


# -- progress -------------------------------------------------------------------------------------


@contextmanager
def loading(what: str = "loading models") -> Iterator[None]:
    """Say what is being waited for, when the block takes longer than a second."""
    timer = threading.Timer(1.0, note, [f"{what} …"])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


class Watch:
    """Shows a run to its user: call it with each Event, inside a `with`.

    json: a line for each event, of the calls of one transform at most five a second. quiet: nothing. Otherwise bars
    when standard error is a terminal, and lines with `verbose` when it is not.
    """

    def __init__(self, *, json: bool = False, quiet: bool = False, verbose: bool = False) -> None:
        self._json = json
        self._quiet = quiet
        self._verbose = verbose
        self._bars: Any = None
        self._tasks: dict[str, Any] = {}
        self._timer: threading.Timer | None = None
        self._told: dict[str, float] = {}  # transform: when its last "done" was printed
        self._pipe_closed = False

    def __enter__(self) -> Watch:
        if not self._quiet and not self._json and _console(stderr=True).is_terminal:
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

            name = TextColumn("{task.description}", markup=False)
            self._bars = Progress(
                name, BarColumn(), MofNCompleteColumn(), TimeElapsedColumn(), console=_console(stderr=True)
            )
            self._bars.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stop_timer()
        if self._bars is not None:
            self._bars.stop()
        if self._pipe_closed and error is None:
            raise BrokenPipeError

    def __call__(self, event: Event) -> None:
        self._stop_timer()
        if event.kind == "loading" and not self._quiet:
            self._timer = threading.Timer(1.0, note, [f"loading {one_line(event.transform)} …"])
            self._timer.daemon = True
            self._timer.start()
        if self._json:
            self._tell(event)
        elif self._bars is not None:
            self._move(event)
        elif self._verbose and event.kind in ("start", "failed", "end"):
            note(one_line(_in_words(event)))

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _tell(self, event: Event) -> None:
        now = time.monotonic()
        if event.kind == "done" and event.done < event.total and now - self._told.get(event.transform, 0.0) < 0.2:
            return
        if event.kind == "done":
            self._told[event.transform] = now
        row = {field.name: getattr(event, field.name) for field in fields(event)}
        try:
            if not self._pipe_closed:
                say_json({"event": row.pop("kind"), **row})
        except BrokenPipeError:  # the run goes on: what it has done must not be lost
            self._pipe_closed = True

    def _move(self, event: Event) -> None:
        if event.kind == "loading" or (event.kind == "end" and event.transform not in self._tasks):
            return
        if event.transform not in self._tasks:
            self._tasks[event.transform] = self._bars.add_task(one_line(event.transform, 40), total=event.total)
        self._bars.update(self._tasks[event.transform], completed=event.done, total=event.total)


def _in_words(event: Event) -> str:
    counted = f"{event.done} of {event.total}"
    return f"{event.transform}: {event.kind}, {counted}{f': {event.error}' if event.error else ''}"


# -- options that several verbs share -------------------------------------------------------------

IndexDir = Annotated[Path, typer.Option("--index", "-i", metavar="DIR", help="Directory of the index.")]
Config = Annotated[
    Path | None, typer.Option("--config", metavar="FILE", help="Settings file, instead of ./knotwork.toml.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]
INDEX = Path("kb")


def _not_blank(question: str) -> str:
    if not question.strip():
        raise typer.BadParameter("it is empty")
    return question


Question = Annotated[
    str, typer.Argument(callback=_not_blank, metavar="QUESTION", help="A question, or words to look for, in quotes.")
]


class Mode(StrEnum):
    auto = "auto"
    passages = "passages"
    hybrid = "hybrid"
    dense = "dense"
    bm25 = "bm25"
