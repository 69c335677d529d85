"""Weighted sums over egonets, with the gradient written out (see `attention`)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from taxoexpan.network.egonets import Egonets, Position
from taxoexpan.network.message_passing import dots


@dataclass(frozen=True)
class SumWeights:
    """The weight of each node in the sum over its egonet, for each head; None means 0.

    Args:
        above: of the entries of grandparents [E, M].
        anchor: of the anchors [A, M].
        below: of the siblings [S, M].
    """

    above: Tensor | None
    anchor: Tensor | None
    below: Tensor | None


@dataclass(frozen=True)
class SiblingRemoval:
    """B sums, each computed from the sum of an egonet by taking one sibling out.

    sum_b = scale_b · sum_egonet - sibling_b · h_sibling - anchor_b · h_anchor

    Args:
        egonets: the index of each egonet [B].
        rows: the row of each removed sibling among the siblings [B].
        scale: the factor of the old sum [B].
        sibling: the weight of the sibling in the old sum [B, M], or None for 0.
        anchor: the weight of the anchor's message to the sibling in the old sum [B, M], or None.
    """

    egonets: Tensor
    rows: Tensor
    scale: Tensor
    sibling: Tensor | None
    anchor: Tensor | None


def egonet_sums(
    features: Tensor,
    position: Tensor | None,
    weights: SumWeights,
    removal: SiblingRemoval | None,
    egonets: Egonets,
) -> tuple[Tensor, Tensor]:
    """Return Σ w_u (h_u ‖ p_u) over each egonet [A, M * (K + P)], and after removals [B, ...].

    Args:
        features: h of all nodes [n, K].
        position: p of each position [3, P], if any.
        weights: w of all nodes.
        removal: the sums without one sibling to compute; without it the second result is empty.
        egonets: the egonets.
    """
    w, r = weights, removal
    sums, siblings, anchors = _WeightedSums.apply(
        features, w.above, w.anchor, w.below, r and r.rows, r and r.egonets, egonets
    )
    parts = [sums]
    if position is not None:
        parts.append(_position_sums(weights, egonets) @ position)
    if r is None:
        return torch.cat(parts, dim=2).flatten(1), features.new_empty(0)
    reduced = [part.index_select(0, r.egonets) * r.scale[:, None, None] for part in parts]
    if r.sibling is not None and r.anchor is not None:
        sibling, anchor = r.sibling[..., None], r.anchor[..., None]
        reduced[0] = reduced[0] - sibling * siblings[:, None] - anchor * anchors[:, None]
        if position is not None:
            lost = sibling * position[Position.SIBLING] + anchor * position[Position.ANCHOR]
            reduced[1] = reduced[1] - lost
    return torch.cat(parts, dim=2).flatten(1), torch.cat(reduced, dim=2).flatten(1)


class _WeightedSums(torch.autograd.Function):
    """The weighted sum of the features of each egonet, and some features unchanged.

    The unchanged features are those of the siblings at `rows` [B] and of the anchors `picked` [B],
    which correct the sums. They are taken here so that all gradients of the features are added in
    one place.
    """

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        above: Tensor | None,
        anchor: Tensor | None,
        below: Tensor | None,
        rows: Tensor | None,
        picked: Tensor | None,
        egonets: Egonets,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """[n, K] and weights [.., M] → [A, M, K], [B, K], [B, K]."""
        h_above, h_anchor, h_below = features.split(egonets.sizes)
        if anchor is None:
            heads = next(w for w in (above, below) if w is not None).shape[1]
            sums = features.new_zeros(egonets.size, heads, features.shape[1])
        else:
            sums = anchor[..., None] * h_anchor[:, None]
        if above is not None:
            weighted = above[..., None] * h_above.index_select(0, egonets.grandparent)[:, None]
            sums.index_add_(0, egonets.grandparent_of, weighted)
        if below is not None:
            sums.index_add_(0, egonets.sibling_of, below[..., None] * h_below[:, None])
        ctx.save_for_backward(features, above, anchor, below, rows, picked)
        ctx.egonets = egonets
        if rows is None or picked is None or not len(h_below):
            return sums, None, None
        return sums, h_below.index_select(0, rows), h_anchor.index_select(0, picked)

    @staticmethod
    def backward(
        ctx: Any, d_sums: Tensor, d_siblings: Tensor | None, d_anchors: Tensor | None
    ) -> tuple[Tensor | None, ...]:
        """Return the gradients of the features and of the weights."""
        features, above, anchor, below, rows, picked = ctx.saved_tensors
        e: Egonets = ctx.egonets
        h_above, h_anchor, h_below = features[:, None].split(e.sizes)
        d_features = torch.zeros_like(features)
        d_h_above, d_h_anchor, d_h_below = d_features.split(e.sizes)
        d_weights: list[Tensor | None] = [None, None, None]
        if above is not None:
            d_entries = d_sums.index_select(0, e.grandparent_of)
            d_weights[0] = dots(d_entries, h_above.index_select(0, e.grandparent))
            d_h_above.index_add_(0, e.grandparent, _sum_over_heads(above, d_entries))
        if anchor is not None:
            d_weights[1] = dots(d_sums, h_anchor)
            d_h_anchor.copy_(_sum_over_heads(anchor, d_sums))
        if below is not None:
            d_entries = d_sums.index_select(0, e.sibling_of)
            d_weights[2] = dots(d_entries, h_below)
            d_h_below.copy_(_sum_over_heads(below, d_entries))
        if d_siblings is not None and d_anchors is not None and len(h_below):
            d_h_below.index_add_(0, rows, d_siblings)
            d_h_anchor.index_add_(0, picked, d_anchors)
        return d_features, *d_weights, None, None, None


def _position_sums(weights: SumWeights, egonets: Egonets) -> Tensor:
    """Return the sum of the weights at each position of an egonet: [A, M, 3]."""
    above, anchor, below = weights.above, weights.anchor, weights.below
    like = next(w for w in (above, anchor, below) if w is not None)
    zeros = like.new_zeros(egonets.size, like.shape[1])
    return torch.stack(
        [
            zeros if above is None else zeros.index_add(0, egonets.grandparent_of, above),
            zeros if anchor is None else anchor,
            zeros if below is None else zeros.index_add(0, egonets.sibling_of, below),
        ],
        dim=2,
    )


def _sum_over_heads(weights: Tensor, values: Tensor) -> Tensor:
    """Return Σ over heads of weight · value: [n, M] and [n, M, K] → [n, K]."""
    if weights.shape[1] == 1:
        return weights * values[:, 0]
    return (weights[..., None] * values).sum(1)
