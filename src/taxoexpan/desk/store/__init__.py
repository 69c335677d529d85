"""The decision store: an append-only log of decisions in SQLite or PostgreSQL."""
