"""The differences between two taxonomies, also if they write ids in different ways."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

from taxoexpan.errors import TaxonomyError
from taxoexpan.phrasing import pluralize
from taxoexpan.taxonomy.additions import Additions, Move
from taxoexpan.taxonomy.concept import Concept
from taxoexpan.taxonomy.curies import Prefixes
from taxoexpan.taxonomy.taxonomy import Taxonomy


class Change(NamedTuple):
    """The old and the new version of a concept that is in both taxonomies."""

    old: Concept
    new: Concept


class ParentChange(NamedTuple):
    """A concept in both taxonomies whose parents differ."""

    concept: Concept
    removed_parents: tuple[str, ...]
    added_parents: tuple[str, ...]


@dataclass(frozen=True)
class Difference:
    """The changes from `old` to `new`; concepts are compared by id."""

    old: Taxonomy
    new: Taxonomy

    def __bool__(self) -> bool:
        """Return whether anything differs."""
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
        return [pair for pair in pairs if _texts(pair.old) != _texts(pair.new)]

    @property
    def relabeled(self) -> list[Change]:
        """Concepts with another label."""
        return [change for change in self.changed if change.old.label != change.new.label]

    @property
    def redescribed(self) -> list[Change]:
        """Concepts whose synonyms, definition or deprecation differ."""
        return [each for each in self.changed if _texts(each.old)[1:] != _texts(each.new)[1:]]

    @cached_property
    def moved(self) -> list[ParentChange]:
        """Concepts in both taxonomies whose parents differ."""
        relations = (*self.relations_removed, *self.relations_added)
        children = dict.fromkeys(child for _, child in relations)
        moved = []
        for id in (child for child in children if child in self.old and child in self.new):
            before = self.old.parents(id)
            after = self.new.parents(id)
            removed = tuple(parent for parent in before if parent not in after)
            added = tuple(parent for parent in after if parent not in before)
            moved.append(ParentChange(self.new.concept(id), removed, added))
        return moved

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

    @property
    def defined(self) -> list[Change]:
        """Concepts that have a definition only in the new taxonomy."""
        return [each for each in self.changed if each.new.definition and not each.old.definition]


def _texts(concept: Concept) -> tuple[Any, ...]:
    """Return the content of a concept: neither order nor repetition of synonyms matters."""
    return concept.label, concept.definition, concept.deprecated, {*concept.synonyms}


def additions_between(difference: Difference) -> Additions:
    """Return the additions that turn the old taxonomy into the new one; refuse other changes.

    Definitions that old concepts have gained are left out (see `Difference.defined`).
    """
    old = difference.old
    new_ids = {concept.id for concept in difference.added}
    removed = set(difference.relations_removed)
    relations = [pair for pair in difference.relations_added if pair[1] in new_ids]
    moves = []
    for parent, child in difference.relations_added:
        if child in new_ids:
            continue
        above = [
            up for up in old.parents(child) if (up, child) in removed and (up, parent) in relations
        ]
        moves += [Move(child, up, parent) for up in above[:1]]
        if not above:
            _refuse("new parent of an old concept", [old.concept(child).label])
        removed.discard((above[0], child))
    _refuse("removed concept", [concept.label for concept in difference.removed])
    _refuse("removed relation", [old.concept(child).label for _, child in removed])
    changed = difference.changed
    _refuse("changed concept", [change.old.label for change in changed if _is_rewritten(change)])
    synonyms = [
        (change.old.id, name)
        for change in changed
        for name in change.new.synonyms
        if name not in change.old.synonyms
    ]
    return Additions(difference.added, relations, moves=moves, synonyms=synonyms)


def _is_rewritten(change: Change) -> bool:
    """Return whether a text of a concept was changed or removed."""
    old = change.old
    new = change.new
    return (
        old.label != new.label
        or old.deprecated != new.deprecated
        or bool(old.definition and old.definition != new.definition)
        or not {*old.synonyms} <= {*new.synonyms}
    )


def _refuse(what: str, labels: Sequence[str]) -> None:
    if labels:
        problem = f"{pluralize(len(labels), what)} (such as {labels[0]!r}) cannot be written"
        raise TaxonomyError(f"{problem} without rewriting the file")


_BLANK: Mapping[str, Any] = {"definition": "", "synonyms": ()}


class MatchedBy(StrEnum):
    """The way in which a concept was found in the other taxonomy."""

    ID = "id"
    CURIE = "CURIE"
    """The one id is the CURIE of the other, such as `SO:0000110`."""
    PATH = "label and path"
    """The labels of the concept and of all its ancestors are the same, and no others have them."""
    LABEL = "label"
    """The label is the same, and no other concept has it."""


@dataclass(frozen=True)
class Comparison:
    """Two taxonomies; `matches` maps new ids to old ids and to the way they were found."""

    old: Taxonomy
    new: Taxonomy
    matches: Mapping[str, tuple[str, MatchedBy]]

    def __bool__(self) -> bool:
        """Return whether anything differs."""
        return bool(self.difference or self.changed_ids)

    @property
    def counts(self) -> dict[MatchedBy, int]:
        """The number of concepts that were found in each way, without zeros."""
        counts = Counter(how for _, how in self.matches.values())
        return {how: counts[how] for how in MatchedBy if counts[how]}

    @property
    def by_name(self) -> list[tuple[str, str, MatchedBy]]:
        """The old id, new id and way of the concepts that were found by name."""
        return [
            (old, new, how)
            for new, (old, how) in self.matches.items()
            if how in (MatchedBy.PATH, MatchedBy.LABEL)
        ]

    @property
    def changed_ids(self) -> list[tuple[str, str]]:
        """The old and new ids of concepts whose id changed; empty if no ids are shared."""
        found = self.by_name
        return [(old, new) for old, new, _ in found] if len(found) < len(self.matches) else []

    @cached_property
    def difference(self) -> Difference:
        """The difference, with the old ids for all concepts that were found."""
        return Difference(self.old, with_other_ids(self.new, self._old_ids(list(MatchedBy))))

    @cached_property
    def difference_by_id(self) -> Difference:
        """The difference in which a concept with a changed id counts as removed and added."""
        if not self.changed_ids:
            return self.difference
        ways = [MatchedBy.ID, MatchedBy.CURIE]
        return Difference(self.old, with_other_ids(self.new, self._old_ids(ways)))

    def without(self, fields: Collection[str]) -> Comparison:
        """Return the comparison without some fields (definition, synonyms) of shared concepts."""
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
    """Compare two taxonomies that may write ids in different ways."""
    first = old_prefixes or Prefixes()
    second = new_prefixes or Prefixes()
    matches = {id: (id, MatchedBy.ID) for id in new if id in old}
    ways: Sequence[tuple[MatchedBy, Callable[[str], Hashable], Callable[[str], Hashable]]] = (
        (MatchedBy.CURIE, (first | second).expand, (second | first).expand),
        (MatchedBy.PATH, old.path, new.path),
        (MatchedBy.LABEL, lambda id: old.concept(id).label, lambda id: new.concept(id).label),
    )
    for how, old_key, new_key in ways:
        found = {id for id, _ in matches.values()}
        if len(found) == len(old) or len(matches) == len(new):
            break
        candidates = _unique(old, old_key, found)
        others = _unique(new, new_key, matches)
        matches |= {id: (candidates[key], how) for key, id in others.items() if key in candidates}
    return Comparison(old, new, matches)


def _with_blanks(taxonomy: Taxonomy, ids: Collection[str], blank: Mapping[str, Any]) -> Taxonomy:
    concepts = [
        replace(concept, **blank) if concept.id in ids else concept for concept in taxonomy.concepts
    ]
    return Taxonomy(concepts, list(taxonomy.relations))


def _unique(
    ids: Iterable[str], key: Callable[[str], Hashable], matched: Collection[str]
) -> dict[Hashable, str]:
    """Return the ids by key, without keys of several ids and without ids that are matched."""
    keys = {id: key(id) for id in ids}
    counts = Counter(keys.values())
    return {key: id for id, key in keys.items() if counts[key] == 1 and id not in matched}


def with_other_ids(taxonomy: Taxonomy, ids: Mapping[str, str]) -> Taxonomy:
    """Return the taxonomy with ids replaced as in `ids`."""
    if not ids:
        return taxonomy
    return Taxonomy(
        [replace(concept, id=ids.get(concept.id, concept.id)) for concept in taxonomy.concepts],
        [(ids.get(parent, parent), ids.get(child, child)) for parent, child in taxonomy.relations],
    )
