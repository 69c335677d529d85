"""All that is proposed for one new concept."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from taxoexpan.explain import Evidence
from taxoexpan.placement.suggestions import ALSO, INSERT, MERGE, NO_PLACE, Suggestion
from taxoexpan.taxonomy import Concept, Move
from taxoexpan.taxonomy.names import normalize_name


@dataclass(frozen=True)
class Proposal:
    """The suggestions for one new concept, best first, and why its parents are among them."""

    ranked: tuple[Suggestion, ...]
    evidence: Evidence | None
    moved: frozenset[str] = frozenset()
    """The ids of what was moved below it, if anything was."""

    @property
    def query(self) -> Concept:
        """The new concept."""
        return self.ranked[0].query

    @property
    def first(self) -> Suggestion:
        """What is proposed first of all."""
        return self.ranked[0]

    @property
    def is_merge(self) -> bool:
        """Whether it is first of all another name of a concept that is there."""
        return self.first.kind == MERGE

    @property
    def is_homeless(self) -> bool:
        """Whether it has no good place, and is no other name either."""
        return self.first.place == NO_PLACE and not self.is_merge

    @property
    def parents(self) -> list[Suggestion]:
        """The suggestions that are parents."""
        return [each for each in self.ranked if each.kind != MERGE]

    @property
    def moves(self) -> tuple[str, ...]:
        """The ids of its parent's children that might move below it."""
        return next((each.moves for each in self.ranked if each.kind == INSERT), ())

    @property
    def further(self) -> list[Suggestion]:
        """The parents that it should have beside the first."""
        return [each for each in self.ranked if each.kind == ALSO]


def proposals_of(
    suggestions: Iterable[Suggestion],
    evidence: Sequence[Evidence],
    moves: Iterable[Move] = (),
) -> list[Proposal]:
    """A proposal for each query, in the order of the queries, with what was moved below it."""
    ranked: dict[str, list[Suggestion]] = {}
    for suggestion in suggestions:
        ranked.setdefault(suggestion.query.id, []).append(suggestion)
    reasons = {each.query.id: each for each in evidence}
    moved: dict[str, set[str]] = {}
    for shift in moves:
        moved.setdefault(shift.new_parent, set()).add(shift.child)
    return [
        Proposal(tuple(group), reasons.get(id), frozenset(moved.get(id, ())))
        for id, group in ranked.items()
    ]


def told_apart(suggestion: Suggestion, other: Suggestion) -> str:
    """A suggestion's label, with where it stands if another has the same."""
    label, path = suggestion.parent.label, suggestion.path
    if suggestion.kind == MERGE:
        return f"another name of {label}"
    if normalize_name(label) != normalize_name(other.parent.label) or other.kind == MERGE:
        return label
    return f"{label} (under {path[-2]})" if len(path) > 1 else f"{label} (at the top)"
