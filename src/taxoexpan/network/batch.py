"""Batches of training instances as index tensors, also padded to a fixed shape for CUDA graphs.

The padding does not change the results: padding anchors are blocked for all queries, and padding
siblings and grandparents belong to the last of these anchors.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import pairwise
from math import prod
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from taxoexpan.network.egonets import Egonets, Position

ANCHOR_MARGIN = 1.03
MARGIN = 1.25
"""How much larger than the batch that it is made for a shape is. The number of anchors varies
little, and it counts most: every anchor is compared with every query."""
MULTIPLE = 32
"""Sizes are rounded up to a multiple of this."""


@dataclass(frozen=True)
class TrainingBatch:
    """B training instances over the egonets of A anchors.

    Args:
        queries: the index of each query in the taxonomy [B].
        egonets: the egonets of the A anchors.
        positives: the index of each query's parent among the anchors [B].
        own_sibling: the row of each query among the siblings of that egonet [B], or -1.
        blocked: the pairs (row among the A or N, query) that are not negatives [2, K].
        negatives: the indices of anchors to try as negatives, [N] or [N, B]; all anchors if None.
        mentions: the triples (anchor, query, `MentionKind`) of mentioned anchors [3, M].
        first: the column of the first query in the whole batch, if this is a part of it.
        drawn: the number of queries in the whole batch, if this is a part of it.
    """

    queries: Tensor
    egonets: Egonets
    positives: Tensor
    own_sibling: Tensor
    blocked: Tensor
    negatives: Tensor | None = None
    mentions: Tensor | None = None
    first: int = 0
    drawn: int | None = None

    def to(self, device: torch.device) -> TrainingBatch:
        """Return the same batch on another device."""
        arrays = {n: v for n, v in vars(self).items() if isinstance(v, Tensor)}
        moved: dict[str, Any] = {n: v.to(device, non_blocking=True) for n, v in arrays.items()}
        return replace(self, egonets=self.egonets.to(device), **moved)

    def split(self, parts: int) -> Iterator[TrainingBatch]:
        """Yield parts with consecutive queries over the same egonets."""
        bounds = [-(-len(self.queries) * number // parts) for number in range(parts + 1)]
        for first, stop in pairwise(bounds):
            mentions = self.mentions
            negatives = self.negatives
            if negatives is not None and negatives.dim() == 2:
                negatives = negatives[:, first:stop]
            yield replace(
                self,
                queries=self.queries[first:stop],
                positives=self.positives[first:stop],
                own_sibling=self.own_sibling[first:stop],
                blocked=_select_columns(self.blocked, first, stop),
                mentions=None if mentions is None else _select_columns(mentions, first, stop),
                negatives=negatives,
                first=first,
                drawn=len(self.queries),
            )

    def drop_queries(self, values: Tensor, rate: float) -> Tensor:
        """Apply dropout to query rows; a part gets the same dropout as in the whole batch."""
        if self.drawn is None:
            return drop(values, rate)
        whole = values.new_zeros(self.drawn, *values.shape[1:])
        own = slice(self.first, self.first + len(values))
        whole[own] = values
        return drop(whole, rate)[own]


def _select_columns(pairs: Tensor, first: int, stop: int) -> Tensor:
    """Select the pairs (row, column, ...) of a range of columns, and number the columns from 0."""
    inside = pairs[:, (pairs[1] >= first) & (pairs[1] < stop)]
    return torch.cat([inside[:1], inside[1:2] - first, inside[2:]])


@dataclass(frozen=True)
class PaddedShape:
    """The sizes of a padded batch.

    `queries` is never padded, and `blocked` includes all pairs of padding anchors. At least one
    anchor is padding.
    """

    queries: int
    concepts: int
    grandparents: int
    entries: int
    anchors: int
    siblings: int
    blocked: int
    mentions: int

    @classmethod
    def needed_by(cls, batch: TrainingBatch, anchors: int | None = None) -> PaddedShape:
        """Return the smallest shape with this number of anchors that holds a batch."""
        e = batch.egonets
        queries = len(batch.queries)
        grandparents, own, siblings = e.sizes
        anchors = own + 1 if anchors is None else anchors
        return cls(
            queries,
            len(e.concepts),
            grandparents,
            len(e.grandparent),
            anchors,
            siblings,
            batch.blocked.shape[1] + max(anchors - own, 1) * queries,
            0 if batch.mentions is None else batch.mentions.shape[1],
        )

    @classmethod
    def with_margin(cls, batch: TrainingBatch) -> PaddedShape:
        """Return a shape that holds this batch and other batches of about the same size."""
        anchors = _enlarged(len(batch.egonets.counts) + 1, ANCHOR_MARGIN)
        needed = cls.needed_by(batch, anchors)
        # A batch with fewer anchors has more pairs of padding anchors.
        fewest = int(len(batch.egonets.counts) / ANCHOR_MARGIN**2)
        blocked = batch.blocked.shape[1] + (anchors - fewest) * needed.queries
        sizes = {field.name: _enlarged(getattr(needed, field.name)) for field in fields(cls)}
        sizes |= {"queries": needed.queries, "anchors": anchors, "blocked": _enlarged(blocked)}
        return cls(**sizes)

    def holds(self, batch: TrainingBatch) -> bool:
        """Return whether a batch fits in this shape."""
        needed = PaddedShape.needed_by(batch, self.anchors)
        if batch.negatives is not None or needed.queries != self.queries:
            return False
        return len(batch.egonets.counts) < self.anchors and all(
            getattr(needed, field.name) <= getattr(self, field.name) for field in fields(self)
        )

    def parts(self) -> dict[str, tuple[int, ...]]:
        """Return the shape of each index array, in the order of the buffer."""
        return {
            "concepts": (self.concepts,),
            "nodes": (self.grandparents + self.anchors + self.siblings,),
            "grandparent": (self.entries,),
            "grandparent_of": (self.entries,),
            "sibling_of": (self.siblings,),
            "counts": (self.anchors, len(Position)),
            "queries": (self.queries,),
            "positives": (self.queries,),
            "own_sibling": (self.queries,),
            "blocked": (2, self.blocked),
            "mentions": (3, self.mentions),
        }

    def buffer(self, device: torch.device, pinned: bool = False) -> Tensor:
        """Return a buffer of exactly the size of a padded batch."""
        size = sum(map(prod, self.parts().values()))
        return torch.zeros(size, dtype=torch.int64, device=device, pin_memory=pinned)

    def view(self, buffer: Tensor) -> TrainingBatch:
        """Return the batch in a buffer as views, without a copy."""
        arrays: dict[str, Any] = self._views(buffer)
        around = {f.name: arrays.pop(f.name) for f in fields(Egonets) if f.name in arrays}
        return TrainingBatch(egonets=Egonets(**around), **arrays)

    def fill(self, buffer: Tensor, batch: TrainingBatch) -> None:
        """Write a batch on the CPU into a buffer on the CPU."""
        arrays = self._views(buffer)
        e = batch.egonets
        grandparents, anchors, siblings = e.sizes
        _fill(arrays["concepts"], e.concepts, 0)
        own = e.nodes.split([grandparents, anchors, siblings])
        padded = arrays["nodes"].split([self.grandparents, self.anchors, self.siblings])
        for target, values in zip(padded, own, strict=True):
            _fill(target, values, 0)
        last = self.anchors - 1
        _fill(arrays["grandparent"], e.grandparent, self.grandparents - 1)
        _fill(arrays["grandparent_of"], e.grandparent_of, last)
        _fill(arrays["sibling_of"], e.sibling_of, last)
        counts = arrays["counts"]
        counts[:anchors] = e.counts.to(torch.int64)
        counts[anchors:] = torch.tensor([0, 1, 0])
        counts[last, Position.GRANDPARENT] = self.entries - len(e.grandparent)
        counts[last, Position.SIBLING] = self.siblings - siblings
        for name in ("queries", "positives", "own_sibling"):
            arrays[name].copy_(getattr(batch, name))
        self._fill_blocked(arrays["blocked"], batch.blocked, anchors)
        mentions = batch.blocked.new_empty(3, 0) if batch.mentions is None else batch.mentions
        _fill(arrays["mentions"][0], mentions[0], last)
        _fill(arrays["mentions"][1:], mentions[1:], 0)

    def _fill_blocked(self, target: Tensor, blocked: Tensor, anchors: int) -> None:
        """Write the blocked pairs first, and all pairs of the padding anchors last."""
        tail = self.blocked - (self.anchors - anchors) * self.queries
        target[:, : blocked.shape[1]] = blocked
        target[0, blocked.shape[1] : tail], target[1, blocked.shape[1] : tail] = self.anchors - 1, 0
        target[:, tail:] = self._pairs_from_last_anchor[:, tail:]

    @cached_property
    def _pairs_from_last_anchor(self) -> Tensor:
        """The pairs (anchor, query) [2, K], ordered so that the last anchor comes last."""
        positions = self.blocked - 1 - torch.arange(self.blocked)
        rows = (self.anchors - 1 - positions // self.queries).clamp(min=0)
        return torch.stack([rows, positions % self.queries])

    def _views(self, buffer: Tensor) -> dict[str, Tensor]:
        parts = self.parts()
        pieces = buffer.split([prod(shape) for shape in parts.values()])
        return {
            name: piece.view(shape)
            for (name, shape), piece in zip(parts.items(), pieces, strict=True)
        }


def _enlarged(size: int, margin: float = MARGIN) -> int:
    """Return a size with a margin, rounded up to a multiple of MULTIPLE."""
    return MULTIPLE * -(-int(size * margin) // MULTIPLE) + MULTIPLE


def _fill(target: Tensor, values: Tensor, padding: int) -> None:
    """Write values [..., n] at the beginning of a target [..., m], and padding after them."""
    count = values.shape[-1]
    target[..., :count] = values
    target[..., count:] = padding


def drop(values: Tensor, rate: float) -> Tensor:
    """Apply dropout; on a CPU with random bytes, which are faster to draw than random floats."""
    if not rate:
        return values
    if values.device.type != "cpu":
        return F.dropout(values, rate)
    draws = torch.empty(-(-values.numel() // 8), dtype=torch.int64)
    random = draws.random_(-(2**63), None).view(torch.uint8)[: values.numel()]
    dropped = round(256 * rate)
    # The mask has floats: multiplying by a mask of booleans is several times slower.
    kept = random.to(values.dtype).sub_(dropped - 1).clamp_(0, 1)
    return values * kept.mul_(256 / (256 - dropped)).view_as(values)
