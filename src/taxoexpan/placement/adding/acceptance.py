"""Which suggestions are accepted: thresholds, permissions, and the additions that result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from taxoexpan.errors import ConfigurationError
from taxoexpan.placement.adding.change_validation import validate_additions
from taxoexpan.placement.adding.selection import (
    applicable,
    drop_existing,
    merges,
    refuse_other_labels,
    select_additions,
    with_query_ids,
)
from taxoexpan.placement.suggesting.suggestions import Decision
from taxoexpan.taxonomy.id_assignment import resolve_ids
from taxoexpan.taxonomy.id_policy import DEFAULT_IDS, IdPolicy

if TYPE_CHECKING:
    from taxoexpan.placement.suggesting.suggestions import Suggestion
    from taxoexpan.taxonomy import Additions, Concept, Taxonomy


@dataclass(frozen=True, kw_only=True)
class Acceptance:
    """Thresholds for accepting suggestions, and whether existing concepts may change.

    A threshold of None was not given. If one is given, it also decides about the suggestions that
    are marked as undecided. `ids` says how new concepts without an id get one.
    """

    top_k: int = 1
    min_score: float | None = None
    min_confidence: float | None = None
    allow_moves: bool = False
    allow_merges: bool = False
    ids: IdPolicy = DEFAULT_IDS

    def __post_init__(self) -> None:
        for name in ("min_score", "min_confidence"):
            value = getattr(self, name)
            if value is not None and (not isinstance(value, int | float) or not 0 <= value <= 1):
                raise ConfigurationError(f"{name} is {value!r}; it must be from 0 to 1")
        for name in ("allow_moves", "allow_merges"):
            value = getattr(self, name)
            if not isinstance(value, bool):
                raise ConfigurationError(f"{name} is {value!r}; it must be True or False")

    @property
    def has_threshold(self) -> bool:
        """Whether a threshold is given; a threshold of 0 accepts everything."""
        return self.min_score is not None or self.min_confidence is not None

    @property
    def allowed_changes(self) -> list[str]:
        """The allowed changes to existing concepts: moves and synonyms."""
        return ["moves"] * self.allow_moves + ["synonyms"] * self.allow_merges


DEFAULT_ACCEPTANCE = Acceptance()


@dataclass(frozen=True)
class AcceptedSuggestions:
    """The additions from accepted suggestions, and what was not added.

    `already_present` pairs a new concept with the existing one, `merged` are the suggestions whose
    concept is a synonym of an existing one, `rejected_changes` has one sentence per move or synonym
    that the taxonomy cannot take, `left_out` counts concepts without an accepted parent, and
    `undecided` those that were left for review. The `suggestions` are all of them, with the ids
    that were filled in.
    """

    suggestions: list[Suggestion]
    additions: Additions
    already_present: list[tuple[Concept, Concept]]
    merged: list[Suggestion]
    rejected_changes: list[str]
    left_out: int
    undecided: int


def accept_suggestions(
    taxonomy: Taxonomy, suggestions: Sequence[Suggestion], acceptance: Acceptance
) -> AcceptedSuggestions:
    """Turn suggestions into additions that the taxonomy can take.

    Suggestions may have been edited: a missing query id is filled in, and a parent's label must be
    the one in the taxonomy.
    """
    suggestions = with_query_ids(taxonomy, suggestions, acceptance.ids)
    refuse_other_labels(taxonomy, suggestions)
    suggestions = [
        replace(s, parent=taxonomy.concept(s.parent.id)) if s.parent.id in taxonomy else s
        for s in suggestions
    ]
    a = acceptance
    min_score, min_confidence = a.min_score or 0.0, a.min_confidence or 0.0
    chosen = select_additions(
        suggestions,
        a.top_k,
        min_score,
        min_confidence,
        allow_moves=a.allow_moves,
        allow_merges=a.allow_merges,
        undecided=a.has_threshold,
    )
    additions, present = drop_existing(taxonomy, chosen)
    validated = validate_additions(taxonomy, additions)
    considered = applicable(suggestions, a.has_threshold)
    merged = merges(considered, min_score, min_confidence)
    queries = {s.query.id for s in considered}
    left_out = len(queries) - len(additions.concepts) - len(present) - len(merged)
    undecided = {s.query.id for s in suggestions if s.decision == Decision.UNDECIDED} - queries
    resolved, new_ids = resolve_ids(taxonomy, validated.additions, a.ids)
    return AcceptedSuggestions(
        [_with_ids(suggestion, new_ids) for suggestion in suggestions],
        resolved,
        present,
        [_with_ids(merge, new_ids) for merge in merged],
        validated.rejected,
        left_out,
        len(undecided),
    )


def _with_ids(suggestion: Suggestion, new_ids: Mapping[str, str]) -> Suggestion:
    """Return a suggestion with the final ids of new concepts."""
    query, parent = suggestion.query, suggestion.parent
    if query.id not in new_ids and parent.id not in new_ids:
        return suggestion
    return replace(
        suggestion,
        query=replace(query, id=new_ids.get(query.id, query.id)),
        parent=replace(parent, id=new_ids.get(parent.id, parent.id)),
    )
