"""docs/cli.md says what the --help pages say, and leaves nothing out."""

from __future__ import annotations

import typer.main
from tests.make_cli_docs import PAGE, page

from knotwork import Settings
from knotwork.cli import app


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text("utf-8") == page(), "run `python -m tests.make_cli_docs`"


def test_every_verb_option_and_setting_is_documented() -> None:
    text = PAGE.read_text("utf-8")
    commands = typer.main.get_command(app).commands  # type: ignore[attr-defined]
    assert set(commands) >= {"index", "ask", "search", "status", "doctor", "export", "demo"}
    for verb, command in commands.items():
        section = text.partition(f"## knotwork {verb}\n")[2].partition("\n## ")[0]
        for parameter in command.params:
            for option in parameter.opts:
                word = option if option.startswith("-") else (parameter.metavar or option.upper())
                assert word in section, f"{verb} {word}"
            assert parameter.help, f"{verb} {parameter.name} has no help"
    for name in Settings.model_fields:
        assert f"| `{name}` |" in text
