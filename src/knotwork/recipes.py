"""The pipelines, as lists of transforms. The only module that knows every stage."""

from __future__ import annotations

from knotwork.graph import Node, NodeType
from knotwork.nlp import Profile
from knotwork.protocols import Embedder
from knotwork.transforms.base import Splitter
from knotwork.transforms.communities import CommunityBuilder
from knotwork.transforms.engine import Parallel, Stage
from knotwork.transforms.entities import EntityResolver
from knotwork.transforms.extractors.embedding import (
    PassageEmbeddingExtractor,
    PooledEmbeddingExtractor,
    SentenceEmbeddingExtractor,
)
from knotwork.transforms.extractors.offline import OfflineExtractor, SentenceExtractor
from knotwork.transforms.reports import CommunityReporter
from knotwork.transforms.splitters.sentences import SentenceSplitter


def _is_document(node: Node) -> bool:
    return node.type is NodeType.DOCUMENT


def _is_chunk(node: Node) -> bool:
    return node.type is NodeType.CHUNK


def document_transforms(
    *,
    profile: Profile | None = None,
    embedder: Embedder | None = None,
    splitter: Splitter | None = None,
    chunk_size: int = 256,
    chunk_overlap: int = 0,
    pooled: bool = False,
) -> list[Stage]:
    """What is done to each document by itself: chunks, their element instances and vectors.

    embedder None: no vectors; questions are then answered by full text and the graph alone. pooled: passages get the
    mean of their sentences' vectors, at half the embedding's cost.
    """
    cut = splitter or SentenceSplitter(filter_nodes=_is_document, chunk_size=chunk_size, chunk_overlap=chunk_overlap)
    sentences = SentenceExtractor(filter_nodes=_is_chunk)
    elements = OfflineExtractor(filter_nodes=_is_chunk, profile=profile)
    if embedder is None:
        return [cut, sentences, elements]
    of_sentences = SentenceEmbeddingExtractor(filter_nodes=_is_chunk, embedding_model=embedder)
    if pooled:
        return [cut, sentences, Parallel(elements, of_sentences), PooledEmbeddingExtractor(filter_nodes=_is_chunk)]
    of_passages = PassageEmbeddingExtractor(filter_nodes=_is_chunk, embedding_model=embedder)
    return [cut, sentences, Parallel(elements, of_sentences, of_passages)]


def corpus_transforms(*, max_cluster_size: int = 10, seed: int = 42) -> list[Stage]:
    """What is done over all documents: entities with mentions and relations, communities, their reports."""
    return [EntityResolver(), CommunityBuilder(max_cluster_size=max_cluster_size, seed=seed), CommunityReporter()]


def graphrag_transforms(
    *,
    profile: Profile | None = None,
    embedder: Embedder | None = None,
    splitter: Splitter | None = None,
    chunk_size: int = 256,
    chunk_overlap: int = 0,
    pooled: bool = False,
    max_cluster_size: int = 10,
    seed: int = 42,
) -> list[Stage]:
    """The whole Graph-RAG pipeline on a graph of DOCUMENT nodes with `page_content`."""
    return [
        *document_transforms(
            profile=profile,
            embedder=embedder,
            splitter=splitter,
            chunk_size=chunk_size,
            chunk_overlap=chunk_overlap,
            pooled=pooled,
        ),
        *corpus_transforms(max_cluster_size=max_cluster_size, seed=seed),
    ]
