"""The parents in a table with one row per concept: by id, or by label."""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import Note, TaxonomyBuilder
from taxoexpan.formats.tables.table_file import VALUE_SEPARATOR, Row, Table
from taxoexpan.taxonomy import Taxonomy

MAX_NAMED_LINES = 5
ROOT_MARKERS = frozenset({"0", "-", "--", "–", "—", "null", "none", "nil", "n/a", "na", "#n/a"})
"""Texts that stand for "no parent", in lower case."""


@dataclass(frozen=True)
class ParentCells:
    """How the cells of a table name parents.

    `by_label` says whether the column `parents` holds labels, although the table has ids.
    """

    table: Table
    by_label: bool
    _labels_by_id: Mapping[str, str] = field(default_factory=dict, repr=False)

    @classmethod
    def of(cls, table: Table, builder: TaxonomyBuilder, rows: Sequence[Row]) -> ParentCells:
        """Find out whether the parents are ids or labels, from the values of the column."""
        if not table.has("id"):
            return cls(table, False)
        ids, labels = set(builder.ids), set(builder.labels)
        unknown_ids, unknown_labels = (
            sum(
                value not in known and not is_root_marker(value)
                for row in rows
                for value in _values(row, "parents", known)
            )
            for known in (ids, labels)
        )
        names = dict(zip(builder.ids, builder.labels, strict=True))
        return cls(table, unknown_ids > unknown_labels, names)

    def relate(self, builder: TaxonomyBuilder, rows: Sequence[Row]) -> None:
        """Add the relations of all rows; a concept that is its own parent is a root."""
        by_id = {id: id for id in builder.ids}
        label_lines = _lines_by_label(builder) if self._uses_labels else {}
        lines = list[int]()
        markers = dict[str, list[int]]()
        for id, line, row in zip(builder.ids, builder.lines, rows, strict=True):
            column = "parents" if row["parents"] else "parent_label"
            by_label = self.by_label if column == "parents" else self.table.has("id")
            known = label_lines if by_label else by_id
            self._note_disagreement(builder, line, row)
            for value in _values(row, column, known):
                if value not in known and is_root_marker(value):
                    markers.setdefault(value, []).append(line)
                    continue
                parent = self._resolve(label_lines, value, line) if by_label else value
                if parent == id:
                    message = f"{id!r} is its own parent; it is read as a concept without a parent"
                    builder.notes.append(Note(line, message, id=id))
                    continue
                builder.parents.append(parent)
                builder.children.append(id)
                lines.append(line)
        builder.relation_lines = lines
        builder.notes += root_marker_notes(markers)

    def _note_disagreement(self, builder: TaxonomyBuilder, line: int, row: Row) -> None:
        """Note that the label of a parent is not that of the parent's id."""
        if not row["parents"] or not row["parent_label"] or self.by_label:
            return
        ids = _values(row, "parents", self._labels_by_id)
        labels = VALUE_SEPARATOR.join(self._labels_by_id.get(id, id) for id in ids)
        if labels != row["parent_label"] and all(id in self._labels_by_id for id in ids):
            message = f"the parent {row['parents']!r} is {labels!r}"
            message += f", but its name is given as {row['parent_label']!r}; the id is used"
            builder.notes.append(Note(line, message))

    @property
    def _uses_labels(self) -> bool:
        return self.by_label or self.table.has("parent_label")

    def _resolve(self, labels: dict[str, list[tuple[str, int]]], label: str, line: int) -> str:
        """The id of the concept with this label."""
        found, path = labels.get(label, []), self.table.file.path
        if len(found) == 1:
            return found[0][0]
        if not found:
            message = f"no concept has the label {label!r}; add the concept, or correct the label"
            raise FormatError(path, message, line)
        raise _ambiguous(path, label, found, line)


@dataclass(frozen=True)
class ParentWriter:
    """Writes the cells of parents in an expanded taxonomy."""

    cells: ParentCells
    expanded: Taxonomy

    def texts(self, parents: Sequence[str]) -> dict[str, str]:
        """The texts of the columns `parents` and `parent_label` for these parents."""
        expanded, by_label = self.expanded, self.cells.by_label
        labels = [expanded.concept(id).label if id in expanded else id for id in parents]
        if by_label or not self.cells.table.has("parents"):
            for id, label in zip(parents, labels, strict=True):
                self._refuse_shared_label(id, label)
        texts = {"parents": labels if by_label else parents, "parent_label": labels}
        return {name: VALUE_SEPARATOR.join(values) for name, values in texts.items()}

    @cached_property
    def _label_counts(self) -> Counter[str]:
        return Counter(self.expanded.labels)

    def _refuse_shared_label(self, id: str, label: str) -> None:
        if self._label_counts[label] > 1:
            message = f"several concepts have the label {label!r}, and parents are labels here"
            fix = f"rename one of them, or choose another parent than {id!r}"
            raise FormatError(self.cells.table.file.path, f"{message}; {fix}")


def is_root_marker(value: str) -> bool:
    """Whether a cell stands for "no parent", unless a concept has this id."""
    return value.casefold() in ROOT_MARKERS


def root_marker_notes(markers: Mapping[str, Sequence[int]]) -> list[Note]:
    """One note for each text that is read as "no parent", with the lines on which it occurs."""
    return [
        Note(
            lines[0],
            f"no concept has the id {value!r}; it is read as a blank parent{_times(lines)}",
        )
        for value, lines in markers.items()
    ]


def _times(lines: Sequence[int]) -> str:
    return f" ({len(lines):,} times)" if len(lines) > 1 else ""


def _values(row: Row, column: str, known: Container[str]) -> tuple[str, ...]:
    """The values of a cell; an id or a label may contain the separator."""
    cell = row[column]
    return (cell,) if cell in known else row.many(column)


def _lines_by_label(builder: TaxonomyBuilder) -> dict[str, list[tuple[str, int]]]:
    """The id and the line of every concept with a label."""
    found: dict[str, list[tuple[str, int]]] = {}
    for id, label, line in zip(builder.ids, builder.labels, builder.lines, strict=True):
        found.setdefault(label, []).append((id, line))
    return found


def _ambiguous(path: Path, label: str, found: list[tuple[str, int]], line: int) -> FormatError:
    lines = ", ".join(f"{number} (id {id!r})" for id, number in found[:MAX_NAMED_LINES])
    rest = ", …" if len(found) > MAX_NAMED_LINES else ""
    message = f"the parent {label!r} is the label of several concepts, on lines {lines}{rest}"
    return FormatError(path, f"{message}; write the id of one of them, or rename the others", line)
