"""Searching: prompts built from a graph, and what they need. `Index.ask` and `Index.search` need none of it."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from knotwork.search.context import (
        cluster_summaries,
        entity_vectors,
        extra_inside_edges,
        extra_outside_edges,
        semantic_similar_entities,
        source_texts,
    )
    from knotwork.search.prompt_builder import LOCAL_SEARCH_PROMPT, PromptBuilder
    from knotwork.search.vectors import EmbedderAdapter, InMemoryVectorDatabase

# Loaded at first use: an index loads this package too, and should not pay for what it doesn't use.
_HOMES = {
    "knotwork.search.context": (
        "cluster_summaries",
        "entity_vectors",
        "extra_inside_edges",
        "extra_outside_edges",
        "semantic_similar_entities",
        "source_texts",
    ),
    "knotwork.search.prompt_builder": ("LOCAL_SEARCH_PROMPT", "PromptBuilder"),
    "knotwork.search.vectors": ("EmbedderAdapter", "InMemoryVectorDatabase"),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "LOCAL_SEARCH_PROMPT",
    "EmbedderAdapter",
    "InMemoryVectorDatabase",
    "PromptBuilder",
    "cluster_summaries",
    "entity_vectors",
    "extra_inside_edges",
    "extra_outside_edges",
    "semantic_similar_entities",
    "source_texts",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'knotwork.search' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
