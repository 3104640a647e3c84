"""Every transform and base class, by name."""

from knotwork.prompts import Prompt
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
from knotwork.transforms.engine import (
    Parallel,
    RunConfig,
    Transforms,
    aapply_transforms,
    apply_transforms,
    rollback_transforms,
)
from knotwork.transforms.entities import EntityResolver
from knotwork.transforms.extractors.embedding import (
    EmbeddingExtractor,
    PassageEmbeddingExtractor,
    PooledEmbeddingExtractor,
    SentenceEmbeddingExtractor,
)
from knotwork.transforms.extractors.graph import GraphExtractor
from knotwork.transforms.extractors.offline import OfflineExtractor, SentenceExtractor
from knotwork.transforms.extractors.prompted import (
    HeadlinesExtractor,
    KeyphrasesExtractor,
    LLMBasedExtractor,
    NERExtractor,
    SummaryExtractor,
    ThemesExtractor,
    TitleExtractor,
    TopicDescriptionExtractor,
)
from knotwork.transforms.extractors.regex import (
    RegexBasedExtractor,
    emails_extractor,
    links_extractor,
    markdown_headings_extractor,
)
from knotwork.transforms.filters import (
    DEFAULT_RUBRICS,
    CustomNodeFilter,
    LLMBasedNodeFilter,
    QuestionPotentialPrompt,
)
from knotwork.transforms.relationships.overlap import JaccardSimilarityBuilder, OverlapScoreBuilder
from knotwork.transforms.relationships.similarity import CosineSimilarityBuilder, SummaryCosineSimilarityBuilder
from knotwork.transforms.relationships.spelling import DistanceMeasure
from knotwork.transforms.reports import CommunityReporter
from knotwork.transforms.splitters.headlines import HeadlineSplitter
from knotwork.transforms.splitters.semantic import EmbeddingBasedDocumentSplitter, SemanticSplitter
from knotwork.transforms.splitters.sentences import SentenceSplitter

__all__ = [
    "DEFAULT_RUBRICS",
    "BaseGraphTransformation",
    "CommunityBuilder",
    "CommunityReporter",
    "CosineSimilarityBuilder",
    "CustomNodeFilter",
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
]
