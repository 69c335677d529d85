"""The tables of the decision store, their column types, and their versions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from datetime import UTC, datetime
from functools import partial
from typing import Any, TypeVar
from uuid import uuid4

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

from taxoexpan.decisions.suggestion import COLUMNS, Suggestion
from taxoexpan.desk.store.database import Database
from taxoexpan.desk.store.decisions import (
    Action,
    Reason,
    Status,
    StoredValueError,
    StoreError,
    storable,
)
from taxoexpan.taxonomy import Concept

T = TypeVar("T")
Transactions = Callable[[], AbstractContextManager[sa.Connection]]
"""Opens a transaction; what reads or writes much opens a new one for every part of it."""
CHUNK = 500
"""How many rows one short transaction reads, and how many keys one statement names."""
NOT_STORED = ("query", "query_id", "decision", "decided_by")
PROPOSED = tuple(name for name in COLUMNS if name not in NOT_STORED)
"""The columns of a suggestion that are stored with a proposal; its query has a row of its own."""
DECIDED = tuple(name for name in PROPOSED if name not in ("place", "why"))
"""The columns of a suggestion that are stored with a decision about it."""
VERSIONS = ("0001", "0002", "0003", "0004")
"""The versions of the tables.

The first one had no queue, the second one no edited concepts, the third one no identity.
"""


class Stored(TypeDecorator[Any]):
    """A column type that stores a value as the same string in SQLite and PostgreSQL."""

    impl = sa.Text
    cache_ok = True

    def __init__(self, write: Callable[[Any], str] = str, read: Callable[[str], Any] = str) -> None:
        super().__init__()
        self.write = write
        self.read = read

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:  # noqa: ARG002
        """Write a value, and replace the characters that databases refuse."""
        return None if value is None else storable(self.write(value))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:  # noqa: ARG002
        """Read a value, or raise StoredValueError if it is damaged."""
        try:
            return None if value is None else self.read(value)
        except (ValueError, TypeError, LookupError, AttributeError) as error:
            raise StoredValueError(str(error)) from error


def _write_suggestions(columns: Sequence[str], suggestions: Sequence[Suggestion]) -> str:
    rows = (suggestion.values() for suggestion in suggestions)
    return json.dumps([{name: values[name] for name in columns} for values in rows])


def _read_suggestions(text: str) -> tuple[Suggestion, ...]:
    """Read suggestions; their query stays empty, because it is stored in a row of its own."""
    return tuple(Suggestion.restored(Concept("", ""), values) for values in json.loads(text))


def _write_concept(concept: Concept) -> str:
    return json.dumps([concept.id, concept.label, concept.synonyms, concept.definition])


def _read_concept(text: str) -> Concept:
    id, label, synonyms, definition = json.loads(text)
    return Concept(id, label, tuple(synonyms), definition)


PLAIN_TEXT = Stored()
CONCEPT = Stored(_write_concept, _read_concept)
TEXTS = Stored(json.dumps, lambda text: tuple(json.loads(text)))
TIME = Stored(
    lambda time: time.astimezone(UTC).isoformat(timespec="microseconds"), datetime.fromisoformat
)
PAIRS = Stored(
    lambda pairs: json.dumps(sorted(pairs)),
    lambda text: frozenset((parent, merge) for parent, merge in json.loads(text)),
)
PROPOSALS = Stored(partial(_write_suggestions, PROPOSED), _read_suggestions)
SUGGESTIONS = Stored(partial(_write_suggestions, DECIDED), _read_suggestions)

metadata = sa.MetaData()

versions = sa.Table(
    "taxoexpan_schema", metadata, sa.Column("version_num", sa.String(32), primary_key=True)
)
"""The version of the tables, in one row."""

identity = sa.Table("taxoexpan_store", metadata, sa.Column("id", sa.String(32), primary_key=True))
"""The random id of the store, in one row. It never changes, and backups have the same.

The number that SQLite keeps for programs (`user_version`) would do, but PostgreSQL has none.
"""

concepts = sa.Table(
    "concepts",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("key", PLAIN_TEXT, nullable=False, unique=True),
    sa.Column("id", PLAIN_TEXT, nullable=False),
    sa.Column("label", PLAIN_TEXT, nullable=False),
    sa.Column("synonyms", TEXTS, nullable=False),
    sa.Column("definition", PLAIN_TEXT, nullable=False),
    sa.Column("searched", PLAIN_TEXT, nullable=False),
)
"""The new concepts, numbered as they were added; `searched` has their names without accents."""

decisions = sa.Table(
    "decisions",
    metadata,
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("concept", sa.ForeignKey("concepts.key"), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("action", Stored(read=Action), nullable=False),
    sa.Column("placements", SUGGESTIONS, nullable=False, key="suggestions"),
    sa.Column("passed_over", SUGGESTIONS, nullable=False),
    sa.Column("reason", Stored(read=Reason)),
    sa.Column("comment", PLAIN_TEXT, nullable=False),
    sa.Column("batch", PLAIN_TEXT),
    sa.Column("request_id", PLAIN_TEXT),
    sa.Column("label", PLAIN_TEXT, nullable=False),
    sa.Column("curator", PLAIN_TEXT, nullable=False),
    sa.Column("time", TIME, nullable=False),
    sa.Column("model", PLAIN_TEXT),
    sa.Column("undoes", sa.ForeignKey("decisions.number"), unique=True),
    sa.Column("edited", CONCEPT),
    sa.UniqueConstraint("concept", "version", name="one_decision_per_version"),
    sa.UniqueConstraint("request_id", "concept", name="one_decision_per_request"),
    sa.CheckConstraint("(action = 'undo') = (undoes IS NOT NULL)", name="undo_names_a_decision"),
    sa.Index("decisions_of_curators", "curator", "number"),
    sa.Index("decisions_of_batches", "batch"),
)
"""The log: a column per field of `LogEntry`. Triggers refuse to change or delete its rows."""

proposals = sa.Table(
    "proposals",
    metadata,
    sa.Column("concept", sa.ForeignKey("concepts.number"), primary_key=True, autoincrement=False),
    sa.Column("model", PLAIN_TEXT, nullable=False),
    sa.Column("suggestions", PROPOSALS, nullable=False),
)
"""The proposals of the latest model for each concept, best first, with the rejected ones."""

queue = sa.Table(
    "queue",
    metadata,
    sa.Column("concept", sa.ForeignKey("concepts.number"), primary_key=True, autoincrement=False),
    sa.Column("status", Stored(read=Status), nullable=False),
    sa.Column("version", sa.Integer, nullable=False),
    sa.Column("turn", sa.Integer, nullable=False),
    sa.Column("is_merge", sa.Boolean, nullable=False),
    sa.Column("confidence", sa.Float(53), nullable=False),
    sa.Column("parent_key", PLAIN_TEXT, index=True),
    sa.Column("branch", PLAIN_TEXT, nullable=False),
    sa.Column("parent_order", PLAIN_TEXT, nullable=False),
    sa.Column("rejected", PAIRS, nullable=False),
    sa.Column("placements", SUGGESTIONS, nullable=False, key="accepted"),
    sa.Column("comment", PLAIN_TEXT, nullable=False),
    sa.Column("curator", PLAIN_TEXT),
    sa.Column("edited", CONCEPT),
)
"""The current state of every concept, derived from the log and the proposals.

`turn` is 0, or the number of the decision that deferred the concept. `is_merge`, `confidence`,
`parent_key` and `branch` belong to the first proposal (false, -1, null and empty without one), and
`parent_order` sorts concepts with the same first proposal next to each other. The status and
`is_merge` are the last columns of the indexes, so that all orders are read from an index.
"""

_identity = sa.select(identity.c.id)
_FILTERED = "concept", "status", "is_merge"
_confidence = queue.c.confidence.desc()
sa.Index("queue_by_confidence", queue.c.turn, _confidence, *_FILTERED)
sa.Index("queue_by_parent", queue.c.turn, "parent_order", _confidence, *_FILTERED)
sa.Index("queue_by_number", queue.c.turn, *_FILTERED)
_is_merge = queue.c.is_merge == sa.true()
sa.Index("queue_of_merges", queue.c.status, sqlite_where=_is_merge, postgresql_where=_is_merge)


def chunks(items: Sequence[T]) -> Iterator[Sequence[T]]:
    """Yield parts of a sequence that are small enough for one SQL statement."""
    for start in range(0, len(items), CHUNK):
        yield items[start : start + CHUNK]


def read_parts(
    reading: Transactions, selected: sa.Select[Any], number: sa.Column[Any]
) -> Iterator[sa.Row[Any]]:
    """Yield the selected rows of a numbered table in order, without a long transaction."""
    with reading() as connection:
        last = connection.scalar(sa.select(sa.func.max(number))) or 0
    for start in range(1, last + 1, CHUNK):
        part = selected.where(number.between(start, min(start + CHUNK - 1, last)))
        with reading() as connection:
            rows = connection.execute(part.order_by(number)).all()
        yield from rows


def migrate(database: Database, must_exist: bool = False) -> bool:
    """Create or update the tables and return whether anything changed; refuse other databases.

    With `must_exist`, a database without tables is refused, too.
    """
    with database.reading() as connection:
        version = _version(database, connection)
    if version == VERSIONS[-1]:
        return False
    if version is None and must_exist:
        message = "is empty, so it is not a decision store"
        raise StoreError(f"{database.name}: {message}", fix="give the one that review has written")
    with database.writing() as connection:
        version = _version(database, connection)
        if version == VERSIONS[-1]:  # another process has migrated it in the meantime
            return False
        if version in VERSIONS[:2]:
            queue.drop(connection, checkfirst=True)  # it is derived again
            column = sa.schema.CreateColumn(decisions.c.edited).compile(connection)
            connection.exec_driver_sql(f"ALTER TABLE decisions ADD COLUMN {column}")
        metadata.create_all(connection)  # only the tables that are missing
        if version is None:
            _protect_log(connection)
        if read_identity(connection) is None:
            connection.execute(sa.insert(identity), [{"id": uuid4().hex}])
        connection.execute(sa.delete(versions))
        connection.execute(sa.insert(versions), [{"version_num": VERSIONS[-1]}])
    return True


def read_identity(connection: sa.Connection) -> str | None:
    """Return the id of the store, or None if it has none yet."""
    return connection.scalar(_identity)


def _version(database: Database, connection: sa.Connection) -> str | None:
    """Return the version of the tables, or None if there are no tables."""
    names = set(sa.inspect(connection).get_table_names())
    if versions.name not in names:
        foreign = names if database.is_sqlite else names & set(metadata.tables)
        if foreign:
            found = f"the table {min(foreign)} of another program"
            raise StoreError(f"{database.name}: has {found}", fix="give another name")
        return None
    version = connection.scalar(sa.select(versions.c.version_num))
    if version is not None and version not in VERSIONS:
        message = f"was written by a newer version of taxoexpan (schema {version})"
        raise StoreError(f"{database.name}: {message}", fix="update taxoexpan")
    return version


def _protect_log(connection: sa.Connection) -> None:
    """Create the triggers that make the log append-only."""
    message = "the log of decisions is append-only"
    if connection.dialect.name != "sqlite":
        connection.exec_driver_sql(
            "CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION '{message}'; END $$"
        )
        connection.exec_driver_sql(
            "CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE ON decisions "
            "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
        )
        return
    # INSERT OR REPLACE deletes rows without firing the trigger for DELETE.
    taken = " OR ".join(
        f"EXISTS (SELECT 1 FROM decisions WHERE {same})"
        for same in (
            "number = NEW.number",
            "undoes = NEW.undoes",
            "concept = NEW.concept AND version = NEW.version",
            "concept = NEW.concept AND request_id = NEW.request_id",
        )
    )
    for name, event in (
        ("UPDATE", "UPDATE ON decisions"),
        ("DELETE", "DELETE ON decisions"),
        ("replacing", f"INSERT ON decisions WHEN {taken}"),
    ):
        refuse = f"BEGIN SELECT RAISE(ABORT, '{message}'); END"
        connection.exec_driver_sql(f"CREATE TRIGGER refuse_{name} BEFORE {event} {refuse}")
