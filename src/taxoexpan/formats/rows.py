"""One row a concept: a table with some of `id,label,parents,definition,synonyms`."""

from __future__ import annotations

from taxoexpan.errors import FormatError
from taxoexpan.formats.copying import Copy, Insertions, Target, renamed
from taxoexpan.formats.draft import Document, Draft
from taxoexpan.formats.source import Source
from taxoexpan.formats.tabular import MANY, Row, Table, names_as_ids, open_if_table, table_text
from taxoexpan.taxonomy import Additions, Concept, Taxonomy

NAME = "rows"
ABOUT = "a table id,label,parents,definition,synonyms; several values in a cell: a|b"
SUFFIXES = (".csv", ".tsv", ".tab")
LACKS: tuple[str, ...] = ()

_COLUMNS = {
    "ids": "id",
    "labels": "label",
    "synonyms": "synonyms",
    "definitions": "definition",
    "deprecated": "deprecated",
}
_TRUE = ("true", "yes", "1")


def recognises(source: Source) -> bool:
    """Whether the header names the concept and its parents."""
    table = open_if_table(source)
    return table is not None and _complete(table)


def read(source: Source) -> Document:
    """A concept without an id is known by its label, one without a label by its id."""
    table, draft = Table.open(source), Draft(source.path)
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
    draft.beside.update(
        table.beside("id", "label", "parents", "definition", "synonyms", "deprecated")
    )
    return draft.finish()


def extend(source: Source, expanded: Taxonomy, additions: Additions) -> Insertions:
    """A row for each new concept, with its parents in one cell."""
    table = Table.open(source)
    names = {} if table.has("id") else names_as_ids(source, expanded, additions)
    parents: dict[str, list[str]] = {}
    for parent, child in additions.relations:
        parents.setdefault(child, []).append(names.get(parent, parent))
    rows = [_row(source, expanded, c, parents.get(c.id, [])) for c in additions.concepts]
    return {source.path: source.appended(table.written(rows))}


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


def holds(source: Source) -> frozenset[str]:
    """What the header has a column for; a table without labels shows ids alone."""
    table = Table.open(source)
    return frozenset(name for name, column in _COLUMNS.items() if table.has(column))


def _complete(table: Table) -> bool:
    return (table.has("id") or table.has("label")) and table.has("parents")


def _told_apart(taxonomy: Taxonomy) -> bool:
    """Whether ids that hold the separator do no harm: none is, or looks like, several parents."""
    several = [parents for parents in map(taxonomy.parents, taxonomy) if len(parents) > 1]
    return not any(
        MANY.join(parents) in taxonomy or any(MANY in id for id in parents) for parents in several
    )


def _relate(draft: Draft, rows: list[tuple[int, Row]]) -> None:
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
    source: Source, expanded: Taxonomy, concept: Concept, parents: list[str]
) -> dict[str, str]:
    together = MANY.join(parents)
    clash = together if together in expanded else None
    apart = len(parents) > 1 and next((id for id in parents if MANY in id), clash)
    if apart:
        message = f"the id {apart!r} holds {MANY!r}, which stands between several parents"
        raise FormatError(source.path, f"{message}; choose one parent for {concept.label!r}")
    return {
        "id": concept.id,
        "label": concept.label,
        "parents": together,
        "definition": concept.definition,
        "synonyms": MANY.join(concept.synonyms),
    }
