"""Tables with one row per concept: some of `id,label,parents,definition,synonyms`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.output import Copy, Insertions, Target, clean_ids
from taxoexpan.formats.tables.cells import rows_with_cells
from taxoexpan.formats.tables.table_file import (
    VALUE_SEPARATOR,
    Row,
    Table,
    labels_as_ids,
    open_if_table,
    table_text,
)
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.taxonomy import Additions, Concept, Move, Taxonomy

NAME = "rows"
ABOUT = "a table id,label,parents,definition,synonyms; several values in a cell: a|b"
SUFFIXES = (".csv", ".tsv", ".tab")
NOT_INSERTED: tuple[str, ...] = ()

_COLUMNS = {
    "ids": "id",
    "labels": "label",
    "synonyms": "synonyms",
    "definitions": "definition",
    "deprecated": "deprecated",
}
_TRUE = ("true", "yes", "1")


def can_read(file: TextFile) -> bool:
    """Whether the header has an id or a label column, and a parents column."""
    table = open_if_table(file)
    return table is not None and _has_columns(table)


def read(file: TextFile) -> ParsedTaxonomy:
    """Read one concept per row; the label replaces a missing id, and the id a missing label."""
    table, builder = Table.open(file), TaxonomyBuilder(file.path)
    if not _has_columns(table):
        message = f"the header must have id or label, and parents, but is {list(table.header)}"
        raise FormatError(file.path, message, 1)
    rows = list(table.rows())
    builder.lines = [line for line, _ in rows]
    for line, row in rows:
        id = row["id"] or row["label"]
        if not id:
            message = "the row has neither an id nor a label; add one, or remove the row"
            raise FormatError(file.path, message, line)
        if row["synonyms"]:
            builder.synonyms[len(builder.ids)] = row.many("synonyms")
        if row["definition"]:
            builder.definitions[len(builder.ids)] = row["definition"]
        if row["deprecated"].casefold() in _TRUE:
            builder.deprecated.append(len(builder.ids))
        builder.ids.append(id)
        builder.labels.append(row["label"] or id)
    _relate(builder, rows)
    builder.ignored.update(
        table.other_columns("id", "label", "parents", "definition", "synonyms", "deprecated")
    )
    return builder.finish()


def extend(file: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
    """Append one row per new concept; replace the cells of existing concepts that change."""
    table = Table.open(file)
    names = {} if table.has("id") else labels_as_ids(file, expanded, additions)
    parents: dict[str, list[str]] = {}
    for parent, child in additions.relations:
        parents.setdefault(child, []).append(names.get(parent, parent))
    rows = [_row(file, expanded, c, parents.get(c.id, [])) for c in additions.concepts]
    changed = _replace_cells(table, expanded, additions, names)
    return {file.path: [*changed, *file.append(table.new_lines(rows))]}


def write(taxonomy: Taxonomy, target: Target) -> Copy:
    """Write a new table; a `|` inside an id or a synonym becomes `/` if it would be ambiguous."""
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
            VALUE_SEPARATOR.join(name.replace(VALUE_SEPARATOR, "/") for name in concept.synonyms),
            "true" if concept.deprecated else "",
        ][: len(header)]
        for concept in taxonomy.concepts
    ]
    return Copy({target.path: table_text(target.path, header, rows)}, ids)


def supported_fields(file: TextFile) -> frozenset[str]:
    """The fields with a column in the header."""
    table = Table.open(file)
    return frozenset(name for name, column in _COLUMNS.items() if table.has(column))


def supported_changes(file: TextFile) -> frozenset[str]:
    """Moves, and synonyms if there is a column for them."""
    return frozenset({"moves", "synonyms"} if Table.open(file).has("synonyms") else {"moves"})


def _replace_cells(
    table: Table, expanded: Taxonomy, additions: Additions, names: Mapping[str, str]
) -> Iterator[Insertion]:
    """Replace the cells of existing concepts that move or get synonyms."""
    moves: dict[str, list[Move]] = {}
    for move in additions.moves:
        moves.setdefault(move.child, []).append(move)
    new_names = additions.names
    parents, synonyms = table.columns["parents"], table.columns["synonyms"]
    for row, cells in rows_with_cells(table) if moves or new_names else ():
        id = row["id"] or row["label"]
        if id in moves and parents is not None:
            all_parents = [names.get(parent, parent) for parent in expanded.parents(id)]
            _refuse_ambiguous(table.file, expanded, expanded.concept(id).label, all_parents)
            cell = cells[parents].text
            for _, old, new in moves[id]:
                cell = _replace_parent(cell, old, names.get(new, new))
            yield cells[parents].replaced_by(table, cell)
        if id in new_names and synonyms is not None:
            values = [cells[synonyms].text.strip(), *new_names[id]]
            yield cells[synonyms].replaced_by(table, VALUE_SEPARATOR.join(filter(None, values)))


def _replace_parent(cell: str, old: str, new: str) -> str:
    """Replace one parent in a cell of parents."""
    if cell.strip() == old:
        return new
    parts = cell.split(VALUE_SEPARATOR)
    return VALUE_SEPARATOR.join(p.replace(old, new) if p.strip() == old else p for p in parts)


def _has_columns(table: Table) -> bool:
    return (table.has("id") or table.has("label")) and table.has("parents")


def _separators_are_safe(taxonomy: Taxonomy) -> bool:
    """Whether no id with a separator is, or looks like, several parents of a concept."""
    several = [parents for parents in map(taxonomy.parents, taxonomy) if len(parents) > 1]
    return not any(
        VALUE_SEPARATOR.join(parents) in taxonomy or any(VALUE_SEPARATOR in id for id in parents)
        for parents in several
    )


def _relate(builder: TaxonomyBuilder, rows: list[tuple[int, Row]]) -> None:
    known, lines = set(builder.ids), []
    for id, (line, row) in zip(builder.ids, rows, strict=True):
        cell = row["parents"]
        # An id may contain the separator.
        for parent in (cell,) if cell in known else row.many("parents"):
            builder.parents.append(parent)
            builder.children.append(id)
            lines.append(line)
    builder.relation_lines = lines


def _row(
    file: TextFile, expanded: Taxonomy, concept: Concept, parents: list[str]
) -> dict[str, str]:
    _refuse_ambiguous(file, expanded, concept.label, parents)
    return {
        "id": concept.id,
        "label": concept.label,
        "parents": VALUE_SEPARATOR.join(parents),
        "definition": concept.definition,
        "synonyms": VALUE_SEPARATOR.join(concept.synonyms),
    }


def _refuse_ambiguous(file: TextFile, expanded: Taxonomy, label: str, parents: list[str]) -> None:
    """Refuse several parents if one of their ids contains the separator."""
    joined = VALUE_SEPARATOR.join(parents)
    clash = joined if joined in expanded else None
    ambiguous = len(parents) > 1 and next((id for id in parents if VALUE_SEPARATOR in id), clash)
    if ambiguous:
        message = f"the id {ambiguous!r} contains {VALUE_SEPARATOR!r}, which separates parents"
        raise FormatError(file.path, f"{message}; choose one parent for {label!r}")
