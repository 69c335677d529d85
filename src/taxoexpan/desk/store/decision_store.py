"""The decision store: the queue of new concepts, and the log of decisions about them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from sqlalchemy import Connection

from taxoexpan.desk.store.concepts import (
    accepted_once,
    add_concepts,
    key_mask,
    lacking_proposals,
    list_mask,
    set_proposals,
)
from taxoexpan.desk.store.database import REPLACED, Database
from taxoexpan.desk.store.decisions import StoreError
from taxoexpan.desk.store.exports import decided_suggestions, read_feedback
from taxoexpan.desk.store.history import (
    has_entry,
    last_entry,
    read_decision,
    read_history,
    read_log,
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
from taxoexpan.desk.store.tables import Transactions, migrate, read_identity
from taxoexpan.desk.store.writing import append_decisions, undo_decisions

P = ParamSpec("P")
T = TypeVar("T")


def _method(
    function: Callable[Concatenate[Connection, P], T], writes: bool
) -> Callable[Concatenate[DecisionStore, P], T]:
    """Return a method that calls a function in a transaction for reading or writing."""

    def method(store: DecisionStore, /, *arguments: P.args, **options: P.kwargs) -> T:
        with store._writing() if writes else store._reading() as connection:
            return function(connection, *arguments, **options)

    method.__doc__ = function.__doc__
    return method


def _long_method(
    function: Callable[Concatenate[Transactions, P], T], writes: bool
) -> Callable[Concatenate[DecisionStore, P], T]:
    """Return a method that calls a function, which opens a short transaction for every part."""

    def method(store: DecisionStore, /, *arguments: P.args, **options: P.kwargs) -> T:
        return function(store._writing if writes else store._reading, *arguments, **options)

    method.__doc__ = function.__doc__
    return method


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
        """Open a SQLite file or a PostgreSQL URL; create or migrate the tables if needed."""
        database = Database.connect(url, must_exist)
        store = cls(database)
        try:
            database.check()
            if migrate(database):
                store.rebuild()
            with store._reading() as connection:
                store._id, store._last = read_identity(connection), last_entry(connection)
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
            last = last_entry(connection)
        with self._database.reading() as connection:  # the file may have been replaced meanwhile
            self._require(connection, last)
        if last and (self._last is None or last[0] > self._last[0]):  # not an earlier thread's
            self._last = last

    def _require(self, connection: Connection, entry: tuple[Any, ...] | None) -> None:
        """Raise an error if this is another store, or if its log lacks an entry."""
        is_other = self._id is not None and self._id != read_identity(connection)
        if is_other or (entry is not None and not has_entry(connection, entry)):
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

    add_concepts = _long_method(add_concepts, writes=True)
    set_proposals = _method(set_proposals, writes=True)
    append = _method(append_decisions, writes=True)
    undo = _method(undo_decisions, writes=True)
    rebuild = _method(derive_whole_queue, writes=True)
    without_proposals = _long_method(lacking_proposals, writes=False)
    accepted_once = _long_method(accepted_once, writes=False)
    listed = _long_method(list_mask, writes=False)
    mask = _long_method(key_mask, writes=False)
    concept = _method(read_concept, writes=False)
    queue = _method(read_page, writes=False)
    first_proposals = _long_method(read_first_proposals, writes=False)
    counts = _method(count_statuses, writes=False)
    count = _method(count_page, writes=False)
    history = _method(read_history, writes=False)
    log = _long_method(read_log, writes=False)
    recent_decisions = _method(recent_decisions, writes=False)
    decision = _method(read_decision, writes=False)
    requested = _method(read_requested, writes=False)
    export_suggestions = _long_method(decided_suggestions, writes=False)
    feedback = _long_method(read_feedback, writes=False)
