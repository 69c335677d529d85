"""Data types for the evidence behind suggestions, and their JSON form.

In JSON a concept has its id and label only, and numbers have six significant digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from typing import Annotated, Any

from pydantic import BeforeValidator, PlainSerializer, TypeAdapter

from taxoexpan.features.mentions import MentionKind
from taxoexpan.taxonomy import Concept

Number = Annotated[float, PlainSerializer(lambda value: float(f"{value:.6g}"))]
Named = Annotated[Concept, PlainSerializer(lambda each: {"id": each.id, "label": each.label})]
Kind = Annotated[
    MentionKind,
    PlainSerializer(lambda kind: kind.name.lower()),
    BeforeValidator(lambda name: MentionKind[name.upper()]),
]


@dataclass(frozen=True, slots=True)
class SimilarChild:
    """A child of an anchor, its cosine with the query, and the words that both share."""

    concept: Named
    cosine: Number
    shared_words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AttentionWeight:
    """The attention that an anchor pays to one of its parents or to itself."""

    concept: Named
    weight: Number


@dataclass(frozen=True, slots=True)
class Mention:
    """How a query mentions an anchor, and what this adds to the network's raw score."""

    kind: Kind
    bonus: Number


@dataclass(frozen=True, slots=True)
class SuggestionEvidence:
    """What a query has in common with one suggested parent.

    `cosine` compares whole names and definitions, `head_cosine` head words only. Shared words are
    spelled as in the query; `shared_words` are those shared with the parent's own names.
    `nearest_children` are the most similar of the parent's `child_count` children.
    """

    parent: Named
    path: tuple[str, ...]
    score: Number
    cosine: Number
    head_cosine: Number
    shared_words: tuple[str, ...]
    nearest_children: tuple[SimilarChild, ...]
    child_count: int
    mentions: tuple[Mention, ...]


class Part(StrEnum):
    """A summand of a score.

    The first four are those of the network alone; with a learned fusion, there is one per signal.
    """

    MATCH = "match"
    FUSION = "fusion"
    MENTIONS = "mentions"
    LEAF_BONUS = "leaf_bonus"
    NETWORK = "network"
    TOWER = "fine_tuned_encoder"
    NAMES = "similar_names"
    WORDS = "shared_words"
    STRUCTURE = "structure"


ScoreParts = dict[Part, Number]
"""The summands of the score that orders the anchors."""


@dataclass(frozen=True, slots=True)
class EgonetWeights:
    """The weights of the three positions of an anchor's egonet in the readout; they sum to 1.

    `attention` holds the attention weights of the anchor in the last layer, averaged over heads.
    Messages flow from parents to children, so an anchor attends to its parents and itself, but not
    to its children. `attention` is empty for a network without attention.
    """

    grandparents: Number
    anchor: Number
    siblings: Number
    attention: tuple[AttentionWeight, ...]


@dataclass(frozen=True, slots=True)
class RemovedRelation:
    """A relation, and the lead of the first suggestion over the runner-up without it."""

    parent: Named
    child: Named
    margin_without: Number

    @property
    def reverses(self) -> bool:
        """Whether the runner-up would be ranked before the first suggestion."""
        return self.margin_without < 0


class Position(StrEnum):
    """The position of the runner-up relative to the first suggestion."""

    PARENT = "parent"
    CHILD = "child"
    SIBLING = "sibling"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True)
class RunnerUpComparison:
    """The first suggestion compared with the runner-up by the sums of score parts.

    `margin` is the lead of the first suggestion. `decisive_relation` is the relation that
    contributes most to this lead, if any does.
    """

    runner_up: Named
    score_parts: ScoreParts
    margin: Number
    position: Position
    decisive_relation: RemovedRelation | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why these parents were suggested for a query.

    `suggestions` has an entry per suggestion, best first; the other fields are about the first.
    `has_vector` is false if no encoder knows any of the query's words.
    """

    query: Named
    has_vector: bool
    suggestions: tuple[SuggestionEvidence, ...]
    score_parts: ScoreParts
    egonet_weights: EgonetWeights
    comparison: RunnerUpComparison | None

    @property
    def first(self) -> SuggestionEvidence:
        """The evidence for the first suggestion."""
        return self.suggestions[0]

    def to_dict(self) -> dict[str, Any]:
        """Return the evidence as JSON-compatible values, with the field names as keys."""
        converted: dict[str, Any] = _adapter().dump_python(self, mode="json")
        return converted

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Evidence:
        """Read evidence from the output of `to_dict`."""
        return _adapter().validate_python(values)


@cache
def _adapter() -> TypeAdapter[Evidence]:
    return TypeAdapter(Evidence)
