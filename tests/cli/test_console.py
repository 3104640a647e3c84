"""Foreign text, encodings, errors: what may come out of any verb."""

from __future__ import annotations

import io
import json
import logging
import subprocess
import sys
import time

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.scripted import NASTY, Knotwork, Script, cited, evidence

from knotwork import Event, Report, Skipped
from knotwork.cli import console, main
from knotwork.errors import KnotworkError

UNSAFE = [chr(code) for code in [*range(9), *range(11, 32), *range(127, 160), *range(0x202A, 0x202F)]]


# -- foreign text ---------------------------------------------------------------------------------


@given(st.text(st.one_of(st.characters(), st.sampled_from(UNSAFE))))
def test_clean_text_holds_nothing_that_a_terminal_obeys(text: str) -> None:
    for said in (console.clean(text), console.one_line(text), console.one_line(text, 30)):
        assert not set(UNSAFE) & set(said)
        said.encode("utf-8")
    assert "\n" not in console.one_line(text)


def test_ordinary_text_of_any_script_is_left_alone() -> None:
    text = "Zoë said: “双螺旋”,\n\tשלום and 🧬\n"
    assert console.clean(text) == text


def test_controls_are_shown_as_escapes() -> None:
    assert console.clean("a\x1b[31mb\x9bc\r\nd\re\u202ef") == "a\\x1b[31mb\\x9bc\nd\\re\\u202ef"


@given(st.text("ab 双", max_size=100), st.integers(10, 60))
def test_one_line_fits_the_width(text: str, width: int) -> None:
    assert len(console.one_line(text, width)) <= width


def test_text_without_blanks_is_cut_to_the_width() -> None:
    assert console.one_line("双" * 300, 200) == "双" * 199 + "…"


@pytest.mark.parametrize("terminal", [False, True])
def test_markup_and_escape_codes_in_documents_reach_no_terminal(
    run: Knotwork, script: Script, monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    monkeypatch.setenv("NO_COLOR", "1")  # so that every escape code left is a document's
    if terminal:
        monkeypatch.setenv("COLUMNS", "500")
        monkeypatch.setenv("TTY_COMPATIBLE", "1")
    script.answer = cited(NASTY, title=NASTY, source=NASTY)
    script.found = [evidence(NASTY, title=NASTY, source=NASTY, why=NASTY)]
    script.report = Report(added=1, skipped=(Skipped(NASTY, NASTY, NASTY),))
    for words in (["ask", "Who?"], ["search", "x"], ["index", NASTY, "--quiet"]):
        said = run(*words, "--index", f"kb{NASTY}")
        assert said.code == 0
        assert not set(UNSAFE) & set(said.out + said.err)
        if words[0] != "index":
            assert "[bold]x[/bold] \\x1b[31mred" in said.out
    said = run("index", "docs")
    assert "[bold]x[/bold] \\x1b[31mred" in said.err
    if not terminal:
        assert not set(UNSAFE) & set(said.err)


def test_json_keeps_the_text_and_still_holds_nothing_that_a_terminal_obeys(run: Knotwork, script: Script) -> None:
    script.answer = cited(NASTY + "\udc80")
    said = run("ask", "Who?", "--json")
    assert not set(UNSAFE) & set(said.out)
    assert json.loads(said.out)["citations"][0]["quote"] == NASTY + "\udc80"


def test_a_terminal_gets_colours_unless_told_not_to(
    run: Knotwork, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    script.answer = cited()
    assert "\x1b[" not in run("ask", "Who?").out
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    assert "\x1b[" in run("ask", "Who?").out
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[" not in run("ask", "Who?").out


def test_a_long_line_is_wrapped_for_a_terminal_and_kept_for_a_program(
    run: Knotwork, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "40")
    script.answer = cited("word " * 30)
    assert len(run("ask", "Who?").out.splitlines()[0]) > 100
    monkeypatch.setenv("TTY_COMPATIBLE", "1")
    assert all(len(line) <= 60 for line in run("ask", "Who?").out.splitlines())


@pytest.mark.parametrize("encoding", ["ascii", "cp1252", "gbk", "utf-8"])
def test_no_encoding_of_the_terminal_is_an_error(
    script: Script, monkeypatch: pytest.MonkeyPatch, encoding: str
) -> None:
    text = "“Zoë” — 双螺旋 🧬 \udc80"
    script.answer = cited(text)
    printed = {}
    for words in (["ask", "Who?"], ["ask", "Who?", "--json"]):
        out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
        monkeypatch.setattr(sys, "stdout", out)
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert not ended.value.code
        out.flush()
        printed[len(words)] = out.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]
    assert json.loads(printed[3])["answer"] == text + " [1]"
    if encoding == "ascii":
        assert '"Zo\\xeb" - \\u53cc\\u87ba\\u65cb' in printed[2]
    if encoding == "gbk":
        assert "— 双螺旋 \\U0001f9ec" in printed[2]


# -- how it ends ----------------------------------------------------------------------------------


def test_an_error_is_one_line_without_a_traceback(run: Knotwork, script: Script) -> None:
    script.raises = KnotworkError("it broke\nin two; do that")
    said = run("index", "docs")
    assert (said.code, said.out, said.err) == (1, "", "error: it broke in two; do that\n")
    assert script.calls[-1] == ("close",)


def test_an_error_of_the_system_names_the_file(run: Knotwork, script: Script) -> None:
    script.raises = OSError(28, "No space left on device", "kb/index.db")
    assert run("index", "docs").err == "error: kb/index.db: No space left on device\n"


def test_an_unexpected_error_is_called_a_bug_and_shown_on_demand(
    script: Script, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    script.raises = ZeroDivisionError("by \x1b[31m")

    def said(*words: str) -> str:
        with pytest.raises(SystemExit) as ended:
            main(list(words))
        assert ended.value.code == 1
        return capsys.readouterr().err

    short = said("index", "docs")
    assert "error: ZeroDivisionError: by \\x1b[31m. This is a bug" in short
    assert "KNOTWORK_DEBUG=1" in short
    assert "Traceback" not in short
    long = said("index", "docs", "--verbose")
    assert "Traceback" in long
    assert "\x1b" not in long
    monkeypatch.setenv("KNOTWORK_DEBUG", "1")
    assert "Traceback" in said("index", "docs")


def test_ctrl_c_says_that_the_work_can_go_on(run: Knotwork, script: Script) -> None:
    script.raises = KeyboardInterrupt()
    said = run("index", "docs")
    assert (said.code, said.err) == (130, "stopped; run the same command again to go on\n")
    assert script.calls[-1] == ("close",)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows reports a closed pipe in another way")
def test_a_closed_pipe_ends_quietly() -> None:
    for words in (["--help"], ["--version"]):
        code = f"from knotwork.cli import main; main({words})"
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert process.stdout
        process.stdout.close()
        _, err = process.communicate()
        assert err == b""


def test_a_pipe_closed_during_a_run_does_not_stop_the_run(
    run: Knotwork, script: Script, monkeypatch: pytest.MonkeyPatch
) -> None:
    script.events = [Event("start", "documents", total=2), Event("end", "documents", done=2, total=2)]
    tried = []

    def broken(data: object) -> None:
        tried.append(data)
        raise BrokenPipeError

    monkeypatch.setattr(console, "say_json", broken)
    monkeypatch.setattr(console, "pipe_closed", lambda: sys.exit(console.FAILED))
    assert run("index", "docs", "--json").code == console.FAILED
    assert len(tried) == 1
    assert script.calls[-1] == ("close",)


# -- what is told on the way ----------------------------------------------------------------------


def test_loading_is_told_only_when_it_takes_long(capsys: pytest.CaptureFixture[str]) -> None:
    with console.loading():
        pass
    with console.loading():
        time.sleep(1.2)
    assert capsys.readouterr().err == "loading models …\n"


def test_loading_models_is_told_during_a_run_unless_quiet(capsys: pytest.CaptureFixture[str]) -> None:
    for quiet in (False, True):
        with console.Watch(quiet=quiet) as watch:
            watch(Event("loading", "models"))
            time.sleep(1.2)
            watch(Event("end", "models"))
    assert capsys.readouterr().err == "loading models …\n"


def test_the_log_shows_no_escape_code(run: Knotwork, script: Script, capsys: pytest.CaptureFixture[str]) -> None:
    run("status")
    logging.getLogger("knotwork.engine").warning("about %s", NASTY)
    said = capsys.readouterr().err
    assert said.startswith("warning: about [bold]x[/bold] \\x1b[31m")
    assert not set(UNSAFE) & set(said)
