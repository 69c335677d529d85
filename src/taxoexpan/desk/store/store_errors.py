"""Errors of the decision store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from taxoexpan.errors import TaxoExpanError

if TYPE_CHECKING:
    from taxoexpan.desk.store.records import LoggedDecision


class StoreError(TaxoExpanError):
    """A store that cannot be opened, read or written, or a decision that it cannot take."""


class BusyError(StoreError):
    """A store that another program has locked; a later try may work."""


class StoredValueError(Exception):
    """A stored value that is no valid JSON, time, or word of a fixed list: the store is damaged."""


class ConflictError(StoreError):
    """A decision about a version of a concept that is no longer the latest one.

    `other` is the decision that came first.
    """

    def __init__(self, other: LoggedDecision) -> None:
        self.other = other
        did = f"{other.curator} decided first ({other.decision.action.value})"
        super().__init__(f"{other.label!r}: {did}; look at the concept again")
