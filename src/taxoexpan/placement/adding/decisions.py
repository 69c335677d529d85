"""Decisions about suggestions: which are accepted, and which are left for review."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import replace

from taxoexpan.phrasing import pluralize
from taxoexpan.placement.adding.acceptance import Acceptance, accept_suggestions
from taxoexpan.placement.adding.selection import merges, no_suitable_parent, select_additions
from taxoexpan.placement.suggesting.suggestions import Decision, Suggestion, SuggestionKind
from taxoexpan.taxonomy import Taxonomy

DEFAULT_MIN_CONFIDENCE = 0.5
"""Without other thresholds, a placement is accepted if it is more likely right than wrong."""


def decide(suggestions: Sequence[Suggestion], acceptance: Acceptance) -> list[Suggestion]:
    """Mark the suggestions to add as accepted, and all those of the other concepts as undecided.

    Without a threshold, concepts that have no suitable parent are undecided, and so are those below
    `DEFAULT_MIN_CONFIDENCE`, if there is a confidence. Suggestions to merge are not marked: whether
    merges are allowed decides about them.
    """
    min_score, min_confidence = acceptance.min_score or 0.0, acceptance.min_confidence or 0.0
    candidates = list(suggestions)
    if not acceptance.has_threshold:
        unsuitable = {s.query.id for s in no_suitable_parent(suggestions)}
        candidates = [s for s in suggestions if s.query.id not in unsuitable]
        min_confidence = DEFAULT_MIN_CONFIDENCE if have_confidence(suggestions) else 0.0
    chosen = select_additions(candidates, acceptance.top_k, min_score, min_confidence)
    relations = set(chosen.relations)
    handled = {concept.id for concept in chosen.concepts}
    handled |= {s.query.id for s in merges(candidates, min_score, min_confidence)}
    return [
        replace(s, decision=Decision.ACCEPTED)
        if (s.parent.id, s.query.id) in relations and s.kind != SuggestionKind.MERGE
        else s
        if s.query.id in handled
        else replace(s, decision=Decision.UNDECIDED)
        for s in suggestions
    ]


def have_confidence(suggestions: Sequence[Suggestion]) -> bool:
    """Return whether the confidence of all suggestions is known."""
    return all(s.confidence is not None for s in suggestions)


def leave_undecided(suggestions: Sequence[Suggestion]) -> list[Suggestion]:
    """Mark all suggestions as undecided."""
    return [replace(s, decision=Decision.UNDECIDED) for s in suggestions]


def expanded_taxonomy(
    taxonomy: Taxonomy, suggestions: Sequence[Suggestion], acceptance: Acceptance
) -> Taxonomy:
    """Return the taxonomy with the concepts of accepted suggestions, and warn about the others."""
    decided = replace(acceptance, min_score=None, min_confidence=None)
    accepted = accept_suggestions(taxonomy, decide(suggestions, acceptance), decided)
    if accepted.undecided:
        message = f"{pluralize(accepted.undecided, 'concept')} left out"
        reason = "below the threshold, or without a suitable parent"
        warnings.warn(f"{message}: {reason}; min_confidence=0 adds all", stacklevel=3)
    return taxonomy.expanded(accepted.additions)
