"""Changes to a taxonomy: new concepts, relations, moves and synonyms."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from taxoexpan.taxonomy.concept import Concept


@dataclass(frozen=True, slots=True)
class Provenance:
    """Who placed new concepts, and when; a relation without a score was chosen by a person."""

    agent: str
    when: datetime
    scores: Mapping[tuple[str, str], float]


class Move(NamedTuple):
    """A child that leaves a parent for a new concept below it, by their ids; others stay."""

    child: str
    old_parent: str
    new_parent: str


@dataclass(frozen=True, slots=True)
class Additions:
    """New concepts, and the (parent id, child id) relations that place them.

    By `moves` new concepts come between old ones and their parents, `synonyms` are further names
    as (concept id, name); without them all that is old stays as it is.
    """

    concepts: Sequence[Concept]
    relations: Sequence[tuple[str, str]]
    provenance: Provenance | None = None
    moves: Sequence[Move] = ()
    synonyms: Sequence[tuple[str, str]] = ()

    @property
    def names(self) -> dict[str, list[str]]:
        """The further names of each old concept that gets some."""
        names: dict[str, list[str]] = {}
        for id, name in self.synonyms:
            names.setdefault(id, []).append(name)
        return names
