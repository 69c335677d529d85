"""Decisions of curators about new concepts, in the form that a model learns from."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from taxoexpan.placement.suggesting.suggestions import SuggestionKind
from taxoexpan.taxonomy import Concept


@dataclass(frozen=True, slots=True)
class JudgedPlacement:
    """A new concept below a parent, or merged with an existing concept, as a curator judged it.

    `parent_id` is the existing concept of a merge. `parent_label` finds a parent that is a new
    concept itself and has got another id since. `moves` are the children that an insert moves.
    """

    concept: Concept
    parent_id: str
    parent_label: str = ""
    kind: SuggestionKind = SuggestionKind.ATTACH
    moves: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Feedback:
    """What curators have decided: the placements that are right, and those that are wrong.

    A concept with several parents is accepted once per parent. The rejected placements include
    those that a choice implies: the proposals that were ranked above the chosen one, or all that
    were shown if the curator searched for the parent. Proposals for a concept that is out of scope
    are not among them: the parents may have been right.
    """

    accepted: Sequence[JudgedPlacement] = ()
    rejected: Sequence[JudgedPlacement] = ()

    def __bool__(self) -> bool:
        return bool(self.accepted or self.rejected)
