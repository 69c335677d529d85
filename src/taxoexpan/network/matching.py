"""Matching (Section 4.2.3): how well a query goes under an anchor."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from taxoexpan.config import Config
from taxoexpan.features.mentions import MentionKind

PAIRS = 8_000_000
"""Hidden units of pairs that an MLP holds at a time while it ranks."""


class Match(nn.Module, ABC):
    """f(a, n) from two sides that are computed once for each anchor and each query.

    An anchor's embedding is a = matrix · mean, block by block (see `Layer.collect`); what is done
    with the matrix is for each match to decide. D2 = blocks * size, D1 = query, and `hidden` are
    the units of a match that has some.
    """

    def __init__(self, blocks: int, size: int, query: int, hidden: int) -> None:
        super().__init__()
        self.blocks, self.size, self.query, self.hidden = blocks, size, query, hidden

    @abstractmethod
    def reset(self, generator: torch.Generator) -> None:
        """Draw the weights (Glorot)."""

    @abstractmethod
    def keys(self, means: Tensor, matrix: Tensor) -> Tensor:
        """The anchors' side, to be kept: [A, R * K'] → [A, k]."""

    @abstractmethod
    def asked(self, queries: Tensor) -> Tensor:
        """The queries' side that goes with `keys`: [B, D1] → [B, k]."""

    def left(self, means: Tensor, matrix: Tensor) -> Tensor:
        """The anchors' side for training, where it is as cheap as can be: [A, R * K'] → [A, k']."""
        return self.keys(means, matrix)

    def right(self, queries: Tensor, matrix: Tensor) -> Tensor:
        """The queries' side that goes with `left`: [B, D1] → [B, k']."""
        del matrix
        return self.asked(queries)

    @abstractmethod
    def grid(self, left: Tensor, right: Tensor) -> Tensor:
        """The raw score of every pair [A, B]."""

    @abstractmethod
    def pairs(self, left: Tensor, right: Tensor) -> Tensor:
        """The raw score of each row with the same row: [..., k] → [...]."""

    def log_match(self, raw: Tensor) -> Tensor:
        """Log f, which InfoNCE takes; ranking needs only its order."""
        return raw


class LogBilinearMatch(Match):
    r"""LBM, Eq. 10: :math:`f(a, n) = \exp(a^T W n)`; `weight` is W [D2, D1].

    The logarithm is what is computed: InfoNCE's softmax is the exp, and ranking does not need it.
    """

    def __init__(self, blocks: int, size: int, query: int, hidden: int) -> None:
        super().__init__(blocks, size, query, hidden)
        self.weight = nn.Parameter(torch.empty(blocks * size, query))

    def reset(self, generator: torch.Generator) -> None:
        """Draw the weights (Glorot)."""
        nn.init.xavier_normal_(self.weight, generator=generator)

    def keys(self, means: Tensor, matrix: Tensor) -> Tensor:
        """aᵀW, so that ranking is one product with the queries: [A, D1]."""
        by_block = self.weight.view(self.blocks, self.size, self.query)
        return means @ (matrix.T @ by_block).flatten(0, 1)

    def asked(self, queries: Tensor) -> Tensor:
        """The queries as they are."""
        return queries

    def left(self, means: Tensor, matrix: Tensor) -> Tensor:
        """The means as they are: the matrices go to the few queries, not to the many anchors."""
        del matrix
        return means

    def right(self, queries: Tensor, matrix: Tensor) -> Tensor:
        """The queries through both matrices."""
        by_block: Tensor = (queries @ self.weight.T).unflatten(1, (self.blocks, self.size))
        return (by_block @ matrix).flatten(1)

    def grid(self, left: Tensor, right: Tensor) -> Tensor:
        """One product."""
        return left @ right.T

    def pairs(self, left: Tensor, right: Tensor) -> Tensor:
        """Dot products."""
        return (left * right).sum(-1)


class ExponentialMatch(LogBilinearMatch):
    """The authors' option LBM under InfoNCE, where the exp is taken twice: log f = exp(aᵀWn)."""

    def log_match(self, raw: Tensor) -> Tensor:
        """The first exp; the softmax is the second."""
        return raw.exp()


class PerceptronMatch(Match):
    r"""MLP, Eq. 9: :math:`f(a, n) = \sigma(W_2 \gamma(W_1 [a \| n] + B_1) + B_2)`, γ LeakyReLU.

    W1 is kept in two parts, for a and for n, each with H rows.
    """

    slope = 0.01

    def __init__(self, blocks: int, size: int, query: int, hidden: int) -> None:
        super().__init__(blocks, size, query, hidden)
        self.anchor_weight = nn.Parameter(torch.empty(hidden, blocks * size))
        self.query_weight = nn.Parameter(torch.empty(hidden, query))
        self.hidden_bias = nn.Parameter(torch.zeros(hidden))
        self.output = nn.Parameter(torch.empty(1, hidden))
        self.bias = nn.Parameter(torch.zeros(()))

    def reset(self, generator: torch.Generator) -> None:
        """Draw the weights (Glorot)."""
        for weight in (self.anchor_weight, self.query_weight, self.output):
            nn.init.xavier_normal_(weight, generator=generator)
        for bias in (self.hidden_bias, self.bias):
            nn.init.zeros_(bias)

    def keys(self, means: Tensor, matrix: Tensor) -> Tensor:
        """W1's part for the anchor: [A, H]."""
        by_block = self.anchor_weight.view(self.hidden, self.blocks, self.size)
        return means @ (by_block @ matrix).flatten(1).T

    def asked(self, queries: Tensor) -> Tensor:
        """W1's part for the query, and its bias: [B, H]."""
        return F.linear(queries, self.query_weight, self.hidden_bias)

    def grid(self, left: Tensor, right: Tensor) -> Tensor:
        """Every pair, some anchors at a time where no gradient is wanted."""
        rows = len(left) if torch.is_grad_enabled() else max(1, PAIRS // right.numel())
        return torch.cat([self.pairs(some[:, None], right) for some in left.split(rows)])

    def pairs(self, left: Tensor, right: Tensor) -> Tensor:
        """The second layer."""
        return self._activated(left + right) @ self.output[0] + self.bias

    def log_match(self, raw: Tensor) -> Tensor:
        """Log σ."""
        return F.logsigmoid(raw)

    def _activated(self, hidden: Tensor) -> Tensor:
        return F.leaky_relu(hidden, self.slope)


class PlainPerceptronMatch(PerceptronMatch):
    """MLP as in the authors' code: ReLU, and no sigmoid."""

    slope = 0.0

    def log_match(self, raw: Tensor) -> Tensor:
        """As it is."""
        return raw


MATCHES: dict[str, type[Match]] = {
    "bilinear": LogBilinearMatch,
    "mlp": PerceptronMatch,
}


def make_match(config: Config, blocks: int, query_dim: int) -> Match:
    """Return the match that the settings choose."""
    kind = MATCHES[config.matching]
    if config.matching == "mlp" and config.quirks.mlp_relu:
        kind = PlainPerceptronMatch
    if config.matching == "bilinear" and config.quirks.double_exp:
        kind = ExponentialMatch
    return kind(blocks, config.embedding_dim, query_dim, config.hidden_dim)


class MentionBonus(nn.Module):
    """What is added to the score of an anchor that the query mentions, by how it does.

    The paper's binary feature (Section 5.2.3), with a number for each of `MentionKind`.
    """

    reach = 10.0
    """Adam moves a number by no more than its step size at a time, and these have a long way."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(len(MentionKind)))

    def reset(self) -> None:
        """Begin without any."""
        nn.init.zeros_(self.weight)

    def forward(self, mentions: Tensor, anchors: int, queries: int) -> Tensor:
        """Triples (anchor, query, kind) [3, M] → [A, B], zero where nothing is mentioned."""
        rows, columns, kinds = mentions
        bonus = self.weight.new_zeros(anchors, queries)
        values = self.reach * self.weight.index_select(0, kinds)
        return bonus.index_put((rows, columns), values, accumulate=True)
