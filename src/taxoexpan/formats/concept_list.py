"""Lists of new concepts: one name per line, or a table with a header."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.formats.compression import format_suffix
from taxoexpan.formats.tables.formulas import unprotected
from taxoexpan.formats.tables.table import Table, is_table, open_if_table, read_cells
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Concept

MAX_NAME_LENGTH = 1000
"""A longer name, in characters, is probably a text in the wrong column."""

_BULLET = re.compile(r"\s*[-*+•]\s+(\[[ xX]\]\s+)?")

DISCOVERED = "might_duplicate"
"""The column by which a table from `discover` is recognized."""

_TAXONOMY_SUFFIXES = (
    *(".ttl", ".nt", ".nq", ".trig", ".rdf", ".owl", ".xml", ".jsonld"),
    *(".json", ".obo", ".taxo"),
)


def read_concepts(path: Path) -> list[Concept]:
    """Read new concepts; a concept without an id gets "".

    In a table from `discover`, the apostrophe that protects a formula is removed.
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
    else:
        found = [(line, Concept("", name)) for line, name in _bare_names(file, table)]
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


def _bare_names(file: TextFile, table: Table | None) -> list[tuple[int, str]]:
    """Return one name per line; a table without a header must have only one column."""
    if not is_table(file) or table is None:
        lines = [(n, line) for n, line in enumerate(file.lines, start=1) if line.strip()]
        have_bullets = all(_BULLET.match(line) for _, line in lines)
        return [(n, _BULLET.sub("", line) if have_bullets else line) for n, line in lines]
    names = []
    for line, row in read_cells(file, table.delimiter):
        if len(row) > 1:
            message = f"{len(row)} cells, but no header"
            fix = "add a header (label, id, definition, synonyms), or quote a name with a comma"
            raise FormatError(file.path, f"{message}; {fix}", line)
        names.append((line, row[0]))
    return names
