"""Reads the documents of a text corpus one by one."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.features.corpus.text_lines import read_lines

SUFFIXES = (".txt", ".tsv", ".csv", ".jsonl")
"""The supported file types; each may also be compressed and end in .gz."""

_SUFFIX_LIST = f"{', '.join(SUFFIXES)}, or one of these with .gz"

TEXT_FIELDS = ("text", "title", "abstract", "body")
"""The JSON fields that make up a document; a record without any of them uses all its strings."""

_ID = re.compile(r"\s*\S*\d\S*\s*")
_LETTER = re.compile(r"[^\W\d_]")


def read_documents(path: Path) -> Iterator[str]:
    """Yield the documents of a file, or of all corpus files in a directory, sorted by name.

    Each line of `.txt` is a document, and so is each row of `.csv` and `.tsv` (in `.tsv`, quotes
    have no meaning). A row's document joins its columns that contain a letter by ". ". The first
    column is left out if it looks like an id: a digit and no space. Each line of `.jsonl` is a
    document, too (see `TEXT_FIELDS`). A header row is not recognized; it is read as a document.
    """
    documents = chain.from_iterable(map(_read_file, corpus_files(path)))
    stripped = (document for document in map(str.strip, documents) if document)
    first = next(stripped, None)
    if first is None:
        raise FormatError(path, "the corpus is empty; it needs at least one document")
    yield first
    yield from stripped


def corpus_files(path: Path) -> list[Path]:
    """The path itself, or the corpus files in that directory."""
    if not path.is_dir():
        return [path]
    files = sorted(file for file in path.iterdir() if _suffix(file) in SUFFIXES and file.is_file())
    if not files:
        raise FormatError(path, f"contains no corpus files; add files that end in {_SUFFIX_LIST}")
    return files


def _suffix(path: Path) -> str:
    """The file's suffix in lower case, without .gz."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def _read_file(path: Path) -> Iterator[str]:
    readers = {".txt": read_lines, ".tsv": _read_tsv, ".csv": _read_csv, ".jsonl": _read_jsonl}
    if _suffix(path) not in readers:
        raise FormatError(path, f"is not a corpus file; its name must end in {_SUFFIX_LIST}")
    return readers[_suffix(path)](path)


def _read_tsv(path: Path) -> Iterator[str]:
    return (_join_columns(line.split("\t")) for line in read_lines(path))


def _read_csv(path: Path) -> Iterator[str]:
    rows = csv.reader(read_lines(path), strict=True)
    try:
        yield from map(_join_columns, rows)
    except csv.Error as error:
        message = f"{error}; check the quotes, and write long documents as .jsonl"
        raise FormatError(path, message, rows.line_num) from None


def _join_columns(cells: Sequence[str]) -> str:
    if len(cells) > 1 and _ID.fullmatch(cells[0]):
        cells = cells[1:]
    return ". ".join(cell.strip() for cell in cells if _LETTER.search(cell))


def _read_jsonl(path: Path) -> Iterator[str]:
    for number, line in enumerate(read_lines(path), 1):
        if line.isspace():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            message = f"the line is not JSON ({error}); write one record per line"
            raise FormatError(path, message, number) from None
        if not isinstance(record, dict):
            message = "the line is not a JSON object; write one object per line"
            raise FormatError(path, message, number)
        strings = {key: value for key, value in record.items() if isinstance(value, str)}
        fields = [strings[key] for key in strings if key in TEXT_FIELDS] or strings.values()
        yield ". ".join(value.strip() for value in fields if value.strip())
