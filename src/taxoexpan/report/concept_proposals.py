"""All suggestions for one new concept, with their evidence."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from taxoexpan.explain import Evidence
from taxoexpan.phrasing import ranked_numbers
from taxoexpan.placement.suggesting.suggestions import Place, Suggestion, SuggestionKind
from taxoexpan.taxonomy import Concept, Move
from taxoexpan.taxonomy.names import normalize_name


@dataclass(frozen=True)
class ConceptProposal:
    """The suggestions for one new concept, best first, and the evidence for its parents."""

    suggestions: tuple[Suggestion, ...]
    evidence: Evidence | None
    moved: frozenset[str] = frozenset()
    """The ids of the concepts that were moved under it."""

    @property
    def query(self) -> Concept:
        """The new concept."""
        return self.first.query

    @property
    def first(self) -> Suggestion:
        """The first suggestion."""
        return self.suggestions[0]

    @property
    def numbers(self) -> list[str]:
        """The confidences (or scores) of the suggestions as text, in which the order is visible."""
        shown = self.suggestions
        return ranked_numbers([s.confidence_or_score for s in shown], [s.score for s in shown])

    @property
    def is_merge(self) -> bool:
        """Whether the concept is first of all a likely synonym of an existing one."""
        return self.first.kind == SuggestionKind.MERGE

    @property
    def has_no_suitable_parent(self) -> bool:
        """Whether no parent is suitable, and the concept is no likely synonym either."""
        return self.first.place == Place.NONE and not self.is_merge

    @property
    def parents(self) -> list[Suggestion]:
        """The suggestions that are parents."""
        return [each for each in self.suggestions if each.kind != SuggestionKind.MERGE]

    @property
    def moves(self) -> tuple[str, ...]:
        """The ids of children of the parent that may move under the new concept."""
        return next(
            (each.moves for each in self.suggestions if each.kind == SuggestionKind.INSERT), ()
        )

    @property
    def additional_parents(self) -> list[Suggestion]:
        """The parents that the concept should have in addition to the first one."""
        return [each for each in self.suggestions if each.kind == SuggestionKind.ALSO]


def group_by_query(
    suggestions: Iterable[Suggestion], evidence: Sequence[Evidence], moves: Iterable[Move] = ()
) -> list[ConceptProposal]:
    """Return one proposal per query, in the order of the queries."""
    by_query: dict[str, list[Suggestion]] = {}
    for suggestion in suggestions:
        by_query.setdefault(suggestion.query.id, []).append(suggestion)
    evidence_of = {each.query.id: each for each in evidence}
    moved: dict[str, set[str]] = {}
    for move in moves:
        moved.setdefault(move.new_parent, set()).add(move.child)
    return [
        ConceptProposal(tuple(group), evidence_of.get(id), frozenset(moved.get(id, ())))
        for id, group in by_query.items()
    ]


def describe_alternative(suggestion: Suggestion, other: Suggestion) -> str:
    """Return a suggestion's label, with its own parent if the other one has the same label."""
    label, path = suggestion.parent.label, suggestion.path
    if suggestion.kind == SuggestionKind.MERGE:
        return f"synonym of {label}"
    if (
        normalize_name(label) != normalize_name(other.parent.label)
        or other.kind == SuggestionKind.MERGE
    ):
        return label
    return f"{label} (under {path[-2]})" if len(path) > 1 else f"{label} (at the top level)"
