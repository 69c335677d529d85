"""Reading a table of suggestions in tests, without a taxonomy to look up parents in."""

from __future__ import annotations

from pathlib import Path

from taxoexpan.placement.suggesting.suggestion_tables import read_rows
from taxoexpan.placement.suggesting.suggestions import Suggestion


def read_suggestions(path: Path) -> list[Suggestion]:
    """Read a table of suggestions, as it was written or as a person has edited it."""
    return [suggestion for _, suggestion in read_rows(path)]
