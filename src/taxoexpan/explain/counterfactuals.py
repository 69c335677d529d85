"""What decided between two suggestions: which relation around them counted most."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taxoexpan.explain.neighbourhood import Floats, Surroundings
from taxoexpan.explain.rescoring import Scores, Tried, rescore
from taxoexpan.network.queries import Queries
from taxoexpan.placement.ranking import Ranker
from taxoexpan.taxonomy.arrays import Indices

MOST = 20
"""Parents, and children, of an anchor that are tried: those nearest to the query."""


@dataclass(frozen=True)
class Removals:
    """Relations taken out of the taxonomy, one at a time, V in all.

    For the query `query[v]` it is that between `anchor[v]`, the first of its suggestions or the
    runner-up, and its parent or child `neighbour[v]`. `change[v]` is how much nearer the runner-up
    then comes. A relation between the two themselves stands there from both ends.
    """

    query: Indices
    anchor: Indices
    neighbour: Indices
    is_child: NDArray[np.bool_]
    change: Floats

    def decisive(self) -> dict[int, int]:
        """For each query the row of the greatest change."""
        order = np.lexsort((-self.change, self.query))
        queries, first = np.unique(self.query[order], return_index=True)
        return dict(zip(queries.tolist(), order[first].tolist(), strict=True))


def try_removals(ranker: Ranker, around: Surroundings, queries: Queries) -> tuple[Scores, Removals]:
    """The scores of the pairs, and what every removal changes.

    The pairs are the first suggestions of all queries, then the runners-up; without
    these nothing is tried. An anchor that loses its only child gains the leaf bonus.
    """
    anchors, pairs, count = ranker.anchors, around.pairs, len(queries)
    rival = np.roll(pairs.anchor, count)
    # The relation between the two, if there is one, is always tried: at both ends.
    most = MOST if len(pairs) > count else 0
    parents, children = (side.nearest(most, rival) for side in (around.parents, around.children))
    whole, left = rescore(ranker, around, queries, Tried(parents, children))
    pair = np.concatenate([around.parents.pair[parents], around.children.pair[children]])
    neighbour = np.concatenate([around.parents.concept[parents], around.children.concept[children]])
    is_child = np.arange(len(pair)) >= len(parents)
    deprecated = np.isin(neighbour, list(anchors.taxonomy.deprecated))
    only = is_child & ~deprecated & (anchors.child_counts[pairs.anchor[pair]] == 1)
    lost = whole.total[pair] - left.total - np.where(only, ranker.leaf_bonus, 0.0)
    change = np.where(pair < count, lost, -lost)
    between = np.flatnonzero(neighbour == rival[pair])
    change[between] = _summed(change[between], pairs.query[pair[between]])
    return whole, Removals(pairs.query[pair], pairs.anchor[pair], neighbour, is_child, change)


def _summed(values: Floats, groups: Indices) -> Floats:
    """The sum of each value's group."""
    sums = np.bincount(groups, values, minlength=1)
    return sums[groups].astype(values.dtype)
