"""The scores of suggestions in parts, and their changes if one relation is removed.

An egonet that shows only some children keeps its selection except for the removed child, because a
new selection would also exchange other children. An anchor without one of its parents keeps its
description: the words of the labels above it, and the text of the text encoder.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.explain.evidence import Part, ScoreParts
from taxoexpan.explain.similarity import Neighborhood, dot_products
from taxoexpan.network.cosine_features import (
    LOG_COUNT,
    child_cosines_of_pairs,
    cosine_features_of_pairs,
)
from taxoexpan.network.egonets import LeftOutSiblings, build_egonets, spread_siblings
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.queries import Queries
from taxoexpan.placement.scoring.anchors import Anchors
from taxoexpan.placement.scoring.pair_features import OF_HEAD, OF_WORDS, Input, pair_features
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy.arrays import Floats, Indices

NETWORK_PARTS = (Part.MATCH, Part.FUSION, Part.MENTIONS, Part.LEAF_BONUS)
SIGNAL_PARTS = (Part.NETWORK, Part.TOWER, Part.NAMES, Part.WORDS, Part.STRUCTURE)
"""The summands of a fused score, in the order of `Signal`."""
OF_TOWER = [Input.TOWER_ANCHOR, Input.TOWER_NEAREST_CHILD, Input.TOWER_MEAN_CHILD]
MAX_REMOVALS = 20
"""The number of parents, and of children, that are removed per anchor: the nearest to the query."""


@dataclass(frozen=True)
class Removals:
    """V relations, each removed on its own.

    Removal v is about the query `query[v]` and the relation of `anchor[v]` (the first suggestion or
    the runner-up) with its parent or child `neighbor[v]`. `change[v]` is how much closer the
    runner-up comes. A relation between the two suggestions occurs twice.
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


@torch.no_grad()
def score_removals(
    ranker: Ranker, around: Neighborhood, queries: Queries, mentions: Floats
) -> tuple[list[ScoreParts], Removals]:
    """Score the pairs in parts, and again after each removal.

    The pairs are the first suggestions of all queries, followed by the runners-up, if any;
    `mentions` are their bonuses [P].
    """
    pairs, count = around.pairs, len(queries)
    rival = np.roll(pairs.anchor, count)
    limit = MAX_REMOVALS if len(pairs) > count else 0
    # A relation between the two suggestions is always among the removals, from both ends.
    parents, children = (side.nearest(limit, rival) for side in (around.parents, around.children))
    removed = RemovedRows(around, parents, children)
    names, columns = _score_parts(ranker, queries, mentions, removed)
    pair, neighbor, total = removed.pair, removed.neighbor, columns.sum(axis=0)
    loss = total[pair] - total[len(pairs) :]
    change = np.where(pair < count, loss, -loss)
    between = np.flatnonzero(neighbor == rival[pair])
    change[between] = _group_sums(change[between], pairs.query[pair[between]])
    removals = Removals(pairs.query[pair], pairs.anchor[pair], neighbor, removed.is_child, change)
    values = columns[:, : len(pairs)].T.tolist()
    return [dict(zip(names, each, strict=True)) for each in values], removals


def _group_sums(values: Floats, groups: Indices) -> Floats:
    """Return the sum of the group of each value."""
    sums = np.bincount(groups, values, minlength=1)
    return sums[groups].astype(values.dtype)


@dataclass(frozen=True)
class RemovedRows:
    """The relations to remove one at a time, as rows of the parents and children."""

    around: Neighborhood
    parents: Indices
    children: Indices

    @property
    def pair(self) -> Indices:
        """The pair of each removal, first for parents, then for children [V]."""
        sides = (self.around.parents, self.parents), (self.around.children, self.children)
        return np.concatenate([side.pair[rows] for side, rows in sides])

    @property
    def neighbor(self) -> Indices:
        """The parent or child that the anchor of the pair loses [V]."""
        sides = (self.around.parents, self.parents), (self.around.children, self.children)
        return np.concatenate([side.concept[rows] for side, rows in sides])

    @property
    def is_child(self) -> NDArray[np.bool_]:
        """Whether the neighbor is a child of the anchor [V]."""
        return np.arange(len(self.parents) + len(self.children)) >= len(self.parents)


def _score_parts(
    ranker: Ranker, queries: Queries, mentions: Floats, removed: RemovedRows
) -> tuple[tuple[Part, ...], Floats]:
    """Return the names of parts, and the parts of pairs (as ranked) and removals: [K, P + V]."""
    network, pairs = ranker.network, removed.around.pairs
    match = _match_scores(ranker, queries, removed)
    owner = np.concatenate([np.arange(len(pairs)), removed.pair])
    bonuses, cosines = torch.from_numpy(mentions[owner]).to(match), _cosine_features(removed, match)
    is_leaf = (cosines[LOG_COUNT] == 0).to(match.dtype)
    head = torch.zeros_like(match)
    if network.fusion is not None:
        head = network.fusion(cosines[..., None])[:, 0]
    if ranker.fusion is None:
        columns = torch.stack([match, head, bonuses, ranker.leaf_bonus * is_leaf])
        return NETWORK_PARTS, columns.cpu().numpy()
    inputs = match.new_zeros(len(Input), len(match))
    inputs[Input.NETWORK] = network.match.log_match(match + bonuses + head)
    inputs[OF_HEAD] = cosines
    distinct, rows = np.unique(pairs.anchor, return_inverse=True)
    words = ranker.anchors.words.select(distinct)
    compared = words.compare(words.of_queries(queries.concepts), 0, len(distinct))
    inputs[OF_WORDS] = torch.from_numpy(compared[:, rows[owner], pairs.query[owner]]).to(match)
    if ranker.anchors.tower is not None and queries.tower is not None:
        inputs[OF_TOWER] = _tower_cosines(ranker.anchors.tower, queries.tower, removed)
    features = pair_features(inputs, is_leaf).cpu().numpy()
    return SIGNAL_PARTS, np.stack(list(ranker.fusion.contributions(features).values()))


def _match_scores(ranker: Ranker, queries: Queries, removed: RemovedRows) -> Tensor:
    """Return the raw scores of the network's match: [P + V]."""
    network, anchors, around = ranker.network, ranker.anchors, removed.around
    keys, without_child = _keys_without_children(network, anchors, around, removed.children)
    without_parent = _keys_without_parents(network, anchors, around, removed.parents)
    projected = network.project_queries(queries.vectors[0], keys)
    own, own_removed = (
        projected.index_select(0, _tensor(rows, projected))
        for rows in (around.pairs.query, around.pairs.query[removed.pair])
    )
    after = network.match.score_pairs(torch.cat([without_parent, without_child]), own_removed)
    return torch.cat([network.match.score_pairs(keys, own), after])


def _keys_without_children(
    network: MatchingNetwork, anchors: Anchors, around: Neighborhood, removed: Indices
) -> tuple[Tensor, Tensor]:
    """Return the keys of all pairs [P, k], and the keys without one child [V, k].

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
    network: MatchingNetwork, anchors: Anchors, around: Neighborhood, removed: Indices
) -> Tensor:
    """Return the recomputed keys without one parent, which changes the whole egonet: [V, k]."""
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


def _cosine_features(removed: RemovedRows, like: Tensor) -> Tensor:
    """Return the fusion head's features, which do not depend on parents: [8, P + V]."""
    around, children = removed.around, removed.around.children
    features, without_child = cosine_features_of_pairs(
        torch.from_numpy(around.anchor_cosines).to(like.device),
        torch.from_numpy(children.cosines).to(like.device),
        _tensor(children.pair, like),
        _tensor(removed.children, like),
    )
    kept = _tensor(around.parents.pair[removed.parents], like)
    return torch.cat([features, features.index_select(1, kept), without_child], dim=1)


def _tower_cosines(tower: tuple[Tensor, Tensor], queries: Tensor, removed: RemovedRows) -> Tensor:
    """Return the tower's cosines with the anchor, its nearest and its mean child: [3, P + V]."""
    pairs, children = removed.around.pairs, removed.around.children
    own = dot_products(tower[0], pairs.anchor, queries, pairs.query)
    by_child = dot_products(tower[1], children.concept, queries, pairs.query[children.pair])
    below, without_child = child_cosines_of_pairs(
        by_child, _tensor(children.pair, own), _tensor(removed.children, own), len(pairs)
    )
    cosines = torch.cat([own[None], below])
    kept = cosines.index_select(1, _tensor(removed.around.parents.pair[removed.parents], own))
    owners = _tensor(children.pair[removed.children], own)
    without = torch.cat([own.index_select(0, owners)[None], without_child])
    return torch.cat([cosines, kept, without], dim=1)


def _tensor(indices: Indices, like: Tensor) -> Tensor:
    return torch.from_numpy(indices).to(like.device)
