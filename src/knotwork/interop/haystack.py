"""The semantic splitter as a haystack component, to stand in a Pipeline between any two others."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from knotwork import transforms
from knotwork.errors import MissingExtra

try:
    from haystack import Document, component
    from haystack.core.serialization import component_to_dict, default_from_dict, default_to_dict
    from haystack.utils.deserialization import deserialize_component_inplace
except ImportError as error:
    raise MissingExtra("knotwork.interop.haystack", "haystack") from error

try:
    from haystack.core.serialization import allow_deserialization_module
except ImportError:  # haystack before 3 loads any module
    pass
else:
    allow_deserialization_module(__name__)


# The decorator makes the class anew, so super() without arguments would look for another one.
@component
class EmbeddingBasedDocumentSplitter(transforms.EmbeddingBasedDocumentSplitter):
    """`knotwork.transforms.EmbeddingBasedDocumentSplitter` for pipelines: the same parameters, haystack's Documents.

    document_embedder: a haystack document embedder, an `Embedder` of ours, or the name of one ("offline"). A pipeline
    that is written down holds it by its own `to_dict`, or by its init parameters; before one is read in again, this
    module must have been imported.
    """

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
    def run(self, documents: list[Document]) -> dict[str, list[Document]]:
        """The splits of the documents, in order."""
        return transforms.EmbeddingBasedDocumentSplitter.run(self, documents)

    @component.output_types(documents=list[Document])  # type: ignore[untyped-decorator]
    async def run_async(self, documents: list[Document]) -> dict[str, list[Document]]:
        """As `run`, to be awaited."""
        return await transforms.EmbeddingBasedDocumentSplitter.run_async(self, documents)

    def to_dict(self) -> dict[str, Any]:
        """The component as haystack writes it down."""
        model = self.document_embedder
        data: dict[str, Any] = default_to_dict(
            self,
            document_embedder=model
            if model is None or isinstance(model, str)
            else component_to_dict(model, "embedder"),
            sentences_per_group=self.sentences_per_group,
            percentile=self.percentile,
            min_length=self.min_length,
            max_length=self.max_length,
            language=self.language,
            use_split_rules=self.use_split_rules,
            extend_abbreviations=self.extend_abbreviations,
        )
        return data

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> EmbeddingBasedDocumentSplitter:
        """The component of `to_dict`; haystack checks what may be imported for the embedder."""
        parameters = dict(data.get("init_parameters") or {})
        if isinstance(parameters.get("document_embedder"), Mapping):
            deserialize_component_inplace(parameters, "document_embedder")
        made: EmbeddingBasedDocumentSplitter = default_from_dict(cls, {**data, "init_parameters": parameters})
        return made
