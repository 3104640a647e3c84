"""Saved web pages: menus, cookie notices and footers go, and no line of content with them."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from knotwork import loaders
from knotwork.graph import Document
from knotwork.loaders.boilerplate import content_spans, page_facts

STORY = (
    "The survey party crossed the moraine in spring and set up its instruments beside the ice.",
    "“It was colder than we had been told,” said [Ada Stone](https://valley.example/people/ada), who led the party.",
    "Every core was cut into lengths of one metre, weighed, and carried down to the hut before dark.",
)
MENU = "\n".join(f"*   [Section {n}](https://valley.example/s/{n})" for n in range(12))
PAGE = f"""Ice core found in the north

The Wayback Machine - https://valley.example/2024/ice

===============
[Skip to content](https://valley.example/2024/ice#main)

{MENU}

Menu

We use cookies to give you the best experience. [Accept all cookies](https://valley.example/ok)

[![Image 1: logo](https://valley.example/logo.png)](https://valley.example/)

# Ice core found in the north

By Ben Frost

Published: March 2, 2024

{STORY[0]}

![Image 2: the hut](https://valley.example/hut.jpg)

{STORY[1]}

## What it holds

Old air.

{STORY[2]}

| Core | Depth |
| --- | --- |
| Alpha | 40 m |

*   [Share on Facebook](https://facebook.example/share)
*   [Tweet](https://twitter.example/share)

## Related stories

*   [A hut burns down](https://valley.example/hut)
*   [Snow in May](https://valley.example/snow)
*   [The map is wrong](https://valley.example/map)
*   [A bear is seen](https://valley.example/bear)

© 2024 The Valley Post. All rights reserved.
"""


def kept(text: str) -> str:
    spans = content_spans(text)
    return text if spans is None else "\n".join(text[start:end] for start, end in spans)


def test_what_frames_a_page_goes_and_the_article_stays() -> None:
    said = kept(PAGE)
    for words in ("Skip to", "Section 3", "cookies", "Image 1", "Tweet", "Related", "Snow in May", "rights reserved"):
        assert words not in said
    article = (
        "# Ice core found",
        "By Ben Frost",
        "Published: March 2",
        *STORY,
        "## What it holds",
        "Old air.",
        "Alpha | 40 m",
    )
    for words in article:
        assert words in said
    assert said.index("By Ben") < said.index(STORY[0]) < said.index("Old air.")


def test_a_chinese_page_likewise() -> None:
    menu = "\n".join(f"*   [栏目{n}](https://news.example/{n})" for n in range(8))
    story = "测量队在春天穿过冰碛，在冰川旁架起仪器。每根冰芯都切成一米长，称重后在天黑前运到山下的小屋里保存。"
    text = (
        f"[首页](https://news.example/)\n\n{menu}\n\n# 北岭冰芯出土\n\n{story}\n\n"
        f"“比想象的冷。”\n\n{story}{story}\n\n{story}{story}\n\n"
        "责任编辑：王某\n\n[分享到微博](https://weibo.example/)\n\n版权所有 山谷报\n"
    )
    said = kept(text)
    assert said.count(story) == 5
    assert "北岭冰芯出土" in said
    assert "比想象的冷" in said
    for words in ("栏目3", "责任编辑", "分享到", "版权所有"):
        assert words not in said


@pytest.mark.parametrize(
    "words",
    [
        "Navigation was hard in the ice.",
        "Sponsored by the king, the fleet left.",
        "Account books were found in the hut.",
        "Copyright was granted to her in 1931.",
    ],
)
def test_a_sentence_that_begins_like_a_menu_stays(words: str) -> None:
    assert words in kept(PAGE.replace("Old air.", words))


WHOLE = {
    "prose": "\n\n".join(STORY * 5),
    "poem": "Snow on the stone,\nstone on the hill.\n\nNothing alone,\nnothing still.\n" * 4,
    "dialogue": "“No.”\n\n“Why?”\n\n“Cold.”\n\nHe shut the door and sat down by the fire with his brother.\n" * 6,
    "code": "def f(x):\n    return x[0](x)\n\nprint(f([len]))\n" * 10,
    "names": "\n".join(["Ada Stone", "Ben Frost", "Carla Birch"] * 20),
    "table": "| Core | Depth |\n| --- | --- |\n" + "| Alpha | 40 m |\n" * 30,
    "readme": "# Drill\n\n[![build](https://ci.example/b.svg)](https://ci.example)\n\nDrill is a library that reads "
    "the logs of drills and draws them as curves.\n\n- [Guide](docs/guide.md)\n- [API](docs/api.md)\n",
    "references": "\n\n".join(
        f"[{n}] A. Stone, B. Frost: On the layers of ice, Annals of the Survey {n} (1931), 11-{n}. | "
        f"[MR {n}](https://mr.example/{n})"
        for n in range(1, 20)
    ),
    "news": "昨日，山谷市宣布开采新的冰芯。\n\n责任编辑：王某\n\n研究员陈丽负责这项工作。\n" * 5,
    "links in prose": "\n\n".join(f"{STORY[1]} {STORY[0]}" for _ in range(10)),
}


@pytest.mark.parametrize("name", WHOLE)
def test_what_is_no_saved_page_stays_whole(name: str) -> None:
    assert content_spans(WHOLE[name]) is None


def test_a_page_of_links_alone_stays_whole() -> None:
    assert content_spans(MENU + "\n\n[Sign in](https://valley.example/in)\n") is None


LINES = st.sampled_from(
    [
        *STORY,
        MENU,
        "",
        "Menu",
        "## Heading",
        "=====",
        "[Home](https://a.example)",
        "![x](https://a.example/x.png)",
        "Short line",
        "Sign in",
        "> quoted words of some length that end here.",
        "[[[](((",
        "1931",
        "\u3000",
        "首页",
        "| a | b |",
    ]
)


@given(st.lists(LINES, max_size=40), st.sampled_from(["\n", "\r\n"]))
def test_spans_are_whole_lines_in_order_and_never_blank(lines: list[str], end: str) -> None:
    text = end.join(lines)
    spans = content_spans(text) or []
    at = 0
    for start, stop in spans:
        assert at <= start < stop <= len(text)
        assert start == 0 or text[start - 1] in "\r\n"
        assert stop == len(text) or text[stop - 1] in "\r\n"
        assert text[start:stop].strip()
        at = stop


@given(st.text(alphabet="[]()!*#\n ahtps:/", max_size=300))
def test_no_text_whatever_raises(text: str) -> None:
    content_spans(text)
    page_facts(text)


def test_the_text_of_the_document_stays_the_files(tmp_path: Path) -> None:
    for name in ("page.txt", "page.md"):
        (tmp_path / name).write_text(PAGE, "utf-8", newline="")
        (found,) = loaders.find(tmp_path / name)
        assert isinstance(found, loaders.Found)
        (document,) = loaders.read(found)
        assert isinstance(document, Document)
        assert document.text == PAGE
        assert document.title == "Ice core found in the north"
        spans = [tuple(span) for span in document.metadata["body"]]
        assert spans == content_spans(PAGE)
        assert (document.metadata["url"], document.metadata["date"]) == (
            "https://valley.example/2024/ice",
            "2024-03-02",
        )
        assert [title for *_, title in document.metadata["outline"]][-2:] == ["What it holds", "Related stories"]


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ("Published: April 9, 2010", "2010-04-09"),
        ("**Posted on** 3 March 2011", "2011-03-03"),
        ("Published Time: 2020-01-02T10:00Z", "2020-01-02"),
        ("发布时间：2012年7月24日", "2012-07-24"),
        ("Date: Sept. 5, 1999", "1999-09-05"),
        ("Date: 99 May 2001", None),
        ("It happened on May 3, 2001", None),
    ],
)
def test_a_date_is_taken_where_the_page_says_that_it_is_its_own(said: str, day: str | None) -> None:
    assert page_facts(f"A title\n\n{said}\n\nText.").get("date") == day


LONG = 1_000_000


@pytest.mark.parametrize(
    "text",
    [
        "[a](http://x.example)" * 200_000,
        "[" * 2_000_000,
        "](" * 1_000_000,
        "[a](http://x\n" * 20_000,
        *("[a](http://x.example)" + char * LONG + "x" for char in "*_| -#>\t.=![("),
        *(start + char * LONG + "x" for start in ("[a](", "![a](", "[a](b ", "![a](b ", "[", "![") for char in " ('\""),
        "[a](b " + "'\" " * 1_000_000,
        "![](x(" * 1_000_000,
    ],
    ids=str.__len__,
)
def test_odd_pages_are_read_in_good_time(text: str) -> None:
    content_spans(text)


@pytest.mark.parametrize("rule", ["===", "-----"])
def test_a_line_with_a_rule_under_it_is_a_heading_and_goes_with_what_it_heads(rule: str) -> None:
    page = "\n".join(line for line in PAGE.splitlines() if "example/share" not in line)
    assert "From the valley" in kept(page.replace("## Related stories", "From the valley"))
    assert "From the valley" not in kept(page.replace("## Related stories", f"From the valley\n{rule}"))
