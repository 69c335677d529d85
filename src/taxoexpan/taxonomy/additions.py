"""Changes to a taxonomy: new concepts, relations, moves and synonyms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from taxoexpan.taxonomy.concept import Concept


@dataclass(frozen=True, slots=True)
class Provenance:
    """What placed the new concepts, and when.

    `reasons` maps relations to what the model says about them, such as "confidence 0.87". A
    relation without a reason was chosen by a person.
    """

    agent: str
    when: datetime
    reasons: Mapping[tuple[str, str], str]


class Move(NamedTuple):
    """An existing child that moves from its parent to a new concept below that parent, by ids.

    Its other parents stay.
    """

    child: str
    old_parent: str
    new_parent: str


@dataclass(frozen=True, slots=True)
class Additions:
    """New concepts and relations, the latter as (parent id, child id).

    `moves` insert new concepts between existing concepts and their parents. `synonyms` are new
    synonyms of existing concepts, as (concept id, name). Nothing else changes existing concepts.
    """

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
