"""Messages to the user and JSON output."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from taxoexpan.placement.calibrators import Calibrators


MOST_NOTES = 10
FEW_QUERIES = 20
PRECISIONS = (0.95, 0.9, 0.8)
"""How many of the accepted parents are to be right, for which a user is told what that covers."""


def note(message: str) -> None:
    """Tell the user something, on standard error."""
    print(message, file=sys.stderr)


def as_json(content: object) -> str:
    """A result for a program to read."""
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def print_json(content: object) -> None:
    """Print a result for a program to read."""
    print(as_json(content), end="")


def trust_lines(calibrators: Calibrators) -> list[str]:
    """What held-out leaves tell of how far to trust the confidence, for a person to read."""
    from taxoexpan.placement.confidence import MIN_HELD_OUT

    if calibrators.calibration is None:
        message = f"confidence: none, since that takes {MIN_HELD_OUT} leaves that are held out"
        return [f"{message}; --set validation_fraction=0.3 would hold out more"]
    told = calibrators.calibration.reliability
    lines = [f"confidence: expected calibration error {told.error:.3f} on leaves it was not set by"]
    for precision in PRECISIONS:
        threshold = told.threshold(precision)
        if threshold is not None:
            covered = sum(c >= threshold for c in told.confidence) / len(told.confidence)
            lines.append(
                f"confidence: {precision:.0%} of the parents are right from {threshold:.2f} on, "
                f"which accepts {covered:.0%} of the leaves"
            )
    if len(lines) == 1:
        lines.append(f"confidence: there is none from which on {PRECISIONS[-1]:.0%} are right")
    return lines
