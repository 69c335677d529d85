"""The page on relations that look wrong."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from taxoexpan.curation.cleaning import SuspiciousRelation
from taxoexpan.phrasing import percent
from taxoexpan.report.html import (
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
    colophon,
)
from taxoexpan.report.suggestion_details import Fact, inside, likeness, place_of
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
    Column("Confidence", "share"),
    Column("Confidence now", "number"),
    Column("Rank now", "number", 0),
)


def doubts_page(
    taxonomy: Taxonomy,
    doubts: Sequence[SuspiciousRelation],
    judged: int,
    title: str,
    made: datetime,
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
            _on_confidence(doubts),
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


def _row(taxonomy: Taxonomy, doubt: SuspiciousRelation) -> Row:
    cells = (
        doubt.concept.label,
        doubt.parent.label,
        doubt.better_path,
        doubt.suspicion,
        doubt.confidence,
        doubt.parent_confidence,
        doubt.rank,
    )
    told = (
        f"Of the model's belief {_part(doubt.better_score)} is in {doubt.better.label}, and "
        f"{_part(doubt.score)} in {doubt.parent.label}, where it is now."
    )
    paragraphs = [told, doubt.why] if doubt.why else [told]
    return Row(cells, Details(paragraphs, list(_facts(doubt)), _tree(taxonomy, doubt)))


def _on_confidence(doubts: Sequence[SuspiciousRelation]) -> str:
    """What the confidences mean, or why there are none."""
    if doubts and all(doubt.confidence is None for doubt in doubts):
        return "There is no confidence: too few leaves were left to learn one from."
    return (
        "The confidence is the probability that the better place is right, and now that the parent "
        "is, measured on other leaves whose parents were hidden from the same model. It says "
        "where the concept belongs if its relation is wrong, and not how likely that is: the model "
        "does not count the word of those who put it where it is. Where both are low, it knows no "
        "good place. The rank now is that of the parent among all places."
    )


def _facts(doubt: SuspiciousRelation) -> Iterator[Fact]:
    """What is known of the concept and of both places."""
    if doubt.concept.definition:
        yield "definition", doubt.concept.definition
    if doubt.evidence is None:
        return
    better, parent = doubt.evidence.suggestions
    yield from likeness(better)
    for name, value in likeness(parent):
        yield f"{name} now", value
    yield from inside(doubt.evidence, "raw score now")


def _tree(taxonomy: Taxonomy, doubt: SuspiciousRelation) -> Tree:
    """Both places with what is near the concept there, or some of what is there."""
    label, id, marks = doubt.concept.label, doubt.concept.id, ("better", "now")
    if doubt.evidence is None:
        better = _place(taxonomy, doubt.better.id, doubt.better_path, id)
        now = _place(taxonomy, doubt.parent.id, doubt.path, id)
        return Tree(label, better, now, marks=marks)
    first, second = doubt.evidence.suggestions
    better = place_of(first, doubt.confidence, second.path)
    now = place_of(second, doubt.parent_confidence, first.path)
    return Tree(label, better, now, marks=marks)


def _part(share: float) -> str:
    """A share in percent, or where it is small as one in so many."""
    return percent(share) if share >= LEAST else f"1 in {1 / max(share, 1e-12):,.0f}"


def _place(taxonomy: Taxonomy, id: str, path: Sequence[str], concept: str) -> Place:
    """A place with some of its other children."""
    others = [child for child in taxonomy.children(id) if child != concept]
    shown = [Neighbour(taxonomy.concept(child).label) for child in others[:BESIDE]]
    return Place(path, shown, len(others) - len(shown))
