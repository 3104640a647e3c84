"""Models: what turns texts into vectors."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Sequence
from typing import Any

import numpy as np

from knotwork.errors import ModelError
from knotwork.models.offline import MiniLMEmbedder, StaticEmbedder, minilm_available, static_available, unit_rows
from knotwork.protocols import Embedder, Vectors

__all__ = ["Embedder", "embedder", "offline_available", "unit_rows"]


def offline_available() -> bool:
    """Whether an offline embedder is installed; on Python 3.14 with the core alone there is none."""
    return minilm_available() or static_available()


def embedder(spec: object = None) -> Embedder:
    """The embedder that a name or an object stands for.

    None or "offline": the best one installed; "fast": static vectors; "nlp": MiniLM (extra [nlp]). An object with
    `embed(texts)`, sync or async, and `dimension` serves too; its rows are brought to length 1, and without a
    `name` it goes by its class.
    """
    if spec is None or spec == "offline":
        return MiniLMEmbedder() if minilm_available() else StaticEmbedder()
    if spec == "fast":
        return StaticEmbedder()
    if spec == "nlp":
        return MiniLMEmbedder()
    if isinstance(spec, str):
        raise ModelError(f"unknown embedder {spec!r}: known are offline, fast and nlp; or pass an object that embeds")
    if isinstance(spec, Embedder) and inspect.iscoroutinefunction(spec.embed):
        return spec
    return _Adapted(spec)


class _Adapted:
    """A foreign object as an Embedder; a sync `embed` runs in a thread."""

    def __init__(self, model: Any) -> None:
        kind = type(model).__name__
        if not callable(getattr(model, "embed", None)):
            raise ModelError(f"{kind} is no embedder: it has no method embed(texts)")
        if not isinstance(getattr(model, "dimension", None), int):
            raise ModelError(f"{kind} is no embedder: set its attribute dimension to the length of its vectors")
        self._model = model
        self.name = str(getattr(model, "name", kind))
        self.dimension = int(model.dimension)

    async def embed(self, texts: Sequence[str]) -> Vectors:
        if inspect.iscoroutinefunction(self._model.embed):
            made = await self._model.embed(texts)
        else:
            made = await asyncio.to_thread(self._model.embed, texts)
            made = await made if inspect.isawaitable(made) else made
        try:
            rows = np.asarray(made, np.float32).reshape(len(texts), self.dimension)
        except (TypeError, ValueError) as error:
            wanted = f"{len(texts)} vectors of {self.dimension} numbers"
            raise ModelError(f"{self.name}.embed did not give {wanted}: {error}") from error
        return unit_rows(rows)
