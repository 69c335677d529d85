"""A taxonomy: concepts, and the relations between each and its parents, without cycles."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from types import MappingProxyType

import numpy as np
from numpy.typing import NDArray

from taxoexpan.errors import CycleError, TaxonomyError
from taxoexpan.taxonomy.additions import Additions
from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.concept import Concept


class Taxonomy:
    """An immutable directed acyclic graph of concepts, on flat arrays.

    A concept is known by its id outside, and by its index (its place in `ids`) in the arrays.
    `parents_of` and `children_of` hold the relations in both directions.

    >>> food = Taxonomy([Concept("1", "fruit"), Concept("2", "apple")], [("1", "2")])
    >>> food.children("1"), food.roots, food.leaves
    (('2',), ('1',), ('2',))
    """

    def __init__(
        self, concepts: Iterable[Concept], relations: Iterable[tuple[str, str]] = ()
    ) -> None:
        concepts = list(concepts)
        self._fill(
            ids=[concept.id for concept in concepts],
            labels=[concept.label for concept in concepts],
            synonyms={i: tuple(c.synonyms) for i, c in enumerate(concepts) if c.synonyms},
            definitions={i: c.definition for i, c in enumerate(concepts) if c.definition},
            deprecated=[i for i, concept in enumerate(concepts) if concept.deprecated],
        )
        pairs = [(self.index(parent), self.index(child)) for parent, child in relations]
        flat = np.array(pairs, dtype=np.int64).reshape(-1, 2)
        self._relate(flat[:, 0], flat[:, 1])

    @classmethod
    def from_columns(
        cls,
        ids: Sequence[str],
        labels: Sequence[str],
        parents: Indices,
        children: Indices,
        synonyms: Mapping[int, tuple[str, ...]] | None = None,
        definitions: Mapping[int, str] | None = None,
        deprecated: Iterable[int] = (),
        foreign_names: Mapping[int, tuple[str, ...]] | None = None,
        reserved: Iterable[str] = (),
    ) -> Taxonomy:
        """Build from whole columns; `parents[k]`, `children[k]` are the indices of relation k.

        `foreign_names` are the concepts' names in other languages, by which they are known but
        not learned; `reserved` are ids that the file uses for something else.
        """
        taxonomy = cls.__new__(cls)
        taxonomy._fill(ids, labels, synonyms or {}, definitions or {}, deprecated)
        taxonomy.foreign_names = MappingProxyType(dict(foreign_names or {}))
        taxonomy.reserved = frozenset(reserved)
        taxonomy._relate(np.asarray(parents, np.int64), np.asarray(children, np.int64))
        return taxonomy

    @classmethod
    def read(
        cls,
        path: str | Path,
        format: str | None = None,
        language: str | None = None,
        instances: bool = False,
    ) -> Taxonomy:
        """Read a file in any format we know; the format is sniffed unless named.

        `language` chooses among the labels of a file that has several; `instances` takes
        WordNet's instance hypernyms as relations too.
        """
        from taxoexpan.formats.taxonomy_file import read
        from taxoexpan.formats.text_file import ReadOptions

        return read(Path(path), format, ReadOptions(language, instances)).taxonomy

    def _fill(
        self,
        ids: Sequence[str],
        labels: Sequence[str],
        synonyms: Mapping[int, tuple[str, ...]],
        definitions: Mapping[int, str],
        deprecated: Iterable[int],
    ) -> None:
        self.ids = tuple(ids)
        self.labels = tuple(labels)
        self.synonyms = MappingProxyType(dict(synonyms))
        self.definitions = MappingProxyType(dict(definitions))
        self.deprecated = frozenset(deprecated)
        self.foreign_names: Mapping[int, tuple[str, ...]] = MappingProxyType({})
        self.reserved: frozenset[str] = frozenset()
        self._index = {id: i for i, id in enumerate(self.ids)}
        if len(self._index) < len(self.ids):
            repeated = next(id for id, count in Counter(self.ids).items() if count > 1)
            raise TaxonomyError(f"the id {repeated!r} is used by two concepts")

    def _relate(self, parents: Indices, children: Indices) -> None:
        size = len(self.ids)
        _, first = np.unique(parents * size + children, return_index=True)
        first.sort()
        parents, children = parents[first], children[first]
        self.children_of = Adjacency.from_pairs(parents, children, size)
        self.parents_of = Adjacency.from_pairs(children, parents, size)
        self.levels = self._settle_levels()

    def _settle_levels(self) -> Indices:
        """Each concept's longest distance from a root; a cycle has none, and is refused."""
        waiting = self.parents_of.degrees.copy()
        levels = np.zeros(len(self), dtype=np.int64)
        frontier, level, settled = np.flatnonzero(waiting == 0), 0, 0
        while len(frontier):
            levels[frontier] = level
            settled += len(frontier)
            _, below = self.children_of.of_many(frontier)
            below, arrivals = np.unique(below, return_counts=True)
            waiting[below] -= arrivals
            frontier, level = below[waiting[below] == 0], level + 1
        if settled < len(self):
            raise CycleError([[self.ids[i] for i in cycle] for cycle in self._cycles(waiting > 0)])
        levels.setflags(write=False)
        return levels

    def _cycles(self, unsettled: NDArray[np.bool_]) -> Iterator[list[int]]:
        """Some cycles that share no concept, each from a parent to its child and so on."""
        for start in np.flatnonzero(unsettled).tolist():
            walk: dict[int, int] = {}
            here = start
            while unsettled[here] and here not in walk:
                walk[here] = len(walk)
                above = self.parents_of.of(here)
                above = above[unsettled[above]]
                if not len(above):
                    break
                here = int(above[0])
            else:
                if walk:
                    yield list(walk)[walk[here] :][::-1]
            # What else runs through these concepts comes to light when this cycle is mended.
            unsettled[list(walk)] = False

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, id: object) -> bool:
        return id in self._index

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)

    def __eq__(self, other: object) -> bool:
        """Two taxonomies are equal when they hold the same concepts and the same relations."""
        if not isinstance(other, Taxonomy):
            return NotImplemented
        same_concepts = set(self.concepts) == set(other.concepts)
        return same_concepts and set(self.relations) == set(other.relations)

    __hash__ = None  # type: ignore[assignment]  # equality looks at everything; hashing would too

    def __repr__(self) -> str:
        return f"Taxonomy({len(self):,} concepts, {self.relation_count:,} relations)"

    def index(self, id: str) -> int:
        """The place of a concept in the arrays."""
        try:
            return self._index[id]
        except KeyError:
            raise TaxonomyError(f"no concept has the id {id!r}") from None

    def concept(self, id: str) -> Concept:
        """The concept with this id."""
        return self.concept_at(self.index(id))

    def concept_at(self, index: int) -> Concept:
        """The concept at this place in the arrays."""
        return Concept(
            self.ids[index],
            self.labels[index],
            self.synonyms.get(index, ()),
            self.definitions.get(index, ""),
            index in self.deprecated,
        )

    def parents(self, id: str) -> tuple[str, ...]:
        """The ids of a concept's parents, in the order in which they were given."""
        return self._ids(self.parents_of.of(self.index(id)))

    def children(self, id: str) -> tuple[str, ...]:
        """The ids of a concept's children, in the order in which they were given."""
        return self._ids(self.children_of.of(self.index(id)))

    def ancestors(self, id: str) -> tuple[str, ...]:
        """The ids of everything above a concept, nearest first."""
        levels = self.parents_of.levels_down(np.array([self.index(id)]))
        return tuple(id for level in levels for id in self._ids(level))

    def descendants(self, id: str) -> tuple[str, ...]:
        """The ids of everything below a concept, nearest first."""
        levels = self.children_of.levels_down(np.array([self.index(id)]))
        return tuple(id for level in levels for id in self._ids(level))

    def path(self, id: str) -> tuple[str, ...]:
        """The labels from a root down to a concept, along first parents."""
        labels, here = [], self.index(id)
        while True:
            labels.append(self.labels[here])
            above = self.parents_of.of(here)
            if not len(above):
                return tuple(reversed(labels))
            here = int(above[0])

    @property
    def concepts(self) -> Iterator[Concept]:
        """Every concept, in the order of the ids."""
        return map(self.concept_at, range(len(self)))

    @property
    def relations(self) -> Iterator[tuple[str, str]]:
        """Every relation as (parent id, child id)."""
        parents, children = self.relation_indices
        return zip(self._ids(parents), self._ids(children), strict=True)

    @property
    def relation_indices(self) -> tuple[Indices, Indices]:
        """Every relation as two arrays, parents and children; parents keep their order."""
        children, parents = self.parents_of.of_many(np.arange(len(self)))
        return parents, children

    @property
    def relation_count(self) -> int:
        """How many relations there are."""
        return len(self.parents_of.targets)

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """The ids of the concepts without a parent."""
        return self._ids(np.flatnonzero(self.parents_of.degrees == 0))

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The ids of the concepts without a child."""
        return self._ids(np.flatnonzero(self.children_of.degrees == 0))

    @property
    def depth(self) -> int:
        """How many concepts the longest chain from a root downwards holds."""
        return int(self.levels.max()) + 1 if len(self) else 0

    @property
    def topological_order(self) -> Indices:
        """Indices ordered so that every parent comes before its children."""
        return np.argsort(self.levels, kind="stable")

    def without(self, ids: Iterable[str]) -> Taxonomy:
        """The same taxonomy with some concepts, and all their relations, taken out."""
        kept = np.ones(len(self), dtype=np.bool_)
        kept[[self.index(id) for id in ids]] = False
        old = np.flatnonzero(kept)
        new = np.cumsum(kept) - 1
        parents, children = self.relation_indices
        whole = kept[parents] & kept[children]
        return Taxonomy.from_columns(
            self._ids(old),
            [self.labels[i] for i in old],
            new[parents[whole]],
            new[children[whole]],
            {int(new[i]): names for i, names in self.synonyms.items() if kept[i]},
            {int(new[i]): text for i, text in self.definitions.items() if kept[i]},
            [int(new[i]) for i in self.deprecated if kept[i]],
            {int(new[i]): names for i, names in self.foreign_names.items() if kept[i]},
            self.reserved,
        )

    @cached_property
    def active(self) -> Taxonomy:
        """The same taxonomy without its deprecated concepts."""
        return self.without([self.ids[i] for i in self.deprecated]) if self.deprecated else self

    def expanded(self, additions: Additions) -> Taxonomy:
        """A larger taxonomy with everything of this one and the additions.

        Where a child moves, its new parent takes the place of the old one.
        """
        moved = {(shift.old_parent, shift.child): shift.new_parent for shift in additions.moves}
        placed = set(additions.relations)
        for child, left, joined in additions.moves:
            if left not in self.parents(child) or (left, joined) not in placed:
                place = f"{joined!r} does not come between {left!r} and {child!r}"
                raise TaxonomyError(f"{place}; put it under the one, and the other is under it")
        names = additions.names
        for id in names:
            self.index(id)
        concepts = [
            replace(c, synonyms=(*c.synonyms, *names[c.id])) if c.id in names else c
            for c in self.concepts
        ]
        relations = [
            (moved.get((parent, child), parent), child) for parent, child in self.relations
        ]
        larger = Taxonomy([*concepts, *additions.concepts], [*relations, *additions.relations])
        larger.foreign_names, larger.reserved = self.foreign_names, self.reserved
        return larger

    def _ids(self, indices: Indices) -> tuple[str, ...]:
        return tuple([self.ids[i] for i in indices.tolist()])
