from __future__ import annotations

import bz2
import gzip
import json
from pathlib import Path

import pytest

from taxoexpan.errors import FormatError
from taxoexpan.features.glossary.glossary_file import SAMPLE_LINES, BrokenLines, read_entries

TEA = ("tea", "Tea is a drink.")
MILK = ("oat milk", "Oat milk is <no> milk & a drink.")


def json_lines(title: str, text: str) -> str:
    return "".join(json.dumps({title: a, "id": "7", text: b}) + "\n" for a, b in (TEA, MILK))


FILES = {
    "two columns": "".join(f"{title}\t{text}\n" for title, text in (TEA, MILK)),
    "Windows line ends": "".join(f"{title}\t{text}\r\n\r\n" for title, text in (TEA, MILK)),
    "a header": "id\tDefinition\tTerm\n" + "".join(f"1\t{b}\t{a}\n" for a, b in (TEA, MILK)),
    "wikiextractor": json_lines("title", "text"),
    "other fields": json_lines("label", "summary"),
}


def read(path: Path) -> tuple[list[tuple[str, str]], BrokenLines]:
    broken = BrokenLines()
    return [(e.title, " ".join(e.text.split())) for e in read_entries(path, broken)], broken


@pytest.mark.parametrize("content", FILES.values(), ids=FILES)
@pytest.mark.parametrize("compress", [bytes, gzip.compress, bz2.compress])
def test_the_content_decides_the_format_and_the_compression(
    tmp_path: Path, content: str, compress: type[bytes]
) -> None:
    path = tmp_path / "glossary"
    path.write_bytes(compress(content.encode()))
    assert read(path) == ([TEA, MILK], BrokenLines())


def test_the_name_does_not_decide_the_format(tmp_path: Path) -> None:
    path = tmp_path / "glossary.tsv"
    path.write_text(FILES["wikiextractor"], encoding="utf-8")
    assert read(path)[0] == [TEA, MILK]


@pytest.mark.parametrize(
    ("content", "count", "first"),
    [
        ("tea\tTea is a drink.\nno tab\n\nmilk\tWhite.\n\tno title\n", 2, 2),
        ('\n{"title": "tea", "text": "x"}\n{"title"\n3\n{"title": "milk", "text": ""}\n', 2, 3),
        ('{"title": "tea", "text": "x"}\n{"text": "x"}\n{"name": "milk", "abstract": "y"}\n', 1, 2),
        ('{"title": "tea", "text": "x"}\n{"title": 3, "text": "x"}\n' + "[" * 99_999, 2, 2),
    ],
)
def test_broken_lines_are_skipped_and_counted(
    tmp_path: Path, content: str, count: int, first: int
) -> None:
    path = tmp_path / "glossary"
    path.write_text(content, encoding="utf-8")
    entries, broken = read(path)
    assert {title for title, _ in entries} <= {"tea", "milk"}
    assert "tea" in {title for title, _ in entries}
    assert (broken.count, broken.first) == (count, first)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "glossary: the glossary is empty; it needs at least one title with a text"),
        (b"\n  \n\n", "the glossary is empty"),
        (b"tea\n" * 3000, "contain no entry of a glossary; a glossary is TSV .* JSON lines"),
        (b'[{"title": "tea", "text": "x"}]', "contain no entry of a glossary"),
        (b"a,b\nc,d\n", "wikiextractor --json .* gzip or bzip2"),
        (b"tea\tx\nm\xfcsli\tx\n", "glossary, line 2: byte 0xfc is not UTF-8; save the file as"),
        (gzip.compress(b"tea\tx\n" * 99, mtime=0)[:-9], "cannot be unpacked"),
        (bz2.compress(b"tea\tx\n" * 99)[:-9], "cannot be unpacked"),
        (b"BZh9 is a title\tof a text", "cannot be unpacked"),
    ],
)
def test_a_file_that_is_no_glossary_is_refused(
    tmp_path: Path, content: bytes, message: str
) -> None:
    path = tmp_path / "glossary"
    path.write_bytes(content)
    with pytest.raises(FormatError, match=message):
        read(path)


def test_a_path_that_is_no_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="there is no such file; check the path"):
        read(tmp_path / "missing")
    with pytest.raises(FormatError, match="cannot be read"):
        read(tmp_path)


def test_latin_1_after_the_sample_is_reported_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "glossary"
    path.write_bytes(b"tea\tx\n" * (SAMPLE_LINES + 5) + b"caf\xe9\tx\n")
    with pytest.raises(FormatError, match=f"line {SAMPLE_LINES + 6}: byte 0xe9 is not UTF-8"):
        read(path)
