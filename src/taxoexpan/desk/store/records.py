"""Decisions of curators, and what follows from them for a concept."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from taxoexpan.placement.suggesting.suggestions import Suggestion, SuggestionKind
from taxoexpan.taxonomy import Concept
from taxoexpan.taxonomy.names import normalize_name

MAX_KEY_LENGTH = 200
"""The number of characters of a key; PostgreSQL's indexes hold at most 2,700 bytes."""


class Action(StrEnum):
    """What a curator did."""

    ACCEPT = "accept"
    """Place the concept below one or several parents, or merge it."""
    REJECT = "reject"
    """Reject all proposals that were shown, with a reason."""
    REJECT_PROPOSAL = "reject-proposal"
    """Reject one proposal; the concept stays to do."""
    DEFER = "defer"
    """Not sure: the concept comes back at the end of the queue."""
    COMMENT = "comment"
    """Leave a remark; the status does not change."""
    UNDO = "undo"
    """Take back earlier decisions; they stay in the log."""


class Status(StrEnum):
    """Where a concept stands in the queue."""

    TODO = "todo"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    DEFERRED = "deferred"


class Reason(StrEnum):
    """Why a concept was rejected."""

    WRONG_PARENTS = "wrong-parents"
    """No proposal is right. A later model may propose other parents."""
    OUT_OF_SCOPE = "out-of-scope"
    """The concept does not belong in the taxonomy. It is not asked again."""
    OTHER = "other"
    """See the comment. It is not asked again."""


@dataclass(frozen=True, slots=True)
class Placement:
    """One parent (or, for a merge, the existing concept) that a decision is about."""

    parent_id: str
    parent_label: str
    path: tuple[str, ...] = ()
    kind: SuggestionKind = SuggestionKind.ATTACH
    moves: tuple[str, ...] = ()
    rank: int = 0
    """The rank of the proposal, or 0 if the curator chose another parent."""
    confidence: float | None = None
    score: float | None = None


@dataclass(frozen=True, slots=True)
class NewDecision:
    """A decision to append to the log.

    `version` is the concept's version that the curator saw; the decision is refused if another one
    was appended since. `request_id` makes a repeated request harmless. Decisions of one bulk action
    have the same `batch`.
    """

    concept: str
    """The key of the concept, see `QueuedConcept.key`."""
    action: Action
    version: int
    placements: tuple[Placement, ...] = ()
    reason: Reason | None = None
    comment: str = ""
    batch: str | None = None
    request_id: str | None = None


@dataclass(frozen=True, slots=True)
class LoggedDecision:
    """A decision in the log."""

    number: int
    """Its position in the log: 1, 2, …"""
    decision: NewDecision
    label: str
    curator: str
    time: datetime
    model: str | None
    """The name of the model whose proposals were shown."""
    undoes: tuple[int, ...] = ()
    undone: bool = False
    """Whether a later decision has taken it back."""
    passed_over: tuple[Placement, ...] = ()
    """The proposals that were shown above the accepted one, and so were wrong."""


@dataclass(frozen=True, slots=True)
class QueuedConcept:
    """A new concept in the queue, with its status and its proposals, best first.

    `key` is the normalized label: it identifies the concept in the store. `version` counts the
    decisions about it. Proposals that were rejected are left out.
    """

    key: str
    concept: Concept
    status: Status
    version: int
    proposals: tuple[Suggestion, ...]
    placements: tuple[Placement, ...] = ()
    """The accepted placements, if the status is accepted."""
    comment: str = ""
    curator: str | None = None
    """Who decided last."""


def concept_key(label: str) -> str:
    """Return the key of a concept with this label."""
    return short_key(normalize_name(label) or label)


def short_key(text: str) -> str:
    """Return a text that an index can hold: the end of a long one is replaced by a digest."""
    key = storable(text)
    if len(key) <= MAX_KEY_LENGTH:
        return key
    digest = hashlib.sha256(key.encode()).hexdigest()[:16]
    return f"{key[: MAX_KEY_LENGTH - len(digest) - 1]} {digest}"


def storable(text: str) -> str:
    """Replace the characters that databases refuse: NUL and halves of surrogate pairs."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()
