"""The pairs of a query and an anchor that must not be used as negatives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices


def blocked_among(taxonomy: Taxonomy, queries: Indices, anchors: Indices) -> Indices:
    """Return the blocked pairs (row of an anchor, column of a query) [2, K]; anchors ascend."""
    columns, concepts = _blocked_concepts(taxonomy, queries)
    rows, is_anchor = find_rows(anchors, concepts)
    return np.stack([rows[is_anchor], columns[is_anchor]])


def blocked_draws(taxonomy: Taxonomy, queries: Indices, draws: Indices) -> Indices:
    """Return the draws [N, B] that are blocked for their query, as (row, column) [2, K]."""
    columns, concepts = _blocked_concepts(taxonomy, queries)
    blocked = np.sort(columns * len(taxonomy) + concepts)
    pairs = np.arange(len(queries)) * len(taxonomy) + draws
    nearest = blocked[np.minimum(np.searchsorted(blocked, pairs), len(blocked) - 1)]
    return np.stack(np.nonzero(nearest == pairs))


def find_rows(ascending: Indices, wanted: Indices) -> tuple[Indices, NDArray[np.bool_]]:
    """Return the row of each wanted index, and whether it is there."""
    rows = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    return rows, ascending[rows] == wanted


def _blocked_concepts(taxonomy: Taxonomy, queries: Indices) -> tuple[Indices, Indices]:
    """Return each query's parents, descendants and itself, after the column of the query."""
    of_parents, parents = taxonomy.parents_of.of_many(queries)
    of_descendants, descendants = taxonomy.children_of.reach_of_many(queries)
    columns = np.concatenate([of_parents, of_descendants, np.arange(len(queries))])
    return columns, np.concatenate([parents, descendants, queries])
