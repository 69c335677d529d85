"""The pairs of a query and an anchor that must not be used as negatives."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices


def blocked_among(taxonomy: Taxonomy, queries: Indices, anchors: Indices) -> Indices:
    """Return the blocked pairs (row of an anchor, column of a query) [2, K]; anchors ascend.

    The anchors that are blocked for a query are its parents, its descendants and itself.
    """
    of_parents, parents = taxonomy.parents_of.of_many(queries)
    rows, is_anchor = find_rows(anchors, parents)
    columns, below = taxonomy.descendant_intervals.pairs_among(queries, anchors)
    return np.stack(
        [
            np.concatenate([rows[is_anchor], below]),
            np.concatenate([of_parents[is_anchor], columns]),
        ]
    )


def blocked_draws(taxonomy: Taxonomy, queries: Indices, draws: Indices) -> Indices:
    """Return the draws [N, B] that are blocked for their query, as (row, column) [2, K]."""
    of_parents, parents = taxonomy.parents_of.of_many(queries)
    pairs = np.arange(len(queries)) * len(taxonomy) + draws
    is_parent = np.isin(pairs, of_parents * len(taxonomy) + parents)
    is_below = taxonomy.descendant_intervals.contain(queries, draws)
    return np.stack(np.nonzero(is_parent | is_below))


def find_rows(ascending: Indices, wanted: Indices) -> tuple[Indices, NDArray[np.bool_]]:
    """Return the row of each wanted index, and whether it is there."""
    rows = np.minimum(np.searchsorted(ascending, wanted), len(ascending) - 1)
    return rows, ascending[rows] == wanted
