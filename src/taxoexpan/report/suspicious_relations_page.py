"""The report about suspicious relations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from taxoexpan.curation.cleaning.folds import SuspiciousRelation
from taxoexpan.phrasing import percent
from taxoexpan.report.page import (
    Column,
    Details,
    KeyFigure,
    KeyFigures,
    Page,
    Row,
    Table,
    TextSection,
    Tree,
    paragraphs,
)
from taxoexpan.report.suggestion_details import (
    Fact,
    concept_facts,
    network_facts,
    similarity_facts,
    tree_position,
)
from taxoexpan.taxonomy import Taxonomy

MIN_PERCENT = 0.005
"""Probabilities below this are shown as "1 in N"."""
PAGE_COLUMNS = (
    Column("Concept"),
    Column("Current parent"),
    Column("Better parent", "path"),
    Column("Suspicion", "number", 1),
    Column("Confidence", "fraction"),
    Column("Current confidence", "number"),
    Column("Current rank", "number", 0),
)


def suspicious_relations_page(
    taxonomy: Taxonomy,
    relations: Sequence[SuspiciousRelation],
    checked: int,
    title: str,
    created: datetime,
) -> Page:
    """Return a page with one row per relation, most suspicious first; `checked` is a count."""
    figures = [
        KeyFigure("Relations checked", checked, "each by a model that was not trained on it"),
        KeyFigure("Shown here", len(relations), "the most suspicious ones"),
    ]
    measured = not relations or any(each.confidence is not None for each in relations)
    instructions = paragraphs("suspicious", has_confidence=measured)
    rows = [_row(relation) for relation in relations]
    table = Table("Suspicious relations", PAGE_COLUMNS, rows)
    subtitle = f"A taxonomy of {len(taxonomy):,} concepts"
    text = TextSection("How to read this report", instructions)
    return Page(title, subtitle, [KeyFigures("", figures), text, table], created)


def _row(relation: SuspiciousRelation) -> Row:
    cells = (
        relation.concept.label,
        relation.parent.label,
        relation.better_path,
        relation.suspicion,
        relation.confidence,
        relation.parent_confidence,
        relation.rank,
    )
    reasons = [
        f"The model gives a probability of {_probability(relation.better_score)} to "
        f"'{relation.better.label}' and {_probability(relation.score)} to "
        f"'{relation.parent.label}', the current parent."
    ]
    if relation.why:
        reasons.append(relation.why)
    return Row(cells, Details(reasons, list(_facts(relation)), _tree(relation)))


def _facts(relation: SuspiciousRelation) -> Iterator[Fact]:
    """Yield the definition and synonyms of the concept, and the evidence for both parents."""
    yield from concept_facts(relation.concept)
    if relation.evidence is not None:
        better, current = relation.evidence.suggestions
        yield from similarity_facts(better)
        yield from ((f"current {name}", value) for name, value in similarity_facts(current))
        yield from network_facts(relation.evidence, "current raw score")


def _tree(relation: SuspiciousRelation) -> Tree | None:
    """Return both parents with their children nearest to the concept, if there is evidence."""
    if relation.evidence is None:
        return None
    first, second = relation.evidence.suggestions
    numbers = [
        "" if confidence is None else f"{confidence:.2f}"
        for confidence in (relation.confidence, relation.parent_confidence)
    ]
    better = tree_position(first, numbers[0], second.path)
    current = tree_position(second, numbers[1], first.path)
    return Tree(relation.concept.label, better, current, notes=("better", "current"))


def _probability(value: float) -> str:
    """Format a probability as a percentage, or as "1 in N" if it is small."""
    return percent(value) if value >= MIN_PERCENT else f"1 in {1 / max(value, 1e-12):,.0f}"
