"""Tables with one row per concept and some of `id,label,parents,definition,synonyms`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from taxoexpan.errors import FileCycleError, FormatError
from taxoexpan.formats.builder import Note, ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.format import Copy, Format, Insertions, Target, clean_ids, labels_as_ids
from taxoexpan.formats.tables.codes import code_parents, refuse_other_codes, relate_codes
from taxoexpan.formats.tables.column_notes import column_notes
from taxoexpan.formats.tables.columns import FIELD_COLUMNS
from taxoexpan.formats.tables.path_layouts import LevelStyle, cells_for, level_texts, style_of
from taxoexpan.formats.tables.table import (
    VALUE_SEPARATOR,
    Row,
    Table,
    column_error,
    open_if_table,
    table_text,
)
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy

MAX_FOOTER = 3
"""The number of rows below a blank row that may be a footer."""
MAX_NAMED_LINES = 5
ROOT_MARKERS = frozenset(
    {"0", "-", "--", "–", "—", "null", "none", "nil", "n/a", "na", "#n/a"}
    | {"owl:thing", "http://www.w3.org/2002/07/owl#thing"}
)
"""Texts that stand for "no parent", in lower case."""
_SEPARATORS = (VALUE_SEPARATOR, ";", ",")
"""Signs that may separate several parents in one cell."""


@dataclass(frozen=True)
class _ConceptTable:
    """A parsed table; `by_label` means that `parents` holds labels although the table has ids.

    `by_codes` means that the parents come from the ids; `separators` has the text between several
    values, by column.
    """

    table: Table
    parsed: ParsedTaxonomy
    by_label: bool
    levels: LevelStyle | None
    separators: Mapping[str, str]
    by_codes: bool = False


class RowsFormat(Format):
    """Tables with one row per concept."""

    is_table = True

    def can_read(self, file: TextFile) -> bool:
        """Return whether the table has ids or labels, and parents or hierarchical codes."""
        table = open_if_table(file)
        if table is None or table.columns.has_parents or table.has("codes"):
            return table is not None
        return bool(file.parsed(_code_parents))

    def read(self, file: TextFile) -> ParsedTaxonomy:
        """Read one concept per row; a missing id or label is replaced by the other."""
        return file.parsed(_read_table).parsed

    def extend(self, file: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
        """Append one row per new concept, and replace the changed cells of existing concepts."""
        table = file.parsed(Table.open)
        read = file.parsed(_read_table)
        names = {} if table.has("id") else labels_as_ids(file, expanded, additions)
        writer = _RowWriter(read, expanded, names)
        if read.by_codes:
            refuse_other_codes(file.path, expanded, additions)
        parents: dict[str, list[str]] = {}
        for parent, child in additions.relations:
            parents.setdefault(child, []).append(names.get(parent, parent))
        new = [writer.row(concept, parents.get(concept.id, [])) for concept in additions.concepts]
        edits = writer.edits(additions)
        return {file.path: [*table.replace_cells(edits), *file.append(table.new_lines(new))]}

    def write(self, taxonomy: Taxonomy, target: Target) -> Copy:
        """Write a new table; a `|` in an id or a synonym becomes `/` if it would be ambiguous."""
        replacement = VALUE_SEPARATOR if _separators_are_safe(taxonomy) else "/"
        ids = clean_ids(taxonomy, lambda id: id.replace(VALUE_SEPARATOR, replacement).strip())
        header = ["id", "label", "parents", "definition", "synonyms"]
        header += ["deprecated"] if taxonomy.deprecated else []
        rows = []
        for concept in taxonomy.concepts:
            parents = [ids[parent] for parent in taxonomy.parents(concept.id)]
            # Line breaks may separate synonyms, too.
            synonyms = [
                name.replace(VALUE_SEPARATOR, "/").replace("\n", " ") for name in concept.synonyms
            ]
            lists = VALUE_SEPARATOR.join(parents), VALUE_SEPARATOR.join(synonyms)
            cells = [ids[concept.id], concept.label, lists[0], concept.definition, lists[1]]
            rows.append([*cells, "true" if concept.deprecated else ""][: len(header)])
        return Copy({target.path: table_text(target.path, header, rows)}, ids)

    def supported_fields(self, file: TextFile) -> frozenset[str]:
        """Return the fields with a column in the header."""
        table = file.parsed(Table.open)
        fields = {name for name, column in FIELD_COLUMNS.items() if table.has(column)}
        return frozenset(fields | ({"labels"} if file.parsed(_read_table).levels else set()))

    def supported_changes(self, file: TextFile) -> frozenset[str]:
        """Return moves unless level columns repeat the paths, and synonyms if there is a column."""
        read = file.parsed(_read_table)
        moves = {"moves"} if read.levels is None and not read.by_codes else set()
        synonyms = {"synonyms"} if file.parsed(Table.open).has("synonyms") else set()
        return frozenset(moves | synonyms)


def _read_table(file: TextFile) -> _ConceptTable:
    table = file.parsed(Table.open)
    builder = TaxonomyBuilder(file.path)
    above = file.parsed(_code_parents)
    if not table.columns.has_parents and not (above and table.has("label")):
        problem = "the table needs a column id or label, and a column parent"
        if table.has("codes"):
            problem = "the table needs a column label" if above else "no code begins with another"
        raise column_error(table, problem, "label=2" if above else "label=1,parent=2")
    for row in table.rows:
        id, label = _id_and_label(table, row)
        if not id:
            message = "the row has neither an id nor a label"
            raise FormatError(file.path, message, fix="add one, or remove the row", line=row.line)
        synonyms = row.many("synonyms", table.synonym_separator)
        deprecated = table.is_deprecated(row)
        builder.add(id, label or id, row.line, synonyms, row["definition"], deprecated)
    by_label = _parents_are_labels(table, builder)
    labels = set(builder.labels)
    separators = {
        "parents": _find_separator(table, "parents", labels if by_label else set(builder.ids)),
        "parent_label": _find_separator(table, "parent_label", labels),
        "synonyms": table.synonym_separator,
    }
    try:
        if above:
            _relate_table_codes(table, builder, above)
        else:
            _relate(table, builder, by_label, separators)
        parsed = builder.finish()
    except FileCycleError:
        raise
    except FormatError as error:
        if table.has("id") or len(table.header) == len(set(table.columns.indices.values())):
            raise  # no column is left that could be the id
        problem = f"{error.message}. No column is recognized as the id, so the label is the id"
        found = replace(table, line=error.line or table.line)
        raise column_error(found, problem, "id=NAME") from None
    levels = table.columns.levels
    style = style_of(table, map(parsed.taxonomy.path, builder.ids)) if levels else None
    relating = ("codes",) if above else ("parents", "parent_label")
    known = (*relating, *FIELD_COLUMNS.values(), *(levels if style else ()))
    notes = (
        *parsed.notes,
        *column_notes(table, "the codes" if above else "the parents", *known),
        *_footer_notes(table, builder, parsed.taxonomy),
    )
    parsed = replace(parsed, notes=notes, ignored=table.other_columns(*known))
    return _ConceptTable(table, parsed, by_label, style, separators, bool(above))


def _code_parents(file: TextFile) -> dict[str, str]:
    """Return the parents of the ids, if these are codes and no other column states parents."""
    table = file.parsed(Table.open)
    is_chosen = table.has("codes")
    if not is_chosen and (table.columns.has_relations or not table.has("id", "label")):
        return {}
    # A repeated code is refused with its line.
    return code_parents([*dict.fromkeys(row["id"] for row in table.rows)], is_chosen)


def _relate_table_codes(table: Table, builder: TaxonomyBuilder, above: Mapping[str, str]) -> None:
    """Add the relations of the codes, and a note that says so."""
    if table.has_concept_as_header:
        raise column_error(table, table.problem)
    column = table.header[table.columns.indices["id"]]
    relate_codes(builder, above, f"in the column {column!r}", table.line)


def _id_and_label(table: Table, row: Row) -> tuple[str, str]:
    """Return the id and the label of a row; without a label column, the last level is the label."""
    levels = [] if table.has("label") else list(filter(None, level_texts(table, row)))
    label = row["label"] or (levels[-1] if levels else "")
    return row["id"] or label, label


def _parents_are_labels(table: Table, builder: TaxonomyBuilder) -> bool:
    """Return whether the values in `parents` are labels although the table has ids."""
    if not table.has("id"):
        return False

    def count_unknown(known: set[str]) -> int:
        separator = _find_separator(table, "parents", known)
        values = (each for row in table.rows for each in _values(row, "parents", known, separator))
        return sum(value not in known and not is_root_marker(value) for value in values)

    unknown_ids = count_unknown(set(builder.ids))
    return unknown_ids > 0 and unknown_ids > count_unknown(set(builder.labels))


def _find_separator(table: Table, column: str, known: Collection[str]) -> str:
    """Return the chosen separator, or the only sign that splits cells into known values."""
    if table.file.options.separator:
        return table.file.options.separator
    rows = table.rows if table.has(column) else []
    cells = {cell for row in rows if (cell := row[column]) and cell not in known}
    found = list[str]()
    for sign in _SEPARATORS:
        several = [
            cell
            for cell in cells
            if sign in cell and all(part.strip() in known for part in cell.split(sign))
        ]
        forms = (f" {sign} ", f"{sign} ", sign)
        same = (f for f in forms if all(each.count(f) == each.count(sign) for each in several))
        found += [next(same)] if several else []
    return found[0] if len(found) == 1 else VALUE_SEPARATOR


def _relate(
    table: Table, builder: TaxonomyBuilder, by_label: bool, separators: Mapping[str, str]
) -> None:
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
            _note_disagreement(builder, row, labels, separators)
        for value in _values(row, column, known, separators[column]):
            if value not in known and is_root_marker(value):
                markers.setdefault(value, []).append(row.line)
                continue
            if value not in known and any(sign in value for sign in _SEPARATORS):
                kind = "label" if names_labels else "id"
                message = f"no concept has the {kind} {value!r}; add the concept, or correct the"
                message += f" {kind}, or if these are several parents, give the text between them"
                raise FormatError(table.file.path, message, line=row.line, option="separator")
            parent = value
            if names_labels:
                parent = _resolve(builder, with_label.get(value, []), value, row.line)
            if parent == id:
                message = f"{id!r} is its own parent; it is read as a concept without a parent"
                builder.note(row.line, message, id)
            else:
                builder.relate(parent, id, row.line)
    builder.notes += root_marker_notes(markers)


def _note_disagreement(
    builder: TaxonomyBuilder, row: Row, labels: Mapping[str, str], separators: Mapping[str, str]
) -> None:
    """Note a given parent label that differs from the label of the parent id."""
    ids = _values(row, "parents", labels, separators["parents"])
    found = separators["parent_label"].join(labels.get(id, id) for id in ids)
    if found != row["parent_label"] and all(id in labels for id in ids):
        message = f"the parent {row['parents']!r} is {found!r}"
        message += f", but its name is given as {row['parent_label']!r}; the id is used"
        builder.note(row.line, message)


def _resolve(builder: TaxonomyBuilder, found: Sequence[str], label: str, line: int) -> str:
    """Return the id of the only concept with this label."""
    if len(found) == 1:
        return found[0]
    if not found:
        message = f"no concept has the label {label!r}"
        raise FormatError(
            builder.path, message, fix="add the concept, or correct the label", line=line
        )
    lines = dict(zip(builder.ids, builder.lines, strict=True))
    places = [f"{lines[id]} (id {id!r})" for id in found[:MAX_NAMED_LINES]]
    places += ["…"] if len(found) > MAX_NAMED_LINES else []
    message = f"the parent {label!r} is the label of several concepts, on lines "
    fix = "write the id of one of them, or rename the others"
    raise FormatError(builder.path, f"{message}{', '.join(places)}", fix=fix, line=line)


def is_root_marker(value: str) -> bool:
    """Return whether a value means "no parent", unless it is the id of a concept."""
    return value.casefold() in ROOT_MARKERS


def root_marker_notes(markers: Mapping[str, Sequence[int]]) -> list[Note]:
    """Return one note per value that is read as "no parent", with its first line and its count."""
    notes = []
    for value, lines in markers.items():
        times = f" ({len(lines):,} times)" if len(lines) > 1 else ""
        message = f"no concept has the id {value!r}; it is read as a blank parent{times}"
        notes.append(Note(lines[0], message))
    return notes


def _values(row: Row, column: str, known: Collection[str], separator: str) -> tuple[str, ...]:
    """Return the values of a cell; a known id or label may contain the separator."""
    cell = row[column]
    return (cell,) if cell in known else row.many(column, separator)


def _footer_notes(table: Table, builder: TaxonomyBuilder, taxonomy: Taxonomy) -> list[Note]:
    """Return notes about concepts without relations in the last rows, below a blank row."""
    notes = list[Note]()
    for id, line in zip(reversed(builder.ids), reversed(builder.lines), strict=True):
        if len(notes) == MAX_FOOTER or taxonomy.parents(id) or taxonomy.children(id):
            return []
        message = f"{id!r} is below a blank row, and has neither a parent nor children"
        notes.append(Note(line, f"{message}; remove the row if it is not a concept", id=id))
        # Cells may have lone carriage returns, which only the CSV reader counts as lines.
        above = table.file.lines[line - 2 : line - 1]
        if above and not above[0].strip().strip(table.delimiter):
            return notes[::-1]
    return []


@dataclass(frozen=True)
class _RowWriter:
    """A writer of rows and cells; without ids, `names` has the labels of new concepts by id."""

    read: _ConceptTable
    expanded: Taxonomy
    names: Mapping[str, str]

    def row(self, concept: Concept, parents: Sequence[str]) -> dict[str, str]:
        """Return the cells of a new concept."""
        self._refuse_ambiguous(concept.label, parents)
        separator = self.read.separators["parents"]
        has_separator = separator in concept.id and concept.id != concept.label
        if has_separator and not any(separator in id for id in self.read.parsed.taxonomy.ids):
            message = f"the id {concept.id!r} contains {separator!r}, which separates values"
            raise FormatError(self.read.table.file.path, message, fix="give another id")
        cells = {
            "id": concept.id,
            "label": concept.label,
            "definition": concept.definition,
            "synonyms": self.read.separators["synonyms"].join(concept.synonyms),
            **({} if self.read.by_codes else self._parent_texts(parents)),
        }
        if self.read.levels:
            names = self.read.table.columns.levels
            path = self.expanded.path(concept.id)
            cells |= zip(names, cells_for(path, self.read.levels, len(names)), strict=True)
        return cells

    def edits(self, additions: Additions) -> dict[int, dict[str, str]]:
        """Return the changed cells of existing concepts, by row and column."""
        table = self.read.table
        synonyms = additions.names
        edits = {}
        moves: dict[str, list[Move]] = {}
        for move in additions.moves:
            moves.setdefault(move.child, []).append(move)
        for number, row in enumerate(table.rows if moves or synonyms else ()):
            id, _ = _id_and_label(table, row)
            columns = [name for name in ("parents", "parent_label") if id in moves and row[name]]
            cells = {name: self._moved(row, name, moves[id]) for name in columns}
            if id in synonyms and table.has("synonyms"):
                values = [row["synonyms"], *synonyms[id]]
                cells["synonyms"] = self.read.separators["synonyms"].join(filter(None, values))
            if cells:
                edits[number] = cells
        return edits

    def _moved(self, row: Row, column: str, moves: Sequence[Move]) -> str:
        """Return the cell of a moved concept with its new parents."""

        def text(id: str) -> str:
            return self._parent_texts([self.names.get(id, id)])[column]

        child = self.expanded.concept(moves[0].child)
        self._refuse_ambiguous(child.label, [text(id) for id in self.expanded.parents(child.id)])
        cell = row.cells[row.columns[column]]
        separator = self.read.separators[column]
        for _, old_parent, new_parent in moves:
            old = text(old_parent)
            new = text(new_parent)
            parts = [cell] if cell.strip() == old else cell.split(separator)
            cell = separator.join(
                part.replace(old, new) if part.strip() == old else part for part in parts
            )
        return cell

    def _parent_texts(self, parents: Sequence[str]) -> dict[str, str]:
        """Return the cells of the columns `parents` and `parent_label` for these parents."""
        expanded = self.expanded
        by_label = self.read.by_label
        labels = [expanded.concept(id).label if id in expanded else id for id in parents]
        if by_label or not self.read.table.has("parents"):
            for id, label in zip(parents, labels, strict=True):
                if self._label_counts[label] > 1:
                    message = f"several concepts have the label {label!r}, and parents are labels"
                    fix = f"rename one of them, or choose another parent than {id!r}"
                    raise FormatError(self.read.table.file.path, f"{message} here", fix=fix)
        texts = {"parents": labels if by_label else parents, "parent_label": labels}
        return {name: self.read.separators[name].join(values) for name, values in texts.items()}

    @cached_property
    def _label_counts(self) -> Counter[str]:
        return Counter(self.expanded.labels)

    def _refuse_ambiguous(self, label: str, parents: Sequence[str]) -> None:
        """Refuse several parents if one of their ids contains the separator."""
        separator = self.read.separators["parents"]
        joined = separator.join(parents)
        clash = joined if joined in self.expanded else None
        found = len(parents) > 1 and next((id for id in parents if separator in id), clash)
        if found:
            message = f"the id {found!r} contains {separator!r}, which separates parents"
            path = self.read.table.file.path
            raise FormatError(path, message, fix=f"choose one parent for {label!r}")


def _separators_are_safe(taxonomy: Taxonomy) -> bool:
    """Return whether no id with a separator is, or looks like, several parents of a concept."""
    several = [parents for parents in map(taxonomy.parents, taxonomy) if len(parents) > 1]
    parts = {id for parents in several for id in (*parents, VALUE_SEPARATOR.join(parents))}
    return not any(VALUE_SEPARATOR in id for id in parts if id in taxonomy)
