"""Hierarchical codes: the id of a concept is that of its parent and a number, such as hg-2-3."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from taxoexpan.errors import TaxonomyError
from taxoexpan.taxonomy.id_numbers import next_number
from taxoexpan.taxonomy.taxonomy import Taxonomy

MIN_FRACTION = 0.8
"""The fraction of the relations whose ids must follow the pattern."""
MIN_RELATIONS = 5
"""With fewer relations that follow it, the pattern may be a coincidence."""
_REST = re.compile(r"(?P<separator>[^0-9A-Za-z\s]?)(?P<number>\d{1,100})")
_COUNT = re.compile(r"\d{1,100}")
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True)
class HierarchicalCodes:
    """How a child's id continues that of its parent: a separator, and a number of some width.

    If the separator depends on the level, as in `A`, `A1` and `A1.1`, `by_level` has the separator
    and the width for each level: how many numbers the parent's id contains.
    """

    separator: str
    width: int
    by_level: Mapping[int, tuple[str, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, taxonomy: Taxonomy) -> HierarchicalCodes | None:
        """Return the pattern of a taxonomy's ids, if nearly all of them follow one."""
        ids, (parents, children) = taxonomy.ids, taxonomy.relation_indices
        levels: dict[int, list[re.Match[str]]] = {}
        for parent, child in zip(parents.tolist(), children.tolist(), strict=True):
            rest = _REST.fullmatch(ids[child], len(ids[parent]))
            if rest and ids[child].startswith(ids[parent]):
                levels.setdefault(_level(ids[parent]), []).append(rest)
        found = [match for matches in levels.values() for match in matches]
        if not found:
            return None
        needed = max(MIN_RELATIONS, MIN_FRACTION * len(parents))
        separator, width, uses = _most_common(found)
        if uses >= needed:
            return cls(separator, width)
        by_level = {level: _most_common(matches) for level, matches in levels.items()}
        if sum(uses for _, _, uses in by_level.values()) < needed:
            return None
        return cls(separator, width, {level: (s, w) for level, (s, w, _) in by_level.items()})

    def child_of(self, parent: str, siblings: Collection[str], taken: Collection[str]) -> str:
        """Return an unused id below a parent, after the ids of its other children."""
        separator, width = self.by_level.get(_level(parent), (self.separator, self.width))
        stem = parent + separator
        numbers = [
            int(rest)
            for sibling in siblings
            if sibling.startswith(stem) and _COUNT.fullmatch(rest := sibling[len(stem) :])
        ]
        number = next_number(numbers)
        while (id := f"{stem}{number:0{width}d}") in taken:
            number += 1
        if not separator and not self.by_level and number >= 10**width:
            message = f"all codes of {width} more digits below {parent!r} are used"
            raise TaxonomyError(f"{message}; give the new concepts ids, or set a template of ids")
        return id


def _level(id: str) -> int:
    """Return how many numbers an id contains: two in hg-2-3."""
    return len(_DIGITS.findall(id))


def _most_common(rests: Sequence[re.Match[str]]) -> tuple[str, int, int]:
    """The most common separator, the width of its numbers, and how often it is used."""
    separator, uses = Counter(rest["separator"] for rest in rests).most_common(1)[0]
    numbers = [rest["number"] for rest in rests if rest["separator"] == separator]
    padded = any(number.startswith("0") and len(number) > 1 for number in numbers)
    width = Counter(map(len, numbers)).most_common(1)[0][0] if padded or not separator else 1
    return separator, width, uses
