"""The last layer and the readout as one weighted mean over an egonet.

Both are linear once the message weights α are known, so the mean is computed first, and the layer's
matrix is applied once per anchor instead of once per node. The gradients are explicit (see
`messages`). A readout of R blocks is computed like R times as many heads: H = R * M.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from taxoexpan.config import Config
from taxoexpan.network.egonets import Egonets, LeftOutSiblings, Position
from taxoexpan.network.messages import MessageWeights, dots


class Readout(nn.Module, ABC):
    """A weight for each position, and a divisor for the weighted sums.

    `blocks` R is 1 if all positions go into one sum, and 3 if each position has its own sum.
    """

    blocks = 1

    @abstractmethod
    def weights(self) -> Tensor:
        """Return the weight of each position [3]."""

    @abstractmethod
    def divisor(self, counts: Tensor) -> Tensor:
        """Return the divisor of each block's sum from the node counts: [A, 3] → [A, R]."""

    def by_block(self) -> Tensor:
        """Return the weight of each position in each block, 0 outside the block: [R, 3]."""
        return self.weights()[None] if self.blocks == 1 else self.weights().diag()

    def sums(self, counts: Tensor) -> Tensor:
        """Return the sum of the weights of all nodes in each block: [A, 3] → [A, R]."""
        weighted = counts * self.weights()
        return weighted if self.blocks == len(Position) else weighted.sum(1, keepdim=True)


class MeanReadout(Readout):
    """The mean over all nodes of an egonet (Eq. 6)."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("ones", torch.ones(len(Position)), persistent=False)

    def weights(self) -> Tensor:
        """Return ones."""
        return self.get_buffer("ones")

    def divisor(self, counts: Tensor) -> Tensor:
        """Return the number of nodes."""
        return counts.sum(1, keepdim=True)


class WeightedMeanReadout(Readout):
    r"""WMR (Eq. 7): a mean weighted by :math:`\log(1 + \exp(\alpha_{p_u}))`."""

    def __init__(self) -> None:
        super().__init__()
        self.importance = nn.Parameter(torch.zeros(len(Position)))

    def weights(self) -> Tensor:
        """Return the softplus of the learned importance."""
        return F.softplus(self.importance)

    def divisor(self, counts: Tensor) -> Tensor:
        """Return the sum of the weights of all nodes."""
        return self.sums(counts)


class ConcatenationReadout(MeanReadout):
    """CR (Eq. 8): the mean of each position, concatenated; zero for a position without nodes."""

    blocks = len(Position)

    def divisor(self, counts: Tensor) -> Tensor:
        """Return the number of nodes at each position."""
        return counts.clamp(min=1)


class EgonetConcatenationReadout(MeanReadout):
    """The CR of the authors' code, where only the anchor is not divided by the egonet size."""

    blocks = len(Position)

    def divisor(self, counts: Tensor) -> Tensor:
        """Return the number of all nodes, or 1 for the anchor."""
        nodes = counts.sum(1)
        return torch.stack([nodes, torch.ones_like(nodes), nodes], dim=1)


READOUTS: dict[str, type[Readout]] = {
    "mean": MeanReadout,
    "weighted": WeightedMeanReadout,
    "concat": ConcatenationReadout,
}


def make_readout(config: Config) -> Readout:
    """Return the readout that the settings select."""
    if config.readout == "concat" and config.quirks.egonet_concat:
        return EgonetConcatenationReadout()
    return READOUTS[config.readout]()


class SumWeights(NamedTuple):
    """The weight of each node's [W ‖ O](h ‖ p) in the mean: [E, H], [A, H] and [S, H]."""

    above: Tensor
    anchor: Tensor
    below: Tensor


class Removal(NamedTuple):
    """B means over egonets without one sibling, computed from the means with it.

    mean_b = scale_b · mean_egonet - sibling_b · h_sibling - anchor_b · h_anchor

    Args:
        egonets: the index of each egonet [B].
        rows: the row of each removed sibling among the siblings [B].
        scale: the factor of the old mean [B, R].
        sibling: the weight of the sibling [B, H, 1].
        anchor: the weight of the anchor's message to the sibling [B, H, 1].
    """

    egonets: Tensor
    rows: Tensor
    scale: Tensor
    sibling: Tensor
    anchor: Tensor


def pool(
    features: Tensor,
    position: Tensor | None,
    messages: MessageWeights,
    egonets: Egonets,
    readout: Readout,
    left_out: LeftOutSiblings | None,
) -> tuple[Tensor, Tensor]:
    """Return Σ w_u (h_u ‖ p_u) over all egonets, and over the `left_out` egonets without a sibling.

    Shapes: features h [n, K], position p [3, P] → [A, R, M * (K + P)], [B, R, M * (K + P)]. The
    weights w are determined by the messages' α and the readout.
    """
    counts = egonets.counts.to(features.dtype)
    divisor = readout.divisor(counts)
    weights = _sum_weights(messages, egonets, readout, divisor)
    removal = None
    if left_out is not None:
        old = divisor.index_select(0, left_out.egonets)
        removal = _removal(messages, readout, left_out, old, left_out.counts(counts))
    sums, siblings, anchors = _WeightedSums.apply(
        features, *weights, removal and removal.rows, removal and removal.egonets, egonets
    )
    parts = [sums]
    if position is not None:
        parts.append(_position_sums(weights, egonets) @ position)
    means = torch.cat(parts, dim=2).unflatten(1, (readout.blocks, -1)).flatten(2)
    if removal is None:
        return means, means[:0]
    scale = removal.scale[..., None, None]
    chosen = [part.index_select(0, removal.egonets) for part in parts]
    reduced = [(part.unflatten(1, (readout.blocks, -1)) * scale).flatten(1, 2) for part in chosen]
    if siblings is not None:
        lost = removal.sibling * siblings[:, None], removal.anchor * anchors[:, None]
        reduced[0] = reduced[0] - lost[0] - lost[1]
        if position is not None:
            sibling = position[Position.SIBLING]
            anchor = position[Position.ANCHOR]
            reduced[1] = reduced[1] - (removal.sibling * sibling + removal.anchor * anchor)
    return means, torch.cat(reduced, dim=2).unflatten(1, (readout.blocks, -1)).flatten(2)


def _sum_weights(
    messages: MessageWeights, egonets: Egonets, readout: Readout, divisor: Tensor
) -> SumWeights:
    """Return the weight of each node in each block of the readout's mean."""
    w_above, w_anchor, w_below = readout.by_block()[..., None].unbind(1)
    above, own, below, self_below = (each[:, None] for each in messages)
    to_siblings = torch.zeros_like(own).index_add(0, egonets.sibling_of, below)
    anchor = w_anchor * own + w_below * to_siblings
    above = w_above + w_anchor * above
    factor = 1 / divisor[..., None]
    return SumWeights(
        (above * factor.index_select(0, egonets.grandparent_of)).flatten(1),
        (anchor * factor).flatten(1),
        (w_below * self_below * factor.index_select(0, egonets.sibling_of)).flatten(1),
    )


def _removal(
    messages: MessageWeights,
    readout: Readout,
    left_out: LeftOutSiblings,
    divisor: Tensor,
    counts: Tensor,
) -> Removal:
    """Return the removals, given the old divisors [B, R] and the remaining node counts [B, 3]."""
    divisors = readout.divisor(counts)
    scale = divisor / divisors
    rows = left_out.rows.clamp(min=0)
    if not len(messages.sibling_to_self):
        return Removal(left_out.egonets, rows, scale, scale, scale)
    is_present = (left_out.rows >= 0).to(counts.dtype)[:, None]
    factor = (is_present * readout.by_block()[:, Position.SIBLING] / divisors)[..., None]
    sibling, anchor = (
        (weights.index_select(0, rows)[:, None] * factor).flatten(1)[..., None]
        for weights in (messages.sibling_to_self, messages.anchor_to_sibling)
    )
    return Removal(left_out.egonets, rows, scale, sibling, anchor)


class _WeightedSums(torch.autograd.Function):
    """The weighted sums of the features of each egonet, and some features unchanged.

    The features at `rows` [B] and `picked` [B] correct the sums, and are returned here so that all
    gradients of the features are added in one place.
    """

    @staticmethod
    def forward(
        ctx: Any,
        features: Tensor,
        above: Tensor,
        anchor: Tensor,
        below: Tensor,
        rows: Tensor | None,
        picked: Tensor | None,
        egonets: Egonets,
    ) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """Compute the sums: [n, K] and weights [.., H] → [A, H, K], [B, K], [B, K]."""
        h_above, h_anchor, h_below = features.split(egonets.sizes)
        sums = anchor[..., None] * h_anchor[:, None]
        weighted = above[..., None] * h_above.index_select(0, egonets.grandparent)[:, None]
        sums.index_add_(0, egonets.grandparent_of, weighted)
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
        d_entries = d_sums.index_select(0, e.grandparent_of)
        d_above = dots(d_entries, h_above.index_select(0, e.grandparent))
        d_h_above.index_add_(0, e.grandparent, _sum_over_heads(above, d_entries))
        d_anchor = dots(d_sums, h_anchor)
        d_h_anchor.copy_(_sum_over_heads(anchor, d_sums))
        d_entries = d_sums.index_select(0, e.sibling_of)
        d_below = dots(d_entries, h_below)
        d_h_below.copy_(_sum_over_heads(below, d_entries))
        if d_siblings is not None and d_anchors is not None and len(h_below):
            d_h_below.index_add_(0, rows, d_siblings)
            d_h_anchor.index_add_(0, picked, d_anchors)
        return d_features, d_above, d_anchor, d_below, None, None, None


def _position_sums(weights: SumWeights, egonets: Egonets) -> Tensor:
    """Return the sum of the weights at each position of an egonet: [A, H, 3]."""
    zeros = torch.zeros_like(weights.anchor)
    above = zeros.index_add(0, egonets.grandparent_of, weights.above)
    below = zeros.index_add(0, egonets.sibling_of, weights.below)
    return torch.stack([above, weights.anchor, below], dim=2)


def _sum_over_heads(weights: Tensor, values: Tensor) -> Tensor:
    """Return the sum over heads of weight · value: [n, H], [n, H, K] → [n, K]."""
    if weights.shape[1] == 1:
        return weights * values[:, 0]
    return (weights[..., None] * values).sum(1)
