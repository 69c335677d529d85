from __future__ import annotations

import gzip
from itertools import islice
from pathlib import Path

import pytest

from taxoexpan.errors import FormatError
from taxoexpan.features.corpus import documents
from taxoexpan.features.corpus.documents import read_documents

FILES = {
    "a.txt": ("Green tea.\n\n  Oat milk.  \r\n", ["Green tea.", "Oat milk."]),
    "a.tsv": (
        '2020.acl.1\tGreen "tea\tA leaf, dried.\t2020\nBERT\tA model.\n',
        ['Green "tea. A leaf, dried.', "BERT. A model."],
    ),
    "a.csv": (
        '17,"Green tea","A leaf,\ndried"\nOat milk,Not milk\n',
        ["Green tea. A leaf,\ndried", "Oat milk. Not milk"],
    ),
    "a.jsonl": (
        '{"id": "x1", "title": "Green tea", "year": 2020, "abstract": "A leaf"}\n\n'
        '{"name": "Oat milk", "gloss": "not milk", "n": 3, "empty": " "}\n',
        ["Green tea. A leaf", "Oat milk. not milk"],
    ),
}


def write(path: Path, content: str) -> Path:
    data = content.encode("utf-8")
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_documents_of_every_file_type(tmp_path: Path, name: str, suffix: str) -> None:
    content, expected = FILES[name]
    assert list(read_documents(write(tmp_path / f"{name}{suffix}", content))) == expected


def test_a_directory_is_read_in_the_order_of_its_file_names(tmp_path: Path) -> None:
    write(tmp_path / "2.txt.gz", "second\n")
    write(tmp_path / "1.jsonl", '{"text": "first"}')
    write(tmp_path / "3.txt", "")
    write(tmp_path / "README.md", "not a corpus file")
    assert list(read_documents(tmp_path)) == ["first", "second"]


def test_a_byte_order_mark_is_not_part_of_the_text(tmp_path: Path) -> None:
    assert list(read_documents(write(tmp_path / "a.txt", "\ufefftea"))) == ["tea"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.txt", b"tea\nm\xfcsli\n", "a.txt, line 2: byte 0xfc is not UTF-8; save the file as"),
        ("a.txt", b" \n\n", "a.txt: the corpus is empty; it needs at least one document"),
        ("a.pdf", b"tea", r"a.pdf: is not a corpus file; its name must end in .txt, .tsv, .csv"),
        ("a.txt.gz", b"tea", "a.txt.gz: cannot be unpacked"),
        ("a.txt.gz", gzip.compress(b"tea\n" * 99, mtime=0)[:-9], "cannot be unpacked"),
        ("a.jsonl", b'{"text": "tea"}\n{"text"\n', "a.jsonl, line 2: the line is not JSON"),
        ("a.jsonl", b"[" * 100_000, "a.jsonl, line 1: the line is not JSON"),
        ("a.jsonl", b"3\n", "a.jsonl, line 1: the line is not a JSON object; write one object per"),
        ("a.csv", b'tea\n"milk\n', "a.csv, line 2: .*; check the quotes"),
    ],
)
def test_a_bad_file_is_reported_with_its_line(
    tmp_path: Path, name: str, content: bytes, message: str
) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(FormatError, match=message):
        list(read_documents(tmp_path / name))


def test_a_path_without_a_corpus_is_reported(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match=r"contains no corpus files; add files that end in \.txt"):
        list(read_documents(tmp_path))
    with pytest.raises(FormatError, match="there is no such file; check the path"):
        list(read_documents(tmp_path / "a.txt"))


def test_a_file_without_line_ends_is_not_read_into_memory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(documents, "MAX_LINE_BYTES", 1 << 20)
    path = write(tmp_path / "a.txt", "tea\n" + "x" * (1 << 21))
    with pytest.raises(FormatError, match="line 2: the line is longer than 1 MB"):
        list(read_documents(path))


def test_documents_are_read_lazily(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_bytes(b"tea\nmilk\n" + b"\xff\n")
    assert list(islice(read_documents(path), 2)) == ["tea", "milk"]
