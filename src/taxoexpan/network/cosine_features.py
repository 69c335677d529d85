"""The fusion head, and its features: cosines of unit vectors of queries, anchors and children."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn

from taxoexpan.network.egonets import Egonets, LeftOutSiblings, Position

NUM_FEATURES = 8
"""By whole names and by head words: the cosines with the anchor, its nearest child, and the mean of
its children; then the logarithm of the number of children, and a 1 for the bias."""
LOG_COUNT, ONE = 6, 7
"""The rows of the last two."""


@dataclass(frozen=True)
class Cosines:
    """The cosines with B queries [n, B], and the row of each anchor, then each sibling [A + S]."""

    values: Tensor
    rows: Tensor


def cosine_features(
    names: Cosines, heads: Cosines, egonets: Egonets, left_out: LeftOutSiblings
) -> Tensor:
    """Return the features of every pair of an anchor and a query: [8, A, B].

    `left_out` removes each query [B] from the children of its own parent.
    """
    counts = egonets.counts[:, Position.SIBLING].to(names.values.dtype)
    features = names.values.new_empty(NUM_FEATURES, egonets.size, len(left_out.rows))
    pairs = left_out.egonets, torch.arange(len(left_out.rows), device=left_out.rows.device)
    is_drawn = (left_out.rows >= 0).to(features.dtype)
    count = counts.index_select(0, left_out.egonets)
    count_without = count - is_drawn
    for kind, cosines in enumerate((names, heads)):
        anchors, siblings = cosines.rows.split(egonets.sizes[1:])
        children = cosines.values.index_select(0, siblings)
        if len(children):
            # A child with cosine -1 is never the nearest, and its effect on the sum is known.
            own = left_out.rows.clamp(min=0), pairs[1]
            children[own] = children[own].lerp(-torch.ones_like(is_drawn), is_drawn)
        anchor, nearest, mean = features[kind::2][:3]
        torch.index_select(cosines.values, 0, anchors, out=anchor)
        # One kind at a time, because torch's reductions by index are fast in two dimensions.
        wide = egonets.sibling_of[:, None].expand_as(children)
        nearest.fill_(-1.0).scatter_reduce_(0, wide, children, "amax")
        nearest *= counts.clamp(max=1)[:, None]
        mean.zero_().index_add_(0, egonets.sibling_of, children)
        mean /= counts.clamp(min=1)[:, None]
        nearest[pairs] *= count_without.clamp(max=1)
        mean[pairs] = (mean[pairs] * count + is_drawn) / count_without.clamp(min=1)
    features[LOG_COUNT], features[ONE] = counts.log1p()[:, None], 1.0
    features[LOG_COUNT][pairs] = count_without.log1p()
    return features


class FusionHead(nn.Module):
    """An MLP on the cosine features of a pair, added to the raw score: [8, A, B] → [A, B]."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.hidden = nn.Parameter(torch.empty(hidden, NUM_FEATURES))
        self.output = nn.Parameter(torch.empty(1, hidden))

    def reset(self, generator: torch.Generator) -> None:
        """Initialize the weights (Glorot); the last column is the bias, which is zero."""
        nn.init.xavier_normal_(self.hidden.data[:, :-1], generator=generator)
        nn.init.zeros_(self.hidden.data[:, -1])
        nn.init.xavier_normal_(self.output, generator=generator)

    def forward(self, features: Tensor) -> Tensor:
        """Return the score of each pair."""
        scores: Tensor = _Fuse.apply(features.flatten(1), self.hidden, self.output)
        return scores.view(features.shape[1:])


class _Fuse(torch.autograd.Function):
    """out = o · relu(V x) for P pairs x [8, P], with gradients of V and o from one product."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, output: Tensor) -> Tensor:
        """Return the scores of pairs: [8, P] → [1, P]."""
        units = (weight @ x).relu_()
        ctx.save_for_backward(x, units, weight, output)
        return output @ units

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor, Tensor]:
        """Return the gradients of the weights, from [1, P]."""
        x, units, weight, output = ctx.saved_tensors
        active = torch.ops.aten.threshold_backward(gradient.expand_as(units), units, 0)
        by_unit = active @ x.T
        return None, output.T * by_unit, (weight * by_unit).sum(1)[None]
