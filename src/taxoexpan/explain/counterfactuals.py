"""The scores of suggestions, and how they change if one relation is removed from the taxonomy.

If an anchor has more children than its egonet shows, the egonet keeps its selection except for the
removed child. A new selection would also exchange other children and blame the removal for that.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.explain.neighbourhood import Neighbourhood
from taxoexpan.network.cosine_features import cosine_features_of_pairs
from taxoexpan.network.egonets import build_egonets, spread_siblings
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.pooling import LeftOutSiblings
from taxoexpan.network.queries import Queries
from taxoexpan.placement.ranking import Anchors, Ranker
from taxoexpan.taxonomy.arrays import Floats, Indices

MAX_REMOVALS = 20
"""The number of parents, and of children, that are removed per anchor: the nearest to the query."""


@dataclass(frozen=True)
class PairScores:
    """Raw scores without mentions, on which no relation has an effect."""

    match: Floats
    fusion: Floats

    @property
    def total(self) -> Floats:
        """The sum of both parts."""
        return self.match + self.fusion


@dataclass(frozen=True)
class Removals:
    """V relations, each removed on its own.

    Removal v is about the query `query[v]` and the relation between `anchor[v]`, its first
    suggestion or the runner-up, and the anchor's parent or child `neighbour[v]`. `change[v]` is
    how much closer the runner-up comes. A relation between the two suggestions occurs twice.
    """

    query: Indices
    anchor: Indices
    neighbour: Indices
    is_child: NDArray[np.bool_]
    change: Floats

    def decisive(self) -> dict[int, int]:
        """Return the row with the largest change for each query."""
        order = np.lexsort((-self.change, self.query))
        queries, first = np.unique(self.query[order], return_index=True)
        return dict(zip(queries.tolist(), order[first].tolist(), strict=True))


def score_removals(
    ranker: Ranker, around: Neighbourhood, queries: Queries
) -> tuple[PairScores, Removals]:
    """Score the pairs, and again after each removal.

    The pairs are the first suggestions of all queries, followed by the runners-up.
    Without runners-up nothing is removed. An anchor that loses its only child gets the leaf bonus.
    """
    anchors, pairs, count = ranker.anchors, around.pairs, len(queries)
    rival = np.roll(pairs.anchor, count)
    limit = MAX_REMOVALS if len(pairs) > count else 0
    # A relation between the two suggestions is always among the removals, from both ends.
    parents, children = (side.nearest(limit, rival) for side in (around.parents, around.children))
    before, after = _rescore(ranker, around, queries, (parents, children))
    pair = np.concatenate([around.parents.pair[parents], around.children.pair[children]])
    neighbour = np.concatenate([around.parents.concept[parents], around.children.concept[children]])
    is_child = np.arange(len(pair)) >= len(parents)
    deprecated = np.isin(neighbour, list(anchors.taxonomy.deprecated))
    becomes_leaf = is_child & ~deprecated & (anchors.child_counts[pairs.anchor[pair]] == 1)
    loss = before.total[pair] - after.total - np.where(becomes_leaf, ranker.leaf_bonus, 0.0)
    change = np.where(pair < count, loss, -loss)
    between = np.flatnonzero(neighbour == rival[pair])
    change[between] = _group_sums(change[between], pairs.query[pair[between]])
    return before, Removals(pairs.query[pair], pairs.anchor[pair], neighbour, is_child, change)


def _group_sums(values: Floats, groups: Indices) -> Floats:
    """Return the sum of each value's group."""
    sums = np.bincount(groups, values, minlength=1)
    return sums[groups].astype(values.dtype)


@torch.no_grad()
def _rescore(
    ranker: Ranker, around: Neighbourhood, queries: Queries, removed: tuple[Indices, Indices]
) -> tuple[PairScores, PairScores]:
    """Return the scores of all pairs [P], and the scores after each removal [V].

    `removed` holds two index arrays: the rows of `around.parents` and those of `around.children`
    that are removed, one at a time; V is their total number.
    """
    network, anchors = ranker.network, ranker.anchors
    parents, children = removed
    was_training = network.training
    network.eval()
    keys, without_child = _keys_without_children(network, anchors, around, children)
    without_parent = _keys_without_parents(network, anchors, around, parents)
    network.train(was_training)
    projected = network.match.project_queries(queries.vectors[0])
    pair = np.concatenate([around.parents.pair[parents], around.children.pair[children]])
    own, own_removed = (
        projected.index_select(0, _tensor(rows, projected))
        for rows in (around.pairs.query, around.pairs.query[pair])
    )
    match = network.match.score_pairs(keys, own)
    match_after = network.match.score_pairs(torch.cat([without_parent, without_child]), own_removed)
    fusion, fusion_after = _fusion_scores(network, around, removed, projected)
    return (
        PairScores(match.cpu().numpy(), fusion.cpu().numpy()),
        PairScores(match_after.cpu().numpy(), fusion_after.cpu().numpy()),
    )


def _keys_without_children(
    network: MatchingNetwork, anchors: Anchors, around: Neighbourhood, removed: Indices
) -> tuple[Tensor, Tensor]:
    """Return the keys of all pairs [P, k], and those without one child [V, k].

    A key does not depend on the query, so each distinct key is computed once. A sibling sends no
    messages to other nodes, so its removal is a subtraction.
    """
    taxonomy, names = anchors.taxonomy, anchors.vectors.names
    distinct, rows = np.unique(around.pairs.anchor, return_inverse=True)
    siblings = spread_siblings(taxonomy, distinct, anchors.siblings)
    egonets = build_egonets(taxonomy, distinct, siblings).to(names.device)
    edges, first, removed_rows = np.unique(
        around.children.edge[removed], return_index=True, return_inverse=True
    )
    # Anchors are in ascending order, and so are the edges of the siblings shown in the egonets.
    position = np.searchsorted(siblings.relations, edges)
    is_shown = np.append(siblings.relations, -1)[position] == edges
    leave = LeftOutSiblings(
        _tensor(rows[around.children.pair[removed[first]]], names),
        _tensor(np.where(is_shown, position, -1), names),
    )
    vectors = names.index_select(0, egonets.concepts)
    keys, without = network.encode_leaving_out(vectors, egonets, leave)
    return keys.index_select(0, _tensor(rows, keys)), without.index_select(
        0, _tensor(removed_rows, keys)
    )


def _keys_without_parents(
    network: MatchingNetwork, anchors: Anchors, around: Neighbourhood, removed: Indices
) -> Tensor:
    """Return the keys without one parent [V, k].

    A parent's messages change the whole egonet, so these keys are computed from scratch.
    """
    taxonomy, names = anchors.taxonomy, anchors.vectors.names
    edges, first, rows = np.unique(
        around.parents.edge[removed], return_index=True, return_inverse=True
    )
    owners = around.pairs.anchor[around.parents.pair[removed[first]]]
    siblings = spread_siblings(taxonomy, owners, anchors.siblings)
    parents = taxonomy.parents_of.targets[edges]
    egonets = build_egonets(taxonomy, owners, siblings, without=parents).to(names.device)
    keys = network.encode(names.index_select(0, egonets.concepts), egonets)
    return keys.index_select(0, _tensor(rows, keys))


def _fusion_scores(
    network: MatchingNetwork, around: Neighbourhood, removed: tuple[Indices, Indices], like: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the fusion head's scores of all pairs [P], and after each removal [V].

    The fusion head sees all children of an anchor and none of its parents.
    """
    parents, children = removed
    parent_pairs = _tensor(around.parents.pair[parents], like)
    if network.fusion is None:
        return like.new_zeros(len(around.pairs)), like.new_zeros(len(parents) + len(children))
    compared, without_child = cosine_features_of_pairs(
        torch.from_numpy(around.anchor_cosines).to(like.device),
        torch.from_numpy(around.children.cosines).to(like.device),
        _tensor(around.children.pair, like),
        _tensor(children, like),
    )
    scores = network.fusion(compared[..., None])[:, 0]
    after = network.fusion(without_child[..., None])[:, 0]
    return scores, torch.cat([scores.index_select(0, parent_pairs), after])


def _tensor(indices: Indices, like: Tensor) -> Tensor:
    return torch.from_numpy(indices).to(like.device)
