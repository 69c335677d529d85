"""Create the concepts, their proposals, and the append-only log of decisions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

_TEXT = sa.Text()
_MESSAGE = "the log of decisions is append-only"


def upgrade() -> None:
    """Create the tables, and the triggers that protect the log."""
    op.create_table(
        "concepts",
        sa.Column("number", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("key", _TEXT, nullable=False, unique=True),
        *(
            sa.Column(name, _TEXT, nullable=False)
            for name in ("id", "label", "synonyms", "definition", "searched")
        ),
    )
    op.create_table(
        "proposals",
        sa.Column(
            "concept",
            sa.Integer(),
            sa.ForeignKey("concepts.number"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("model", _TEXT, nullable=False),
        sa.Column("suggestions", _TEXT, nullable=False),
    )
    _create_log()
    if op.get_bind().dialect.name == "sqlite":
        _protect_in_sqlite()
    else:
        _protect_in_postgresql()


def _create_log() -> None:
    op.create_table(
        "decisions",
        sa.Column("number", sa.Integer(), primary_key=True, autoincrement=False),
        sa.Column("concept", _TEXT, sa.ForeignKey("concepts.key"), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("action", _TEXT, nullable=False),
        sa.Column("placements", _TEXT, nullable=False),
        sa.Column("passed_over", _TEXT, nullable=False),
        sa.Column("reason", _TEXT),
        sa.Column("comment", _TEXT, nullable=False),
        sa.Column("batch", _TEXT),
        sa.Column("request_id", _TEXT),
        sa.Column("label", _TEXT, nullable=False),
        sa.Column("curator", _TEXT, nullable=False),
        sa.Column("time", _TEXT, nullable=False),
        sa.Column("model", _TEXT),
        sa.Column("undoes", sa.Integer(), sa.ForeignKey("decisions.number"), unique=True),
        sa.UniqueConstraint("concept", "version", name="one_decision_per_version"),
        sa.UniqueConstraint("request_id", "concept", name="one_decision_per_request"),
        sa.CheckConstraint(
            "(action = 'undo') = (undoes IS NOT NULL)", name="undo_names_a_decision"
        ),
    )
    op.create_index("decisions_of_curators", "decisions", ["curator", "number"])
    op.create_index("decisions_of_batches", "decisions", ["batch"])


def _protect_in_sqlite() -> None:
    refuse = f"BEGIN SELECT RAISE(ABORT, '{_MESSAGE}'); END"
    for event in ("UPDATE", "DELETE"):
        op.execute(f"CREATE TRIGGER refuse_{event} BEFORE {event} ON decisions {refuse}")
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
    op.execute(f"CREATE TRIGGER refuse_replacing BEFORE INSERT ON decisions WHEN {taken} {refuse}")


def _protect_in_postgresql() -> None:
    op.execute(
        "CREATE FUNCTION refuse_change() RETURNS trigger LANGUAGE plpgsql AS "
        f"$$ BEGIN RAISE EXCEPTION '{_MESSAGE}'; END $$"
    )
    op.execute(
        "CREATE TRIGGER refuse_change BEFORE UPDATE OR DELETE OR TRUNCATE ON decisions "
        "FOR EACH STATEMENT EXECUTE FUNCTION refuse_change()"
    )
