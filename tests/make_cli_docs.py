"""docs/cli.md from the --help pages: `python -m tests.make_cli_docs` writes it, with --check it compares."""

from __future__ import annotations

import io
import sys
from contextlib import redirect_stderr, redirect_stdout
from pathlib import Path
from unittest.mock import patch

from knotwork.cli import app, main

PAGE = Path(__file__).parent.parent / "docs" / "cli.md"

HEAD = """\
# The command line

<!-- Made by `python -m tests.make_cli_docs` from the --help pages; the tests compare. -->

| exit code | meaning |
|---|---|
| 0 | done |
| 1 | failed; the last line on standard error says why (nothing there: the output was closed) |
| 2 | wrong usage |
| 3 | no evidence: `ask` found no answer, `search` no passage |
| 130 | stopped by Ctrl-C; the same command goes on from there |

Results go to standard output, everything else to standard error. Progress bars are drawn when standard error is a
terminal. `NO_COLOR` turns colours off. `KNOTWORK_DEBUG=1` shows where an unexpected error happened.

Settings come from options, else from environment variables (`KNOTWORK_PROFILE`, …), else from `knotwork.toml` in the
working directory or the file given by `--config`, else from the defaults:

"""


def page() -> str:
    """The whole page."""
    parts = [HEAD + settings_table(), section([])]
    parts += [section([str(command.name)]) for command in app.registered_commands]
    return "\n".join(parts)


def settings_table() -> str:
    from knotwork import Settings

    rows = ["| key | default | meaning |", "|---|---|---|"]
    for name, field in Settings.model_fields.items():
        rows.append(f"| `{name}` | `{field.default}` | {field.description} |")
    return "\n".join(rows) + "\n"


def section(verb: list[str]) -> str:
    title = " ".join(["knotwork", *verb])
    return f"## {title}\n\n```\n{help_page([*verb, '--help'])}\n```\n"


def help_page(words: list[str]) -> str:
    said = io.StringIO()
    with patch.dict("os.environ", {"COLUMNS": "100"}), redirect_stdout(said), redirect_stderr(said):
        try:
            main(words)
        except SystemExit as ended:
            if ended.code:
                raise RuntimeError(f"knotwork {' '.join(words)}: {said.getvalue()}") from ended
    return "\n".join(line.rstrip() for line in said.getvalue().strip().splitlines())


if __name__ == "__main__":
    made = page()
    if "--check" not in sys.argv:
        PAGE.parent.mkdir(exist_ok=True)
        PAGE.write_text(made, encoding="utf-8")
    elif not PAGE.is_file() or PAGE.read_text("utf-8") != made:
        sys.exit("docs/cli.md is out of date: run `python -m tests.make_cli_docs`")
