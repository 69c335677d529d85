"""A taxonomy: concepts and their parent-child relations, without cycles."""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from importlib import resources
from types import MappingProxyType
from typing import TYPE_CHECKING, Literal, NoReturn

import numpy as np

from taxoexpan.errors import ConfigurationError, CycleError, TaxonomyError
from taxoexpan.taxonomy.additions import Additions
from taxoexpan.taxonomy.adjacency import Adjacency, compute_levels, follow_to_the_end
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.concept import Concept, check_concept
from taxoexpan.taxonomy.names import LabelEndings
from taxoexpan.taxonomy.reach_intervals import ReachIntervals
from taxoexpan.taxonomy.records import Record, concepts_and_relations, frame_records
from taxoexpan.taxonomy.sequences import LazySequence
from taxoexpan.taxonomy.similar_names import SimilarNames
from taxoexpan.taxonomy.source import Source

if TYPE_CHECKING:
    import pandas as pd

SKIPPED = "…"
"""What stands for the skipped labels of a long path."""
MAX_PATH = 40
"""Labels at the end of a path that `short_path` keeps; the deepest published taxonomies have fewer
levels."""


class Taxonomy:
    """An immutable directed acyclic graph of concepts, stored in flat arrays.

    Methods take the id of a concept; arrays use its index in `ids`. `parents_of` and `children_of`
    hold the relations in both directions. `levels` are the longest distances from a root.

    >>> food = Taxonomy([Concept("1", "fruit"), Concept("2", "apple")], [("1", "2")])
    >>> food.children("1"), food.roots, food.leaves
    (('2',), ('1',), ('2',))
    """

    source: Source | None = None
    """The file that the taxonomy came from; `expanded` and `canonical` keep it.

    A taxonomy of a loaded model only knows that there was a file.
    """

    def __init__(
        self, concepts: Iterable[Concept], relations: Iterable[tuple[str, str]] = ()
    ) -> None:
        concepts = list(concepts)
        for concept in concepts:
            check_concept(concept)
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
        """Build a taxonomy from columns; relation k leads from `parents[k]` to `children[k]`.

        `foreign_names` are names in other languages: they identify a concept, but are not used for
        training. `reserved` are ids that the file uses for something else.
        """
        taxonomy = cls.__new__(cls)
        taxonomy._fill(ids, labels, synonyms or {}, definitions or {}, deprecated)
        taxonomy.foreign_names = MappingProxyType(dict(foreign_names or {}))
        taxonomy.reserved = frozenset(reserved)
        taxonomy._relate(np.asarray(parents, np.int64), np.asarray(children, np.int64))
        return taxonomy

    @classmethod
    def from_parts(
        cls,
        ids: Sequence[str],
        labels: Sequence[str],
        synonyms: Mapping[int, tuple[str, ...]],
        definitions: Mapping[int, str],
        deprecated: frozenset[int],
        foreign_names: Mapping[int, tuple[str, ...]],
        reserved: frozenset[str],
        parents_of: Adjacency,
        children_of: Adjacency,
        levels: Indices,
    ) -> Taxonomy:
        """Restore a taxonomy from the parts of a valid taxonomy, without copies or checks."""
        taxonomy = cls.__new__(cls)
        taxonomy.ids = ids
        taxonomy.labels = labels
        taxonomy.synonyms = synonyms
        taxonomy.definitions = definitions
        taxonomy.deprecated = deprecated
        taxonomy.foreign_names = foreign_names
        taxonomy.reserved = reserved
        taxonomy.levels = levels
        taxonomy.parents_of = parents_of
        taxonomy.children_of = children_of
        return taxonomy

    @classmethod
    def from_records(
        cls, records: Iterable[Record], columns: Mapping[str, str] | None = None
    ) -> Taxonomy:
        """Build a taxonomy from dictionaries, one per concept.

        The keys are `label`, and optionally `id`, `parents` (ids, in a list or in one text with
        `|`), `synonyms`, `definition` and `deprecated`. Without ids, labels identify concepts.
        Several records of one concept are joined. Other keys are not read, with a warning.

        Args:
            records: the dictionaries.
            columns: other names of the keys, such as `{"label": "name", "parents": "broader"}`.

        Examples:
            >>> from taxoexpan import Taxonomy
            >>> tools = [{"label": "tool"}, {"label": "saw", "parents": ["tool"]}]
            >>> Taxonomy.from_records(tools).children("tool")
            ('saw',)
        """
        return cls(*concepts_and_relations(records, columns))

    @classmethod
    def from_pandas(cls, frame: pd.DataFrame, columns: Mapping[str, str] | None = None) -> Taxonomy:
        """Build a taxonomy from a data frame with one concept per row (see `from_records`).

        Examples:
            >>> import pandas as pd
            >>> from taxoexpan import Taxonomy
            >>> frame = pd.DataFrame({"child": ["saw", "fretsaw"], "parent": ["tool", "saw"]})
            >>> tools = Taxonomy.from_pandas(frame, {"label": "child"})
            >>> tools.ancestors("fretsaw")
            ('saw', 'tool')
        """
        return cls.from_records(frame_records(frame), columns)

    @classmethod
    def example(cls, name: Literal["food"] = "food") -> Taxonomy:
        """Return the taxonomy that the package contains: 2,432 foods, from WordNet.

        Examples:
            >>> from taxoexpan import Taxonomy
            >>> food = Taxonomy.example("food")
            >>> food.concept("apple#n#1").label
            'apple'
        """
        if name != "food":
            problem = f"there is no example {name!r}"
            raise ConfigurationError(problem, fix="the package has 'food'", option="name")
        table = resources.files("taxoexpan").joinpath("data/food.csv")
        return cls.from_records(csv.DictReader(table.read_text("utf-8").splitlines()))

    def _fill(
        self,
        ids: Sequence[str],
        labels: Sequence[str],
        synonyms: Mapping[int, tuple[str, ...]],
        definitions: Mapping[int, str],
        deprecated: Iterable[int],
    ) -> None:
        self.ids: Sequence[str] = tuple(ids)
        self.labels: Sequence[str] = tuple(labels)
        self.synonyms: Mapping[int, tuple[str, ...]] = MappingProxyType(dict(synonyms))
        self.definitions: Mapping[int, str] = MappingProxyType(dict(definitions))
        self.deprecated = frozenset(deprecated)
        self.foreign_names: Mapping[int, tuple[str, ...]] = MappingProxyType({})
        self.reserved: frozenset[str] = frozenset()
        if len(self._index) < len(self.ids):
            repeated = next(id for id, count in Counter(self.ids).items() if count > 1)
            raise TaxonomyError(f"two concepts have the id {repeated!r}", fix="give one another id")

    def _relate(self, parents: Indices, children: Indices) -> None:
        size = len(self.ids)
        _, first = np.unique(parents * size + children, return_index=True)
        first.sort()
        parents = parents[first]
        children = children[first]
        self.children_of = Adjacency.from_pairs(parents, children, size)
        self.parents_of = Adjacency.from_pairs(children, parents, size)
        self.levels, cycles = compute_levels(self.parents_of, self.children_of)
        if cycles:
            raise CycleError([list(self._ids(cycle)) for cycle in cycles])

    @cached_property
    def _index(self) -> dict[str, int]:
        """The index of each concept by id, built on first use."""
        return {id: i for i, id in enumerate(self.ids)}

    def __len__(self) -> int:
        return len(self.ids)

    def __contains__(self, id: object) -> bool:
        return id in self._index

    def __iter__(self) -> Iterator[str]:
        return iter(self.ids)

    def __eq__(self, other: object) -> bool:
        """Return whether both taxonomies have the same concepts and relations."""
        if not isinstance(other, Taxonomy):
            return NotImplemented
        same_concepts = set(self.concepts) == set(other.concepts)
        return same_concepts and set(self.relations) == set(other.relations)

    __hash__ = None  # type: ignore[assignment]  # it would have to hash all concepts and relations

    def __copy__(self) -> Taxonomy:
        """Return the taxonomy itself, which is immutable."""
        return self

    def __deepcopy__(self, memo: object) -> Taxonomy:
        """Return the taxonomy itself, which is immutable."""
        return self

    def __reduce__(self) -> NoReturn:
        """Refuse to pickle the taxonomy, as a model does."""
        fix = "use write_taxonomy and read_taxonomy"
        raise TaxonomyError("a taxonomy cannot be pickled", fix=fix)

    def __repr__(self) -> str:
        return f"Taxonomy({len(self):,} concepts, {len(self.relations):,} relations)"

    def index(self, id: str) -> int:
        """Return the index of a concept in the arrays."""
        try:
            return self._index[id]
        except KeyError:
            raise TaxonomyError(f"no concept has the id {id!r}", fix="check the id") from None

    def concept(self, id: str) -> Concept:
        """Return the concept with this id."""
        return self.concept_at(self.index(id))

    def concept_at(self, index: int) -> Concept:
        """Return the concept with this index in the arrays."""
        return Concept(
            self.ids[index],
            self.labels[index],
            self.synonyms.get(index, ()),
            self.definitions.get(index, ""),
            index in self.deprecated,
        )

    def parents(self, id: str) -> tuple[str, ...]:
        """Return the ids of a concept's parents, in file order."""
        return self._ids(self.parents_of.of(self.index(id)))

    def children(self, id: str) -> tuple[str, ...]:
        """Return the ids of a concept's children, in file order."""
        return self._ids(self.children_of.of(self.index(id)))

    def ancestors(self, id: str) -> tuple[str, ...]:
        """Return the ids of all ancestors of a concept, nearest first."""
        levels = self.parents_of.levels_down(np.array([self.index(id)]))
        return tuple(id for level in levels for id in self._ids(level))

    def descendants(self, id: str) -> tuple[str, ...]:
        """Return the ids of all descendants of a concept, nearest first."""
        levels = self.children_of.levels_down(np.array([self.index(id)]))
        return tuple(id for level in levels for id in self._ids(level))

    def path(self, id: str) -> tuple[str, ...]:
        """Return the labels from a root down to a concept, always along first parents."""
        above = self.first_parents
        lineage = [self.index(id)]
        while above[lineage[-1]] != lineage[-1]:
            lineage.append(int(above[lineage[-1]]))
        return tuple(self.labels[index] for index in reversed(lineage))

    def short_path(self, id: str) -> tuple[str, ...]:
        """Return the path of a concept; for a long path, only the root and the last labels."""
        indices = self.short_lineage(self.index(id)).tolist()
        labels = [self.labels[index] for index in indices]
        return (labels[0], SKIPPED, *labels[2:]) if len(labels) > MAX_PATH else tuple(labels)

    def short_lineage(self, index: int) -> Indices:
        """Return the concepts of `short_path`; the skipped one is the parent of the next one."""
        above = self.first_parents
        lineage = [index]
        while len(lineage) <= MAX_PATH and above[lineage[-1]] != lineage[-1]:
            lineage.append(int(above[lineage[-1]]))
        if len(lineage) > MAX_PATH:
            lineage.append(int(self.tops[index]))
        return np.array(lineage[::-1], dtype=np.int64)

    @cached_property
    def first_parents(self) -> Indices:
        """The first parent of each concept, or the concept itself if it is a root."""
        return self.parents_of.first_targets

    @cached_property
    def tops(self) -> Indices:
        """The root of each concept, along first parents."""
        return follow_to_the_end(self.first_parents)

    @cached_property
    def descendant_intervals(self) -> ReachIntervals:
        """The descendants of all concepts as intervals, to compare many pairs of concepts."""
        return ReachIntervals.build(self.children_of, self.parents_of)

    @cached_property
    def label_endings(self) -> LabelEndings:
        """An index of the children of concepts by the last words of their labels."""
        return LabelEndings(self.labels, self.children_of)

    @cached_property
    def similar_names(self) -> SimilarNames:
        """An index that finds names which are nearly the same as a new one."""
        return SimilarNames(self.labels, self.synonyms, self.deprecated)

    @property
    def concepts(self) -> Sequence[Concept]:
        """All concepts, in the order of `ids`; each concept is built on request."""
        size = len(self)
        return LazySequence(size, self.concept_at, lambda: map(self.concept_at, range(size)))

    @property
    def relations(self) -> Sequence[tuple[str, str]]:
        """All relations as (parent id, child id); each relation is built on request."""

        def iterate() -> Iterator[tuple[str, str]]:
            parents, children = self.relation_indices
            return zip(self._ids(parents), self._ids(children), strict=True)

        def get(index: int) -> tuple[str, str]:
            parent = int(self.parents_of.targets[index])
            child = int(np.searchsorted(self.parents_of.offsets, index, side="right")) - 1
            return self.ids[parent], self.ids[child]

        return LazySequence(len(self.parents_of.targets), get, iterate)

    @property
    def relation_indices(self) -> tuple[Indices, Indices]:
        """All relations as two arrays, parents and children, in the order of `relations`."""
        children, parents = self.parents_of.of_many(np.arange(len(self)))
        return parents, children

    @cached_property
    def roots(self) -> tuple[str, ...]:
        """The ids of the concepts without parents."""
        return self._ids(np.flatnonzero(self.parents_of.degrees == 0))

    @cached_property
    def leaves(self) -> tuple[str, ...]:
        """The ids of the concepts without children."""
        return self._ids(np.flatnonzero(self.children_of.degrees == 0))

    @property
    def depth(self) -> int:
        """The number of concepts on the longest path from a root to a leaf."""
        return int(self.levels.max()) + 1 if len(self) else 0

    @property
    def topological_order(self) -> Indices:
        """All indices, ordered so that every parent comes before its children."""
        return np.argsort(self.levels, kind="stable")

    def without(self, ids: Iterable[str]) -> Taxonomy:
        """Return the taxonomy without some concepts and their relations."""
        if isinstance(ids, str):
            problem = f"{ids!r} is one text, not several ids"
            raise ConfigurationError(problem, fix=f"give a list: [{ids!r}]", option="ids")
        kept = np.ones(len(self), dtype=np.bool_)
        kept[[self.index(id) for id in ids]] = False
        parents, children = self.relation_indices
        both = kept[parents] & kept[children]
        return self._rearranged(np.flatnonzero(kept), parents[both], children[both])

    @cached_property
    def canonical(self) -> Taxonomy:
        """The same taxonomy with concepts, parents and children ordered by id, and sorted synonyms.

        Models learn from this order, so that the order in which a file states them does not matter.
        """
        rows = np.array(sorted(range(len(self)), key=self.ids.__getitem__), dtype=np.int64)
        position = rows.argsort()
        parents, children = self.relation_indices
        order = np.lexsort((position[parents], position[children]))
        same = self._rearranged(rows, parents[order], children[order])
        same.synonyms = MappingProxyType({i: tuple(sorted(s)) for i, s in same.synonyms.items()})
        same.source = self.source
        return self if self._has_order_of(same) else same

    def _has_order_of(self, same: Taxonomy) -> bool:
        """Return whether an equal taxonomy states everything in the same order."""
        return (
            tuple(self.ids) == same.ids
            and np.array_equal(self.parents_of.targets, same.parents_of.targets)
            and np.array_equal(self.children_of.targets, same.children_of.targets)
            and all(self.synonyms[i] == names for i, names in same.synonyms.items())
        )

    def _rearranged(self, rows: Indices, parents: Indices, children: Indices) -> Taxonomy:
        """Return the taxonomy with only these concepts and relations, in this order."""
        position = np.full(len(self), -1, dtype=np.int64)
        position[rows] = np.arange(len(rows))
        kept = dict(zip(rows.tolist(), range(len(rows)), strict=True))
        return Taxonomy.from_columns(
            self._ids(rows),
            [self.labels[i] for i in rows.tolist()],
            position[parents],
            position[children],
            {kept[i]: names for i, names in self.synonyms.items() if i in kept},
            {kept[i]: text for i, text in self.definitions.items() if i in kept},
            [kept[i] for i in self.deprecated if i in kept],
            {kept[i]: names for i, names in self.foreign_names.items() if i in kept},
            self.reserved,
        )

    def with_definitions(self, definitions: Mapping[int, str]) -> Taxonomy:
        """Return the taxonomy with other definitions for the concepts with these indices."""
        if not definitions:
            return self
        same = self._copied()
        same.definitions = MappingProxyType({**self.definitions, **definitions})
        return same

    @cached_property
    def active(self) -> Taxonomy:
        """The taxonomy without its deprecated concepts."""
        return self.without([self.ids[i] for i in self.deprecated]) if self.deprecated else self

    @cached_property
    def active_indices(self) -> Indices:
        """The indices of the concepts that are not deprecated, in ascending order."""
        is_active = np.ones(len(self), dtype=np.bool_)
        is_active[list(self.deprecated)] = False
        return np.flatnonzero(is_active)

    @cached_property
    def without_deprecated_relations(self) -> Taxonomy:
        """The taxonomy with all concepts, but without the relations of deprecated concepts."""
        parents, children = self.relation_indices
        active = self.active_indices
        kept = np.isin(parents, active) & np.isin(children, active)
        if kept.all():
            return self
        same = self._copied()
        same._relate(parents[kept], children[kept])
        return same

    def with_source(self, source: Source) -> Taxonomy:
        """Return the same taxonomy, which remembers the file that it came from."""
        same = self._copied()
        same.source = source
        return same

    def _copied(self) -> Taxonomy:
        """Return a copy that shares all columns, without the properties that are derived."""
        same = Taxonomy.__new__(Taxonomy)
        vars(same).update(vars(self))
        for name in [*vars(same)]:
            if isinstance(getattr(Taxonomy, name, None), cached_property):
                del same.__dict__[name]
        return same

    def expanded(self, additions: Additions) -> Taxonomy:
        """Return the taxonomy with the additions; moved children keep their position."""
        new = set(additions.relations)
        moved = dict[tuple[str, str], str]()
        names = additions.names
        for child, old, parent in additions.moves:
            if old not in self.parents(child) or (old, parent) not in new:
                raise TaxonomyError(
                    f"cannot move {child!r} from {old!r} to {parent!r}",
                    fix="the new concept must be a child of the old parent, and the moved one "
                    "must be too",
                )
            moved[old, child] = parent
        for id in names:
            self.index(id)
        named = (
            replace(c, synonyms=(*c.synonyms, *names[c.id])) if c.id in names else c
            for c in self.concepts
        )
        kept = ((moved.get((parent, child), parent), child) for parent, child in self.relations)
        larger = Taxonomy([*named, *additions.concepts], [*kept, *additions.relations])
        larger.foreign_names = self.foreign_names
        larger.reserved = self.reserved
        larger.source = self.source
        return larger

    def _ids(self, indices: Indices) -> tuple[str, ...]:
        return tuple([self.ids[i] for i in indices.tolist()])
