"""Ids that depend on the parent's id: hierarchical codes, padded codes, and numbered stems."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field

from taxoexpan.errors import TaxonomyError
from taxoexpan.taxonomy.curies import OBO_BASE
from taxoexpan.taxonomy.ids import NUMBER, next_and_width, next_number
from taxoexpan.taxonomy.taxonomy import Taxonomy

MIN_FRACTION = 0.8
"""The fraction of the ids, and of the relations between them, that must follow the pattern."""
MIN_RELATIONS = 5
"""With fewer relations that follow it, the pattern may be a coincidence."""
_REST = re.compile(r"(?P<separator>[^0-9A-Za-z\s]?)(?P<number>\d{1,100})")
_COUNT = re.compile(r"\d{1,100}")
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True)
class HierarchicalCodes:
    """Codes in which a child's id is its parent's id, a separator, and a number of some width.

    If these depend on the level, as in `A`, `A1`, `A1.1`, `by_level` has them by the number of
    numbers in the parent's id.
    """

    separator: str
    width: int
    by_level: Mapping[int, tuple[str, int]] = field(default_factory=dict)

    @classmethod
    def of(cls, taxonomy: Taxonomy) -> HierarchicalCodes | None:
        """Return the pattern of a taxonomy's ids, if nearly all ids follow one."""
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
    """Return the number of numbers in an id, such as two in hg-2-3."""
    return len(_DIGITS.findall(id))


def _most_common(rests: Sequence[re.Match[str]]) -> tuple[str, int, int]:
    """Return the most common separator, the width of its numbers, and how often it occurs."""
    separator, uses = Counter(rest["separator"] for rest in rests).most_common(1)[0]
    numbers = [rest["number"] for rest in rests if rest["separator"] == separator]
    padded = any(number.startswith("0") and len(number) > 1 for number in numbers)
    width = Counter(map(len, numbers)).most_common(1)[0][0] if padded or not separator else 1
    return separator, width, uses


STEPS = (2, 3, 1)
"""How many digits a level may have, in the order of preference."""


@dataclass(frozen=True)
class PaddedCodes:
    """Codes of a fixed length, with zeros at the end and `step` digits per level."""

    length: int
    step: int

    @classmethod
    def of(cls, taxonomy: Taxonomy) -> PaddedCodes | None:
        """Return the pattern of a taxonomy's ids, if nearly all ids follow one."""
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
        """Return an unused code below a parent, after the codes of its other children."""
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
        """Return whether the code of a child fills the next level of its parent's code."""
        parent, child = pair
        stem = self._stem(parent)
        level = self._level(stem, child)
        return bool(level.strip("0")) and child == self._code(stem, int(level))

    def _stem(self, code: str) -> str:
        """Return the code without the zero levels at its end."""
        digits = len(code.rstrip("0"))
        return code[: -(-digits // self.step) * self.step]

    def _level(self, stem: str, code: str) -> str:
        return code[len(stem) : len(stem) + self.step]

    def _code(self, stem: str, number: int) -> str:
        return f"{stem}{number:0{self.step}d}".ljust(self.length, "0")


MAX_STEMS = 50
MAX_COMMON = 0.9
"""If one stem is more frequent than this, all new ids get it."""
MIN_OWN = 0.05
MIN_OWN_IDS = 5
"""A stem with a smaller fraction of the ids, or with fewer ids, belongs to imported concepts."""
MAX_REPEATED = 0.01
"""The fraction of numbers that may occur with several stems, if the stems share one numbering."""
_NUMBERED = re.compile(rf"(?P<stem>.*?[^0-9])(?P<number>{NUMBER})")


@dataclass
class BranchNumbers:
    """Numbered ids with one stem per branch: the next number and the width of each stem."""

    following: dict[str, int]
    widths: Mapping[str, int]
    shared: bool

    @classmethod
    def of(cls, taxonomy: Taxonomy) -> BranchNumbers | None:
        """Return the numbering of the ids, if the branches of the taxonomy have their own stems."""
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
        """Return the next numbers, or None if the stems belong to different ontologies."""
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
