"""The decision store: an append-only log of decisions in SQLite or PostgreSQL.

`DecisionStore` in `decision_store` is what others use; `records` and `queue` have the objects that
it takes and returns. The queue of concepts is derived from the log (`queue`), and can be derived
again at any time. `concepts` adds new concepts and proposals, `writing` appends decisions,
`history` reads them, and `exports` gives them to other programs. `tables` defines and migrates the
schema, and `database` opens either database.
"""
