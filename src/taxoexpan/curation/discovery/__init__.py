"""New concepts found in a corpus: phrases counted, what the text says of them, and a ranking."""

from taxoexpan.curation.discovery.term_discovery import Discovery, discover, discoveries_text

__all__ = ["Discovery", "discover", "discoveries_text"]
