"""The last layer and the readout as one weighted mean over an egonet.

Once the weights α of the messages are known, the last layer and the readout are linear. So the mean
over an egonet is computed first, and the layer's matrix is applied to one row per anchor instead of
one row per node.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from taxoexpan.network.attention import MessageWeights
from taxoexpan.network.egonet_sums import SiblingRemoval, SumWeights, egonet_sums
from taxoexpan.network.egonets import Egonets, Position
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
