"""The match of a query with an anchor (Section 4.2.3), and the bonus of mentions."""

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

    The embedding of an anchor is a = matrix · mean (see `Layer.pool`), with R `blocks` of a `size`
    each, so D2 = R * size. `query` is the size of a query's vector, D1. Each match decides where to
    apply the matrix.
    """

    def __init__(self, blocks: int, size: int, query: int, hidden: int) -> None:
        super().__init__()
        self.blocks = blocks
        self.size = size
        self.query = query
        self.hidden = hidden

    def reset(self, generator: torch.Generator) -> None:
        """Initialize the weights (Glorot); biases are zero."""
        for parameter in self.parameters():
            if parameter.dim() > 1:
                nn.init.xavier_normal_(parameter, generator=generator)
            else:
                nn.init.zeros_(parameter)

    @abstractmethod
    def keys(self, means: Tensor, matrix: Tensor) -> Tensor:
        """Compute the anchors' keys for ranking: [A, R * K'] → [A, k]."""

    @abstractmethod
    def project_queries(self, queries: Tensor) -> Tensor:
        """Project the queries for `keys`: [B, D1] → [B, k]."""

    def training_keys(self, means: Tensor, matrix: Tensor) -> Tensor:
        """Compute the anchors' keys for training, at the lowest cost: [A, R * K'] → [A, k']."""
        return self.keys(means, matrix)

    def project_training_queries(self, queries: Tensor, matrix: Tensor) -> Tensor:
        """Project the queries for `training_keys`: [B, D1] → [B, k']."""
        del matrix
        return self.project_queries(queries)

    @abstractmethod
    def score_all(self, keys: Tensor, queries: Tensor) -> Tensor:
        """Return the raw score of every pair: [A, k], [B, k] → [A, B]."""

    @abstractmethod
    def score_pairs(self, keys: Tensor, queries: Tensor) -> Tensor:
        """Return the raw score of each pair of corresponding rows: [..., k] → [...]."""

    def log_match(self, raw: Tensor) -> Tensor:
        """Return log f of raw scores for InfoNCE; ranking needs only the order of raw scores."""
        return raw


class LogBilinearMatch(Match):
    r"""LBM (Eq. 10), with `weight` W [D2, D1]; the raw score is the logarithm.

    .. math:: f(a, n) = \exp(a^T W n)
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
        """Return the means unchanged; multiplying queries is cheaper, because they are fewer."""
        del matrix
        return means

    def project_training_queries(self, queries: Tensor, matrix: Tensor) -> Tensor:
        """Multiply the queries by both matrices."""
        by_block: Tensor = (queries @ self.weight.T).unflatten(1, (self.blocks, self.size))
        return (by_block @ matrix).flatten(1)

    def score_all(self, keys: Tensor, queries: Tensor) -> Tensor:
        """Return the scores of all pairs as one matrix product."""
        return keys @ queries.T

    def score_pairs(self, keys: Tensor, queries: Tensor) -> Tensor:
        """Return the dot products of the pairs."""
        return (keys * queries).sum(-1)


class DoubleExpMatch(LogBilinearMatch):
    """The LBM of the authors' code, which takes the exp twice under InfoNCE: log f = exp(aᵀWn)."""

    def log_match(self, raw: Tensor) -> Tensor:
        """Return the first exp; the softmax of InfoNCE is the second."""
        return raw.exp()


class MLPMatch(Match):
    r"""MLP (Eq. 9), where γ is LeakyReLU and W1 is stored in two parts, for a and for n.

    .. math:: f(a, n) = \sigma(W_2 \gamma(W_1 [a \| n] + B_1) + B_2)
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
        """Return the anchors' part of the hidden layer: [A, H]."""
        by_block = self.anchor_weight.view(self.hidden, self.blocks, self.size)
        return means @ (by_block @ matrix).flatten(1).T

    def project_queries(self, queries: Tensor) -> Tensor:
        """Return the queries' part of the hidden layer, with the bias: [B, H]."""
        return F.linear(queries, self.query_weight, self.hidden_bias)

    def score_all(self, keys: Tensor, queries: Tensor) -> Tensor:
        """Score every pair; without gradients in blocks of anchors, to save memory."""
        rows = len(keys)
        if not torch.is_grad_enabled():
            rows = max(1, MAX_HIDDEN_UNITS // queries.numel())
        return torch.cat([self.score_pairs(block[:, None], queries) for block in keys.split(rows)])

    def score_pairs(self, keys: Tensor, queries: Tensor) -> Tensor:
        """Apply the activation and the second layer."""
        hidden = F.leaky_relu(keys + queries, self.negative_slope)
        return hidden @ self.output[0] + self.bias

    def log_match(self, raw: Tensor) -> Tensor:
        """Return the log sigmoid of raw scores."""
        return F.logsigmoid(raw)


class ReluMLPMatch(MLPMatch):
    """The MLP of the authors' code, with ReLU and without the sigmoid."""

    negative_slope = 0.0

    def log_match(self, raw: Tensor) -> Tensor:
        """Return the raw scores unchanged."""
        return raw


MATCHES: dict[str, type[Match]] = {"bilinear": LogBilinearMatch, "mlp": MLPMatch}


def make_match(config: Config, blocks: int, query_dim: int) -> Match:
    """Return the match that the settings select."""
    match = MATCHES[config.matching]
    if config.matching == "mlp" and config.quirks.mlp_relu:
        match = ReluMLPMatch
    if config.matching == "bilinear" and config.quirks.double_exp:
        match = DoubleExpMatch
    return match(blocks, config.embedding_dim, query_dim, config.hidden_dim)


class MentionBonus(nn.Module):
    """A learned bonus for mentioned anchors, per `MentionKind` (a binary feature in the paper)."""

    reach = 10.0
    """Factor of the weights. Adam moves a weight by at most its step size, and these move far."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.zeros(len(MentionKind)))

    def reset(self) -> None:
        """Set all bonuses to zero."""
        nn.init.zeros_(self.weight)

    def forward(self, mentions: Tensor, anchors: int, queries: int) -> Tensor:
        """Return the bonus of every pair, from triples (anchor, query, kind): [3, M] → [A, B]."""
        rows, columns, kinds = mentions
        bonus = self.weight.new_zeros(anchors, queries)
        values = self.reach * self.weight.index_select(0, kinds)
        return bonus.index_put((rows, columns), values, accumulate=True)
