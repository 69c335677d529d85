"""Writing HTML reports."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from taxoexpan.cli.messages import note

if TYPE_CHECKING:
    from taxoexpan.report.page import Page


def write_report(path: Path, page: Page, force: bool) -> None:
    """Write an HTML report."""
    from taxoexpan.files import write_whole
    from taxoexpan.report.page import render

    write_whole({path: render(page).encode()}, force)
    note(f"report written to {path}")
