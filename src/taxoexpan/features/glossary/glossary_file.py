"""Readers of glossary entries: TSV or JSON lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.features.corpus.documents import read_lines
from taxoexpan.phrasing import visible
from taxoexpan.progress import Progress

TITLE_FIELDS = ("title", "name", "label", "term")
"""The JSON fields and column names of a title, the preferred one first."""

TEXT_FIELDS = ("text", "definition", "extract", "abstract", "summary")
"""The JSON fields and column names of a text, the preferred one first."""
SAMPLE_LINES = 1000
"""The number of lines that decide the format."""
SAMPLE_CHARACTERS = 1 << 24
"""The most text that decides the format, because a line may hold a whole article."""
MIN_BYTES_FOR_PROGRESS = 1 << 25
"""The size of a file at or above which progress is shown."""


@dataclass(frozen=True, slots=True)
class GlossaryEntry:
    """A title, and the text that begins with its definition."""

    title: str
    text: str


@dataclass
class BrokenLines:
    """The number of unreadable lines, and the number of the first such line."""

    count: int = 0
    first: int = 0

    def add(self, number: int) -> None:
        """Count a line."""
        self.first = self.first or number
        self.count += 1


GlossaryParser = Callable[[Iterable[str], BrokenLines], Iterator[GlossaryEntry]]


def parse_tsv(lines: Iterable[str], broken: BrokenLines) -> Iterator[GlossaryEntry]:
    """Yield the rows of a table: a title, a tab and a text, or the columns of a header."""
    columns = None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        cells = line.rstrip("\r\n").split("\t")
        if columns is None:
            header = _header(cells)
            columns = header or (0, 1)
            if header:
                continue
        title, text = columns
        if len(cells) <= max(columns) or not cells[title].strip():
            broken.add(number)
        else:
            yield GlossaryEntry(cells[title].strip(), cells[text].strip())


def _header(cells: Sequence[str]) -> tuple[int, int] | None:
    """Return the columns of title and text, if the cells are a header."""
    names = [cell.strip().lower() for cell in cells]
    titles, texts = ([n for n in fields if n in names] for fields in (TITLE_FIELDS, TEXT_FIELDS))
    return (names.index(titles[0]), names.index(texts[0])) if titles and texts else None


def parse_jsonl(lines: Iterable[str], broken: BrokenLines) -> Iterator[GlossaryEntry]:
    """Yield the objects of a file with one JSON object per line."""
    for number, line in enumerate(lines, start=1):
        if line.isspace():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        strings: dict[str, str] = {}
        if isinstance(record, dict):
            strings = {k: v.strip() for k, v in record.items() if isinstance(v, str)}
        title = next((strings[name] for name in TITLE_FIELDS if strings.get(name)), "")
        text = next((strings[name] for name in TEXT_FIELDS if name in strings), None)
        if title and text is not None:
            yield GlossaryEntry(title, text)
        else:
            broken.add(number)


PARSERS: tuple[GlossaryParser, ...] = (parse_jsonl, parse_tsv)
"""All formats."""


_FORMATS = (
    "a glossary is TSV (a title, a tab, a text) or JSON lines (one object per line with "
    f"{', '.join(TITLE_FIELDS[:-1])} or {TITLE_FIELDS[-1]} and {', '.join(TEXT_FIELDS[:-1])} or "
    f"{TEXT_FIELDS[-1]}, as wikiextractor --json writes them); both may be compressed with gzip or "
    "bzip2"
)


def read_entries(
    path: Path, broken: BrokenLines, progress: bool = False
) -> Iterator[GlossaryEntry]:
    """Yield all entries, by the format of the first lines, and count unreadable lines."""
    size = path.stat().st_size if path.is_file() else 0
    shown = progress and size >= MIN_BYTES_FOR_PROGRESS
    with Progress(f"reading {visible(path.name)}", size, "bytes", shown=shown) as bar:
        lines = read_lines(path, bar.move_to)
        sample = list(_sample(lines))
        parse = _detect(path, sample)
        yield from parse(chain(sample, lines), broken)


def _sample(lines: Iterator[str]) -> Iterator[str]:
    """Return the first lines, up to a number of lines and of characters."""
    characters = 0
    for number, line in enumerate(lines, start=1):
        yield line
        characters += len(line)
        if number >= SAMPLE_LINES or characters >= SAMPLE_CHARACTERS:
            return


def _detect(path: Path, sample: Iterable[str]) -> GlossaryParser:
    """Return the parser that finds the most entries in the sample."""
    if not any(line.strip() for line in sample):
        raise FormatError(
            path, "the glossary is empty", fix="it needs at least one title with a text"
        )
    counts = [sum(1 for _ in parse(sample, BrokenLines())) for parse in PARSERS]
    if not any(counts):
        raise FormatError(path, "the first lines contain no entry of a glossary", fix=_FORMATS)
    return PARSERS[counts.index(max(counts))]
