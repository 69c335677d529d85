"""The decision store: an append-only log of decisions in SQLite or PostgreSQL.

Other packages use `DecisionStore` and the objects in `records` and `queue`. The queue is derived
from the log, and can be derived again at any time.
"""
