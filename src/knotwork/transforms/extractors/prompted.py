"""Properties that a model writes when there is one, and the offline method of the same contract when there is none."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest
from typing import Any, ClassVar, Protocol

from pydantic import BaseModel

from knotwork import digest
from knotwork.errors import InputError, ReplyError
from knotwork.graph import Node
from knotwork.models import ask, llm
from knotwork.prompts import Prompt
from knotwork.protocols import LLM
from knotwork.text import count_tokens, normalise_name, token_slices
from knotwork.threads import in_thread
from knotwork.transforms.arguments import check_count, check_name, text_of
from knotwork.transforms.base import Extractor, label


class Tokenizer(Protocol):
    """Anything that encodes a text into its tokens: tiktoken's, Hugging Face's."""

    def encode(self, text: str) -> Any: ...


@dataclass
class LLMBasedExtractor(Extractor):
    """Computes a property of `page_content` by a model.

    llm: an `LLM`, or an object of another library that `knotwork.models.llm` adapts; None: the offline method.
    max_token_limit: of text in one call, prompt not counted; a longer text is read in slices, by `tokenizer` (None:
    the o200k vocabulary). prompt: a text with {text} in it, or a Prompt; None: the class's own. A class, or an
    instance, with a property_name and a prompt is all it takes for an extractor of one's own; one that overrides
    `extract` has all freedom. merge_if_possible is without effect: a node is a call of its own, so that one bad reply
    costs one node, and replies on several nodes need not be told apart.

    Raises InputError when there is neither a model nor an offline method, and ReplyError, naming node and property,
    when no reply of the model could be used.
    """

    llm: LLM | Any | None = None
    merge_if_possible: bool = True
    max_token_limit: int = 32_000
    tokenizer: Tokenizer | None = None
    property_name: str = ""
    prompt: str | Prompt | None = None

    default_prompt: ClassVar[Prompt | None] = None
    reads: ClassVar[frozenset[str]] = frozenset({"page_content"})

    def __post_init__(self) -> None:
        if self.prompt is None:
            self.prompt = self.default_prompt
        else:
            self.prompt = (self.default_prompt or Prompt("{text}")).replaced_by(self.prompt)
        super().__post_init__()
        if self.prompt is not None:
            self.prompt.needs(["text"], f"the prompt of {label(self)}")
        check_count(label(self), "max_token_limit", self.max_token_limit)
        if self.llm is not None:
            self.llm = llm(self.llm)

    async def extract(self, node: Node) -> tuple[str, Any]:
        check_name(label(self), "property_name", self.property_name)
        text = text_of(node)
        if not text:
            return self.property_name, None
        if self.llm is None:
            return self.property_name, await in_thread(self.offline, text)
        try:
            return self.property_name, await self.online(text)
        except ReplyError as error:
            raise ReplyError(f"node {node.id!r}, property {self.property_name!r}: {error}") from error

    async def online(self, text: str) -> Any:
        """The value by the model: of a text of several slices, a list of the values of each."""
        said = [
            _plain(await self.reply_to(part)) for part in self.split_text_by_token_limit(text, self.max_token_limit)
        ]
        return said[0] if len(said) == 1 else said

    def offline(self, text: str) -> Any:
        """The value without a model."""
        raise InputError(f"{label(self)} has no offline method; pass llm=, a model")

    async def reply_to(self, text: str, **values: str) -> Any:
        """What the model says of a text that fits into one call: an instance of the prompt's output model, or text.

        values: of the prompt's other placeholders.
        """
        if not isinstance(self.prompt, Prompt) or self.llm is None:
            raise InputError(f"{label(self)} needs both a model (llm=) and a prompt")
        return await ask(self.llm, self.prompt, text=text, **values)

    def split_text_by_token_limit(self, text: str, n: int) -> list[str]:
        """Parts of at most n tokens that together are the text; never inside a character."""
        check_count(label(self), "the limit of tokens", n)
        if self.tokenizer is not None:
            return list(_parts(text, n, lambda part: len(_ids(self.tokenizer, part))))
        if len(text.encode("utf-8", "replace")) <= n or count_tokens([text])[0] <= n:  # a token is a byte or more
            return [text] if text else []
        return [text[start:end] for start, end in token_slices(text, n)]


def _ids(tokenizer: Any, text: str) -> Sequence[int]:
    if hasattr(tokenizer, "encode_ordinary"):  # tiktoken's, which refuses text that looks like a special token
        found: Sequence[int] = tokenizer.encode_ordinary(text)
        return found
    encoded = tokenizer.encode(text)
    ids: Sequence[int] = getattr(encoded, "ids", encoded)
    return ids


def _parts(text: str, size: int, count: Callable[[str], int]) -> Iterator[str]:
    """The longest parts with at most `size` tokens, by a count that grows with the text; at least a character each."""
    at = 0
    while at < len(text):
        reach = min(2 * size, len(text) - at)
        while reach < len(text) - at and count(text[at : at + reach]) <= size:
            reach = min(2 * reach, len(text) - at)
        rest = text[at : at + reach]
        fits = bisect_right(range(1, reach + 1), size, key=lambda end, rest=rest: count(rest[:end]))  # type: ignore[misc]
        yield rest[: max(fits, 1)]
        at += max(fits, 1)


def _plain(value: Any) -> Any:
    return value.model_dump(mode="json") if isinstance(value, BaseModel) else value


# -- one text -------------------------------------------------------------------------------------


@dataclass
class _TextExtractor(LLMBasedExtractor):
    """A text that says something of the whole: of a long one, what is said of its slices is asked about again."""

    async def online(self, text: str) -> str:
        while True:
            parts = self.split_text_by_token_limit(text, self.max_token_limit)
            said = [str(await self.reply_to(part)) for part in parts]
            if len(said) == 1:
                return said[0]
            folded = "\n\n".join(said)
            if len(folded) >= len(text):  # a model that doesn't shorten would be asked for ever
                raise ReplyError(
                    f"what was said of {len(parts)} slices is longer than they are, so they can't be folded; raise "
                    f"max_token_limit ({self.max_token_limit}), or take a model that keeps to its task"
                )
            text = folded


@dataclass
class SummaryExtractor(_TextExtractor):
    """`summary`: what the text says, in a few sentences."""

    property_name: str = "summary"

    default_prompt: ClassVar[Prompt] = Prompt(
        "Summarise the text below in at most five sentences, in the language of the text. Keep names, numbers and "
        "results; add nothing that it does not say. Reply with the summary alone.\n\nText:\n{text}"
    )

    def offline(self, text: str) -> str:
        return digest.summary(text)


@dataclass
class TitleExtractor(_TextExtractor):
    """`title`: a heading for the text."""

    property_name: str = "title"

    default_prompt: ClassVar[Prompt] = Prompt(
        "Give the text below a title of at most twelve words, in the language of the text. If it has one of its own, "
        "take that. Reply with the title alone.\n\nText:\n{text}"
    )

    def offline(self, text: str) -> str:
        return digest.title(text)


@dataclass
class TopicDescriptionExtractor(_TextExtractor):
    """`topic_description`: what the text is about, in a sentence or two."""

    property_name: str = "topic_description"

    default_prompt: ClassVar[Prompt] = Prompt(
        "Say in one or two sentences what the text below is about: its subject and the side of it that is treated. Use "
        "the language of the text. Reply with these sentences alone.\n\nText:\n{text}"
    )

    def offline(self, text: str) -> str:
        return digest.topic_description(text)


# -- lists ----------------------------------------------------------------------------------------


class Items(BaseModel):
    """A list of short texts."""

    items: list[str]


_JSON = '\n\nReply with JSON alone: {"items": ["…", "…"]}; with an empty list when there are none.\n\nText:\n{text}'


@dataclass
class _ListExtractor(LLMBasedExtractor):
    """At most so many short texts, over all slices together, without duplicates."""

    def limit(self) -> int:
        raise NotImplementedError

    def __post_init__(self) -> None:
        super().__post_init__()
        check_count(label(self), "the greatest number of items", self.limit())

    async def online(self, text: str) -> list[str]:
        parts = self.split_text_by_token_limit(text, self.max_token_limit)
        lists = [_strings(await self.reply_to(part, limit=str(self.limit()))) for part in parts]
        ranked = (item for item in chain.from_iterable(zip_longest(*lists)) if item is not None)  # best of each first
        return self.chosen(ranked, text)

    def chosen(self, ranked: Iterable[str], text: str) -> list[str]:
        """The items to keep, of the best first."""
        return _distinct(" ".join(item.split()) for item in ranked)[: self.limit()]


def _strings(said: Any) -> list[str]:
    """The list in what a prompt's output model gave: a user's may have another name for it."""
    values = said.model_dump(mode="json").values() if isinstance(said, BaseModel) else [said]
    items = next((value for value in values if isinstance(value, list)), None)
    if items is None:
        raise ReplyError(f"a list was wanted, not {said!r}; the prompt's output model needs a field that is one")
    return [str(item) for item in items]


def _distinct(items: Iterable[str]) -> list[str]:
    """Without empty ones, and without those that differ in case, width or quotes alone."""
    kept: dict[str, str] = {}
    for item in items:
        if item.strip():
            kept.setdefault(normalise_name(item) or item, item)
    return list(kept.values())


@dataclass
class KeyphrasesExtractor(_ListExtractor):
    """`keyphrases`: at most max_num phrases that say what the text is about, best first."""

    property_name: str = "keyphrases"
    max_num: int = 5

    default_prompt: ClassVar[Prompt] = Prompt(
        "List at most {limit} key phrases of the text below, the most telling first: short noun phrases, as they stand "
        "in the text." + _JSON,
        output_model=Items,
    )

    def limit(self) -> int:
        return self.max_num

    def offline(self, text: str) -> list[str]:
        return digest.keyphrases(text, self.max_num)


@dataclass
class HeadlinesExtractor(_ListExtractor):
    """`headlines`: at most max_num headings of the text, in its order; what is not found in it is left out."""

    property_name: str = "headlines"
    max_num: int = 5

    default_prompt: ClassVar[Prompt] = Prompt(
        "List the headings of the text below, at most {limit}, copied exactly as they stand there and in their order. "
        "A heading stands on a line of its own over a section. Prefer those of the highest level." + _JSON,
        output_model=Items,
    )

    def limit(self) -> int:
        return self.max_num

    def chosen(self, ranked: Iterable[str], text: str) -> list[str]:
        found: dict[str, int] = {}
        for span in filter(None, (_place(item, text) for item in ranked)):
            found.setdefault(text[span[0] : span[1]], span[0])
        best = _distinct(found)[: self.limit()]
        return sorted(best, key=lambda item: found[item])

    def offline(self, text: str) -> list[str]:
        return digest.headlines(text, self.max_num)


def _place(headline: str, text: str) -> tuple[int, int] | None:
    """Where a heading stands in a text: on a line of its own, else anywhere; None when it isn't there."""
    words = headline.strip().strip("#").split()
    if not words:
        return None
    said = r"[^\S\n]+".join(map(re.escape, words))
    for pattern in (rf"^[^\S\n]*#*[^\S\n]*({said})[^\S\n]*[#:]*[^\S\n]*$", f"({said})"):
        found = re.search(pattern, text, re.MULTILINE | re.IGNORECASE)
        if found:
            return found.span(1)
    return None


@dataclass
class NERExtractor(_ListExtractor):
    """`entities`: at most max_num_entities names of people, places, organisations, works, things."""

    property_name: str = "entities"
    max_num_entities: int = 10

    default_prompt: ClassVar[Prompt] = Prompt(
        "List the named entities of the text below, at most {limit}, the most important first: people, organisations, "
        "places, works, products, events. Copy each name as it stands in the text, in its fullest form, once." + _JSON,
        output_model=Items,
    )

    def limit(self) -> int:
        return self.max_num_entities

    def offline(self, text: str) -> list[str]:
        return digest.entities(text, self.max_num_entities)


@dataclass
class ThemesExtractor(_ListExtractor):
    """`themes`: at most max_num_themes general subjects that the text treats."""

    property_name: str = "themes"
    max_num_themes: int = 10

    default_prompt: ClassVar[Prompt] = Prompt(
        "List the themes of the text below, at most {limit}, the most important first: general subjects in a few words "
        "each, no names, in the language of the text." + _JSON,
        output_model=Items,
    )

    def limit(self) -> int:
        return self.max_num_themes

    def offline(self, text: str) -> list[str]:
        return digest.themes(text, self.max_num_themes)
