"""Edge lists: tables with the columns `child` and `parent`, in which a label is its own id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.format import Copy, Format, Insertions, Target
from taxoexpan.formats.property_index import PropertyIndex
from taxoexpan.formats.tables.cells import rows_with_cells
from taxoexpan.formats.tables.parent_cells import is_root_marker, root_marker_notes
from taxoexpan.formats.tables.table_file import (
    Table,
    column_error,
    labels_as_ids,
    open_if_table,
    table_text,
)
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.taxonomy import Additions, Move, Taxonomy
from taxoexpan.taxonomy.ids import make_distinct


class EdgesFormat(Format):
    """Tables with one row per relation."""

    fields = frozenset({"labels"})
    changes = frozenset({"moves"})
    is_table = True

    def can_read(self, file: TextFile) -> bool:
        """Whether the header has a child and a parent column."""
        table = open_if_table(file)
        return table is not None and table.has("child", "parent")

    def read(self, file: TextFile) -> ParsedTaxonomy:
        """Read every label in either column as a concept; a root has an empty parent."""
        table, builder = file.parsed(Table.open), TaxonomyBuilder(file.path)
        if not table.has("child", "parent"):
            raise column_error(table, "the table needs the columns child and parent")
        first_lines: dict[str, int] = {}
        lines, markers = list[int](), dict[str, list[int]]()
        rows = table.rows()
        # A number may be an id, even of a root.
        children = {"0", *(row["child"] for _, row in rows)}
        for line, row in rows:
            child, parent = row["child"], row["parent"]
            if not child:
                raise FormatError(file.path, "the child is empty; name it, or remove the row", line)
            first_lines.setdefault(child, line)
            if parent not in children and is_root_marker(parent):
                markers.setdefault(parent, []).append(line)
            elif parent:
                first_lines.setdefault(parent, line)
                builder.parents.append(parent)
                builder.children.append(child)
                lines.append(line)
        builder.ids, builder.labels = list(first_lines), list(first_lines)
        builder.lines, builder.relation_lines = list(first_lines.values()), lines
        builder.notes += [*root_marker_notes(markers), *table.repeated_headers]
        builder.ignored.update(table.other_columns("child", "parent"))
        return builder.finish()

    def extend(self, file: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
        """Append one row per new relation; moves replace the parent in the row of the child."""
        table = Table.open(file)
        names = labels_as_ids(file, expanded, additions)
        placed = {child for _, child in additions.relations}
        roots = [("", concept.id) for concept in additions.concepts if concept.id not in placed]
        rows = [
            {"child": names.get(child, child), "parent": names.get(parent, parent)}
            for parent, child in [*additions.relations, *roots]
        ]
        moved = _apply_moves(table, additions.moves, names) if additions.moves else ()
        return {file.path: [*moved, *file.append(table.new_lines(rows))]}

    def write(self, taxonomy: Taxonomy, target: Target) -> Copy:
        """Write a new table; the id is added to labels that several concepts share."""
        shared = Counter(taxonomy.labels)
        names = {
            id: (label if shared[label] == 1 else f"{label} ({id})").strip()
            or id.strip()
            or "concept"
            # Unique labels come first, so that they stay unchanged and others get the numbers.
            for label, id in sorted(
                zip(taxonomy.labels, taxonomy.ids, strict=True),
                key=lambda name: shared[name[0]] > 1,
            )
        }
        ids = dict(zip(names, make_distinct(list(names.values())), strict=True))
        roots = [(ids[id], "") for id in taxonomy.roots]
        rows = [(ids[child], ids[parent]) for parent, child in taxonomy.relations]
        return Copy(
            {target.path: table_text(target.path, ("child", "parent"), [*roots, *rows])}, ids
        )

    def index_properties(self, file: TextFile, taxonomy: Taxonomy) -> PropertyIndex:
        """Which other columns have a value in a row of each concept."""
        table, index = file.parsed(Table.open), PropertyIndex(set(taxonomy))
        for _, row in table.rows():
            index.add(row["child"], table.other_values(row, "child", "parent"))
        return index


def _apply_moves(
    table: Table, moves: Sequence[Move], names: Mapping[str, str]
) -> Iterator[Insertion]:
    """Replace the parent in the rows of moved concepts."""
    new_parents = {(m.old_parent, m.child): names.get(m.new_parent, m.new_parent) for m in moves}
    column = table.columns.indices["parent"]
    for row, cells in rows_with_cells(table):
        new = new_parents.get((row["parent"], row["child"]))
        if new is not None:
            yield cells[column].replaced_by(table, new)
