"""Suggestions as a text table for people."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from taxoexpan.placement.suggestions import Suggestion


def placements_table(suggestions: Sequence[Suggestion], runners_up: int = 2) -> str:
    """Return one line per term: best parent, confidence (or score), path, and runners-up.

    A probable synonym has = before the existing concept. An explanation follows below its line.
    """
    calibrated = any(suggestion.confidence is not None for suggestion in suggestions)
    head = "CONFIDENCE" if calibrated else "SCORE"
    rows: list[tuple[str, ...]] = [("TERM", "PARENT", head, "PATH", "RUNNERS-UP")]
    reasons = [""]
    for _, group in groupby(suggestions, key=lambda suggestion: suggestion.query.id):
        best, *others = group
        rows.append(
            (
                best.query.label,
                _named(best),
                f"{best.confidence_or_score:.2f}",
                " > ".join(best.path),
                ", ".join(f"{_named(o)} {o.confidence_or_score:.2f}" for o in others[:runners_up]),
            )
        )
        reasons.append(next((each.why for each in (best, *others) if each.why), ""))
    width = shutil.get_terminal_size((160, 40)).columns
    lines = []
    for line, why in zip(_aligned(rows, width), reasons, strict=True):
        lines += [line, *textwrap.wrap(why, width, initial_indent="    ", subsequent_indent="    ")]
    return "\n".join(lines)


def _named(suggestion: Suggestion) -> str:
    from taxoexpan.placement.suggestions import SuggestionKind

    label = suggestion.parent.label
    return f"= {label}" if suggestion.kind == SuggestionKind.MERGE else label


def _aligned(rows: list[tuple[str, ...]], width: int) -> list[str]:
    """Align the rows in columns; a narrow terminal shortens the path."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    widths[:2] = [min(size, 28) for size in widths[:2]]
    others = sum(widths) - widths[3] + 2 * (len(widths) - 1)
    widths[3] = max(20, min(widths[3], width - others))
    return [
        "  ".join(
            _cut(cell, size, from_left=column == 3).ljust(size)
            for column, (cell, size) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]


def _cut(cell: str, size: int, from_left: bool) -> str:
    if len(cell) <= size:
        return cell
    return "…" + cell[1 - size :] if from_left else cell[: size - 1] + "…"
