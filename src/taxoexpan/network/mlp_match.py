"""The match by a multi-layer perceptron."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from taxoexpan.network.match import Match

MAX_HIDDEN_UNITS = 8_000_000
"""Hidden units of all pairs that are in memory at a time while ranking."""


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

    def reset(self, generator: torch.Generator) -> None:
        """Initialize the weights (Glorot)."""
        for weight in (self.anchor_weight, self.query_weight, self.output):
            nn.init.xavier_normal_(weight, generator=generator)
        for bias in (self.hidden_bias, self.bias):
            nn.init.zeros_(bias)

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
