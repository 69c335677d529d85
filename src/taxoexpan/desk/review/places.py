"""The concepts below which new ones can be placed: neither obsolete, nor learned and undone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from taxoexpan.placement.suggesting.suggestions import Suggestion
from taxoexpan.taxonomy import Concept, Taxonomy

OBSOLETE = "obsolete"
UNDONE = "learned, undone"


@dataclass(frozen=True)
class Places:
    """The places of a taxonomy for new concepts, while one request is answered."""

    taxonomy: Taxonomy
    obsolete: frozenset[str] = frozenset()
    """Ids of concepts that a newer file has made obsolete."""
    undone: frozenset[str] = frozenset()
    """Ids of concepts that the model has learned from decisions which have been undone since."""

    @cached_property
    def found_by_name(self) -> frozenset[int]:
        """The marked concepts that a search of names finds; it leaves out deprecated ones."""
        others = self.obsolete | self.undone
        return frozenset(self.taxonomy.index(id) for id in others if id in self.taxonomy)

    @cached_property
    def _marked(self) -> frozenset[int]:
        return self.taxonomy.deprecated | self.found_by_name

    def mark(self, id: str) -> str:
        """Return why nothing can be placed below a concept, or an empty string."""
        if id in self.undone:
            return UNDONE
        is_known = id in self.taxonomy
        is_old = is_known and self.taxonomy.index(id) in self.taxonomy.deprecated
        return OBSOLETE if is_old or id in self.obsolete else ""

    def usable(self, suggestions: Sequence[Suggestion]) -> list[Suggestion]:
        """Return the suggestions whose parent is not marked."""
        return [each for each in suggestions if not self.mark(each.parent.id)]

    def children(self, id: str, new: Concept | None = None) -> list[int]:
        """Return the indices of the children of a concept, or of the roots if `id` is empty.

        Marked concepts are left out, unless they are above others, and so is `new` itself, if the
        model has learned it.
        """
        taxonomy = self.taxonomy
        if id:
            indices: list[int] = taxonomy.children_of.of(taxonomy.index(id)).tolist()
        else:
            indices = [taxonomy.index(root) for root in taxonomy.roots]
        own = taxonomy.index(new.id) if new and new.id in taxonomy else None
        if new and own is not None and taxonomy.labels[own] == new.label:
            indices = [index for index in indices if index != own]
        return [index for index in indices if self._is_shown(index)] if self._marked else indices

    def _is_shown(self, index: int) -> bool:
        """Return whether a concept is not marked, or leads to one that is not."""
        below = self.taxonomy.children_of.of
        return index not in self._marked or any(map(self._is_shown, below(index).tolist()))
