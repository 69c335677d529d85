"""The match of a query with an anchor (Section 4.2.3), and the bonus of mentioned anchors."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from taxoexpan.config import Config
from taxoexpan.features.mentions import MentionKind

MAX_HIDDEN_UNITS = 8_000_000
"""Hidden units of all pairs that are in memory at a time while ranking."""


class Match(nn.Module, ABC):
    """A score f(a, n) of an anchor a and a query n.

    Each side is computed once per anchor and once per query. The embedding of an anchor is
    a = matrix · mean, block by block (see `Layer.pool`); each match decides where to apply the
    matrix.

    Args:
        blocks: the number of blocks of the readout, R.
        size: the size of each block of an embedding; D2 = blocks * size.
        query: the size of a query's vector, D1.
        hidden: the number of hidden units, for a match that has some.
    """

    def __init__(self, blocks: int, size: int, query: int, hidden: int) -> None:
        super().__init__()
        self.blocks, self.size, self.query, self.hidden = blocks, size, query, hidden

    def reset(self, generator: torch.Generator) -> None:
        """Initialize the weights (Glorot); biases are zero."""
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_normal_(parameter, generator=generator)
            else:
                nn.init.zeros_(parameter)

    @abstractmethod
    def keys(self, means: Tensor, matrix: Tensor) -> Tensor:
        """Compute the anchors' side, to be stored: [A, R * K'] → [A, k]."""

    @abstractmethod
    def project_queries(self, queries: Tensor) -> Tensor:
        """Compute the queries' side for `keys`: [B, D1] → [B, k]."""

    def training_keys(self, means: Tensor, matrix: Tensor) -> Tensor:
        """Compute the anchors' side for training, at the lowest cost: [A, R * K'] → [A, k']."""
        return self.keys(means, matrix)

    def project_training_queries(self, queries: Tensor, matrix: Tensor) -> Tensor:
        """Compute the queries' side for `training_keys`: [B, D1] → [B, k']."""
        del matrix
        return self.project_queries(queries)

    @abstractmethod
    def score_all(self, keys: Tensor, queries: Tensor) -> Tensor:
        """Return the raw score of every pair: [A, k], [B, k] → [A, B]."""

    @abstractmethod
    def score_pairs(self, keys: Tensor, queries: Tensor) -> Tensor:
        """Return the raw score of each row with the same row: [..., k] → [...]."""

    def log_match(self, raw: Tensor) -> Tensor:
        """Return log f of raw scores, for InfoNCE; ranking needs only their order."""
        return raw


class LogBilinearMatch(Match):
    r"""LBM (Eq. 10).

    .. math:: f(a, n) = \exp(a^T W n)

    The raw score is the logarithm: InfoNCE's softmax is the exp, and ranking does not need it.
    `weight` is W [D2, D1].
    """

    def __init__(self, blocks: int, size: int, query: int, hidden: int) -> None:
        super().__init__(blocks, size, query, hidden)
        self.weight = nn.Parameter(torch.empty(blocks * size, query))

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
        """Return the scores of all pairs, as one matrix product."""
        return keys @ queries.T

    def score_pairs(self, keys: Tensor, queries: Tensor) -> Tensor:
        """Return dot products."""
        return (keys * queries).sum(-1)


class DoubleExpMatch(LogBilinearMatch):
    """The authors' LBM under InfoNCE, which takes the exp twice: log f = exp(aᵀWn)."""

    def log_match(self, raw: Tensor) -> Tensor:
        """Return the first exp; the softmax is the second."""
        return raw.exp()


class MLPMatch(Match):
    r"""MLP (Eq. 9).

    .. math:: f(a, n) = \sigma(W_2 \gamma(W_1 [a \| n] + B_1) + B_2)

    γ is LeakyReLU. W1 is stored in two parts of H rows each, for a and for n.
    """

    negative_slope = 0.01

    def __init__(self, blocks: int, size: int, query: int, hidden: int) -> None:
        super().__init__(blocks, size, query, hidden)
        self.anchor_weight = nn.Parameter(torch.empty(hidden, blocks * size))
        self.query_weight = nn.Parameter(torch.empty(hidden, query))
        self.hidden_bias = nn.Parameter(torch.zeros(hidden))
        self.output = nn.Parameter(torch.empty(1, hidden))
        self.bias = nn.Parameter(torch.zeros(()))

    def keys(self, means: Tensor, matrix: Tensor) -> Tensor:
        """Return the anchor's part of the hidden layer: [A, H]."""
        by_block = self.anchor_weight.view(self.hidden, self.blocks, self.size)
        return means @ (by_block @ matrix).flatten(1).T

    def project_queries(self, queries: Tensor) -> Tensor:
        """Return the query's part of the hidden layer, with the bias: [B, H]."""
        return F.linear(queries, self.query_weight, self.hidden_bias)

    def score_all(self, keys: Tensor, queries: Tensor) -> Tensor:
        """Score every pair; without gradients, some anchors at a time."""
        rows = len(keys)
        if not torch.is_grad_enabled():
            rows = max(1, MAX_HIDDEN_UNITS // queries.numel())
        return torch.cat([self.score_pairs(block[:, None], queries) for block in keys.split(rows)])

    def score_pairs(self, keys: Tensor, queries: Tensor) -> Tensor:
        """Apply the activation and the second layer."""
        hidden = F.leaky_relu(keys + queries, self.negative_slope)
        return hidden @ self.output[0] + self.bias

    def log_match(self, raw: Tensor) -> Tensor:
        """Return log σ."""
        return F.logsigmoid(raw)


class ReluMLPMatch(MLPMatch):
    """The MLP of the authors' code: ReLU, and no sigmoid."""

    negative_slope = 0.0

    def log_match(self, raw: Tensor) -> Tensor:
        """Return the raw scores."""
        return raw


MATCHES: dict[str, type[Match]] = {"bilinear": LogBilinearMatch, "mlp": MLPMatch}


def make_match(config: Config, blocks: int, query_dim: int) -> Match:
    """Return the match that the settings choose."""
    match = MATCHES[config.matching]
    if config.matching == "mlp" and config.quirks.mlp_relu:
        match = ReluMLPMatch
    if config.matching == "bilinear" and config.quirks.double_exp:
        match = DoubleExpMatch
    return match(blocks, config.embedding_dim, query_dim, config.hidden_dim)


class MentionBonus(nn.Module):
    """A learned bonus on the score of an anchor that the query mentions, one per `MentionKind`.

    It generalizes the paper's binary feature (Section 5.2.3).
    """

    reach = 10.0
    """Factor of the weights. Adam moves a weight by at most its step size, and these move far."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(len(MentionKind)))

    def reset(self) -> None:
        """Start without a bonus."""
        nn.init.zeros_(self.weight)

    def forward(self, mentions: Tensor, anchors: int, queries: int) -> Tensor:
        """Triples (anchor, query, kind) [3, M] → [A, B], zero for anchors not mentioned."""
        rows, columns, kinds = mentions
        bonus = self.weight.new_zeros(anchors, queries)
        values = self.reach * self.weight.index_select(0, kinds)
        return bonus.index_put((rows, columns), values, accumulate=True)
