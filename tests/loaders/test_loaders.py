from __future__ import annotations

import json
import os
import socket
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.loaders.made import zipped

from knotwork.errors import LoadError
from knotwork.graph import Document
from knotwork.loaders import KINDS, Found, Skipped, files, find, read
from knotwork.text import stable_id

CHINESE = (
    "詹姆斯·沃森是美国生物学家，1928年出生于芝加哥，十五岁就进入大学学习。他在剑桥和克里克一起提出了双螺旋结构，"
    "并且得到了诺贝尔奖。这个发现改变了人们对生命的看法。"
)
TRADITIONAL = "臺灣的夏天非常炎熱，許多人喜歡到海邊游泳，或者在家裡吹冷氣看電視。歷史學家認為這個地區的發展與貿易有關。"
JAPANESE = "吾輩は猫である。名前はまだ無い。どこで生れたかとんと見当がつかぬ。"
KOREAN = "대한민국의 수도는 서울이다. 한강이 도시를 가로질러 흐르고 있다."
PARAGRAPH = "Rosalind Franklin took the photograph in May 1952 with the help of Raymond Gosling. " * 3


def put(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def load(folder: Path, name: str, content: str | bytes) -> list[Document | Skipped]:
    path = put(folder, name, content)
    return read(Found(path, folder, name))


def documents(folder: Path, name: str, content: str | bytes) -> list[Document]:
    items = load(folder, name, content)
    assert not [item for item in items if isinstance(item, Skipped)]
    return [item for item in items if isinstance(item, Document)]


def document(folder: Path, name: str, content: str | bytes) -> Document:
    (one,) = documents(folder, name, content)
    return one


def reason(folder: Path, name: str, content: str | bytes) -> str:
    (one,) = load(folder, name, content)
    assert isinstance(one, Skipped)
    assert one.source == name
    return one.reason


def names(found: list[Found | Skipped]) -> list[str]:
    return [item.relative for item in found if isinstance(item, Found)]


def skips(found: list[Found | Skipped]) -> dict[str, str]:
    return {item.source: item.reason for item in found if isinstance(item, Skipped)}


# -- finding --------------------------------------------------------------------------------------


def test_a_folder_gives_its_files_sorted_with_posix_paths_below_it(tmp_path: Path) -> None:
    for name in ("b.txt", "a/z.md", "a/b/c.csv"):
        put(tmp_path, name, "text")
    found = find(tmp_path)
    assert names(found) == ["a/b/c.csv", "a/z.md", "b.txt"]
    assert all(isinstance(item, Found) and item.root == tmp_path and item.path.is_file() for item in found)


def test_a_file_gives_itself_below_its_folder(tmp_path: Path) -> None:
    path = put(tmp_path, "a/b.txt", "text")
    assert find(str(path)) == [Found(path, path.parent, "b.txt")]


def test_an_empty_folder_gives_nothing(tmp_path: Path) -> None:
    assert find(tmp_path) == []


def test_hidden_files_and_caches_are_passed_over_silently_unless_given_themselves(tmp_path: Path) -> None:
    put(tmp_path, ".git/config", "text")
    put(tmp_path, "__pycache__/x.pyc", "text")
    hidden = put(tmp_path, ".hidden.txt", "text")
    assert find(tmp_path) == []
    assert names(find(hidden)) == [".hidden.txt"]


def test_a_path_that_does_not_exist_is_an_error_that_names_it_and_what_does_exist(tmp_path: Path) -> None:
    put(tmp_path, "docs/a.txt", "text")
    with pytest.raises(LoadError, match=r"no such file or folder: .*dosc/x") as caught:
        find(tmp_path / "dosc" / "x")
    assert str(tmp_path) in str(caught.value)
    assert "did you mean 'docs'" in str(caught.value)


@pytest.mark.parametrize("path", ["", "a\0b", "long " * 2000])
def test_a_string_that_can_be_no_path_is_an_error(path: str) -> None:
    with pytest.raises(LoadError):
        find(path)


def test_a_path_with_blanks_and_chinese_is_kept_as_it_is(tmp_path: Path) -> None:
    put(tmp_path, "我的 文件/双 螺旋.txt", "text")
    (found,) = find(tmp_path)
    assert isinstance(found, Found)
    assert found.relative == "我的 文件/双 螺旋.txt"
    (one,) = read(found)
    assert isinstance(one, Document)
    assert (one.source, one.title, one.metadata["path"]) == (found.relative, "双 螺旋", found.relative)


@pytest.mark.skipif(sys.platform != "linux", reason="file names are bytes on Linux only")
def test_a_name_that_is_no_text_is_shown_with_escapes_and_still_read(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path)
    for name in (b"caf\xe9.txt", b"caf\xe8.txt", b"a\x1b[1m.txt"):
        with open(os.path.join(folder, name), "wb") as file:
            file.write(b"text")
    found = find(tmp_path)
    assert names(found) == ["a\\x1b[1m.txt", "caf\\xe8.txt", "caf\\xe9.txt"]
    assert [isinstance(read(item)[0], Document) for item in found if isinstance(item, Found)] == [True] * 3


def symlink(link: Path, target: Path | str) -> None:
    try:
        link.symlink_to(target)
    except OSError:
        pytest.skip("symbolic links are not allowed here")


def test_links_that_leave_the_folder_lead_nowhere_or_in_circles_are_skipped_with_a_reason(tmp_path: Path) -> None:
    outside = put(tmp_path, "outside.txt", "text")
    root = tmp_path / "root"
    put(root, "deep/a.txt", "text")
    symlink(root / "out.txt", outside)
    symlink(root / "broken.txt", "nowhere")
    symlink(root / "self", "self")
    symlink(root / "deep" / "up", root)
    symlink(root / "again.txt", root / "deep" / "a.txt")
    found = find(root)
    assert names(found) == ["deep/a.txt"]
    reasons = skips(found)
    assert "leaves the folder" in reasons["out.txt"]
    assert "leads nowhere" in reasons["broken.txt"]
    assert "leads nowhere" in reasons["self"]
    assert "read there" in reasons["deep/up"]
    assert "deep/a.txt" in reasons["again.txt"]


def test_links_to_what_is_hidden_inside_the_folder_are_followed_once(tmp_path: Path) -> None:
    put(tmp_path, ".data/a.txt", "text")
    symlink(tmp_path / "one", tmp_path / ".data")
    symlink(tmp_path / "two", tmp_path / ".data")
    found = find(tmp_path)
    assert names(found) == ["one/a.txt"]
    assert "read there" in skips(found)["two"]


def test_a_folder_given_by_a_link_is_walked(tmp_path: Path) -> None:
    put(tmp_path, "real/a.txt", "text")
    symlink(tmp_path / "link", tmp_path / "real")
    assert names(find(tmp_path / "link")) == ["a.txt"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_pipes_sockets_and_devices_are_skipped_with_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    os.mkfifo(tmp_path / "pipe.txt")
    monkeypatch.chdir(tmp_path)  # socket paths must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket.txt")
        assert skips(find(tmp_path)) == {"pipe.txt": "a pipe, not a file", "socket.txt": "a socket, not a file"}
    assert skips(find(tmp_path / "pipe.txt")) == {"pipe.txt": "a pipe, not a file"}
    assert skips(find("/dev/null")) == {"null": "a device, not a file"}


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs pipes")
def test_a_file_that_became_a_pipe_since_it_was_found_does_not_block(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "a.txt")
    assert read(Found(tmp_path / "a.txt", tmp_path, "a.txt")) == [Skipped("a.txt", "a pipe, not a file")]


def test_a_file_that_vanished_is_skipped_with_the_reason_of_the_system(tmp_path: Path) -> None:
    (skipped,) = read(Found(tmp_path / "gone.txt", tmp_path, "gone.txt"))
    assert skipped == Skipped("gone.txt", "no such file or directory")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_what_may_not_be_read_is_skipped_with_the_reason_of_the_system(tmp_path: Path) -> None:
    path = put(tmp_path, "a.txt", "text")
    path.chmod(0)
    locked = tmp_path / "locked"
    locked.mkdir(mode=0)
    found = find(tmp_path)
    assert skips(found) == {"locked": "permission denied"}
    assert [read(item) for item in found if isinstance(item, Found)] == [[Skipped("a.txt", "permission denied")]]
    locked.chmod(0o700)


# -- what is no text ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.csv", "a.json", "a.jsonl", "a.log"])
def test_an_empty_file_is_skipped_with_a_reason(tmp_path: Path, name: str) -> None:
    assert reason(tmp_path, name, b"") == "empty"
    assert reason(tmp_path, name, b"\xef\xbb\xbf") == "empty"


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.csv", "a.json", "a.jsonl", "a.log"])
def test_a_file_of_blanks_is_skipped_with_a_reason(tmp_path: Path, name: str) -> None:
    assert reason(tmp_path, name, " \n\t\r\n\u3000 ") == "holds only white space"


@pytest.mark.parametrize("name", ["a.txt", "a.md", "a.html", "a.json", "a.xyz", "noname"])
@pytest.mark.parametrize("content", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", bytes(range(1, 256)) * 4, b"\x01\x02" * 50])
def test_a_binary_file_is_skipped_with_a_reason(tmp_path: Path, name: str, content: bytes) -> None:
    assert reason(tmp_path, name, content).startswith("looks binary (")


@pytest.mark.parametrize("name", ["a.doc", "a.xls", "a.ppt", "a.odt", "a.rtf", "a.epub"])
def test_old_formats_are_skipped_because_this_version_cannot_read_them(tmp_path: Path, name: str) -> None:
    assert "cannot be read by this version" in reason(tmp_path, name, b"anything")


@pytest.mark.parametrize("name", ["a.pdf", "a.DOCX", "a.xlsx", "a.pptx"])
def test_a_file_that_is_not_what_its_name_says_is_skipped(tmp_path: Path, name: str) -> None:
    assert f"is no {name[2:].lower()} file by its first bytes" in reason(tmp_path, name, b"anything")


@pytest.mark.parametrize(
    ("content", "because"),
    [
        (b"PK\x03\x04 text", "a broken ZIP or office file"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old office format"),
        (b"{\\rtf1 x}", "an RTF file"),
    ],
)
def test_foreign_formats_are_known_under_any_name(tmp_path: Path, content: bytes, because: str) -> None:
    assert because in reason(tmp_path, "a.txt", content)
    assert because in reason(tmp_path, "a.csv", content)


@pytest.mark.parametrize(
    ("library", "name", "extra"),
    [
        ("pypdfium2", "a.pdf", "pdf"),
        ("mammoth", "a.docx", "docx"),
        ("pptx", "a.pptx", "office"),
        ("openpyxl", "a.xlsx", "office"),
    ],
)
def test_without_its_extra_a_format_is_skipped_and_the_extra_named(
    tmp_path: Path, library: str, name: str, extra: str
) -> None:
    if find_spec(library) is not None:
        pytest.skip(f"{library} is installed")
    parts = {"docx": "word/document.xml", "pptx": "ppt/presentation.xml", "xlsx": "xl/workbook.xml"}
    content = zipped({parts[name[2:]]: "<x/>"}) if name[2:] in parts else b"%PDF-1.7"
    assert f"knotwork[{extra}]" in reason(tmp_path, name, content)


@pytest.mark.parametrize("name", ["a.rst", "a.LOG", "a.py", "README"])
def test_an_unknown_suffix_is_read_as_text_when_it_looks_like_text(tmp_path: Path, name: str) -> None:
    one = document(tmp_path, name, "Some text\n")
    assert (one.text, one.metadata["kind"]) == ("Some text\n", "txt")


def test_a_file_above_the_limit_is_skipped_with_its_size_and_the_limits_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert files.MAX_BYTES == 256 * 2**20
    monkeypatch.setattr(files, "MAX_BYTES", 2**20)
    said = reason(tmp_path, "a.txt", b"x" * (3 * 2**20))
    assert "3.0 MB" in said
    assert "MAX_BYTES (1 MB)" in said


@given(st.binary(max_size=300), st.sampled_from([*KINDS, ".other"]))
def test_no_content_whatever_raises(content: bytes, suffix: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        items = load(Path(folder), f"a{suffix}", content)
    assert items
    for item in items:
        if isinstance(item, Document):
            assert item.text.strip()
            json.dumps(item.metadata, allow_nan=False, ensure_ascii=False).encode()
        else:
            assert item.reason


# -- plain text -----------------------------------------------------------------------------------

# No control characters: a text of them is taken for binary.
texts = st.text(st.characters(exclude_categories=("Cs", "Cc"), include_characters="\t\n\r\x1b"), min_size=1).filter(
    lambda text: text.strip() and text[0] != "\ufeff"
)


@given(texts, st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "utf-32"]), st.sampled_from([".txt", ".md"]))
def test_a_text_comes_back_unchanged_from_any_unicode_encoding(text: str, encoding: str, suffix: str) -> None:
    # What begins like an office file is taken for one; a NUL in UTF-32 stays apart from the mark.
    data = text.encode(encoding)
    with tempfile.TemporaryDirectory() as folder:
        (one,) = load(Path(folder), f"a{suffix}", data)
    if isinstance(one, Skipped):
        assert text.startswith(("%PDF-", "{\\rtf"))
    else:
        assert one.text == text


def test_line_ends_escape_codes_and_markup_stay_as_they_are(tmp_path: Path) -> None:
    text = "one\r\ntwo\rthree\n\x1b[31mred\x1b[0m [bold]not bold[/bold] <|endoftext|> \u2028 end\n"
    one = document(tmp_path, "a.txt", text)
    assert one.text == text
    assert one.metadata == {"path": "a.txt", "kind": "txt"}


def test_a_document_is_named_by_its_path_below_the_folder(tmp_path: Path) -> None:
    one = document(tmp_path, "sub/a.txt", "text")
    assert one.source == "sub/a.txt"
    assert one.id == stable_id("document", "sub/a.txt") == Document("other", source="sub/a.txt").key


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("The Project Gutenberg eBook\n\nAnd a line of licence.\r\n\r\nTitle: A Carol\r\n\r\nAuthor: X", "A Carol"),
        ("标题：双螺旋\n正文", "双螺旋"),
        ("\n\n  Photo 51  \n\nIt was taken in 1952.", "Photo 51"),
        ("# Photo 51\n\nIt was taken in 1952.", "Photo 51"),
        ("It was taken in 1952.\n\nMore.", "my file 2"),
        ("这是一句话。\n\n还有。", "my file 2"),
        ("A line\nand its continuation\n\nMore.", "my file 2"),
        ("word " * 30 + "\n\nMore.", "my file 2"),
        ("only one line", "my file 2"),
        ("x\n" * 50 + "Title: too late\n", "my file 2"),
    ],
)
def test_the_title_of_a_text_is_its_title_line_or_a_short_first_line_or_its_file_name(
    tmp_path: Path, text: str, title: str
) -> None:
    assert document(tmp_path, "my_file-2.txt", text).title == title


def test_a_title_is_one_line_without_control_characters_and_not_endless(tmp_path: Path) -> None:
    assert document(tmp_path, "a.txt", "Title: \x1b[1mA\tB  C\n").title == "[1mA B C"
    assert len(document(tmp_path, "a.txt", "Title: " + "word " * 100_000).title) <= 200


# -- encodings ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "encoding"),
    [
        (CHINESE[:60], "gb18030"),
        (CHINESE[:12], "gb18030"),
        (CHINESE * 3000, "gb18030"),
        ("word " * 100_000 + CHINESE[:60], "gb18030"),
        ("张伟\n李娜\n王芳\n刘洋\n陈静\n", "gb18030"),
        (TRADITIONAL, "big5"),
        (JAPANESE, "cp932"),
        (JAPANESE, "euc_jp"),
        (KOREAN, "cp949"),
        ("Le café est fermé. Ça va, garçon? “Oui”, dit-il — 5 €.", "cp1252"),
        ("José,Málaga", "latin-1"),
        ("Książę łódzki był świadkiem zdarzenia.", "cp1250"),
        ("Съешь ещё этих мягких французских булок да выпей чаю.", "cp1251"),
    ],
)
def test_texts_in_older_encodings_are_told_from_their_bytes(tmp_path: Path, text: str, encoding: str) -> None:
    one = document(tmp_path, "a.txt", text.encode(encoding))
    assert one.text == text
    assert "replaced" not in one.metadata
    assert one.metadata["encoding"] != "utf-8"


@pytest.mark.parametrize("text", ["Watson and Crick, Cambridge.", CHINESE, JAPANESE, "Привет, мир! Это текст. И ещё."])
@pytest.mark.parametrize("encoding", ["utf-16-le", "utf-16-be"])
def test_utf16_without_a_mark_is_recognised(tmp_path: Path, text: str, encoding: str) -> None:
    one = document(tmp_path, "a.txt", text.encode(encoding))
    assert (one.text, one.metadata["encoding"]) == (text, encoding)


def test_a_text_with_a_nul_in_it_is_not_taken_for_utf16(tmp_path: Path) -> None:
    assert reason(tmp_path, "a.txt", b"plain words and a \0NUL here").startswith("looks binary")


@pytest.mark.parametrize(
    ("data", "text", "replaced"),
    [
        (("沃森和克里克" * 5).encode()[:-1], "沃森和克里克" * 4 + "沃森和克里\ufffd", 1),
        ("Zürich, Köln ".encode() + b"\xff and \xfe", "Zürich, Köln \ufffd and \ufffd", 2),
        (b"plain words \xff\xfe and more", "plain words \ufffd\ufffd and more", 2),
        ("own \ufffd, é, ü and ".encode() + b"\xff", "own \ufffd, é, ü and \ufffd", 1),
    ],
)
def test_a_few_bad_bytes_in_utf8_are_replaced_and_counted(
    tmp_path: Path, data: bytes, text: str, replaced: int
) -> None:
    one = document(tmp_path, "a.txt", data)
    assert one.text == text
    assert one.metadata == {"path": "a.txt", "kind": "txt", "encoding": "utf-8", "replaced": replaced}


def test_a_five_megabyte_line_is_one_document(tmp_path: Path) -> None:
    text = "双螺旋 word " * 500_000
    assert document(tmp_path, "a.txt", text).text == text
    assert document(tmp_path, "a.md", text).text == text
    assert document(tmp_path, "a.txt", text.encode("gb18030")).text == text
    assert document(tmp_path, "a.html", "<p>" + text).text == text.strip()


# -- Markdown -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("# Photo 51\n\ntext", "Photo 51"),
        ("intro\n\nPhoto 51\n========\n\ntext", "Photo 51"),
        ("```\n# a comment\n```\n\n    # code\n\n## Second level\n\n# Title\n", "Title"),
        ("# The *title* of `x` &amp; [link](u) ![picture](p) ##\n", "The title of x & link"),
        ("> # quoted\n\n- # listed\n", "my notes"),
        ("#\n\n# Second\n", "Second"),
        ("---\ntitle: 'From the front'\nother: 1\n---\n# Heading\n", "From the front"),
        ("---\r\nauthor: x\r\n---\r\n# Heading\r\n", "Heading"),
        ("---\n\ntitle: in the text\n\n# Heading\n", "Heading"),
        ("no heading", "my notes"),
    ],
)
def test_the_title_of_markdown_is_its_first_heading_of_level_one(tmp_path: Path, text: str, title: str) -> None:
    one = document(tmp_path, "my_notes.md", text)
    assert one.title == title
    assert one.text == text
    assert one.metadata["kind"] == "md"


# -- HTML -----------------------------------------------------------------------------------------


def html(folder: Path, markup: str) -> str:
    return document(folder, "a.html", markup).text


def test_html_becomes_lines_as_a_reader_sees_them(tmp_path: Path) -> None:
    markup = """<!doctype html><html><head><title> The  page </title><style>p {}</style></head><body>
    <script>if (a<b) document.write("<p>no</p>")</script><noscript>no</noscript><template>no</template>
    <svg><text>no</text></svg>
    <h1>Photo&nbsp;51 &amp; more</h1><p>First <b>bold</b>er
       line,<br>second&shy;ary line.</p><div>a<div>b</div>c</div>
    <ul><li>one</li><li>two</ul><table><tr><th>k<th>v</tr><tr><td>x</td><td>y</td></tr></table>
    <pre>
  kept
    as is</pre><p>\x1b[1m &lt;i&gt;</p><!-- <p>no</p> --></body></html>"""
    assert html(tmp_path, markup) == (
        "Photo 51 & more\n\nFirst bolder line,\nsecondary line.\n\na\nb\nc\n\none\ntwo\n\nk\tv\nx\ty\n\n"
        "  kept\n    as is\n\n\x1b[1m <i>"
    )


@pytest.mark.parametrize(
    ("markup", "title"),
    [
        ("<title> The\n page </title><h1>Other</h1><p>x", "The page"),
        ("<svg><title>icon</title></svg><h1>The <i>heading</i></h1><p>x", "The heading"),
        ("<title> </title><p>x", "my page"),
    ],
)
def test_the_title_of_html_is_its_title_or_first_heading_or_file_name(tmp_path: Path, markup: str, title: str) -> None:
    assert document(tmp_path, "my_page.html", markup).title == title


def test_menus_and_footers_are_left_out_where_enough_remains(tmp_path: Path) -> None:
    menus = "<nav>Menu</nav><div role=Navigation>More menu</div>"
    frame = menus + "<main><p>{}</p></main><aside>Advert</aside><footer>Imprint</footer>"
    assert html(tmp_path, frame.format(PARAGRAPH)) == PARAGRAPH.strip()
    assert html(tmp_path, frame.format("Short.")) == "Menu\nMore menu\n\nShort.\n\nAdvert\nImprint"


def test_a_heading_in_a_plain_header_stays(tmp_path: Path) -> None:
    assert html(tmp_path, f"<header><h1>Photo 51</h1></header><p>{PARAGRAPH}").startswith("Photo 51\n\n")


def test_html_without_text_is_skipped_with_a_reason(tmp_path: Path) -> None:
    assert reason(tmp_path, "a.html", "<html><script>run()</script></html>") == "holds no text"


@pytest.mark.parametrize(
    "markup",
    [
        "<div>" * 100_000 + "deep" + "</div>" * 100_000 + "<p>after",
        "<ul><li>" * 20_000 + "deep<p>after",
        "<b><p>" * 20_000 + "deep<p>after",
        "<section/>" * 20_000 + "deep<p>after",
        "".join(f"<font a{i}=1>" for i in range(20_000)) + "<p>" * 20_000 + "deep<p>after",
        "<p " + " ".join(f"a{i}=1" for i in range(50_000)) + ">deep<p>after",
    ],
    ids=["divs", "lists", "bold", "self-closed", "fonts", "attributes"],
)
def test_html_nested_without_end_is_read(tmp_path: Path, markup: str) -> None:
    assert html(tmp_path, markup).split() == ["deep", "after"]


def test_an_attribute_with_markup_in_it_hides_nothing(tmp_path: Path) -> None:
    markup = "<p title=\"<b>x</b> a<b\">one</p><p data-x='</p><p>'>two <img alt='>'>three"
    assert html(tmp_path, markup) == "one\n\ntwo three"


def test_elements_closed_the_xml_way_do_not_swallow_the_page(tmp_path: Path) -> None:
    head = "<?xml version='1.0'?><html><head><title/><script src='x.js'/></head>"
    markup = head + "<body><a name='x'/><p>text</p></body></html>"
    assert document(tmp_path, "a.xhtml", markup).text == "text"


@pytest.mark.parametrize(
    ("label", "encoding"),
    [("gb2312", "gb18030"), ("iso-8859-2", "iso8859-2"), ("Shift_JIS", "cp932"), ("windows-1251", "cp1251")],
)
def test_a_page_is_read_in_the_encoding_it_declares(tmp_path: Path, label: str, encoding: str) -> None:
    text = {"gb18030": "鲲鹏展翅", "iso8859-2": "Příliš žluťoučký", "cp932": "吾輩", "cp1251": "Привет"}[encoding]
    for head in (f"<meta charset='{label}'>", f'<meta http-equiv="Content-Type" content="text/html; charset={label}">'):
        assert document(tmp_path, "a.html", (head + "<p>" + text).encode(encoding)).text == text


@pytest.mark.parametrize("label", ["utf-16", "no-such", "base64", "unicode_escape", "gb2312"])
def test_a_wrong_declaration_does_no_harm(tmp_path: Path, label: str) -> None:
    assert document(tmp_path, "a.html", f"<meta charset={label}><p>Zürich \\u0041").text == "Zürich \\u0041"


# -- csv ------------------------------------------------------------------------------------------


def test_each_row_of_a_table_is_a_document(tmp_path: Path) -> None:
    table = 'ID,Headline,Text,place\r\n7,First,"Some, ""text""\r\nin two lines",Rome\r\n8,Second,Other,\r\n'
    first, second = documents(tmp_path, "news.csv", table)
    metadata = {"path": "news.csv", "kind": "csv"}
    assert first == Document(
        'Some, "text"\r\nin two lines', "7", "First", "news.csv#row 1", {"place": "Rome", **metadata}
    )
    assert second == Document("Other", "8", "Second", "news.csv#row 2", metadata)


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_the_delimiter_is_told_from_the_table(tmp_path: Path, delimiter: str, encoding: str) -> None:
    rows = [["title", "text", "n"], ["A", '"x, y; z"', "1"], ["B", '"a|b, c"', "2"], ["C", "plain", "3"]]
    table = "\n".join(delimiter.join(row) for row in rows)
    found = documents(tmp_path, "a.csv", table.encode(encoding))
    assert [(one.title, one.text, one.metadata["n"]) for one in found] == [
        ("A", "x, y; z", "1"),
        ("B", "a|b, c", "2"),
        ("C", "plain", "3"),
    ]


def test_a_table_of_one_column_keeps_its_commas(tmp_path: Path) -> None:
    found = documents(tmp_path, "a.csv", 'text\nHello, world\n"quoted, too"\n')
    assert [one.text for one in found] == ["Hello, world", "quoted, too"]


def test_the_delimiter_line_of_a_spreadsheet_is_obeyed(tmp_path: Path) -> None:
    (one,) = documents(tmp_path, "a.csv", "sep=;\r\ntitle;text\r\nA, B;x, y\r\n")
    assert (one.title, one.text) == ("A, B", "x, y")


def test_without_a_text_column_all_columns_together_are_the_text(tmp_path: Path) -> None:
    one, _ = documents(tmp_path, "a.csv", "name,born,died\nCrick,1916,2004\nGosling,1926,\n")
    assert one.text == "name: Crick\nborn: 1916\ndied: 2004"
    assert one.title == "Crick"
    assert one.metadata["born"] == "1916"


def test_a_row_with_too_few_or_too_many_columns_is_kept(tmp_path: Path) -> None:
    short, long = documents(tmp_path, "a.csv", "text,title,place\nonly text\ntext,title,place,more,and more\n")
    assert (short.text, short.title, short.metadata) == ("only text", "", {"path": "a.csv", "kind": "csv"})
    assert (long.metadata["place"], long.metadata["extra"]) == ("place", "more,and more")


def test_blank_rows_are_counted_and_passed_over_and_a_blank_text_is_skipped(tmp_path: Path) -> None:
    items = load(tmp_path, "a.csv", "title,text\n,\n\nA, \nB,x\n")
    assert [item.source for item in items] == ["a.csv#row 3", "a.csv#row 4"]
    assert items[0] == Skipped("a.csv#row 3", "the field 'text' holds no text")


def test_fields_larger_than_the_modules_limit_are_read(tmp_path: Path) -> None:
    text = "x, y " * 100_000
    one, other = documents(tmp_path, "a.csv", f'title,text\nA,"{text}"\nB,b\n')
    assert (one.text, other.text) == (text, "b")


def test_nul_bytes_in_a_table_are_dropped(tmp_path: Path) -> None:
    (one,) = documents(tmp_path, "a.csv", b"title,text\nA\0\0,some\0 text\n")
    assert (one.title, one.text) == ("A", "some text")


def test_a_quote_that_never_closes_does_not_swallow_the_rows_after_it(tmp_path: Path) -> None:
    found = documents(tmp_path, "a.csv", 'title,text\nA,"unclosed\nB,fine\nC,fine too\n')
    assert [(one.title, one.text) for one in found] == [("A", '"unclosed'), ("B", "fine"), ("C", "fine too")]
    many = documents(tmp_path, "b.csv", "title,text\n" + 'A,x\nB,"y"\n' * 50 + 'C,"z\n')
    assert len(many) == 101


def test_unnamed_and_repeated_columns_get_names_of_their_own(tmp_path: Path) -> None:
    (one,) = documents(tmp_path, "a.csv", "text,,tag,tag,path\nx,a,b,c,d\n")
    assert one.metadata == {
        "column 2": "a", "tag": "b", "tag (4)": "c", "path_": "d", "path": "a.csv", "kind": "csv",
    }  # fmt: skip


def test_a_table_without_rows_is_skipped_with_a_reason(tmp_path: Path) -> None:
    assert reason(tmp_path, "a.csv", "title,text\n") == "holds a header and no rows"


def test_an_id_given_twice_skips_the_second_row_and_names_both(tmp_path: Path) -> None:
    items = load(tmp_path, "a.csv", "id,text\na,x\nb,y\na,z\n")
    assert items[2] == Skipped("a.csv#row 3", "row 3 has the id 'a' of row 1; an id can stand only once")


def test_a_row_inserted_before_others_does_not_rename_them(tmp_path: Path) -> None:
    before = documents(tmp_path, "a.csv", "title,text\nA,x\nB,same\nC,same\n")
    after = documents(tmp_path, "a.csv", "title,text\nNew,new\nA,x\nB,same\nC,same\n")
    assert [one.id for one in after[1:]] == [one.id for one in before]
    assert len({one.id for one in after}) == 4


@given(
    st.lists(
        st.tuples(*[st.text(st.characters(exclude_categories=("Cs", "Cc"), include_characters="\n"))] * 2), min_size=1
    ),
    st.sampled_from(",;\t|"),
)
def test_what_a_csv_writer_wrote_comes_back(rows: list[tuple[str, str]], delimiter: str) -> None:
    import csv
    import io

    target = io.StringIO(newline="")
    writer = csv.writer(target, delimiter=delimiter, quoting=csv.QUOTE_ALL)
    writer.writerows([("note", "text"), *rows])
    with tempfile.TemporaryDirectory() as folder:
        items = load(Path(folder), "a.csv", target.getvalue())
    read_back = [(item.metadata.get("note", ""), item.text) for item in items if isinstance(item, Document)]
    assert read_back == [row for row in rows if row[1].strip()]


# -- JSON -----------------------------------------------------------------------------------------


def test_each_object_and_string_of_a_list_is_a_document(tmp_path: Path) -> None:
    content = [{"id": 7, "Title": "A", "TEXT": "x", "n": 1, "none": None}, "a string", {"content": ["One.", "Two."]}]
    first, second, third = documents(tmp_path, "items.json", json.dumps(content))
    assert first == Document("x", "7", "A", "items.json#item 1", {"n": 1, "path": "items.json", "kind": "json"})
    assert (second.text, second.title, second.source) == ("a string", "", "items.json#item 2")
    assert third.text == "One.\nTwo."


@pytest.mark.parametrize(
    "content",
    [
        {"documents": [{"text": "x"}, {"text": "y"}]},
        {"Meta": {"n": 1}, "Data": ["x", "y"]},
        {"data": {"articles": [{"body": "x"}, {"body": "y"}]}},
        {"version": "1", "whatever": [{"text": "x"}, {"text": "y"}]},
        {"a": {"text": "x"}, "b": {"text": "y"}},
        {"A": ["x"], "B": ["y"]},
    ],
)
def test_the_list_of_items_is_found_inside_an_object(tmp_path: Path, content: object) -> None:
    assert [one.text for one in documents(tmp_path, "a.json", json.dumps(content))] == ["x", "y"]


def test_items_under_their_ids_keep_them_and_sentences_under_titles_too(tmp_path: Path) -> None:
    assert [one.id for one in documents(tmp_path, "a.json", '{"p": {"text": "x"}, "q": {"text": "y"}}')] == ["p", "q"]
    assert [one.title for one in documents(tmp_path, "a.json", '{"P": ["x"], "Q": ["y"]}')] == ["P", "Q"]


def test_a_single_object_is_the_document_of_its_file(tmp_path: Path) -> None:
    one = document(tmp_path, "my_note.json", '{"text": "x", "items": [{"text": "no"}]}')
    assert (one.text, one.title, one.source) == ("x", "my note", "my_note.json")
    assert one.id == stable_id("document", "my_note.json")
    named = document(tmp_path, "my_note.json", '{"_id": "n", "title": "T", "text": "x"}')
    assert (named.id, named.title) == ("n", "T")


def test_without_a_text_field_the_longest_string_or_else_all_fields_are_the_text(tmp_path: Path) -> None:
    long = "A string that is long enough."
    content = [{"a": "short", "summary": long}, {"a": "b", "n": [1, 2]}]
    first, second = documents(tmp_path, "a.json", json.dumps(content))
    assert first.text == long
    assert second.text == "a: b\nn: [1, 2]"


def test_items_that_are_no_text_are_skipped_and_the_rest_is_read(tmp_path: Path) -> None:
    items = load(tmp_path, "a.json", '[1, null, [], {}, {"text": " "}, "x"]')
    assert [isinstance(item, Skipped) for item in items] == [True] * 5 + [False]
    assert items[0] == Skipped("a.json#item 1", "holds the value 1, not an object or a string")
    assert items[4] == Skipped("a.json#item 5", "the field 'text' holds no text")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ('{"text": "x",\n "b" 1}', "not valid JSON: expecting ':' delimiter at line 2, column 6"),
        ("[" * 100_000, "nested too deeply"),
        ('{"a":' * 100_000, "nested too deeply"),
        ('{"text": "x", "a": ' + "[" * 200 + "]" * 200 + "}", "nested too deeply"),
        ("17", "holds the value 17, not documents"),
        ("null", "holds nothing (null), not documents"),
        ("[]", "holds no documents"),
        ("{}", "holds no text"),
    ],
)
def test_json_that_gives_nothing_is_skipped_with_a_reason(tmp_path: Path, content: str, said: str) -> None:
    assert reason(tmp_path, "a.json", content) == said


def test_a_number_of_thousands_of_digits_is_a_reason(tmp_path: Path) -> None:
    assert reason(tmp_path, "a.json", '{"text": "x", "n": ' + "9" * 5000 + "}").startswith("not usable JSON")


def test_values_that_have_no_json_form_or_no_encoding_become_ones_that_have(tmp_path: Path) -> None:
    content = r'[{"text": "a\ud83d\ude00b\ud800c \\ud800", "title": NaN, "k": {"\udc00": [Infinity, 1e999, 1.5]}}]'
    (one,) = documents(tmp_path, "a.json", content)
    assert one.text == "a😀b\ufffdc \\ud800"
    assert one.title == ""
    assert one.metadata["k"] == {"\ufffd": ["Infinity", "1e999", 1.5]}


def test_a_bad_line_is_skipped_with_its_number_and_the_rest_is_read(tmp_path: Path) -> None:
    content = '{"text": "x\u2028y", "id": "a"}\r\n\n{"text": \n"a string"\n[1]\n{"id": "a", "text": "z"}\n'
    items = load(tmp_path, "a.jsonl", content + "[" * 100_000)
    assert [item.source.split("#")[1] for item in items] == ["line 1", "line 3", "line 4", "line 5", "line 6", "line 7"]
    assert [item.text for item in items if isinstance(item, Document)] == ["x\u2028y", "a string"]
    reasons = [item.reason for item in items if isinstance(item, Skipped)]
    assert reasons[0].startswith("not valid JSON: ")
    assert reasons[1:] == [
        "holds a list, not an object or a string",
        "line 6 has the id 'a' of line 1; an id can stand only once",
        "nested too deeply",
    ]


@pytest.mark.parametrize("name", ["a.json", "a.jsonl", "a.ndjson"])
@pytest.mark.parametrize("content", ['{"text": "x"}\n{"text": "y"}\n', '[\n {"text": "x"},\n {"text": "y"}\n]'])
def test_json_and_json_lines_are_read_under_each_others_name(tmp_path: Path, name: str, content: str) -> None:
    assert [one.text for one in documents(tmp_path, name, content)] == ["x", "y"]


# -- the whole ------------------------------------------------------------------------------------


def test_the_loaders_load_no_heavy_library() -> None:
    heavy = ("spacy", "scipy", "onnxruntime", "openai", "charset_normalizer")
    code = f"import sys, knotwork.loaders; print([name for name in {heavy!r} if name in sys.modules])"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


def test_an_e_book_s_licence_is_in_the_text_but_not_in_the_body(tmp_path: Path) -> None:
    frame = "*** {} OF THE PROJECT GUTENBERG EBOOK MOBY ***\n"
    text = f"Header\n{frame.format('START')}Call me.\n{frame.format('END')}Licence\n"
    (tmp_path / "book.txt").write_text(text, encoding="utf-8", newline="")
    (document,) = read(find(tmp_path / "book.txt")[0])  # type: ignore[arg-type]
    assert document.text == text
    ((start, end),) = document.metadata["body"]
    assert text[start:end] == "\nCall me.\n"
