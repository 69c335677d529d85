"""Reading a table of suggestions in tests, without a taxonomy to look up parents in."""

from __future__ import annotations

from pathlib import Path

from taxoexpan.placement.suggesting.suggestion_table import read_rows
from taxoexpan.placement.suggesting.suggestions import Suggestion
from taxoexpan.taxonomy import Taxonomy


def read_suggestions(path: Path, movable: Taxonomy | None = None) -> list[Suggestion]:
    """Read a table of suggestions, as it was written or as a person has edited it.

    A query that a person has added may have a blank id. The concepts to move must be in `movable`.
    """
    return [suggestion for _, suggestion in read_rows(path, ("parent_id",), movable)]
