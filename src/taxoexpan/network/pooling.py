"""The last layer and the readout as one weighted mean over an egonet.

Once the weights α of the messages are known, the last layer and the readout are linear. So the mean
over an egonet is computed first, and the layer's matrix is applied to one row per anchor instead of
one row per node. The gradients are written out (see `messages`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from taxoexpan.network.egonets import Egonets, Position
from taxoexpan.network.messages import MessageWeights, dots
from taxoexpan.network.readout import Readout


@dataclass(frozen=True)
class LeftOutSiblings:
    """B egonets that are also needed without one of their siblings.

    Args:
        egonets: the index of each egonet in its batch [B].
        rows: the row of the sibling to leave out [B], or -1 for none.
    """

    egonets: Tensor
    rows: Tensor


@dataclass(frozen=True)
class Pooled:
    """The means over egonets, one per block of the readout, and the node counts they are of.

    Args:
        blocks: R means [A, M * (inputs + P)].
        counts: the number of nodes of each egonet by position [A, 3].
    """

    blocks: list[Tensor]
    counts: Tensor


def pool(
    features: Tensor,
    position: Tensor | None,
    messages: MessageWeights,
    egonets: Egonets,
    readout: Readout,
    left_out: LeftOutSiblings | None,
) -> tuple[Pooled, Pooled | None]:
    """Return the means over all egonets, and over those without one sibling.

    A sibling sends messages only to itself, so leaving it out is a subtraction.
    """
    counts = egonets.counts.to(features.dtype)
    divisor = readout.divisor(counts)
    weights = _sum_weights(messages, egonets, readout, divisor)
    removals: Iterable[SiblingRemoval | None] = [None] * len(weights)
    reduced_counts = counts
    if left_out is not None:
        is_present, reduced_counts = _count_without(left_out, counts)
        removals = _removals(left_out, is_present, messages, readout, divisor, reduced_counts)
    sums = [
        egonet_sums(features, position, weight, removal, egonets)
        for weight, removal in zip(weights, removals, strict=True)
    ]
    pooled = Pooled([each for each, _ in sums], counts)
    if left_out is None:
        return pooled, None
    return pooled, Pooled([each for _, each in sums], reduced_counts)


def _sum_weights(
    messages: MessageWeights, egonets: Egonets, readout: Readout, divisor: Tensor
) -> list[SumWeights]:
    """Return the weight of each node's [W ‖ O](h ‖ p) in each block of the readout's mean."""
    w_above, w_anchor, w_below = readout.weights()
    m = messages
    to_siblings = torch.zeros_like(m.anchor_to_self).index_add(
        0, egonets.sibling_of, m.anchor_to_sibling
    )
    if readout.blocks == 1:
        anchor = w_anchor * m.anchor_to_self + w_below * to_siblings
        above = w_above + w_anchor * m.parent_to_anchor
        blocks = [SumWeights(above, anchor, w_below * m.sibling_to_self)]
    else:
        blocks = [
            SumWeights(w_above.expand_as(m.parent_to_anchor), None, None),
            SumWeights(w_anchor * m.parent_to_anchor, w_anchor * m.anchor_to_self, None),
            SumWeights(None, w_below * to_siblings, w_below * m.sibling_to_self),
        ]
    factors = (1 / divisor).split(1, dim=1)
    return [
        SumWeights(
            None if b.above is None else b.above * factor.index_select(0, egonets.grandparent_of),
            None if b.anchor is None else b.anchor * factor,
            None if b.below is None else b.below * factor.index_select(0, egonets.sibling_of),
        )
        for b, factor in zip(blocks, factors, strict=True)
    ]


def _count_without(left_out: LeftOutSiblings, counts: Tensor) -> tuple[Tensor, Tensor]:
    """Return whether there is a sibling to leave out [B, 1], and the counts [B, 3] without it."""
    is_present = (left_out.rows >= 0).to(counts.dtype)[:, None]
    picked = counts.index_select(0, left_out.egonets)
    others, siblings = picked.split([len(Position) - 1, 1], dim=1)
    return is_present, torch.cat([others, siblings - is_present], dim=1)


def _removals(
    left_out: LeftOutSiblings,
    is_present: Tensor,
    messages: MessageWeights,
    readout: Readout,
    divisor: Tensor,
    reduced_counts: Tensor,
) -> Iterator[SiblingRemoval]:
    """Yield the change of each block: all get another divisor, and the last one loses a sibling."""
    divisors = readout.divisor(reduced_counts)
    scales = divisor.index_select(0, left_out.egonets) / divisors
    rows = left_out.rows.clamp(min=0)
    for scale in scales.T[:-1]:
        yield SiblingRemoval(left_out.egonets, rows, scale, None, None)
    if not len(messages.sibling_to_self):
        yield SiblingRemoval(left_out.egonets, rows, scales[:, -1], None, None)
        return
    factor = is_present * readout.weights()[Position.SIBLING] / divisors[:, -1:]
    sibling = messages.sibling_to_self.index_select(0, rows) * factor
    anchor = messages.anchor_to_sibling.index_select(0, rows) * factor
    yield SiblingRemoval(left_out.egonets, rows, scales[:, -1], sibling, anchor)


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

    The unchanged features belong to the siblings at `rows` [B] and the anchors `picked` [B],
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
