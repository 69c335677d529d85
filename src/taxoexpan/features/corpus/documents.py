"""A corpus: its documents read one by one, their words, and the names that they mention."""

from __future__ import annotations

import csv
import gzip
import json
import re
import zlib
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import BinaryIO

from taxoexpan.errors import FormatError

SUFFIXES = (".txt", ".tsv", ".csv", ".jsonl")
"""What a corpus may be; each may also be compressed, and end in .gz."""

_ENDINGS = f"{', '.join(SUFFIXES)}, or one of these and .gz"

FIELDS = ("text", "title", "abstract", "body")
"""The fields of a JSON record that are its text; where it has none of them, all its strings are."""

LONGEST_LINE = 1 << 26
"""Bytes in a line; a file without line ends must not be read whole."""
_ID = re.compile(r"\s*\S*\d\S*\s*")
_LETTER = re.compile(r"[^\W\d_]")


def read_documents(path: Path) -> Iterator[str]:
    """The documents of a file, or of all corpus files in a directory by their names.

    A line of `.txt` is a document. So is a row of `.tsv`, where quotes mean nothing, and of `.csv`:
    its columns that hold a letter, joined by ". ", without the first where that looks like an id
    (no space, and a digit). So is a line of `.jsonl`, see `FIELDS`. There is no header: one that is
    there makes one document more.
    """
    texts = chain.from_iterable(map(_texts_of_file, files_of(path)))
    stripped = (text for text in map(str.strip, texts) if text)
    first = next(stripped, None)
    if first is None:
        raise FormatError(path, "the corpus is empty; it needs at least one document")
    yield first
    yield from stripped


def files_of(path: Path) -> list[Path]:
    """The path itself, or the corpus files that lie in it."""
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if _kind(file) in SUFFIXES and file.is_file())
    if not files:
        raise FormatError(path, f"no corpus here; it needs files in {_ENDINGS}")
    return files


def _kind(path: Path) -> str:
    """How the name ends, whether compressed or not."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _texts_of_file(path: Path) -> Iterator[str]:
    readers = {".txt": _plain, ".tsv": _tab_separated, ".csv": _comma_separated, ".jsonl": _records}
    if _kind(path) not in readers:
        raise FormatError(path, f"cannot be read as a corpus; it must end in {_ENDINGS}")
    return readers[_kind(path)](path)


def _lines(path: Path) -> Iterator[str]:
    """The lines of a UTF-8 file, each with its end."""
    number = 0
    try:
        with _opened(path) as file:
            while line := file.readline(LONGEST_LINE):
                number += 1
                if len(line) == LONGEST_LINE:
                    message = f"a line of more than {LONGEST_LINE >> 20} MB"
                    raise FormatError(path, f"{message}; put every document on its own", number)
                yield line.decode("utf-8-sig" if number == 1 else "utf-8")
    except UnicodeDecodeError as error:
        byte = error.object[error.start]
        message = f"byte 0x{byte:02x} is not UTF-8; save the file as UTF-8"
        raise FormatError(path, message, number) from None
    except FileNotFoundError:
        raise FormatError(path, "there is no such file; check the path") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        message = f"is damaged or not gzip ({error}); get it again"
        raise FormatError(path, message, number or None) from None
    except OSError as error:
        raise FormatError(path, f"cannot be read: {error.strerror}") from None


def _opened(path: Path) -> BinaryIO | gzip.GzipFile:
    return gzip.open(path) if path.suffix.lower() == ".gz" else path.open("rb")


def _plain(path: Path) -> Iterator[str]:
    return _lines(path)


def _tab_separated(path: Path) -> Iterator[str]:
    return (_text_of_row(line.split("\t")) for line in _lines(path))


def _comma_separated(path: Path) -> Iterator[str]:
    rows = csv.reader(_lines(path), strict=True)
    try:
        yield from map(_text_of_row, rows)
    except csv.Error as error:
        message = f"{error}; check the quotes, and write long documents as .jsonl"
        raise FormatError(path, message, rows.line_num) from None


def _text_of_row(cells: Sequence[str]) -> str:
    """The columns that hold words; the first is none where it looks like an id."""
    if len(cells) > 1 and _ID.fullmatch(cells[0]):
        cells = cells[1:]
    return ". ".join(cell.strip() for cell in cells if _LETTER.search(cell))


def _records(path: Path) -> Iterator[str]:
    for number, line in enumerate(_lines(path), 1):
        if not line.isspace():
            yield _text_of_record(path, line, number)


def _text_of_record(path: Path, line: str, number: int) -> str:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise FormatError(path, f"not JSON ({error}); write one record a line", number) from None
    if not isinstance(record, dict):
        raise FormatError(path, "not a JSON object; write one a line", number)
    strings = {key: value for key, value in record.items() if isinstance(value, str)}
    known = [strings[key] for key in strings if key in FIELDS]
    return ". ".join(value.strip() for value in known or strings.values() if value.strip())
