"""The page on a list of new concepts that were placed together."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from taxoexpan.phrasing import percent, pluralize
from taxoexpan.placement.selection import choose
from taxoexpan.placement.suggestions import Suggestion
from taxoexpan.report.html import (
    Cell,
    Column,
    Details,
    Figure,
    Figures,
    Neighbour,
    Page,
    Place,
    Row,
    Section,
    Table,
    Text,
    Tree,
    colophon,
)
from taxoexpan.report.suggestion_details import about
from taxoexpan.report.suggestions_page import already_there, already_told
from taxoexpan.taxonomy import Additions, Concept, Taxonomy

SHOWN = 5
"""Children of a concept of which the names are told."""

READING = (
    "All new concepts were placed at once, under concepts of the taxonomy or under each other. "
    "The score is the place's share of the model's belief over all places. It orders them, but is "
    "no probability: how sure to be was learned from concepts that came one by one.",
    "Open a row for the place itself, and what goes below the new concept.",
)


def together_page(
    taxonomy: Taxonomy,
    suggestions: Sequence[Suggestion],
    title: str,
    made: datetime,
    present: Sequence[tuple[Concept, Concept]] = (),
    added: Additions | None = None,
) -> Page:
    """A row a new concept, with the small tree around it as the taxonomy would be.

    `present` are those of the list that the taxonomy had already, each beside what it is there;
    `added` is what was written into the taxonomy, if it was.
    """
    placed = choose(suggestions) if added is None else added
    new = {concept.id for concept in placed.concepts}
    sections: list[Section] = [_key_figures(suggestions, new, present, added)]
    if suggestions:
        grown = taxonomy.expanded(placed)
        sections += [Text("How to read this", READING), _table(grown, suggestions, new, added)]
    if present:
        sections.append(already_there(taxonomy, present))
    told = f"{pluralize(len(suggestions), 'new concept')} placed together"
    about_it = f"{told} in a taxonomy of {len(taxonomy):,} concepts"
    return Page(title, about_it, sections, colophon(made))


def _key_figures(
    suggestions: Sequence[Suggestion],
    new: set[str],
    present: Sequence[tuple[Concept, Concept]],
    added: Additions | None,
) -> Figures:
    """How many there are, and how many have a new parent."""
    remarks = [] if added is None else [f"{len(added.concepts):,} of them added"]
    if present:
        remarks.append(already_told(present))
    shown = [Figure("New concepts", len(suggestions), "; ".join(remarks))]
    if new:
        below = sum({each.parent.id, each.query.id} <= new for each in suggestions)
        shown.append(Figure("Under another new one", below, percent(below / len(new))))
    return Figures("", shown)


def _table(
    grown: Taxonomy, suggestions: Sequence[Suggestion], new: set[str], added: Additions | None
) -> Table:
    """A row a new concept."""
    columns = [
        Column("New concept"),
        Column("Its parent is"),
        Column("Place", "path"),
        Column("Score", "share"),
    ]
    asked = {each.query.id for each in suggestions}
    rows = []
    for each in suggestions:
        cells: list[Cell] = [
            each.query.label,
            "new" if each.parent.id in asked else "known",
            each.path,
            each.score,
        ]
        if added is not None:
            cells.append("added" if each.query.id in new else "left out")
        rows.append(Row(cells, _details(grown, each, new)))
    if added is not None:
        columns.append(Column("Outcome"))
    return Table("Places", columns, rows)


def _details(grown: Taxonomy, suggestion: Suggestion, new: set[str]) -> Details:
    """What the list says of a new concept, and the tree around it."""
    query = suggestion.query
    if query.id not in new:
        return Details([], list(about(query)))
    beside = [id for id in grown.children(suggestion.parent.id) if id != query.id]
    below = grown.children(query.id)
    siblings, children = (_neighbours(grown, ids, new) for ids in (beside, below))
    if len(below) > len(children):
        children.append(Neighbour("…", mark=f"and {len(below) - len(children):,} more"))
    place = Place(
        suggestion.path, siblings, len(beside) - len(siblings), children, suggestion.score
    )
    return Details([], list(about(query)), Tree(query.label, place))


def _neighbours(grown: Taxonomy, ids: Sequence[str], new: set[str]) -> list[Neighbour]:
    """The first of some concepts, new ones before others."""
    ordered = sorted(ids, key=lambda id: id not in new)[:SHOWN]
    return [Neighbour(grown.concept(id).label, mark="new" * (id in new)) for id in ordered]
