"""Checks for identical names: repeated labels, and labels that are synonyms of other concepts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from taxoexpan.curation.checks.findings import Finding, label_and_id, make_finding
from taxoexpan.curation.checks.label_index import LabelIndex, find_neighbors, parent_indices
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.names import normalize_name

MAX_LISTED = 5
"""Concepts that a message lists."""


def repeated_labels(index: LabelIndex) -> Iterator[Finding]:
    """Labels that several concepts have; among children of one parent that is a mistake.

    The finding is about the last of them in the file, which is usually the new one.
    """
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
    """Labels that are also a synonym of another concept.

    The finding is about the concept that is later in the file, which is usually the new one.
    """
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
    """The sets of siblings among the concepts, each once, with one of their common parents."""
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
    """The ids of all concepts but the last, or of some of them."""
    ids = [taxonomy.ids[index] for index in indices[:-1][:MAX_LISTED]]
    return f"also: {', '.join(ids)}" + (", …" if len(indices) > MAX_LISTED + 1 else "")


def _synonym(taxonomy: Taxonomy, concept: int, name: str) -> str:
    """The synonym of a concept that has this normalized form."""
    return next(each for each in taxonomy.synonyms[concept] if normalize_name(each) == name)


def _synonyms(taxonomy: Taxonomy, labeled: dict[str, list[int]]) -> dict[str, list[int]]:
    """Each label that is a synonym of other concepts, with these concepts."""
    synonyms: dict[str, list[int]] = defaultdict(list)
    for index in sorted(taxonomy.synonyms):
        own = normalize_name(taxonomy.labels[index])
        for name in {normalize_name(synonym): None for synonym in taxonomy.synonyms[index]}:
            if name != own and name in labeled:
                synonyms[name].append(index)
    return synonyms
