"""The vectors of concepts in the form that the network takes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.taxonomy.arrays import Indices

HASH_BLOCK = 8192
"""Rows to hash at a time."""


@dataclass(frozen=True)
class ConceptVectors:
    """The vectors of N concepts, and of the head words of their labels.

    Many concepts have the same head word, so each distinct vector is stored and compared once.

    Args:
        names: one vector per concept [N, D1].
        heads: the distinct vectors of head words [V, D1].
        head_of: the row of each concept in `heads` [N].
    """

    names: Tensor
    heads: Tensor
    head_of: Tensor

    @classmethod
    def of(cls, stacked: Tensor) -> ConceptVectors:
        """Build them from the stacked vectors of names and head words [2, N, D1]."""
        first, inverse = distinct_rows(stacked[1].cpu().numpy())
        rows = torch.from_numpy(first).to(stacked.device)
        return cls(
            stacked[0],
            stacked[1].index_select(0, rows),
            torch.from_numpy(inverse).to(stacked.device),
        )

    @property
    def device(self) -> torch.device:
        """The device of the vectors."""
        return self.names.device

    @property
    def dimension(self) -> int:
        """The size of a vector, D1."""
        return self.names.shape[1]

    def to(self, device: torch.device) -> ConceptVectors:
        """Return the same vectors on a device."""
        return ConceptVectors(*(part.to(device) for part in (self.names, self.heads, self.head_of)))

    def stacked(self) -> Tensor:
        """Return the vectors of names and head words of every concept, as a copy: [2, N, D1]."""
        return torch.stack([self.names, self.heads.index_select(0, self.head_of)])

    def select(self, concepts: Tensor) -> ConceptVectors:
        """Select the vectors of some concepts by index."""
        names = self.names.index_select(0, concepts)
        return ConceptVectors(names, self.heads, self.head_of.index_select(0, concepts))

    def first(self, count: int) -> ConceptVectors:
        """Return the vectors of the first concepts, without a copy of them."""
        return ConceptVectors(self.names[:count], self.heads, self.head_of[:count])

    def used_heads(self) -> tuple[Tensor, Tensor]:
        """Return the vectors of head words in use, and the row of each concept among them."""
        if self.device.type != "cpu":
            # Finding the distinct ones would make the host wait for the device.
            return self.heads.index_select(0, self.head_of), torch.arange(
                len(self.head_of), device=self.device
            )
        used, rows = self.head_of.unique(return_inverse=True)
        return self.heads.index_select(0, used), rows


def distinct_rows(matrix: NDArray[np.floating]) -> tuple[Indices, Indices]:
    """Return the index of the first copy of each distinct row, and which copy every row equals.

    Rows are compared by a random 64-bit hash. Among a million rows, two different ones get the same
    hash with a probability of about 10^-7.
    """
    rng = np.random.default_rng(0)
    factors = np.frombuffer(rng.bytes(8 * matrix.shape[1]), dtype=np.uint64)
    hashes = np.zeros(len(matrix), dtype=np.uint64)
    for start in range(0, len(matrix), HASH_BLOCK):
        block = hashes[start : start + HASH_BLOCK]
        words = np.ascontiguousarray(matrix[start : start + HASH_BLOCK].T).view(
            f"u{matrix.itemsize}"
        )
        for column in range(len(words)):
            block ^= words[column]
            block *= factors[column] | np.uint64(1)
            block ^= block >> np.uint64(32)
    _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    return first, inverse
