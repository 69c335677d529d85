"""Finding the same concepts in two taxonomies: by id, by CURIE and IRI, by label and path."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any

from taxoexpan.taxonomy.curies import Prefixes
from taxoexpan.taxonomy.difference import Difference
from taxoexpan.taxonomy.taxonomy import Taxonomy

_BLANK: Mapping[str, Any] = {"definition": "", "synonyms": ()}


class MatchedBy(StrEnum):
    """How a concept was found in the other taxonomy."""

    ID = "id"
    CURIE = "CURIE"
    """The one id is the CURIE of the other, such as `SO:0000110`."""
    PATH = "label and path"
    """The label and those of all its ancestors are the same, and no other concept has them."""
    LABEL = "label"
    """The label is the same, and no other concept has it."""


@dataclass(frozen=True)
class Comparison:
    """Two taxonomies, and which concepts of the new one are concepts of the old one.

    `matches` maps ids of the new taxonomy to ids of the old one, and to how they were found.
    """

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
    """Return the ids by their keys; keys of None, and those of several ids, are left out."""
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
