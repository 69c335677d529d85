"""The vectors of concepts and of queries, as inputs of the network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.device import memory_of, move_to
from taxoexpan.features.mentions import Mentions
from taxoexpan.taxonomy import Concept
from taxoexpan.taxonomy.arrays import Indices

MAX_MEMORY_SHARE = 0.25
"""The largest share of a GPU's memory that the vectors may take; otherwise they are streamed."""
MAX_SCORES = 16_000_000
"""Scores of pairs of an anchor and a query that are held in memory at a time."""
MAX_BLOCK = 256
"""Queries that are scored together, at most."""
GPU_FACTOR = 16
"""How many times more scores and queries are held at a time on a GPU."""


@dataclass(frozen=True)
class ConceptVectors:
    """The vectors of N concepts [N, D1], and the V distinct vectors of their head words [V, D1].

    `head_of` [N] are rows of `heads`. `streamed_to` is the computing device if all vectors stay in
    host memory, because device memory is too small.
    """

    names: Tensor
    heads: Tensor
    head_of: Tensor
    streamed_to: torch.device | None = None

    @classmethod
    def of(cls, stacked: Tensor) -> ConceptVectors:
        """Build concept vectors from stacked vectors of names and head words [2, N, D1]."""
        first, inverse = distinct_rows(stacked[1].cpu().numpy())
        rows = torch.from_numpy(first).to(stacked.device)
        return cls(
            stacked[0],
            stacked[1].index_select(0, rows),
            torch.from_numpy(inverse).to(stacked.device),
        )

    @property
    def device(self) -> torch.device:
        """The device that computes with the vectors."""
        return self.names.device if self.streamed_to is None else self.streamed_to

    @property
    def storage(self) -> torch.device:
        """The device that stores the vectors."""
        return self.names.device

    @property
    def dimension(self) -> int:
        """The size of a vector, D1."""
        return self.names.shape[1]

    def stacked(self) -> Tensor:
        """Return a copy of the name and head word vectors of every concept: [2, N, D1]."""
        return torch.stack([self.names, self.heads.index_select(0, self.head_of)])

    def placed(self, device: torch.device) -> ConceptVectors:
        """Return the same vectors on a device, or streamed to it if they need too much memory."""
        memory = memory_of(device)
        size = self.names.nbytes + self.heads.nbytes
        if memory is not None and size > MAX_MEMORY_SHARE * memory:
            return replace(self.to(torch.device("cpu")), streamed_to=device)
        return self.to(device)

    def to(self, device: torch.device) -> ConceptVectors:
        """Return the same vectors on a device, which computes with them."""
        names = self.names.to(device)
        heads = self.heads.to(device)
        return ConceptVectors(names, heads, self.head_of.to(device))

    def select(self, concepts: Tensor) -> ConceptVectors:
        """Select the vectors of some concepts by index, on the computing device."""
        if self.streamed_to is None:
            return self.reordered(concepts)
        rows = concepts.to(self.storage)
        used, head_of = self.head_of.index_select(0, rows).unique(return_inverse=True)
        names = self.names.index_select(0, rows)
        heads = self.heads.index_select(0, used)
        device = self.device
        return ConceptVectors(
            move_to(names, device), move_to(heads, device), move_to(head_of, device)
        )

    def select_names(self, concepts: Tensor) -> Tensor:
        """Select the name vectors of some concepts by index, on the computing device."""
        if self.streamed_to is None:
            return self.names.index_select(0, concepts)
        return move_to(self.names.index_select(0, concepts.to(self.storage)), self.device)

    def reordered(self, concepts: Tensor) -> ConceptVectors:
        """Return the vectors of these concepts, in this order, on the storing device."""
        names = self.names.index_select(0, concepts)
        head_of = self.head_of.index_select(0, concepts)
        return ConceptVectors(names, self.heads, head_of, self.streamed_to)

    def first(self, count: int) -> ConceptVectors:
        """Return the vectors of the first concepts, without a copy."""
        return replace(self, names=self.names[:count], head_of=self.head_of[:count])


def distinct_rows(matrix: NDArray[np.floating]) -> tuple[Indices, Indices]:
    """Return the first index of each distinct row, and the distinct row that every row equals.

    Rows are compared by a 64-bit hash; a million rows have a collision with probability 10^-7.
    """
    rows = np.ascontiguousarray(matrix)
    hashes = b"".join(blake2b(row.data, digest_size=8).digest() for row in rows)
    _, first, inverse = np.unique(
        np.frombuffer(hashes, np.uint64), return_index=True, return_inverse=True
    )
    return first, inverse


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
