"""Decisions: what is suggested for new concepts, what is decided, and what is added.

Nothing here needs a model or torch. A `suggestion` is what a model says; `suggestions` groups them
by concept. `acceptance` decides, `additions` turns what is accepted into safe changes of a
taxonomy, and `applying` writes them to a file. `suggestion_tables` reads and writes CSV and
Parquet, and `parent_lookup` finds the parents that a person has named. `feedback` is what a model
learns from.
"""
