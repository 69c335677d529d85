"""A batch of training instances as index tensors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import torch

from taxoexpan.network.dropout import drop
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
        first: the column of the first query in the batch that this one is a part of.
        drawn: the number of queries in that batch; without it, this is no part.
    """

    queries: torch.Tensor
    egonets: Egonets
    positives: torch.Tensor
    own_sibling: torch.Tensor
    blocked: torch.Tensor
    negatives: torch.Tensor | None = None
    mentions: torch.Tensor | None = None
    first: int = 0
    drawn: int | None = None

    def part(self, first: int, stop: int) -> TrainingBatch:
        """Return the instances of some consecutive queries, over the same egonets."""
        return TrainingBatch(
            queries=self.queries[first:stop],
            egonets=self.egonets,
            positives=self.positives[first:stop],
            own_sibling=self.own_sibling[first:stop],
            blocked=_select_columns(self.blocked, first, stop),
            mentions=None if self.mentions is None else _select_columns(self.mentions, first, stop),
            negatives=self.negatives
            if self.negatives is None or self.negatives.dim() == 1
            else self.negatives[:, first:stop],
            first=self.first + first,
            drawn=len(self.queries) if self.drawn is None else self.drawn,
        )

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
            self.first,
            self.drawn,
        )

    def split(self, parts: int) -> Iterator[TrainingBatch]:
        """Split the instances into parts, to save memory."""
        bounds = [-(-len(self.queries) * number // parts) for number in range(parts + 1)]
        for first, stop in pairwise(bounds):
            yield self.part(first, stop)

    def drop_queries(self, values: torch.Tensor, rate: float) -> torch.Tensor:
        """Apply dropout to rows of queries; a part gets the rows that the whole batch would get."""
        if self.drawn is None:
            return drop(values, rate)
        whole = values.new_zeros(self.drawn, *values.shape[1:])
        own = slice(self.first, self.first + len(values))
        whole[own] = values
        return drop(whole, rate)[own]


def _select_columns(pairs: torch.Tensor, first: int, stop: int) -> torch.Tensor:
    """Select the pairs (row, column, ...) of a range of columns, and number these from 0."""
    inside = pairs[:, (pairs[1] >= first) & (pairs[1] < stop)]
    return torch.cat([inside[:1], inside[1:2] - first, inside[2:]])
