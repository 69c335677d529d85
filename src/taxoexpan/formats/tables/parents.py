"""The parents in the cells of a table: by id, by label, or a text that stands for none."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import Note, TaxonomyBuilder
from taxoexpan.formats.tables.table import VALUE_SEPARATOR, Row, Table

MAX_NAMED_LINES = 5
ROOT_MARKERS = frozenset({"0", "-", "--", "–", "—", "null", "none", "nil", "n/a", "na", "#n/a"})
"""Texts that stand for "no parent", in lower case."""


def are_labels(table: Table, builder: TaxonomyBuilder) -> bool:
    """Whether the column `parents` holds labels although the table has ids, from its values."""
    if not table.has("id"):
        return False
    unknown_ids, unknown_labels = (
        sum(
            value not in known and not is_root_marker(value)
            for row in table.rows
            for value in _values(row, "parents", known)
        )
        for known in (set(builder.ids), set(builder.labels))
    )
    return unknown_ids > unknown_labels


def relate(table: Table, builder: TaxonomyBuilder, by_label: bool) -> None:
    """Add the relations of all rows; a concept that is its own parent is a root."""
    rows = [*zip(builder.ids, builder.labels, table.rows, strict=True)]
    labels = {id: label for id, label, _ in rows}
    with_label: dict[str, list[str]] = {}
    if by_label or table.has("parent_label"):
        for id, label, _ in rows:
            with_label.setdefault(label, []).append(id)
    markers: dict[str, list[int]] = {}
    for id, _, row in rows:
        column = "parents" if row["parents"] else "parent_label"
        names_labels = by_label if column == "parents" else table.has("id")
        known: Mapping[str, object] = with_label if names_labels else labels
        if row["parents"] and row["parent_label"] and not by_label:
            _note_disagreement(builder, row, labels)
        for value in _values(row, column, known):
            if value not in known and is_root_marker(value):
                markers.setdefault(value, []).append(row.line)
                continue
            parent = value
            if names_labels:
                parent = _resolve(builder, with_label.get(value, []), value, row.line)
            if parent == id:
                message = f"{id!r} is its own parent; it is read as a concept without a parent"
                builder.note(row.line, message, id)
            else:
                builder.relate(parent, id, row.line)
    builder.notes += root_marker_notes(markers)


def _note_disagreement(builder: TaxonomyBuilder, row: Row, labels: Mapping[str, str]) -> None:
    """Note that the given label of a parent is another one than the label of its id."""
    ids = _values(row, "parents", labels)
    found = VALUE_SEPARATOR.join(labels.get(id, id) for id in ids)
    if found != row["parent_label"] and all(id in labels for id in ids):
        message = f"the parent {row['parents']!r} is {found!r}"
        message += f", but its name is given as {row['parent_label']!r}; the id is used"
        builder.note(row.line, message)


def _resolve(builder: TaxonomyBuilder, found: Sequence[str], label: str, line: int) -> str:
    """The id of the concept with this label."""
    if len(found) == 1:
        return found[0]
    if not found:
        message = f"no concept has the label {label!r}; add the concept, or correct the label"
        raise FormatError(builder.path, message, line)
    lines = dict(zip(builder.ids, builder.lines, strict=True))
    places = [f"{lines[id]} (id {id!r})" for id in found[:MAX_NAMED_LINES]]
    places += ["…"] if len(found) > MAX_NAMED_LINES else []
    message = f"the parent {label!r} is the label of several concepts, on lines "
    fix = "write the id of one of them, or rename the others"
    raise FormatError(builder.path, f"{message}{', '.join(places)}; {fix}", line)


def is_root_marker(value: str) -> bool:
    """Whether a cell stands for "no parent", unless a concept has this id."""
    return value.casefold() in ROOT_MARKERS


def root_marker_notes(markers: Mapping[str, Sequence[int]]) -> list[Note]:
    """One note for each text that is read as "no parent", with the lines on which it occurs."""
    return [
        Note(
            lines[0],
            f"no concept has the id {value!r}; it is read as a blank parent"
            + (f" ({len(lines):,} times)" if len(lines) > 1 else ""),
        )
        for value, lines in markers.items()
    ]


def _values(row: Row, column: str, known: Container[str]) -> tuple[str, ...]:
    """The values of a cell; an id or a label may contain the separator."""
    cell = row[column]
    return (cell,) if cell in known else row.many(column)
