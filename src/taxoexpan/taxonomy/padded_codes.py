"""Codes of a fixed length, filled with zeros: 10101500 below 10100000 below 10000000."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from taxoexpan.errors import TaxonomyError
from taxoexpan.taxonomy.hierarchical_ids import MIN_FRACTION, MIN_RELATIONS
from taxoexpan.taxonomy.id_numbers import next_number
from taxoexpan.taxonomy.taxonomy import Taxonomy

STEPS = (2, 3, 1)
"""How many digits a level may have, in the order of preference."""


@dataclass(frozen=True)
class PaddedCodes:
    """The number of digits of a code, and of each level in it."""

    length: int
    step: int

    @classmethod
    def of(cls, taxonomy: Taxonomy) -> PaddedCodes | None:
        """Return the pattern of a taxonomy's ids, if nearly all of them follow one."""
        ids, (parents, children) = taxonomy.ids, taxonomy.relation_indices
        lengths = {len(id) for id in ids}
        if len(lengths) != 1 or not all(id.isascii() and id.isdigit() for id in ids):
            return None
        length = lengths.pop()
        pairs = [(ids[p], ids[c]) for p, c in zip(parents.tolist(), children.tolist(), strict=True)]
        needed = max(MIN_RELATIONS, MIN_FRACTION * len(pairs))
        found = {
            step: sum(map(cls(length, step)._fits, pairs)) for step in STEPS if length % step == 0
        }
        step = max(found, key=lambda step: found[step])
        return cls(length, step) if found[step] >= needed else None

    def child_of(self, parent: str, siblings: Collection[str], taken: Collection[str]) -> str:
        """Return an unused code below a parent, after those of its other children."""
        stem = self._stem(parent)
        numbers = [int(self._level(stem, code)) for code in siblings if self._fits((parent, code))]
        number = next_number(numbers)
        while (id := self._code(stem, number)) in taken:
            number += 1
        if len(stem) == self.length or number >= 10**self.step:
            message = f"all codes of {self.length} digits below {parent!r} are used"
            raise TaxonomyError(f"{message}; give the new concepts ids, or set a template of ids")
        return id

    def _fits(self, pair: tuple[str, str]) -> bool:
        """Whether the code of a child fills the next level of its parent's code."""
        parent, child = pair
        stem = self._stem(parent)
        level = self._level(stem, child)
        return bool(level.strip("0")) and child == self._code(stem, int(level))

    def _stem(self, code: str) -> str:
        """The code without the levels at its end that are zero."""
        digits = len(code.rstrip("0"))
        return code[: -(-digits // self.step) * self.step]

    def _level(self, stem: str, code: str) -> str:
        return code[len(stem) : len(stem) + self.step]

    def _code(self, stem: str, number: int) -> str:
        return f"{stem}{number:0{self.step}d}".ljust(self.length, "0")
