"""A concept, and changes to a taxonomy: new concepts, relations, moves and synonyms."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import NamedTuple

from taxoexpan.errors import ConfigurationError, TaxonomyError


@dataclass(frozen=True, slots=True)
class Concept:
    """One node of a taxonomy, identified only by its id; labels may repeat."""

    id: str
    label: str
    synonyms: tuple[str, ...] = ()
    definition: str = ""
    deprecated: bool = False


def as_concepts(concepts: Iterable[str | Concept]) -> list[Concept]:
    """Convert concepts or labels to a list of concepts."""
    if isinstance(concepts, str | Concept):
        raise ConfigurationError(f"{concepts!r} is not a list; give a list: [{concepts!r}]")
    if isinstance(concepts, Mapping) or not isinstance(concepts, Iterable):
        raise ConfigurationError(f"{concepts!r} is not a list; give a list of labels or Concepts")
    return [as_concept(concept) for concept in concepts]


def as_concept(concept: str | Concept) -> Concept:
    """Convert a label to a concept without an id; return a concept unchanged."""
    made = Concept("", concept) if isinstance(concept, str) else concept
    if not isinstance(made, Concept) or not made.label.strip():
        raise ConfigurationError(f"{concept!r} is not a label or a Concept; give one of the two")
    return made


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

    def extend(
        self, concepts: Iterable[Concept], relations: Iterable[tuple[str, str]]
    ) -> tuple[list[Concept], list[tuple[str, str]]]:
        """Add the additions to concepts and relations; moved children keep their position."""
        placed = set(self.relations)
        for child, old_parent, new_parent in self.moves:
            if (old_parent, new_parent) not in placed:
                raise impossible_move(child, old_parent, new_parent)
        names = self.names
        moved = {(move.old_parent, move.child): move.new_parent for move in self.moves}
        named = [
            replace(c, synonyms=(*c.synonyms, *names[c.id])) if c.id in names else c
            for c in concepts
        ]
        kept = [(moved.get((parent, child), parent), child) for parent, child in relations]
        return [*named, *self.concepts], [*kept, *self.relations]


def impossible_move(child: str, old_parent: str, new_parent: str) -> TaxonomyError:
    """Return the error for a move that does not fit the relations."""
    return TaxonomyError(
        f"cannot move {child!r} from {old_parent!r} to {new_parent!r}; the new concept must be a "
        "child of the old parent, and the moved one must be too"
    )
