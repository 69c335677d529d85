"""Create the queue, which is derived from the log; opening the store fills it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

_TEXT = sa.Text()


def upgrade() -> None:
    """Create the queue and its indexes."""
    op.create_table(
        "queue",
        sa.Column(
            "concept",
            sa.Integer(),
            sa.ForeignKey("concepts.number"),
            primary_key=True,
            autoincrement=False,
        ),
        sa.Column("status", _TEXT, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("confidence", sa.Float(53), nullable=False),
        sa.Column("parent_key", _TEXT),
        sa.Column("branch", _TEXT, nullable=False),
        sa.Column("parent_order", _TEXT, nullable=False),
        sa.Column("rejected", _TEXT, nullable=False),
        sa.Column("placements", _TEXT, nullable=False),
        sa.Column("comment", _TEXT, nullable=False),
        sa.Column("curator", _TEXT),
    )
    confidence = sa.text("confidence DESC")
    for name, columns in (
        ("queue_by_confidence", [confidence]),
        ("queue_by_parent", ["parent_order", confidence]),
        ("queue_by_number", []),
    ):
        op.create_index(name, "queue", ["turn", *columns, "concept", "status"])
    op.create_index("ix_queue_parent_key", "queue", ["parent_key"])
