"""The concepts to place, as inputs of the network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from torch import Tensor

from taxoexpan.features.mentions import Mentions
from taxoexpan.taxonomy import Concept
from taxoexpan.taxonomy.arrays import Indices

MAX_SCORES = 16_000_000
"""Scores of pairs of an anchor and a query that are held in memory at a time."""
MAX_BLOCK = 256
"""Queries that are scored together, at most."""
GPU_FACTOR = 16
"""How many times more scores and queries are held at a time on a GPU."""


@dataclass(frozen=True)
class Queries:
    """Q concepts to place, with vectors [2, Q, D] of names and definitions, and of head words.

    `mentions` has one row per query. `concepts` may be empty if only the network scores them.
    `tower` [Q, D] are the vectors of the text tower.
    """

    vectors: Tensor
    mentions: Mentions | None = None
    concepts: Sequence[Concept] = ()
    tower: Tensor | None = None

    def __len__(self) -> int:
        return self.vectors.shape[1]

    def __getitem__(self, rows: slice) -> Self:
        """Return some consecutive queries."""
        return self.select(np.arange(len(self))[rows])

    def to(self, device: torch.device) -> Self:
        """Return the same queries with the vectors on a device."""
        tower = None if self.tower is None else self.tower.to(device)
        return replace(self, vectors=self.vectors.to(device), tower=tower)

    def select(self, rows: Indices) -> Self:
        """Return the queries in these rows."""
        index = torch.from_numpy(rows).to(self.vectors.device)
        return replace(
            self,
            vectors=self.vectors.index_select(1, index),
            mentions=None if self.mentions is None else self.mentions.select(rows),
            concepts=[self.concepts[row] for row in rows.tolist()] if self.concepts else (),
            tower=None if self.tower is None else self.tower.index_select(0, index),
        )

    def blocks(self, anchors: int) -> Iterator[tuple[int, Self]]:
        """Yield blocks to score at once, each with the index of its first query."""
        factor = 1 if self.vectors.device.type == "cpu" else GPU_FACTOR
        size = min(factor * MAX_BLOCK, max(1, factor * MAX_SCORES // anchors))
        for start in range(0, len(self), size):
            yield start, self[start : start + size]


@dataclass(frozen=True)
class LabeledQueries(Queries):
    """Queries with known true parents, as indices among the anchors."""

    parents: Sequence[Indices] = ()

    def select(self, rows: Indices) -> Self:
        """Return the queries in these rows with their parents."""
        return replace(super().select(rows), parents=[self.parents[row] for row in rows.tolist()])

    @property
    def first_parents(self) -> Indices:
        """The first true parent of each query [Q]."""
        return np.array([parents[0] for parents in self.parents], dtype=np.int64)
