"""Knotwork turns documents into a knowledge graph and answers questions over them, with citations that are real.

from knotwork import Index

index = Index.open("kb")
index.add("docs/")
print(index.ask("Who …?"))
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from knotwork.graph import (
        Document,
        KnowledgeGraph,
        Node,
        NodeType,
        Relationship,
        get_child_nodes,
        get_parent_nodes,
    )
    from knotwork.index import Index, Status
    from knotwork.recipes import default_transforms, default_transforms_for_prechunked, short_text_transforms
    from knotwork.search.evidence import Answer, Citation, Evidence
    from knotwork.settings import Settings, load_settings
    from knotwork.transforms.engine import (
        Event,
        Parallel,
        Report,
        RunConfig,
        Skipped,
        aapply_transforms,
        apply_transforms,
        rollback_transforms,
    )

__version__ = "0.1.0"

# Loaded at first use: who needs the graph alone does not pay for the rest.
_HOMES = {
    "knotwork.graph": (
        "Document",
        "KnowledgeGraph",
        "Node",
        "NodeType",
        "Relationship",
        "get_child_nodes",
        "get_parent_nodes",
    ),
    "knotwork.index": ("Index", "Status"),
    "knotwork.recipes": ("default_transforms", "default_transforms_for_prechunked", "short_text_transforms"),
    "knotwork.search.evidence": ("Answer", "Citation", "Evidence"),
    "knotwork.settings": ("Settings", "load_settings"),
    "knotwork.transforms.engine": (
        "Event",
        "Parallel",
        "Report",
        "RunConfig",
        "Skipped",
        "aapply_transforms",
        "apply_transforms",
        "rollback_transforms",
    ),
}
_HOME = {name: home for home, names in _HOMES.items() for name in names}

__all__ = [
    "Answer",
    "Citation",
    "Document",
    "Event",
    "Evidence",
    "Index",
    "KnowledgeGraph",
    "Node",
    "NodeType",
    "Parallel",
    "Relationship",
    "Report",
    "RunConfig",
    "Settings",
    "Skipped",
    "Status",
    "aapply_transforms",
    "apply_transforms",
    "default_transforms",
    "default_transforms_for_prechunked",
    "get_child_nodes",
    "get_parent_nodes",
    "load_settings",
    "rollback_transforms",
    "short_text_transforms",
]


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'knotwork' has no attribute {name!r}")
    return getattr(import_module(_HOME[name]), name)


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
