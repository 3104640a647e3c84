"""Where settings come from, and what a wrong one is told."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from knotwork.errors import SettingsError
from knotwork.settings import Settings, load_settings


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.upper().startswith("KNOTWORK_"):
            monkeypatch.delenv(name)


def write(text: str, name: str = "knotwork.toml") -> Path:
    path = Path(name)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def refusal(*args: object, **overrides: object) -> str:
    with pytest.raises(SettingsError) as raised:
        load_settings(*args, **overrides)  # type: ignore[arg-type]
    return str(raised.value)


# -- where they come from -------------------------------------------------------------------------


def test_without_anything_the_defaults_hold() -> None:
    assert load_settings() == Settings()
    assert Settings().model_dump() == {
        "profile": "auto",
        "embedder": "offline",
        "splitter": "auto",
        "chunk_size": 256,
        "chunk_overlap": 0,
        "file_seconds": 60.0,
        "file_megabytes": 512,
        "max_cluster_size": 10,
        "seed": 42,
    }


def test_keyword_wins_over_variable_over_file_over_default(monkeypatch: pytest.MonkeyPatch) -> None:
    write("seed = 1\nchunk_size = 101\nchunk_overlap = 1\n")
    monkeypatch.setenv("KNOTWORK_SEED", "2")
    monkeypatch.setenv("KNOTWORK_CHUNK_SIZE", "102")
    found = load_settings(seed=3)
    assert (found.seed, found.chunk_size, found.chunk_overlap, found.max_cluster_size) == (3, 102, 1, 10)


def test_a_keyword_of_none_and_an_empty_variable_count_as_not_given(monkeypatch: pytest.MonkeyPatch) -> None:
    write("seed = 1\n")
    monkeypatch.setenv("KNOTWORK_SEED", "")
    assert load_settings(seed=None).seed == 1


def test_a_file_that_is_named_is_read_instead_of_the_one_in_the_working_directory() -> None:
    write("seed = 1\n")
    assert load_settings(write("seed = 2\n", "other/my.toml")).seed == 2


def test_a_wrong_value_in_the_file_does_no_harm_when_something_else_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    write("seed = 'x'\n")
    monkeypatch.setenv("KNOTWORK_SEED", "2")
    assert load_settings().seed == 2


def test_a_file_with_a_byte_order_mark_is_read() -> None:
    Path("knotwork.toml").write_bytes(b"\xef\xbb\xbfseed = 5\r\n")
    assert load_settings().seed == 5


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(ValidationError):
        Settings().seed = 1  # type: ignore[misc]


def test_an_explicit_settings_object_knows_the_environment_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNOTWORK_SEED", "2")
    assert Settings().seed == 2
    assert Settings(seed=3).seed == 3


# -- a stranger's index ---------------------------------------------------------------------------


@pytest.mark.parametrize("named", [True, False])
def test_a_file_inside_an_index_is_refused(monkeypatch: pytest.MonkeyPatch, named: bool) -> None:
    write("seed = 1\n", "kb/knotwork.toml")
    Path("kb/index.db").write_bytes(b"SQLite format 3\0".ljust(68, b"\0") + b"Knot")
    if not named:
        monkeypatch.chdir("kb")
    assert "lies in an index" in refusal("kb/knotwork.toml" if named else None)


def test_another_programs_database_beside_the_file_is_no_index() -> None:
    write("seed = 1\n")
    Path("index.db").write_bytes(b"SQLite format 3\0".ljust(100, b"\0"))
    assert load_settings().seed == 1


# -- what a wrong one is told ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# mine\n\nprofil = 'fast'\n", "knotwork.toml, line 3: unknown setting 'profil'; did you mean profile?"),
        ("seed = 1\n[llm]\nmodel = 'x'\n", "knotwork.toml, line 2: unknown setting 'llm'; known are profile, embedder"),
        ("seed = 1\nprofile = 'slow'\n", "line 2: profile is 'slow': input should be 'auto', 'fast' or 'nlp'"),
        ("seed = 'x'\n", "knotwork.toml, line 1: seed is 'x': input should be a valid integer"),
        ("seed = true\n", "knotwork.toml, line 1: seed is True: input should be a whole number, not true or false"),
        ("seed = [\n1,\n]\n", "knotwork.toml, line 3: seed is [1]: input should be a valid integer"),
        ("chunk_size = 3\n", "chunk_size is 3: input should be greater than or equal to 8"),
        ("chunk_size = 2000000\n", "input should be less than or equal to 100000"),
        ("chunk_size = 100\nchunk_overlap = 100\n", "chunk_overlap is 100: input should be less than chunk_size (100)"),
        ('splitter = "semantic"\nchunk_overlap = 5\n', "input should be 0: the splitter 'semantic' repeats no text"),
        ('splitter = "words"\n', "splitter is 'words': input should be 'auto', 'sentences', 'headlines' or 'semantic'"),
        ("[seed]\na = 1\n", "knotwork.toml, line 1: seed is {'a': 1}"),
        ("seed = 1\nprofile = fast\n", "line 2, at 'profile': not TOML: invalid value; a text stands in quotes"),
        ("seed = 1\nseed = 2\n", "knotwork.toml, line 2, at 'seed': not TOML: cannot overwrite a value"),
        ("seed = [1,\n", "knotwork.toml, line 2"),
        ("api_key = sk-secret\n", "knotwork.toml, line 1, at 'api_key'"),
    ],
)  # fmt: skip
def test_an_error_names_file_line_and_key(text: str, said: str) -> None:
    write(text)
    message = refusal()
    assert said in message
    assert "secret" not in message


def test_all_wrong_keys_are_named_at_once() -> None:
    write("sed = 1\nprofile = 3\n")
    assert "line 1: unknown setting 'sed'; did you mean seed?" in refusal()
    assert "line 2: profile is 3" in refusal()


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("KNOTWORK_SEED", "x", "environment variable KNOTWORK_SEED is 'x': input should be a valid integer"),
        ("KNOTWORK_SED", "1", "unknown environment variable KNOTWORK_SED; did you mean KNOTWORK_SEED?"),
        ("KNOTWORK_LLM__MODEL", "x", "unknown environment variable KNOTWORK_LLM__MODEL; known are KNOTWORK_PROFILE"),
        ("KNOTWORK_SEED__X", "1", "unknown environment variable KNOTWORK_SEED__X"),
    ],
)
def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch, variable: str, value: str, said: str) -> None:
    monkeypatch.setenv(variable, value)
    assert said in refusal()


def test_the_switch_for_tracebacks_is_no_unknown_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KNOTWORK_DEBUG", "1")
    assert load_settings() == Settings()


def test_a_wrong_keyword_is_named() -> None:
    assert refusal(chunksize=3) == "unknown setting 'chunksize'; did you mean chunk_size?"
    with pytest.raises(SettingsError, match="seed is -1"):
        Settings(seed=-1)


def test_a_file_that_cannot_be_read_is_an_error_with_its_name() -> None:
    assert "nowhere.toml cannot be read: No such file" in refusal("nowhere.toml")
    Path("bad.toml").write_bytes(b"seed = 1\n# \xff\n")
    assert refusal("bad.toml") == "bad.toml, line 2: not UTF-8; save the file as UTF-8"
    Path("folder.toml").mkdir()
    assert "folder.toml cannot be read" in refusal("folder.toml")


@given(st.text(max_size=60))
def test_no_file_whatever_it_holds_is_a_foreign_error(text: str) -> None:
    write(text)
    with suppress(SettingsError):
        load_settings()
