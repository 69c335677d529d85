"""CSV, TSV and Excel tables with one row per concept, per relation or per category path."""
