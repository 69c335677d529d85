"""A text corpus: its `documents`, the `sentences` in them, and `parallel` processing."""
