"""The parents in the cells of a table: by id, by label, or a text that stands for none."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import Note, TaxonomyBuilder
from taxoexpan.formats.tables.table import VALUE_SEPARATOR, Row, Table

MAX_NAMED_LINES = 5
ROOT_MARKERS = frozenset({"0", "-", "--", "–", "—", "null", "none", "nil", "n/a", "na", "#n/a"})
"""Texts that stand for "no parent", in lower case."""


@dataclass(frozen=True)
class ParentCells:
    """How the cells of a table with one row per concept name parents.

    `by_label` says whether the column `parents` holds labels, although the table has ids. `labels`
    are the labels of these ids.
    """

    table: Table
    by_label: bool = False
    labels: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, table: Table, builder: TaxonomyBuilder) -> ParentCells:
        """Find out whether the parents are ids or labels, from the values of the column."""
        if not table.has("id"):
            return cls(table)
        unknown_ids, unknown_labels = (
            sum(
                value not in known and not is_root_marker(value)
                for row in table.rows
                for value in _values(row, "parents", known)
            )
            for known in (set(builder.ids), set(builder.labels))
        )
        labels = dict(zip(builder.ids, builder.labels, strict=True))
        return cls(table, unknown_ids > unknown_labels, labels)

    def relate(self, builder: TaxonomyBuilder) -> None:
        """Add the relations of all rows; a concept that is its own parent is a root."""
        by_id = {id: [(id, 0)] for id in builder.ids}
        by_label: dict[str, list[tuple[str, int]]] = {}
        if self.by_label or self.table.has("parent_label"):
            for id, label, line in zip(builder.ids, builder.labels, builder.lines, strict=True):
                by_label.setdefault(label, []).append((id, line))
        markers: dict[str, list[int]] = {}
        for id, row in zip(builder.ids, self.table.rows, strict=True):
            column = "parents" if row["parents"] else "parent_label"
            are_labels = self.by_label if column == "parents" else self.table.has("id")
            known = by_label if are_labels else by_id
            self._note_disagreement(builder, row)
            for value in _values(row, column, known):
                if value not in known and is_root_marker(value):
                    markers.setdefault(value, []).append(row.line)
                    continue
                parent = self._resolve(known, value, row.line) if are_labels else value
                if parent == id:
                    message = f"{id!r} is its own parent; it is read as a concept without a parent"
                    builder.note(row.line, message, id)
                else:
                    builder.relate(parent, id, row.line)
        builder.notes += root_marker_notes(markers)

    def _note_disagreement(self, builder: TaxonomyBuilder, row: Row) -> None:
        """Note that the given label of a parent is another one than the label of its id."""
        if not row["parents"] or not row["parent_label"] or self.by_label:
            return
        ids = _values(row, "parents", self.labels)
        labels = VALUE_SEPARATOR.join(self.labels.get(id, id) for id in ids)
        if labels != row["parent_label"] and all(id in self.labels for id in ids):
            message = f"the parent {row['parents']!r} is {labels!r}"
            message += f", but its name is given as {row['parent_label']!r}; the id is used"
            builder.note(row.line, message)

    def _resolve(self, known: dict[str, list[tuple[str, int]]], label: str, line: int) -> str:
        """The id of the concept with this label."""
        found, path = known.get(label, []), self.table.file.path
        if len(found) == 1:
            return found[0][0]
        if not found:
            message = f"no concept has the label {label!r}; add the concept, or correct the label"
            raise FormatError(path, message, line)
        places = [f"{number} (id {id!r})" for id, number in found[:MAX_NAMED_LINES]]
        places += ["…"] if len(found) > MAX_NAMED_LINES else []
        message = f"the parent {label!r} is the label of several concepts, on lines "
        fix = "write the id of one of them, or rename the others"
        raise FormatError(path, f"{message}{', '.join(places)}; {fix}", line)


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
