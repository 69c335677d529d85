"""Concepts that are held out of a taxonomy, to be placed again (Section 4.3)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.arrays import Indices


@dataclass(frozen=True)
class Holdout:
    """Held-out concepts, with the remaining taxonomy.

    Args:
        taxonomy: the remaining taxonomy.
        concepts: the held-out concepts that have a remaining parent.
        parents: the indices of their parents in the remaining taxonomy.
    """

    taxonomy: Taxonomy
    concepts: tuple[Concept, ...]
    parents: tuple[Indices, ...]


def hold_out(taxonomy: Taxonomy, ids: Sequence[str], remaining: Taxonomy | None = None) -> Holdout:
    """Hold out these concepts with all their relations, except those without a remaining parent.

    `remaining` is the taxonomy to place them in, if more than these concepts is removed.
    """
    remaining = remaining or taxonomy.without(ids)
    concepts, parents = [], []
    for id in ids:
        known = [parent for parent in taxonomy.parents(id) if parent in remaining]
        if known:
            concepts.append(taxonomy.concept(id))
            parents.append(np.array([remaining.index(parent) for parent in known]))
    return Holdout(remaining, tuple(concepts), tuple(parents))


def hold_out_leaves(taxonomy: Taxonomy, fraction: float, max_leaves: int, seed: int) -> Holdout:
    """Hold out a random fraction of the leaves that have a parent, at most `max_leaves`."""
    leaves = np.flatnonzero(_is_leaf(taxonomy))
    count = min(int(len(leaves) * fraction), max_leaves)
    chosen = np.random.default_rng(seed).permutation(leaves)[:count]
    return hold_out(taxonomy, [taxonomy.ids[i] for i in np.sort(chosen)])


def hold_out_growth(taxonomy: Taxonomy, fraction: float, max_leaves: int, seed: int) -> Holdout:
    """Hold out leaves as taxonomies grow: half of them single leaves, half whole families.

    A family is all children of a concept, if they are leaves. About half of the concepts that real
    taxonomies add come under concepts that had no child before. Single held-out leaves never show
    this case.
    """
    rng = np.random.default_rng(seed)
    children_of = taxonomy.children_of
    is_leaf = _is_leaf(taxonomy)
    count = min(int(is_leaf.sum() * fraction), max_leaves)
    parents, children = taxonomy.relation_indices
    leaf_counts = np.bincount(parents[is_leaf[children]], minlength=len(taxonomy))
    families = np.flatnonzero((leaf_counts > 0) & (leaf_counts == children_of.degrees))
    chosen, remaining = [], count // 2
    for parent in rng.permutation(families).tolist():
        if leaf_counts[parent] <= remaining:
            chosen.append(parent)
            remaining -= int(leaf_counts[parent])
    in_families = np.unique(children_of.of_many(np.array(chosen, dtype=np.int64))[1])
    is_leaf[in_families] = False
    single = rng.permutation(np.flatnonzero(is_leaf))[: count - len(in_families)]
    held_out = np.sort(np.concatenate([in_families, single]))
    return hold_out(taxonomy, [taxonomy.ids[i] for i in held_out])


def _is_leaf(taxonomy: Taxonomy) -> NDArray[np.bool_]:
    """Return whether each concept is a leaf with a parent."""
    is_leaf: NDArray[np.bool_] = taxonomy.children_of.degrees == 0
    return is_leaf & (taxonomy.parents_of.degrees > 0)


HOLDOUTS: dict[str, Callable[[Taxonomy, float, int, int], Holdout]] = {
    "leaves": hold_out_leaves,
    "growth": hold_out_growth,
}
"""The functions that hold out leaves for validation, by the setting `validation`."""
