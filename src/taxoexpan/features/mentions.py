"""Which concepts a text about a concept mentions, and how: for many concepts at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.arrays import Indices

KINDS = (
    "the first thing that the definition names",
    "the same in another sense",
    "the second thing that it names",
    "the same in another sense",
    "the end of its own name",
    "the same in another sense",
    "its own name, whole",
)
"""How a concept may be mentioned."""

FIRST, SECOND, END, SAME = 0, 2, 4, 6
"""The kinds of the likeliest senses; what comes after each but the last is another sense."""


@dataclass(frozen=True)
class Mentions:
    """Row i mentions the concepts `of_row.of(i)`; `kinds` stand beside `of_row.targets`.

    A concept may be mentioned in several ways, and stands there once for each.
    """

    of_row: Adjacency
    kinds: Indices

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[tuple[int, int]]]) -> Mentions:
        """From the concepts that each row mentions, each with its kind."""
        flat = [pair for row in rows for pair in row]
        targets, kinds = np.array(flat, dtype=np.int64).reshape(-1, 2).T
        offsets = np.cumsum([0, *(len(row) for row in rows)])
        return cls(Adjacency(offsets, np.ascontiguousarray(targets)), np.ascontiguousarray(kinds))

    def __len__(self) -> int:
        return len(self.of_row)

    def of_many(self, rows: Indices) -> tuple[Indices, Indices, Indices]:
        """What these rows mention: the place in `rows`, the concept, and the kind."""
        places, positions = Adjacency(self.of_row.offsets, self._positions).of_many(rows)
        return places, self.of_row.targets[positions], self.kinds[positions]

    def between(self, start: int, stop: int) -> Mentions:
        """The rows from one place to before another, as rows of their own."""
        offsets = self.of_row.offsets
        kinds = self.kinds[offsets[start] : offsets[stop]]
        return Mentions(self.of_row.between(start, stop), kinds)

    def among(self, new: Indices, rows: Indices) -> Mentions:
        """What these rows mention of concepts that have a `new` index, which is not negative."""
        places, concepts, kinds = self.of_many(rows)
        left = new[concepts] >= 0
        adjacency = Adjacency.from_pairs(places[left], new[concepts[left]], len(rows))
        return Mentions(adjacency, kinds[left])

    @property
    def _positions(self) -> Indices:
        return np.arange(len(self.kinds))
