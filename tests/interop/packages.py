"""The foreign packages. Without them a test is skipped; under `make test-interop` their absence is an error."""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType

import pytest

# They would report their use over the network.
os.environ["HAYSTACK_TELEMETRY_ENABLED"] = "False"
os.environ["RAGAS_DO_NOT_TRACK"] = "true"


def need(name: str) -> ModuleType:
    """The module of that name, from an installed package."""
    try:
        return import_module(name)
    except ImportError as error:
        if os.environ.get("KNOTWORK_TEST_INTEROP"):
            raise
        pytest.skip(f"{error}; make test-interop runs it", allow_module_level=True)
