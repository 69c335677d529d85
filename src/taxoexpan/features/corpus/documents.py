"""Readers of large UTF-8 files and of the documents of a text corpus."""

from __future__ import annotations

import bz2
import csv
import gzip
import json
import re
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from io import BufferedReader
from pathlib import Path
from typing import Any, BinaryIO

from taxoexpan.errors import FormatError
from taxoexpan.files.inputs import open_input

MAX_LINE_BYTES = 1 << 26
"""The longest line; the limit keeps a file without line ends from filling the memory."""

_LINES_PER_REPORT = 4096

_COMPRESSIONS: dict[str, tuple[bytes, Callable[[BinaryIO], Any]]] = {
    ".gz": (b"\x1f\x8b", gzip.open),
    ".bz2": (b"BZh", bz2.open),
}


@contextmanager
def open_unpacked(path: Path) -> Iterator[tuple[BufferedReader, BufferedReader]]:
    """Open a file; yield its content, unpacked from gzip or bzip2, and the packed file."""
    try:
        with open_input(path) as packed:
            start = packed.peek(3)  # a pipe cannot be rewound
            for suffix, (magic, unpack) in _COMPRESSIONS.items():
                if start.startswith(magic) or path.suffix.lower() == suffix:
                    yield BufferedReader(unpack(packed)), packed
                    return
            yield packed, packed
    except FileNotFoundError:
        raise FormatError(path, "there is no such file", fix="check the path") from None
    except (EOFError, zlib.error, OSError) as error:
        if isinstance(error, OSError) and error.strerror:
            raise FormatError(path, f"cannot be read: {error.strerror}") from None
        raise FormatError(path, f"cannot be unpacked ({error})", fix="get it again") from None


def read_lines(path: Path, report: Callable[[int], None] = lambda _: None) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, which may be packed; report the number of bytes read."""
    number = 0
    try:
        with open_unpacked(path) as (file, packed):
            while line := file.readline(MAX_LINE_BYTES):
                number += 1
                if len(line) == MAX_LINE_BYTES:
                    message = f"the line is longer than {MAX_LINE_BYTES >> 20} MB"
                    raise FormatError(path, message, fix="split it into several lines", line=number)
                if number % _LINES_PER_REPORT == 0 and packed.seekable():
                    report(packed.tell())
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        message = f"byte 0x{byte:02x} is not UTF-8"
        raise FormatError(path, message, fix="save the file as UTF-8", line=number) from None


SUFFIXES = (".txt", ".tsv", ".csv", ".jsonl")
"""The supported file types; each may also be compressed and end in .gz."""

Report = Callable[[int], None]

_SUFFIX_LIST = f"{', '.join(SUFFIXES)}, or one of these with .gz"

TEXT_FIELDS = ("text", "title", "abstract", "body")
"""The JSON fields that make up a document; a record without any of them uses all its strings."""

_ID = re.compile(r"\s*\S*\d\S*\s*")
_LETTER = re.compile(r"[^\W\d_]")


def read_documents(path: Path, report: Report = lambda _: None) -> Iterator[str]:
    """Yield the documents of a file, or of all corpus files in a directory, sorted by name.

    Each line or row is a document, even a header. Rows join their columns that contain a letter by
    ". ", without a first column that looks like an id. For `.jsonl` see `TEXT_FIELDS`.
    """
    documents = _read_files(corpus_files(path), report)
    stripped = (document for document in map(str.strip, documents) if document)
    first = next(stripped, None)
    if first is None:
        raise FormatError(path, "the corpus is empty", fix="it needs at least one document")
    yield first
    yield from stripped


def corpus_files(path: Path) -> list[Path]:
    """Return the path itself, or the corpus files in this directory."""
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if _suffix(file) in SUFFIXES and file.is_file())
    if not files:
        raise FormatError(
            path, "contains no corpus files", fix=f"add files that end in {_SUFFIX_LIST}"
        )
    return files


def corpus_bytes(path: Path) -> int:
    """Return the size of all files of a corpus, or 0 if it is unknown."""
    return sum(file.stat().st_size for file in corpus_files(path) if file.is_file())


def _read_files(files: Sequence[Path], report: Report) -> Iterator[str]:
    """Yield the documents of all files, and report the bytes of all of them."""
    before = 0

    def add(position: int) -> None:
        report(before + position)

    for file in files:
        yield from _read_file(file, add)
        before += file.stat().st_size
        report(before)


def _suffix(path: Path) -> str:
    """Return the file's suffix in lower case, without .gz."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _read_file(path: Path, report: Report) -> Iterator[str]:
    readers = {".txt": read_lines, ".tsv": _read_tsv, ".csv": _read_csv, ".jsonl": _read_jsonl}
    if _suffix(path) not in readers:
        raise FormatError(path, "is not a corpus file", fix=f"its name must end in {_SUFFIX_LIST}")
    return readers[_suffix(path)](path, report)


def _read_tsv(path: Path, report: Report) -> Iterator[str]:
    return (_join_columns(line.split("\t")) for line in read_lines(path, report))


def _read_csv(path: Path, report: Report) -> Iterator[str]:
    rows = csv.reader(read_lines(path, report), strict=True)
    try:
        yield from map(_join_columns, rows)
    except csv.Error as error:
        message = str(error)
        raise FormatError(
            path,
            message,
            fix="check the quotes, and write long documents as .jsonl",
            line=rows.line_num,
        ) from None


def _join_columns(cells: Sequence[str]) -> str:
    if len(cells) > 1 and _ID.fullmatch(cells[0]):
        cells = cells[1:]
    return ". ".join(cell.strip() for cell in cells if _LETTER.search(cell))


def _read_jsonl(path: Path, report: Report) -> Iterator[str]:
    for number, line in enumerate(read_lines(path, report), 1):
        if line.isspace():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            message = f"the line is not JSON ({error})"
            raise FormatError(path, message, fix="write one record per line", line=number) from None
        if not isinstance(record, dict):
            message = "the line is not a JSON object"
            raise FormatError(path, message, fix="write one object per line", line=number)
        strings = {key: value for key, value in record.items() if isinstance(value, str)}
        fields = [strings[key] for key in strings if key in TEXT_FIELDS] or strings.values()
        yield ". ".join(value.strip() for value in fields if value.strip())
