"""Curators' decisions, the new concepts in the queue, and the errors of the store."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from datetime import UTC, datetime
from enum import StrEnum

from taxoexpan.decisions.coarse_places import coarse_places, safe_place
from taxoexpan.decisions.suggestion import Suggestion
from taxoexpan.errors import TaxoExpanError
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.names import normalize_name

MAX_KEY_LENGTH = 200
"""The number of characters of a key; PostgreSQL's indexes hold at most 2,700 bytes."""


class Action(StrEnum):
    """The kind of a decision."""

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
    EDIT = "edit"
    """Change the names or the definition of the new concept; the status does not change."""
    UNDO = "undo"
    """Take back earlier decisions; they stay in the log."""


class Status(StrEnum):
    """The status of a concept in the queue."""

    TODO = "todo"
    ACCEPTED = "accepted"
    REJECTED = "rejected"
    DEFERRED = "deferred"


class Reason(StrEnum):
    """The reason for rejecting a concept."""

    WRONG_PARENTS = "wrong-parents"
    """No proposal is right. A later model may propose other parents."""
    OUT_OF_SCOPE = "out-of-scope"
    """The concept does not belong in the taxonomy. It is not asked again."""
    PRESENT = "already-present"
    """The taxonomy has the concept already. It is not asked again."""
    OTHER = "other"
    """See the comment. It is not asked again."""


@dataclass(frozen=True, slots=True)
class LogEntry:
    """An entry of the log: what a curator did; the store sets the fields from `number` on.

    `version` is the version of the concept that the curator saw; an outdated decision is refused.
    `request_id` makes a repeated request harmless. Decisions of one bulk action share a `batch`.
    """

    concept: str
    """The key of the concept, see `QueuedConcept.key`."""
    action: Action
    version: int
    suggestions: tuple[Suggestion, ...] = ()
    """The suggestions that it is about; one that the curator searched for has the rank 0."""
    reason: Reason | None = None
    comment: str = ""
    edited: Concept | None = None
    """The new concept as the curator has changed it."""
    batch: str | None = None
    request_id: str | None = None
    number: int = 0
    """Its position in the log: 1, 2, …"""
    label: str = ""
    curator: str = ""
    time: datetime = field(default_factory=lambda: datetime.now(UTC))
    model: str | None = None
    """The model whose proposals were shown, by default the current one; None if it was replaced."""
    passed_over: tuple[Suggestion, ...] = ()
    """The proposals that were shown above the accepted one, and so were wrong."""
    undoes: int | None = None
    """The number of the decision that it takes back."""
    undone: bool = False
    """Whether a later decision has taken it back."""

    @property
    def finds_all_wrong(self) -> bool:
        """Whether it says that no proposal is right, though the concept belongs somewhere."""
        return self.action == Action.REJECT and self.reason == Reason.WRONG_PARENTS


@dataclass(frozen=True, slots=True)
class QueuedConcept:
    """A new concept in the queue, with its status, and its remaining proposals, best first.

    `key` (the normalized label) identifies the concept, and `version` counts its decisions.
    """

    key: str
    concept: Concept
    status: Status
    version: int
    proposals: tuple[Suggestion, ...]
    model: str | None = None
    """The name of the model that made the proposals."""
    accepted: tuple[Suggestion, ...] = ()
    """What was accepted, if that is the status."""
    comment: str = ""
    curator: str | None = None
    """Who decided last."""
    rejected: tuple[Suggestion, ...] = ()
    """The proposals that were rejected, best first."""
    rejected_parents: frozenset[str] = frozenset()
    """The ids of all parents that were rejected, also of those that are not proposed any more."""

    def safe_place(self, taxonomy: Taxonomy, min_branch: float) -> Suggestion | None:
        """Return the first proposal, or the deepest place above it that is sure enough, or None."""
        first = next(iter((*self.proposals, *self.rejected)), None)
        return first and safe_place(first, min_branch, taxonomy, self.rejected_parents)

    def coarse_places(self, taxonomy: Taxonomy) -> list[Suggestion]:
        """Return the places above the first proposal, from the top down."""
        first = next(
            (each for each in (*self.proposals, *self.rejected) if not each.is_merge), None
        )
        return coarse_places(first, taxonomy, self.rejected_parents) if first else []


def concept_key(label: str) -> str:
    """Return the key of a concept with this label."""
    return short_key(normalize_name(label) or label)


def short_key(text: str) -> str:
    """Return a key that fits in an index; the end of a long string is replaced by a digest."""
    key = storable(text)
    if len(key) <= MAX_KEY_LENGTH:
        return key
    digest = hashlib.sha256(key.encode()).hexdigest()[:16]
    return f"{key[: MAX_KEY_LENGTH - len(digest) - 1]} {digest}"


def storable(text: str) -> str:
    """Replace the characters that databases refuse: NUL and halves of surrogate pairs."""
    return text.replace("\0", "\N{REPLACEMENT CHARACTER}").encode(errors="replace").decode()


class StoreError(TaxoExpanError):
    """A store that cannot be opened, read or written, or a decision that it cannot store."""


class BusyError(StoreError):
    """A store that another program has locked; trying again later may succeed."""


class StoredValueError(Exception):
    """A stored value that cannot be read, because the store is damaged."""


class ConflictError(StoreError):
    """A decision about an outdated version of a concept; `other` is the latest decision."""

    def __init__(self, other: LogEntry) -> None:
        self.other = other
        did = f"{other.curator} decided first ({other.action.value})"
        super().__init__(f"{other.label!r}: {did}; look at the concept again")
