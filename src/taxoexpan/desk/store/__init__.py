"""The decision store: an append-only log in SQLite or PostgreSQL, and a queue derived from it."""
