"""Migrations of the store's tables, for Alembic."""
