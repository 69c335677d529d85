"""Suggesting: parents for new concepts, and the decisions of curators.

`proposals` ranks and assesses queries, and turns the result into `suggestions`, which are written
as `suggestion_tables`. `results` groups them by concept. `feedback` has the decisions of curators.
"""
