"""The command line. One file a verb, each with a function `run`; they use public names only.

Exit codes: 0 done, 1 failed, 2 wrong usage, 3 no evidence, 130 stopped by Ctrl-C. 4 is kept for a budget.
Verbs import what is heavy inside `run`, so that --help is quick.
"""

from __future__ import annotations

import os
import sys
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from knotwork.cli import ask, console, demo, doctor, export, index, search, status
from knotwork.errors import KnotworkError


class _Verbs(TyperGroup):
    """The verbs, with what ends any of them early."""

    def invoke(self, ctx: Any) -> Any:
        try:
            result = super().invoke(ctx)
            sys.stdout.flush()  # here, where a closed pipe can still be met
            return result
        except KeyboardInterrupt:
            console.note("stopped; run the same command again to go on")
            raise typer.Exit(console.STOPPED) from None
        except BrokenPipeError:
            console.pipe_closed()


app = typer.Typer(
    cls=_Verbs,
    add_completion=False,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
for verb in (index, ask, search, status, doctor, export, demo):
    app.command(verb.__name__.rpartition(".")[2])(verb.run)


def _version(asked: bool) -> None:
    if asked:
        from knotwork import __version__

        console.say(f"knotwork {__version__}")
        raise typer.Exit


@app.callback()
def knotwork(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """Index documents as a knowledge graph, and answer questions from them with citations.

    Start with: knotwork demo
    """


def main(args: list[str] | None = None) -> None:
    """Run the command line; ends in SystemExit with the exit code. args None: those of the process."""
    console.prepare()
    try:
        app(args, prog_name="knotwork")
    except KnotworkError as error:
        console.fail(error)
    except OSError as error:  # a full disk, a missing right: the machine's, not a bug
        named = f"{error.filename}: " if error.filename else ""
        console.fail(f"{named}{error.strerror or error}")
    except Exception as error:
        given = sys.argv[1:] if args is None else args
        console.fail_unexpected(error, debug="--verbose" in given or bool(os.environ.get("KNOTWORK_DEBUG")))
