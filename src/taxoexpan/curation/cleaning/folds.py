"""Groups of concepts that are asked for in turn, and what is left of the taxonomy meanwhile."""

from __future__ import annotations

import numpy as np

from taxoexpan.errors import ConfigurationError
from taxoexpan.phrasing import pluralize
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices


def asked_for(taxonomy: Taxonomy, inner: bool = False) -> Indices:
    """The concepts whose relations are doubted: leaves with a parent, or all with a parent."""
    below = taxonomy.parents_of.degrees > 0
    return np.flatnonzero(below if inner else below & (taxonomy.children_of.degrees == 0))


def groups_of(concepts: Indices, folds: int, seed: int) -> list[Indices]:
    """The concepts in so many random groups, each concept in one, all groups about as large."""
    if not isinstance(folds, int) or folds < 2:
        raise ConfigurationError(f"folds is {folds!r}; it must be a whole number, at least 2")
    if len(concepts) < folds:
        raise ConfigurationError(
            f"{pluralize(len(concepts), 'concept')} to ask for cannot make {folds} folds; give "
            "fewer, or a larger taxonomy"
        )
    shuffled = np.random.default_rng(seed).permutation(concepts)
    return [np.sort(group) for group in np.array_split(shuffled, folds)]


def masked(taxonomy: Taxonomy, queries: Indices) -> Taxonomy:
    """The taxonomy without what tells where the queries belong.

    Leaves are taken out. An inner concept only loses its parents: it becomes a root, and what is
    below it stays there, since that can still be learned from.
    """
    parents, children = taxonomy.relation_indices
    asked = np.zeros(len(taxonomy), dtype=np.bool_)
    asked[queries] = True
    told = ~asked[children]
    rest = Taxonomy.from_columns(
        taxonomy.ids,
        taxonomy.labels,
        parents[told],
        children[told],
        taxonomy.synonyms,
        taxonomy.definitions,
        taxonomy.deprecated,
        taxonomy.foreign_names,
        taxonomy.reserved,
    )
    leaves = queries[taxonomy.children_of.degrees[queries] == 0]
    return rest.without([taxonomy.ids[i] for i in leaves.tolist()])
