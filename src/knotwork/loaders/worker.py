"""The process that foreign formats are parsed in: `python -m knotwork.loaders.worker MEGABYTES`.

Lines of JSON on standard input, each [format, path]; for each, on standard output, lines {"at": n} as signs of life,
and last {"parsed": {...}} or {"reason": "..."}. It ends with its input. `knotwork.loaders.isolated` is the other side.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from queue import SimpleQueue
from threading import Thread
from typing import Any, TextIO

from knotwork.loaders.files import Unreadable
from knotwork.loaders.parsed import Parsed, tidy

FORMATS = {
    "pdf": "knotwork.loaders.pdf",
    "docx": "knotwork.loaders.word",
    "pptx": "knotwork.loaders.slides",
    "xlsx": "knotwork.loaders.sheets",
}


_OF_CODE = (AttributeError, TypeError, LookupError, AssertionError, RecursionError, StopIteration)


def main() -> None:
    megabytes = int(sys.argv[1])
    answers = os.fdopen(os.dup(1), "w", encoding="ascii")
    os.dup2(2, 1)  # what a library prints is no answer
    _limit_memory(megabytes)
    requests: SimpleQueue[str] = SimpleQueue()
    Thread(target=_listen, args=[requests], daemon=True).start()
    while True:
        format, path = json.loads(requests.get())
        _say(answers, _answer(format, path, megabytes, lambda at: _say(answers, {"at": at})))


def _listen(requests: SimpleQueue[str]) -> None:
    for request in sys.stdin:
        requests.put(request)
    os._exit(0)  # whoever asked is gone, perhaps killed: nobody waits for what is being parsed


def _answer(format: str, path: str, megabytes: int, tell: Callable[[int], object]) -> dict[str, Any]:
    try:
        parsed: Parsed = import_module(FORMATS[format]).parse(path, tell)
    except Unreadable as problem:
        return {"reason": str(problem)}
    except MemoryError:
        return {
            "reason": f"needs more than {megabytes:,} MB of memory; allow more by KNOTWORK_FILE_MEGABYTES, or split it"
        }
    except ModuleNotFoundError as error:
        return {"missing": error.name}
    except Exception as error:  # libraries raise anything for a file that isn't as its format says
        return {"reason": f"is broken ({_shown(error)}); open it in its own program and save it anew"}
    return {"parsed": asdict(parsed)}


def _shown(error: Exception) -> str:
    """What a library raised. The words of Python's own errors are about its code, not about the file."""
    said = tidy(str(error)).split("\n")[0][:150]
    return type(error).__name__ if isinstance(error, _OF_CODE) or not said else f"{type(error).__name__}: {said}"


def _say(answers: TextIO, what: dict[str, Any]) -> None:
    answers.write(json.dumps(what) + "\n")
    answers.flush()


def _limit_memory(megabytes: int) -> None:
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    # Of data, not of addresses: libraries map files and reserve space that they never use.
    resource.setrlimit(resource.RLIMIT_DATA, (megabytes * 2**20, megabytes * 2**20))


if __name__ == "__main__":
    main()
