"""The formats of a glossary: TSV, JSON lines, and Wikipedia's dump of abstracts."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

TITLE_FIELDS = ("title", "name", "label", "term")
"""The JSON fields and column names of a title, the preferred one first."""

TEXT_FIELDS = ("text", "definition", "extract", "abstract", "summary")
"""The JSON fields and column names of a text, the preferred one first."""

MAX_DOC_LINES = 100_000
"""The most lines of one entry in a dump of abstracts; a longer one lacks its end."""


@dataclass(frozen=True, slots=True)
class GlossaryEntry:
    """A title, and the text that begins with its definition."""

    title: str
    text: str


@dataclass
class BrokenLines:
    """The number of lines that could not be read, and the number of the first such line."""

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


_TITLE = re.compile(r"<title>(?:Wikip\w+ ?: )?(.*?)</title>", re.DOTALL)
_ABSTRACT = re.compile(r"<abstract(?:\s*/>|>(.*?)</abstract>)", re.DOTALL)


def parse_abstracts(lines: Iterable[str], broken: BrokenLines) -> Iterator[GlossaryEntry]:
    """Yield the entries of `…-abstract.xml`; a damaged entry does not affect the next one."""
    doc: list[str] | None = None
    number = start = 0
    for number, line in enumerate(lines, start=1):
        if line.startswith("<doc>"):
            if doc is not None:
                broken.add(start)
            doc, start = [], number
        if doc is None or line.startswith("<sublink"):
            continue
        doc.append(line)
        if "</doc>" not in line and len(doc) <= MAX_DOC_LINES:
            continue
        entry = _abstract("".join(doc))
        if entry is None:
            broken.add(start)
        else:
            yield entry
        doc = None
    if doc is not None:
        broken.add(start)


def _abstract(doc: str) -> GlossaryEntry | None:
    """Return an entry of the dump, or nothing if it is damaged."""
    title, abstract = _TITLE.search(doc), _ABSTRACT.search(doc)
    if title is None or abstract is None or not title[1].strip():
        return None
    return GlossaryEntry(*(html.unescape(text or "").strip() for text in (title[1], abstract[1])))


PARSERS: tuple[GlossaryParser, ...] = (parse_abstracts, parse_jsonl, parse_tsv)
"""All formats."""
