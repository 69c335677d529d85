"""The page on relations that look wrong."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from taxoexpan.cleaning import Doubt
from taxoexpan.pages.words import colophon, percent
from taxoexpan.report import (
    Column,
    Details,
    Figure,
    Figures,
    Neighbour,
    Page,
    Place,
    Row,
    Table,
    Text,
    Tree,
)
from taxoexpan.taxonomy import Taxonomy

BESIDE = 3
"""Children of a place that are shown beside the concept."""

LEAST = 0.005
"""A share that is less than one percent."""

COLUMNS = (
    Column("Concept"),
    Column("Now under"),
    Column("Better under", "path"),
    Column("Doubt", "number", 1),
    Column("Rank of its parent", "number", 0),
)


def doubts_page(
    taxonomy: Taxonomy, doubts: Sequence[Doubt], judged: int, title: str, made: datetime
) -> Page:
    """A row a relation, the most doubtful first; `judged` is how many were looked at."""
    figures = Figures(
        "",
        [
            Figure("Relations judged", judged, "each by a model that had not learned it"),
            Figure("Shown here", len(doubts), "the most doubtful ones"),
        ],
    )
    reading = Text(
        "How to read this",
        [
            "Concepts were hidden in groups; each time a model learned from the rest, and said "
            "where it would put them. The doubt is how much more it believes in the better place "
            "than in the one that the taxonomy has, as a logarithm: at 2.3 ten times as much.",
            "This is a list to look through. A word with several meanings is often here for "
            "the place of another of them, and nothing has been changed.",
        ],
    )
    rows = [_row(taxonomy, doubt) for doubt in doubts]
    return Page(
        title,
        f"A taxonomy of {len(taxonomy):,} concepts",
        [figures, reading, Table("Doubtful relations", COLUMNS, rows)],
        colophon(made),
    )


def _row(taxonomy: Taxonomy, doubt: Doubt) -> Row:
    cells = (
        doubt.concept.label,
        doubt.parent.label,
        doubt.better_path,
        doubt.suspicion,
        doubt.rank,
    )
    told = (
        f"Of the model's belief {_part(doubt.better_share)} is in {doubt.better.label}, and "
        f"{_part(doubt.share)} in {doubt.parent.label}, where it is now."
    )
    tree = Tree(
        doubt.concept.label,
        _place(taxonomy, doubt.better.id, doubt.better_path, doubt.concept.id),
        _place(taxonomy, doubt.parent.id, doubt.path, doubt.concept.id),
        marks=("better", "now"),
    )
    facts = [("definition", doubt.concept.definition)] if doubt.concept.definition else []
    return Row(cells, Details([told], facts, tree))


def _part(share: float) -> str:
    """A share in percent, or where it is small as one in so many."""
    return percent(share) if share >= LEAST else f"1 in {1 / max(share, 1e-12):,.0f}"


def _place(taxonomy: Taxonomy, id: str, path: Sequence[str], concept: str) -> Place:
    """A place with some of its other children."""
    others = [child for child in taxonomy.children(id) if child != concept]
    shown = [Neighbour(taxonomy.concept(child).label) for child in others[:BESIDE]]
    return Place(path, shown, len(others) - len(shown))
