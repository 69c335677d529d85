"""New concepts found in a corpus: phrases counted, what the text says of them, and a ranking."""

from taxoexpan.discovery.discovering import Discovery, discover, discoveries_text

__all__ = ["Discovery", "discover", "discoveries_text"]
