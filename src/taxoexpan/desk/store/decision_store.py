"""The decision store: the queue of new concepts, and the log of decisions about them."""

from __future__ import annotations

from collections.abc import Sequence
from types import TracebackType
from typing import Self

from taxoexpan.desk.store.concept_import import (
    add_new,
    lacking_proposals,
    list_mask,
    replace_proposals,
)
from taxoexpan.desk.store.database import Database
from taxoexpan.desk.store.decision_check import check_curator
from taxoexpan.desk.store.decision_exports import decided_suggestions, read_feedback
from taxoexpan.desk.store.decision_log import logged_decision, select_logged
from taxoexpan.desk.store.decision_undo import undo_decisions
from taxoexpan.desk.store.decision_writer import append_decisions
from taxoexpan.desk.store.queue_derivation import derive_whole_queue
from taxoexpan.desk.store.queue_query import FirstProposal, QueuePage, QueueQuery
from taxoexpan.desk.store.queue_reader import (
    count_statuses,
    read_concept,
    read_first_proposals,
    read_page,
)
from taxoexpan.desk.store.records import LoggedDecision, NewDecision, QueuedConcept, Status
from taxoexpan.desk.store.schema_version import migrate
from taxoexpan.desk.store.tables import decisions
from taxoexpan.placement.suggesting.feedback import Feedback
from taxoexpan.placement.suggesting.suggestions import Suggestion
from taxoexpan.taxonomy import Concept


class DecisionStore:
    """New concepts, proposals for them, and an append-only log of decisions.

    Several threads and processes may use one store. A decision that was returned by `append` or
    `undo` is on disk.
    """

    def __init__(self, database: Database) -> None:
        self._database = database

    @classmethod
    def open(cls, url: str, must_exist: bool = False) -> Self:
        """Open a SQLite file by its path, or a PostgreSQL database by its URL.

        A new store is created, unless it must exist; an old one gets the tables of this version.
        """
        database = Database.connect(url, must_exist)
        store = cls(database)
        try:
            if migrate(database):
                store.rebuild()
                database.sync_folder()
        except BaseException:
            database.close()
            raise
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._database.close()

    @property
    def name(self) -> str:
        """The file, or the host and the database; never a password."""
        return self._database.name

    def add_concepts(self, concepts: Sequence[Concept]) -> None:
        """Add new concepts at the end of the queue; known ones keep their place and decisions."""
        with self._database.writing() as connection:
            add_new(connection, concepts)

    def set_proposals(self, model: str, suggestions: Sequence[Suggestion]) -> None:
        """Replace the proposals for the concepts that these suggestions are about.

        A proposal that was rejected is not shown again. A concept whose parents were all wrong is
        to do again if there is another proposal. The concepts must have been added before.
        """
        with self._database.writing() as connection:
            replace_proposals(connection, model, suggestions)

    def without_proposals(self, model: str, concepts: Sequence[Concept]) -> list[Concept]:
        """Return the concepts that this model has to propose parents for.

        Those are the concepts that are not accepted, and have no proposals of this model.
        """
        with self._database.reading() as connection:
            return lacking_proposals(connection, model, concepts)

    def append(self, decisions: Sequence[NewDecision], curator: str) -> list[LoggedDecision]:
        """Append decisions, all or none.

        Raises:
            ConflictError: Another decision about the same version of a concept was appended first.
        """
        name = check_curator(curator)
        with self._database.writing() as connection:
            return append_decisions(connection, decisions, name)

    def undo(
        self,
        curator: str,
        number: int | None = None,
        *,
        whole_batch: bool = True,
        request_id: str | None = None,
    ) -> list[LoggedDecision]:
        """Undo the curator's latest decision that is not undone, or the one with this number.

        With `whole_batch`, the other decisions of its batch are undone too. The list is empty if
        there is nothing left to undo.
        """
        name = check_curator(curator)
        with self._database.writing() as connection:
            return undo_decisions(connection, name, number, whole_batch, request_id)

    def concept(self, key: str) -> QueuedConcept | None:
        """Return one concept, or None if it is not in the queue."""
        with self._database.reading() as connection:
            return read_concept(connection, key)

    def queue(self, query: QueueQuery = QueueQuery()) -> QueuePage:  # noqa: B008
        """Return one page of the queue."""
        with self._database.reading() as connection:
            return read_page(connection, query)

    def first_proposals(self, query: QueueQuery) -> list[FirstProposal]:
        """Return the first proposals of all concepts that match, also of 100,000."""
        with self._database.reading() as connection:
            return read_first_proposals(connection, query)

    def listed(self, concepts: Sequence[Concept]) -> bytes | None:
        """Return which concepts of the queue are in a list, for `QueueQuery`; None if all are."""
        with self._database.reading() as connection:
            return list_mask(connection, concepts)

    def counts(self, listed: bytes | None = None) -> dict[Status, int]:
        """Count the concepts of every status; only those of a list if one is given."""
        with self._database.reading() as connection:
            return count_statuses(connection, listed)

    def history(
        self, offset: int = 0, limit: int | None = 50, concept: str | None = None
    ) -> list[LoggedDecision]:
        """Return decisions, newest first; those about one concept if its key is given."""
        statement = select_logged().order_by(decisions.c.number.desc()).offset(offset)
        if limit is not None:
            statement = statement.limit(limit)
        if concept is not None:
            statement = statement.where(decisions.c.concept == concept)
        with self._database.reading() as connection:
            return [logged_decision(row) for row in connection.execute(statement)]

    def requested(self, request_id: str) -> list[LoggedDecision]:
        """Return the decisions of a request, in their order; none if it is new."""
        statement = select_logged().where(decisions.c.request_id == request_id)
        with self._database.reading() as connection:
            rows = connection.execute(statement.order_by(decisions.c.number))
            return [logged_decision(row) for row in rows]

    def export_suggestions(self) -> list[Suggestion]:
        """Return the accepted placements and the rejected proposals, for `suggestions_csv`."""
        with self._database.reading() as connection:
            return decided_suggestions(connection)

    def feedback(self) -> Feedback:
        """Return the decisions that are not undone, in the form that a model learns from."""
        with self._database.reading() as connection:
            return read_feedback(connection)

    def rebuild(self) -> None:
        """Derive the state of all concepts again, from the log and the proposals."""
        with self._database.writing() as connection:
            derive_whole_queue(connection)
