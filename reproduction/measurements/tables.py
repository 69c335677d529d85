"""Tables in Markdown."""

from __future__ import annotations

from collections.abc import Sequence


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def format_fraction(value: float | None, digits: int = 2) -> str:
    """Format a fraction without its leading zero: .25."""
    return "–" if value is None else f"{value:.{digits}f}".removeprefix("0")
