"""What can be set, and where from: a keyword, else a KNOTWORK_* variable, else knotwork.toml, else the default.

Importing this module costs 0.15 s (pydantic-settings); import it inside the function that needs it.
"""

from __future__ import annotations

import os
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, Field, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsConfigDict

from knotwork.errors import SettingsError

FILE = "knotwork.toml"
PREFIX = "KNOTWORK_"
NOT_SETTINGS = frozenset({"KNOTWORK_DEBUG"})  # variables of the command line that change no result


def _no_bool(value: Any) -> Any:
    if isinstance(value, bool):  # pydantic would read true as 1
        raise ValueError("input should be a whole number, not true or false")
    return value


_Number = BeforeValidator(_no_bool)


def _embedder_name(value: Any) -> Any:
    if value in ("offline", "fast", "nlp") or (isinstance(value, str) and re.fullmatch(r"openai:\S+", value)):
        return value
    raise ValueError("input should be 'offline', 'fast', 'nlp' or 'openai:NAME'")


class Settings(BaseSettings):
    """Everything that can be set. Wrong values and unknown keywords or KNOTWORK_* variables raise SettingsError."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="__", env_ignore_empty=True, extra="forbid", frozen=True
    )

    profile: Literal["auto", "fast", "nlp"] = Field("auto", description="language work; auto: the better one installed")
    embedder: Annotated[str, BeforeValidator(_embedder_name)] = Field(
        "offline", description="vectors: offline (the better one installed), fast, nlp, or openai:NAME"
    )
    splitter: Literal["auto", "sentences", "headlines", "semantic"] = Field(
        "auto",
        description="where documents are cut: at sentences, at their headings, or where the subject drifts; "
        "auto: as the index was made, sentences for a new one",
    )
    chunk_size: Annotated[
        int, _Number, Field(ge=8, le=100_000, description="tokens a chunk at most; semantic: four characters for each")
    ] = 256
    chunk_overlap: Annotated[int, _Number, Field(ge=0, description="tokens that neighbouring chunks share")] = 0
    file_seconds: Annotated[
        float, Field(gt=0, le=86_400, description="seconds that a PDF or office file may take for a page")
    ] = 60.0
    file_megabytes: Annotated[
        int, _Number, Field(ge=128, le=1_000_000, description="memory that reading such a file may take (Linux)")
    ] = 512
    max_cluster_size: Annotated[int, _Number, Field(ge=1, le=100_000, description="entities a community at most")] = 10
    seed: Annotated[int, _Number, Field(ge=0, le=2**32 - 1, description="of everything that draws lots")] = 42

    def __init__(self, _file: TomlFile | None = None, **values: Any) -> None:
        _refuse_unknown_variables()
        table = _file.table if _file else {}
        given = _merged(_merged(table, EnvSettingsSource(type(self))()), values)
        try:
            super().__init__(**given)
        except ValidationError as error:
            said = [_explained(details, _file, values) for details in error.errors(include_url=False)]
            raise SettingsError("; ".join(said)) from None

    @field_validator("chunk_overlap")
    @classmethod
    def _overlap_leaves_something(cls, overlap: int, info: ValidationInfo) -> int:
        size = info.data.get("chunk_size")
        if size is not None and overlap >= size:
            raise ValueError(f"input should be less than chunk_size ({size})")
        if overlap and info.data.get("splitter", "auto") not in ("auto", "sentences"):
            raise ValueError(f"input should be 0: the splitter {info.data['splitter']!r} repeats no text")
        return overlap


def load_settings(config: str | Path | None = None, **overrides: Any) -> Settings:
    """The settings in force: overrides (None: not given), environment, the file, defaults.

    `config` None: knotwork.toml in the working directory, when there is one. Raises SettingsError naming the file, line
    and key, or the variable. A file that lies in an index is refused: whoever made the index must not
    choose our settings.
    """
    path = Path(FILE) if config is None else Path(config)
    file = _read(path) if config is not None or path.is_file() else None
    return Settings(_file=file, **{key: value for key, value in overrides.items() if value is not None})


# -- the file -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class TomlFile:
    path: Path
    text: str
    table: dict[str, Any]

    def line_of(self, keys: Sequence[str]) -> int:
        """The line that sets a key: the first with which the text up to there has it (of a long value, its last)."""
        lines = self.text.split("\n")
        for count in range(1, len(lines) + 1):
            try:
                table = tomllib.loads("\n".join(lines[:count]))
            except tomllib.TOMLDecodeError:
                continue
            if _holds(table, keys):
                return count
        return len(lines)


def _read(path: Path) -> TomlFile:
    if _is_index(path.parent):
        raise SettingsError(f"{path} lies in an index, which a stranger may have made: move it out, or work elsewhere")
    try:
        text = path.read_text("utf-8-sig")
    except OSError as error:
        raise SettingsError(f"{path} cannot be read: {error.strerror or error}") from None
    except UnicodeDecodeError as error:
        line = path.read_bytes()[: error.start].count(b"\n") + 1
        raise SettingsError(f"{path}, line {line}: not UTF-8; save the file as UTF-8") from None
    try:
        return TomlFile(path, text, tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise SettingsError(_syntax(path, text, str(error))) from None


def _is_index(folder: Path) -> bool:
    """Whether an index lies in a folder, told by the application id in the head of its SQLite file."""
    try:
        with (folder / "index.db").open("rb") as file:
            return file.read(72)[68:] == b"Knot"
    except OSError:  # none, or not one that can be opened as an index
        return False


def _syntax(path: Path, text: str, said: str) -> str:
    found = re.search(r"line (\d+)", said)
    lines = text.split("\n")
    number = int(found.group(1)) if found else len(lines)
    key = lines[number - 1].partition("=")[0].strip()  # never the value: it may be a secret
    what = re.sub(r" \(at line.*\)$", "", said)
    hint = "; a text stands in quotes" if what == "Invalid value" else ""
    return f"{path}, line {number}{f', at {key!r}' if key else ''}: not TOML: {what[0].lower()}{what[1:]}{hint}"


# -- the errors -----------------------------------------------------------------------------------


def _explained(details: Mapping[str, Any], file: TomlFile | None, values: Mapping[str, Any]) -> str:
    """One error of pydantic, as where, what and the remedy."""
    keys = [str(key) for key in details["loc"]]
    name = ".".join(keys)
    variable = PREFIX + "__".join(keys).upper()
    if _holds(values, keys):
        where, known = "", name
    elif any(key.upper() == variable and value for key, value in os.environ.items()):
        where, known = "environment variable ", variable
    elif file is not None and _holds(file.table, keys):
        where, known = f"{file.path}, line {file.line_of(keys)}: ", name
    else:
        where, known = "", name
    if details["type"] == "extra_forbidden":
        return f"{where}unknown setting {known!r}{_hint(keys[-1], _names(keys[:-1]))}"
    said = details["msg"].removeprefix("Value error, ")
    return f"{where}{known} is {details['input']!r}: {said[0].lower()}{said[1:]}"


def _refuse_unknown_variables() -> None:
    for variable in sorted(os.environ):
        name = variable.upper()
        if not name.startswith(PREFIX) or name in NOT_SETTINGS:
            continue
        keys = name.removeprefix(PREFIX).lower().split("__")
        for depth, key in enumerate(keys):
            if key not in _names(keys[:depth]):
                before = PREFIX + "".join(f"{outer}__" for outer in keys[:depth])
                hint = _hint(key, _names(keys[:depth]), before)
                raise SettingsError(f"unknown environment variable {variable}{hint}")


def _hint(word: str, known: Iterable[str], prefix: str = "") -> str:
    """The known name that was meant, or all of them; with a prefix, as variables."""
    close = get_close_matches(word.lower(), list(known), n=1)
    names = [(prefix + name).upper() if prefix else name for name in close or known]
    return f"; did you mean {names[0]}?" if close else f"; known are {', '.join(names) or 'none below it'}"


def _names(keys: Sequence[str]) -> list[str]:
    """The names that are known inside a table of settings."""
    model: type[BaseModel] = Settings
    for key in keys:
        inner = model.model_fields[key].annotation
        if not (isinstance(inner, type) and issubclass(inner, BaseModel)):
            return []
        model = inner
    return list(model.model_fields)


# -- nested tables --------------------------------------------------------------------------------


def _merged(low: Mapping[str, Any], high: Mapping[str, Any]) -> dict[str, Any]:
    """Both, `high` over `low`, table by table."""
    both = dict(low)
    for key, value in high.items():
        under = both.get(key)
        both[key] = _merged(under, value) if isinstance(under, dict) and isinstance(value, dict) else value
    return both


def _holds(table: Any, keys: Sequence[str]) -> bool:
    for key in keys:
        if not isinstance(table, Mapping) or key not in table:
            return False
        table = table[key]
    return True
