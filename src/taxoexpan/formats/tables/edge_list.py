"""An edge list: a table with the columns `child` and `parent`, where a name is its own id."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.output import Copy, Insertions, Target
from taxoexpan.formats.tables.cells import placed_rows
from taxoexpan.formats.tables.table_file import Table, names_as_ids, open_if_table, table_text
from taxoexpan.formats.text_file import Insertion, TextFile
from taxoexpan.taxonomy import Additions, Move, Taxonomy
from taxoexpan.taxonomy.ids import make_distinct

NAME = "edges"
ABOUT = "a table child,parent; a name is its own id; a root has a blank parent"

SUFFIXES: tuple[str, ...] = ()
NOT_INSERTED: tuple[str, ...] = ()


def can_read(source: TextFile) -> bool:
    """Whether the header names a child and a parent."""
    table = open_if_table(source)
    return table is not None and table.has("child", "parent")


def read(source: TextFile) -> ParsedTaxonomy:
    """Every name in either column is a concept; one with a blank parent is a root."""
    table, draft = Table.open(source), TaxonomyBuilder(source.path)
    if not table.has("child", "parent"):
        message = f"the header must name child and parent; it is {list(table.header)}"
        raise FormatError(source.path, message, 1)
    first_lines: dict[str, int] = {}
    lines = []
    for line, row in table.rows():
        child, parent = row["child"], row["parent"]
        if not child:
            raise FormatError(source.path, "the child is blank; name it, or remove the row", line)
        first_lines.setdefault(child, line)
        if parent:
            first_lines.setdefault(parent, line)
            draft.parents.append(parent)
            draft.children.append(child)
            lines.append(line)
    draft.ids, draft.labels = list(first_lines), list(first_lines)
    draft.lines, draft.relation_lines = list(first_lines.values()), lines
    draft.ignored.update(table.other_columns("child", "parent"))
    return draft.finish()


def extend(source: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
    """A row for each new relation; where a child moves, its row names another parent."""
    table = Table.open(source)
    names = names_as_ids(source, expanded, additions)
    placed = {child for _, child in additions.relations}
    roots = [("", concept.id) for concept in additions.concepts if concept.id not in placed]
    rows = [
        {"child": names.get(child, child), "parent": names.get(parent, parent)}
        for parent, child in [*additions.relations, *roots]
    ]
    moved = _moved(table, additions.moves, names) if additions.moves else ()
    return {source.path: [*moved, *source.append(table.written(rows))]}


def write(taxonomy: Taxonomy, target: Target) -> Copy:
    """A table anew; a label that several concepts share is told apart by the id."""
    shared = Counter(taxonomy.labels)
    names = {
        id: (label if shared[label] == 1 else f"{label} ({id})").strip() or id.strip() or "concept"
        # Those that need nothing come first, so that what is made up gives way to them.
        for label, id in sorted(
            zip(taxonomy.labels, taxonomy.ids, strict=True), key=lambda name: shared[name[0]] > 1
        )
    }
    ids = dict(zip(names, make_distinct(list(names.values())), strict=True))
    roots = [(ids[id], "") for id in taxonomy.roots]
    rows = [(ids[child], ids[parent]) for parent, child in taxonomy.relations]
    return Copy({target.path: table_text(target.path, ("child", "parent"), [*roots, *rows])}, ids)


def supported_fields(source: TextFile) -> frozenset[str]:
    """A name alone."""
    return frozenset({"labels"})


def supported_changes(source: TextFile) -> frozenset[str]:
    """A relation is a row of its own."""
    return frozenset({"moves"})


def _moved(table: Table, moves: Sequence[Move], names: Mapping[str, str]) -> Iterator[Insertion]:
    joined = {
        (shift.old_parent, shift.child): names.get(shift.new_parent, shift.new_parent)
        for shift in moves
    }
    place = table.columns["parent"]
    for row, cells in placed_rows(table):
        new = joined.get((row["parent"], row["child"]))
        if new is not None and place is not None:
            yield cells[place].rewritten(table, new)
