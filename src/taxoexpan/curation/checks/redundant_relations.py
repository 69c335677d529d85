"""The check for relations that a longer way round makes needless."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from taxoexpan.curation.checks.findings import Finding, found, spelled
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices

TOGETHER = 8192
"""How many parents are looked for at once; each takes a bit for every concept."""


def redundant_relations(taxonomy: Taxonomy) -> Iterator[Finding]:
    """Parents that are ancestors through another parent already."""
    for parent, child in _needless(taxonomy):
        message = (
            f"{taxonomy.labels[child]!r} is under {spelled(taxonomy, parent)} directly, "
            "and through another parent as well"
        )
        yield found("redundant-relation", taxonomy.ids[child], message)


def _needless(taxonomy: Taxonomy) -> list[tuple[int, int]]:
    """The (parent, child) relations whose parent is above another parent of the child."""
    parents, children = _doubtful(taxonomy)
    order = taxonomy.topological_order
    inner = order[taxonomy.children_of.degrees[order] > 0]
    rank = np.zeros(len(taxonomy), dtype=np.int64)
    rank[inner] = np.arange(len(inner))
    wanted, numbers = np.unique(rank[parents], return_inverse=True)
    above = _parents_of_each(taxonomy) if len(wanted) else []
    needless = []
    for start in range(0, len(wanted), TOGETHER):
        some = wanted[start : start + TOGETHER]
        marks = {index: 1 << bit for bit, index in enumerate(inner[some].tolist())}
        reached = _reached(inner[some[0] :].tolist(), above, marks)
        for k in np.flatnonzero(numbers // TOGETHER == start // TOGETHER).tolist():
            parent, child = int(parents[k]), int(children[k])
            mark = marks[parent]
            if any(reached[other] & mark for other in above[child] if other != parent):
                needless.append((k, parent, child))
    return [(parent, child) for _, parent, child in sorted(needless)]


def _doubtful(taxonomy: Taxonomy) -> tuple[Indices, Indices]:
    """The relations that may be needless: the child has another parent, and that lies deeper."""
    parents, children = taxonomy.relation_indices
    levels = taxonomy.levels[parents]
    deepest = np.zeros(len(taxonomy), dtype=np.int64)
    np.maximum.at(deepest, children, levels)
    doubtful = levels < deepest[children]
    return parents[doubtful], children[doubtful]


def _parents_of_each(taxonomy: Taxonomy) -> list[list[int]]:
    targets: list[int] = taxonomy.parents_of.targets.tolist()
    offsets = taxonomy.parents_of.offsets.tolist()
    return [targets[offsets[i] : offsets[i + 1]] for i in range(len(taxonomy))]


def _reached(
    order: Sequence[int], above: Sequence[Sequence[int]], marks: Mapping[int, int]
) -> list[int]:
    """Which marks each concept bears or has above it, as bits of one number.

    Long numbers are sets that Python unites thousands of bits at a time, so this stays quick where
    every concept has thousands of others above it.
    """
    reached = [0] * len(above)
    for index in order:
        bits = marks.get(index, 0)
        for parent in above[index]:
            bits |= reached[parent]
        reached[index] = bits
    return reached
