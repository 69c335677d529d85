"""CSV and TSV tables: one row per concept (`concept_rows`), or one per relation (`edge_list`)."""
