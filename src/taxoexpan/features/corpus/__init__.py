"""A text corpus: its `documents`, the `phrases` in them, and `parallel` processing."""
