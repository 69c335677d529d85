"""The scores of suggestions in parts, and how they change if one relation is removed.

If an anchor has more children than its egonet shows, the egonet keeps its selection except for the
removed child. A new selection would also exchange other children and blame the removal for that.

An anchor without one of its parents keeps its description: the words of the labels above it, and
the text that the fine-tuned encoder reads, which names its first parent.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.errors import ModelError
from taxoexpan.explain.evidence import ScoreParts, SignalParts
from taxoexpan.explain.similarity import Neighborhood
from taxoexpan.network.cosine_features import child_cosines_of_pairs, cosine_features_of_pairs
from taxoexpan.network.egonets import build_egonets, spread_siblings
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.pooling import LeftOutSiblings
from taxoexpan.network.queries import Queries
from taxoexpan.placement.scoring.anchors import Anchors
from taxoexpan.placement.scoring.pairs import PairInputs, dot_products, word_features_of_pairs
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy.arrays import Floats, Indices


@dataclass(frozen=True)
class PairScores:
    """The scores of P pairs: the fields of `kind` [K, P], which add up to them."""

    kind: type[ScoreParts] | type[SignalParts]
    columns: Floats

    @property
    def total(self) -> Floats:
        """The scores [P]."""
        total: Floats = self.columns.sum(axis=0)
        return total

    def parts(self) -> list[ScoreParts | SignalParts]:
        """Return the parts of each pair's score."""
        return [self.kind(*values) for values in self.columns.T.tolist()]


@torch.no_grad()
def parts_of_pairs(ranker: Ranker, inputs: PairInputs) -> PairScores:
    """Score pairs exactly as the ranker does, in parts."""
    if ranker.fusion is None:
        head, bonus = inputs.head_scores(ranker.network), ranker.leaf_bonus * inputs.is_leaf
        columns = torch.stack([inputs.match, head, inputs.mentions, bonus])
        return PairScores(ScoreParts, columns.cpu().numpy())
    by_signal = ranker.fusion.contributions(inputs.features(ranker.network).cpu().numpy())
    return PairScores(SignalParts, np.stack(list(by_signal.values())))


@dataclass(frozen=True)
class RemovedRows:
    """The relations to remove, one at a time: rows of the neighborhood's parents and children."""

    around: Neighborhood
    parents: Indices
    children: Indices

    @property
    def pair(self) -> Indices:
        """The pair of each removal, first of parents, then of children [V]."""
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


@torch.no_grad()
def removal_inputs(
    ranker: Ranker, queries: Queries, mentions: Floats, removed: RemovedRows
) -> tuple[PairInputs, PairInputs]:
    """Return the inputs of the scores of all pairs, and after each removal."""
    around, anchors = removed.around, ranker.anchors
    match, match_after = _match_scores(ranker, queries, removed)
    bonuses = torch.from_numpy(mentions).to(match)
    cosines, cosines_after = _cosine_features(removed, match)
    words = tower = words_after = tower_after = None
    pair = _tensor(removed.pair, match)
    if ranker.fusion is not None:
        words = word_features_of_pairs(anchors, around.pairs, queries)
        words_after = words.index_select(1, pair)
        tower, tower_after = _tower_cosines(anchors, queries, removed)
    return (
        PairInputs(match, bonuses, cosines, words, tower),
        PairInputs(
            match_after,
            bonuses.index_select(0, pair),
            cosines_after,
            words_after,
            tower_after,
        ),
    )


def _match_scores(ranker: Ranker, queries: Queries, removed: RemovedRows) -> tuple[Tensor, Tensor]:
    """Return the raw scores of the network's match: of all pairs [P], and after removals [V]."""
    network, anchors, around = ranker.network, ranker.anchors, removed.around
    was_training = network.training
    network.eval()
    keys, without_child = _keys_without_children(network, anchors, around, removed.children)
    without_parent = _keys_without_parents(network, anchors, around, removed.parents)
    network.train(was_training)
    projected = network.match.project_queries(queries.vectors[0])
    own, own_removed = (
        projected.index_select(0, _tensor(rows, projected))
        for rows in (around.pairs.query, around.pairs.query[removed.pair])
    )
    after = network.match.score_pairs(torch.cat([without_parent, without_child]), own_removed)
    return network.match.score_pairs(keys, own), after


def _keys_without_children(
    network: MatchingNetwork, anchors: Anchors, around: Neighborhood, removed: Indices
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
    network: MatchingNetwork, anchors: Anchors, around: Neighborhood, removed: Indices
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


def _cosine_features(removed: RemovedRows, like: Tensor) -> tuple[Tensor, Tensor]:
    """Return the fusion head's features: of all pairs [8, P], and after removals [8, V].

    They are about all children of an anchor and none of its parents.
    """
    around, children = removed.around, removed.around.children
    features, without_child = cosine_features_of_pairs(
        torch.from_numpy(around.anchor_cosines).to(like.device),
        torch.from_numpy(children.cosines).to(like.device),
        _tensor(children.pair, like),
        _tensor(removed.children, like),
    )
    kept = _tensor(around.parents.pair[removed.parents], like)
    return features, torch.cat([features.index_select(1, kept), without_child], dim=1)


def _tower_cosines(
    anchors: Anchors, queries: Queries, removed: RemovedRows
) -> tuple[Tensor | None, Tensor | None]:
    """Return the tower's cosines, if there is one: of all pairs [3, P], and after removals [3, V].

    They are those with the anchor, its nearest child and its mean child.
    """
    texts, around = anchors.texts, removed.around
    if texts is None or texts.as_anchors is None or texts.as_queries is None:
        return None, None
    if queries.tower is None:
        raise ModelError("the queries were not encoded by the fine-tuned encoder")
    pairs, children = around.pairs, around.children
    own = dot_products(texts.as_anchors, pairs.anchor, queries.tower, pairs.query)
    query = pairs.query[children.pair]
    by_child = dot_products(texts.as_queries, children.concept, queries.tower, query)
    below, without_child = child_cosines_of_pairs(
        by_child, _tensor(children.pair, own), _tensor(removed.children, own), len(pairs)
    )
    cosines = torch.cat([own[None], below])
    kept = cosines.index_select(1, _tensor(around.parents.pair[removed.parents], own))
    owners = _tensor(children.pair[removed.children], own)
    without = torch.cat([own.index_select(0, owners)[None], without_child])
    return cosines, torch.cat([kept, without], dim=1)


def _tensor(indices: Indices, like: Tensor) -> Tensor:
    return torch.from_numpy(indices).to(like.device)


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
