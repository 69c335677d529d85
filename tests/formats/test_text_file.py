from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import STYLES, Style, quickly

from taxoexpan.errors import FormatError
from taxoexpan.formats.text_file import Insertion, TextFile


def refusal(path: Path, content: bytes) -> str:
    path.write_bytes(content)
    with pytest.raises(FormatError) as caught:
        TextFile.load(path)
    return str(caught.value)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "missing.csv"
    with pytest.raises(FormatError) as caught:
        TextFile.load(path)
    assert str(caught.value) == f"{path}: there is no such file; check the path"
    assert (caught.value.path, caught.value.line) == (path, None)


def test_a_directory_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError) as caught:
        TextFile.load(tmp_path)
    assert str(caught.value) == f"{tmp_path}: this is a directory; give a file inside it"


def test_a_file_used_as_a_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(FormatError, match="cannot be read: Not a directory"):
        TextFile.load(tmp_path / "file" / "food.csv")


@pytest.mark.parametrize("content", [b"", b" \t\r\n\n  ", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_an_empty_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "food.csv"
    assert refusal(path, content) == (f"{path}: the file is empty; it needs at least one concept")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_other_unicode_encodings_are_refused_by_name(tmp_path: Path, encoding: str) -> None:
    path = tmp_path / "food.csv"
    mark = b"\xff\xfe" if encoding == "utf-16-le" else b""
    message = refusal(path, mark + "child,parent\n".encode(encoding))
    name = encoding[:6].upper()
    command = f"iconv -f {name} -t UTF-8 food.csv > new.csv"
    assert message == f"{path}: the file is {name}; save it as UTF-8 (for example: {command})"


def test_a_latin_1_byte_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "food.csv"
    assert refusal(path, "child,parent\nfig,fruit\nrosé,wine\n".encode("latin-1")) == (
        f"{path}, line 3: byte 0xe9 is not UTF-8; save the file as UTF-8 "
        "(if it is from Windows: iconv -f WINDOWS-1252 -t UTF-8 food.csv > new.csv)"
    )


def test_a_nul_byte_is_refused_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "food.csv"
    assert refusal(path, b"child,parent\na\0,b\n") == (
        f"{path}, line 2: contains a NUL character, so it is not a text file; save it as UTF-8 text"
    )


@pytest.mark.parametrize("content", [b"\xfa\x12\n\0\x9c", b"\xfa\x12\x9c", b"a\0b"])
@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "food.xlsx",
            "its name ends in .xlsx, but it is not an Excel workbook; "
            "save it again as .xlsx or as CSV, or get it again",
        ),
        (
            "food.csv.gz",
            "its name ends in .gz, but it is not compressed with gzip; "
            "compress it again, or get it again",
        ),
    ],
)
def test_other_bytes_are_no_workbook_and_not_compressed(
    tmp_path: Path, name: str, message: str, content: bytes
) -> None:
    assert refusal(tmp_path / name, content) == f"{tmp_path / name}: {message}"


def test_a_compressed_latin_1_text_is_no_damaged_file(tmp_path: Path) -> None:
    path = tmp_path / "food.csv.gz"
    assert refusal(path, gzip.compress("child,parent\nrosé,wine\n".encode("latin-1"))) == (
        f"{path}, line 2: byte 0xe9 is not UTF-8; save the file as UTF-8 "
        "(if it is from Windows: zcat food.csv.gz | iconv -f WINDOWS-1252 -t UTF-8 > new.csv)"
    )


def test_bytes_that_are_no_text_in_any_encoding_are_not_for_iconv(tmp_path: Path) -> None:
    path = tmp_path / "food.csv"
    assert refusal(path, b"\xfa\x12\n\0\x9c") == (
        f"{path}, line 2: contains a NUL character, so it is not a text file; save it as UTF-8 text"
    )


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
