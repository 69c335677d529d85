"""Suggesting: parents for new concepts, and what curators think of them.

`query_assessment` ranks and assesses, and `proposals` turns this into `suggestions`, which are
written as `tables`. `feedback` is what curators have decided. Import from the modules; nothing is
exported here.
"""
