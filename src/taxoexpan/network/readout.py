"""Graph readout (Section 4.2.2), from the nodes of an egonet to one vector."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from taxoexpan.config import Config
from taxoexpan.network.egonets import Position


class Readout(nn.Module, ABC):
    """A weight for each position, and a divisor for the weighted sums.

    `blocks` R is 1 if all positions go into one sum, and 3 if each position has its own sum.
    """

    blocks = 1

    @abstractmethod
    def weights(self) -> Tensor:
        """Return the weight of each position [3]."""

    @abstractmethod
    def divisor(self, counts: Tensor) -> Tensor:
        """Return the divisor of each block's sum from the node counts: [A, 3] → [A, R]."""

    def by_block(self) -> Tensor:
        """Return the weight of each position in each block, 0 outside the block: [R, 3]."""
        return self.weights()[None] if self.blocks == 1 else self.weights().diag()

    def sums(self, counts: Tensor) -> Tensor:
        """Return the sum of the weights of all nodes in each block: [A, 3] → [A, R]."""
        weighted = counts * self.weights()
        return weighted if self.blocks == len(Position) else weighted.sum(1, keepdim=True)


class MeanReadout(Readout):
    """The mean over all nodes of an egonet (Eq. 6)."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("ones", torch.ones(len(Position)), persistent=False)

    def weights(self) -> Tensor:
        """Return ones."""
        return self.get_buffer("ones")

    def divisor(self, counts: Tensor) -> Tensor:
        """Return the number of nodes."""
        return counts.sum(1, keepdim=True)


class WeightedMeanReadout(Readout):
    r"""WMR (Eq. 7): a mean weighted by :math:`\log(1 + \exp(\alpha_{p_u}))`."""

    def __init__(self) -> None:
        super().__init__()
        self.importance = nn.Parameter(torch.zeros(len(Position)))

    def weights(self) -> Tensor:
        """Return the softplus of the learned importance."""
        return F.softplus(self.importance)

    def divisor(self, counts: Tensor) -> Tensor:
        """Return the sum of the weights of all nodes."""
        return self.sums(counts)


class ConcatenationReadout(MeanReadout):
    """CR (Eq. 8): the mean of each position, concatenated; zero for a position without nodes."""

    blocks = len(Position)

    def divisor(self, counts: Tensor) -> Tensor:
        """Return the number of nodes at each position."""
        return counts.clamp(min=1)


class EgonetConcatenationReadout(MeanReadout):
    """The CR of the authors' code, where only the anchor is not divided by the egonet size."""

    blocks = len(Position)

    def divisor(self, counts: Tensor) -> Tensor:
        """Return the number of all nodes, or 1 for the anchor."""
        nodes = counts.sum(1)
        return torch.stack([nodes, torch.ones_like(nodes), nodes], dim=1)


READOUTS: dict[str, type[Readout]] = {
    "mean": MeanReadout,
    "weighted": WeightedMeanReadout,
    "concat": ConcatenationReadout,
}


def make_readout(config: Config) -> Readout:
    """Return the readout that the settings select."""
    if config.readout == "concat" and config.quirks.egonet_concat:
        return EgonetConcatenationReadout()
    return READOUTS[config.readout]()
