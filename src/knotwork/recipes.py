"""The pipelines, as lists of transforms. The only module that knows every stage."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import lru_cache
from typing import Any, Literal

from knotwork.errors import InputError
from knotwork.graph import Document, Node, NodeType
from knotwork.nlp import Profile
from knotwork.protocols import LLM, Embedder
from knotwork.text import count_tokens
from knotwork.transforms.base import Splitter
from knotwork.transforms.communities import CommunityBuilder
from knotwork.transforms.engine import Parallel, Stage
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
    NERExtractor,
    SummaryExtractor,
    ThemesExtractor,
)
from knotwork.transforms.filters import CustomNodeFilter
from knotwork.transforms.relationships.overlap import OverlapScoreBuilder
from knotwork.transforms.relationships.similarity import CosineSimilarityBuilder
from knotwork.transforms.reports import CommunityReporter
from knotwork.transforms.splitters.headlines import HeadlineSplitter
from knotwork.transforms.splitters.semantic import SemanticSplitter
from knotwork.transforms.splitters.sentences import SentenceSplitter

Cut = Literal["sentences", "headlines", "semantic"]

CHARACTERS = 4
"""Of English prose a token, about."""

ALL_HEADLINES = 10_000
"""More than a document has."""


def _is_document(node: Node) -> bool:
    return node.type is NodeType.DOCUMENT


def _is_chunk(node: Node) -> bool:
    return node.type is NodeType.CHUNK


def document_transforms(
    *,
    llm: LLM | Any = None,
    profile: Profile | None = None,
    embedder: Embedder | None = None,
    splitter: Splitter | Cut = "sentences",
    chunk_size: int = 256,
    chunk_overlap: int = 0,
    pooled: bool = False,
) -> list[Stage]:
    """What is done to each document by itself: chunks, their element instances and vectors.

    llm: a model that tells entities and relationships; None: the offline profile does. splitter: one of your own, or
    where to cut, into chunks of at most `chunk_size` tokens. embedder None: no vectors; questions are then answered by
    full text and the graph alone. pooled: passages get the mean of their sentences' vectors, at half the embedding's
    cost.
    """
    cut: list[Stage]
    cut = [splitter] if isinstance(splitter, Splitter) else _cut(splitter, embedder, chunk_size, chunk_overlap)
    sentences = SentenceExtractor(filter_nodes=_is_chunk)
    elements: Stage = OfflineExtractor(filter_nodes=_is_chunk, profile=profile)
    if llm is not None:
        elements = GraphExtractor(filter_nodes=_is_chunk, llm=llm)
    if embedder is None:
        return [*cut, sentences, elements]
    of_sentences = SentenceEmbeddingExtractor(filter_nodes=_is_chunk, embedding_model=embedder)
    if pooled:
        return [*cut, sentences, Parallel(elements, of_sentences), PooledEmbeddingExtractor(filter_nodes=_is_chunk)]
    of_passages = PassageEmbeddingExtractor(filter_nodes=_is_chunk, embedding_model=embedder)
    return [*cut, sentences, Parallel(elements, of_sentences, of_passages)]


def _cut(where: Cut, embedder: Embedder | None, size: int, overlap: int) -> list[Stage]:
    if where == "sentences":
        return [SentenceSplitter(filter_nodes=_is_document, chunk_size=size, chunk_overlap=overlap)]
    if overlap:
        raise InputError(f"chunk_overlap is {overlap}, and only the splitter 'sentences' repeats text; set it to 0")
    if where == "headlines":
        splitter = HeadlineSplitter(filter_nodes=_is_document, min_tokens=size // 4, max_tokens=size)
        return [HeadlinesExtractor(filter_nodes=_is_document, max_num=ALL_HEADLINES), splitter]
    if where == "semantic":
        if embedder is None:
            raise InputError("the splitter 'semantic' compares vectors, and there is no embedder: install one ([nlp])")
        return [SemanticSplitter(filter_nodes=_is_document, embedding_model=embedder, max_length=CHARACTERS * size)]
    raise InputError(f"splitter is 'sentences', 'headlines' or 'semantic', not {where!r}")


def corpus_transforms(*, max_cluster_size: int = 10, seed: int = 42) -> list[Stage]:
    """What is done over all documents: entities with mentions and relations, communities, their reports."""
    return [EntityResolver(), CommunityBuilder(max_cluster_size=max_cluster_size, seed=seed), CommunityReporter()]


def graphrag_transforms(
    *,
    llm: LLM | Any = None,
    profile: Profile | None = None,
    embedder: Embedder | None = None,
    splitter: Splitter | Cut = "sentences",
    chunk_size: int = 256,
    chunk_overlap: int = 0,
    pooled: bool = False,
    max_cluster_size: int = 10,
    seed: int = 42,
) -> list[Stage]:
    """The whole Graph-RAG pipeline on a graph of DOCUMENT nodes with `page_content`."""
    return [
        *document_transforms(
            llm=llm,
            profile=profile,
            embedder=embedder,
            splitter=splitter,
            chunk_size=chunk_size,
            chunk_overlap=chunk_overlap,
            pooled=pooled,
        ),
        *corpus_transforms(max_cluster_size=max_cluster_size, seed=seed),
    ]


# -- graphs of documents that are alike -----------------------------------------------------------

LONG = 500
SHORT = 100
"""Tokens. A text of more than LONG is split at its headings; one of SHORT or fewer says too little to be summarised."""

Keep = Callable[[Node], bool]


def default_transforms(
    documents: Iterable[Document | str | Any], llm: LLM | Any = None, embedding_model: Embedder | Any = None
) -> list[Stage]:
    """The transforms that suit documents of these lengths, for a graph of DOCUMENT nodes with `page_content`.

    documents: ours, LangChain's or strings. Where a quarter of them have more than 500 tokens they are split at their
    headings, scored, and linked by the similarity of their summaries and the overlap of the chunks' names; where a
    quarter have more than 100, the same without the splitting. llm, embedding_model None: offline.

    Raises InputError for no documents, and for ones too short for either.
    """
    if isinstance(documents, str) or not isinstance(documents, Iterable):
        raise InputError(f"default_transforms needs a list of documents, not {type(documents).__name__}")
    counts = count_tokens(list(map(_text_of, documents)))
    if not counts:
        raise InputError("default_transforms needs the documents: it chooses the transforms by their lengths")
    share_long = sum(count > LONG for count in counts) / len(counts)
    if share_long >= 0.25:
        return _of_long_documents(llm, embedding_model)
    if sum(count > SHORT for count in counts) >= len(counts) / 4:  # the few long ones with them
        return _of_whole_texts(lambda node: _is_document(node) and _tokens(node) > SHORT, 0.5, llm, embedding_model)
    raise InputError(
        f"the {len(counts)} documents are too short for default_transforms: {max(counts)} tokens the longest, and "
        f"fewer than a quarter have more than {SHORT}. short_text_transforms(llm, embedding_model) links short texts"
    )


def default_transforms_for_prechunked(llm: LLM | Any = None, embedding_model: Embedder | Any = None) -> list[Stage]:
    """As `default_transforms` for documents of middle length, on CHUNK nodes that were cut elsewhere."""
    return _of_whole_texts(_is_chunk, 0.7, llm, embedding_model)


def short_text_transforms(llm: LLM | Any = None, embedding_model: Embedder | Any = None) -> list[Stage]:
    """Links DOCUMENT nodes by the similarity of their texts (cosine of 0.7 and more) and the names they share."""
    return [
        Parallel(
            EmbeddingExtractor(filter_nodes=_is_document, embedding_model=embedding_model),
            NERExtractor(filter_nodes=_is_document, llm=llm),
        ),
        Parallel(
            CosineSimilarityBuilder(filter_nodes=_having("embedding", _is_document), threshold=0.7),
            OverlapScoreBuilder(filter_nodes=_having("entities", _is_document), threshold=0.01),
        ),
    ]


def _of_long_documents(llm: LLM | Any, embedding_model: Embedder | Any) -> list[Stage]:
    def is_long(node: Node) -> bool:
        return _is_document(node) and _tokens(node) > LONG

    return [
        HeadlinesExtractor(filter_nodes=is_long, llm=llm),
        HeadlineSplitter(filter_nodes=_having("headlines", is_long), min_tokens=LONG),
        SummaryExtractor(filter_nodes=is_long, llm=llm),
        CustomNodeFilter(filter_nodes=_is_chunk, llm=llm),
        *_linked(is_long, _is_chunk, 0.7, llm, embedding_model),
    ]


def _of_whole_texts(keep: Keep, threshold: float, llm: LLM | Any, embedding_model: Embedder | Any) -> list[Stage]:
    return [
        SummaryExtractor(filter_nodes=keep, llm=llm),
        CustomNodeFilter(filter_nodes=keep, llm=llm),
        *_linked(keep, keep, threshold, llm, embedding_model),
    ]


def _linked(summarised: Keep, named: Keep, threshold: float, llm: LLM | Any, model: Embedder | Any) -> list[Stage]:
    """What is extracted side by side, and the relationships made of it."""
    return [
        Parallel(
            EmbeddingExtractor(
                name="SummaryEmbedding",
                filter_nodes=_having("summary", summarised),
                property_name="summary_embedding",
                embed_property_name="summary",
                embedding_model=model,
            ),
            ThemesExtractor(filter_nodes=named, llm=llm),
            NERExtractor(filter_nodes=named, llm=llm),
        ),
        Parallel(
            CosineSimilarityBuilder(
                name="SummarySimilarity",
                filter_nodes=_having("summary_embedding", summarised),
                property_name="summary_embedding",
                new_property_name="summary_similarity",
                threshold=threshold,
            ),
            OverlapScoreBuilder(filter_nodes=_having("entities", named), threshold=0.01),
        ),
    ]


def _having(name: str, keep: Keep) -> Keep:
    """Those that have a property, too: what an extractor was not able to fill doesn't stop the rest."""
    return lambda node: node.get_property(name) is not None and keep(node)


def _text_of(document: Any) -> str:
    for text in (document, getattr(document, "text", None), getattr(document, "page_content", None)):
        if isinstance(text, str):
            return text
    raise InputError(f"{document!r} is no document: a Document, one of LangChain's, or a str is needed")


def _tokens(node: Node) -> int:
    text = node.get_property("page_content")
    return _count(text) if isinstance(text, str) else 0


@lru_cache(maxsize=1024)
def _count(text: str) -> int:
    return count_tokens([text])[0]
