"""The concepts that names and definitions mention, stored for many concepts at a time."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.arrays import Indices


class MentionKind(IntEnum):
    """How a text mentions a concept; the network learns one weight per kind.

    An even number is the most likely sense of the mentioned name. The odd number after it is any
    other sense of that name.
    """

    FIRST_IN_DEFINITION = 0
    FIRST_OTHER_SENSE = 1
    SECOND_IN_DEFINITION = 2
    SECOND_OTHER_SENSE = 3
    NAME_ENDING = 4
    NAME_ENDING_OTHER_SENSE = 5
    SAME_NAME = 6

    @property
    def is_other_sense(self) -> bool:
        """Whether a more likely sense of the same name exists."""
        return self % 2 == 1

    @property
    def likeliest_sense(self) -> MentionKind:
        """The same kind of mention with the most likely sense."""
        return MentionKind(self - self % 2)

    @property
    def description(self) -> str:
        """The kind in words."""
        description = _DESCRIPTIONS[self.likeliest_sense]
        return f"{description}, in another sense" if self.is_other_sense else description


_DESCRIPTIONS = {
    MentionKind.FIRST_IN_DEFINITION: "the first concept that the definition mentions",
    MentionKind.SECOND_IN_DEFINITION: "the second concept that the definition mentions",
    MentionKind.NAME_ENDING: "the end of the label",
    MentionKind.SAME_NAME: "the whole label",
}


@dataclass(frozen=True)
class Mentions:
    """The concepts that each row mentions: row i mentions the concepts `of_row.of(i)`.

    `kinds` holds one `MentionKind` for each of `of_row.targets`. A row lists a concept once for
    each way in which it mentions the concept.
    """

    of_row: Adjacency
    kinds: Indices

    @classmethod
    def from_rows(cls, rows: Sequence[Sequence[tuple[int, int]]]) -> Mentions:
        """Build from the pairs (concept, kind) of each row."""
        flat = [pair for row in rows for pair in row]
        targets, kinds = np.array(flat, dtype=np.int64).reshape(-1, 2).T
        offsets = np.cumsum([0, *(len(row) for row in rows)])
        return cls(Adjacency(offsets, np.ascontiguousarray(targets)), np.ascontiguousarray(kinds))

    def __len__(self) -> int:
        return len(self.of_row)

    def of_many(self, rows: Indices) -> tuple[Indices, Indices, Indices]:
        """All mentions of these rows: the position in `rows`, the concept and the kind of each."""
        entries = Adjacency(self.of_row.offsets, np.arange(len(self.kinds)))
        positions, found = entries.of_many(rows)
        return positions, self.of_row.targets[found], self.kinds[found]

    def between(self, start: int, stop: int) -> Mentions:
        """The rows `start` to `stop`, without `stop`."""
        offsets = self.of_row.offsets
        kinds = self.kinds[offsets[start] : offsets[stop]]
        return Mentions(self.of_row.between(start, stop), kinds)

    def reindex(self, new_index: Indices, rows: Indices) -> Mentions:
        """Return the mentions of these rows, with the index `new_index[i]` for concept i.

        Mentions of concepts with a negative new index are left out.
        """
        positions, concepts, kinds = self.of_many(rows)
        kept = new_index[concepts] >= 0
        of_row = Adjacency.from_pairs(positions[kept], new_index[concepts[kept]], len(rows))
        return Mentions(of_row, kinds[kept])
