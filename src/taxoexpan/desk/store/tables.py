"""The tables of the decision store; the migrations create them."""

from __future__ import annotations

from sqlalchemy import (
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    Table,
    UniqueConstraint,
)

from taxoexpan.desk.store.column_types import (
    CleanText,
    Pairs,
    Placements,
    Proposals,
    TextTuple,
    UtcTime,
)

VERSION_TABLE = "taxoexpan_schema"
"""The table in which Alembic keeps the version of the schema."""

metadata = MetaData()

concepts = Table(
    "concepts",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("key", CleanText, nullable=False, unique=True),
    Column("id", CleanText, nullable=False),
    Column("label", CleanText, nullable=False),
    Column("synonyms", TextTuple, nullable=False),
    Column("definition", CleanText, nullable=False),
    Column("searched", CleanText, nullable=False),
)
"""The new concepts, numbered as they were added; `searched` has their names without accents."""

decisions = Table(
    "decisions",
    metadata,
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("concept", ForeignKey("concepts.key"), nullable=False),
    Column("version", Integer, nullable=False),
    Column("action", CleanText, nullable=False),
    Column("placements", Placements, nullable=False),
    Column("passed_over", Placements, nullable=False),
    Column("reason", CleanText),
    Column("comment", CleanText, nullable=False),
    Column("batch", CleanText),
    Column("request_id", CleanText),
    Column("label", CleanText, nullable=False),
    Column("curator", CleanText, nullable=False),
    Column("time", UtcTime, nullable=False),
    Column("model", CleanText),
    Column("undoes", ForeignKey("decisions.number"), unique=True),
    UniqueConstraint("concept", "version", name="one_decision_per_version"),
    UniqueConstraint("request_id", "concept", name="one_decision_per_request"),
    CheckConstraint("(action = 'undo') = (undoes IS NOT NULL)", name="undo_names_a_decision"),
    Index("decisions_of_curators", "curator", "number"),
    Index("decisions_of_batches", "batch"),
)
"""The log; triggers refuse to change or delete its rows."""

proposals = Table(
    "proposals",
    metadata,
    Column("concept", ForeignKey("concepts.number"), primary_key=True, autoincrement=False),
    Column("model", CleanText, nullable=False),
    Column("suggestions", Proposals, nullable=False),
)
"""The proposals of the latest model for each concept, best first, with the rejected ones."""

queue = Table(
    "queue",
    metadata,
    Column("concept", ForeignKey("concepts.number"), primary_key=True, autoincrement=False),
    Column("status", CleanText, nullable=False),
    Column("version", Integer, nullable=False),
    Column("turn", Integer, nullable=False),
    Column("confidence", Float(53), nullable=False),
    Column("parent_key", CleanText, index=True),
    Column("branch", CleanText, nullable=False),
    Column("parent_order", CleanText, nullable=False),
    Column("rejected", Pairs, nullable=False),
    Column("placements", Placements, nullable=False),
    Column("comment", CleanText, nullable=False),
    Column("curator", CleanText),
)
"""The current state of every concept, derived from the log and the proposals.

`turn` is 0, or the number of the decision that deferred the concept. `confidence`, `parent_key`
and `branch` are those of the first proposal (-1, null and empty without one), and `parent_order`
sorts concepts with the same first proposal next to each other. The status is the last column of the
indexes, so that all orders are read from an index, for any choice of statuses.
"""

Index("queue_by_confidence", queue.c.turn, queue.c.confidence.desc(), "concept", "status")
Index(
    "queue_by_parent", queue.c.turn, "parent_order", queue.c.confidence.desc(), "concept", "status"
)
Index("queue_by_number", queue.c.turn, "concept", "status")
