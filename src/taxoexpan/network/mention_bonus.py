"""A bonus for the anchors that a query mentions."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from taxoexpan.features.mentions import MentionKind


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
