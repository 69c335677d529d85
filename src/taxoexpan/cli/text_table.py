"""Suggestions as a text table for people."""

from __future__ import annotations

import shutil
import textwrap
from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from taxoexpan.phrasing import ranked_numbers, visible

if TYPE_CHECKING:
    from taxoexpan.placement.suggesting.suggestions import Suggestion

HEAD = ("TERM", "PARENT", "CONFIDENCE", "DECISION", "PATH", "RUNNERS-UP")
PATH = HEAD.index("PATH")


def placements_table(suggestions: Sequence[Suggestion], runners_up: int = 2) -> str:
    """Return one line per term: best parent, confidence (or score), path, and runners-up.

    Decisions are shown if there are any. A probable synonym has = before the existing concept. An
    explanation follows below its line.
    """
    rows, reasons = [list(HEAD)], [""]
    if all(suggestion.confidence is None for suggestion in suggestions):
        rows[0][HEAD.index("CONFIDENCE")] = "SCORE"
    for _, group in groupby(suggestions, key=lambda suggestion: suggestion.query.id):
        ranked = list(group)
        rows.append([visible(cell) for cell in _row(ranked[: 1 + runners_up])])
        reasons.append(visible(next((each.why for each in ranked if each.why), "")))
    decided = any(suggestion.decision for suggestion in suggestions)
    hidden = -1 if decided else HEAD.index("DECISION")
    width = shutil.get_terminal_size((160, 40)).columns
    lines = []
    for line, why in zip(_aligned(rows, width, hidden), reasons, strict=True):
        lines += [line, *textwrap.wrap(why, width, initial_indent="    ", subsequent_indent="    ")]
    return "\n".join(lines)


def _row(shown: Sequence[Suggestion]) -> list[str]:
    """Return the cells of one term, given its first suggestions."""
    best = shown[0]
    numbers = ranked_numbers([s.confidence_or_score for s in shown], [s.score for s in shown])
    others = [f"{_named(s)} {number}" for s, number in zip(shown[1:], numbers[1:], strict=True)]
    path = " > ".join(best.path)
    return [
        best.query.label,
        _named(best),
        numbers[0],
        best.decision.value,
        path,
        ", ".join(others),
    ]


def _named(suggestion: Suggestion) -> str:
    from taxoexpan.placement.suggesting.suggestions import SuggestionKind

    label = suggestion.parent.label
    return f"= {label}" if suggestion.kind == SuggestionKind.MERGE else label


def _aligned(rows: list[list[str]], width: int, hidden: int) -> list[str]:
    """Align the rows in columns without the hidden one; a narrow terminal shortens the path."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    widths[:2] = [min(size, 28) for size in widths[:2]]
    shown = [column for column in range(len(HEAD)) if column != hidden]
    others = sum(widths[column] + 2 for column in shown if column != PATH)
    widths[PATH] = max(20, min(widths[PATH], width - others))
    return [
        "  ".join(
            _cut(row[column], widths[column], from_left=column == PATH).ljust(widths[column])
            for column in shown
        ).rstrip()
        for row in rows
    ]


def _cut(cell: str, size: int, from_left: bool) -> str:
    if len(cell) <= size:
        return cell
    return "…" + cell[1 - size :] if from_left else cell[: size - 1] + "…"
