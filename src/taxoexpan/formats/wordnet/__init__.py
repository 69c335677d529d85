"""WordNet's own files."""
