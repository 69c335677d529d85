"""Graph readout (Section 4.2.2): an egonet's nodes to one vector."""

from __future__ import annotations

from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from taxoexpan.config import Config
from taxoexpan.network.egonets import Position


class Readout(nn.Module, ABC):
    """A weight for each position, and what the weighted sums are divided by.

    `blocks` is 1 where all positions go into one sum, 3 where each has its own.
    """

    blocks = 1

    @abstractmethod
    def weights(self) -> Tensor:
        """The weight of each position [3]."""

    @abstractmethod
    def divisor(self, counts: Tensor) -> Tensor:
        """What each block's sum is divided by; `counts` are nodes by position: [A, 3] → [A, R]."""

    def sums(self, counts: Tensor) -> Tensor:
        """What the weights of all nodes in each block add up to [A, R]."""
        weighted = counts * self.weights()
        return weighted if self.blocks == len(Position) else weighted.sum(1, keepdim=True)


class MeanReadout(Readout):
    """The mean over all nodes of an egonet (Eq. 6)."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("ones", torch.ones(len(Position)), persistent=False)

    def weights(self) -> Tensor:
        """All alike."""
        return self.get_buffer("ones")

    def divisor(self, counts: Tensor) -> Tensor:
        """The number of nodes."""
        return counts.sum(1, keepdim=True)


class WeightedMeanReadout(Readout):
    r"""WMR, Eq. 7: a mean weighted by :math:`\log(1 + \exp(\alpha_{p_u}))`."""

    def __init__(self) -> None:
        super().__init__()
        self.importance = nn.Parameter(torch.zeros(len(Position)))

    def weights(self) -> Tensor:
        """Softplus of the learned importance."""
        return F.softplus(self.importance)

    def divisor(self, counts: Tensor) -> Tensor:
        """The sum of all nodes' weights."""
        return self.sums(counts)


class ConcatenationReadout(MeanReadout):
    """CR, Eq. 8: the mean over the nodes at each position, side by side; none is zero."""

    blocks = len(Position)

    def divisor(self, counts: Tensor) -> Tensor:
        """The number of nodes at each position."""
        return counts.clamp(min=1)


class EgonetConcatenationReadout(MeanReadout):
    """CR as in the authors' code: what is not the anchor is divided by all nodes of the egonet."""

    blocks = len(Position)

    def divisor(self, counts: Tensor) -> Tensor:
        """The number of all nodes, but one for the anchor."""
        nodes = counts.sum(1)
        return torch.stack([nodes, torch.ones_like(nodes), nodes], dim=1)


READOUTS: dict[str, type[Readout]] = {
    "mean": MeanReadout,
    "weighted": WeightedMeanReadout,
    "concat": ConcatenationReadout,
}


def make_readout(config: Config) -> Readout:
    """Return the readout that the settings choose."""
    if config.readout == "concat" and config.quirks.egonet_concat:
        return EgonetConcatenationReadout()
    return READOUTS[config.readout]()
