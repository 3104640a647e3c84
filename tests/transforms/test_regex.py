"""What a pattern finds."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from knotwork import KnowledgeGraph, Node, apply_transforms
from knotwork.errors import InputError
from knotwork.transforms import (
    RegexBasedExtractor,
    emails_extractor,
    links_extractor,
    markdown_headings_extractor,
)


def found(extractor: RegexBasedExtractor, text: Any) -> Any:
    return asyncio.run(extractor.extract(Node("n", {"page_content": text})))[1]


def test_every_match_is_listed_in_order_under_the_property_s_name() -> None:
    kg = KnowledgeGraph([Node("a", {"page_content": "a1 b22\nc333"})])
    apply_transforms(kg, RegexBasedExtractor(pattern=r"\d+", property_name="Numbers"))
    assert kg.nodes[0].get_property("numbers") == ["1", "22", "333"]


def test_one_group_is_what_is_taken_and_of_several_the_whole_match() -> None:
    assert found(RegexBasedExtractor(pattern=r"(\w)=\d"), "a=1 b=2") == ["a", "b"]
    assert found(RegexBasedExtractor(pattern=r"(\w)=(\d)"), "a=1 b=2") == ["a=1", "b=2"]


def test_multiline_lets_the_anchors_match_at_every_line() -> None:
    assert found(RegexBasedExtractor(pattern=r"^\w+", is_multiline=True), "one x\ntwo y") == ["one", "two"]
    assert found(RegexBasedExtractor(pattern=r"^\w+"), "one x\ntwo y") == ["one"]


@pytest.mark.parametrize(("text", "value"), [(None, None), ("", None), (" \n", None), ("nothing", [])])
def test_without_text_nothing_is_stored_and_without_a_match_an_empty_list(text: Any, value: Any) -> None:
    assert found(RegexBasedExtractor(pattern=r"\d"), text) == value


def test_a_text_of_the_wrong_type_names_node_property_and_type() -> None:
    with pytest.raises(ValueError, match="node 'n': property 'page_content' is int"):
        found(RegexBasedExtractor(pattern="x"), 3)


@pytest.mark.parametrize("pattern", ["(", "", 3])
def test_a_pattern_that_is_none_is_refused(pattern: Any) -> None:
    with pytest.raises(InputError, match="regular expression"):
        RegexBasedExtractor(pattern=pattern)


def test_mail_addresses_end_before_the_full_stop() -> None:
    text = "Write to ada.l@mail.example.org. Or <bo+x@example.co.uk>, or a@b, or .c@d.de; 请写信给li@example.cn。"
    assert found(emails_extractor, text) == ["ada.l@mail.example.org", "bo+x@example.co.uk", "li@example.cn"]


def test_links_end_before_the_punctuation_of_their_sentence() -> None:
    text = (
        "See https://example.org/a?b=c#d, (http://example.org/x) and [this](https://example.org/y). "
        "Also https://example.org/A_(b)! 见https://example.cn/路径。"
    )
    assert found(links_extractor, text) == [
        "https://example.org/a?b=c#d",
        "http://example.org/x",
        "https://example.org/y",
        "https://example.org/A_(b)",
        "https://example.cn/路径",
    ]


def test_markdown_headings_are_lines_of_their_own() -> None:
    text = "# One\r\ntext # no\n  ## Two ##\n#no\n####### seven\n    # code\n### Three"
    assert found(markdown_headings_extractor, text) == ["# One", "## Two", "### Three"]
