"""Changes to a taxonomy: new concepts, relations, moves and synonyms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from taxoexpan.taxonomy.concept import Concept


@dataclass(frozen=True, slots=True)
class Provenance:
    """The program that placed the concepts, the time, and the model's reason for each relation.

    `tasks` are the new concepts whose place is to be refined, with what to look at, and `curators`
    the persons who decided about a concept.
    """

    agent: str
    when: datetime
    reasons: Mapping[tuple[str, str], str]
    tasks: Mapping[str, str] = field(default_factory=dict)
    curators: Mapping[str, str] = field(default_factory=dict)


class Move(NamedTuple):
    """A child that moves below a new concept, which is below its old parent; other parents stay."""

    child: str
    old_parent: str
    new_parent: str


@dataclass(frozen=True, slots=True)
class Additions:
    """New concepts, relations (parent id, child id), moves, and synonyms (concept id, name)."""

    concepts: Sequence[Concept]
    relations: Sequence[tuple[str, str]]
    provenance: Provenance | None = None
    moves: Sequence[Move] = ()
    synonyms: Sequence[tuple[str, str]] = ()

    @property
    def names(self) -> dict[str, list[str]]:
        """The new synonyms by the id of their existing concept."""
        names: dict[str, list[str]] = {}
        for id, name in self.synonyms:
            names.setdefault(id, []).append(name)
        return names
