"""Names, order and defaults of parameters are a contract with users who know them from elsewhere."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from knotwork import (
    KnowledgeGraph,
    Node,
    NodeType,
    Parallel,
    RunConfig,
    apply_transforms,
    default_transforms,
    default_transforms_for_prechunked,
)
from knotwork.errors import InputError
from knotwork.search import PromptBuilder
from knotwork.transforms import (
    CosineSimilarityBuilder,
    CustomNodeFilter,
    DistanceMeasure,
    EmbeddingBasedDocumentSplitter,
    EmbeddingExtractor,
    GraphExtractor,
    HeadlinesExtractor,
    HeadlineSplitter,
    JaccardSimilarityBuilder,
    KeyphrasesExtractor,
    LLMBasedExtractor,
    NERExtractor,
    OverlapScoreBuilder,
    RegexBasedExtractor,
    SentenceSplitter,
    SummaryCosineSimilarityBuilder,
    SummaryExtractor,
    ThemesExtractor,
    TitleExtractor,
    TopicDescriptionExtractor,
)

MODEL: dict[str, Any] = {"llm": None, "merge_if_possible": True, "max_token_limit": 32000, "tokenizer": None}
SEMANTIC = {
    "sentences_per_group": 3,
    "percentile": 0.95,
    "min_length": 50,
    "max_length": 1000,
    "language": "en",
    "use_split_rules": True,
    "extend_abbreviations": True,
}
# Of transforms, what follows name and filter_nodes; `...` for a default that is no plain value.
CONTRACT: dict[Any, dict[str, Any]] = {
    LLMBasedExtractor: {**MODEL, "property_name": "", "prompt": None},
    SummaryExtractor: {**MODEL, "property_name": "summary", "prompt": None},
    TitleExtractor: {**MODEL, "property_name": "title", "prompt": None},
    TopicDescriptionExtractor: {**MODEL, "property_name": "topic_description", "prompt": None},
    KeyphrasesExtractor: {**MODEL, "property_name": "keyphrases", "prompt": None, "max_num": 5},
    HeadlinesExtractor: {**MODEL, "property_name": "headlines", "prompt": None, "max_num": 5},
    GraphExtractor: {
        "llm": None,
        "extract_prompt": None,
        "parse_fn": None,
        "max_paths_per_chunk": 10,
        "num_workers": None,
        "gleanings": 0,
        "entity_types": None,
        "strict": False,
        "property_name": "elements",
    },
    NERExtractor: {**MODEL, "property_name": "entities", "prompt": None, "max_num_entities": 10},
    ThemesExtractor: {**MODEL, "property_name": "themes", "prompt": None, "max_num_themes": 10},
    EmbeddingExtractor: {
        "property_name": "embedding", "embed_property_name": "page_content", "embedding_model": None,
    },
    RegexBasedExtractor: {"property_name": "regex", "pattern": "", "is_multiline": False},
    HeadlineSplitter: {"min_tokens": 300, "max_tokens": 1000},
    SentenceSplitter: {"chunk_size": 1024, "chunk_overlap": 20},
    CustomNodeFilter: {"llm": None, "scoring_prompt": ..., "min_score": 2, "rubrics": ...},
    CosineSimilarityBuilder: {
        "property_name": "embedding", "new_property_name": "cosine_similarity", "threshold": 0.9,
        "block_size": 1024, "top_k": None,
    },
    SummaryCosineSimilarityBuilder: {
        "property_name": "summary_embedding", "new_property_name": "summary_cosine_similarity", "threshold": 0.1,
        "block_size": 1024, "top_k": None,
    },
    JaccardSimilarityBuilder: {
        "property_name": "entities", "key_name": None, "new_property_name": "jaccard_similarity", "threshold": 0.5,
        "top_k": None,
    },
    OverlapScoreBuilder: {
        "property_name": "entities", "key_name": None, "new_property_name": "overlap_score",
        "distance_measure": DistanceMeasure.JARO_WINKLER, "distance_threshold": 0.9, "threshold": 0.01, "top_k": None,
    },
}  # fmt: skip
FUNCTIONS: dict[Any, dict[str, Any]] = {
    EmbeddingBasedDocumentSplitter: {"document_embedder": ..., **SEMANTIC},
    RunConfig: {
        "timeout": 180, "max_retries": 10, "max_wait": 60, "max_workers": 16, "exception_types": (Exception,),
        "log_tenacity": False, "seed": 42,
    },
    default_transforms: {"documents": ..., "llm": None, "embedding_model": None},
    default_transforms_for_prechunked: {"llm": None, "embedding_model": None},
    PromptBuilder: {
        "embedding_model": ..., "vector_db": ..., "graph": ..., "source_documents": None, "cluster_report": None,
    },
    PromptBuilder.build_prompt: {
        "self": ..., "query": ..., "prompt": ..., "score_threshold": 0.0, "top_k_similar_entities": 10,
        "top_k_inside_edges": 3, "top_k_outside_edges": 3, "top_k_cluster_descriptions": 3,
        "top_k_source_documents": 3, "source_documents_id_key": "chunk_id", "source_documents_source_key": "chunk",
        "source_documents_feature_delimiter": "\n", "max_context_tokens": None,
    },
}  # fmt: skip


@pytest.mark.parametrize("made", [*CONTRACT, *FUNCTIONS])
def test_parameters_have_their_names_order_and_defaults(made: Any) -> None:
    parameters = dict(inspect.signature(made).parameters)
    if made in CONTRACT:
        assert list(parameters)[:2] == ["name", "filter_nodes"]
        assert parameters.pop("name").default == ""
        del parameters["filter_nodes"]
    wanted = CONTRACT.get(made) or FUNCTIONS[made]
    assert list(parameters) == list(wanted)
    for name, default in wanted.items():
        if default is not ...:
            assert parameters[name].default == default, name


# what is declared, so that members of a Parallel that get in each other's way are refused before anything is paid for
READERS = {
    "page_content": [SummaryExtractor, NERExtractor, CustomNodeFilter, RegexBasedExtractor, HeadlineSplitter],
    "headlines": [HeadlineSplitter],
    "summary": [CustomNodeFilter],
    "embedding": [CosineSimilarityBuilder],
    "summary_embedding": [SummaryCosineSimilarityBuilder],
    "entities": [JaccardSimilarityBuilder, OverlapScoreBuilder],
}


@pytest.mark.parametrize(("name", "reader"), [(name, reader) for name, all in READERS.items() for reader in all])
def test_a_reader_beside_a_writer_is_refused_before_anything_is_paid_for(name: str, reader: Any) -> None:
    asked: list[str] = []
    writer = TitleExtractor(property_name=name, llm=lambda prompt: asked.append(prompt) or "x")
    made = reader(pattern="x") if reader is RegexBasedExtractor else reader()
    kg = KnowledgeGraph([Node("a", {"page_content": "Ada."}, NodeType.CHUNK)])
    with pytest.raises(InputError, match=f"reads {name}, which TitleExtractor writes"):
        apply_transforms(kg, Parallel(made, writer))
    assert asked == []


WRONG: list[tuple[Any, dict[str, Any]]] = [
    (KeyphrasesExtractor, {"max_num": 2.5}),
    (KeyphrasesExtractor, {"max_num": "3"}),
    (NERExtractor, {"max_num_entities": True}),
    (SummaryExtractor, {"max_token_limit": "many"}),
    (CustomNodeFilter, {"min_score": "2"}),
    (CustomNodeFilter, {"min_score": 9}),
    (HeadlineSplitter, {"min_tokens": "a"}),
    (HeadlineSplitter, {"max_tokens": 1.5}),
    (SentenceSplitter, {"chunk_size": "a"}),
    (SentenceSplitter, {"chunk_overlap": None}),
    (EmbeddingExtractor, {"embed_property_name": 3}),
    (RegexBasedExtractor, {"pattern": "x", "property_name": ""}),
]


@pytest.mark.parametrize(("made", "arguments"), WRONG)
def test_an_argument_of_a_wrong_kind_is_refused_when_it_is_given(made: Any, arguments: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=r"number|name of a property"):
        made(**arguments)
