"""The fusion head: a score from the cosines of a query with an anchor and its children."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from taxoexpan.network.cosine_features import NUM_FEATURES


class FusionHead(nn.Module):
    """A small network over the cosine features of a pair, added to the raw score of the match.

    It gives the network the signals of Closest-Neighbor and dist-XGBoost (see `cosine_features`).
    Shapes: [8, A, B] → [A, B].
    """

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.hidden = nn.Parameter(torch.empty(hidden, NUM_FEATURES))
        self.output = nn.Parameter(torch.empty(1, hidden))

    def reset(self, generator: torch.Generator) -> None:
        """Initialize the weights (Glorot); the bias, which is the last column, is zero."""
        nn.init.xavier_normal_(self.hidden.data[:, :-1], generator=generator)
        nn.init.zeros_(self.hidden.data[:, -1])
        nn.init.xavier_normal_(self.output, generator=generator)

    def forward(self, features: Tensor) -> Tensor:
        """Return the score of each pair."""
        scores: Tensor = _Fuse.apply(features.flatten(1), self.hidden, self.output)
        return scores.view(features.shape[1:])


class _Fuse(torch.autograd.Function):
    """out = o · relu(V x) for P pairs x [8, P], and the gradients of V and o.

    Queries and anchors have no gradient here, so the backward pass is one product: with M the
    gradient where a unit is active, both gradients follow from M xᵀ.
    """

    @staticmethod
    def forward(ctx: Any, x: Tensor, weight: Tensor, output: Tensor) -> Tensor:
        """[8, P] → [1, P]."""
        units = (weight @ x).relu_()
        ctx.save_for_backward(x, units, weight, output)
        return output @ units

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[None, Tensor, Tensor]:
        """[1, P] → the gradients of the weights."""
        x, units, weight, output = ctx.saved_tensors
        active = torch.ops.aten.threshold_backward(gradient.expand_as(units), units, 0)
        by_unit = active @ x.T
        return None, output.T * by_unit, (weight * by_unit).sum(1)[None]
