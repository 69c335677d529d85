"""What all matches have in common (Section 4.2.3)."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn


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

    @abstractmethod
    def reset(self, generator: torch.Generator) -> None:
        """Initialize the weights (Glorot)."""

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
