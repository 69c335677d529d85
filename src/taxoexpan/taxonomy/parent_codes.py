"""Ids that depend on the parent's id: hierarchical codes, padded codes, and numbered stems."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import count

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
_CHECKED = re.compile(r"(?<=\d{4})-\d$")
MAX_STEMS = 50
MAX_COMMON = 0.9
"""If one stem is more frequent than this, all new ids get it."""
MIN_OWN = 0.05
MIN_OWN_IDS = 5
"""A stem with a smaller fraction of the ids, or with fewer ids, belongs to imported concepts."""
MAX_REPEATED = 0.01
"""The fraction of numbers that may occur with several stems, if the stems share one numbering."""


@dataclass(frozen=True)
class HierarchicalCodes:
    """Codes in which a child's id is its parent's id, a separator, and a number of some width.

    If these depend on the level, as in `A`, `A1`, `A1.1`, `by_level` has them by the number of
    numbers in the parent's id. Without a separator, `by_length` has widths that depend on the
    length of the parent's id, as in `11`, `111`, `11101`.
    """

    separator: str
    width: int
    by_level: Mapping[int, tuple[str, int]] = field(default_factory=dict)
    by_length: Mapping[int, int] = field(default_factory=dict)

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
            return cls(separator, width, by_length={} if separator else _widths(found))
        by_level = {level: _most_common(matches) for level, matches in levels.items()}
        if sum(uses for _, _, uses in by_level.values()) < needed:
            return None
        return cls(separator, width, {level: (s, w) for level, (s, w, _) in by_level.items()})

    def child_of(self, parent: str, siblings: Collection[str], taken: Collection[str]) -> str:
        """Return an unused id below a parent, after the ids of its other children, or ""."""
        separator, width = self.by_level.get(_level(parent), (self.separator, self.width))
        width = self.by_length.get(len(parent), width)
        stem = parent + separator
        numbers = [
            int(rest)
            for sibling in siblings
            if sibling.startswith(stem) and _COUNT.fullmatch(rest := sibling[len(stem) :])
        ]
        number = next_number(numbers)
        is_limited = not separator and not self.by_level
        choices = _after_and_before(number, 10**width) if is_limited else count(number)
        codes = (f"{stem}{choice:0{width}d}" for choice in choices)
        # Without a separator, a code above a longer code of a sibling would become its parent.
        longer = [code for code in siblings if is_limited and len(code) > len(stem) + width]
        free = (code for code in codes if not any(other.startswith(code) for other in longer))
        return next((code for code in free if code not in taken), "")


def _after_and_before(number: int, limit: int) -> Iterator[int]:
    """Yield the numbers from a number up to a limit, then smaller ones: 9 is often "other"."""
    yield from range(number, limit)
    yield from range(1, min(number, limit))


def _level(id: str) -> int:
    """Return the number of numbers in an id, such as two in hg-2-3."""
    return len(_DIGITS.findall(id))


def _widths(rests: Sequence[re.Match[str]]) -> dict[int, int]:
    """Return the most common width by the length of the parent's id, if there are several."""
    widths: dict[int, Counter[int]] = {}
    for rest in rests:
        widths.setdefault(rest.start(), Counter())[len(rest["number"])] += 1
    common = {length: counts.most_common(1)[0][0] for length, counts in widths.items()}
    return common if len({*common.values()}) > 1 else {}


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
    """Codes of a fixed length, with zeros at the end and `step` digits per level.

    The first level has `first` digits. A check digit after a hyphen is not part of the code; it
    cannot be computed, so new codes have none.
    """

    length: int
    step: int
    first: int = 0

    @classmethod
    def of(cls, taxonomy: Taxonomy) -> PaddedCodes | None:
        """Return the pattern of a taxonomy's ids, if nearly all ids follow one."""
        ids, (parents, children) = taxonomy.ids, taxonomy.relation_indices
        bare = [_CHECKED.sub("", id) for id in ids]
        lengths = {len(id) for id in bare}
        if len(lengths) != 1 or not all(id.isascii() and id.isdigit() for id in bare):
            return None
        length = lengths.pop()
        pairs = [(ids[p], ids[c]) for p, c in zip(parents.tolist(), children.tolist(), strict=True)]
        needed = max(MIN_RELATIONS, MIN_FRACTION * len(pairs))
        styles = [cls(length, step) for step in STEPS if length % step == 0]
        styles += [cls(length, 1, first=2)] * (length > 2)
        found = {style: sum(map(style._fits, pairs)) for style in styles}
        best = max(found, key=lambda style: found[style])
        return best if found[best] >= needed else None

    def child_of(self, parent: str, siblings: Collection[str], taken: Collection[str]) -> str:
        """Return an unused code below a parent, after the codes of its other children, or ""."""
        stem = self._stem(parent)
        numbers = [int(self._level(stem, code)) for code in siblings if self._fits((parent, code))]
        choices = _after_and_before(next_number(numbers), 10**self.step)
        codes = (self._code(stem, choice) for choice in choices if choice not in numbers)
        is_full = len(stem) == self.length
        return "" if is_full else next((code for code in codes if code not in taken), "")

    def _fits(self, pair: tuple[str, str]) -> bool:
        """Return whether the code of a child fills the next level of its parent's code."""
        parent, child = pair
        stem = self._stem(parent)
        level = self._level(stem, child)
        return bool(level.strip("0")) and child[: self.length] == self._code(stem, int(level))

    def _stem(self, code: str) -> str:
        """Return the code without the zero levels at its end."""
        digits = len(code[: self.length].rstrip("0")) - self.first
        return code[: self.first + -(-max(digits, 0) // self.step) * self.step]

    def _level(self, stem: str, code: str) -> str:
        return code[len(stem) : len(stem) + self.step]

    def _code(self, stem: str, number: int) -> str:
        return f"{stem}{number:0{self.step}d}".ljust(self.length, "0")


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
        following = dict[str, int]()
        widths = dict[str, int]()
        for stem, numbers in own.items():
            following[stem], widths[stem] = next_and_width(every if shared else numbers)
        return cls(following, widths, shared)

    def child_of(self, parent: str, siblings: Collection[str], taken: Collection[str]) -> str:
        """Return an unused id with the stem of the parent, or else of a sibling."""
        known = (_NUMBERED.fullmatch(id) for id in (parent, *siblings))
        stems = [f"{parent}_", *(match["stem"] for match in known if match)]
        stem = next((stem for stem in stems if stem in self.following), next(iter(self.following)))
        number = self.following[stem]
        width = self.widths[stem]
        while (id := f"{stem}{number:0{width}d}") in taken:
            number += 1
        for each in self.following if self.shared else (stem,):
            self.following[each] = number + 1
        return id
