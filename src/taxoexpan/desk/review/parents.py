"""The parents of new concepts: which can be used, and which are redundant beside others."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from taxoexpan.decisions.suggestion import Suggestion, SuggestionKind
from taxoexpan.taxonomy import Concept, Taxonomy

OBSOLETE = "obsolete"
UNDONE = "learned, undone"
Fields = list[tuple[str, str]]
"""Names and values of a form."""


@dataclass(frozen=True)
class UsableParents:
    """The usable parents of a taxonomy for new concepts, while one request is answered."""

    taxonomy: Taxonomy
    obsolete: frozenset[str] = frozenset()
    """Ids of concepts that a newer file has made obsolete."""
    undone: frozenset[str] = frozenset()
    """Ids of concepts that the model has learned from decisions which have been undone since."""
    _leads_to_usable: dict[int, bool] = field(default_factory=dict, init=False)

    def why_unusable(self, id: str) -> str:
        """Return why nothing can be placed below a concept, or an empty string."""
        if id in self.undone:
            return UNDONE
        if id in self.obsolete:
            return OBSOLETE
        is_deprecated = id in self.taxonomy and self.taxonomy.index(id) in self.taxonomy.deprecated
        return OBSOLETE if is_deprecated else ""

    def is_usable(self, id: str) -> bool:
        """Return whether new concepts can be placed below a concept."""
        return not self.why_unusable(id)

    def filter_suggestions(self, suggestions: Sequence[Suggestion]) -> list[Suggestion]:
        """Return the suggestions with a usable parent."""
        return [suggestion for suggestion in suggestions if self.is_usable(suggestion.parent.id)]

    @cached_property
    def unusable_in_search(self) -> frozenset[int]:
        """The unusable concepts that a search of names finds; it leaves out deprecated ones."""
        ids = self.obsolete | self.undone
        return frozenset(self.taxonomy.index(id) for id in ids if id in self.taxonomy)

    @cached_property
    def _unusable(self) -> frozenset[int]:
        return self.taxonomy.deprecated | self.unusable_in_search

    def children(self, id: str, new: Concept | None = None) -> list[int]:
        """Return the indices of the children of a concept, or of the roots if `id` is empty.

        Unusable concepts are left out, unless there is a usable one below them, and so is `new`
        itself, if the model has learned it.
        """
        taxonomy = self.taxonomy
        if id:
            indices: list[int] = taxonomy.children_of.of(taxonomy.index(id)).tolist()
        else:
            indices = [taxonomy.index(root) for root in taxonomy.roots]
        if new is not None and new.id in taxonomy:
            learned = taxonomy.index(new.id)
            if taxonomy.labels[learned] == new.label:  # or else another concept has its id
                indices = [index for index in indices if index != learned]
        return [index for index in indices if self._is_shown(index)]

    def _is_shown(self, index: int) -> bool:
        """Return whether a concept is usable, or leads to a usable one."""
        if index not in self._unusable:
            return True
        if index not in self._leads_to_usable:  # a concept may be below several parents
            children = self.taxonomy.children_of.of(index).tolist()
            self._leads_to_usable[index] = any(map(self._is_shown, children))
        return self._leads_to_usable[index]


@dataclass(frozen=True)
class Redundancy:
    """Accepted parents, with the pairs of one above and one below it."""

    suggestions: Sequence[Suggestion]
    pairs: Sequence[tuple[Suggestion, Suggestion]]

    @classmethod
    def among(cls, suggestions: Sequence[Suggestion], taxonomy: Taxonomy) -> Redundancy | None:
        """Return what is redundant in accepted suggestions, or None."""
        pairs = list(_pairs(suggestions, taxonomy))
        return cls(suggestions, pairs) if pairs else None

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
