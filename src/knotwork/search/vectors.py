"""What `PromptBuilder` asks for vectors: an embedder that is told the task, and a vector database in memory."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, Protocol, TypeAlias
from uuid import uuid4

import numpy as np
import numpy.typing as npt

from knotwork.errors import InputError
from knotwork.models import embedder, unit_rows
from knotwork.transforms.engine import run_sync

Task = Literal["embed_query", "embed_document"]
Filters: TypeAlias = Mapping[str, Sequence[Any]]
Floats: TypeAlias = npt.NDArray[np.float32]

FEATURE = "description"
"""The feature of a vector whose metadata names none."""


class EmbeddingModel(Protocol):
    """Texts to vectors, told what for: some models read a question in another way than a passage."""

    @property
    def vector_size(self) -> int: ...

    def embed(self, text: str | list[str], task: Task = "embed_document") -> npt.NDArray[Any]:
        """(n, vector_size), a row a text."""
        ...


class VectorDatabase(Protocol):
    """Vectors with metadata `entity_type` ("node" or "edge"), `entity_name` (a name or a pair) and `feature`."""

    def add_vectors(self, vectors: Iterable[Mapping[str, Any]]) -> object:
        """Take in {"uuid", "vector", "metadata"} each."""
        ...

    def search(
        self, query_vectors: Any, k: int, score_threshold: float = 0.0, filters: Filters | None = None
    ) -> Sequence[Sequence[Mapping[str, Any]]]:
        """For each query the k best {"uuid", "score", "metadata"}, best first."""
        ...


class EmbedderAdapter:
    """A Knotwork embedder, or whatever `knotwork.models.embedder` makes one of, as an `EmbeddingModel`.

    Our embedders read questions and passages alike, so the task is without effect. May be called inside a running
    event loop.
    """

    def __init__(self, model: object = None) -> None:
        self.model = embedder(model)

    @property
    def vector_size(self) -> int:
        return self.model.dimension

    def embed(self, text: str | list[str], task: Task = "embed_document") -> Floats:
        return run_sync(self.model.embed([text] if isinstance(text, str) else list(text)))

    def __repr__(self) -> str:
        return f"EmbedderAdapter({self.model!r})"


def as_embedding_model(model: Any) -> EmbeddingModel:
    """The model itself when its `embed` is sync and takes a task; any other embedder is adapted."""
    embed = getattr(model, "embed", None)
    if callable(embed) and not inspect.iscoroutinefunction(embed):
        try:
            parameters = inspect.signature(embed).parameters
        except (TypeError, ValueError):  # written in C
            parameters = {}  # type: ignore[assignment]
        if "task" in parameters:
            return model  # type: ignore[no-any-return]
    return EmbedderAdapter(model)


class InMemoryVectorDatabase:
    """Exact cosine search over vectors kept in memory as float32: 4 bytes a number, one matrix product a search.

    vector_size: how long the vectors are; None: as long as the first one.
    """

    def __init__(self, vector_size: int | None = None) -> None:
        self.vector_size = vector_size
        self._places: dict[Any, int] = {}  # uuid -> row
        self._uuids: list[Any] = []
        self._rows: list[Floats] = []  # as they came
        self._metadata: list[dict[str, Any]] = []
        self._units: Floats | None = None  # the rows at length 1; None: to be made
        self._masks: dict[tuple[str, frozenset[Any]], npt.NDArray[np.bool_]] = {}

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f"InMemoryVectorDatabase({len(self)} vectors of {self.vector_size})"

    def add_vectors(self, vectors: Iterable[Mapping[str, Any]]) -> None:
        """Take in {"uuid", "vector", "metadata"} each: all, or none and an InputError that names the uuid.

        A uuid that is there already gets the new vector and metadata; without a uuid it gets a new one. Metadata
        without a `feature` is taken for that of a description.
        """
        size, new = self.vector_size, []
        for item in vectors:
            uuid, row, metadata = _checked(item, size)
            size = len(row)
            new.append((uuid, row, metadata))
        for uuid, row, metadata in new:
            at = self._places.setdefault(uuid, len(self._rows))
            self._uuids[at : at + 1] = [uuid]
            self._rows[at : at + 1] = [row]
            self._metadata[at : at + 1] = [metadata]
        if new:
            self.vector_size, self._units = size, None
            self._masks.clear()

    def search(
        self, query_vectors: Any, k: int, score_threshold: float = 0.0, filters: Filters | None = None
    ) -> list[list[dict[str, Any]]]:
        """For each query the k best {"uuid", "score", "metadata"}: cosine, at least `score_threshold`, best first.

        query_vectors: (n, d), or (d,) for one. filters: metadata key → the values to be kept. Equal scores in the
        order of adding; a query of zeros points nowhere and finds nothing.
        """
        if not isinstance(k, int | np.integer) or isinstance(k, bool) or k < 0:
            raise InputError(f"k must be a whole number from 0 on, not {k!r}")
        if not isinstance(score_threshold, int | float | np.number) or score_threshold != score_threshold:
            raise InputError(f"score_threshold must be a number, not {score_threshold!r}")
        queries = _matrix(query_vectors, "the query vectors")
        if not self._rows or not len(queries):
            return [[] for _ in queries]
        if queries.shape[1] != self.vector_size:
            raise InputError(
                f"the query vectors have {queries.shape[1]} numbers, those in the database {self.vector_size}: "
                "take the embedder that made them"
            )
        if self._units is None:
            self._units = unit_rows(np.stack(self._rows))
        kept = self._kept(filters or {})
        found = []
        for query, scores in zip(queries, unit_rows(queries) @ self._units.T, strict=True):
            np.clip(scores, -1, 1, out=scores)
            rows = np.flatnonzero(kept & (scores >= score_threshold)) if query.any() else np.zeros(0, np.intp)
            found.append(
                [
                    {"uuid": self._uuids[row], "score": float(scores[row]), "metadata": dict(self._metadata[row])}
                    for row in _best(rows, scores, int(k)).tolist()
                ]
            )
        return found

    def _kept(self, filters: Filters) -> npt.NDArray[np.bool_]:
        """Which rows pass all filters. Looking at all metadata once a search would cost more than the search."""
        kept = np.ones(len(self._rows), np.bool_)
        for key, values in filters.items():
            try:
                wanted = frozenset([values] if isinstance(values, str) else values)
            except TypeError as error:
                raise InputError(f"filters[{key!r}] must be a list of values, not {values!r}") from error
            mask = self._masks.get((key, wanted))
            if mask is None:
                mask = np.array([_value(metadata, key) in wanted for metadata in self._metadata], np.bool_)
                if len(self._masks) >= 64:
                    self._masks.clear()
                self._masks[key, wanted] = mask
            kept &= mask
        return kept


def _value(metadata: Mapping[str, Any], key: str) -> Any:
    value = metadata.get(key, FEATURE if key == "feature" else None)
    return tuple(value) if isinstance(value, list) else value


def _best(rows: npt.NDArray[np.intp], scores: Floats, k: int) -> npt.NDArray[np.intp]:
    """The k rows of the highest scores, best first; ties in the order of the rows."""
    if k == 0:
        return rows[:0]
    if len(rows) > k:
        least = np.partition(scores[rows], len(rows) - k)[len(rows) - k]
        rows = rows[scores[rows] >= least]
    return rows[np.argsort(-scores[rows], kind="stable")][:k]


def _checked(item: Any, size: int | None) -> tuple[Any, Floats, dict[str, Any]]:
    if not isinstance(item, Mapping) or "vector" not in item:
        raise InputError(f'a vector is given as {{"uuid", "vector", "metadata"}}, not as {item!r}')
    uuid = item.get("uuid")
    uuid = uuid4().hex if uuid is None else uuid
    metadata = item.get("metadata") or {}
    if not isinstance(metadata, Mapping):
        raise InputError(f"vector {uuid!r}: its metadata must be a mapping, not {metadata!r}")
    try:
        hash(uuid)
    except TypeError as error:
        raise InputError(f"a uuid must be hashable, a str best; {uuid!r} is not") from error
    rows = _matrix(item["vector"], f"vector {uuid!r}")
    if len(rows) != 1 or not rows.shape[1]:
        raise InputError(f"vector {uuid!r} must be one row of numbers, not an array of shape {rows.shape}")
    if size is not None and rows.shape[1] != size:
        raise InputError(f"vector {uuid!r} has {rows.shape[1]} numbers, the others have {size}")
    return uuid, rows[0], dict(metadata)


def _matrix(values: Any, what: str) -> Floats:
    """(n, d) of finite numbers. Raises InputError for anything else."""
    try:
        with np.errstate(over="ignore"):  # it becomes Infinity, of which more below
            rows = np.array(values, np.float32, ndmin=2)  # a copy: the caller may go on using theirs
    except (TypeError, ValueError) as error:
        raise InputError(f"{what} must be numbers, of one length: {error}") from error
    if rows.ndim != 2:
        raise InputError(f"{what} must be rows of numbers, not an array of shape {rows.shape}")
    if rows.shape == (1, 0):  # nothing at all was given
        rows = rows.reshape(0, 0)
    if not np.isfinite(rows).all():
        raise InputError(f"{what}: NaN and Infinity are no direction; leave such a text out, or embed it again")
    return rows
