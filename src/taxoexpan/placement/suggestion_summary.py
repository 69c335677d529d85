"""A summary of suggestions that is collected block by block."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from taxoexpan.placement.selection import merges, no_suitable_parent
from taxoexpan.placement.suggestions import Suggestion


@dataclass
class SuggestionSummary:
    """The number of queries with suggestions, and the first suggestions that users must know of.

    These are the likely merges, and those of queries without a suitable parent.
    """

    queries: int = 0
    merged: list[Suggestion] = field(default_factory=list)
    without_parent: list[Suggestion] = field(default_factory=list)

    def add(self, suggestions: Sequence[Suggestion]) -> SuggestionSummary:
        """Add all suggestions of some queries."""
        self.queries += len({suggestion.query.id for suggestion in suggestions})
        self.merged += merges(suggestions)
        self.without_parent += no_suitable_parent(suggestions)
        return self
