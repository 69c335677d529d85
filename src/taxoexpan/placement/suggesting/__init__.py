"""Suggesting: parents for new concepts, and what curators think of them.

`query_assessment` ranks and assesses, and `proposals` turns this into `suggestions`, which are
written as a `suggestion_table` or by `suggestion_parquet`. `query_details` adds the texts of the
list of new concepts. `feedback` is what curators have decided, and `rejections` are not proposed
again. Import from the modules; nothing is exported here.
"""
