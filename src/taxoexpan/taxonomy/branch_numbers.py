"""Numbered ids with a stem per branch: format_1915 below format_2330, data_0006 below data_0005."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass

from taxoexpan.taxonomy.id_numbers import next_number
from taxoexpan.taxonomy.taxonomy import Taxonomy

MIN_FRACTION = 0.8
"""The fraction of the ids that must be numbered, and of the relations that keep the stem."""
MAX_STEMS = 50
MAX_COMMON = 0.9
"""If one stem is more frequent than this, it is that of all new ids."""
_NUMBERED = re.compile(r"(?P<stem>.*?[^0-9])(?P<number>\d+)")


@dataclass
class BranchNumbers:
    """The next number of all ids, and its width; the stem is that of the parent."""

    following: int
    width: int

    @classmethod
    def of(cls, taxonomy: Taxonomy) -> BranchNumbers | None:
        """Return how the ids are numbered, if the branches of the taxonomy have their own stems."""
        matches = [_NUMBERED.fullmatch(id) for id in taxonomy.ids]
        found = [match for match in matches if match]
        stems = Counter(match["stem"] for match in found)
        if len(found) < MIN_FRACTION * len(matches) or not 1 < len(stems) <= MAX_STEMS:
            return None
        if stems.most_common(1)[0][1] > MAX_COMMON * len(found):
            return None
        parents, children = taxonomy.relation_indices
        pairs = [
            (matches[p], matches[c])
            for p, c in zip(parents.tolist(), children.tolist(), strict=True)
        ]
        same = sum(bool(p and c and p["stem"] == c["stem"]) for p, c in pairs)
        if not pairs or same < MIN_FRACTION * len(pairs):
            return None
        following = next_number(int(match["number"]) for match in found)
        last = max((m["number"] for m in found if int(m["number"]) < following), key=int)
        return cls(following, len(last))

    def child_of(self, parent: str, siblings: Collection[str], taken: Collection[str]) -> str:
        """Return an unused id with the stem of the parent, or else of a sibling."""
        stems = (match["stem"] for id in (parent, *siblings) if (match := _NUMBERED.fullmatch(id)))
        stem = next(stems, f"{parent}_")
        while (id := f"{stem}{self.following:0{self.width}d}") in taken:
            self.following += 1
        self.following += 1
        return id
