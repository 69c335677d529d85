"""The differences between two taxonomies, also if they write ids in different ways."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.arrays import Indices
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
            before, after = self.old.parents(id), self.new.parents(id)
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


def _texts(concept: Concept) -> tuple[Any, ...]:
    """Return the content of a concept, in which the order of synonyms does not matter."""
    return concept.label, concept.definition, concept.deprecated, sorted(concept.synonyms)


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
    def same_ids(self) -> bool:
        """Whether the taxonomies share ids, so that another id is a change."""
        return any(how in (MatchedBy.ID, MatchedBy.CURIE) for _, how in self.matches.values())

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
        return [(old, new) for old, new, _ in self.by_name] if self.same_ids else []

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
    first, second = old_prefixes or Prefixes(), new_prefixes or Prefixes()
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


@dataclass(frozen=True, eq=False)
class VersionRows:
    """Two versions of a taxonomy with M and N concepts, matched by id.

    `old_of` [N] and `new_of` [M] are the rows of the concepts in the other version, or -1.
    """

    old: Taxonomy
    new: Taxonomy
    old_of: Indices
    new_of: Indices

    @classmethod
    def match(cls, old: Taxonomy, new: Taxonomy) -> VersionRows:
        """Match the concepts of two versions."""
        rows = (old.index(id) if id in old else -1 for id in new.ids)
        old_of = np.fromiter(rows, dtype=np.int64, count=len(new))
        new_of = np.full(len(old), -1, dtype=np.int64)
        shared = np.flatnonzero(old_of >= 0)
        new_of[old_of[shared]] = shared
        return cls(old, new, old_of, new_of)

    @property
    def is_new(self) -> NDArray[np.bool_]:
        """Whether each newer concept is missing in the older version: [N]."""
        return self.old_of < 0

    @cached_property
    def relabeled(self) -> NDArray[np.bool_]:
        """Whether each concept is in both versions, with another label: [N]."""
        return self._differs(lambda taxonomy: list(taxonomy.labels).__getitem__)

    @cached_property
    def redefined(self) -> NDArray[np.bool_]:
        """Whether each concept is in both versions, with another definition: [N]."""
        return self._differs(lambda taxonomy: lambda row: taxonomy.definitions.get(row) or "")

    @cached_property
    def with_other_synonyms(self) -> NDArray[np.bool_]:
        """Whether each concept is in both versions, with other or reordered synonyms: [N]."""
        return self._differs(lambda taxonomy: lambda row: taxonomy.synonyms.get(row) or ())

    @cached_property
    def with_other_deprecation(self) -> NDArray[np.bool_]:
        """Whether each concept is deprecated in only one of both versions: [N]."""
        return self._differs(lambda taxonomy: frozenset(taxonomy.deprecated).__contains__)

    def _differs(self, values: Callable[[Taxonomy], Callable[[int], object]]) -> NDArray[np.bool_]:
        """Return whether each shared concept has another value in the older version: [N]."""
        before, after = values(self.old), values(self.new)
        rows = enumerate(self.old_of.tolist())
        return np.array([old >= 0 and before(old) != after(new) for new, old in rows], np.bool_)

    def has_other_targets(
        self, old: Adjacency, new: Adjacency, is_changed: NDArray[np.bool_]
    ) -> NDArray[np.bool_]:
        """Return whether each row is new, or has other neighbors or one that `is_changed`: [N].

        The order of neighbors does not matter, because some programs reorder a file each time.
        """
        shared = np.flatnonzero(self.old_of >= 0)
        is_as_large = old.degrees[self.old_of[shared]] == new.degrees[shared]
        other = np.ones(len(self.new), dtype=np.bool_)
        same = shared[is_as_large]
        other[same] = False
        of, targets = _sorted_targets(*new.of_many(same))
        before_of, before = old.of_many(self.old_of[same])
        _, earlier = _sorted_targets(before_of, self.new_of[before])
        other[same[of[(earlier != targets) | is_changed[targets]]]] = True
        return other

    def relations_only_in_new(self) -> Iterator[tuple[str, str]]:
        """Yield the relations (parent id, child id) that only the newer version has."""
        return _missing_relations(self.new, self.old, self.old_of)

    def relations_only_in_old(self) -> Iterator[tuple[str, str]]:
        """Yield the relations (parent id, child id) that only the older version has."""
        return _missing_relations(self.old, self.new, self.new_of)


def _sorted_targets(rows: Indices, targets: Indices) -> tuple[Indices, Indices]:
    """Sort the neighbors of each row; the rows are ascending."""
    order = np.lexsort((targets, rows))
    return rows[order], targets[order]


def _missing_relations(
    taxonomy: Taxonomy, other: Taxonomy, rows: Indices
) -> Iterator[tuple[str, str]]:
    """Yield the relations that `other` lacks; `rows` are the rows of the concepts in `other`."""
    parents, children = taxonomy.relation_indices
    others = other.relation_indices
    known = others[0] * len(other) + others[1]
    above, below = rows[parents], rows[children]
    missing = (above < 0) | (below < 0) | ~np.isin(above * len(other) + below, known)
    for index in np.flatnonzero(missing).tolist():
        yield taxonomy.ids[int(parents[index])], taxonomy.ids[int(children[index])]
