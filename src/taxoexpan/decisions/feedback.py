"""Decisions of curators: placements to learn from, and rejected placements."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from taxoexpan.decisions.suggestion import Suggestion, Target
from taxoexpan.errors import ConfigurationError
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.names import normalize_name


@dataclass(frozen=True, slots=True)
class Feedback:
    """The placements that curators have accepted, once per parent, and rejected.

    Rejected ones include the proposals above the chosen one, or all shown ones if the curator
    searched for the parent, but not the proposals for a concept that is out of scope.

    Examples:
        >>> from taxoexpan import Feedback, TaxoExpan, read_taxonomy
        >>> instruments = read_taxonomy("examples/instruments.ttl")
        >>> model = TaxoExpan("fast").fit(instruments)
        >>> (ranked,) = model.suggest("nyckelharpa")
        >>> judged = model.refit(instruments, Feedback(rejected=ranked[:1]))
        >>> model.suggest("nyckelharpa")[0][0].parent == ranked[0].parent
        False
    """

    accepted: Sequence[Suggestion] = ()
    rejected: Sequence[Suggestion] = ()

    def __post_init__(self) -> None:
        for name in ("accepted", "rejected"):
            given = getattr(self, name)
            is_list = isinstance(given, Sequence) and not isinstance(given, str)
            if not is_list or not all(isinstance(each, Suggestion) for each in given):
                problem = f"{name} is not a list of suggestions"
                fix = "give a list such as model.suggest(…)[0][:1], or `flat` for all suggestions"
                raise ConfigurationError(problem, fix=fix, option=name)
        accepted = {_key(each): each for each in self.accepted}
        for each in self.rejected:
            if accepted.get(_key(each)) == each:
                problem = f"{each.query.label!r} under {each.parent.label!r} is in both lists"
                raise ConfigurationError(problem, fix="either accept or reject it")

    def __bool__(self) -> bool:
        return bool(self.accepted or self.rejected)


def _key(suggestion: Suggestion) -> tuple[str, Target]:
    return suggestion.query.id, suggestion.target


Ids = Mapping[str, tuple[str, ...]]
"""Ids by the normalized name of a concept."""


@dataclass(frozen=True)
class Rejections:
    """The ids of rejected parents and rejected merges, by the normalized name of a concept."""

    parents: Ids = field(default_factory=dict)
    merges: Ids = field(default_factory=dict)

    @classmethod
    def of(cls, rejected: Iterable[Suggestion]) -> Rejections:
        """Collect rejected suggestions."""
        parents: dict[str, tuple[str, ...]] = {}
        merges: dict[str, tuple[str, ...]] = {}
        for each in rejected:
            target = merges if each.is_merge else parents
            name = normalize_name(each.query.label)
            target[name] = tuple(dict.fromkeys([*target.get(name, ()), each.parent.id]))
        return cls(parents, merges)

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON stores them."""
        return {"parents": dict(self.parents), "merges": dict(self.merges)}

    def __bool__(self) -> bool:
        return bool(self.parents or self.merges)

    @property
    def count(self) -> int:
        """The number of rejected placements."""
        return sum(map(len, [*self.parents.values(), *self.merges.values()]))

    def joined(self, later: Rejections) -> Rejections:
        """Return these rejections together with later ones."""
        return Rejections(_union(self.parents, later.parents), _union(self.merges, later.merges))

    def within(self, taxonomy: Taxonomy) -> Rejections:
        """Return the rejections whose parents or merge targets are in a taxonomy."""
        return Rejections(_within(self.parents, taxonomy), _within(self.merges, taxonomy))

    def anchors_of(self, taxonomy: Taxonomy, concepts: Sequence[Concept]) -> list[Indices]:
        """Return the indices of the rejected parents of each concept."""
        rows = []
        for concept in concepts:
            ids = self.parents.get(normalize_name(concept.label), ())
            rows.append(np.array([taxonomy.index(id) for id in ids if id in taxonomy], np.int64))
        return rows

    def filtered(self, suggestions: Sequence[Suggestion]) -> list[Suggestion]:
        """Return the suggestions that were not rejected, with new ranks."""
        kept = []
        ranks = dict[str, int]()
        for suggestion in suggestions:
            rejected = self.merges if suggestion.is_merge else self.parents
            if suggestion.parent.id in rejected.get(normalize_name(suggestion.query.label), ()):
                continue
            rank = ranks[suggestion.query.id] = ranks.get(suggestion.query.id, 0) + 1
            kept.append(replace(suggestion, rank=rank))
        return kept


NO_REJECTIONS = Rejections()


def _within(ids: Ids, taxonomy: Taxonomy) -> Ids:
    known = {name: tuple(id for id in own if id in taxonomy) for name, own in ids.items()}
    return {name: own for name, own in known.items() if own}


def _union(one: Ids, other: Ids) -> Ids:
    names = dict.fromkeys([*one, *other])
    return {n: tuple(dict.fromkeys([*one.get(n, ()), *other.get(n, ())])) for n in names}
