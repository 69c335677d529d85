"""The distinct labels of a taxonomy and their concepts, prepared once for all label checks."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from taxoexpan.curation.checks.findings import label_and_id
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.names import normalize_name

FindLines = Callable[[Collection[str]], Mapping[str, int]]
"""Finds the lines on which concepts are described, as far as they differ from their order."""


def no_lines(_: Collection[str]) -> Mapping[str, int]:
    """Find no lines: the concepts of the taxonomy are in the order of the file."""
    return {}


@dataclass(frozen=True)
class LabelIndex:
    """The distinct labels, their normalized forms, and the concepts of each label.

    Concepts without a label are left out.
    """

    taxonomy: Taxonomy
    labels: Sequence[str]
    normalized: Sequence[str]
    concepts: Adjacency
    find_lines: FindLines = no_lines

    def of_label(self, number: int) -> list[int]:
        """The concepts with a label, in the order of the file."""
        return self.in_file_order(self.concepts.of(number).tolist())

    def in_file_order(self, concepts: Iterable[int]) -> list[int]:
        """Sort concepts by where the file describes them."""
        return sorted(
            concepts, key=lambda each: (self._lines.get(self.taxonomy.ids[each], 0), each)
        )

    @cached_property
    def _lines(self) -> Mapping[str, int]:
        """The lines of all concepts, which only a taxonomy with findings needs."""
        return self.find_lines(self.taxonomy.ids)

    @property
    def comparable(self) -> list[int]:
        """The numbers of the labels whose normalized form is not empty."""
        return [number for number, name in enumerate(self.normalized) if name]

    @classmethod
    def of(cls, taxonomy: Taxonomy, find_lines: FindLines = no_lines) -> LabelIndex:
        """Strip and normalize every label once."""
        numbers: dict[str, int] = {}
        stripped = map(str.strip, taxonomy.labels)
        number_of = np.fromiter(
            (numbers.setdefault(label, len(numbers)) for label in stripped),
            np.int64,
            count=len(taxonomy),
        )
        labeled = np.flatnonzero(number_of != numbers.get("", -1))
        return cls(
            taxonomy,
            list(numbers),
            list(map(normalize_name, numbers)),
            Adjacency.from_pairs(number_of[labeled], labeled, len(numbers)),
            find_lines,
        )


_PARENT, _CHILD = "which is its parent", "which is its child"


class Neighbors(NamedTuple):
    """Two related concepts, and in words what the second is to the first, and the reverse."""

    first: int
    second: int
    relation: str
    reverse: str


def find_siblings(
    taxonomy: Taxonomy, some: Sequence[int], others: Sequence[int]
) -> Neighbors | None:
    """The first pair, one concept from each list, that has a parent in common."""
    child_under = {parent: one for one in some for parent in parent_indices(taxonomy, one)}
    for other in others:
        for parent in parent_indices(taxonomy, other):
            if parent in child_under:
                relation = f"and both are children of {label_and_id(taxonomy, parent)}"
                return Neighbors(child_under[parent], other, relation, relation)
    return None


def find_neighbors(
    taxonomy: Taxonomy, some: Sequence[int], others: Sequence[int]
) -> Neighbors | None:
    """The first pair, one concept from each list, of parent and child, or of siblings."""
    child_under = {parent: one for one in some for parent in parent_indices(taxonomy, one)}
    own = set(some)
    for other in others:
        if other in child_under:
            return Neighbors(child_under[other], other, _PARENT, _CHILD)
        for parent in parent_indices(taxonomy, other):
            if parent in own:
                return Neighbors(parent, other, _CHILD, _PARENT)
    return find_siblings(taxonomy, some, others)


def parent_indices(taxonomy: Taxonomy, index: int) -> list[int]:
    """The indices of a concept's parents."""
    parents: list[int] = taxonomy.parents_of.of(index).tolist()
    return parents
