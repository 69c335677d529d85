"""Helpers that write, read and expand files in the tests of all formats."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import pytest

from taxoexpan.errors import FormatError
from taxoexpan.formats.taxonomy_file import TaxonomyFile, WrittenFiles
from taxoexpan.formats.text_file import DEFAULT_OPTIONS, ReadOptions
from taxoexpan.taxonomy import Additions, Concept

QUOTING: tuple[Literal[0, 1], ...] = (csv.QUOTE_MINIMAL, csv.QUOTE_ALL)
KIWI = Concept("kiwi", "kiwi")


def write_file(path: Path, text: str) -> Path:
    """Write a text to a file, and return its path."""
    path.write_bytes(text.encode("utf-8"))
    return path


def csv_lines(
    rows: Iterable[Sequence[str]], delimiter: str = ",", quoting: Literal[0, 1] = 0
) -> list[str]:
    """Format each row as a line; cells may contain line breaks."""
    lines = []
    for row in rows:
        line = io.StringIO()
        csv.writer(line, delimiter=delimiter, quoting=quoting, lineterminator="\r\n").writerow(row)
        lines.append(line.getvalue().removesuffix("\r\n"))
    return lines


def under(*parents: str, concept: Concept = KIWI) -> Additions:
    """Return additions of one new concept under these parents."""
    return Additions([concept], [(parent, concept.id) for parent in parents])


def write_expanded(
    path: Path,
    additions: Additions,
    output: Path,
    format: str | None = None,
    force: bool = False,
    options: ReadOptions = DEFAULT_OPTIONS,
) -> WrittenFiles:
    """Open a file, and write it with the additions."""
    return TaxonomyFile.open(path, format, options).write(additions, output, force)


def refusal(path: Path, format: str | None = None) -> str:
    """Return the error message of reading a file."""
    with pytest.raises(FormatError) as caught:
        TaxonomyFile.open(path, format)
    return str(caught.value)


def expansion_refusal(path: Path, additions: Additions) -> str:
    """Return the error message of expanding a file; no file may be left."""
    before = sorted(path.parent.iterdir())
    with pytest.raises(FormatError) as caught:
        write_expanded(path, additions, path.with_stem("expanded"))
    assert sorted(path.parent.iterdir()) == before
    return str(caught.value)


def expand_file(path: Path, additions: Additions, format: str | None = None) -> Path:
    """Return the path of the expanded file, after checking that it starts with all old bytes."""
    output = path.with_stem("expanded")
    write_expanded(path, additions, output, format, force=True)
    assert output.read_bytes().startswith(path.read_bytes())
    return output


def added_text(path: Path, additions: Additions) -> str:
    """Return the text after the last byte of the old file."""
    return expand_file(path, additions).read_bytes()[len(path.read_bytes()) :].decode("utf-8")
