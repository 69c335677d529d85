"""Checks of the structure: isolated, orphaned, very deep or wide parts, redundant relations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from taxoexpan.curation.checks.findings import Finding, make_finding
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices

MAX_CHAIN_LENGTH = 20
MAX_CHILDREN = 200
MAX_ROOTS_COMPARED = 3
MAX_LISTED = 3
"""Parents that a message lists."""
BATCH_SIZE = 8192
"""Relations that are compared at once, which limits the memory."""


def isolated_concepts(taxonomy: Taxonomy) -> Iterator[Finding]:
    """Find concepts without any relation, from which a model cannot learn."""
    degrees = taxonomy.parents_of.degrees + taxonomy.children_of.degrees
    for index in np.flatnonzero((degrees == 0) & ~_deprecated(taxonomy)).tolist():
        message = f"{taxonomy.labels[index]!r} has neither parent nor child"
        yield make_finding("isolated-concept", taxonomy.ids[index], message)


def deprecated_parents(taxonomy: Taxonomy) -> Iterator[Finding]:
    """Find active concepts whose parents are all deprecated."""
    deprecated = _deprecated(taxonomy)
    parents, children = taxonomy.relation_indices
    active_parents = np.bincount(children[~deprecated[parents]], minlength=len(taxonomy))
    affected = (taxonomy.parents_of.degrees > 0) & (active_parents == 0) & ~deprecated
    for index in np.flatnonzero(affected).tolist():
        own = taxonomy.parents_of.of(index).tolist()
        listed = ", ".join(label_and_id(taxonomy, parent) for parent in own[:MAX_LISTED])
        which = f"its parent {listed} is" if len(own) == 1 else f"its parents {listed} are all"
        if len(own) > MAX_LISTED:
            which = f"all its {len(own)} parents ({listed}, …) are"
        message = (
            f"{taxonomy.labels[index]!r} is not deprecated, but {which} deprecated; "
            "give it a parent that is not deprecated, or deprecate it too"
        )
        parent = taxonomy.ids[own[0]]
        yield make_finding("deprecated-parent", taxonomy.ids[index], message, parent=parent)


def orphan_concepts(taxonomy: Taxonomy) -> Iterator[Finding]:
    """Find further roots with children, if one root covers more than half of the taxonomy."""
    is_root = (taxonomy.parents_of.degrees == 0) & (taxonomy.children_of.degrees > 0)
    is_root &= ~_deprecated(taxonomy)
    roots = np.flatnonzero(is_root).tolist()
    if len(roots) < 2:
        return
    main, covered = _main_root(taxonomy, roots)
    if 2 * covered <= len(taxonomy):
        return
    roots.remove(main)
    for index in roots:
        message = (
            f"{taxonomy.labels[index]!r} has children but no parent, and the root "
            f"{label_and_id(taxonomy, main)} covers {covered:,} of {len(taxonomy):,} concepts; "
            "check whether a relation is missing"
        )
        yield make_finding("orphan-concept", taxonomy.ids[index], message)


def long_chains(taxonomy: Taxonomy) -> Iterator[Finding]:
    """Find the concepts at which a chain from a root becomes too long."""
    too_deep = np.flatnonzero(taxonomy.levels == MAX_CHAIN_LENGTH)
    if not len(too_deep):
        return
    below = _longest_below(taxonomy, MAX_CHAIN_LENGTH)
    for index in too_deep.tolist():
        more = f" and continues for {below[index]:,} more" if below[index] else ""
        message = (
            f"the longest chain from a root to {taxonomy.labels[index]!r} has "
            f"{MAX_CHAIN_LENGTH + 1} concepts{more}; look for a wrong relation"
        )
        yield make_finding("long-chain", taxonomy.ids[index], message)


def hubs(taxonomy: Taxonomy) -> Iterator[Finding]:
    """Find concepts with too many children."""
    counts = taxonomy.children_of.degrees
    for index in np.flatnonzero(counts > MAX_CHILDREN).tolist():
        message = (
            f"{taxonomy.labels[index]!r} has {counts[index]:,} children; "
            "intermediate concepts would make them easier to find"
        )
        yield make_finding("hub", taxonomy.ids[index], message)


def redundant_relations(taxonomy: Taxonomy) -> Iterator[Finding]:
    """Find parents that are also ancestors through another parent."""
    for parent, child in _redundant(taxonomy):
        message = (
            f"{taxonomy.labels[child]!r} is a child of {label_and_id(taxonomy, parent)} "
            "and also a descendant of it through another parent"
        )
        ids = taxonomy.ids
        yield make_finding("redundant-relation", ids[child], message, parent=ids[parent])


def _deprecated(taxonomy: Taxonomy) -> NDArray[np.bool_]:
    """Return a mask of the deprecated concepts."""
    mask = np.zeros(len(taxonomy), dtype=np.bool_)
    mask[list(taxonomy.deprecated)] = True
    return mask


def _main_root(taxonomy: Taxonomy, roots: Sequence[int]) -> tuple[int, int]:
    """Return the root with the most descendants, and the number of concepts that it covers."""
    sizes = np.bincount(taxonomy.tops, minlength=len(taxonomy))
    # First parents are enough for trees; otherwise the largest few roots are counted exactly.
    covered = {
        root: 1 + sum(map(len, taxonomy.children_of.levels_down(np.array([root]))))
        for root in sorted(roots, key=lambda root: -sizes[root])[:MAX_ROOTS_COMPARED]
    }
    main = max(covered, key=covered.__getitem__)
    return main, covered[main]


def _longest_below(taxonomy: Taxonomy, level: int) -> Indices:
    """Return the length of the longest chain below each concept at this level or deeper."""
    parents, children = taxonomy.relation_indices
    deep = taxonomy.levels[parents] >= level
    parents = parents[deep]
    children = children[deep]
    order = np.argsort(-taxonomy.levels[children], kind="stable")
    below = [0] * len(taxonomy)
    # From the bottom up, so that the value of a child is known before its parents need it.
    for parent, child in zip(parents[order].tolist(), children[order].tolist(), strict=True):
        below[parent] = max(below[parent], below[child] + 1)
    return np.array(below)


def _redundant(taxonomy: Taxonomy) -> list[tuple[int, int]]:
    """Return the (parent, child) relations that another parent of the child implies."""
    parents, children = taxonomy.relation_indices
    levels = taxonomy.levels[parents]
    deepest = np.zeros(len(taxonomy), dtype=np.int64)
    np.maximum.at(deepest, children, levels)
    # Only a child with another parent on a deeper level can have a redundant relation.
    some = levels < deepest[children]
    parents = parents[some]
    children = children[some]
    owners, others = taxonomy.parents_of.of_many(children)
    above = others != parents[owners]
    owners = owners[above]
    others = others[above]
    implied = np.zeros(len(parents), dtype=np.bool_)
    for start in range(0, len(others), BATCH_SIZE):
        batch = slice(start, start + BATCH_SIZE)
        wanted = others[batch]
        targets = parents[owners[batch]]
        reached = taxonomy.descendant_intervals.contain(targets, wanted[None])[0]
        implied[owners[batch][reached]] = True
    return list(zip(parents[implied].tolist(), children[implied].tolist(), strict=True))


def label_and_id(taxonomy: Taxonomy, index: int) -> str:
    """Return a concept's label and id for messages."""
    return f"{taxonomy.labels[index]!r} ({taxonomy.ids[index]})"
