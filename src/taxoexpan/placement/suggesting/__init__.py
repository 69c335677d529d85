"""Suggesting: parents for new concepts, and what curators think of them.

`proposals` ranks and assesses queries, and turns the result into `suggestions`, which are written
as `suggestion_tables`. `feedback` has the decisions of curators. Nothing is exported here.
"""
