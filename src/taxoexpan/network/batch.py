"""A batch of training instances as index tensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch

from taxoexpan.network.egonets import Egonets


@dataclass(frozen=True)
class TrainingBatch:
    """B training instances over the egonets of A anchors.

    Args:
        queries: the index of each query in the taxonomy [B].
        egonets: the egonets of the A anchors.
        positives: the index of each query's parent among the anchors [B].
        own_sibling: the row of each query among the siblings of that egonet [B], so that it can be
            left out; -1 where it was not drawn.
        blocked: the pairs (row among the A or N, query) that are no negatives [2, K]: a parent, a
            descendant or the query itself.
        negatives: the indices of the anchors to try as negatives, [N] for all queries or [N, B] for
            each query; without them all anchors are tried.
        mentions: the triples (anchor, query, `MentionKind`) of mentioned anchors [3, M].
    """

    queries: torch.Tensor
    egonets: Egonets
    positives: torch.Tensor
    own_sibling: torch.Tensor
    blocked: torch.Tensor
    negatives: torch.Tensor | None = None
    mentions: torch.Tensor | None = None

    def to(self, device: torch.device) -> TrainingBatch:
        """Return the same batch on another device."""

        def moved(array: torch.Tensor | None) -> torch.Tensor | None:
            return None if array is None else array.to(device, non_blocking=True)

        return TrainingBatch(
            self.queries.to(device, non_blocking=True),
            self.egonets.to(device),
            self.positives.to(device, non_blocking=True),
            self.own_sibling.to(device, non_blocking=True),
            self.blocked.to(device, non_blocking=True),
            moved(self.negatives),
            moved(self.mentions),
        )

    def split(self, parts: int) -> Iterator[TrainingBatch]:
        """Split the instances into batches over the same egonets, to save memory."""
        for columns in torch.arange(len(self.queries)).tensor_split(parts):
            first, last = int(columns[0]), int(columns[-1])
            yield TrainingBatch(
                queries=self.queries[first : last + 1],
                egonets=self.egonets,
                positives=self.positives[first : last + 1],
                own_sibling=self.own_sibling[first : last + 1],
                blocked=_select_columns(self.blocked, first, last),
                mentions=None
                if self.mentions is None
                else _select_columns(self.mentions, first, last),
                negatives=self.negatives
                if self.negatives is None or self.negatives.dim() == 1
                else self.negatives[:, first : last + 1],
            )


def _select_columns(pairs: torch.Tensor, first: int, last: int) -> torch.Tensor:
    """Select the pairs (row, column, ...) of a range of columns, and number these from 0."""
    inside = pairs[:, (pairs[1] >= first) & (pairs[1] <= last)]
    return torch.cat([inside[:1], inside[1:2] - first, inside[2:]])
