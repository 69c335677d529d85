"""Labels prepared once for all checks of names, and who bears them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from taxoexpan.curation.checks.findings import spelled
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.names import normalize_name


@dataclass(frozen=True)
class Names:
    """The distinct labels of a taxonomy, without blank ones, each with the concepts it names."""

    taxonomy: Taxonomy
    labels: Sequence[str]
    folded: Sequence[str]
    bearers: Adjacency

    @property
    def worded(self) -> list[int]:
        """The labels in which something is left to compare when they are folded."""
        return [number for number, name in enumerate(self.folded) if name]

    @classmethod
    def of(cls, taxonomy: Taxonomy) -> Names:
        """Strip and fold every label once."""
        numbers: dict[str, int] = {}
        stripped = map(str.strip, taxonomy.labels)
        number_of = np.fromiter(
            (numbers.setdefault(label, len(numbers)) for label in stripped),
            np.int64,
            count=len(taxonomy),
        )
        named = np.flatnonzero(number_of != numbers.get("", -1))
        return cls(
            taxonomy,
            list(numbers),
            list(map(normalize_name, numbers)),
            Adjacency.from_pairs(number_of[named], named, len(numbers)),
        )


class Near(NamedTuple):
    """Two concepts that stand next to each other, and how."""

    first: int
    second: int
    how: str


def siblings_among(taxonomy: Taxonomy, some: Sequence[int], others: Sequence[int]) -> Near | None:
    """One of each side that have a parent in common, if there are such."""
    child_under = {parent: one for one in some for parent in parents_at(taxonomy, one)}
    for other in others:
        for parent in parents_at(taxonomy, other):
            if parent in child_under:
                how = f"and both are under {spelled(taxonomy, parent)}"
                return Near(child_under[parent], other, how)
    return None


def neighbours_among(taxonomy: Taxonomy, some: Sequence[int], others: Sequence[int]) -> Near | None:
    """One of each side that are siblings, or parent and child, if there are such."""
    child_under = {parent: one for one in some for parent in parents_at(taxonomy, one)}
    own = set(some)
    for other in others:
        if other in child_under:
            return Near(child_under[other], other, "which is its parent")
        for parent in parents_at(taxonomy, other):
            if parent in own:
                return Near(parent, other, "which is its child")
    return siblings_among(taxonomy, some, others)


def parents_at(taxonomy: Taxonomy, index: int) -> list[int]:
    """The indices of a concept's parents."""
    parents: list[int] = taxonomy.parents_of.of(index).tolist()
    return parents
