"""Checking what a transform is given: its own arguments, and the texts of nodes."""

from __future__ import annotations

from typing import Any

import numpy as np

from knotwork.errors import InputError
from knotwork.graph import Node


def check_name(owner: str, name: str, value: Any) -> None:
    """Raises InputError unless the argument `name` of a transform can name a property."""
    if not isinstance(value, str) or not value:
        raise InputError(f"{owner}: {name} is the name of a property, not {value!r}")


def check_range(owner: str, name: str, value: Any, low: float, high: float) -> None:
    """Raises InputError unless the argument `name` of a transform is a number from low to high."""
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or not low <= value <= high:
        raise InputError(f"{owner}: {name} is a number from {low:g} to {high:g}, not {value!r}")


def check_count(owner: str, name: str, value: Any, least: int = 1) -> None:
    """Raises InputError unless the argument `name` of a transform is a whole number from `least` on."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise InputError(f"{owner}: {name} is a whole number from {least} on, not {value!r}")


def text_of(node: Node, name: str = "page_content") -> str:
    """A property that is a text; "" where it is missing or blank. Raises InputError for another type."""
    text = node.get_property(name)
    if text is None:
        return ""
    if not isinstance(text, str):
        raise InputError(f"node {node.id!r}: property {name!r} is {type(text).__name__}, a str is needed")
    return text if text.strip() else ""
