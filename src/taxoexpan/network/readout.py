"""Graph readout (Section 4.2.2): how much each position counts in an egonet's vector."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from taxoexpan.egonets import Position


class WeightedMeanReadout(nn.Module):
    r"""WMR, Eq. 7: a mean over the nodes, weighted by :math:`\log(1 + \exp(\alpha_{p_u}))`."""

    def __init__(self) -> None:
        super().__init__()
        self.importance = nn.Parameter(torch.zeros(len(Position)))

    def weights(self) -> Tensor:
        """The weight of each position [3]."""
        return F.softplus(self.importance)
