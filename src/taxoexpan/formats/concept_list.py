"""Lists of new concepts: one name per line, or a table with a header."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.formats.compression import format_suffix
from taxoexpan.formats.inline_markdown import readings
from taxoexpan.formats.tables.formulas import unprotected
from taxoexpan.formats.tables.table import Table, is_table, open_if_table, read_cells
from taxoexpan.formats.text_file import TextFile
from taxoexpan.phrasing import join_words
from taxoexpan.taxonomy import Concept

MAX_NAME_LENGTH = 1000
"""A longer name, in characters, is probably a text in the wrong column."""

_MAX_NAMED = 3
"""How many lines or columns a warning names."""

_BULLET = re.compile(r"\s*[-*+•]\s+(\[[ xX]\]\s+)?")
_HEADER_FIX = "add a header (label, id, definition, synonyms)"
_DEFINED = re.compile(r"[^:,]{1,60}: +\S+ +\S.*")
"""A line that looks like a term with a definition after a colon."""
_ENUMERATED = re.compile(r"(?:[^,:]{1,40}, *+){2,}(?!(?:and|or|&)\b)[^,:]{1,40}")
"""A line that looks like several terms, unlike the label "apples, pears, and figs"."""

DISCOVERED = "might_duplicate"
"""The column by which a table from `discover` is recognized."""

_TAXONOMY_SUFFIXES = (
    *(".ttl", ".nt", ".nq", ".trig", ".rdf", ".owl", ".xml", ".jsonld"),
    *(".json", ".jsonl", ".ndjson", ".obo", ".taxo"),
)
_MARKDOWN_SUFFIXES = (".md", ".markdown")


@dataclass(frozen=True, slots=True)
class _ListedName:
    """A name on a line of a list without a header, with the definition after a tab."""

    line: int
    label: str
    definition: str = ""


def read_concepts(path: Path) -> list[Concept]:
    """Read new concepts; a concept without an id gets "".

    In a table from `discover`, the apostrophe that protects a formula is removed. Columns that are
    not read, and lines that look like several terms or like a definition, cause a warning.
    """
    if format_suffix(path) in _TAXONOMY_SUFFIXES:
        message = f"a {format_suffix(path)} file is a taxonomy, not a list of new concepts"
        raise FormatError(path, f"{message}; give a text file with one name per line, or a table")
    file = TextFile.load(path)
    table = open_if_table(file, titles=False)
    if table is not None and table.has("label"):
        rows = table.rows
        if DISCOVERED in table.header:
            rows = [replace(row, cells=[unprotected(c.strip()) for c in row.cells]) for row in rows]
        found = [
            (row.line, Concept(row["id"], row["label"], row.many("synonyms"), row["definition"]))
            for row in rows
        ]
        _warn_of_columns(table)
    else:
        names = _bare_names(file, table)
        for _, message in combined_lines([(n.line, n.label) for n in names if not n.definition]):
            warnings.warn(f"{path}: {message}", stacklevel=2)
        found = [(name.line, Concept("", name.label, (), name.definition)) for name in names]
    concepts = []
    for line, concept in found:
        label = " ".join(concept.label.split())
        if not label:
            raise FormatError(path, "the name is empty; add a name, or remove the row", line)
        if len(label) > MAX_NAME_LENGTH:
            message = f"the name has {len(label):,} characters, but at most {MAX_NAME_LENGTH:,}"
            fix = "shorten it, or move the text to a definition column"
            raise FormatError(path, f"{message} are allowed; {fix}", line)
        concepts.append(replace(concept, label=label))
    if not concepts:
        raise FormatError(path, "there is no concept below the header; add at least one name")
    return concepts


def _bare_names(file: TextFile, table: Table | None) -> list[_ListedName]:
    """Return one name per line; a table without a header must have only one column."""
    if not is_table(file) or table is None:
        lines = [(n, line) for n, line in enumerate(file.lines, start=1) if line.strip()]
        have_bullets = all(_BULLET.match(line) for _, line in lines)
        bare = [(n, _BULLET.sub("", line, 1) if have_bullets else line) for n, line in lines]
        return [_listed_name(file, n, line.strip()) for n, line in bare]
    names = []
    for line, row in read_cells(file, table.delimiter):
        if len(row) > 1:
            message = f"{len(row)} cells, but no header"
            fix = f"{_HEADER_FIX}, or quote a name with a comma"
            raise FormatError(file.path, f"{message}; {fix}", line)
        names.append(_ListedName(line, row[0]))
    return names


def _listed_name(file: TextFile, number: int, line: str) -> _ListedName:
    """Return the name on a line of text, and its definition after a tab or, in Markdown, a link."""
    if file.suffix in _MARKDOWN_SUFFIXES:
        label, definition = next(readings(line))
        return _ListedName(number, label or line, definition)
    label, *others = (cell.strip() for cell in line.split("\t"))
    if len(others) > 1:
        message = f"{1 + len(others)} cells, but no header; {_HEADER_FIX}"
        raise FormatError(file.path, message, number)
    return _ListedName(number, label, *others)


def combined_lines(lines: Sequence[tuple[int, str]]) -> Iterator[tuple[Sequence[int], str]]:
    """Yield the numbers of lines that look like more than one label, with a message about them."""
    kinds = {
        "a term and its definition": (_DEFINED, "write a tab between the two"),
        "several terms": (_ENUMERATED, "write one term per line"),
    }
    for kind, (pattern, fix) in kinds.items():
        found = [(number, text) for number, text in lines if pattern.fullmatch(text)]
        if found:
            examples = [f"line {number}: {text[:60]!r}" for number, text in found[:_MAX_NAMED]]
            examples += ["…"] if len(found) > _MAX_NAMED else []
            count = f"{len(found):,} lines look" if len(found) > 1 else "1 line looks"
            message = f"{count} like {kind}, but each is read as one label ({', '.join(examples)})"
            yield [number for number, _ in found], f"{message}; {fix}"


def _warn_of_columns(table: Table) -> None:
    """Warn about columns that are not read, except in a table from `discover`."""
    if DISCOVERED in table.header:
        return
    others = table.other_columns("id", "label", "synonyms", "definition")
    names = [name.removeprefix("column ") for name in others if name.startswith("column ")]
    if names:
        columns = "columns" if len(names) > 1 else "column"
        verb = "are" if len(names) > 1 else "is"
        more = [f"{len(names) - _MAX_NAMED:,} more"] if len(names) > _MAX_NAMED else []
        listed = join_words([*names[:_MAX_NAMED], *more])
        message = f"{table.file.path}: the {columns} {listed} of the new terms {verb} not read"
        warnings.warn(f"{message}; only id, label, definition and synonyms are", stacklevel=3)
