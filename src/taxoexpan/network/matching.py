"""Matching (Section 4.2.3): how well a query goes under an anchor."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from taxoexpan.network.comparison import FEATURES


class LogBilinearMatch(nn.Module):
    r"""LBM, Eq. 10: :math:`f(a, n) = \exp(a^T W n)`.

    The logarithm is what is computed: InfoNCE's softmax is the exp, and ranking does not need it.
    `weight` is W [D2, D1]; a W can be kept for every anchor, and ranking is one matrix product.
    """

    def __init__(self, anchor: int, query: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(anchor, query))

    def reset(self, generator: torch.Generator) -> None:
        """Draw the weights (Glorot)."""
        nn.init.xavier_normal_(self.weight, generator=generator)


class FusionHead(nn.Module):
    """A small network on what the eye would compare, added to the bilinear score.

    For each pair, the query's cosines with the anchor, its nearest child and its mean child, by
    whole names and by head words, and the logarithm of the number of children: the insight of
    Closest-Neighbor and dist-XGBoost, given to the network. Shapes: [7, A, B] → [A, B].
    """

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.hidden = nn.Parameter(torch.empty(hidden, FEATURES))
        self.bias = nn.Parameter(torch.zeros(hidden, 1))
        self.output = nn.Parameter(torch.empty(1, hidden))

    def reset(self, generator: torch.Generator) -> None:
        """Draw the weights (Glorot)."""
        nn.init.xavier_normal_(self.hidden, generator=generator)
        nn.init.xavier_normal_(self.output, generator=generator)

    def forward(self, compared: Tensor) -> Tensor:
        """The score of each pair."""
        hidden = torch.addmm(self.bias, self.hidden, compared.flatten(1)).relu_()
        return (self.output @ hidden).view(compared.shape[1:])
