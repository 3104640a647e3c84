"""What a pattern finds."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from knotwork.errors import InputError
from knotwork.graph import Node
from knotwork.threads import in_thread
from knotwork.transforms.arguments import check_name, text_of
from knotwork.transforms.base import Extractor, label


@dataclass
class RegexBasedExtractor(Extractor):
    """Every match of `pattern` in `page_content`, in order; of a pattern with one group, that group.

    is_multiline: ^ and $ match at every line. An empty list when nothing matches; nothing for a node without text.
    """

    property_name: str = "regex"
    pattern: str = ""
    is_multiline: bool = False

    reads: ClassVar[frozenset[str]] = frozenset({"page_content"})

    def __post_init__(self) -> None:
        super().__post_init__()
        check_name(label(self), "property_name", self.property_name)
        try:
            self._compiled = re.compile(self.pattern, re.MULTILINE if self.is_multiline else 0)
        except (re.error, TypeError) as error:
            raise InputError(f"{label(self)}: {self.pattern!r} is no regular expression: {error}") from error
        if not self.pattern:
            raise InputError(f"{label(self)} needs a pattern=, the regular expression to look for")

    async def extract(self, node: Node) -> tuple[str, list[str] | None]:
        text = text_of(node)
        return self.property_name, await in_thread(self._matches, text) if text else None

    def _matches(self, text: str) -> list[str]:
        group = 1 if self._compiled.groups == 1 else 0
        return [found for match in self._compiled.finditer(text) if (found := match[group])]


links_extractor = RegexBasedExtractor(
    name="links_extractor",
    property_name="links",
    # a sentence's own punctuation after a link, and a bracket that was opened before it, are not part of it
    pattern=r"(?<![A-Za-z0-9])https?://[^\s<>\"'`()\[\]{}，。；：！？、（）「」《》]+(?:\([^\s<>()]*\)[^\s<>\"'`()\[\]{}，。；：！？、]*)*(?<![.,;:!?])",
)
"""The web addresses in a text, without the full stop or bracket that ends the sentence around them."""

emails_extractor = RegexBasedExtractor(
    name="emails_extractor",
    property_name="emails",
    pattern=r"(?<![A-Za-z0-9_.%+-])[a-zA-Z0-9_%+-]+(?:\.[a-zA-Z0-9_%+-]+)*@(?:[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?\.)+[a-zA-Z]{2,}",
)
"""The mail addresses in a text, without a trailing dot."""

markdown_headings_extractor = RegexBasedExtractor(
    name="markdown_headings_extractor",
    property_name="markdown_headings",
    pattern=r"^ {0,3}(#{1,6}[ \t]+\S.*?)[ \t]*#*[ \t\r]*$",
    is_multiline=True,
)
"""The lines of a text that look like Markdown's headings ("# Title"), in order; also those in a fence of code."""
