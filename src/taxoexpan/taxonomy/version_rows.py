"""The rows of the same concepts in two versions of a taxonomy, and their differences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.taxonomy import Taxonomy

Value = TypeVar("Value")


@dataclass(frozen=True, eq=False)
class VersionRows:
    """Two versions of a taxonomy with M and N concepts, matched by id.

    `old_of` [N] and `new_of` [M] are the rows of the concepts in the other version, or -1.
    """

    old: Taxonomy
    new: Taxonomy
    old_of: Indices
    new_of: Indices

    @classmethod
    def match(cls, old: Taxonomy, new: Taxonomy) -> VersionRows:
        """Match the concepts of two versions."""
        rows = (old.index(id) if id in old else -1 for id in new.ids)
        old_of = np.fromiter(rows, dtype=np.int64, count=len(new))
        new_of = np.full(len(old), -1, dtype=np.int64)
        shared = np.flatnonzero(old_of >= 0)
        new_of[old_of[shared]] = shared
        return cls(old, new, old_of, new_of)

    @property
    def is_new(self) -> NDArray[np.bool_]:
        """Whether each newer concept is missing in the older version: [N]."""
        return self.old_of < 0

    @cached_property
    def relabeled(self) -> NDArray[np.bool_]:
        """Whether each concept is in both versions, with another label: [N]."""
        old, pairs = list(self.old.labels), zip(self.new.labels, self.old_of.tolist(), strict=True)
        return np.array([row >= 0 and old[row] != label for label, row in pairs], dtype=np.bool_)

    @cached_property
    def redefined(self) -> NDArray[np.bool_]:
        """Whether each concept is in both versions, with another definition: [N]."""
        return self._differs(self.old.definitions, self.new.definitions)

    @cached_property
    def with_other_synonyms(self) -> NDArray[np.bool_]:
        """Whether each concept is in both versions, with other or reordered synonyms: [N]."""
        return self._differs(self.old.synonyms, self.new.synonyms)

    @cached_property
    def with_other_deprecation(self) -> NDArray[np.bool_]:
        """Whether each concept is deprecated in only one of both versions: [N]."""
        old, new = np.zeros(len(self.old), np.bool_), np.zeros(len(self.new), np.bool_)
        old[list(self.old.deprecated)], new[list(self.new.deprecated)] = True, True
        return (self.old_of >= 0) & (old[self.old_of] != new) if len(old) else self.is_new & False

    def _differs(self, old: Mapping[int, Value], new: Mapping[int, Value]) -> NDArray[np.bool_]:
        """Return whether each shared concept has another value; empty values count as missing."""
        differs = np.zeros(len(self.new), dtype=np.bool_)
        for row, value in new.items():
            before = int(self.old_of[row])
            differs[row] = before >= 0 and (old.get(before) or None) != (value or None)
        for before in old:
            row = int(self.new_of[before])
            if row >= 0 and row not in new:
                differs[row] = bool(old[before])
        return differs

    def has_other_targets(
        self, old: Adjacency, new: Adjacency, is_changed: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return whether each row is new, or has other neighbors or one that `is_changed`: [N].

        The order of neighbors does not matter, because some programs reorder a file each time.
        """
        shared = np.flatnonzero(self.old_of >= 0)
        is_as_large = old.degrees[self.old_of[shared]] == new.degrees[shared]
        other = np.ones(len(self.new), dtype=np.bool_)
        same = shared[is_as_large]
        other[same] = False
        of, targets = _sorted_targets(*new.of_many(same))
        before_of, before = old.of_many(self.old_of[same])
        _, earlier = _sorted_targets(before_of, self.new_of[before])
        other[same[of[(earlier != targets) | is_changed[targets]]]] = True
        return other

    def relations_only_in_new(self) -> Iterator[tuple[str, str]]:
        """Yield the relations (parent id, child id) that only the newer version has."""
        return _missing_relations(self.new, self.old, self.old_of)

    def relations_only_in_old(self) -> Iterator[tuple[str, str]]:
        """Yield the relations (parent id, child id) that only the older version has."""
        return _missing_relations(self.old, self.new, self.new_of)


def _sorted_targets(rows: Indices, targets: Indices) -> tuple[Indices, Indices]:
    """Sort the neighbors of each row; the rows are ascending."""
    order = np.lexsort((targets, rows))
    return rows[order], targets[order]


def _missing_relations(
    taxonomy: Taxonomy, other: Taxonomy, rows: Indices
) -> Iterator[tuple[str, str]]:
    """Yield the relations that `other` lacks; `rows` are the rows of the concepts in `other`."""
    parents, children = taxonomy.relation_indices
    others = other.relation_indices
    known = others[0] * len(other) + others[1]
    above, below = rows[parents], rows[children]
    missing = (above < 0) | (below < 0) | ~np.isin(above * len(other) + below, known)
    for index in np.flatnonzero(missing).tolist():
        yield taxonomy.ids[int(parents[index])], taxonomy.ids[int(children[index])]
