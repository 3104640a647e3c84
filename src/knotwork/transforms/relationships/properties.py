"""Reading the properties that relationship builders compare."""

from __future__ import annotations

from typing import Any

from knotwork.errors import InputError
from knotwork.graph import Node


def required(node: Node, name: str) -> Any:
    """A property that must be there. Raises InputError naming node and property."""
    value = node.get_property(name)
    if value is None:
        raise InputError(
            f"node {node.id!r} has no property {name!r}; run the transform that writes it first, "
            "or leave the node out with filter_nodes"
        )
    return value


def shown(value: Any) -> str:
    """Type and beginning of a value, for an error."""
    text = repr(value)
    return f"{type(value).__name__} {text if len(text) <= 60 else text[:57] + '...'}"
