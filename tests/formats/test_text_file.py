from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.errors import FormatError
from taxoexpan.formats.text_file import Insertion, TextFile
from tests.support.strategies import STYLES, Style, quickly


def refusal(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(FormatError) as caught:
        TextFile.load(path)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing.csv", "there is no such file"),
        ("", "this is a directory"),
        ("file/food.csv", "cannot be read: Not a directory"),
    ],
)
def test_a_path_without_a_file_is_refused(tmp_path: Path, name: str, message: str) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FormatError, match=message) as caught:
        TextFile.load(tmp_path / name)
    assert (caught.value.path, caught.value.line) == (tmp_path / name, None)


@pytest.mark.parametrize("content", [b"", b" \t\r\n\n  ", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_an_empty_file_is_refused(tmp_path: Path, content: bytes) -> None:
    assert "the file is empty" in refusal(tmp_path / "food.csv", content)


@pytest.mark.parametrize(
    ("content", "place", "words"),
    [
        (
            "child,parent\n".encode("utf-16"),
            "",
            "iconv -f UTF-16 -t UTF-8 food.csv > food-utf8.csv",
        ),
        (b"\xff\xfe" + "a,b\n".encode("utf-16-le"), "", "the file is UTF-16"),
        ("child,parent\n".encode("utf-32"), "", "the file is UTF-32"),
        (b"\xd0\xcf\x11\xe0", "", "old Excel file"),
        (
            "a,b\nfig,fruit\nrosé,wine\n".encode("latin-1"),
            ", line 3",
            "UTF-8 food.csv > food-utf8.csv",
        ),
        (gzip.compress(b"a,b\nros\xe9,wine\n", mtime=0), ", line 2", "0xe9 is not UTF-8"),
        (b"child,parent\na\0,b\n", ", line 2", "NUL"),
        (b"\xfa\x12\n\0\x9c", ", line 2", "NUL"),
    ],
)
def test_bytes_that_are_not_utf_8_are_refused(
    tmp_path: Path, content: bytes, place: str, words: str
) -> None:
    message = refusal(tmp_path / "food.csv", content)
    assert message.startswith(f"{tmp_path / 'food.csv'}{place}: ")
    assert words in message


@pytest.mark.parametrize("style", STYLES)
def test_lines_have_no_byte_order_mark_and_no_line_ends(tmp_path: Path, style: Style) -> None:
    path = tmp_path / "food.txt"
    path.write_bytes(style.encode(["a", "", "b"]))
    assert TextFile.load(path).lines == ["a", "", "b"]


def test_rare_separators_do_not_end_a_line() -> None:
    assert TextFile(Path("x"), "a\u2028b\x0bc\x85d\ne").lines == ["a\u2028b\x0bc\x85d", "e"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a\n", "b\nc\n"),
        ("a", "\nb\nc\n"),
        ("a\r\nx\r\n", "b\r\nc\r\n"),
        ("a\r\nx", "\r\nb\r\nc\r\n"),
    ],
)
def test_added_lines_use_the_line_end_of_the_file(text: str, expected: str) -> None:
    source = TextFile(Path("x"), text)
    assert source.apply(source.append(["b", "c"])).decode() == text + expected


def test_adding_no_line_adds_no_byte() -> None:
    assert TextFile(Path("x"), "a").append([]) == []


@given(
    st.lists(st.text("ab é水", min_size=1), min_size=1),
    st.lists(st.text("ab é水", min_size=1)),
    st.sampled_from(STYLES),
)
@quickly
def test_appended_lines_are_read_back(old: list[str], new: list[str], style: Style) -> None:
    source = TextFile(Path("x"), style.encode(old).decode("utf-8-sig"))
    text = source.apply(source.append(new)).decode()
    assert TextFile(Path("x"), text).lines == old + new


@given(st.text(max_size=9), st.lists(st.tuples(st.integers(0, 9), st.text(max_size=3))))
@quickly
def test_insertions_remove_nothing(text: str, pieces: list[tuple[int, str]]) -> None:
    places = [(min(offset, len(text)), piece) for offset, piece in pieces]
    grown = TextFile(Path("x"), text).apply([Insertion(*place) for place in places]).decode()
    slowly = "".join(
        "".join(piece for offset, piece in places if offset == k) + text[k : k + 1]
        for k in range(len(text) + 1)
    )
    assert grown == slowly
