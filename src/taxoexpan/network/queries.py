"""Concepts to place, as the network takes them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
from torch import Tensor

from taxoexpan.features.mentions import Mentions
from taxoexpan.taxonomy import Concept
from taxoexpan.taxonomy.arrays import Indices

MAX_SCORES = 16_000_000
"""Scores of pairs of an anchor and a query that are held in memory at a time."""
MAX_BLOCK = 256
"""Queries that are scored together, at most."""


@dataclass(frozen=True)
class Queries:
    """Q concepts to place, with their vectors [2, Q, D] and the anchors that they mention.

    The first vectors are of names and definitions, the second of head words. `mentions` has one
    row per query, or is None for a network that does not use mentions. `concepts` may be empty
    where only scores are needed.
    """

    vectors: Tensor
    mentions: Mentions | None = None
    concepts: Sequence[Concept] = ()

    def __len__(self) -> int:
        return self.vectors.shape[1]

    def __getitem__(self, rows: slice) -> Self:
        """Return some consecutive queries."""
        start, stop, _ = rows.indices(len(self))
        mentions = None if self.mentions is None else self.mentions.between(start, stop)
        return replace(
            self,
            vectors=self.vectors[:, start:stop],
            mentions=mentions,
            concepts=self.concepts[start:stop],
        )

    def blocks(self, anchors: int) -> Iterator[tuple[int, Self]]:
        """Split into blocks that are scored at once, each with the index of its first query."""
        size = min(MAX_BLOCK, max(1, MAX_SCORES // anchors))
        for start in range(0, len(self), size):
            yield start, self[start : start + size]


@dataclass(frozen=True)
class LabeledQueries(Queries):
    """Queries whose true parents are known: the indices of each one's parents among the anchors."""

    parents: Sequence[Indices] = ()

    def __getitem__(self, rows: slice) -> Self:
        """Return some consecutive queries with their parents."""
        return replace(super().__getitem__(rows), parents=self.parents[rows])

    @property
    def first_parents(self) -> Indices:
        """The first true parent of each query [Q]."""
        return np.array([parents[0] for parents in self.parents], dtype=np.int64)
