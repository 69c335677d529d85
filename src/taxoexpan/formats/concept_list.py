"""Lists of new concepts: one name per line, or a table with a header."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from pathlib import Path
from typing import TypeAlias

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import Note
from taxoexpan.formats.compression import format_suffix
from taxoexpan.formats.inline_markdown import readings
from taxoexpan.formats.tables.column_notes import broken_cells, line_break_notes
from taxoexpan.formats.tables.formulas import unprotected
from taxoexpan.formats.tables.table import Table, is_table, open_if_table, read_cells
from taxoexpan.formats.text_file import TextFile
from taxoexpan.phrasing import join_words
from taxoexpan.taxonomy import Concept

MAX_NAME_LENGTH = 1000
"""A longer name, in characters, is probably a text in the wrong column."""

_MAX_NAMED = 3
"""How many lines or columns a warning names."""

_BULLET = re.compile(r"\s*[-*+•◦▪‣]\s+(\[[ xX]\]\s+)?(?=\S)")
_NUMBER = re.compile(r"\s*(\d{1,4})[.)]\s+(?=\S)")
_MARK = re.compile(f"{_BULLET.pattern}|{_NUMBER.pattern}")
_HEADING = re.compile(r"#{1,6}[ \t]+(?=\S)")
_HEADER_FIX = "add a header (label, id, definition, synonyms)"
_DEFINED = re.compile(r"[^:,]{1,60}(?::| [-–—]) +\S+ +\S.*")
"""A line that looks like a term with a definition after a colon or a dash."""
_ENUMERATED = re.compile(
    r"(?:[^,:]{1,40}, *+){2,}(?!(?:and|or|&)\b)[^,:]{1,40}|(?:[^;:]{1,40}; *+){2,}[^;:]{0,40}"
)
"""A line that looks like several terms, unlike the label "apples, pears, and figs"."""
_LINKED = re.compile(r"\[[^\[\]]+\]\(\S+\).*")
"""A line that begins with a link of Markdown; in files of Markdown, links are read."""

_TextLine: TypeAlias = tuple[int, str]
"""The number of a line and its text."""

DISCOVERED = {"count", "documents", "score", "example"}
"""The columns by which a table from `discover` is recognized."""

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

    In a table from `discover`, the apostrophe that protects a formula is removed. Columns and lines
    that are not read, and lines that look like several terms or like a definition, cause a warning.
    """
    if format_suffix(path) in _TAXONOMY_SUFFIXES:
        message = f"a {format_suffix(path)} file is a taxonomy, not a list of new concepts"
        raise FormatError(path, message, fix="give a text file with one name per line, or a table")
    file = TextFile.load(path)
    table = open_if_table(file, titles=False)
    if table is not None and table.has("label") and not _has_bullets(file, table):
        rows = table.rows
        if set(table.header) >= DISCOVERED:
            rows = [replace(row, cells=[unprotected(c.strip()) for c in row.cells]) for row in rows]
        found = [
            (row.line, Concept(row["id"], row["label"], row.many("synonyms"), row["definition"]))
            for row in rows
        ]
        _warn_of_columns(table)
        _warn_of_breaks(path, broken_cells(table) if not file.delimiter else [])
    else:
        names = _bare_names(file, table)
        for _, message in combined_lines([(n.line, n.label) for n in names if not n.definition]):
            warnings.warn(f"{path}: {message}", stacklevel=2)
        found = [(name.line, Concept("", name.label, (), name.definition)) for name in names]
    concepts = []
    for line, concept in found:
        label = " ".join(concept.label.split())
        if not label:
            raise FormatError(
                path, "the name is empty", fix="add a name, or remove the row", line=line
            )
        if len(label) > MAX_NAME_LENGTH:
            message = f"the name has {len(label):,} characters, but at most {MAX_NAME_LENGTH:,}"
            fix = "shorten it, or move the text to a definition column"
            raise FormatError(path, f"{message} are allowed", fix=fix, line=line)
        concepts.append(replace(concept, label=label))
    if not concepts:
        raise FormatError(path, "there is no concept below the header", fix="add at least one name")
    return concepts


def _has_bullets(file: TextFile, table: Table) -> bool:
    """Return whether a text has bullets below its first line, which is called like a label."""
    is_text = not is_table(file) and len(table.header) == 1
    return is_text and any(_BULLET.match(row.cells[0]) for row in table.rows)


def _bare_names(file: TextFile, table: Table | None) -> list[_ListedName]:
    """Return one name per line; a table without a header must have only one column."""
    if not is_table(file) or table is None:
        header = table.line if table is not None and table.has("label") else 0
        numbered = enumerate(file.lines[header:], start=header + 1)
        lines = _term_lines(file, [(n, line) for n, line in numbered if line.strip()])
        return [_listed_name(file, n, line.strip()) for n, line in lines]
    rows = list(read_cells(file, table.delimiter))
    names = []
    if not file.delimiter:
        _warn_of_breaks(file.path, line_break_notes(rows, {0}, table.delimiter))
    for line, row in rows:
        if len(row) > 1:
            message = f"{len(row)} cells, but no header"
            fix = f"{_HEADER_FIX}, or quote a name with a comma"
            raise FormatError(file.path, message, fix=fix, line=line)
        names.append(_ListedName(line, row[0]))
    return names


def _term_lines(file: TextFile, lines: Sequence[_TextLine]) -> list[_TextLine]:
    """Return the lines of a text that have terms, without bullets and numbers.

    Headings are not terms. If most lines begin with a bullet or with a number that counts them, the
    other lines are not terms either. All lines that are left out cause a warning.
    """
    terms = [each for each in lines if not _HEADING.match(each[1])]
    if not terms:
        return [(number, _HEADING.sub("", line, 1)) for number, line in lines]
    if headings := [each for each in lines if _HEADING.match(each[1])]:
        _warn_of_lines(file, headings, "1 heading is not read", "headings are not read")
    mark = (
        re.compile(f"{_BULLET.pattern}|{_NUMBER.pattern}") if _is_counted(file, terms) else _BULLET
    )
    marks = [mark.match(line) is not None for _, line in terms]
    below = marks[marks.index(True) :] if any(marks) else []
    if sum(marks) * 2 >= len(marks) and sum(below) * 2 > len(below):
        if others := [each for each, is_marked in zip(terms, marks, strict=True) if not is_marked]:
            kinds = "1 line without a bullet is not read", "lines without a bullet are not read"
            _warn_of_lines(file, others, *kinds, "write a bullet before each term")
        marked = (each for each, is_marked in zip(terms, marks, strict=True) if is_marked)
        return [(number, mark.sub("", line, 1)) for number, line in marked]
    bullets = [each for each in terms if _BULLET.match(each[1])]
    numbers = [each for each in terms if _NUMBER.match(each[1])]
    if bullets or len(numbers) > 1:
        kinds = "1 label begins with a bullet", "labels begin with a bullet or a number"
        fix = "remove them, or write one before each term, if they are not part of the labels"
        _warn_of_lines(file, sorted([*bullets, *numbers]), *kinds, fix)
    return terms


def _warn_of_lines(
    file: TextFile, lines: Sequence[_TextLine], one: str, several: str, fix: str = ""
) -> None:
    """Warn about lines that are probably not read as meant."""
    kind = one if len(lines) == 1 else f"{len(lines):,} {several}"
    message = f"{file.path}: {kind} ({_examples(lines)})"
    warnings.warn(f"{message}; {fix}" if fix else message, stacklevel=5)


def _is_counted(file: TextFile, lines: Sequence[_TextLine]) -> bool:
    """Return whether numbers before the text count the lines, as in a numbered list.

    The count may begin again; in Markdown, every number may be 1.
    """
    numbers = [int(match[1]) for _, line in lines if (match := _NUMBER.match(line))]
    is_ascending = all(n < 2 or n == last + 1 for last, n in pairwise([0, *numbers]))
    is_list = len(numbers) > 1 and (max(numbers) > 1 or file.suffix in _MARKDOWN_SUFFIXES)
    return is_ascending and is_list


def _listed_name(file: TextFile, number: int, line: str) -> _ListedName:
    """Return the name on a line of text, and its definition after a tab or, in Markdown, a link."""
    label, *others = (cell.strip() for cell in line.split("\t"))
    if len(others) > 1:
        message = f"{1 + len(others)} cells, but no header"
        raise FormatError(file.path, message, fix=_HEADER_FIX, line=number)
    if file.suffix in _MARKDOWN_SUFFIXES:
        shown, definition = next(readings(label))
        return _ListedName(number, shown or label, *(others or [definition]))
    return _ListedName(number, label, *others)


def combined_lines(lines: Sequence[_TextLine]) -> Iterator[tuple[Sequence[int], str]]:
    """Yield the numbers of lines that look like more than one label, with a message about them."""
    kinds = {
        "a term and its definition": (_DEFINED, "write a tab between the two"),
        "several terms": (_ENUMERATED, "write one term per line"),
        "links of Markdown": (_LINKED, "call the file .md"),
    }
    for kind, (pattern, fix) in kinds.items():
        found = [(number, text) for number, text in lines if pattern.fullmatch(text)]
        if found:
            count = f"{len(found):,} lines look" if len(found) > 1 else "1 line looks"
            message = f"{count} like {kind}, but each is read as one label ({_examples(found)})"
            yield [number for number, _ in found], f"{message}; {fix}"


def _examples(lines: Sequence[_TextLine]) -> str:
    """Return the numbers and the texts of the first lines."""
    examples = [f"line {number}: {text.strip()[:60]!r}" for number, text in lines[:_MAX_NAMED]]
    return ", ".join([*examples, *(["…"] if len(lines) > _MAX_NAMED else [])])


def _warn_of_breaks(path: Path, notes: Sequence[Note]) -> None:
    """Warn about cells with line breaks, which may be rows that are lost."""
    for note in notes:
        warnings.warn(f"{path}, line {note.line}: {note.message}", stacklevel=4)


def _warn_of_columns(table: Table) -> None:
    """Warn about columns that are not read, except in a table from `discover`."""
    if set(table.header) >= DISCOVERED:
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
