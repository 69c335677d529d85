"""Accepted decisions that a taxonomy can take, and what keeps the others out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from taxoexpan.placement.suggesting.suggestions import Suggestion, SuggestionKind, Verdict
from taxoexpan.taxonomy import Taxonomy


@dataclass(frozen=True, slots=True)
class ExportableDecisions:
    """Accepted suggestions, and one sentence about each one that is left out."""

    accepted: list[Suggestion]
    left_out: list[str]


def exportable_decisions(taxonomy: Taxonomy, decided: Sequence[Suggestion]) -> ExportableDecisions:
    """Separate the accepted suggestions whose parent is neither in the taxonomy nor accepted.

    A model that has learned from decisions knows concepts that the file does not have. If such a
    concept is no longer accepted, what was placed below it has no place, but all others have.
    """
    accepted = [each for each in decided if each.decision == Verdict.ACCEPTED]
    kept, before = accepted, -1
    while len(kept) != before:
        before = len(kept)
        placed = {each.query.id for each in kept if each.kind != SuggestionKind.MERGE}
        kept = [each for each in kept if each.parent.id in taxonomy or each.parent.id in placed]
    ids = set(map(id, kept))
    return ExportableDecisions(kept, [_reason(each) for each in accepted if id(each) not in ids])


def _reason(suggestion: Suggestion) -> str:
    query, parent = suggestion.query.label, suggestion.parent
    how = "merged with" if suggestion.kind == SuggestionKind.MERGE else "accepted below"
    message = f"{query!r} is {how} {parent.label!r} ({parent.id}), which is not in the taxonomy"
    return f"{message} and not accepted as a new concept; undo this decision, or accept that one"
