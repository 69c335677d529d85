"""A batch of training instances as index tensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from taxoexpan.network.egonets import Egonets


@dataclass(frozen=True)
class TrainingBatch:
    """B training instances over the egonets of A anchors.

    A query is matched with all anchors of the batch, or with those at the places `drawn`: [N] for
    all queries, or [N, B] for each its own.
    `positives` [B] is the place of its own parent among the anchors; `own_sibling` [B] the query's
    row among the siblings of that egonet, or -1 where it was not drawn, so that it can be left out;
    `blocked` [2, K] are the pairs (row among the A or N, query) that are no negatives: a parent, a
    descendant, or the query itself. `mentions` [3, M] are the pairs (anchor, query)
    of which the query mentions the anchor, and how (`MentionKind`).
    """

    queries: torch.Tensor
    egonets: Egonets
    positives: torch.Tensor
    own_sibling: torch.Tensor
    blocked: torch.Tensor
    drawn: torch.Tensor | None = None
    mentions: torch.Tensor | None = None

    def split(self, parts: int) -> Iterator[TrainingBatch]:
        """The same instances in so many batches over the same egonets, for want of memory."""
        for columns in torch.arange(len(self.queries)).tensor_split(parts):
            first, last = int(columns[0]), int(columns[-1])
            yield TrainingBatch(
                queries=self.queries[first : last + 1],
                egonets=self.egonets,
                positives=self.positives[first : last + 1],
                own_sibling=self.own_sibling[first : last + 1],
                blocked=_of_columns(self.blocked, first, last),
                mentions=None if self.mentions is None else _of_columns(self.mentions, first, last),
                drawn=self.drawn
                if self.drawn is None or self.drawn.dim() == 1
                else self.drawn[:, first : last + 1],
            )


def _of_columns(pairs: torch.Tensor, first: int, last: int) -> torch.Tensor:
    """Of pairs (row, column, ..) those of some columns, which are counted from the first."""
    inside = pairs[:, (pairs[1] >= first) & (pairs[1] <= last)]
    return torch.cat([inside[:1], inside[1:2] - first, inside[2:]])
