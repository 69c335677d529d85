"""An index of labels, and checks for labels that are repeated or synonyms of other concepts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from taxoexpan.curation.checks.findings import Finding, label_and_id, make_finding
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.names import normalize_name

MAX_LISTED = 5
"""Concepts that a message lists."""

FindLines = Callable[[Collection[str]], Mapping[str, int]]
"""Finds the lines on which concepts are described, as far as they differ from their order."""


def no_lines(_: Collection[str]) -> Mapping[str, int]:
    """Return no lines, if the order of the concepts is the order of the file."""
    return {}


@dataclass(frozen=True)
class LabelIndex:
    """The distinct labels, their normalized forms, and the concepts with each label."""

    taxonomy: Taxonomy
    labels: Sequence[str]
    normalized: Sequence[str]
    concepts: Adjacency
    find_lines: FindLines = no_lines

    def of_label(self, number: int) -> list[int]:
        """Return the concepts with a label, in file order."""
        return self.in_file_order(self.concepts.of(number).tolist())

    def in_file_order(self, concepts: Iterable[int]) -> list[int]:
        """Sort concepts by their positions in the file."""
        return sorted(
            concepts, key=lambda each: (self._lines.get(self.taxonomy.ids[each], 0), each)
        )

    @cached_property
    def _lines(self) -> Mapping[str, int]:
        """The lines of all concepts, computed only if there are findings."""
        return self.find_lines(self.taxonomy.ids)

    @property
    def comparable(self) -> list[int]:
        """The numbers of the labels whose normalized form is not empty."""
        return [number for number, name in enumerate(self.normalized) if name]

    @classmethod
    def of(cls, taxonomy: Taxonomy, find_lines: FindLines = no_lines) -> LabelIndex:
        """Build the index of a taxonomy's labels, stripped and normalized."""
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
    """Two related concepts, with descriptions of the relation in both directions."""

    first: int
    second: int
    relation: str
    reverse: str


def find_siblings(
    taxonomy: Taxonomy, some: Sequence[int], others: Sequence[int]
) -> Neighbors | None:
    """Return the first two siblings, one from each list."""
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
    """Return the first parent and child, or else the first siblings, one from each list."""
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
    """Return the indices of a concept's parents."""
    parents: list[int] = taxonomy.parents_of.of(index).tolist()
    return parents


def repeated_labels(index: LabelIndex) -> Iterator[Finding]:
    """Find labels of several concepts, and report the last of these concepts in the file."""
    taxonomy = index.taxonomy
    for number in np.flatnonzero(index.concepts.degrees > 1).tolist():
        label, concepts = index.labels[number], index.of_label(number)
        families = _families(taxonomy, concepts)
        for siblings, parent in families.items():
            message = (
                f"{label!r} is the label of {len(siblings)} children of "
                f"{label_and_id(taxonomy, parent)}; merge them or give them different labels "
                f"({_others(taxonomy, siblings)})"
            )
            yield make_finding("repeated-sibling", taxonomy.ids[siblings[-1]], message)
        if max(map(len, families), default=0) < len(concepts):
            count, others = len(concepts), _others(taxonomy, concepts)
            message = f"{label!r} is the label of {count} concepts ({others})"
            yield make_finding("repeated-label", taxonomy.ids[concepts[-1]], message)


def labels_as_synonyms(index: LabelIndex) -> Iterator[Finding]:
    """Find labels that are synonyms of another concept; report the later of the two concepts."""
    taxonomy = index.taxonomy
    labeled: dict[str, list[int]] = defaultdict(list)
    for number in index.comparable:
        labeled[index.normalized[number]] += index.concepts.of(number).tolist()
    for name, unsorted in _synonyms(taxonomy, labeled).items():
        some, others = index.in_file_order(labeled[name]), index.in_file_order(unsorted)
        neighbors = find_neighbors(taxonomy, some, others)
        concept, other = neighbors[:2] if neighbors else (some[0], others[-1])
        if index.in_file_order((concept, other))[1] == concept:
            place, relation = concept, neighbors.relation if neighbors else ""
            message = f"{taxonomy.labels[concept]!r} is also a synonym of "
            message += label_and_id(taxonomy, other)
        else:
            place, relation = other, neighbors.reverse if neighbors else ""
            message = f"the synonym {_synonym(taxonomy, other, name)!r} of "
            message += f"{taxonomy.labels[other]!r} is also the label of "
            message += label_and_id(taxonomy, concept)
        if relation:
            message += f", {relation}; merge them if they are the same concept, or "
            message += "remove the synonym"
        if len(others) > 1:
            message += f" (and a synonym of {len(others) - 1} more)"
        yield make_finding("label-is-synonym", taxonomy.ids[place], message, bool(relation))


def _families(taxonomy: Taxonomy, concepts: Sequence[int]) -> dict[tuple[int, ...], int]:
    """Return the distinct groups of siblings, each with one common parent."""
    children: dict[int, list[int]] = defaultdict(list)
    for concept in concepts:
        for parent in parent_indices(taxonomy, concept):
            children[parent].append(concept)
    families: dict[tuple[int, ...], int] = {}
    for parent, siblings in children.items():
        if len(siblings) > 1:
            families.setdefault(tuple(siblings), parent)
    return families


def _others(taxonomy: Taxonomy, indices: Sequence[int]) -> str:
    """List the ids of all concepts except the last, up to a limit."""
    ids = [taxonomy.ids[index] for index in indices[:-1][:MAX_LISTED]]
    return f"also: {', '.join(ids)}" + (", …" if len(indices) > MAX_LISTED + 1 else "")


def _synonym(taxonomy: Taxonomy, concept: int, name: str) -> str:
    """Return the synonym of a concept with this normalized form."""
    return next(each for each in taxonomy.synonyms[concept] if normalize_name(each) == name)


def _synonyms(taxonomy: Taxonomy, labeled: dict[str, list[int]]) -> dict[str, list[int]]:
    """Return each label that is a synonym of other concepts, with these concepts."""
    synonyms: dict[str, list[int]] = defaultdict(list)
    for index in sorted(taxonomy.synonyms):
        own = normalize_name(taxonomy.labels[index])
        for name in {normalize_name(synonym): None for synonym in taxonomy.synonyms[index]}:
            if name != own and name in labeled:
                synonyms[name].append(index)
    return synonyms
