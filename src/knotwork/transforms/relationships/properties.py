"""Reading the properties that relationship builders compare, and checking their arguments."""

from __future__ import annotations

from typing import Any

import numpy as np

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


# -- arguments ------------------------------------------------------------------------------------


def check_name(builder: str, name: str, value: Any) -> None:
    """Raises InputError unless the argument `name` of a builder can name a property."""
    if not isinstance(value, str) or not value:
        raise InputError(f"{builder}: {name} is the name of a property, not {value!r}")


def check_range(builder: str, name: str, value: Any, low: float, high: float) -> None:
    """Raises InputError unless the argument `name` of a builder is a number from low to high."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not low <= value <= high:
        raise InputError(f"{builder}: {name} is a number from {low:g} to {high:g}, not {value!r}")


def check_count(builder: str, name: str, value: Any) -> None:
    """Raises InputError unless the argument `name` of a builder is a whole number from 1 on."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InputError(f"{builder}: {name} is a whole number from 1 on, not {value!r}")
