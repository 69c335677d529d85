"""Suggesting: parents for new concepts, and what curators think of them.

`proposals` ranks and assesses queries, and turns this into `suggestions`, which are
written as `tables`. `feedback` is what curators have decided. Import from the modules; nothing is
exported here.
"""
