"""Every transform and base class, by name."""

from knotwork.transforms.base import (
    BaseGraphTransformation,
    Extractor,
    GraphTransform,
    NodeFilter,
    RelationshipBuilder,
    Splitter,
    default_filter,
)
from knotwork.transforms.communities import CommunityBuilder
from knotwork.transforms.engine import Parallel, RunConfig, aapply_transforms, apply_transforms, rollback_transforms
from knotwork.transforms.entities import EntityResolver
from knotwork.transforms.extractors.embedding import (
    EmbeddingExtractor,
    PassageEmbeddingExtractor,
    PooledEmbeddingExtractor,
    SentenceEmbeddingExtractor,
)
from knotwork.transforms.extractors.offline import OfflineExtractor, SentenceExtractor
from knotwork.transforms.reports import CommunityReporter
from knotwork.transforms.splitters.sentences import SentenceSplitter

__all__ = [
    "BaseGraphTransformation",
    "CommunityBuilder",
    "CommunityReporter",
    "EmbeddingExtractor",
    "EntityResolver",
    "Extractor",
    "GraphTransform",
    "NodeFilter",
    "OfflineExtractor",
    "Parallel",
    "PassageEmbeddingExtractor",
    "PooledEmbeddingExtractor",
    "RelationshipBuilder",
    "RunConfig",
    "SentenceEmbeddingExtractor",
    "SentenceExtractor",
    "SentenceSplitter",
    "Splitter",
    "aapply_transforms",
    "apply_transforms",
    "default_filter",
    "rollback_transforms",
]
