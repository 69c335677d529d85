"""Several parents of a concept of which one is above another, and the decisions to choose from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

from taxoexpan.decisions.suggestion import Suggestion, SuggestionKind
from taxoexpan.desk.store.decisions import Action, LogEntry
from taxoexpan.taxonomy import Taxonomy

Fields = list[tuple[str, str]]
"""Names and values of a form."""


@dataclass(frozen=True)
class Redundancy:
    """Accepted parents, with the pairs of one above and one below it."""

    suggestions: Sequence[Suggestion]
    pairs: Sequence[tuple[Suggestion, Suggestion]]

    @classmethod
    def of(cls, decision: LogEntry, taxonomy: Taxonomy) -> Redundancy | None:
        """Return what is redundant in a decision, or None."""
        if decision.action != Action.ACCEPT or len(decision.suggestions) < 2:
            return None
        pairs = list(_pairs(decision.suggestions, taxonomy))
        return cls(decision.suggestions, pairs) if pairs else None

    @property
    def redundant(self) -> list[tuple[Suggestion, list[Suggestion]]]:
        """Each redundant parent with the parents below it."""
        highs = {high.parent.id: high for high, _ in self.pairs}
        return [
            (high, [low for other, low in self.pairs if other.parent.id == id])
            for id, high in highs.items()
        ]

    @cached_property
    def options(self) -> list[tuple[list[Suggestion], Fields]]:
        """The choices: without the parents above others, without those below, and all."""
        above = {high.parent.id for high, _ in self.pairs}
        below = {low.parent.id for _, low in self.pairs}
        narrow = [each for each in self.suggestions if each.parent.id not in above]
        broad = [each for each in self.suggestions if each.parent.id not in below]
        every = [*self.suggestions]
        return [
            (narrow, _fields(narrow)),
            (broad, _fields(broad)),
            (every, [*_fields(every), ("keep", "1")]),
        ]


def _pairs(
    suggestions: Sequence[Suggestion], taxonomy: Taxonomy
) -> Iterator[tuple[Suggestion, Suggestion]]:
    for low in suggestions:
        if low.parent.id in taxonomy:
            ancestors = set(taxonomy.ancestors(low.parent.id))
            yield from ((high, low) for high in suggestions if high.parent.id in ancestors)


def _fields(suggestions: Sequence[Suggestion]) -> Fields:
    """Return the fields of a form that accepts these parents."""
    first, *others = suggestions
    fields = [("accept", first.parent.id), *(("with", each.parent.id) for each in others)]
    if first.kind == SuggestionKind.INSERT:
        fields += [("action", "insert"), *(("move", id) for id in first.moves)]
    return fields
