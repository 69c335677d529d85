"""Numbered ids with a stem per branch: format_1915 below format_2330, data_0006 below data_0005."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from taxoexpan.taxonomy.curies import OBO_BASE
from taxoexpan.taxonomy.id_numbers import NUMBER, next_and_width
from taxoexpan.taxonomy.taxonomy import Taxonomy

MIN_FRACTION = 0.8
"""The fraction of the ids that must be numbered, and of the relations that keep the stem."""
MAX_STEMS = 50
MAX_COMMON = 0.9
"""If one stem is more frequent than this, it is that of all new ids."""
MIN_OWN = 0.05
MIN_OWN_IDS = 5
"""A stem with a smaller fraction of the ids, or with fewer ids, is that of imported concepts."""
MAX_REPEATED = 0.01
"""The fraction of numbers that may occur with several stems, if the stems share one numbering."""
_NUMBERED = re.compile(rf"(?P<stem>.*?[^0-9])(?P<number>{NUMBER})")


@dataclass
class BranchNumbers:
    """The stems of the branches, each with its next number and the width of its numbers.

    The most frequent stem comes first. If `shared`, a number is used with one stem only.
    """

    following: dict[str, int]
    widths: Mapping[str, int]
    shared: bool

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
        needed = max(MIN_OWN_IDS, MIN_OWN * len(found))
        own = {stem: list[str]() for stem, count in stems.most_common() if count >= needed}
        for match in found:
            if match["stem"] in own:
                own[match["stem"]].append(match["number"])
        return cls._numbered(own)

    @classmethod
    def _numbered(cls, own: Mapping[str, Sequence[str]]) -> BranchNumbers | None:
        """Return the next numbers; stems of other ontologies, which number for themselves, fail."""
        every = [number for numbers in own.values() for number in numbers]
        shared = len({int(n) for n in every}) >= (1 - MAX_REPEATED) * len(every)
        # The prefix of an OBO id is the name of an ontology.
        foreign = all(stem.startswith(OBO_BASE) for stem in own)
        names = any(":" in stem for stem in own)
        if len(own) < 2 or foreign or (names and not shared):
            return None
        following, widths = dict[str, int](), dict[str, int]()
        for stem, numbers in own.items():
            following[stem], widths[stem] = next_and_width(every if shared else numbers)
        return cls(following, widths, shared)

    def child_of(self, parent: str, siblings: Collection[str], taken: Collection[str]) -> str:
        """Return an unused id with the stem of the parent, or else of a sibling."""
        known = (_NUMBERED.fullmatch(id) for id in (parent, *siblings))
        stems = [f"{parent}_", *(match["stem"] for match in known if match)]
        stem = next((stem for stem in stems if stem in self.following), next(iter(self.following)))
        number, width = self.following[stem], self.widths[stem]
        while (id := f"{stem}{number:0{width}d}") in taken:
            number += 1
        for each in self.following if self.shared else (stem,):
            self.following[each] = number + 1
        return id
