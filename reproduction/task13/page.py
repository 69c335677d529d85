"""The page of SemEval-2016 Task 13: our stored runs, and published results with their sources."""

from __future__ import annotations

from pathlib import Path

from reproduction.experiments import TASK13, find_experiments
from reproduction.measurements.placements import quoted_experiments
from reproduction.measurements.runner import stored_runs, tables_text
from taxoexpan.phrasing import join_words

TEMPLATE = Path(__file__).parent / "page.md"
"""The text of the page, with `{tables}` and `{sources}` where the generated parts belong."""


def page_text(runs: Path) -> str:
    """Return the page with the tables of all stored runs."""
    measured = [experiment for experiment in find_experiments([TASK13]) if experiment.measurement]
    parts = [tables_text(measured, runs).strip()]
    done = {run.experiment.name for run in stored_runs(measured, runs)}
    if missing := [each.title for each in measured if each.name not in done]:
        parts.append(f"Not measured yet: {join_words(missing)}.")
    sources = "\n".join(f"- **{e.title}**: {e.source}." for e in quoted_experiments(TASK13))
    text = TEMPLATE.read_text(encoding="utf-8")
    return text.replace("{tables}", "\n\n".join(parts)).replace("{sources}", sources)
