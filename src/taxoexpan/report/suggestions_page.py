"""The page on what is suggested for new concepts."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

from taxoexpan.explain import Evidence
from taxoexpan.phrasing import percent, pluralize
from taxoexpan.placement.calibrators import Calibrators
from taxoexpan.placement.suggestions import Suggestion
from taxoexpan.report.concept_proposals import Proposal, proposals_of, told_apart
from taxoexpan.report.html import (
    Cell,
    Column,
    Figure,
    Figures,
    Page,
    Picture,
    Row,
    Section,
    Table,
    Text,
    colophon,
    histogram,
)
from taxoexpan.report.reliability import trust_pictures
from taxoexpan.report.suggestion_details import details_of
from taxoexpan.taxonomy import Additions, Concept, Taxonomy

HIGH, EVEN = 0.9, 0.5
"""Confidences from which on the new concepts are counted."""
BARS = 10


def suggestions_page(
    taxonomy: Taxonomy,
    suggestions: Sequence[Suggestion],
    evidence: Sequence[Evidence],
    calibrators: Calibrators,
    title: str,
    made: datetime,
    present: Sequence[tuple[Concept, Concept]] = (),
    added: Additions | None = None,
) -> Page:
    """A row a new concept, which opens, and how far to trust what it says.

    `present` are those of the list that the taxonomy had already, each beside what it is there;
    `added` is what was written into the taxonomy, if it was.
    """
    proposals = proposals_of(suggestions, evidence, () if added is None else added.moves)
    sections: list[Section] = [_key_figures(proposals, calibrators, present, added)]
    if proposals:
        sections += [
            Text("How to read this", _reading(calibrators)),
            _table(taxonomy, proposals, calibrators, added),
            *trust_pictures(calibrators),
            _histogram(proposals, calibrators),
        ]
    if present:
        sections.append(already_there(taxonomy, present))
    told = (
        f"{pluralize(len(proposals), 'new concept')} for a taxonomy of {len(taxonomy):,} concepts"
    )
    return Page(title, told, sections, colophon(made))


def already_told(present: Sequence[tuple[Concept, Concept]]) -> str:
    """How many of the list were in the taxonomy already."""
    return f"{len(present):,} more {'was' if len(present) == 1 else 'were'} there already"


def _measure(calibrators: Calibrators) -> str:
    return "score" if calibrators.calibration is None else "confidence"


def _key_figures(
    proposals: Sequence[Proposal],
    calibrators: Calibrators,
    present: Sequence[tuple[Concept, Concept]],
    added: Additions | None,
) -> Figures:
    """How many there are, how sure, and how many are none to place."""
    remarks = [already_told(present)] if present else []
    if added is not None:
        remarks.insert(0, f"{len(added.concepts):,} of them added")
        moved = f"{pluralize(len(added.moves), 'known concept')} moved below them"
        remarks += [moved] if added.moves else []
    shown = [Figure("New concepts", len(proposals), "; ".join(remarks))]
    if not proposals:
        return Figures("", shown)
    even, high = (
        sum(each.first.confidence_or_score >= least for each in proposals) for least in (EVEN, HIGH)
    )
    name = f"{_measure(calibrators).capitalize()} of {EVEN} or more"
    share = percent(even / len(proposals))
    shown.append(Figure(name, even, f"{share}; {high:,} of {HIGH} or more"))
    merged = sum(each.is_merge for each in proposals)
    homeless = sum(each.is_homeless for each in proposals)
    shown += [
        Figure("Likely other names", "–", "too few synonyms to learn that from")
        if calibrators.duplicates is None
        else Figure("Likely other names", merged, "of concepts that are there"),
        Figure("Without a good place", "–", "too few leaves to learn that from")
        if calibrators.abstention is None
        else Figure("Without a good place", homeless, "anywhere in the taxonomy"),
    ]
    return Figures("", shown)


def _reading(calibrators: Calibrators) -> list[str]:
    """What the columns mean, in words."""
    told = (
        "Each new concept was compared with every concept of the taxonomy. Shown is the parent "
        "that the model holds likeliest"
    )
    if calibrators.duplicates is not None:
        told += ", or the concept that the new one is likely another name of"
    told += ". "
    if calibrators.abstention is not None:
        told += "Where nothing is a good place, it is what comes nearest. "
    if calibrators.calibration is None:
        told += (
            "The score is its share of the model's belief over all concepts. It orders the "
            "suggestions, but is no probability: the taxonomy has too few leaves to learn one."
        )
    else:
        leaves = len(calibrators.calibration.reliability.right)
        told += (
            f"The confidence is the probability that this is right, measured on {leaves:,} known "
            "concepts whose parents were hidden from the model."
        )
    return [told, "Open a row for the reasons, the other suggestions, and the place itself."]


def _table(
    taxonomy: Taxonomy,
    proposals: Sequence[Proposal],
    calibrators: Calibrators,
    added: Additions | None,
) -> Table:
    """A row a new concept."""
    columns = [
        Column("New concept"),
        Column("Proposal"),
        Column("Place", "path"),
        Column(_measure(calibrators).capitalize(), "share"),
        Column("Runner-up"),
    ]
    taken = {concept.id for concept in added.concepts} if added is not None else set()
    merged = set(added.synonyms) if added is not None else set()
    rows = []
    for each in proposals:
        cells: list[Cell] = [
            each.query.label,
            _in_words(each),
            each.first.path,
            each.first.confidence_or_score,
            told_apart(each.ranked[1], each.first) if len(each.ranked) > 1 else None,
        ]
        if added is not None:
            cells.append(_outcome(each, taken, merged))
        rows.append(Row(cells, details_of(taxonomy, each)))
    if added is not None:
        columns.append(Column("Outcome"))
    return Table("Suggestions", columns, rows)


def _outcome(
    proposal: Proposal, taken: Collection[str], merged: Collection[tuple[str, str]]
) -> str:
    """What became of a new concept."""
    if proposal.query.id in taken:
        return "added"
    merge = (proposal.first.parent.id, proposal.query.label)
    return "merged" if merge in merged else "left out"


def _in_words(proposal: Proposal) -> str:
    """What is proposed; the path that follows says where."""
    if proposal.is_merge:
        return "another name of"
    if proposal.is_homeless:
        return "no good place"
    if proposal.moves:
        return "add between"
    if proposal.further:
        return f"add under, and under {len(proposal.further)} more"
    return "add under"


def _histogram(proposals: Sequence[Proposal], calibrators: Calibrators) -> Picture:
    """How sure the first suggestions are."""
    counts = [0] * BARS
    for each in proposals:
        counts[min(int(each.first.confidence_or_score * BARS), BARS - 1)] += 1
    edges = [bar / BARS for bar in range(BARS + 1)]
    measure = _measure(calibrators)
    return Picture(
        "How sure are these suggestions?", histogram(edges, counts, measure, "new concepts")
    )


def already_there(taxonomy: Taxonomy, present: Sequence[tuple[Concept, Concept]]) -> Table:
    """What was in the list and in the taxonomy too."""
    columns = [Column("In the list"), Column("In the taxonomy"), Column("Path", "path")]
    rows = [
        Row((concept.label, known.label, taxonomy.path(known.id))) for concept, known in present
    ]
    return Table("Already there", columns, rows)
