"""Changes to a taxonomy: new concepts, relations, moves and synonyms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import NamedTuple

from taxoexpan.taxonomy.concept import Concept


class Move(NamedTuple):
    """A child that moves below a new concept, which is below its old parent; other parents stay."""

    child: str
    old_parent: str
    new_parent: str


@dataclass(frozen=True, slots=True)
class Additions:
    """New concepts, relations (parent id, child id), moves, synonyms (id, name), and why."""

    concepts: Sequence[Concept]
    relations: Sequence[tuple[str, str]]
    moves: Sequence[Move] = ()
    synonyms: Sequence[tuple[str, str]] = ()
    agent: str = ""
    """The program that placed the concepts; without it, a file says nothing about the source."""
    when: datetime = field(default_factory=lambda: datetime.now(UTC), compare=False)
    reasons: Mapping[tuple[str, str], str] = field(default_factory=dict)
    """The reasons of the model, by relation."""
    tasks: Mapping[str, str] = field(default_factory=dict)
    """What to look at for the new concepts whose place is to be refined."""
    curators: Mapping[str, str] = field(default_factory=dict)
    """The persons who decided about new concepts."""

    def with_ids(self, new: Mapping[str, str]) -> Additions:
        """Return the additions with other ids for some new concepts."""
        if not new:
            return self

        def of(id: str) -> str:
            return new.get(id, id)

        return replace(
            self,
            concepts=tuple(replace(c, id=of(c.id)) for c in self.concepts),
            relations=tuple((of(parent), of(child)) for parent, child in self.relations),
            moves=tuple(move._replace(new_parent=of(move.new_parent)) for move in self.moves),
            reasons={(of(parent), of(id)): why for (parent, id), why in self.reasons.items()},
            tasks={of(id): task for id, task in self.tasks.items()},
            curators={of(id): name for id, name in self.curators.items()},
        )

    @property
    def names(self) -> dict[str, list[str]]:
        """The new synonyms by the id of their existing concept."""
        names: dict[str, list[str]] = {}
        for id, name in self.synonyms:
            names.setdefault(id, []).append(name)
        return names
