"""The scores of pairs as they are, and with one neighbour of the anchor left out.

Where an anchor has more children than an egonet shows, those that are shown stay the same but for
the one left out: a fresh choice would exchange others too, and lay what they do at its door.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from taxoexpan.explain.neighbourhood import Floats, Surroundings
from taxoexpan.network.egonets import build_egonets, spread_siblings
from taxoexpan.network.fusion import compare_pairs
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.propagation import Leave
from taxoexpan.network.queries import Queries
from taxoexpan.placement.ranking import Anchors, Ranker
from taxoexpan.taxonomy.arrays import Indices


@dataclass(frozen=True)
class Scores:
    """Raw scores in two parts; mentions are no part of them, as no relation changes these."""

    match: Floats
    fusion: Floats

    @property
    def total(self) -> Floats:
        """Their sum."""
        return self.match + self.fusion


@dataclass(frozen=True)
class Tried:
    """The neighbours that are left out, one at a time: rows of `parents` and of `children`."""

    parents: Indices
    children: Indices


@torch.no_grad()
def rescore(
    ranker: Ranker, around: Surroundings, queries: Queries, tried: Tried
) -> tuple[Scores, Scores]:
    """The scores of all pairs [P], and without the parents and then the children tried [V]."""
    network, anchors = ranker.network, ranker.anchors
    was_training = network.training
    network.eval()
    keys, fewer = _keys_without_children(network, anchors, around, tried.children)
    orphans = _keys_without_parents(network, anchors, around, tried.parents)
    network.train(was_training)
    asked = network.match.asked(queries.vectors[0])
    pair = np.concatenate(
        [around.parents.pair[tried.parents], around.children.pair[tried.children]]
    )
    own, asking = (_indices(i, asked) for i in (around.pairs.query, around.pairs.query[pair]))
    match = network.match.pairs(keys, asked.index_select(0, own))
    left = network.match.pairs(torch.cat([orphans, fewer]), asked.index_select(0, asking))
    fused, fused_left = _fuse(network, around, tried, asked)
    return (
        Scores(match.cpu().numpy(), fused.cpu().numpy()),
        Scores(left.cpu().numpy(), fused_left.cpu().numpy()),
    )


def _keys_without_children(
    network: MatchingNetwork, anchors: Anchors, around: Surroundings, tried: Indices
) -> tuple[Tensor, Tensor]:
    """The keys of all pairs [P, k], and of those without a child [V, k].

    A key does not depend on the query, so each distinct one is made once; and nothing hears a
    sibling but itself, so that leaving one out is a subtraction.
    """
    taxonomy, names = anchors.taxonomy, anchors.vectors.names
    distinct, rows = np.unique(around.pairs.anchor, return_inverse=True)
    siblings = spread_siblings(taxonomy, distinct, anchors.siblings)
    egonets = build_egonets(taxonomy, distinct, siblings).to(names.device)
    places, first, left_rows = np.unique(
        around.children.place[tried], return_index=True, return_inverse=True
    )
    # Anchors ascend, and so do the places of all that are shown.
    shown = np.searchsorted(siblings.places, places)
    there = np.append(siblings.places, -1)[shown] == places
    leave = Leave(
        _indices(rows[around.children.pair[tried[first]]], names),
        _indices(np.where(there, shown, -1), names),
    )
    known = names.index_select(0, egonets.concepts)
    keys, fewer = network.encode_leaving_out(known, egonets, leave)
    return keys.index_select(0, _indices(rows, keys)), fewer.index_select(
        0, _indices(left_rows, keys)
    )


def _keys_without_parents(
    network: MatchingNetwork, anchors: Anchors, around: Surroundings, tried: Indices
) -> Tensor:
    """The keys of pairs without a parent [V, k]; what an anchor hears changes all, so anew."""
    taxonomy, names = anchors.taxonomy, anchors.vectors.names
    places, first, rows = np.unique(
        around.parents.place[tried], return_index=True, return_inverse=True
    )
    owners = around.pairs.anchor[around.parents.pair[tried[first]]]
    siblings = spread_siblings(taxonomy, owners, anchors.siblings)
    lost = taxonomy.parents_of.targets[places]
    egonets = build_egonets(taxonomy, owners, siblings, without=lost).to(names.device)
    keys = network.encode(names.index_select(0, egonets.concepts), egonets)
    return keys.index_select(0, _indices(rows, keys))


def _fuse(
    network: MatchingNetwork, around: Surroundings, tried: Tried, like: Tensor
) -> tuple[Tensor, Tensor]:
    """What the fusion head adds to all pairs [P], and to those without a neighbour [V].

    It sees all children, and no parents.
    """
    parentless = _indices(around.parents.pair[tried.parents], like)
    if network.fusion is None:
        size = len(parentless) + len(tried.children)
        return like.new_zeros(len(around.pairs)), like.new_zeros(size)
    compared, fewer = compare_pairs(
        torch.from_numpy(around.own).to(like.device),
        torch.from_numpy(around.children.cosines).to(like.device),
        _indices(around.children.pair, like),
        _indices(tried.children, like),
    )
    fused, left = network.fusion(compared[..., None])[:, 0], network.fusion(fewer[..., None])[:, 0]
    return fused, torch.cat([fused.index_select(0, parentless), left])


def _indices(indices: Indices, like: Tensor) -> Tensor:
    return torch.from_numpy(indices).to(like.device)
