"""Self-supervision (Section 4.3): training instances, and held-out leaves, from the taxonomy."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.arrays import Indices


@dataclass(frozen=True)
class Holdout:
    """Concepts taken out of a taxonomy, and the indices of their parents in what remains."""

    taxonomy: Taxonomy
    concepts: tuple[Concept, ...]
    parents: tuple[Indices, ...]


def hold_out(taxonomy: Taxonomy, ids: Sequence[str], remaining: Taxonomy | None = None) -> Holdout:
    """Mask these concepts with all their relations; one without a remaining parent is dropped.

    `remaining` is what the queries are placed in, where more is masked than these concepts.
    """
    remaining = remaining or taxonomy.without(ids)
    queries, parents = [], []
    for id in ids:
        known = [parent for parent in taxonomy.parents(id) if parent in remaining]
        if known:
            queries.append(taxonomy.concept(id))
            parents.append(np.array([remaining.index(parent) for parent in known]))
    return Holdout(remaining, tuple(queries), tuple(parents))


def hold_out_leaves(taxonomy: Taxonomy, share: float, most: int, seed: int) -> Holdout:
    """Hold out a random share of the leaves that have a parent, and never more than `most`."""
    leaves = np.flatnonzero((taxonomy.children_of.degrees == 0) & (taxonomy.parents_of.degrees > 0))
    count = min(int(len(leaves) * share), most)
    chosen = np.random.default_rng(seed).permutation(leaves)[:count]
    return hold_out(taxonomy, [taxonomy.ids[i] for i in np.sort(chosen)])


def hold_out_growth(taxonomy: Taxonomy, share: float, most: int, seed: int) -> Holdout:
    """Hold out so many leaves, in the way that taxonomies grow: half loose, half whole families.

    A family is all children of a concept, where these are leaves. Of what real taxonomies add,
    about half comes under concepts that had no child before, which loose leaves never tell of.
    """
    generator = np.random.default_rng(seed)
    parents_of, children_of = taxonomy.parents_of, taxonomy.children_of
    leaves = (children_of.degrees == 0) & (parents_of.degrees > 0)
    count = min(int(leaves.sum() * share), most)
    parents, children = taxonomy.relation_indices
    own_leaves = np.bincount(parents[leaves[children]], minlength=len(taxonomy))
    families = np.flatnonzero((own_leaves > 0) & (own_leaves == children_of.degrees))
    chosen, room = [], count // 2
    for parent in generator.permutation(families).tolist():
        if own_leaves[parent] <= room:
            chosen.append(parent)
            room -= int(own_leaves[parent])
    together = np.unique(children_of.of_many(np.array(chosen, dtype=np.int64))[1])
    leaves[together] = False
    loose = generator.permutation(np.flatnonzero(leaves))[: count - len(together)]
    held = np.sort(np.concatenate([together, loose]))
    return hold_out(taxonomy, [taxonomy.ids[i] for i in held])


HOLDOUTS = {"leaves": hold_out_leaves, "growth": hold_out_growth}
"""What is masked for validation, by the setting of that name."""
