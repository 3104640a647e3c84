"""Without the foreign package, the error says which extra brings it."""

from __future__ import annotations

import sys
from importlib import import_module

import pytest

from knotwork import KnowledgeGraph
from knotwork.errors import MissingExtra
from knotwork.interop import langchain, networkx, ragas

CALLS = {
    "langchain": lambda: langchain.to_langchain([]),
    "ragas": lambda: ragas.to_ragas(KnowledgeGraph()),
    "networkx": lambda: networkx.to_networkx(KnowledgeGraph()),
    "haystack": lambda: import_module("knotwork.interop.haystack"),
}


@pytest.mark.parametrize("extra", CALLS)
def test_an_absent_package_is_named_by_its_extra(extra: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.partition(".")[0] == extra]:
        monkeypatch.delitem(sys.modules, name)
    for name in (extra, "langchain_core.documents", "ragas.testset.graph", "haystack"):
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.delitem(sys.modules, "knotwork.interop.haystack", raising=False)
    with pytest.raises(MissingExtra, match=rf"pip install 'knotwork\[{extra}\]'") as caught:
        CALLS[extra]()
    assert isinstance(caught.value, ImportError)
