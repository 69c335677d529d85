"""The differences between two taxonomies."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from taxoexpan.taxonomy.concept import Concept
from taxoexpan.taxonomy.taxonomy import Taxonomy


@dataclass(frozen=True, slots=True)
class Change:
    """The old and the new version of a concept in both taxonomies."""

    old: Concept
    new: Concept


@dataclass(frozen=True, slots=True)
class ParentChange:
    """A concept in both taxonomies whose parents differ."""

    concept: Concept
    removed_parents: tuple[str, ...]
    added_parents: tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """The changes from `old` to `new`; concepts are identified by their ids."""

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
        """Concepts whose label, synonyms, definition or deprecation differ."""
        shared = (concept for concept in self.old.concepts if concept.id in self.new)
        pairs = (Change(concept, self.new.concept(concept.id)) for concept in shared)
        return [pair for pair in pairs if not _equal(pair.old, pair.new)]

    @property
    def relabeled(self) -> list[Change]:
        """Changed concepts with another label."""
        return [change for change in self.changed if change.old.label != change.new.label]

    @property
    def redescribed(self) -> list[Change]:
        """Changed concepts with another definition, deprecation or other synonyms."""
        return [
            change
            for change in self.changed
            if not _equal(replace(change.old, label=change.new.label), change.new)
        ]

    @cached_property
    def moved(self) -> list[ParentChange]:
        """Concepts in both taxonomies whose parents differ."""
        removed: dict[str, list[str]] = {}
        added: dict[str, list[str]] = {}
        for relations, changes in (
            (self.relations_removed, removed),
            (self.relations_added, added),
        ):
            for parent, child in relations:
                if child in self.old and child in self.new:
                    changes.setdefault(child, []).append(parent)
        return [
            ParentChange(self.new.concept(id), tuple(removed.get(id, ())), tuple(added.get(id, ())))
            for id in {**removed, **added}
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


def _equal(old: Concept, new: Concept) -> bool:
    """Whether two concepts are equal; the order of synonyms does not matter."""
    return (old.label, old.definition, old.deprecated, sorted(old.synonyms)) == (
        new.label,
        new.definition,
        new.deprecated,
        sorted(new.synonyms),
    )
