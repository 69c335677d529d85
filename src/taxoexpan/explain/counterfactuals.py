"""The scores of suggestions, and how they change if one relation is removed from the taxonomy.

If an anchor has more children than its egonet shows, the egonet keeps its selection except for the
removed child. A new selection would also exchange other children and blame the removal for that.

An anchor without one of its parents keeps its description: the words of the labels above it, and
the text that the fine-tuned encoder reads, which names its first parent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taxoexpan.explain.neighborhood import Neighborhood
from taxoexpan.explain.pair_scores import PairScores, parts_of_pairs
from taxoexpan.explain.removal_inputs import RemovedRows, removal_inputs
from taxoexpan.network.queries import Queries
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy.arrays import Floats, Indices

MAX_REMOVALS = 20
"""The number of parents, and of children, that are removed per anchor: the nearest to the query."""


@dataclass(frozen=True)
class Removals:
    """V relations, each removed on its own.

    Removal v is about the query `query[v]` and the relation between `anchor[v]`, its first
    suggestion or the runner-up, and the anchor's parent or child `neighbor[v]`. `change[v]` is
    how much closer the runner-up comes. A relation between the two suggestions occurs twice.
    """

    query: Indices
    anchor: Indices
    neighbor: Indices
    is_child: NDArray[np.bool_]
    change: Floats

    def decisive(self) -> dict[int, int]:
        """Return the row with the largest change for each query."""
        order = np.lexsort((-self.change, self.query))
        queries, first = np.unique(self.query[order], return_index=True)
        return dict(zip(queries.tolist(), order[first].tolist(), strict=True))


def score_removals(
    ranker: Ranker, around: Neighborhood, queries: Queries, mentions: Floats
) -> tuple[PairScores, Removals]:
    """Score the pairs, and again after each removal.

    The pairs are the first suggestions of all queries, followed by the runners-up; `mentions` are
    their bonuses [P]. Without runners-up nothing is removed.
    """
    pairs, count = around.pairs, len(queries)
    rival = np.roll(pairs.anchor, count)
    limit = MAX_REMOVALS if len(pairs) > count else 0
    # A relation between the two suggestions is always among the removals, from both ends.
    parents, children = (side.nearest(limit, rival) for side in (around.parents, around.children))
    removed = RemovedRows(around, parents, children)
    before, after = (
        parts_of_pairs(ranker, inputs)
        for inputs in removal_inputs(ranker, queries, mentions, removed)
    )
    pair, neighbor = removed.pair, removed.neighbor
    loss = before.total[pair] - after.total
    change = np.where(pair < count, loss, -loss)
    between = np.flatnonzero(neighbor == rival[pair])
    change[between] = _group_sums(change[between], pairs.query[pair[between]])
    removals = Removals(pairs.query[pair], pairs.anchor[pair], neighbor, removed.is_child, change)
    return before, removals


def _group_sums(values: Floats, groups: Indices) -> Floats:
    """Return the sum of each value's group."""
    sums = np.bincount(groups, values, minlength=1)
    return sums[groups].astype(values.dtype)
