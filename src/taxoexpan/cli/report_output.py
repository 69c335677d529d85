"""What the commands that write a report share, and what they say of doubtful suggestions."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.messages import MOST_NOTES, note
from taxoexpan.errors import FormatError

if TYPE_CHECKING:
    from taxoexpan.placement.suggestions import Suggestion
    from taxoexpan.report.html import Page


NAMED = 5
"""Concepts without a good place that are named."""


def add_report(parser: argparse.ArgumentParser, help: str) -> None:
    """Where the report goes."""
    parser.add_argument("--report", type=Path, metavar="HTML", help=help)


def refuse_inside(path: Path, directory: Path, which: str = "is written whole") -> None:
    """Nothing is put into a model, nor among the files of a taxonomy."""
    if path.resolve().is_relative_to(directory.resolve()):
        raise FormatError(path, f"lies in {directory}, which {which}; choose another place")


def write_report(options: argparse.Namespace, page: Page) -> None:
    """Write the page where the options say."""
    from taxoexpan.files import write_whole
    from taxoexpan.report.html import render

    write_whole({options.report: render(page).encode()}, options.force)
    note(f"report in {options.report}")


def note_merges(merged: Sequence[Suggestion], outcome: str = "") -> None:
    """Say which new concepts are likely other names of what is there, and what became of them."""
    for suggestion in merged[:MOST_NOTES]:
        query, known = suggestion.query.label, suggestion.parent.label or suggestion.parent.id
        sure = f"{suggestion.confidence_or_score:.2f}"
        # A person's own decision is no guess.
        told = f"likely another name of {known!r} ({sure})" if suggestion.rank else ""
        note(f"{query!r} is {told or f'another name of {known!r}'}{outcome}")
    if len(merged) > MOST_NOTES:
        note(f"… and {len(merged) - MOST_NOTES:,} more are likely other names{outcome}")


def note_left_out(reasons: Sequence[str]) -> None:
    """Say which moves and further names were left out, and why."""
    for reason in reasons[:MOST_NOTES]:
        note(f"note: {reason}")
    if len(reasons) > MOST_NOTES:
        note(f"note: … and {len(reasons) - MOST_NOTES:,} more moves and names were left out")


def note_homeless(suggestions: Sequence[Suggestion]) -> None:
    """Say how many new concepts have no good place, and name some."""
    from taxoexpan.placement.selection import without_place

    homeless = without_place(suggestions)
    if not homeless:
        return
    count = len({suggestion.query.id for suggestion in suggestions})
    names = ", ".join(repr(each.query.label) for each in homeless[:NAMED])
    rest = ", …" if len(homeless) > NAMED else ""
    verb = "has" if len(homeless) == 1 else "have"
    note(
        f"note: {len(homeless):,} of {count:,} new concepts {verb} no good place in the taxonomy: "
        f"{names}{rest}"
    )
