"""The decision store: the queue of new concepts, and the log of decisions about them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Concatenate, ParamSpec, Self, TypeVar

from sqlalchemy import Connection

from taxoexpan.desk.store.concepts import (
    accepted_once,
    add_concepts,
    key_mask,
    lacking_proposals,
    list_mask,
    set_proposals,
)
from taxoexpan.desk.store.database import Database
from taxoexpan.desk.store.decisions import Decision, StoreError
from taxoexpan.desk.store.exports import decided_suggestions, read_feedback
from taxoexpan.desk.store.history import (
    read_decision,
    read_history,
    read_requested,
    recent_decisions,
)
from taxoexpan.desk.store.queue import (
    count_page,
    count_statuses,
    derive_whole_queue,
    read_concept,
    read_first_proposals,
    read_page,
)
from taxoexpan.desk.store.tables import migrate
from taxoexpan.desk.store.writing import append_decisions, last_number, undo_decisions

P = ParamSpec("P")
T = TypeVar("T")


def _method(
    function: Callable[Concatenate[Connection, P], T], writes: bool
) -> Callable[Concatenate[DecisionStore, P], T]:
    """Return a method that calls a function in a transaction for reading or writing."""

    def method(store: DecisionStore, /, *arguments: P.args, **options: P.kwargs) -> T:
        database = store._database
        with database.writing() if writes else database.reading() as connection:
            return function(connection, *arguments, **options)

    method.__doc__ = function.__doc__
    return method


def _logged(
    function: Callable[Concatenate[Connection, P], list[Decision]],
) -> Callable[Concatenate[DecisionStore, P], list[Decision]]:
    """Return a method that appends to the log, unless the log has lost decisions."""

    def method(store: DecisionStore, /, *arguments: P.args, **options: P.kwargs) -> list[Decision]:
        with store._database.writing() as connection:
            if last_number(connection) < store._last_number:
                message = "has lost decisions, for example because an older backup was restored"
                raise StoreError(f"{store.name}: {message}; stop this program, and start it again")
            appended = function(connection, *arguments, **options)
        store._last_number = max(store._last_number, *(each.number for each in appended), 0)
        return appended

    method.__doc__ = function.__doc__
    return method


class DecisionStore:
    """New concepts, their proposals, and a log of decisions, safe for threads and processes."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._last_number = 0

    @classmethod
    def open(cls, url: str, must_exist: bool = False) -> Self:
        """Open a SQLite file or a PostgreSQL URL; create or migrate the tables if needed."""
        database = Database.connect(url, must_exist)
        store = cls(database)
        try:
            if migrate(database):
                store.rebuild()
        except BaseException:
            database.close()
            raise
        return store

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close all connections."""
        self._database.close()

    @property
    def name(self) -> str:
        """The file, or the host and the database, without the password."""
        return self._database.name

    add_concepts = _method(add_concepts, writes=True)
    set_proposals = _method(set_proposals, writes=True)
    append = _logged(append_decisions)
    undo = _logged(undo_decisions)
    rebuild = _method(derive_whole_queue, writes=True)
    without_proposals = _method(lacking_proposals, writes=False)
    accepted_once = _method(accepted_once, writes=False)
    listed = _method(list_mask, writes=False)
    mask = _method(key_mask, writes=False)
    concept = _method(read_concept, writes=False)
    queue = _method(read_page, writes=False)
    first_proposals = _method(read_first_proposals, writes=False)
    counts = _method(count_statuses, writes=False)
    count = _method(count_page, writes=False)
    history = _method(read_history, writes=False)
    recent_decisions = _method(recent_decisions, writes=False)
    decision = _method(read_decision, writes=False)
    requested = _method(read_requested, writes=False)
    export_suggestions = _method(decided_suggestions, writes=False)
    feedback = _method(read_feedback, writes=False)
