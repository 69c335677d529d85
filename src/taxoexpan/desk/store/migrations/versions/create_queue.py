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
        sa.Column("concept", _TEXT, sa.ForeignKey("concepts.key"), primary_key=True),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("status", _TEXT, nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("turn", sa.Integer(), nullable=False),
        sa.Column("confidence", sa.Float(53), nullable=False),
        sa.Column("parent_id", _TEXT),
        sa.Column("branch", _TEXT, nullable=False),
        sa.Column("parent_order", _TEXT, nullable=False),
        sa.Column("placements", _TEXT, nullable=False),
        sa.Column("comment", _TEXT, nullable=False),
        sa.Column("curator", _TEXT),
    )
    confidence = sa.text("confidence DESC")
    for name, columns in (
        ("queue_by_confidence", [confidence, "position"]),
        ("queue_by_parent", ["parent_order", confidence]),
        ("queue_by_position", ["position"]),
    ):
        op.create_index(name, "queue", ["status", "turn", *columns])
