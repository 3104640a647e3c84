"""What can go wrong, as one tree.

    KnotworkError
    ├── InputError (ValueError)      what the caller gave cannot be used
    │   ├── LoadError                a file or folder that cannot be read
    │   ├── GraphError               a change or file that would break the graph
    │   └── SettingsError            a setting, by file, line and key
    ├── TransformError               a transform failed: which, on which node, why
    ├── ModelError                   a model, its files or its endpoint
    │   ├── ModelBusy                an endpoint that could not answer now
    │   └── ReplyError (ValueError)  a model's replies that cannot be used
    ├── MissingExtra (ImportError)   a feature whose optional packages are absent
    └── StoreError                   the index on disk
        ├── StoreLocked              another process is writing
        └── StoreMismatch            made by another version or another embedder

Every message says what happened, to what, and what would work.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any


class KnotworkError(Exception):
    """Root of every error that Knotwork raises on purpose."""


class InputError(KnotworkError, ValueError):
    """The caller gave something that cannot be used. Never retried."""


class LoadError(InputError):
    """A file or folder could not be read; the message names it."""


class GraphError(InputError):
    """A change or a file that would leave the graph inconsistent."""


class SettingsError(InputError):
    """A setting is unknown or has the wrong type; names file, line and key."""


class ModelError(KnotworkError):
    """A model, its files or its endpoint failed."""


class ModelBusy(ModelError):
    """An endpoint could not answer now: asked too often, broken inside, or out of reach. Worth asking again.

    retry_after: the seconds that it asks to wait; None when it doesn't say.
    """

    def __init__(self, message: str, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class ReplyError(ModelError, ValueError):
    """A model's replies cannot be used. It was asked again already: never retried."""


class MissingExtra(KnotworkError, ImportError):
    """An optional feature was asked for and its packages are not installed."""

    def __init__(self, feature: str, extra: str) -> None:
        super().__init__(f"{feature} needs the extra [{extra}]: pip install 'knotwork[{extra}]'")
        self.extra = extra


class StoreError(KnotworkError):
    """The index on disk cannot be read or written."""


class StoreLocked(StoreError):
    """Another process is writing to the index."""


class StoreMismatch(StoreError):
    """The index was made by another version of Knotwork or with another embedder."""


class TransformError(KnotworkError):
    """A transform failed. It is also a ValueError or TypeError when its cause is.

    transform: its name; node_id: the node at work, None when the whole graph was;
    changes: what the stage had finished and the next apply will use.
    """

    transform: str
    node_id: Any
    changes: Sequence[Any]

    def __new__(cls, transform: str, node_id: Any, cause: BaseException, changes: Sequence[Any] = ()) -> TransformError:
        if cls is TransformError:
            if isinstance(cause, ValueError):
                cls = _TransformValueError
            elif isinstance(cause, TypeError):
                cls = _TransformTypeError
        return super().__new__(cls, transform, node_id, cause, changes)

    def __init__(self, transform: str, node_id: Any, cause: BaseException, changes: Sequence[Any] = ()) -> None:
        said = str(cause) or type(cause).__name__
        if isinstance(cause, LookupError) and str(cause):
            said = f"{type(cause).__name__}: {cause}"  # "KeyError: 'name'", where "'name'" says too little
        where = "" if node_id is None or said.startswith("node ") else f" on node {node_id!r}"
        super().__init__(f"{transform} failed{where}: {said}")
        self.transform = transform
        self.node_id = node_id
        self.cause = cause
        self.changes = changes


class _TransformValueError(TransformError, ValueError):
    pass


class _TransformTypeError(TransformError, TypeError):
    pass
