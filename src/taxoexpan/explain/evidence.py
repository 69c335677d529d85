"""Data types for the evidence behind suggestions, and their JSON form.

In JSON a concept has its id and label only, and numbers have six significant digits.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, is_dataclass
from enum import StrEnum
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from taxoexpan.features.mentions import MentionKind
from taxoexpan.placement.scoring.features import Signal
from taxoexpan.taxonomy import Concept


@dataclass(frozen=True, slots=True)
class SimilarChild:
    """A child of an anchor, its cosine with the query, and the words that both share."""

    concept: Concept
    cosine: float
    shared_words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AttentionWeight:
    """The attention that an anchor pays to one of its parents or to itself."""

    concept: Concept
    weight: float


@dataclass(frozen=True, slots=True)
class Mention:
    """How a query mentions an anchor, and what this adds to the network's raw score."""

    kind: MentionKind
    bonus: float


@dataclass(frozen=True, slots=True)
class SuggestionEvidence:
    """What a query has in common with one suggested parent.

    `cosine` compares whole names and definitions, `head_cosine` head words only. Shared words are
    spelled as in the query; `shared_words` are those shared with the parent's own names.
    `nearest_children` are the most similar of the parent's `child_count` children.
    """

    parent: Concept
    path: tuple[str, ...]
    score: float
    cosine: float
    head_cosine: float
    shared_words: tuple[str, ...]
    nearest_children: tuple[SimilarChild, ...]
    child_count: int
    mentions: tuple[Mention, ...]


@dataclass(frozen=True, slots=True)
class ScoreParts:
    """The summands of the score of a model without a learned fusion of signals.

    They are the egonet match, the fusion head, mentions and the leaf bonus.
    """

    match: float
    fusion: float
    mentions: float
    leaf_bonus: float = 0.0

    @property
    def total(self) -> float:
        """The raw score, which orders the anchors."""
        return self.match + self.fusion + self.mentions + self.leaf_bonus


@dataclass(frozen=True, slots=True)
class SignalParts:
    """The summands of the score of a model with a learned fusion: one per signal, in its order."""

    network: float
    fine_tuned_encoder: float
    similar_names: float
    shared_words: float
    structure: float

    @property
    def total(self) -> float:
        """The score, which orders the anchors."""
        return sum(self.by_signal().values())

    def by_signal(self) -> dict[Signal, float]:
        """Return the summand of each signal."""
        return dict(zip(Signal, (getattr(self, field.name) for field in fields(self)), strict=True))


@dataclass(frozen=True, slots=True)
class EgonetWeights:
    """The weights of the three positions of an anchor's egonet in the readout; they sum to 1.

    `attention` holds the attention weights of the anchor in the last layer, averaged over heads.
    Messages flow from parents to children, so an anchor attends to its parents and itself, but not
    to its children. `attention` is empty for a network without attention.
    """

    grandparents: float
    anchor: float
    siblings: float
    attention: tuple[AttentionWeight, ...]


@dataclass(frozen=True, slots=True)
class RemovedRelation:
    """A relation, and the lead of the first suggestion over the runner-up without it."""

    parent: Concept
    child: Concept
    margin_without: float

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

    runner_up: Concept
    score_parts: ScoreParts | SignalParts
    margin: float
    position: Position
    decisive_relation: RemovedRelation | None


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why these parents were suggested for a query.

    `suggestions` has an entry per suggestion, best first; the other fields are about the first.
    `has_vector` is false if no encoder knows any of the query's words.
    """

    query: Concept
    has_vector: bool
    suggestions: tuple[SuggestionEvidence, ...]
    score_parts: ScoreParts | SignalParts
    egonet_weights: EgonetWeights
    comparison: RunnerUpComparison | None

    @property
    def first(self) -> SuggestionEvidence:
        """The evidence for the first suggestion."""
        return self.suggestions[0]

    def to_dict(self) -> dict[str, Any]:
        """Return the evidence as JSON-compatible values, with the field names as keys."""
        converted: dict[str, Any] = _to_json(self)
        return converted

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Evidence:
        """Read evidence from the output of `to_dict`."""
        read: Evidence = _from_json(cls, values)
        return read


def _to_json(value: Any) -> Any:
    if isinstance(value, Concept):
        return {"id": value.id, "label": value.label}
    if is_dataclass(value):
        return {field.name: _to_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple):
        return [_to_json(item) for item in value]
    if isinstance(value, float):
        return float(f"{value:.6g}")
    return value.name.lower() if isinstance(value, MentionKind) else value


def _from_json(expected: Any, value: Any) -> Any:
    """Convert a JSON value to the expected type of a field."""
    if value is None:
        return None
    if get_origin(expected) is tuple:
        return tuple(_from_json(get_args(expected)[0], item) for item in value)
    if isinstance(expected, UnionType):
        expected = _option_for(expected, value)
    if expected is Concept:
        return Concept(value["id"], value["label"])
    if expected is MentionKind:
        return MentionKind[value.upper()]
    if isinstance(expected, type) and is_dataclass(expected):
        hints = get_type_hints(expected)
        return expected(**{name: _from_json(hint, value[name]) for name, hint in hints.items()})
    return Position(value) if expected is Position else value


def _option_for(union: UnionType, value: Any) -> Any:
    """Return the option of a union that fits a value; kinds of score parts differ in keys."""
    options = [option for option in get_args(union) if option is not NoneType]
    if len(options) == 1:
        return options[0]
    return next(each for each in options if {f.name for f in fields(each)} == value.keys())
