"""The decision store: the queue of new concepts, and the log of decisions about them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any, Self

from sqlalchemy import Connection

from taxoexpan.decisions.feedback import Feedback
from taxoexpan.decisions.suggestion import Suggestion
from taxoexpan.desk.store import concepts, log, queue, writing
from taxoexpan.desk.store.database import REPLACED, Database
from taxoexpan.desk.store.decisions import LogEntry, QueuedConcept, Status, StoreError
from taxoexpan.desk.store.queue import QueuePage, QueueQuery
from taxoexpan.desk.store.tables import migrate, read_identity
from taxoexpan.taxonomy import Concept


class DecisionStore:
    """New concepts, their proposals, and a log of decisions, safe for threads and processes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._id: str | None = None
        """The id of the store, which another store in its place would not have."""
        self._last: tuple[Any, ...] | None = None
        """The last entry of the log that this process has seen."""

    @classmethod
    def open(cls, url: str, must_exist: bool = False) -> Self:
        """Open a SQLite file or a PostgreSQL URL; migrate the tables if needed.

        Without `must_exist`, missing tables are created.
        """
        database = Database.connect(url, must_exist)
        store = cls(database)
        try:
            database.check()
            if migrate(database, must_exist):
                store.rebuild()
            with store._reading() as connection:
                store._id = read_identity(connection)
                store._last = log.last_entry(connection)
        except BaseException:
            database.close()
            raise
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _reading(self) -> Iterator[Connection]:
        """Open a transaction for reading the store that this process has seen before."""
        with self._database.reading() as connection:
            self._require(connection, self._last)
            yield connection

    @contextmanager
    def _writing(self) -> Iterator[Connection]:
        """Open a transaction for writing, and read the end of the log back from the disk."""
        with self._database.writing() as connection:
            self._require(connection, self._last)
            yield connection
            last = log.last_entry(connection)
        with self._database.reading() as connection:  # the file may have been replaced meanwhile
            self._require(connection, last)
        if last and (self._last is None or last[0] > self._last[0]):  # not an earlier thread's
            self._last = last

    def _require(self, connection: Connection, entry: tuple[Any, ...] | None) -> None:
        """Raise an error if this is another store, or if its log lacks an entry."""
        is_other = self._id is not None and self._id != read_identity(connection)
        if is_other or (entry is not None and not log.has_entry(connection, entry)):
            raise StoreError(f"{self.name}: {REPLACED}")

    def close(self) -> None:
        """Close all connections."""
        self._database.close()

    @property
    def name(self) -> str:
        """The file, or the host and the database, without the password."""
        return self._database.name

    def back_up(self, path: Path) -> None:
        """Copy a SQLite store to a file while other programs may use it."""
        self._database.back_up(path)

    def add_concepts(self, added: Sequence[Concept]) -> None:
        """Append new concepts to the queue, and update the texts of known ones."""
        concepts.add_concepts(self._writing, added)

    def set_proposals(self, model: str, suggestions: Sequence[Suggestion]) -> None:
        """Replace the proposals for concepts of the queue, the queries of these suggestions."""
        with self._writing() as connection:
            concepts.set_proposals(connection, model, suggestions)

    def without_proposals(self, model: str, listed: Sequence[Concept]) -> list[Concept]:
        """Return the listed concepts that are not accepted and have no proposals of this model."""
        return concepts.lacking_proposals(self._reading, model, listed)

    def accepted_once(self) -> dict[str, Concept]:
        """Return the id and the current label of every concept that was ever accepted, by key."""
        return concepts.accepted_once(self._reading)

    def listed(self, listed: Sequence[Concept]) -> bytes | None:
        """Return one byte per concept number, 1 if the concept is in the list; None if all are."""
        return concepts.list_mask(self._reading, listed)

    def mask(self, keys: Collection[str]) -> bytes | None:
        """Return one byte per concept number, 1 if its key is given; None if all are given."""
        return concepts.key_mask(self._reading, keys)

    def append(self, new: Sequence[LogEntry], curator: str) -> list[LogEntry]:
        """Append all decisions or none; a repeated request does nothing.

        Raises:
            ConflictError: Another decision about the same version of a concept was appended first.
            StoreError: A decision is incomplete, or its concept is not in the queue.
        """
        with self._writing() as connection:
            return writing.append_decisions(connection, new, curator)

    def undo(
        self,
        curator: str,
        number: int | None = None,
        whole_batch: bool = True,
        request_id: str | None = None,
    ) -> list[LogEntry]:
        """Undo the curator's latest decision, or the decision with this number, or its batch.

        Return the undo decisions that were appended; the list is empty if nothing is left to undo.
        """
        with self._writing() as connection:
            return writing.undo_decisions(connection, curator, number, whole_batch, request_id)

    def rebuild(self) -> None:
        """Derive the queue again from the log and the proposals."""
        with self._writing() as connection:
            log.derive_whole_queue(connection)

    def concept(self, key: str) -> QueuedConcept | None:
        """Return one concept, or None if it is not in the queue."""
        with self._reading() as connection:
            return queue.read_concept(connection, key)

    def queue(self, query: QueueQuery = QueueQuery()) -> QueuePage:  # noqa: B008
        """Return one page of the queue, and the total number of matching concepts."""
        with self._reading() as connection:
            return queue.read_page(connection, query)

    def first_proposals(self, query: QueueQuery) -> list[QueuedConcept]:
        """Return all matching concepts with only their first proposal, without the others."""
        return queue.read_first_proposals(self._reading, query)

    def counts(self, listed: bytes | None = None) -> dict[Status, int]:
        """Count the concepts by status, optionally only the concepts of a list."""
        with self._reading() as connection:
            return queue.count_statuses(connection, listed)

    def count(self, query: QueueQuery) -> int:
        """Count the concepts that match a query."""
        with self._reading() as connection:
            return queue.count_page(connection, query)

    def history(
        self, offset: int = 0, limit: int = 50, concept: str | None = None
    ) -> list[LogEntry]:
        """Return decisions, newest first, optionally only about the concept with a key."""
        with self._reading() as connection:
            return log.read_history(connection, offset, limit, concept)

    def log(self) -> list[LogEntry]:
        """Return all decisions in their order, as of the beginning of the reading."""
        return log.read_log(self._reading)

    def recent_decisions(self, curator: str, period: timedelta) -> tuple[int, datetime | None]:
        """Count a curator's single decisions within a period, and return the time of the first."""
        with self._reading() as connection:
            return log.recent_decisions(connection, curator, period)

    def decision(self, number: int) -> LogEntry | None:
        """Return the decision with this number, or None."""
        with self._reading() as connection:
            return log.read_decision(connection, number)

    def requested(self, request_id: str) -> list[LogEntry]:
        """Return the decisions of a request, in their order; none if the request is new."""
        with self._reading() as connection:
            return log.read_requested(connection, request_id)

    def export_suggestions(self) -> list[Suggestion]:
        """Return the accepted and rejected suggestions, in the order of the queue."""
        return log.decided_suggestions(self._reading)

    def feedback(self) -> Feedback:
        """Return the decisions that are not undone, as feedback for training."""
        return log.read_feedback(self._reading)
