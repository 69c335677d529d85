"""Decisions: what is done with each new concept, and who decided it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import NamedTuple

from taxoexpan.decisions.policies import Policy
from taxoexpan.decisions.suggestion import Suggestion
from taxoexpan.taxonomy import Concept


@dataclass(frozen=True, slots=True)
class Person:
    """A person who decided; the name is empty if it is not known."""

    name: str = ""


class Reason(StrEnum):
    """The reason why a new concept is left for review, or not added."""

    SIMILAR = "similar to an existing concept"
    NO_PARENT = "without a suitable parent"
    NOT_SURE = "not sure enough"
    MERGE = "probably a synonym"
    NO_PLACE = "below a concept that is not added"
    REFUSED = "not possible in this file"


class Refusal(NamedTuple):
    """A message about a decision that cannot be carried out, and the new concept."""

    message: str
    query: Concept | None = None


@dataclass(frozen=True, slots=True)
class Decision:
    """What is done with a new concept: one of `Place`, `Merge`, `Reject` and `Leave`."""

    query: Concept
    by: Person | Policy
    suggestions: Sequence[Suggestion] = ()
    """The suggestions that were chosen; of a concept that is left, the first one."""


@dataclass(frozen=True, slots=True)
class Place(Decision):
    """Add the concept below the parents of the suggestions."""

    is_moving: bool = False
    """Whether the existing concepts that an insert names move below the new one."""
    finer: Sequence[Suggestion] = ()
    """The other suggested parents, among which a coarse placement is to be refined."""

    @property
    def has_moves(self) -> bool:
        """Whether existing concepts move."""
        return self.is_moving and any(s.moves for s in self.suggestions)


@dataclass(frozen=True, slots=True)
class Merge(Decision):
    """Make the names of the concept synonyms of the suggested one."""


@dataclass(frozen=True, slots=True)
class Reject(Decision):
    """Add the concept nowhere."""


@dataclass(frozen=True, slots=True)
class Leave(Decision):
    """Leave the concept for review."""

    reason: Reason = Reason.NOT_SURE
