"""Filters that ask a model whether a node is worth keeping."""

from __future__ import annotations

import json
import logging
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Annotated, Any, ClassVar

from pydantic import BaseModel, BeforeValidator, Field

from knotwork.errors import InputError, ReplyError
from knotwork.graph import Change, KnowledgeGraph, Node, NodeType, RemoveNode, SetProperty, get_parent_nodes
from knotwork.models import ask, llm
from knotwork.prompts import Prompt
from knotwork.protocols import LLM
from knotwork.text import stable_id
from knotwork.transforms.arguments import check_range, text_of
from knotwork.transforms.base import Call, NodeFilter, Results, bridges, label

log = logging.getLogger("knotwork")

DEFAULT_RUBRICS: Mapping[str, str] = MappingProxyType(
    {
        "score1_description": "The text says nothing about the document's subject: navigation, boilerplate, fragments.",
        "score2_description": "It touches the subject, but too thinly or too unclearly for a question to rest on it.",
        "score3_description": "It carries some of the subject; a plain question of fact could be answered from it.",
        "score4_description": "It treats an important part of the subject clearly; several good questions rest on it.",
        "score5_description": "It is rich in what the document is about; it answers questions that need thought.",
    }
)
"""What each score from 1 to 5 means to `CustomNodeFilter`."""


def _no_bool(value: Any) -> Any:
    if isinstance(value, bool):  # pydantic would read true as 1
        raise ValueError("a whole number is needed, not true or false")
    return value


class Score(BaseModel):
    """How well a text serves questions, from 1 to 5."""

    score: Annotated[int, BeforeValidator(_no_bool), Field(ge=1, le=5)]


@dataclass(frozen=True)
class QuestionPotentialPrompt(Prompt):
    """Asks how well a text serves questions about its document: {document_summary}, {node_content}, {rubrics}."""

    instruction: str = (
        "Judge how well the text below serves to ask and answer questions about the document it comes from.\n\n"
        "Summary of the document:\n{document_summary}\n\nText:\n{node_content}\n\n"
        'Scores:\n{rubrics}\n\nReply with JSON alone: {"score": n}, n a whole number from 1 to 5.'
    )
    output_model: type[BaseModel] | None = Score


@dataclass
class LLMBasedNodeFilter(NodeFilter):
    """A filter that asks a model: write `custom_filter`, with `await knotwork.models.ask(self.llm, prompt, …)`.

    llm: an `LLM`, or an object of another library that `knotwork.models.llm` adapts; None: no model.
    """

    llm: LLM | Any | None = None

    needed_placeholders: ClassVar[frozenset[str]] = frozenset({"node_content"})

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.llm is not None:
            self.llm = llm(self.llm)


@dataclass
class CustomNodeFilter(LLMBasedNodeFilter):
    """Removes nodes that serve questions about their document badly: those with a score below `min_score`.

    The model scores a node's `page_content` from 1 to 5 by the `rubrics`, given the summary of its document: the
    `summary` of a chunk's parents along "child", a node's own where it has no parents. A node without either is
    kept unasked, and without a model all are; each with one warning a run. A node that is kept carries its score as
    `question_potential`, so that it is asked about once.
    """

    scoring_prompt: Prompt | str = field(default_factory=QuestionPotentialPrompt)
    min_score: int = 2
    rubrics: Mapping[str, str] = field(default_factory=lambda: dict(DEFAULT_RUBRICS))

    property_name: ClassVar[str] = "question_potential"
    reads: ClassVar[frozenset[str]] = frozenset({"page_content", "summary"})

    def __post_init__(self) -> None:
        prompt = QuestionPotentialPrompt().replaced_by(self.scoring_prompt)
        prompt.needs(["node_content"], "the scoring_prompt of CustomNodeFilter")
        self.scoring_prompt = replace(prompt, output_model=Score)
        self.rubrics = _checked(self.rubrics)
        super().__post_init__()
        check_range(label(self), "min_score", self.min_score, 1, 5)

    def told_apart_by(self) -> str:
        return stable_id(super().told_apart_by(), json.dumps(self.rubrics))[:16]

    @property
    def writes(self) -> frozenset[str]:
        return frozenset({self.property_name})

    async def custom_filter(self, node: Node, kg: KnowledgeGraph) -> bool:
        score = await self.score(node, kg)
        return score is not None and score < self.min_score

    async def score(self, node: Node, kg: KnowledgeGraph) -> int | None:
        """The node's score, the one it carries or the model's; None where it can't be judged."""
        known = self._known(node)
        if known is not None:
            return known
        content, summary = text_of(node), _summary_of(node, kg)
        if self.llm is None or not content or not summary or not isinstance(self.scoring_prompt, Prompt):
            return None
        rubrics = "\n".join(f"{n}: {self.rubrics[key]}" for n, key in enumerate(DEFAULT_RUBRICS, 1))
        try:
            said = await ask(
                self.llm, self.scoring_prompt, document_summary=summary, node_content=content, rubrics=rubrics
            )
        except ReplyError as error:
            raise ReplyError(f"node {node.id!r}, property {self.property_name!r}: {error}") from error
        return int(said.score)

    def calls_on(self, kg: KnowledgeGraph) -> Iterator[Call]:
        calls = [call for call in super().calls_on(kg) if not self._stays(call.nodes[0])]
        self._warn(calls, kg)
        for call in calls:
            yield Call(call.nodes, lambda node: self.score(node, kg))

    def _known(self, node: Node) -> int | None:
        known = node.get_property(self.property_name)
        if known is not None and not (isinstance(known, int) and 1 <= known <= 5):
            raise InputError(
                f"node {node.id!r}: property {self.property_name!r} is {known!r}, a score from 1 to 5 is needed"
            )
        return known

    def _stays(self, node: Node) -> bool:
        known = self._known(node)
        return known is not None and known >= self.min_score

    def _warn(self, calls: list[Call], kg: KnowledgeGraph) -> None:
        if calls and self.llm is None:
            log.warning("%s: no model (llm=) to score nodes with; all %d are kept", label(self), len(calls))
            return
        without = [call.node_id for call in calls if not _summary_of(call.nodes[0], kg)]
        if without:
            log.warning(
                "%s: %d nodes have no document summary to be judged by and are kept, %r the first; run a "
                "SummaryExtractor on their documents before",
                label(self),
                len(without),
                without[0],
            )

    def changes_from(self, kg: KnowledgeGraph, results: Results) -> list[Change]:
        scored = [(call.nodes[0], score) for call, score in results if score is not None]
        flagged = {node.id: node for node, score in scored if score < self.min_score}
        kept = [
            SetProperty(node.id, self.property_name, score)
            for node, score in scored
            if node.id not in flagged and node.get_property(self.property_name) is None
        ]
        return [*kept, *bridges(kg, flagged), *map(RemoveNode, flagged)]

    def settled_by(self, results: Results) -> list[Node]:
        return []  # a kept node carries its score


def _summary_of(node: Node, kg: KnowledgeGraph) -> str:
    parents = get_parent_nodes(node, kg) if node.type is NodeType.CHUNK else []
    return "\n\n".join(filter(None, (text_of(parent, "summary") for parent in parents or [node])))


def _checked(rubrics: Mapping[str, str]) -> dict[str, str]:
    missing, unknown = DEFAULT_RUBRICS.keys() - rubrics.keys(), rubrics.keys() - DEFAULT_RUBRICS.keys()
    if missing or unknown:
        said = [f"without {', '.join(sorted(missing))}"] * bool(missing) + [f"unknown {key!r}" for key in unknown]
        raise InputError(f"rubrics describe the scores 1 to 5 as score1_description and so on; {', '.join(said)}")
    return dict(rubrics)
