"""The decision store: an append-only log of decisions in SQLite or PostgreSQL.

`DecisionStore` in `decision_store` is what others use; `records` and `queue_query` are the objects
that it takes and returns. The queue of concepts is derived from the log (`queue_derivation`), and
can be derived again at any time. `decision_exports` and `change_export` give decisions to other
programs, `tables` and `migrations` define the schema, and `database` opens either database.
"""
