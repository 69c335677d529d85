"""What differs between two taxonomies, concept by concept and relation by relation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from taxoexpan.taxonomy.concept import Concept
from taxoexpan.taxonomy.taxonomy import Taxonomy


@dataclass(frozen=True, slots=True)
class Change:
    """A concept that both taxonomies have, as it was and as it is."""

    old: Concept
    new: Concept


@dataclass(frozen=True, slots=True)
class ParentChange:
    """A concept that both taxonomies have, with the parents it lost and those it gained."""

    concept: Concept
    removed_parents: tuple[str, ...]
    added_parents: tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """From `old` to `new`; a concept is the same where its id is."""

    old: Taxonomy
    new: Taxonomy

    def __bool__(self) -> bool:
        """Whether anything differs."""
        return any((self.added, self.removed, self.changed, self.moved))

    @cached_property
    def added(self) -> list[Concept]:
        """Concepts that only the new taxonomy has."""
        return [concept for concept in self.new.concepts if concept.id not in self.old]

    @cached_property
    def removed(self) -> list[Concept]:
        """Concepts that only the old taxonomy has."""
        return [concept for concept in self.old.concepts if concept.id not in self.new]

    @cached_property
    def changed(self) -> list[Change]:
        """Concepts with other words: label, synonyms, definition, or whether they are in force."""
        shared = (concept for concept in self.old.concepts if concept.id in self.new)
        pairs = (Change(concept, self.new.concept(concept.id)) for concept in shared)
        return [pair for pair in pairs if not _alike(pair.old, pair.new)]

    @property
    def relabelled(self) -> list[Change]:
        """Concepts with another label."""
        return [change for change in self.changed if change.old.label != change.new.label]

    @property
    def redescribed(self) -> list[Change]:
        """Concepts with the same label, but other synonyms, another definition or another state."""
        return [change for change in self.changed if change.old.label == change.new.label]

    @cached_property
    def moved(self) -> list[ParentChange]:
        """Concepts that both have, with other parents."""
        left: dict[str, list[str]] = {}
        joined: dict[str, list[str]] = {}
        for relations, changes in (
            (self.relations_removed, left),
            (self.relations_added, joined),
        ):
            for parent, child in relations:
                if child in self.old and child in self.new:
                    changes.setdefault(child, []).append(parent)
        return [
            ParentChange(self.new.concept(id), tuple(left.get(id, ())), tuple(joined.get(id, ())))
            for id in {**left, **joined}
        ]

    @cached_property
    def relations_added(self) -> list[tuple[str, str]]:
        """Relations (parent id, child id) that only the new taxonomy has."""
        known = set(self.old.relations)
        return [relation for relation in self.new.relations if relation not in known]

    @cached_property
    def relations_removed(self) -> list[tuple[str, str]]:
        """Relations (parent id, child id) that only the old taxonomy has."""
        known = set(self.new.relations)
        return [relation for relation in self.old.relations if relation not in known]


def _alike(old: Concept, new: Concept) -> bool:
    """Synonyms have no order of their own."""
    return (old.label, old.definition, old.deprecated, sorted(old.synonyms)) == (
        new.label,
        new.definition,
        new.deprecated,
        sorted(new.synonyms),
    )
