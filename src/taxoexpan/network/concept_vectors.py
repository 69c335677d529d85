"""The concepts' vectors as the network takes them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.taxonomy.arrays import Indices

BLOCK = 8192
"""Rows that are hashed at a time."""


@dataclass(frozen=True)
class ConceptVectors:
    """Of N concepts the vectors of their names [N, D1], and of their head words.

    Many concepts have the same head word, so each distinct vector is kept, and compared, once:
    concept i has row `head_of[i]` of `heads` [V, D1].
    """

    names: Tensor
    heads: Tensor
    head_of: Tensor

    @classmethod
    def of(cls, both: Tensor) -> ConceptVectors:
        """From names and head words side by side, [2, N, D1]."""
        first, inverse = distinct_rows(both[1].cpu().numpy())
        rows = torch.from_numpy(first).to(both.device)
        return cls(
            both[0], both[1].index_select(0, rows), torch.from_numpy(inverse).to(both.device)
        )

    @property
    def device(self) -> torch.device:
        """Where they are."""
        return self.names.device

    @property
    def dimension(self) -> int:
        """D1."""
        return self.names.shape[1]

    def select(self, concepts: Tensor) -> ConceptVectors:
        """Those of some concepts."""
        names = self.names.index_select(0, concepts)
        return ConceptVectors(names, self.heads, self.head_of.index_select(0, concepts))

    def used_heads(self) -> tuple[Tensor, Tensor]:
        """The vectors of the head words that occur, and the row of each concept among them."""
        if self.device.type != "cpu":
            # To find the distinct ones the host would have to wait for the device.
            return self.heads.index_select(0, self.head_of), torch.arange(
                len(self.head_of), device=self.device
            )
        used, rows = self.head_of.unique(return_inverse=True)
        return self.heads.index_select(0, used), rows


def distinct_rows(matrix: NDArray[np.floating]) -> tuple[Indices, Indices]:
    """The first place of each distinct row, and which of these every row equals.

    Rows are told apart by a random hash of 64 bits: two of a million are alike once in 10^7 times.
    """
    generator = np.random.default_rng(0)
    draws = np.frombuffer(generator.bytes(8 * matrix.shape[1]), dtype=np.uint64)
    hashes = np.zeros(len(matrix), dtype=np.uint64)
    for start in range(0, len(matrix), BLOCK):
        some = hashes[start : start + BLOCK]
        words = np.ascontiguousarray(matrix[start : start + BLOCK].T).view(f"u{matrix.itemsize}")
        for column in range(len(words)):
            some ^= words[column]
            some *= draws[column] | np.uint64(1)
            some ^= some >> np.uint64(32)
    _, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
    return first, inverse
