"""Chinese: one form for two spellings, words that questions are asked by, names that LAC knows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import knotwork
from knotwork import Index, chinese
from knotwork.gazetteer import Gazetteer
from knotwork.models import static_available
from knotwork.nlp import FastProfile
from knotwork.search.linking import asked_for
from knotwork.search.passages import query_terms
from knotwork.settings import load_settings
from knotwork.text import fold_characters, normalise_name, search_terms, simplified

DEMO = Path(knotwork.__file__).parent / "demo" / "double-helix-zh"
with_zh = pytest.mark.skipif(not chinese.available(), reason="needs the extra [zh]")

NEWS = (
    "昨日，山谷市市长王小明在青石镇宣布，北岭冰川研究所将与华原大学一起钻取新的冰芯。研究员陈丽和周海涛负责这项工作。"
    "她们曾在格陵兰岛工作三年。"
)


@given(st.text(st.characters(min_codepoint=0x20, max_codepoint=0x2FFFF)))
def test_folding_keeps_every_offset_and_is_done_once(text: str) -> None:
    folded = fold_characters(text)
    assert len(folded) == len(text)
    assert fold_characters(folded) == folded
    assert simplified(simplified(text)) == simplified(text)


def test_traditional_and_simplified_are_one_name_and_one_term() -> None:
    assert normalise_name("羅莎琳·富蘭克林") == normalise_name("罗莎琳·富兰克林")
    assert search_terms("雙螺旋結構") == search_terms("双螺旋结构")
    assert search_terms("ＤＮＡ　１９５３") == ["dna", "1953"]
    (found,) = Gazetteer(["罗莎琳·富兰克林"]).find("她叫羅莎琳·富蘭克林。")
    assert found == (2, 10, "罗莎琳·富兰克林")


def test_text_without_chinese_is_left_alone() -> None:
    text = "Crick’s notes, “the” DNA"
    assert fold_characters(text) == text
    assert simplified(text) is text


def test_a_question_is_asked_by_what_it_is_about() -> None:
    terms = query_terms("请问北岭冰川是什么时候被谁发现的？")
    assert {"冰川", "发现"} <= set(terms)
    assert not {"请问", "什么", "时候", "的"} & set(terms)
    assert asked_for("Who found it?") == "Who found it?"


@with_zh
def test_words_cover_the_chinese_of_a_text() -> None:
    text = "DNA双螺旋結構，abc，冰川。"
    spans = chinese.word_spans(text)
    assert "".join(text[start:end] for start, end in spans) == "双螺旋結構冰川"
    assert "双螺旋" in [text[start:end] for start, end in spans]


@with_zh
def test_persons_places_and_organisations_are_found_where_they_stand() -> None:
    found = {NEWS[name.start : name.end]: name.type for name in chinese.names(NEWS)}
    assert (
        found.items() >= {"王小明": "person", "陈丽": "person", "周海涛": "person", "华原大学": "organization"}.items()
    )
    assert found["格陵兰岛"] == "place"


@with_zh
def test_a_text_in_traditional_characters_has_the_same_names() -> None:
    text = "研究員陳麗在臺北工作。"
    assert [text[name.start : name.end] for name in chinese.names(text)] == ["陳麗", "臺北"]


@with_zh
def test_names_in_a_list_are_several_and_a_title_stays_outside() -> None:
    text = "出席的有科克伦、范德萨，以及 CEO 蒂姆・库克。"
    assert {"科克伦", "范德萨", "蒂姆・库克"} <= {name.text for name in FastProfile().analyse([text])[0].names}


@with_zh
@pytest.mark.parametrize(
    "text",
    [
        "一" * 20_000,
        "王小明" * 3_000,
        "。" * 5_000,
        "\ud800王小明\x00在北京",
        "你" + " " * 9_000 + "好",
        "𠮷野家" * 500,
    ],
)
def test_odd_texts_have_true_spans(text: str) -> None:
    names = chinese.names(text)
    assert all(0 <= name.start < name.end <= len(text) for name in names)
    assert all(one.end <= other.start for one, other in pairwise(names))


@with_zh
def test_an_analysis_does_not_depend_on_the_texts_beside_it() -> None:
    alone = FastProfile().analyse([NEWS])[0]
    assert FastProfile().analyse(["别的文字。" * 40, NEWS, "王小明"])[1] == alone


def test_japanese_is_not_taken_for_chinese() -> None:
    assert chinese.is_chinese(NEWS)
    assert not chinese.is_chinese("吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。")


# -- in an index ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def mixed(tmp_path_factory: pytest.TempPathFactory) -> Index:
    """An index of English and Chinese documents."""
    if not static_available():
        pytest.skip("needs wordllama")
    folder = tmp_path_factory.mktemp("mixed")
    docs = folder / "docs"
    docs.mkdir()
    (docs / "hut.txt").write_text("The hut of the survey stands beside the moraine. Ada Stone built the hut in 1931.")
    (docs / "ice.txt").write_text("The ice of the north is old. Ben Frost drilled in the ice and read its layers.")
    for number in range(6):
        (docs / f"zh{number}.txt").write_text(f"{NEWS}第{number}号报告说，我们没有在{number}号冰川工作。", "utf-8")
    index = Index.open(folder / "kb", settings=load_settings(profile="fast"))
    index.add(docs)
    return index


def test_an_english_question_is_not_answered_by_noise(mixed: Index) -> None:
    for mode in ("dense", "hybrid", "auto"):
        assert mixed.search("Who built the hut?", mode=mode, k=1)[0].source == "hut.txt"
    assert [one.source for one in mixed.search("Who built the hut?", mode="dense")] == ["hut.txt", "ice.txt"]


def test_a_chinese_question_finds_chinese_documents(mixed: Index) -> None:
    assert mixed.search("谁宣布要钻取新的冰芯？", k=1)[0].source.startswith("zh")
    assert mixed.ask("誰宣佈要鑽取新的冰芯？").found
    assert mixed.ask("谁宣布要钻取新的冰芯？").hint == ""


def test_a_chinese_question_on_english_documents_gets_what_its_names_allow_and_a_hint(
    tmp_path: Path, mixed: Index
) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    (docs / "hut.txt").write_text("The hut of the survey stands beside the moraine. Ada Stone built the hut in 1931.")
    with Index.open(tmp_path / "kb", settings=load_settings(profile="fast")) as index:
        index.add(docs)
        answer = index.ask("Ada Stone 在 1931 年做了什么？")
        assert "Ada Stone built the hut in 1931." in answer.text
        assert "embedder" in answer.hint
        assert index.ask("谁写了红楼梦？").found is False
        assert index.ask("Who built the hut?").hint == ""


def test_an_index_of_chinese_says_what_the_extra_would_add(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.txt").write_text(NEWS, "utf-8")
    with Index.open(tmp_path / "kb", settings=load_settings(profile="fast")) as index:
        monkeypatch.setattr(chinese, "available", lambda: False)
        assert "knotwork[zh]" in index.add(tmp_path / "a.txt").hints[0]
        monkeypatch.setattr(chinese, "available", lambda: True)
        assert index.add(tmp_path / "a.txt").hints == ()


# -- answers --------------------------------------------------------------------------------------


@pytest.fixture(params=["as installed", "without the extra"])
def helix(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """The Chinese demo, as it is found with the extra and without."""
    if request.param == "as installed" and not chinese.available():
        pytest.skip("needs the extra [zh]")
    if request.param != "as installed":
        monkeypatch.setattr(chinese, "available", lambda: False)
    with Index.open(tmp_path / "kb", settings=load_settings(profile="fast")) as index:
        index.add(DEMO)
        yield index


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("富兰克林什么时候去世？", "1958年4月16日"),
        ("富蘭克林在哪裡出生？", "出生于伦敦"),
        ("谁获得了1962年诺贝尔奖？", "威尔金斯"),
        ("沃森的回忆录叫什么？", "《双螺旋》"),
        ("戈斯林是谁的学生？", "威尔金斯"),
        ("沃森什么时候去剑桥？", "同年秋天，沃森来到剑桥大学"),
    ],
)
def test_a_chinese_question_is_answered(helix: Index, question: str, told: str) -> None:
    answer = helix.ask(question)
    assert told in answer.text
    texts = {document.key: document.text for document in helix.documents}
    assert all(texts[one.document_id][one.start : one.end] == one.quote for one in answer.citations)


@pytest.mark.parametrize("question", ["谁写了红楼梦？", "中国的首都是哪里？", "克里克开什么车？", "谁发现了青霉素？"])
def test_a_chinese_question_that_nothing_answers_is_refused(helix: Index, question: str) -> None:
    assert not helix.ask(question).found


@with_zh
def test_the_question_of_the_demo_names_all_four(tmp_path: Path) -> None:
    with Index.open(tmp_path / "kb", settings=load_settings(profile="fast")) as index:
        index.add(DEMO)
        answer = index.ask("谁发现了DNA双螺旋结构？富兰克林起了什么作用？")
    for name in ("沃森", "克里克", "富兰克林", "威尔金斯"):
        assert name in answer.text
