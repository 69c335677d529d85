"""Checks of the relations."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from taxoexpan.curation.checks.findings import Finding, found, spelled
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices

LONGEST_CHAIN = 20
MOST_CHILDREN = 200
MOST_WALKED = 3
MOST_NAMED = 3
"""How many concepts a message names where it could name them all."""


def isolated_concepts(taxonomy: Taxonomy) -> Iterator[Finding]:
    """Concepts without any relation: nothing can be learned from them."""
    degrees = taxonomy.parents_of.degrees + taxonomy.children_of.degrees
    for index in np.flatnonzero((degrees == 0) & ~_deprecated(taxonomy)).tolist():
        message = f"{taxonomy.labels[index]!r} has neither parent nor child"
        yield found("isolated-concept", taxonomy.ids[index], message)


def deprecated_parents(taxonomy: Taxonomy) -> Iterator[Finding]:
    """Concepts in force that were left behind when all above them was deprecated."""
    deprecated = _deprecated(taxonomy)
    parents, children = taxonomy.relation_indices
    in_force = np.bincount(children[~deprecated[parents]], minlength=len(taxonomy))
    left = (taxonomy.parents_of.degrees > 0) & (in_force == 0) & ~deprecated
    for index in np.flatnonzero(left).tolist():
        above = taxonomy.parents_of.of(index).tolist()
        named = ", ".join(spelled(taxonomy, parent) for parent in above[:MOST_NAMED])
        which = f"its parent {named} is" if len(above) == 1 else f"its parents {named} are all"
        if len(above) > MOST_NAMED:
            which = f"all its {len(above)} parents ({named}, …) are"
        message = (
            f"{taxonomy.labels[index]!r} is in force, but {which} deprecated; "
            "give it a parent in force, or deprecate it too"
        )
        yield found("deprecated-parent", taxonomy.ids[index], message)


def orphan_concepts(taxonomy: Taxonomy) -> Iterator[Finding]:
    """Branches that hang on no parent, where one root holds most of the taxonomy."""
    is_root = (taxonomy.parents_of.degrees == 0) & (taxonomy.children_of.degrees > 0)
    is_root &= ~_deprecated(taxonomy)
    roots = np.flatnonzero(is_root).tolist()
    if len(roots) < 2:
        return
    main, reached = _main_root(taxonomy, roots)
    if 2 * reached <= len(taxonomy):
        return
    roots.remove(main)
    for index in roots:
        message = (
            f"{taxonomy.labels[index]!r} has children but no parent, while the root "
            f"{spelled(taxonomy, main)} reaches {reached:,} of {len(taxonomy):,} concepts; "
            "is a relation missing?"
        )
        yield found("orphan-concept", taxonomy.ids[index], message)


def long_chains(taxonomy: Taxonomy) -> Iterator[Finding]:
    """Concepts at which a chain from a root becomes too long to follow."""
    first_beyond = np.flatnonzero(taxonomy.levels == LONGEST_CHAIN)
    if not len(first_beyond):
        return
    below = _longest_below(taxonomy, LONGEST_CHAIN)
    for index in first_beyond.tolist():
        more = f", and goes on for {below[index]:,} more" if below[index] else ""
        message = (
            f"the longest chain from a root down to {taxonomy.labels[index]!r} holds "
            f"{LONGEST_CHAIN + 1} concepts{more}; look for a relation that should not be there"
        )
        yield found("long-chain", taxonomy.ids[index], message)


def hubs(taxonomy: Taxonomy) -> Iterator[Finding]:
    """Concepts with more children than anyone can look through."""
    counts = taxonomy.children_of.degrees
    for index in np.flatnonzero(counts > MOST_CHILDREN).tolist():
        message = (
            f"{taxonomy.labels[index]!r} has {counts[index]:,} children; "
            "concepts between it and them would make them easier to find"
        )
        yield found("hub", taxonomy.ids[index], message)


def _deprecated(taxonomy: Taxonomy) -> NDArray[np.bool_]:
    """Which concepts are no longer in force."""
    mask = np.zeros(len(taxonomy), dtype=np.bool_)
    mask[list(taxonomy.deprecated)] = True
    return mask


def _main_root(taxonomy: Taxonomy, roots: Sequence[int]) -> tuple[int, int]:
    """The root that reaches most concepts, and how many."""
    sizes = np.bincount(_tops(taxonomy), minlength=len(taxonomy))
    # First parents alone tell trees apart; where they do not, the largest few are worth a walk.
    reach = {
        root: 1 + sum(map(len, taxonomy.children_of.levels_down(np.array([root]))))
        for root in sorted(roots, key=lambda root: -sizes[root])[:MOST_WALKED]
    }
    main = max(reach, key=reach.__getitem__)
    return main, reach[main]


def _tops(taxonomy: Taxonomy) -> Indices:
    """The root at which each concept ends when it is followed up along first parents."""
    parents_of = taxonomy.parents_of
    above = np.arange(len(taxonomy))
    placed = np.flatnonzero(parents_of.degrees)
    above[placed] = parents_of.targets[parents_of.offsets[placed]]
    # Every round doubles the distance, so even a very long chain takes few of them.
    while not np.array_equal(above, higher := above[above]):
        above = higher
    return above


def _longest_below(taxonomy: Taxonomy, level: int) -> Indices:
    """How many concepts the longest chain below each concept holds, from a level downwards."""
    parents, children = taxonomy.relation_indices
    deep = taxonomy.levels[parents] >= level
    parents, children = parents[deep], children[deep]
    order = np.argsort(-taxonomy.levels[children], kind="stable")
    parents, children = parents[order], children[order]
    changes = np.flatnonzero(np.diff(taxonomy.levels[children])) + 1
    below = np.zeros(len(taxonomy), dtype=np.int64)
    # From the bottom up: what is below a child is settled before its parents ask for it.
    for some, theirs in zip(np.split(parents, changes), np.split(children, changes), strict=True):
        np.maximum.at(below, some, below[theirs] + 1)
    return below
