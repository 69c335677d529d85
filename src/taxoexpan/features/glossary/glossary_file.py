"""Reads the entries of a glossary file one by one, whatever its size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import chain
from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.features.corpus.text_lines import read_lines
from taxoexpan.features.glossary.glossary_formats import (
    PARSERS,
    TEXT_FIELDS,
    TITLE_FIELDS,
    BrokenLines,
    GlossaryEntry,
    GlossaryParser,
)
from taxoexpan.phrasing import visible
from taxoexpan.progress import Progress

SAMPLE_LINES = 1000
"""The number of lines that decide the format."""

SAMPLE_CHARACTERS = 1 << 24
"""The most text that decides the format, because a line may hold a whole article."""

MIN_BYTES_FOR_PROGRESS = 1 << 25
"""The size of a file at or above which progress is shown."""

_FORMATS = (
    "a glossary is TSV (a title, a tab, a text), JSON lines (one object per line with "
    f"{', '.join(TITLE_FIELDS[:-1])} or {TITLE_FIELDS[-1]} and {', '.join(TEXT_FIELDS[:-1])} or "
    f"{TEXT_FIELDS[-1]}, as wikiextractor --json writes them) or Wikipedia's dump of abstracts "
    "(…-abstract.xml); each may be compressed with gzip or bzip2"
)


def read_entries(
    path: Path, broken: BrokenLines, progress: bool = False
) -> Iterator[GlossaryEntry]:
    """Yield all entries of a glossary file, and count the lines that could not be read.

    The first lines decide the format, not the name of the file.
    """
    size = path.stat().st_size if path.is_file() else 0
    shown = progress and size >= MIN_BYTES_FOR_PROGRESS
    with Progress(f"reading {visible(path.name)}", size, "bytes", shown=shown) as bar:
        lines = read_lines(path, bar.move_to)
        sample = list(_sample(lines))
        parse = _detect(path, sample)
        yield from parse(chain(sample, lines), broken)


def _sample(lines: Iterator[str]) -> Iterator[str]:
    """Take the first lines, up to a number of lines and of characters."""
    characters = 0
    for number, line in enumerate(lines, start=1):
        yield line
        characters += len(line)
        if number >= SAMPLE_LINES or characters >= SAMPLE_CHARACTERS:
            return


def _detect(path: Path, sample: Iterable[str]) -> GlossaryParser:
    """Return the parser that finds the most entries in the sample."""
    if not any(line.strip() for line in sample):
        raise FormatError(path, "the glossary is empty; it needs at least one title with a text")
    counts = [sum(1 for _ in parse(sample, BrokenLines())) for parse in PARSERS]
    if not any(counts):
        raise FormatError(path, f"the first lines contain no entry of a glossary; {_FORMATS}")
    return PARSERS[counts.index(max(counts))]
