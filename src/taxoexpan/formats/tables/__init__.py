"""Tables of concepts: one row per concept, or one row per relation."""
