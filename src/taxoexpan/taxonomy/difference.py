"""The differences between two taxonomies whose ids may be written in different ways."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

from taxoexpan.taxonomy.concept import Concept
from taxoexpan.taxonomy.curies import Prefixes
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


_BLANK: Mapping[str, Any] = {"definition": "", "synonyms": ()}


class MatchedBy(StrEnum):
    """How a concept was found in the other taxonomy."""

    ID = "id"
    CURIE = "CURIE"
    """The one id is the CURIE of the other, such as `SO:0000110`."""
    PATH = "label and path"
    """The labels of the concept and of all its ancestors are the same, and no others have them."""
    LABEL = "label"
    """The label is the same, and no other concept has it."""


@dataclass(frozen=True)
class Comparison:
    """Two taxonomies; `matches` maps ids of the new one to ids of the old one and to the reason."""

    old: Taxonomy
    new: Taxonomy
    matches: Mapping[str, tuple[str, MatchedBy]]

    def __bool__(self) -> bool:
        """Whether anything differs."""
        return bool(self.difference or self.changed_ids)

    @property
    def counts(self) -> dict[MatchedBy, int]:
        """How many concepts were found in each way; ways that found nothing are left out."""
        counts = Counter(how for _, how in self.matches.values())
        return {how: counts[how] for how in MatchedBy if counts[how]}

    @property
    def same_ids(self) -> bool:
        """Whether the taxonomies have ids in common, so that another id is a change."""
        return any(how in (MatchedBy.ID, MatchedBy.CURIE) for _, how in self.matches.values())

    @property
    def by_name(self) -> list[tuple[str, str, MatchedBy]]:
        """Old id, new id and the way, for all concepts that were found by their names."""
        return [
            (old, new, how)
            for new, (old, how) in self.matches.items()
            if how in (MatchedBy.PATH, MatchedBy.LABEL)
        ]

    @property
    def changed_ids(self) -> list[tuple[str, str]]:
        """Old and new ids of concepts with another id; none if all ids differ."""
        return [(old, new) for old, new, _ in self.by_name] if self.same_ids else []

    @cached_property
    def difference(self) -> Difference:
        """The difference of the concepts; those that were found have their old ids."""
        return Difference(self.old, _with_other_ids(self.new, self._old_ids(list(MatchedBy))))

    @cached_property
    def difference_by_id(self) -> Difference:
        """The difference in which a concept with another id was removed and added."""
        if not self.changed_ids:
            return self.difference
        ways = [MatchedBy.ID, MatchedBy.CURIE]
        return Difference(self.old, _with_other_ids(self.new, self._old_ids(ways)))

    def without(self, fields: Collection[str]) -> Comparison:
        """Return the comparison without definitions or synonyms of the concepts in both."""
        blank = {name: value for name, value in _BLANK.items() if name in fields}
        if not blank:
            return self
        found = {old for old, _ in self.matches.values()}
        return replace(
            self,
            old=_with_blanks(self.old, found, blank),
            new=_with_blanks(self.new, self.matches.keys(), blank),
        )

    def _old_ids(self, ways: Iterable[MatchedBy]) -> dict[str, str]:
        return {new: old for new, (old, how) in self.matches.items() if how in ways and new != old}


def compare(
    old: Taxonomy,
    new: Taxonomy,
    old_prefixes: Prefixes | None = None,
    new_prefixes: Prefixes | None = None,
) -> Comparison:
    """Compare two taxonomies whose ids may be written in different ways."""
    first, second = old_prefixes or Prefixes(), new_prefixes or Prefixes()
    matches = {id: (id, MatchedBy.ID) for id in new if id in old}
    ways = (
        (MatchedBy.CURIE, (first | second).expand, (second | first).expand),
        (MatchedBy.PATH, old.path, new.path),
        (MatchedBy.LABEL, _unique_label(old), _unique_label(new)),
    )
    for how, old_key, new_key in ways:
        found = {id for id, _ in matches.values()}
        candidates = _unique((id for id in old if id not in found), old_key)
        others = _unique((id for id in new if id not in matches), new_key)
        matches |= {id: (candidates[key], how) for key, id in others.items() if key in candidates}
    return Comparison(old, new, matches)


def _with_blanks(taxonomy: Taxonomy, ids: Collection[str], blank: Mapping[str, Any]) -> Taxonomy:
    concepts = [
        replace(concept, **blank) if concept.id in ids else concept for concept in taxonomy.concepts
    ]
    return Taxonomy(concepts, list(taxonomy.relations))


def _unique(ids: Iterable[str], key: Callable[[str], Hashable]) -> dict[Hashable, str]:
    """Return the ids by their keys; None, and keys that several ids share, are left out."""
    keyed: dict[Hashable, str] = {}
    repeated: set[Hashable] = {None}
    for id in ids:
        value = key(id)
        if value in keyed:
            repeated.add(value)
        keyed[value] = id
    return {value: id for value, id in keyed.items() if value not in repeated}


def _unique_label(taxonomy: Taxonomy) -> Callable[[str], str | None]:
    """Return a function for the label of a concept; it is None if another concept has it too."""
    counts = Counter(taxonomy.labels)

    def label(id: str) -> str | None:
        own = taxonomy.labels[taxonomy.index(id)]
        return own if counts[own] == 1 else None

    return label


def _with_other_ids(taxonomy: Taxonomy, ids: Mapping[str, str]) -> Taxonomy:
    """Return the taxonomy with other ids for the concepts in `ids`."""
    if not ids:
        return taxonomy
    return Taxonomy(
        [replace(concept, id=ids.get(concept.id, concept.id)) for concept in taxonomy.concepts],
        [(ids.get(parent, parent), ids.get(child, child)) for parent, child in taxonomy.relations],
    )
