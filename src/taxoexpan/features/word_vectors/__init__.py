"""Word vectors from a file."""
