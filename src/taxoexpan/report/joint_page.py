"""The report about new concepts that were placed together."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from taxoexpan.phrasing import percent, pluralize
from taxoexpan.placement.adding.acceptance import select_additions
from taxoexpan.placement.suggesting.suggestions import Suggestion
from taxoexpan.report.html import (
    Cell,
    Column,
    Details,
    KeyFigure,
    KeyFigures,
    Neighbor,
    Page,
    Row,
    Section,
    Table,
    TextSection,
    Tree,
    TreePosition,
    creation_note,
)
from taxoexpan.report.suggestion_details import concept_facts
from taxoexpan.report.suggestions_page import present_note, present_table
from taxoexpan.taxonomy import Additions, Concept, Taxonomy

MAX_NEIGHBORS = 5
"""The number of siblings, and of children, that are shown of a concept."""

INSTRUCTIONS = (
    "All new concepts were placed together, under existing concepts or under each other. The "
    "score is the probability that the model gives to this parent among all possible ones. It "
    "ranks the suggestions, but it does not say how often they are right: that was learned from "
    "concepts that were placed one at a time.",
    "Open a row to see the tree around the new concept and the concepts under it.",
)


def joint_page(
    taxonomy: Taxonomy,
    suggestions: Sequence[Suggestion],
    title: str,
    created: datetime,
    present: Sequence[tuple[Concept, Concept]] = (),
    added: Additions | None = None,
) -> Page:
    """Return a page with one row per new concept, and the tree around it after the expansion.

    `present` are the listed concepts that the taxonomy already has, each with the existing one.
    `added` are the concepts and relations that were written to the taxonomy, if any.
    """
    additions = select_additions(suggestions) if added is None else added
    new = {concept.id for concept in additions.concepts}
    sections: list[Section] = [_key_figures(suggestions, new, present, added)]
    if suggestions:
        expanded = taxonomy.expanded(additions)
        sections.append(TextSection("How to read this report", INSTRUCTIONS))
        sections.append(_table(expanded, suggestions, new, added))
    if present:
        sections.append(present_table(taxonomy, present))
    count = pluralize(len(suggestions), "new concept")
    subtitle = f"{count} placed together in a taxonomy of {len(taxonomy):,} concepts"
    return Page(title, subtitle, sections, creation_note(created))


def _key_figures(
    suggestions: Sequence[Suggestion],
    new: set[str],
    present: Sequence[tuple[Concept, Concept]],
    added: Additions | None,
) -> KeyFigures:
    """Count the new concepts, and those under another new concept."""
    notes = [] if added is None else [f"{len(added.concepts):,} added"]
    if present:
        notes.append(present_note(present))
    figures = [KeyFigure("New concepts", len(suggestions), "; ".join(notes))]
    if new:
        count = sum({each.parent.id, each.query.id} <= new for each in suggestions)
        figures.append(KeyFigure("Under another new concept", count, percent(count / len(new))))
    return KeyFigures("", figures)


def _table(
    expanded: Taxonomy, suggestions: Sequence[Suggestion], new: set[str], added: Additions | None
) -> Table:
    """Return a table with one row per new concept."""
    columns = [
        Column("New concept"),
        Column("Kind of parent"),
        Column("Parent", "path"),
        Column("Score", "fraction"),
    ]
    if added is not None:
        columns.append(Column("Outcome"))
    queries = {each.query.id for each in suggestions}
    rows = []
    for each in suggestions:
        kind = "new" if each.parent.id in queries else "existing"
        cells: list[Cell] = [each.query.label, kind, each.path, each.score]
        if added is not None:
            cells.append("added" if each.query.id in new else "not added")
        rows.append(Row(cells, _details(expanded, each, new)))
    return Table("Suggestions", columns, rows)


def _details(expanded: Taxonomy, suggestion: Suggestion, new: set[str]) -> Details:
    """Return the facts of a new concept, and the tree around it if it was chosen."""
    query = suggestion.query
    facts = list(concept_facts(query))
    if query.id not in new:
        return Details([], facts)
    sibling_ids = [id for id in expanded.children(suggestion.parent.id) if id != query.id]
    child_ids = expanded.children(query.id)
    siblings, children = (_neighbors(expanded, ids, new) for ids in (sibling_ids, child_ids))
    if len(child_ids) > len(children):
        children.append(Neighbor("…", note=f"and {len(child_ids) - len(children):,} more"))
    more = len(sibling_ids) - len(siblings)
    position = TreePosition(suggestion.path, siblings, more, children, f"{suggestion.score:.2f}")
    return Details([], facts, Tree(query.label, position))


def _neighbors(expanded: Taxonomy, ids: Sequence[str], new: set[str]) -> list[Neighbor]:
    """Return the first of some concepts, new ones before existing ones."""
    ordered = sorted(ids, key=lambda id: id not in new)[:MAX_NEIGHBORS]
    return [Neighbor(expanded.concept(id).label, note="new" * (id in new)) for id in ordered]
