"""One row a concept: a table with some of `id,label,parents,definition,synonyms`."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from taxoexpan.errors import FormatError
from taxoexpan.formats.builder import ParsedTaxonomy, TaxonomyBuilder
from taxoexpan.formats.output import Copy, Insertions, Target, renamed
from taxoexpan.formats.tables.cells import placed_rows
from taxoexpan.formats.tables.table_file import (
    MANY,
    Row,
    Table,
    names_as_ids,
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


def can_read(source: TextFile) -> bool:
    """Whether the header names the concept and its parents."""
    table = open_if_table(source)
    return table is not None and _complete(table)


def read(source: TextFile) -> ParsedTaxonomy:
    """A concept without an id is known by its label, one without a label by its id."""
    table, draft = Table.open(source), TaxonomyBuilder(source.path)
    if not _complete(table):
        message = f"the header must name id or label, and parents; it is {list(table.header)}"
        raise FormatError(source.path, message, 1)
    rows = list(table.rows())
    draft.lines = [line for line, _ in rows]
    for line, row in rows:
        id = row["id"] or row["label"]
        if not id:
            message = "neither an id nor a label; name the concept, or remove the row"
            raise FormatError(source.path, message, line)
        if row["synonyms"]:
            draft.synonyms[len(draft.ids)] = row.many("synonyms")
        if row["definition"]:
            draft.definitions[len(draft.ids)] = row["definition"]
        if row["deprecated"].casefold() in _TRUE:
            draft.deprecated.append(len(draft.ids))
        draft.ids.append(id)
        draft.labels.append(row["label"] or id)
    _relate(draft, rows)
    draft.ignored.update(
        table.other_columns("id", "label", "parents", "definition", "synonyms", "deprecated")
    )
    return draft.finish()


def extend(source: TextFile, expanded: Taxonomy, additions: Additions) -> Insertions:
    """A row for each new concept; of an old one that changes, the cells that tell so."""
    table = Table.open(source)
    names = {} if table.has("id") else names_as_ids(source, expanded, additions)
    parents: dict[str, list[str]] = {}
    for parent, child in additions.relations:
        parents.setdefault(child, []).append(names.get(parent, parent))
    rows = [_row(source, expanded, c, parents.get(c.id, [])) for c in additions.concepts]
    changed = _changed(table, expanded, additions, names)
    return {source.path: [*changed, *source.append(table.written(rows))]}


def write(taxonomy: Taxonomy, target: Target) -> Copy:
    """A table anew; what stands between several values becomes `/` inside one."""
    between = MANY if _told_apart(taxonomy) else "/"
    ids = renamed(taxonomy, lambda id: id.replace(MANY, between).strip())
    header = ["id", "label", "parents", "definition", "synonyms"]
    header += ["deprecated"] if taxonomy.deprecated else []
    rows = [
        [
            ids[concept.id],
            concept.label,
            MANY.join(ids[parent] for parent in taxonomy.parents(concept.id)),
            concept.definition,
            MANY.join(name.replace(MANY, "/") for name in concept.synonyms),
            "true" if concept.deprecated else "",
        ][: len(header)]
        for concept in taxonomy.concepts
    ]
    return Copy({target.path: table_text(target.path, header, rows)}, ids)


def supported_fields(source: TextFile) -> frozenset[str]:
    """What the header has a column for; a table without labels shows ids alone."""
    table = Table.open(source)
    return frozenset(name for name, column in _COLUMNS.items() if table.has(column))


def supported_changes(source: TextFile) -> frozenset[str]:
    """Parents are in a cell of their own; so are synonyms, if there is a column for them."""
    return frozenset({"moves", "synonyms"} if Table.open(source).has("synonyms") else {"moves"})


def _changed(
    table: Table, expanded: Taxonomy, additions: Additions, names: Mapping[str, str]
) -> Iterator[Insertion]:
    """The cells of old concepts that move, or that get further names."""
    moves: dict[str, list[Move]] = {}
    for shift in additions.moves:
        moves.setdefault(shift.child, []).append(shift)
    further = additions.names
    parents, synonyms = table.columns["parents"], table.columns["synonyms"]
    for row, cells in placed_rows(table) if moves or further else ():
        id = row["id"] or row["label"]
        if id in moves and parents is not None:
            above = [names.get(parent, parent) for parent in expanded.parents(id)]
            _refuse_mistakable(table.source, expanded, expanded.concept(id).label, above)
            told = cells[parents].text
            for _, left, joined in moves[id]:
                told = _with_parent(told, left, names.get(joined, joined))
            yield cells[parents].rewritten(table, told)
        if id in further and synonyms is not None:
            known = [cells[synonyms].text.strip(), *further[id]]
            yield cells[synonyms].rewritten(table, MANY.join(filter(None, known)))


def _with_parent(cell: str, left: str, joined: str) -> str:
    """A cell of parents, one of them another."""
    if cell.strip() == left:
        return joined
    parts = cell.split(MANY)
    return MANY.join(p.replace(left, joined) if p.strip() == left else p for p in parts)


def _complete(table: Table) -> bool:
    return (table.has("id") or table.has("label")) and table.has("parents")


def _told_apart(taxonomy: Taxonomy) -> bool:
    """Whether ids that hold the separator do no harm: none is, or looks like, several parents."""
    several = [parents for parents in map(taxonomy.parents, taxonomy) if len(parents) > 1]
    return not any(
        MANY.join(parents) in taxonomy or any(MANY in id for id in parents) for parents in several
    )


def _relate(draft: TaxonomyBuilder, rows: list[tuple[int, Row]]) -> None:
    known, lines = set(draft.ids), []
    for id, (line, row) in zip(draft.ids, rows, strict=True):
        cell = row["parents"]
        # An id may itself hold the separator.
        for parent in (cell,) if cell in known else row.many("parents"):
            draft.parents.append(parent)
            draft.children.append(id)
            lines.append(line)
    draft.relation_lines = lines


def _row(
    source: TextFile, expanded: Taxonomy, concept: Concept, parents: list[str]
) -> dict[str, str]:
    _refuse_mistakable(source, expanded, concept.label, parents)
    return {
        "id": concept.id,
        "label": concept.label,
        "parents": MANY.join(parents),
        "definition": concept.definition,
        "synonyms": MANY.join(concept.synonyms),
    }


def _refuse_mistakable(
    source: TextFile, expanded: Taxonomy, label: str, parents: list[str]
) -> None:
    """Several parents in one cell must be told apart by what stands between them."""
    together = MANY.join(parents)
    clash = together if together in expanded else None
    apart = len(parents) > 1 and next((id for id in parents if MANY in id), clash)
    if apart:
        message = f"the id {apart!r} holds {MANY!r}, which stands between several parents"
        raise FormatError(source.path, f"{message}; choose one parent for {label!r}")
