"""What a chunk says, found without a model: its sentences, the names in it and how they are linked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from knotwork.graph import Node
from knotwork.nlp import Analysis, Profile, elements_of, profile
from knotwork.text import sentence_spans
from knotwork.threads import in_thread
from knotwork.transforms.base import Extractor


@dataclass
class SentenceExtractor(Extractor):
    """The sentences of `page_content` as [start, end] pairs that together are the text."""

    property_name: str = "sentences"

    async def extract(self, node: Node) -> tuple[str, Any]:
        text = node.get_property("page_content")
        if not isinstance(text, str) or not text.strip():
            return self.property_name, None
        return self.property_name, [list(span) for span in sentence_spans(text)]


@dataclass
class OfflineExtractor(Extractor):
    """The element instances of a chunk by a language profile: {"names": [...], "links": [...]}.

    A name is [text, start, end, type]; a link is [source, target, relation, start, end] with indices into the names
    and the span of its sentence. They become entities, mentions and relations in `EntityResolver`.
    """

    property_name: str = "elements"
    profile: Profile | None = None
    """None: the best one installed."""

    batch_size: ClassVar[int] = 64

    async def extract(self, node: Node) -> tuple[str, Any]:
        return (await self.extract_many([node]))[0]

    async def extract_many(self, nodes: Sequence[Node]) -> list[tuple[str, Any]]:
        texts = [node.get_property("page_content") for node in nodes]
        readable = [text for text in texts if isinstance(text, str) and text.strip()]
        found = iter(await in_thread(self._analyse, readable))
        return [
            (self.property_name, elements_of(next(found)) if isinstance(text, str) and text.strip() else None)
            for text in texts
        ]

    def _analyse(self, texts: list[str]) -> list[Analysis]:
        self.profile = self.profile or profile()
        return self.profile.analyse(texts)
