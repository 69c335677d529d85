"""Placements that were rejected, and must not be proposed again."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from taxoexpan.placement.suggesting.feedback import JudgedPlacement
from taxoexpan.placement.suggesting.suggestions import Suggestion, SuggestionKind
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.names import normalize_name


@dataclass(frozen=True)
class Rejections:
    """The ids of rejected parents, and of rejected merges, by the normalized name of a concept."""

    parents: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    merges: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @classmethod
    def of(cls, rejected: Iterable[JudgedPlacement]) -> Rejections:
        """Collect rejected placements."""
        parents: dict[str, dict[str, None]] = {}
        merges: dict[str, dict[str, None]] = {}
        for placement in rejected:
            target = merges if placement.kind == SuggestionKind.MERGE else parents
            name = normalize_name(placement.concept.label)
            target.setdefault(name, {})[placement.parent_id] = None
        return cls(_as_tuples(parents), _as_tuples(merges))

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Rejections:
        """Restore the rejections from the fields of `as_dict`."""
        return cls(_as_tuples(fields["parents"]), _as_tuples(fields["merges"]))

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON stores them."""
        return {"parents": dict(self.parents), "merges": dict(self.merges)}

    def __bool__(self) -> bool:
        return bool(self.parents or self.merges)

    @property
    def count(self) -> int:
        """The number of rejected placements."""
        return sum(map(len, [*self.parents.values(), *self.merges.values()]))

    def joined(self, later: Rejections) -> Rejections:
        """Return these rejections together with later ones."""
        return Rejections(
            _union(self.parents, later.parents),
            _union(self.merges, later.merges),
        )

    def within(self, taxonomy: Taxonomy) -> Rejections:
        """Return the rejections whose parents or concepts to merge with are in a taxonomy."""
        return Rejections(_within(self.parents, taxonomy), _within(self.merges, taxonomy))

    def anchors_of(self, taxonomy: Taxonomy, concepts: Sequence[Concept]) -> list[Indices]:
        """Return the indices of the rejected parents of each concept."""
        rows = []
        for concept in concepts:
            ids = self.parents.get(normalize_name(concept.label), ())
            rows.append(np.array([taxonomy.index(id) for id in ids if id in taxonomy], np.int64))
        return rows

    def filtered(self, suggestions: Sequence[Suggestion]) -> list[Suggestion]:
        """Return the suggestions that were not rejected, with their new ranks."""
        kept, ranks = [], dict[str, int]()
        for suggestion in suggestions:
            if self._has(suggestion):
                continue
            rank = ranks[suggestion.query.id] = ranks.get(suggestion.query.id, 0) + 1
            kept.append(replace(suggestion, rank=rank))
        return kept

    def _has(self, suggestion: Suggestion) -> bool:
        rejected = self.merges if suggestion.kind == SuggestionKind.MERGE else self.parents
        return suggestion.parent.id in rejected.get(normalize_name(suggestion.query.label), ())


NO_REJECTIONS = Rejections()


def _as_tuples(ids: Mapping[str, Iterable[str]]) -> dict[str, tuple[str, ...]]:
    return {name: tuple(each) for name, each in ids.items()}


def _within(ids: Mapping[str, tuple[str, ...]], taxonomy: Taxonomy) -> dict[str, tuple[str, ...]]:
    known = {name: tuple(id for id in own if id in taxonomy) for name, own in ids.items()}
    return {name: own for name, own in known.items() if own}


def _union(
    one: Mapping[str, tuple[str, ...]], other: Mapping[str, tuple[str, ...]]
) -> dict[str, tuple[str, ...]]:
    names = dict.fromkeys([*one, *other])
    return {n: tuple(dict.fromkeys([*one.get(n, ()), *other.get(n, ())])) for n in names}
