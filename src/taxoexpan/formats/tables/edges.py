"""Edge lists: tables with the columns `child` and `parent`, in which labels are ids."""

from __future__ import annotations

from collections import Counter

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import Note, ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.format import Copy, Format, Insertions, Target, labels_as_ids
from taxoexpan.formats.tables.column_notes import column_notes
from taxoexpan.formats.tables.columns import find_column
from taxoexpan.formats.tables.rows import is_root_marker, root_marker_notes
from taxoexpan.formats.tables.table import Table, column_error, open_if_table, table_text
from taxoexpan.formats.text_file import TextFile
from taxoexpan.taxonomy import Additions, Taxonomy
from taxoexpan.taxonomy.ids import make_distinct


class EdgesFormat(Format):
    """Tables with one row per relation."""

    fields = frozenset({"labels"})
    changes = frozenset({"moves"})
    is_table = True

    def can_read(self, file: TextFile) -> bool:
        """Return whether the header has a child and a parent column."""
        table = open_if_table(file)
        return table is not None and table.has("child", "parent")

    def read(self, file: TextFile) -> ParsedTaxonomy:
        """Read every label in either column as a concept; a root has an empty parent."""
        table = file.parsed(Table.open)
        builder = TaxonomyBuilder(file.path)
        if not table.has("child", "parent"):
            raise column_error(table, "the table needs the columns child and parent")
        first_lines: dict[str, int] = {}
        markers: dict[str, list[int]] = {}
        # A number may be an id, even of a root.
        children = {"0", *(row["child"] for row in table.rows)}
        for row in table.rows:
            child = row["child"]
            parent = row["parent"]
            line = row.line
            if not child:
                raise FormatError(
                    file.path, "the child is empty", fix="name it, or remove the row", line=line
                )
            first_lines.setdefault(child, line)
            if parent not in children and is_root_marker(parent):
                markers.setdefault(parent, []).append(line)
            elif parent:
                first_lines.setdefault(parent, line)
                builder.relate(parent, child, line)
        builder.ids = list(first_lines)
        builder.labels = list(first_lines)
        builder.lines = list(first_lines.values())
        builder.notes += root_marker_notes(markers)
        builder.notes += _unread_names(table)
        builder.notes += column_notes(table, "the columns child and parent", "child", "parent")
        builder.ignored.update(table.other_columns("child", "parent"))
        return builder.finish()

    def extend(self, file: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
        """Append one row per new relation; moves replace the parent in the row of the child."""
        table = file.parsed(Table.open)
        names = labels_as_ids(file, expanded, additions)
        placed = {child for _, child in additions.relations}
        roots = [("", concept.id) for concept in additions.concepts if concept.id not in placed]
        rows = [
            {"child": names.get(child, child), "parent": names.get(parent, parent)}
            for parent, child in [*additions.relations, *roots]
        ]
        moved = {(old, child): names.get(new, new) for child, old, new in additions.moves}
        edits = {
            number: {"parent": moved[row["parent"], row["child"]]}
            for number, row in enumerate(table.rows)
            if (row["parent"], row["child"]) in moved
        }
        return {file.path: [*table.replace_cells(edits), *file.append(table.new_lines(rows))]}

    def write(self, taxonomy: Taxonomy, target: Target) -> Copy:
        """Write a new table; the id is added to labels that several concepts share."""
        shared = Counter(taxonomy.labels)
        # Unique labels come first, so that they stay unchanged and others get the numbers.
        concepts = sorted(taxonomy.concepts, key=lambda concept: shared[concept.label] > 1)
        names = [
            (c.label if shared[c.label] == 1 else f"{c.label} ({c.id})").strip()
            or c.id.strip()
            or "concept"
            for c in concepts
        ]
        ids = dict(zip((c.id for c in concepts), make_distinct(names), strict=True))
        rows = [(ids[id], "") for id in taxonomy.roots]
        rows += [(ids[child], ids[parent]) for parent, child in taxonomy.relations]
        return Copy({target.path: table_text(target.path, ("child", "parent"), rows)}, ids)


def _unread_names(table: Table) -> list[Note]:
    """Return a note if the table also has names of the children, which are read as ids."""
    index = table.columns.indices["child"]
    found = (find_column(table.header, name) for name in ("childlabel", "childname"))
    name = next((table.header[i] for i in found if i is not None and i != index), "")
    message = f"the labels are those in {table.header[index]!r}, and {name!r} is not read"
    fix = f'choose the columns with the names, as in child="{name}",parent=…'
    return [Note(table.line, f"{message}; {fix}")] if name else []
