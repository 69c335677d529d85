"""The list of new concepts: one name a line, or a table with a header."""

from __future__ import annotations

from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.formats.tables.table_file import Table, open_if_table, read_cells
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Concept

LONGEST_NAME = 1000
"""More characters than this is a paragraph in the wrong column, not a name."""

_TAXONOMIES = (".ttl", ".nt", ".rdf", ".owl", ".xml", ".jsonld", ".json", ".obo", ".taxo")


def read_concepts(path: Path) -> list[Concept]:
    """Read new concepts: a name each, and where the table has them an id, definition, synonyms.

    A concept that comes without an id has a blank one.
    """
    if path.suffix.lower() in _TAXONOMIES:
        message = f"a {path.suffix} file is a taxonomy, and not a list of new concepts"
        raise FormatError(path, f"{message}; give a text file with a name a line, or a table")
    source = TextFile.load(path)
    table = open_if_table(source)
    if table is not None and table.has("label"):
        found = [
            (line, Concept(row["id"], row["label"], row.many("synonyms"), row["definition"]))
            for line, row in table.rows()
        ]
    else:
        found = [(line, Concept("", name)) for line, name in _bare_names(source, table)]
    concepts = [_checked(path, line, concept) for line, concept in found]
    if not concepts:
        raise FormatError(path, "no new concept below the header; add at least one name")
    return concepts


def _bare_names(source: TextFile, table: Table | None) -> list[tuple[int, str]]:
    """One name a line; a table without a header may have one column only."""
    if source.path.suffix.lower() not in (".csv", ".tsv", ".tab") or table is None:
        return [(n, line) for n, line in enumerate(source.lines, start=1) if line.strip()]
    names = []
    for line, row in read_cells(source, table.delimiter):
        if len(row) > 1:
            message = (
                f"{len(row)} cells and no header; name the columns (label, id, definition, "
                "synonyms), or quote a name that holds a comma"
            )
            raise FormatError(source.path, message, line)
        names.append((line, row[0]))
    return names


def _checked(path: Path, line: int, concept: Concept) -> Concept:
    label = " ".join(concept.label.split())
    if not label:
        raise FormatError(path, "the name is blank; name the concept, or remove the row", line)
    if len(label) > LONGEST_NAME:
        message = (
            f"a name of {len(label):,} characters, and {LONGEST_NAME:,} is the most; "
            "shorten it, or put the text into a definition column"
        )
        raise FormatError(path, message, line)
    return Concept(concept.id, label, concept.synonyms, concept.definition)
