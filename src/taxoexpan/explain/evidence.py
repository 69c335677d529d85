"""What evidence is made of."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from taxoexpan.taxonomy import Concept

DIGITS = 4
"""Decimals of a number that is written out."""


@dataclass(frozen=True, slots=True)
class Child:
    """A child of an anchor, how near it is to the query, and the words that they share."""

    concept: Concept
    cosine: float
    words: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        cosine = round(self.cosine, DIGITS)
        return {**_named(self.concept), "cosine": cosine, "shared_words": list(self.words)}


@dataclass(frozen=True, slots=True)
class Heard:
    """A parent of an anchor, or itself, and the share of attention that the anchor pays to it."""

    concept: Concept
    share: float

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {**_named(self.concept), "share": round(self.share, DIGITS)}


@dataclass(frozen=True, slots=True)
class Mention:
    """How a query mentions an anchor (`MentionKind`), and what the score gained by it."""

    kind: int
    how: str
    bonus: float

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {"how": self.how, "bonus": round(self.bonus, DIGITS)}


@dataclass(frozen=True, slots=True)
class Support:
    """What speaks for one suggestion on its face.

    `cosine` is the query's with the anchor by names and definition, `head_cosine` by head words;
    `children` are the nearest of the anchor's `child_count`. Shared words are spelled as the query
    has them, `words` those with the anchor's own names.
    """

    parent: Concept
    path: tuple[str, ...]
    score: float
    cosine: float
    head_cosine: float
    words: tuple[str, ...]
    children: tuple[Child, ...]
    child_count: int
    mentions: tuple[Mention, ...]

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "parent": _named(self.parent),
            "path": list(self.path),
            "score": float(f"{self.score:.6g}"),
            "cosine": round(self.cosine, DIGITS),
            "head_cosine": round(self.head_cosine, DIGITS),
            "shared_words": list(self.words),
            "nearest_children": [child.as_dict() for child in self.children],
            "child_count": self.child_count,
            "mentions": [mention.as_dict() for mention in self.mentions],
        }


@dataclass(frozen=True, slots=True)
class Parts:
    """What a raw score adds up to: the egonet's match, the fusion head, the mentions.

    `leaf_bonus` is what an anchor without children gains besides.
    """

    match: float
    fusion: float
    mentions: float
    leaf_bonus: float = 0.0

    @property
    def total(self) -> float:
        """The raw score, which orders the anchors."""
        return self.match + self.fusion + self.mentions + self.leaf_bonus

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {name: round(value, DIGITS) for name, value in asdict(self).items()}


@dataclass(frozen=True, slots=True)
class Weighing:
    """What an anchor's egonet is made into: the share of each position in the readout.

    `attention` is what the anchor pays in the last layer to its parents and to itself, the mean
    over heads; messages run downwards, so it hears no child. It is empty without attention.
    """

    grandparents: float
    anchor: float
    siblings: float
    attention: tuple[Heard, ...]

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "grandparents": round(self.grandparents, DIGITS),
            "anchor": round(self.anchor, DIGITS),
            "siblings": round(self.siblings, DIGITS),
            "attention": [heard.as_dict() for heard in self.attention],
        }


@dataclass(frozen=True, slots=True)
class Removal:
    """A relation without which the first suggestion would be less far ahead, or behind.

    It is that between `anchor`, one of the two first suggestions, and its parent or child
    `neighbour`; `margin` is how far ahead the first one stays without it.
    """

    anchor: Concept
    neighbour: Concept
    is_child: bool
    margin: float

    @property
    def upper(self) -> Concept:
        """The parent in the relation."""
        return self.anchor if self.is_child else self.neighbour

    @property
    def lower(self) -> Concept:
        """The child in the relation."""
        return self.neighbour if self.is_child else self.anchor

    @property
    def reverses(self) -> bool:
        """Whether the runner-up would come before the first."""
        return self.margin < 0

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "anchor": _named(self.anchor),
            "neighbour": _named(self.neighbour),
            "neighbour_is": "child" if self.is_child else "parent",
            "margin_without": round(self.margin, DIGITS),
            "reverses": self.reverses,
        }


@dataclass(frozen=True, slots=True)
class Contest:
    """The first suggestion against the runner-up, by raw scores, and what decided it most.

    `standing` is where the runner-up stands, seen from the first: above, below, beside (under a
    common parent) or elsewhere.
    """

    runner_up: Concept
    parts: Parts
    margin: float
    standing: str
    decisive: Removal | None

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "runner_up": _named(self.runner_up),
            "parts": self.parts.as_dict(),
            "margin": round(self.margin, DIGITS),
            "standing": self.standing,
            "decisive": None if self.decisive is None else self.decisive.as_dict(),
        }


@dataclass(frozen=True, slots=True)
class Evidence:
    """Why these parents were suggested for a query.

    There is `support` for every suggestion, best first; the rest is about the first of them.
    `known` says whether the query has a vector at all.
    """

    query: Concept
    known: bool
    support: tuple[Support, ...]
    parts: Parts
    weighing: Weighing
    contest: Contest | None

    @property
    def first(self) -> Support:
        """What speaks for the first suggestion."""
        return self.support[0]

    def as_dict(self) -> dict[str, Any]:
        """Ready for JSON."""
        return {
            "query": _named(self.query),
            "known": self.known,
            "suggestions": [support.as_dict() for support in self.support],
            "parts": self.parts.as_dict(),
            "weighing": self.weighing.as_dict(),
            "contest": None if self.contest is None else self.contest.as_dict(),
        }


def _named(concept: Concept) -> dict[str, Any]:
    return {"id": concept.id, "label": concept.label}
