"""What `import knotwork` offers, and what it must not cost."""

from __future__ import annotations

import asyncio
import socket
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import knotwork
from knotwork import transforms

PUBLIC = {
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
}

TRANSFORMS = {
    "BaseGraphTransformation",
    "CommunityBuilder",
    "CommunityReporter",
    "CosineSimilarityBuilder",
    "CustomNodeFilter",
    "DEFAULT_RUBRICS",
    "DistanceMeasure",
    "EmbeddingBasedDocumentSplitter",
    "EmbeddingExtractor",
    "EntityResolver",
    "Extractor",
    "GraphExtractor",
    "GraphTransform",
    "HeadlineSplitter",
    "HeadlinesExtractor",
    "JaccardSimilarityBuilder",
    "KeyphrasesExtractor",
    "LLMBasedExtractor",
    "LLMBasedNodeFilter",
    "NERExtractor",
    "NodeFilter",
    "OfflineExtractor",
    "OverlapScoreBuilder",
    "Parallel",
    "PassageEmbeddingExtractor",
    "PooledEmbeddingExtractor",
    "Prompt",
    "QuestionPotentialPrompt",
    "RegexBasedExtractor",
    "RelationshipBuilder",
    "RunConfig",
    "SemanticSplitter",
    "SentenceEmbeddingExtractor",
    "SentenceExtractor",
    "SentenceSplitter",
    "Splitter",
    "SummaryCosineSimilarityBuilder",
    "SummaryExtractor",
    "ThemesExtractor",
    "TitleExtractor",
    "TopicDescriptionExtractor",
    "Transforms",
    "aapply_transforms",
    "apply_transforms",
    "default_filter",
    "emails_extractor",
    "links_extractor",
    "markdown_headings_extractor",
    "rollback_transforms",
}

NOT_LOADED = {"spacy", "openai", "scipy", "onnxruntime", "graspologic_native", "wordllama"}


def test_the_public_names_are_exactly_these() -> None:
    assert set(knotwork.__all__) == PUBLIC
    assert len(knotwork.__all__) == len(PUBLIC)


def test_the_public_transforms_are_exactly_these() -> None:
    assert set(transforms.__all__) == TRANSFORMS
    assert all(getattr(transforms, name) is not None for name in TRANSFORMS)


@pytest.mark.parametrize("name", sorted(PUBLIC))
def test_every_public_name_is_there_and_listed(name: str) -> None:
    assert getattr(knotwork, name) is not None
    assert name in dir(knotwork)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = knotwork.no_such_name


def test_the_version_is_the_one_that_gets_packaged() -> None:
    project = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8"))
    assert knotwork.__version__ == project["project"]["version"]


def test_importing_knotwork_loads_no_heavy_library() -> None:
    code = "import sys, knotwork; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert NOT_LOADED.isdisjoint(ran.stdout.split())


# The guard of conftest.py, on which every other test leans. The address is one reserved for documentation.


@pytest.mark.parametrize("host", ["192.0.2.1", "knotwork.invalid"])
def test_a_test_cannot_open_a_connection_to_a_network(host: str) -> None:
    with pytest.raises(pytest.fail.Exception, match="only loopback"):
        socket.create_connection((host, 80), timeout=1)


def test_a_test_cannot_open_a_connection_from_a_loop() -> None:
    with pytest.raises(pytest.fail.Exception, match="only loopback"):
        asyncio.run(asyncio.open_connection("192.0.2.1", 80))


def test_a_test_may_talk_to_itself() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        socket.create_connection(server.getsockname(), timeout=1).close()
