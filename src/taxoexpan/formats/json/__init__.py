"""JSON: the format with all known schemas, and a parser and editor that all JSON formats use."""
