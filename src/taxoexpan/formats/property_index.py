"""The properties of the concepts in a file: columns, tags, keys or predicates."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

MIN_FRACTION = 0.2
"""Only properties that this fraction of the old concepts has are reported."""


@dataclass
class PropertyIndex:
    """The ids of all concepts in a file, and of the concepts with each property."""

    concepts: set[str] = field(default_factory=set)
    having: dict[str, set[str]] = field(default_factory=dict)

    def add(self, id: str, properties: Iterable[str]) -> None:
        """Add a concept with its properties."""
        self.concepts.add(id)
        for property in properties:
            self.having.setdefault(property, set()).add(id)

    def leave_out(self, properties: Iterable[str]) -> PropertyIndex:
        """Return the index without some properties, such as properties for relations."""
        ignored = set(properties)
        kept = {name: ids for name, ids in self.having.items() if name not in ignored}
        return PropertyIndex(self.concepts, kept)


@dataclass(frozen=True, slots=True)
class BlankProperty:
    """A property that a fraction of the old concepts has and some new concepts lack."""

    name: str
    fraction: float
    lacking: int
    new: int

    def __str__(self) -> str:
        """Describe the property in one line."""
        some = f"{self.lacking} of {self.new} new concepts lack it"
        who = "no new concept has it" if self.lacking == self.new else some
        return f"{self.name}: {self.fraction:.0%} of the other concepts have it; {who}"


def blank_properties(before: PropertyIndex, after: PropertyIndex) -> list[BlankProperty]:
    """Return the properties that new concepts lack, most frequent first."""
    new = after.concepts - before.concepts
    found = []
    for name, ids in before.having.items():
        fraction = len(ids) / max(len(before.concepts), 1)
        lacking = len(new - after.having.get(name, set()))
        if lacking and fraction >= MIN_FRACTION:
            found.append(BlankProperty(name, fraction, lacking, len(new)))
    return sorted(found, key=lambda blank: (-blank.fraction, blank.name))
