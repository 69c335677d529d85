"""Messages about what was added to a taxonomy, and what was not."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING

from taxoexpan.cli.messages import note, note_some, spell_files, warn, warn_some
from taxoexpan.cli.taxonomy_messages import named_present, print_present
from taxoexpan.phrasing import pluralize, visible

if TYPE_CHECKING:
    from taxoexpan.decisions.additions import AppliedSuggestions
    from taxoexpan.decisions.decision import Leave
    from taxoexpan.decisions.policies import Policy
    from taxoexpan.decisions.suggestion import Suggestion
    from taxoexpan.taxonomy import Additions, Taxonomy


def print_applied(
    taxonomy: Taxonomy,
    applied: AppliedSuggestions,
    allowed_changes: Collection[str],
    threshold: Policy | None = None,
) -> None:
    """Print what was added and what was not, and the output file.

    The concepts that do not reach a given threshold are left out; others are undecided.
    """
    from taxoexpan.decisions.additions import namesake_message
    from taxoexpan.decisions.decision import Place, Reason

    placed = [each for each in applied.decisions if isinstance(each, Place)]
    chosen = {each.query.id: each.suggestions[-1].parent for each in placed}
    for new, known in applied.already_present:
        parent = chosen.get(new.id, known)
        if parent.id not in (known.id, *taxonomy.parents(known.id)):
            fix = "apply to a version without it, or move it yourself"
            warn(f"{new.label!r} is not moved below {parent.label!r}, as accepted; {fix}")
    print_present(applied.already_present, "not added")
    namesakes = [namesake_message(*pair) for pair in applied.namesakes(taxonomy)]
    warn_some(namesakes, " have the name of another concept")
    for message in _deprecated_warnings(taxonomy, applied.additions):
        warn(message)
    print_merges(applied.merged)
    fix = "; not added; accept the row of a parent instead, or use --allow-merges"
    print_merges([s for each in applied.left(Reason.MERGE) for s in each.suggestions], fix)
    warn_some([each.message for each in applied.refused], " moves and synonyms were rejected")
    if left := len(left_out(applied, threshold)):
        note(f"{pluralize(left, 'concept')} left out{_reason(threshold)}")
    if applied.written.lost:
        lost = " and ".join(applied.written.lost)
        warn(f"this file has no place for {lost}; they were not written")
    print_protected(applied.protected)
    if applied.written.left_blank:
        note(f"note: left blank in the new concepts: {', '.join(applied.written.left_blank)}")
    files = spell_files(applied.written.files)
    where = f"; expanded taxonomy in {files}" if files else ""
    note(f"{_counts(applied.additions, allowed_changes)}{where}")
    added = {concept.id for concept in applied.additions.concepts}
    unmeasured = [
        each
        for each in placed
        if each.policy and each.policy.is_unmeasured and each.query.id in added
    ]
    if unmeasured:
        count = pluralize(len(unmeasured), "concept was", "concepts were")
        note(f"without a confidence, {count} added below the first suggestion; review them")


def left_out(applied: AppliedSuggestions, threshold: Policy | None) -> list[Leave]:
    """Return the concepts without a parent that reaches a given threshold and is added."""
    from taxoexpan.decisions.decision import Reason

    reasons = [Reason.NO_PARENT, Reason.NOT_SURE, Reason.NO_PLACE] if threshold else []
    return applied.left(*reasons)


def undecided(applied: AppliedSuggestions, threshold: Policy | None = None) -> list[Leave]:
    """Return the concepts that are left for review, without those of `left_out`."""
    from taxoexpan.decisions.decision import Reason

    reasons = [] if threshold else [Reason.NO_PARENT, Reason.NOT_SURE, Reason.NO_PLACE]
    return applied.left(Reason.SIMILAR, *reasons)


def count_reasons(left: Sequence[Leave]) -> Counter[str]:
    """Count concepts that are left by their reasons."""
    return Counter(each.reason.value for each in left)


def applied_figures(
    taxonomy: Taxonomy, applied: AppliedSuggestions, threshold: Policy | None = None
) -> dict[str, object]:
    """Return what was added and what was not, for JSON."""
    additions = applied.additions
    parents: dict[str, list[str]] = {}
    for parent, child in additions.relations:
        parents.setdefault(child, []).append(parent)
    new = {concept.id: concept for concept in additions.concepts}

    def named(id: str) -> dict[str, str]:
        return {"id": id, "label": (new.get(id) or taxonomy.concept(id)).label}

    return {
        "files": list(map(str, applied.written.files)),
        "concepts": [
            {**named(id), "parents": [named(parent) for parent in parents.get(id, ())]}
            for id in new
        ],
        "relations": len(additions.relations),
        "moves": [move._asdict() for move in additions.moves],
        "synonyms": [{"id": id, "name": name} for id, name in additions.synonyms],
        "already_present": named_present(applied.already_present),
        "same_name": named_present(applied.namesakes(taxonomy)),
        "merged": [
            {"query": each.query.label, "id": each.parent.id, "label": each.parent.label}
            for each in applied.synonyms
        ],
        "rejected_changes": [each.message for each in applied.refused],
        "undecided": dict(count_reasons(undecided(applied, threshold))),
        "left_out": len(left_out(applied, threshold)),
        "lost": applied.written.lost,
        "left_blank": applied.written.left_blank,
        "protected": applied.protected,
    }


def print_merges(merged: Sequence[Suggestion], outcome: str = "") -> None:
    """Print which new concepts are synonyms of existing ones, and how they were treated."""
    lines = []
    for suggestion in merged:
        known = suggestion.parent.label or suggestion.parent.id
        probably = (
            ""
            if suggestion.is_decided or not suggestion.is_ranked
            else f"probably ({suggestion.confidence_or_score:.2f}) "
        )
        lines.append(f"{suggestion.query.label!r} is {probably}a synonym of {known!r}{outcome}")
    note_some(lines, f" are probably synonyms{outcome}")


def print_protected(count: int) -> None:
    """Print how many values got an apostrophe, so that no spreadsheet computes them."""
    if count:
        texts = "1 new text starts" if count == 1 else f"{count:,} new texts start"
        reason = "because a spreadsheet would compute it as a formula"
        note(f"note: {texts} with an added apostrophe, {reason}")


def _deprecated_warnings(taxonomy: Taxonomy, additions: Additions) -> list[str]:
    """Return one warning per deprecated concept that gets a child or a synonym."""
    notes = []
    for parent, child in additions.relations:
        if parent in taxonomy and taxonomy.concept(parent).deprecated:
            label = taxonomy.concept(parent).label
            notes.append(f"{label!r}, the parent of {visible(child)}, is deprecated")
    for id, name in additions.synonyms:
        if taxonomy.concept(id).deprecated:
            label = taxonomy.concept(id).label
            notes.append(f"{label!r}, which gets the synonym {name!r}, is deprecated")
    return notes


def _reason(threshold: Policy | None) -> str:
    """Return the reason why concepts were left out."""
    from taxoexpan.decisions.policies import Exact

    thresholds = []
    if isinstance(threshold, Exact):
        if threshold.score:
            thresholds.append(f"a score of {threshold.score} or more")
        if threshold.confidence:
            thresholds.append(f"a confidence of {threshold.confidence:.3g} or more")
    return f": no parent with {' and '.join(thresholds)}" if thresholds else ""


def _counts(additions: Additions, allowed_changes: Collection[str]) -> str:
    """Describe how much was added, and how much was moved and merged if that is allowed."""
    concepts = pluralize(len(additions.concepts), "concept")
    counts = [f"{concepts} and {pluralize(len(additions.relations), 'relation')} added"]
    if "moves" in allowed_changes or additions.moves:
        counts.append(f"{pluralize(len(additions.moves), 'relation')} moved below new concepts")
    if "synonyms" in allowed_changes or additions.synonyms:
        counts.append(f"{pluralize(len(additions.synonyms), 'synonym')} added")
    return ", ".join(counts)
