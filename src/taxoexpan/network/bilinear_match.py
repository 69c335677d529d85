"""The log-bilinear match."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from taxoexpan.network.match import Match


class LogBilinearMatch(Match):
    r"""LBM (Eq. 10).

    .. math:: f(a, n) = \exp(a^T W n)

    The raw score is the logarithm: InfoNCE's softmax is the exp, and ranking does not need it.
    `weight` is W [D2, D1].
    """

    def __init__(self, blocks: int, size: int, query: int, hidden: int) -> None:
        super().__init__(blocks, size, query, hidden)
        self.weight = nn.Parameter(torch.empty(blocks * size, query))

    def reset(self, generator: torch.Generator) -> None:
        """Initialize the weights (Glorot)."""
        nn.init.xavier_normal_(self.weight, generator=generator)

    def keys(self, means: Tensor, matrix: Tensor) -> Tensor:
        """Return aᵀW [A, D1], so that ranking is one product with the queries."""
        by_block = self.weight.view(self.blocks, self.size, self.query)
        return means @ (matrix.T @ by_block).flatten(0, 1)

    def project_queries(self, queries: Tensor) -> Tensor:
        """Return the queries unchanged."""
        return queries

    def training_keys(self, means: Tensor, matrix: Tensor) -> Tensor:
        """Return the means unchanged: there are fewer queries than anchors to multiply."""
        del matrix
        return means

    def project_training_queries(self, queries: Tensor, matrix: Tensor) -> Tensor:
        """Multiply the queries by both matrices."""
        by_block: Tensor = (queries @ self.weight.T).unflatten(1, (self.blocks, self.size))
        return (by_block @ matrix).flatten(1)

    def score_all(self, keys: Tensor, queries: Tensor) -> Tensor:
        """Return one matrix product."""
        return keys @ queries.T

    def score_pairs(self, keys: Tensor, queries: Tensor) -> Tensor:
        """Return dot products."""
        return (keys * queries).sum(-1)


class DoubleExpMatch(LogBilinearMatch):
    """The authors' LBM under InfoNCE, which takes the exp twice: log f = exp(aᵀWn)."""

    def log_match(self, raw: Tensor) -> Tensor:
        """Return the first exp; the softmax is the second."""
        return raw.exp()
