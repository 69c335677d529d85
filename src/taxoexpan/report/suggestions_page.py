"""Reports about suggestions for new concepts that were placed independently or together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime

from taxoexpan.decisions.additions import to_additions
from taxoexpan.decisions.decision import decide
from taxoexpan.decisions.policies import Everything
from taxoexpan.decisions.suggestion import Suggestion, SuggestionKind, Verdict
from taxoexpan.explain import Evidence
from taxoexpan.phrasing import percent, pluralize
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.report.page import (
    Cell,
    Column,
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
    paragraphs,
)
from taxoexpan.report.suggestion_details import (
    ConceptProposal,
    group_by_query,
    proposal_details,
)
from taxoexpan.report.training_page import reliability_charts
from taxoexpan.taxonomy import Additions, Concept, Taxonomy
from taxoexpan.taxonomy.names import normalize_name
from taxoexpan.thresholds import DEFAULT_TRUTH, LIKELY, MIN_FOR_FINE_CONFIDENCE

MAX_NEIGHBORS = 5
"""The number of siblings, and of children, that are shown of a concept placed together."""
INSTRUCTIONS = "How to read this report"

Present = Sequence[tuple[Concept, Concept]]
"""The listed concepts that the taxonomy already has, each with the existing one."""


def suggestions_page(
    taxonomy: Taxonomy,
    suggestions: Sequence[Suggestion],
    evidence: Sequence[Evidence],
    calibrators: Calibrators,
    title: str,
    created: datetime,
    present: Present = (),
    added: Additions | None = None,
) -> Page:
    """Return a page with one row per new concept; `added` are the written additions, if any."""
    proposals = group_by_query(suggestions, evidence, () if added is None else added.moves)
    sections: list[Section] = [_key_figures(proposals, calibrators, present, added)]
    if proposals:
        calibration = calibrators.calibration
        measured = len(calibration.reliability.right) if calibration else 0
        is_fused = calibrators.fusion is not None
        instructions = paragraphs(
            "suggestions",
            has_confidence=calibration is not None,
            measured=measured,
            is_borrowed=is_fused and measured < MIN_FOR_FINE_CONFIDENCE,
            has_branches=bool(calibration and calibration.branches),
            finds_duplicates=calibrators.duplicates is not None,
            abstains=calibrators.abstention is not None,
        )
        sections += [
            TextSection(INSTRUCTIONS, instructions),
            _table(taxonomy, proposals, _measure(calibrators), added),
            *reliability_charts(calibrators),
        ]
    sections += _present_tables(taxonomy, present)
    count = pluralize(len(proposals), "new concept")
    return Page(title, f"{count} for a taxonomy of {len(taxonomy):,} concepts", sections, created)


def joint_page(
    taxonomy: Taxonomy,
    suggestions: Sequence[Suggestion],
    title: str,
    created: datetime,
    present: Present = (),
    added: Additions | None = None,
) -> Page:
    """Return a page with one row per concept placed jointly; `added` are the written additions."""
    additions = added
    if additions is None:
        additions = to_additions(taxonomy, decide(taxonomy, suggestions, Everything())).additions
    new = {concept.id for concept in additions.concepts}
    notes = [] if added is None else [f"{len(added.concepts):,} added"]
    figures = [KeyFigure("New concepts", len(suggestions), _joined(notes, present))]
    if new:
        under = sum({each.parent.id, each.query.id} <= new for each in suggestions)
        figures.append(KeyFigure("Under another new concept", under, percent(under / len(new))))
    sections: list[Section] = [KeyFigures("", figures)]
    if suggestions:
        expanded = taxonomy.expanded(additions)
        placed = (each for each in suggestions if each.query.id in new)
        trees = {each.query.id: _joint_tree(expanded, each, new) for each in placed}
        sections.append(TextSection(INSTRUCTIONS, paragraphs("together")))
        sections.append(_table(expanded, group_by_query(suggestions, ()), "score", added, trees))
    sections += _present_tables(taxonomy, present)
    count = pluralize(len(suggestions), "new concept")
    subtitle = f"{count} placed together in a taxonomy of {len(taxonomy):,} concepts"
    return Page(title, subtitle, sections, created)


def _joined(notes: Sequence[str], present: Present) -> str:
    """Join notes with the number of listed concepts that were already in the taxonomy."""
    known = [f"{len(present):,} more already in the taxonomy"] if present else []
    return "; ".join([*notes, *known])


def _present_tables(taxonomy: Taxonomy, present: Present) -> list[Table]:
    """Return a table of the listed concepts that were already in the taxonomy, if there are any."""
    columns = [Column("In your list"), Column("In the taxonomy"), Column("Path", "path")]
    rows = [
        Row((concept.label, known.label, taxonomy.path(known.id))) for concept, known in present
    ]
    return [Table("Already in the taxonomy", columns, rows)] if rows else []


def _measure(calibrators: Calibrators) -> str:
    return "score" if calibrators.calibration is None else "confidence"


def _key_figures(
    proposals: Sequence[ConceptProposal],
    calibrators: Calibrators,
    present: Present,
    added: Additions | None,
) -> KeyFigures:
    """Count the new concepts, the high confidences, the duplicates and the abstentions."""
    notes = []
    if added is not None:
        undecided = sum(each.first.decision == Verdict.UNDECIDED for each in proposals)
        notes = [f"{len(added.concepts):,} added", *[f"{undecided:,} undecided"] * bool(undecided)]
        if added.moves:
            notes.append(f"{pluralize(len(added.moves), 'existing concept')} moved under them")
    figures = [KeyFigure("New concepts", len(proposals), _joined(notes, present))]
    if not proposals:
        return KeyFigures("", figures)
    medium, high = (
        sum(each.first.confidence_or_score >= minimum for each in proposals)
        for minimum in (LIKELY, DEFAULT_TRUTH)
    )
    note = f"{percent(medium / len(proposals))}; {high:,} with at least {DEFAULT_TRUTH}"
    merges = sum(each.first.is_merge for each in proposals)
    abstentions = sum(each.has_no_suitable_parent for each in proposals)
    figures += [
        KeyFigure(f"{_measure(calibrators).capitalize()} at least {LIKELY}", medium, note),
        KeyFigure("Likely duplicates", "–", "unknown: too few synonyms to learn from")
        if calibrators.duplicates is None
        else KeyFigure("Likely duplicates", merges, "synonyms of existing concepts"),
        KeyFigure("No suitable parent", "–", "unknown: too few leaves to learn from")
        if calibrators.abstention is None
        else KeyFigure("No suitable parent", abstentions, "anywhere in the taxonomy"),
    ]
    return KeyFigures("", figures)


def _table(
    taxonomy: Taxonomy,
    proposals: Sequence[ConceptProposal],
    measure: str,
    added: Additions | None,
    trees: Mapping[str, Tree] | None = None,
) -> Table:
    """Return a table with one row per new concept; with `trees`, without a runner-up."""
    columns = [
        Column("New concept"),
        Column("Suggestion"),
        Column("Path", "path"),
        Column(measure.capitalize(), "fraction"),
        *([Column("Runner-up")] if trees is None else []),
        *([] if added is None else [Column("Outcome")]),
    ]
    added_ids = set() if added is None else {concept.id for concept in added.concepts}
    queries = {each.first.query.id for each in proposals}
    rows = []
    for each in proposals:
        first, *others = each.suggestions
        cells: list[Cell] = [
            first.query.label,
            f"{_action(each)}{' new' if first.parent.id in queries else ''}",
            first.lineage or first.path,
            first.confidence_or_score,
        ]
        if trees is None:
            cells.append(_alternative(others[0], first) if others else None)
        if added is not None:
            cells.append(_outcome(each.suggestions, added, first.query.id in added_ids))
        details = proposal_details(taxonomy, each)
        tree = details.tree if trees is None else trees.get(first.query.id)
        rows.append(Row(cells, replace(details, tree=tree)))
    return Table("Suggestions", columns, rows)


def _outcome(suggestions: Sequence[Suggestion], added: Additions, is_added: bool) -> str:
    """Return what has become of a new concept."""
    first = suggestions[0]
    coarse = [s for s in suggestions if s.kind == SuggestionKind.COARSE and s.is_decided]
    if is_added:
        return f"added below {coarse[0].parent.label}, to be refined" if coarse else "added"
    if first.decision == Verdict.UNDECIDED:
        return "undecided"
    return "merged" if (first.parent.id, first.query.label) in added.synonyms else "not added"


def _action(proposal: ConceptProposal) -> str:
    """Return the suggested action; the next column shows the path."""
    if proposal.first.is_merge:
        return "similar to" if proposal.first.kind == SuggestionKind.SIMILAR else "synonym of"
    if proposal.has_no_suitable_parent:
        return "no suitable parent"
    if proposal.moves:
        return "insert under"
    if proposal.additional_parents:
        return f"add under, and under {len(proposal.additional_parents)} more"
    return "add under"


def _alternative(suggestion: Suggestion, first: Suggestion) -> str:
    """Return the label of a suggestion, with its parent if the first suggestion has this label."""
    label = suggestion.parent.label
    path = suggestion.path
    if suggestion.is_merge:
        return f"synonym of {label}"
    if first.is_merge or normalize_name(label) != normalize_name(first.parent.label):
        return label
    return f"{label} (under {path[-2]})" if len(path) > 1 else f"{label} (at the top level)"


def _joint_tree(expanded: Taxonomy, suggestion: Suggestion, new: set[str]) -> Tree:
    """Return the tree around a new concept, with new neighbors before existing ones."""

    def neighbors(ids: Sequence[str]) -> list[Neighbor]:
        ordered = sorted(ids, key=lambda id: id not in new)[:MAX_NEIGHBORS]
        return [Neighbor(expanded.concept(id).label, note="new" * (id in new)) for id in ordered]

    query = suggestion.query
    sibling_ids = [id for id in expanded.children(suggestion.parent.id) if id != query.id]
    child_ids = expanded.children(query.id)
    siblings = neighbors(sibling_ids)
    children = neighbors(child_ids)
    if len(child_ids) > len(children):
        children.append(Neighbor("…", note=f"and {len(child_ids) - len(children):,} more"))
    more = len(sibling_ids) - len(siblings)
    position = TreePosition(suggestion.path, siblings, more, children, f"{suggestion.score:.2f}")
    return Tree(query.label, position)
