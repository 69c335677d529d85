"""The report about suggestions for new concepts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from taxoexpan.explain import Evidence
from taxoexpan.phrasing import percent, pluralize
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.placement.suggesting.suggestions import Suggestion, Verdict
from taxoexpan.report.concept_proposals import (
    ConceptProposal,
    describe_alternative,
    group_by_query,
)
from taxoexpan.report.html import (
    Cell,
    ChartSection,
    Column,
    KeyFigure,
    KeyFigures,
    Page,
    Row,
    Section,
    Table,
    TextSection,
    creation_note,
    histogram,
)
from taxoexpan.report.reliability import reliability_charts
from taxoexpan.report.suggestion_details import proposal_details
from taxoexpan.taxonomy import Additions, Concept, Taxonomy

MEDIUM, HIGH = 0.5, 0.9
"""Confidences at or above which the new concepts are counted."""
BARS = 10
"""The number of bars of the histogram."""


def suggestions_page(
    taxonomy: Taxonomy,
    suggestions: Sequence[Suggestion],
    evidence: Sequence[Evidence],
    calibrators: Calibrators,
    title: str,
    created: datetime,
    present: Sequence[tuple[Concept, Concept]] = (),
    added: Additions | None = None,
) -> Page:
    """Return a page with one row per new concept, and charts about the reliability.

    `present` are the listed concepts that the taxonomy already has, each with the existing one.
    `added` are the concepts and moves that were written to the taxonomy, if any.
    """
    proposals = group_by_query(suggestions, evidence, () if added is None else added.moves)
    sections: list[Section] = [_key_figures(proposals, calibrators, present, added)]
    if proposals:
        sections += [
            TextSection("How to read this report", _instructions(calibrators)),
            _table(taxonomy, proposals, calibrators, added),
            *reliability_charts(calibrators),
            _histogram(proposals, calibrators),
        ]
    if present:
        sections.append(present_table(taxonomy, present))
    count = pluralize(len(proposals), "new concept")
    subtitle = f"{count} for a taxonomy of {len(taxonomy):,} concepts"
    return Page(title, subtitle, sections, creation_note(created))


def present_note(present: Sequence[tuple[Concept, Concept]]) -> str:
    """Say how many of the listed concepts were already in the taxonomy."""
    return f"{len(present):,} more already in the taxonomy"


def present_table(taxonomy: Taxonomy, present: Sequence[tuple[Concept, Concept]]) -> Table:
    """Return a table of the listed concepts that were already in the taxonomy."""
    columns = [Column("In your list"), Column("In the taxonomy"), Column("Path", "path")]
    rows = [
        Row((concept.label, known.label, taxonomy.path(known.id))) for concept, known in present
    ]
    return Table("Already in the taxonomy", columns, rows)


def _measure(calibrators: Calibrators) -> str:
    return "score" if calibrators.calibration is None else "confidence"


def _key_figures(
    proposals: Sequence[ConceptProposal],
    calibrators: Calibrators,
    present: Sequence[tuple[Concept, Concept]],
    added: Additions | None,
) -> KeyFigures:
    """Count the new concepts, those with a high confidence, the duplicates and the abstentions."""
    notes = [present_note(present)] if present else []
    if added is not None:
        undecided = sum(each.first.decision == Verdict.UNDECIDED for each in proposals)
        counts = [f"{len(added.concepts):,} added", *[f"{undecided:,} undecided"] * bool(undecided)]
        notes = counts + notes
        if added.moves:
            notes.append(f"{pluralize(len(added.moves), 'existing concept')} moved under them")
    figures = [KeyFigure("New concepts", len(proposals), "; ".join(notes))]
    if not proposals:
        return KeyFigures("", figures)
    medium, high = (
        sum(each.first.confidence_or_score >= minimum for each in proposals)
        for minimum in (MEDIUM, HIGH)
    )
    note = f"{percent(medium / len(proposals))}; {high:,} with at least {HIGH}"
    merges = sum(each.is_merge for each in proposals)
    abstentions = sum(each.has_no_suitable_parent for each in proposals)
    figures += [
        KeyFigure(f"{_measure(calibrators).capitalize()} at least {MEDIUM}", medium, note),
        KeyFigure("Likely duplicates", "–", "unknown: too few synonyms to learn from")
        if calibrators.duplicates is None
        else KeyFigure("Likely duplicates", merges, "synonyms of existing concepts"),
        KeyFigure("No suitable parent", "–", "unknown: too few leaves to learn from")
        if calibrators.abstention is None
        else KeyFigure("No suitable parent", abstentions, "anywhere in the taxonomy"),
    ]
    return KeyFigures("", figures)


def _instructions(calibrators: Calibrators) -> list[str]:
    """Explain the columns."""
    text = (
        "The model compared each new concept with every concept of the taxonomy. Each row shows "
        "the most likely parent"
    )
    if calibrators.duplicates is not None:
        text += ", or the existing concept of which the new one is likely a synonym"
    text += ". "
    if calibrators.abstention is not None:
        text += "If no parent is suitable, the row shows the closest one. "
    if calibrators.calibration is None:
        text += (
            "The score is the probability that the model gives to this parent among all concepts. "
            "It ranks the suggestions, but it does not say how often they are right: too few "
            "leaves were held out to learn that."
        )
    else:
        leaves = len(calibrators.calibration.reliability.right)
        text += (
            "The confidence is the probability that the suggestion is right. It was measured on "
            f"{leaves:,} existing concepts whose parents were hidden from the model."
        )
    return [text, "Open a row to see the reasons, the other suggestions and the tree around them."]


def _table(
    taxonomy: Taxonomy,
    proposals: Sequence[ConceptProposal],
    calibrators: Calibrators,
    added: Additions | None,
) -> Table:
    """Return a table with one row per new concept."""
    columns = [
        Column("New concept"),
        Column("Suggestion"),
        Column("Path", "path"),
        Column(_measure(calibrators).capitalize(), "fraction"),
        Column("Runner-up"),
    ]
    added_ids = {concept.id for concept in added.concepts} if added is not None else set()
    synonyms = set(added.synonyms) if added is not None else set()
    rows = []
    for each in proposals:
        others = each.suggestions[1:]
        cells: list[Cell] = [
            each.query.label,
            _action(each),
            each.first.path,
            each.first.confidence_or_score,
            describe_alternative(others[0], each.first) if others else None,
        ]
        if added is not None:
            cells.append(_outcome(each, added_ids, synonyms))
        rows.append(Row(cells, proposal_details(taxonomy, each)))
    if added is not None:
        columns.append(Column("Outcome"))
    return Table("Suggestions", columns, rows)


def _outcome(
    proposal: ConceptProposal, added_ids: Collection[str], synonyms: Collection[tuple[str, str]]
) -> str:
    """Say what happened to a new concept."""
    if proposal.query.id in added_ids:
        return "added"
    if proposal.first.decision == Verdict.UNDECIDED:
        return "undecided"
    synonym = (proposal.first.parent.id, proposal.query.label)
    return "merged" if synonym in synonyms else "not added"


def _action(proposal: ConceptProposal) -> str:
    """Say what is suggested; the path in the next column says where."""
    if proposal.is_merge:
        return "synonym of"
    if proposal.has_no_suitable_parent:
        return "no suitable parent"
    if proposal.moves:
        return "insert under"
    if proposal.additional_parents:
        return f"add under, and under {len(proposal.additional_parents)} more"
    return "add under"


def _histogram(proposals: Sequence[ConceptProposal], calibrators: Calibrators) -> ChartSection:
    """Plot the confidences of the first suggestions."""
    counts = [0] * BARS
    for each in proposals:
        counts[min(int(each.first.confidence_or_score * BARS), BARS - 1)] += 1
    edges = [bar / BARS for bar in range(BARS + 1)]
    measure = _measure(calibrators)
    chart = histogram(edges, counts, measure, "new concepts")
    return ChartSection(f"{measure.capitalize()} of these suggestions", chart)
