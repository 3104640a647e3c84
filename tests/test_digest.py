import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from knotwork import digest
from knotwork.nlp import Analysis, FastProfile, Name
from knotwork.text import normalise_name

FAST = FastProfile()

ARTICLE = """# Coral reefs

Coral reefs are ridges built by colonies of coral polyps in warm and shallow water. They shelter a quarter of all \
species of the ocean. A coral polyp lives together with algae, which give the coral polyp its food and its colour.

## Threats

When the ocean grows too warm, the coral polyps cast out their algae; this coral bleaching starves the reef. \
Coral bleaching struck the Great Barrier Reef in 2016 and again in 2017. Marine biologists at the University of \
Queensland measured the coral bleaching from the air.

## Repair

Marine biologists now plant coral nurseries on damaged reefs. The Great Barrier Reef has several coral nurseries, \
and marine biologists hope that some corals will stand the heat.
"""

NEWS_ZH = (
    "国家天文台的研究团队昨日宣布，大型射电望远镜发现了一颗新的脉冲星。这颗脉冲星距离地球约五千光年。"
    "射电望远镜位于贵州平塘，是世界上最灵敏的射电望远镜之一。研究团队负责人说，脉冲星像宇宙中的灯塔，"
    "可以用来检验引力理论。今后，射电望远镜还将寻找更多脉冲星，研究团队也将公布观测数据。"
)

ALL = (
    digest.summary,
    digest.title,
    digest.topic_description,
    digest.keyphrases,
    digest.headlines,
    digest.themes,
    lambda text: digest.entities(text, profile=FAST),
)
LISTS = (
    digest.keyphrases,
    digest.headlines,
    digest.themes,
    lambda text, max_num: digest.entities(text, max_num, FAST),
)

# what texts are made of: words, marks, headings, scripts, and what parsers stumble over
MADE_OF = """
    # ## === --- ``` ~~~ | * - > 1. 1.2 I. 第一章 一、 （一） Chapter Part INTRODUCTION The Ocean ocean reefs is
    a of the 射电望远镜 脉冲星 的 。 ！ ， . ! ? “ ” " ' ( ) [ ] ]( ![ <a &amp; http://a.b/c **x** _y_ 🙂 é ß ﬁ İ かな
    한국 ไทย عربي \ud800 \0 \ufeff 12 3,4 don't U.S. x2"""
PIECES = st.sampled_from(MADE_OF.split())
TEXTS = st.lists(
    st.one_of(PIECES, st.sampled_from([" ", "\n", "\n\n", "\r\n", "\t", "\f", "\u3000"]), st.text(max_size=4)),
    max_size=60,
).map(" ".join) | st.lists(st.one_of(PIECES, st.sampled_from([" ", "\n", "\n\n", "\r"])), max_size=60).map("".join)


# -- laws -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["", " \n\t", "\u3000\n\n"])
def test_a_blank_text_says_nothing(text: str) -> None:
    assert [method(text) for method in ALL] == ["", "", "", [], [], [], []]


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_any_text_is_digested_and_twice_the_same(text: str) -> None:
    for method in ALL:
        assert method(text) == method(text)


@settings(max_examples=300, deadline=None)
@given(TEXTS, st.integers(1, 4))
def test_limits_hold_and_no_list_repeats_itself(text: str, limit: int) -> None:
    for method in LISTS:
        found = method(text, limit)
        assert len(found) <= limit
        assert all(item.strip() for item in found)
        assert len(set(found)) == len(found)
    for method in (digest.keyphrases, digest.themes):
        found = method(text, 50)
        assert len({normalise_name(item) for item in found}) == len(found)


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_headlines_are_parts_of_lines_in_the_order_of_the_text(text: str) -> None:
    at = 0
    for headline in digest.headlines(text, 50):
        assert headline == headline.strip()
        assert not set(headline) & set("\r\n")
        at = text.find(headline, at)
        assert at >= 0


@settings(max_examples=300, deadline=None)
@given(TEXTS)
def test_a_title_is_one_short_line_and_there_is_one_for_any_text_with_letters(text: str) -> None:
    title = digest.title(text)
    assert title == " ".join(title.split())
    assert len(title.split()) <= 12
    assert len(title) <= 120
    if re.search("[A-Za-z]", text):
        assert title
        assert digest.summary(text)


# -- summary --------------------------------------------------------------------------------------


def test_a_summary_is_made_of_sentences_of_the_text_in_reading_order() -> None:
    said = " ".join(ARTICLE.split())
    summary = digest.summary(ARTICLE)
    sentences = re.findall(r"[A-Z][^.]+\.", summary)
    assert len(sentences) == 3
    places = [said.find(sentence) for sentence in sentences]
    assert -1 not in places
    assert places == sorted(places)
    assert "#" not in summary


def test_a_summary_begins_with_what_the_title_speaks_of() -> None:
    assert digest.summary(ARTICLE).startswith("Coral reefs are ridges built by colonies of coral polyps")


@pytest.mark.parametrize("text", ["The cat sat on the mat.", "  The cat\n sat ", "射电望远镜发现了脉冲星。", "Why?"])
def test_a_text_of_one_sentence_is_its_own_summary(text: str) -> None:
    assert digest.summary(text) == " ".join(text.split())


def test_as_many_sentences_as_asked_for() -> None:
    assert digest.summary(ARTICLE, 1).count(".") == 1
    assert digest.summary(ARTICLE, 5).count(".") == 5
    assert digest.summary(ARTICLE, 99).count(".") == 8


def test_the_end_of_a_long_text_is_seen() -> None:
    filler = "The committee met again and talked about the weather of the season. "
    text = filler * 20_000 + "The treaty between the two kingdoms was signed in Lisbon at midnight."
    assert "signed in Lisbon" in digest.summary(text)


def test_a_summary_does_not_say_the_same_twice() -> None:
    text = "The reactor failed at night. The bridge was closed for repairs. " + "The reactor failed at night! " * 9
    assert digest.summary(text).count("reactor failed") == 1


def test_chinese_sentences_stand_without_a_blank_between_them() -> None:
    summary = digest.summary(NEWS_ZH)
    assert summary.count("。") == 3
    assert " " not in summary
    assert all(part in NEWS_ZH for part in summary.split("。"))


def test_english_sentences_keep_their_blanks_and_their_quotation_marks() -> None:
    text = "“Hello,” said the old captain of the ship. She left “the harbour” behind at dawn."
    assert digest.summary(text) == text


def test_code_tables_addresses_and_marks_are_no_part_of_a_summary() -> None:
    text = (
        "The **parser** reads [the grammar](https://example.org) first.\n\n```\nparser = Parser(grammar)\n```\n\n"
        "| parser | grammar |\n|---|---|\n| a | b |\n\nThen the parser reads the text.[1]\n"
    )
    assert digest.summary(text) == "The parser reads the grammar first. Then the parser reads the text."


def test_a_text_of_nothing_but_a_table_still_has_a_summary() -> None:
    assert "ocean" in digest.summary("| sea | depth |\n|---|---|\n| ocean | 4000 |\n")


def test_a_notice_about_cookies_is_not_what_a_page_says() -> None:
    text = "We use cookies so that the comet page works for you. The comet passed the Sun in April. It had two tails."
    assert "cookies" not in digest.summary(text, 1)


# -- title and topic ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "title"),
    [
        (ARTICLE, "Coral reefs"),
        ("Coral reefs\n===========\n\nThey are built by polyps.", "Coral reefs"),
        ("<!-- 1 -->\n# **Coral** reefs #\n\nThey are built by polyps.", "Coral reefs"),
        ("On coral reefs\n\nThey are built by polyps in water that is warm.", "On coral reefs"),
        ("射电望远镜的发现\n\n国家天文台昨日宣布，发现了一颗脉冲星。", "射电望远镜的发现"),
        ("The Great Reef (also: the Barrier) is a reef that lies before the coast of a country.", "The Great Reef"),
        ("An atoll was seen.", "An atoll was seen"),
        ("atolls", "atolls"),
    ],
)
def test_a_title_is_the_texts_own_where_it_has_one(text: str, title: str) -> None:
    assert digest.title(text) == title


def test_the_first_line_of_a_wrapped_sentence_is_no_title() -> None:
    text = (
        "In the year of the long drought the\nfarmers of the valley dug wells, and the wells ran dry before the rain."
    )
    assert digest.title(text) != "In the year of the long drought the"


def test_without_a_heading_a_title_is_made_of_what_the_beginning_speaks_of() -> None:
    text = (
        "In the spring of that year the harbour master ordered that every fishing boat should carry a red lantern, "
        "because fishing boats without a lantern had been run down by the steam ferry three times in the winter."
    )
    assert "fishing boat" in digest.title(text)
    assert digest.title(NEWS_ZH) in NEWS_ZH


def test_a_long_heading_is_cut_to_twelve_words() -> None:
    text = f"# {'word ' * 10}first part: and then a very long rest of it\n\nText follows."
    assert digest.title(text) == f"{'word ' * 10}first part"


def test_a_topic_is_one_sentence_of_the_text() -> None:
    topic = digest.topic_description(ARTICLE)
    assert topic in " ".join(ARTICLE.split())
    assert topic.count(".") == 1
    assert digest.topic_description(NEWS_ZH) in NEWS_ZH


def test_a_text_without_full_stops_has_its_key_phrases_for_a_topic() -> None:
    topic = digest.topic_description("the coral reef and the sea wall and the tide gauge or " * 50)
    assert topic.split(", ") == digest.keyphrases("the coral reef and the sea wall and the tide gauge or " * 50)


# -- key phrases and themes -----------------------------------------------------------------------


def test_key_phrases_say_what_a_text_is_about() -> None:
    found = digest.keyphrases(ARTICLE, 6)
    assert found[0] == "reefs"
    assert {"coral polyps", "coral bleaching", "Marine biologists"} <= set(found)
    assert all(phrase in ARTICLE for phrase in found)


def test_chinese_key_phrases_are_whole_words() -> None:
    found = digest.keyphrases(NEWS_ZH, 3)
    assert set(found) == {"射电望远镜", "脉冲星", "研究团队"}


def test_a_phrase_and_its_plural_in_any_case_are_one() -> None:
    text = "The lunar crater is old. Lunar craters are old. LUNAR CRATERS are seen. A lunar crater is deep."
    found = [phrase.lower().rstrip("s") for phrase in digest.keyphrases(text, 10)]
    assert found.count("lunar crater") == 1


def test_no_phrase_is_part_of_another() -> None:
    found = digest.keyphrases(ARTICLE, 20)
    assert not [(one, two) for one in found for two in found if one != two and f" {one} " in f" {two} "]


def test_function_words_and_verbs_are_no_phrases() -> None:
    text = "She will visit the museum. They visit the museum, and we visit the garden of the museum. " * 3
    assert digest.keyphrases(text) == ["museum", "garden"]


def test_a_phrase_does_not_reach_over_a_full_stop_or_a_line() -> None:
    text = "Look at the sea. Wall paint is dry.\n\nmenu sea\nwall\n"
    assert not any("sea" in phrase and "all" in phrase.lower() for phrase in digest.keyphrases(text, 20))


def test_themes_are_no_names() -> None:
    text = ARTICLE + "\n" + NEWS_ZH
    found = digest.themes(ARTICLE)
    assert "coral bleaching" in found
    assert not {"Great Barrier Reef", "Queensland", "University of Queensland"} & set(found)
    assert digest.themes(text, 1)
    assert "约翰·史密斯" not in digest.themes("约翰·史密斯说了望远镜。约翰·史密斯造了望远镜。" * 3)


# -- headlines ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("# A tale\n\nText.\n\n## Part two ##\n\nText.", ["A tale", "Part two"]),
        ("> ### Quoted\n> Text.\n\n# Plain\n", ["Quoted", "Plain"]),
        ("A tale\n======\n\nText.\n\nIts end\n---\nText.", ["A tale", "Its end"]),
        (
            "1. Introduction\n\nText here.\n\n1.1 Aims\n\nText.\n\n2. Methods\nText.",
            ["1. Introduction", "1.1 Aims", "2. Methods"],
        ),
        ("Chapter 1\n\nText here.\n\nChapter 2: The Sea\n\nText here.", ["Chapter 1", "Chapter 2: The Sea"]),
        ("第一章 开端\n话说天下大势。\n第二章 结局\n分久必合。", ["第一章 开端", "第二章 结局"]),
        ("一、背景\n研究开始于去年。\n（一）目的\n说明目的。", ["一、背景", "（一）目的"]),
        ("INTRODUCTION\n\nText stands here.\n\nTHE SEA\n\nText stands here.", ["INTRODUCTION", "THE SEA"]),
        (
            "Early Life\n\nShe was born by the sea.\n\nLater Years of Work\n\nShe died there.",
            ["Early Life", "Later Years of Work"],
        ),
        ("研究背景\n\n望远镜发现了脉冲星。", ["研究背景"]),
        ("# [Reefs](https://example.org) \n\nText.\n\n## The **big** one\n\nText.", ["Reefs", "The **big** one"]),
        ("# Title\r\n\r\nText.\r\n\r\n## Next\r\n", ["Title", "Next"]),
    ],
)
def test_heading_lines_are_found(text: str, found: list[str]) -> None:
    assert digest.headlines(text) == found


@pytest.mark.parametrize(
    "text",
    [
        "It was a day in May. The sea was calm.\n\nNobody spoke.\n\nThen the bell rang.",
        "```\n# a comment\n\n## another\n```\n",
        "~~~~\n```\n# inside\n~~~\n# still inside\n~~~~\n",
        "Buy:\n\n1. Milk\n2. Eggs\n3. Bread\n\nThat is all.",
        "1. Milk\n\n2. Eggs\n\n3. Bread\n",
        "#hashtag #another\n\nText.",
        "# \n\n##\n\n# 12\n",
        "12 May 2020\n\nText follows here.",
        "Hello World",
        "a line of text that goes on and on and\nThe Next Line\nthat goes on too.",
        "一天早上，他走了。\n\n他没有回来。",
    ],
)
def test_there_are_no_headlines_where_nothing_heads_a_section(text: str) -> None:
    assert digest.headlines(text) == []


def test_of_too_many_headlines_the_highest_stay_and_of_one_level_the_longest_sections() -> None:
    text = (
        "# Title\n\nOne.\n\n## Short\n\nOne.\n\n### Deep\n\nOne two three four five six.\n\n## Long\n\nOne two three.\n"
    )
    assert digest.headlines(text, 1) == ["Title"]
    assert digest.headlines(text, 2) == ["Title", "Long"]
    assert digest.headlines(text, 3) == ["Title", "Short", "Long"]
    assert digest.headlines(text, 4) == ["Title", "Short", "Deep", "Long"]


def test_a_headline_that_comes_again_is_listed_once() -> None:
    assert digest.headlines("# Notes\n\nText.\n\n# Ends\n\nText.\n\n# Notes\n\nText.") == ["Notes", "Ends"]


def test_the_running_head_of_a_document_is_no_headline() -> None:
    page = "{} THE HISTORY OF REEFS\n\nA page of text stands here, and it is read.\n\n"
    assert digest.headlines("".join(page.format(number) for number in range(200, 210))) == []


# -- names ----------------------------------------------------------------------------------------


def test_names_come_by_frequency_then_as_they_first_stand() -> None:
    text = "We saw Bohr with Curie in 1921. Later Einstein met Curie, and Bohr saw Curie on 3 May 1922."
    assert digest.entities(text, profile=FAST) == ["Curie", "Bohr", "Einstein"]
    assert digest.entities(text, 1, FAST) == ["Curie"]


def test_two_spellings_of_one_name_are_one() -> None:
    assert digest.entities("We met José there. Then we met Jose and JOSÉ too.", profile=FAST) == ["José"]


def test_names_in_links_are_read_without_the_address() -> None:
    text = "It was [Marie Curie](https://example.org/Nobel_Prize) who found it."
    assert digest.entities(text, profile=FAST) == ["Marie Curie"]


def test_names_come_from_the_profile_given_and_dates_and_numbers_are_left_out() -> None:
    class Fixed:
        name = "fixed"

        def analyse(self, texts: object) -> list[Analysis]:
            return [Analysis(names=(Name("1984", 0, 1), Name("May", 0, 1, "date"), Name("Orwell", 0, 1)))]

    assert digest.entities("any text", profile=Fixed()) == ["Orwell"]


# -- size -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "piece",
    [
        "word ",
        "a",
        "Aa",
        "射电望远镜发现脉冲星。",
        "射电望远镜",
        "*_",
        "](",
        "[",
        "| ",
        "# ",
        "\n\nAb Cd",
        "http://a",
        "...",
        "«",
    ],
)
def test_a_large_text_of_any_kind_has_a_short_digest(piece: str) -> None:
    text = piece * (30_000 // len(piece))
    assert len(digest.summary(text)) <= 3_100
    assert len(digest.title(text)) <= 120
    assert len(digest.topic_description(text)) <= 400
    assert len(digest.headlines(text)) <= 5
    listed = digest.keyphrases(text) + digest.themes(text) + digest.entities(text, profile=FAST)
    assert all(len(phrase) <= 210 for phrase in listed)
