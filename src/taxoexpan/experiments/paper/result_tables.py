"""The paper's tables: the published figure, ours with its deviation over seeds, the difference."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from taxoexpan.errors import FormatError
from taxoexpan.experiments.paper.experiment import FIGURES, Cell
from taxoexpan.experiments.paper.run_record import Found, Run, find_runs

HEADS = {"mr": "MR", "hit_at_1": "Hit@1", "hit_at_3": "Hit@3", "mrr": "MRR"}


def table_text(cells: Sequence[Cell], kept: Path) -> str:
    """A Markdown table for each task and vectors that the cells were run with."""
    found = find_runs(kept, cells)
    every = sorted({task for of_cell in found.values() for task in of_cell})
    if not every:
        raise FormatError(kept, "holds no run of these; run them first, with --task")
    # Where all runs are other tables', they are what there is to show.
    return tables_of(cells, found, tasks_of(cells, found) or every)


def tasks_of(cells: Sequence[Cell], found: Found) -> list[str]:
    """The tasks that these cells were run on, by their folders.

    Another table's run may stand in this one too; by itself it makes no table of its task.
    """
    groups = {cell.group for cell in cells}
    runs = [
        (task, run) for cell in cells for task, those in found[cell.name].items() for run in those
    ]
    return sorted({task for task, run in runs if run.group in groups})


def tables_of(cells: Sequence[Cell], found: Found, tasks: Sequence[str]) -> str:
    """A Markdown table for each of these tasks."""
    by_task = [{cell.name: found[cell.name].get(task, []) for cell in cells} for task in tasks]
    return "\n".join(_of_task(cells, runs) for runs in by_task)


def _of_task(cells: Sequence[Cell], runs: dict[str, list[Run]]) -> str:
    some = next(iter(those[0] for those in runs.values() if those))
    heads = [cell for figure in FIGURES for cell in (HEADS[figure], "paper", "Δ")]
    lines = [
        f"**{some.record['task']['name']}**, vectors `{some.record['task']['features']}`, "
        f"{some.metrics.queries:,} test queries",
        "",
        f"| | {' | '.join(heads)} | runs |",
        f"|---|{'---|' * (len(heads) + 1)}",
        *(_row(cell, runs[cell.name]) for cell in cells),
        "",
    ]
    return "\n".join(lines)


def _row(cell: Cell, runs: Sequence[Run]) -> str:
    parts = []
    for figure in FIGURES:
        ours = [run.record["test"][figure] for run in runs]
        published = cell.published.get(figure)
        parts += [spelled(figure, ours), _published(cell, figure)]
        if ours and published is not None:
            parts.append(number(figure, float(np.mean(ours)) - published, sign=True))
        else:
            parts.append("")
    return f"| {cell.title} | {' | '.join(parts)} | {len(runs)} |"


def _published(cell: Cell, figure: str) -> str:
    """What the paper gives for a figure, with its deviation where it gives one."""
    if figure not in cell.published:
        return ""
    return _with_spread(
        figure, cell.published[figure], cell.published.get(f"{figure}_deviation", 0)
    )


def spelled(figure: str, values: Sequence[float]) -> str:
    """A mean, with its deviation where there are several runs that differ."""
    return _with_spread(figure, float(np.mean(values)), deviation(values)) if values else "–"


def _with_spread(figure: str, mean: float, spread: float) -> str:
    text = number(figure, mean)
    return f"{text} ± {number(figure, spread)}" if spread > 0 else text


def deviation(values: Sequence[float]) -> float:
    """The standard deviation of a sample; none where there are not several."""
    return float(np.std(values, ddof=1)) if len(values) > 1 else 0.0


def number(figure: str, value: float, sign: bool = False) -> str:
    """A figure as the paper writes it: a mean rank with one digit, a share without its zero."""
    digits = 1 if figure == "mr" else 3
    text = f"{value:{'+' if sign else ''}.{digits}f}"
    return text if figure == "mr" else text.replace("0.", ".", 1)


def spelled_ranks(low: float, high: float) -> str:
    """The ranks from one to below another."""
    if np.isinf(high):
        return f"≥ {low:.0f}"
    return f"{low:.0f}" if high == low + 1 else f"{low:.0f}–{high - 1:.0f}"
