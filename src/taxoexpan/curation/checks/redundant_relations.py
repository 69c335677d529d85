"""The check for relations that are implied by a longer path."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from taxoexpan.curation.checks.findings import Finding, label_and_id, make_finding
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices

BATCH_SIZE = 8192
"""Parents that are searched for at once; each takes one bit per concept."""


def redundant_relations(taxonomy: Taxonomy) -> Iterator[Finding]:
    """Parents that are also ancestors through another parent."""
    for parent, child in _redundant(taxonomy):
        message = (
            f"{taxonomy.labels[child]!r} is a child of {label_and_id(taxonomy, parent)} "
            "and also a descendant of it through another parent"
        )
        ids = taxonomy.ids
        yield make_finding("redundant-relation", ids[child], message, parent=ids[parent])


def _redundant(taxonomy: Taxonomy) -> list[tuple[int, int]]:
    """The (parent, child) relations whose parent is an ancestor of another parent of the child."""
    parents, children = _possibly_redundant(taxonomy)
    order = taxonomy.topological_order
    inner = order[taxonomy.children_of.degrees[order] > 0]
    rank = np.zeros(len(taxonomy), dtype=np.int64)
    rank[inner] = np.arange(len(inner))
    wanted, numbers = np.unique(rank[parents], return_inverse=True)
    parents_of = _parents_of_each(taxonomy) if len(wanted) else []
    redundant = []
    for start in range(0, len(wanted), BATCH_SIZE):
        batch = wanted[start : start + BATCH_SIZE]
        marks = {index: 1 << bit for bit, index in enumerate(inner[batch].tolist())}
        ancestors = _marked_ancestors(inner[batch[0] :].tolist(), parents_of, marks)
        for k in np.flatnonzero(numbers // BATCH_SIZE == start // BATCH_SIZE).tolist():
            parent, child = int(parents[k]), int(children[k])
            mark = marks[parent]
            if any(ancestors[other] & mark for other in parents_of[child] if other != parent):
                redundant.append((k, parent, child))
    return [(parent, child) for _, parent, child in sorted(redundant)]


def _possibly_redundant(taxonomy: Taxonomy) -> tuple[Indices, Indices]:
    """The relations that can be redundant: their child has another parent on a deeper level."""
    parents, children = taxonomy.relation_indices
    levels = taxonomy.levels[parents]
    deepest = np.zeros(len(taxonomy), dtype=np.int64)
    np.maximum.at(deepest, children, levels)
    possible = levels < deepest[children]
    return parents[possible], children[possible]


def _parents_of_each(taxonomy: Taxonomy) -> list[list[int]]:
    targets: list[int] = taxonomy.parents_of.targets.tolist()
    offsets = taxonomy.parents_of.offsets.tolist()
    return [targets[offsets[i] : offsets[i + 1]] for i in range(len(taxonomy))]


def _marked_ancestors(
    order: Sequence[int], parents_of: Sequence[Sequence[int]], marks: Mapping[int, int]
) -> list[int]:
    """The marks of each concept and of its ancestors, as the bits of one integer.

    Python unites thousands of bits of long integers at a time, so this is fast even if every
    concept has thousands of ancestors.
    """
    ancestors = [0] * len(parents_of)
    for index in order:
        bits = marks.get(index, 0)
        for parent in parents_of[index]:
            bits |= ancestors[parent]
        ancestors[index] = bits
    return ancestors
