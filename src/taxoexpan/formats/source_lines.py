"""The file and the line of concepts and relations."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Lines = NDArray[np.int32]


class Described(NamedTuple):
    """A concept, or its relation to a parent."""

    id: str
    parent: str = ""


class Position(NamedTuple):
    """A line of a file; line 0 is unknown."""

    path: Path
    line: int


@dataclass(frozen=True)
class SourceLines:
    """The lines of the concepts of one file, and of the relations between them.

    `parents` and `children` are indices into `ids`; line 0 is unknown.
    """

    path: Path
    ids: Sequence[str]
    lines: Lines
    relation_path: Path
    parents: Lines
    children: Lines
    relation_lines: Lines

    @property
    def are_known(self) -> bool:
        """Whether the reader noted the line of at least one concept."""
        return bool(self.lines.any())

    def find(self, wanted: Collection[Described]) -> dict[Described, Position]:
        """The positions of these concepts and relations, as far as they are known."""
        concepts = {each.id for each in wanted} | {each.parent for each in wanted}
        rows = {id: row for row, id in enumerate(self.ids) if id in concepts}
        found = {
            each: Position(self.path, int(self.lines[rows[each.id]]))
            for each in wanted
            if not each.parent and each.id in rows
        }
        found.update(self._relations([each for each in wanted if each.parent], rows))
        return {each: position for each, position in found.items() if position.line}

    def _relations(
        self, wanted: Collection[Described], rows: dict[str, int]
    ) -> Iterator[tuple[Described, Position]]:
        numbers = self._numbers() if wanted else {}
        for each in wanted:
            ends = rows.get(each.parent), rows.get(each.id)
            if ends in numbers:
                yield each, Position(self.relation_path, numbers[ends])

    def _numbers(self) -> dict[tuple[int | None, int | None], int]:
        """The line of every relation; a repeated one is on its first line."""
        ends = zip(self.parents.tolist(), self.children.tolist(), strict=True)
        lines = self.relation_lines.tolist()
        return dict(reversed(list(zip(ends, lines, strict=True))))
