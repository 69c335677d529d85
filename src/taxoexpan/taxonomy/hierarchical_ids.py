"""Hierarchical codes: the id of a concept is that of its parent and a number, such as hg-2-3."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from taxoexpan.errors import TaxonomyError
from taxoexpan.taxonomy.id_numbers import next_number
from taxoexpan.taxonomy.taxonomy import Taxonomy

MIN_FRACTION = 0.8
"""The fraction of the relations whose ids must follow the pattern."""
MIN_RELATIONS = 5
"""With fewer relations that follow it, the pattern may be a coincidence."""
_REST = re.compile(r"(?P<separator>[^0-9A-Za-z\s]?)(?P<number>\d+)")


@dataclass(frozen=True)
class HierarchicalCodes:
    """How a child's id continues that of its parent: a separator, and a number of some width."""

    separator: str
    width: int

    @classmethod
    def of(cls, taxonomy: Taxonomy) -> HierarchicalCodes | None:
        """Return the pattern of a taxonomy's ids, if nearly all of them follow one."""
        ids, (parents, children) = taxonomy.ids, taxonomy.relation_indices
        rests = [
            _REST.fullmatch(ids[child], len(ids[parent]))
            for parent, child in zip(parents.tolist(), children.tolist(), strict=True)
            if ids[child].startswith(ids[parent])
        ]
        found = [match for match in rests if match]
        separators = Counter(match["separator"] for match in found)
        if not separators:
            return None
        separator, uses = separators.most_common(1)[0]
        if uses < max(MIN_RELATIONS, MIN_FRACTION * len(parents)):
            return None
        numbers = [match["number"] for match in found if match["separator"] == separator]
        padded = any(number.startswith("0") and len(number) > 1 for number in numbers)
        width = Counter(map(len, numbers)).most_common(1)[0][0] if padded or not separator else 1
        return cls(separator, width)

    def child_of(self, parent: str, siblings: Collection[str], taken: Collection[str]) -> str:
        """Return an unused id below a parent, after the ids of its other children."""
        stem = parent + self.separator
        numbers = [
            int(rest)
            for sibling in siblings
            if sibling.startswith(stem) and (rest := sibling[len(stem) :]).isdecimal()
        ]
        number = next_number(numbers)
        while (id := f"{stem}{number:0{self.width}d}") in taken:
            number += 1
        if not self.separator and number >= 10**self.width:
            message = f"all codes of {self.width} more digits below {parent!r} are used"
            raise TaxonomyError(f"{message}; give the new concepts ids, or set a template of ids")
        return id
