"""Data types for the evidence behind suggestions, and their JSON form."""

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
SerializedKind = Annotated[
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
class Mention:
    """The way in which a query mentions an anchor, and its bonus in the network's raw score."""

    kind: SerializedKind
    bonus: Number


@dataclass(frozen=True, slots=True)
class SuggestionEvidence:
    """The similarities of a query and one suggested parent.

    `cosine` compares whole names and definitions, `head_cosine` head words only. `shared_words` are
    shared with the parent's own names, and spelled as in the query.
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
    """A summand of a score: the first two without a learned fusion, or one per signal."""

    MATCH = "match"
    MENTIONS = "mentions"
    NETWORK = "network"
    TOWER = "fine_tuned_encoder"
    NAMES = "similar_names"
    WORDS = "shared_words"
    STRUCTURE = "structure"


NETWORK_PARTS = (Part.MATCH, Part.MENTIONS)
SIGNAL_PARTS = (Part.NETWORK, Part.TOWER, Part.NAMES, Part.WORDS, Part.STRUCTURE)
"""The summands of a fused score, in the order of `Signal`."""
ScoreParts = dict[Part, Number]
"""The summands of the score that orders the anchors."""


class Position(StrEnum):
    """The position of the runner-up relative to the first suggestion."""

    PARENT = "parent"
    CHILD = "child"
    SIBLING = "sibling"
    ELSEWHERE = "elsewhere"


@dataclass(frozen=True, slots=True)
class RunnerUpComparison:
    """The comparison of the first suggestion, which leads by `margin`, with the runner-up."""

    runner_up: Named
    score_parts: ScoreParts
    margin: Number
    position: Position


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence for the suggestions of a query, best first; the rest is about the first."""

    query: Named
    has_vector: bool
    suggestions: tuple[SuggestionEvidence, ...]
    score_parts: ScoreParts
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
