"""Tables with one row per concept: some of `id,label,parents,definition,synonyms`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from taxoexpan.errors import FileCycleError, FormatError
from taxoexpan.formats.builder import Note, ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.format import Copy, Format, Insertions, Target, clean_ids
from taxoexpan.formats.property_index import PropertyIndex
from taxoexpan.formats.tables.cells import rows_with_cells
from taxoexpan.formats.tables.level_cells import LevelStyle, cells_for, level_texts, style_of
from taxoexpan.formats.tables.parent_cells import ParentCells, ParentWriter
from taxoexpan.formats.tables.table_file import (
    VALUE_SEPARATOR,
    Row,
    Table,
    column_error,
    labels_as_ids,
    open_if_table,
    table_text,
)
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy

_COLUMNS = {
    "ids": "id",
    "labels": "label",
    "synonyms": "synonyms",
    "definitions": "definition",
    "deprecated": "deprecated",
}
_KNOWN = ("parents", "parent_label", *_COLUMNS.values())
MAX_FOOTER = 3
"""The number of rows below a blank row that may be a footer."""
_TRUE = ("true", "yes", "1")


@dataclass(frozen=True)
class _ConceptTable:
    """A table that was read, and how its cells name parents and paths."""

    parsed: ParsedTaxonomy
    rows: list[Row]
    parents: ParentCells
    levels: LevelStyle | None


class RowsFormat(Format):
    """Tables with one row per concept."""

    is_table = True

    def can_read(self, file: TextFile) -> bool:
        """Whether the header has an id or a label column, and a parents column."""
        table = open_if_table(file)
        return table is not None and table.columns.has_parents

    def read(self, file: TextFile) -> ParsedTaxonomy:
        """Read one concept per row; the label replaces a missing id, and the id a missing label."""
        return file.parsed(_read_table).parsed

    def extend(self, file: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
        """Append one row per new concept; replace the cells of existing concepts that change."""
        table, layout = Table.open(file), file.parsed(_read_table)
        for concept in additions.concepts:
            _refuse_separator(file, layout.parsed.taxonomy, concept)
        names = {} if table.has("id") else labels_as_ids(file, expanded, additions)
        parents: dict[str, list[str]] = {}
        for parent, child in additions.relations:
            parents.setdefault(child, []).append(names.get(parent, parent))
        writer = ParentWriter(layout.parents, expanded)
        rows = [_row(layout, writer, c, parents.get(c.id, [])) for c in additions.concepts]
        changed = _replace_cells(writer, additions, names)
        return {file.path: [*changed, *file.append(table.new_lines(rows))]}

    def write(self, taxonomy: Taxonomy, target: Target) -> Copy:
        """Write a new table; a `|` in an id or a synonym becomes `/` if it would be ambiguous."""
        replacement = VALUE_SEPARATOR if _separators_are_safe(taxonomy) else "/"
        ids = clean_ids(taxonomy, lambda id: id.replace(VALUE_SEPARATOR, replacement).strip())
        header = ["id", "label", "parents", "definition", "synonyms"]
        header += ["deprecated"] if taxonomy.deprecated else []
        rows = [
            [
                ids[concept.id],
                concept.label,
                VALUE_SEPARATOR.join(ids[parent] for parent in taxonomy.parents(concept.id)),
                concept.definition,
                VALUE_SEPARATOR.join(
                    name.replace(VALUE_SEPARATOR, "/") for name in concept.synonyms
                ),
                "true" if concept.deprecated else "",
            ][: len(header)]
            for concept in taxonomy.concepts
        ]
        return Copy({target.path: table_text(target.path, header, rows)}, ids)

    def supported_fields(self, file: TextFile) -> frozenset[str]:
        """The fields with a column in the header."""
        table = Table.open(file)
        fields = {name for name, column in _COLUMNS.items() if table.has(column)}
        return frozenset(fields | ({"labels"} if file.parsed(_read_table).levels else set()))

    def supported_changes(self, file: TextFile) -> frozenset[str]:
        """Moves, unless other columns repeat the paths; synonyms if there is a column for them."""
        moves = {"moves"} if file.parsed(_read_table).levels is None else set()
        return frozenset(moves | ({"synonyms"} if Table.open(file).has("synonyms") else set()))

    def index_properties(self, file: TextFile, taxonomy: Taxonomy) -> PropertyIndex:
        """Which columns have a value in the row of each concept, but not those with relations."""
        table, index = Table.open(file), PropertyIndex(set(taxonomy))
        relating = ("parents", "parent_label", "path", "deprecated", *table.columns.levels)
        ignored = {table.columns.indices.get(name) for name in relating}
        names = {i: name for i, name in enumerate(table.header) if name and i not in ignored}
        # Every row is one concept, in the same order.
        for row, id in zip(file.parsed(_read_table).rows, taxonomy.ids, strict=False):
            index.add(id, [name for i, name in names.items() if row.cells[i].strip()])
        return index


def _read_table(file: TextFile) -> _ConceptTable:
    table, builder = Table.open(file), TaxonomyBuilder(file.path)
    if not table.columns.has_parents:
        raise column_error(table, "the table needs a column id or label, and a column parent")
    lines_and_rows = table.rows()
    builder.lines = [line for line, _ in lines_and_rows]
    rows = [row for _, row in lines_and_rows]
    for line, row in lines_and_rows:
        _add_concept(builder, table, line, row)
    builder.notes += table.repeated_headers
    cells = ParentCells.of(table, builder, rows)
    try:
        cells.relate(builder, rows)
        parsed = builder.finish()
    except FileCycleError:
        raise
    except FormatError as error:
        raise _with_id_hint(table, error) from None
    style = _level_style(table, builder.ids, parsed.taxonomy, rows)
    known = (*_KNOWN, *(table.columns.levels if style else ()))
    notes = (*parsed.notes, *_footer_notes(table, builder, parsed.taxonomy))
    parsed = replace(parsed, notes=notes, ignored=table.other_columns(*known))
    return _ConceptTable(parsed, rows, cells, style)


def _id_and_label(table: Table, row: Row) -> tuple[str, str]:
    """The id and the label of a row; without a column for labels, the last level is the label."""
    levels = [] if table.has("label") else list(filter(None, level_texts(table, row)))
    label = row["label"] or (levels[-1] if levels else "")
    return row["id"] or label, label


def _add_concept(builder: TaxonomyBuilder, table: Table, line: int, row: Row) -> None:
    id, label = _id_and_label(table, row)
    if not id:
        message = "the row has neither an id nor a label; add one, or remove the row"
        raise FormatError(table.file.path, message, line)
    if row["synonyms"]:
        builder.synonyms[len(builder.ids)] = row.many("synonyms")
    if row["definition"]:
        builder.definitions[len(builder.ids)] = row["definition"]
    if row["deprecated"].casefold() in _TRUE:
        builder.deprecated.append(len(builder.ids))
    builder.ids.append(id)
    builder.labels.append(label or id)


def _footer_notes(table: Table, builder: TaxonomyBuilder, taxonomy: Taxonomy) -> list[Note]:
    """Notes about concepts without relations in the last rows, if a blank row is above them."""
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


def _level_style(
    table: Table, ids: Sequence[str], taxonomy: Taxonomy, rows: Sequence[Row]
) -> LevelStyle | None:
    """The style of the level columns, if they repeat the paths that the parents give."""
    if not table.columns.levels:
        return None
    paths = [
        (level_texts(table, row), taxonomy.path(id)) for id, row in zip(ids, rows, strict=True)
    ]
    return style_of(paths)


def _with_id_hint(table: Table, error: FormatError) -> FormatError:
    """The error, with the advice to choose the column of the ids if the label is the id."""
    if table.has("id") or len(table.header) < 3:
        return error
    problem = f"{error.message}. No column is recognized as the id, so the label is the id"
    return column_error(replace(table, line=error.line or table.line), problem, "id=NAME")


def _replace_cells(
    writer: ParentWriter, additions: Additions, names: Mapping[str, str]
) -> Iterator[Insertion]:
    """Replace the cells of existing concepts that move or get synonyms."""
    table, moves = writer.cells.table, dict[str, list[Move]]()
    for move in additions.moves:
        moves.setdefault(move.child, []).append(move)
    new_names, columns = additions.names, table.columns.indices
    for row, cells in rows_with_cells(table) if moves or new_names else ():
        id, _ = _id_and_label(table, row)
        for name in ("parents", "parent_label") if id in moves else ():
            if table.has(name) and row[name]:
                cell = cells[columns[name]]
                text = _moved(writer, name, cell.text, moves[id], names)
                yield cell.replaced_by(table, text)
        if id in new_names and table.has("synonyms"):
            values = [cells[columns["synonyms"]].text.strip(), *new_names[id]]
            text = VALUE_SEPARATOR.join(filter(None, values))
            yield cells[columns["synonyms"]].replaced_by(table, text)


def _moved(
    writer: ParentWriter, column: str, cell: str, moves: Sequence[Move], names: Mapping[str, str]
) -> str:
    """The cell of a concept that moves, with its new parents."""

    def text(id: str) -> str:
        return writer.texts([names.get(id, id)])[column]

    child, expanded = moves[0].child, writer.expanded
    parents = [text(parent) for parent in expanded.parents(child)]
    _refuse_ambiguous(writer.cells.table.file, expanded, expanded.concept(child).label, parents)
    for _, old, new in moves:
        cell = _replace_parent(cell, text(old), text(new))
    return cell


def _replace_parent(cell: str, old: str, new: str) -> str:
    """Replace one parent in a cell of parents."""
    if cell.strip() == old:
        return new
    parts = cell.split(VALUE_SEPARATOR)
    return VALUE_SEPARATOR.join(p.replace(old, new) if p.strip() == old else p for p in parts)


def _separators_are_safe(taxonomy: Taxonomy) -> bool:
    """Whether no id with a separator is, or looks like, several parents of a concept."""
    several = [parents for parents in map(taxonomy.parents, taxonomy) if len(parents) > 1]
    return not any(
        VALUE_SEPARATOR.join(parents) in taxonomy or any(VALUE_SEPARATOR in id for id in parents)
        for parents in several
    )


def _row(
    layout: _ConceptTable, writer: ParentWriter, concept: Concept, parents: list[str]
) -> dict[str, str]:
    table, expanded = layout.parents.table, writer.expanded
    _refuse_ambiguous(table.file, expanded, concept.label, parents)
    levels = table.columns.levels if layout.levels else ()
    path = expanded.path(concept.id)
    cells = cells_for(path, layout.levels, len(levels)) if layout.levels else ()
    return {
        "id": concept.id,
        "label": concept.label,
        "definition": concept.definition,
        "synonyms": VALUE_SEPARATOR.join(concept.synonyms),
        **writer.texts(parents),
        **dict(zip(levels, cells, strict=True)),
    }


def _refuse_separator(file: TextFile, old: Taxonomy, concept: Concept) -> None:
    """Refuse an id with the separator of values, unless old ids have it too."""
    if VALUE_SEPARATOR in concept.id != concept.label and not any(
        VALUE_SEPARATOR in i for i in old
    ):
        message = f"the id {concept.id!r} contains {VALUE_SEPARATOR!r}, which separates values"
        raise FormatError(file.path, f"{message} in this file; give {concept.label!r} another id")


def _refuse_ambiguous(file: TextFile, expanded: Taxonomy, label: str, parents: list[str]) -> None:
    """Refuse several parents if one of their ids contains the separator."""
    joined = VALUE_SEPARATOR.join(parents)
    clash = joined if joined in expanded else None
    ambiguous = len(parents) > 1 and next((id for id in parents if VALUE_SEPARATOR in id), clash)
    if ambiguous:
        message = f"the id {ambiguous!r} contains {VALUE_SEPARATOR!r}, which separates parents"
        raise FormatError(file.path, f"{message}; choose one parent for {label!r}")
