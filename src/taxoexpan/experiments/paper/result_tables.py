"""The paper's tables: the published figure, ours with its deviation over seeds, the difference."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from taxoexpan.errors import FormatError
from taxoexpan.experiments.paper.experiment import FIGURES, Experiment
from taxoexpan.experiments.paper.run_record import Run, RunIndex, find_runs

HEADS = {"mr": "MR", "hit_at_1": "Hit@1", "hit_at_3": "Hit@3", "mrr": "MRR"}


def table_text(experiments: Sequence[Experiment], kept: Path) -> str:
    """A Markdown table for each task and vectors that the experiments were run with."""
    found = find_runs(kept, experiments)
    every = sorted({task for by_task in found.values() for task in by_task})
    if not every:
        raise FormatError(kept, "holds no run of these; run them first, with --task")
    # Where all runs are other tables', they are what there is to show.
    return tables_of(experiments, found, tasks_of(experiments, found) or every)


def tasks_of(experiments: Sequence[Experiment], found: RunIndex) -> list[str]:
    """The tasks that these experiments were run on, by their folders.

    Another table's run may stand in this one too; by itself it makes no table of its task.
    """
    groups = {experiment.group for experiment in experiments}
    runs = [
        (task, run)
        for experiment in experiments
        for task, those in found[experiment.name].items()
        for run in those
    ]
    return sorted({task for task, run in runs if run.group in groups})


def tables_of(experiments: Sequence[Experiment], found: RunIndex, tasks: Sequence[str]) -> str:
    """A Markdown table for each of these tasks."""
    by_task = [
        {experiment.name: found[experiment.name].get(task, []) for experiment in experiments}
        for task in tasks
    ]
    return "\n".join(_of_task(experiments, runs) for runs in by_task)


def _of_task(experiments: Sequence[Experiment], runs: dict[str, list[Run]]) -> str:
    some = next(iter(those[0] for those in runs.values() if those))
    heads = [experiment for figure in FIGURES for experiment in (HEADS[figure], "paper", "Δ")]
    lines = [
        f"**{some.record['task']['name']}**, vectors `{some.record['task']['features']}`, "
        f"{some.metrics.queries:,} test queries",
        "",
        f"| | {' | '.join(heads)} | runs |",
        f"|---|{'---|' * (len(heads) + 1)}",
        *(_row(experiment, runs[experiment.name]) for experiment in experiments),
        "",
    ]
    return "\n".join(lines)


def _row(experiment: Experiment, runs: Sequence[Run]) -> str:
    parts = []
    for figure in FIGURES:
        ours = [run.record["test"][figure] for run in runs]
        published = experiment.published.get(figure)
        parts += [format_mean(figure, ours), _published(experiment, figure)]
        if ours and published is not None:
            parts.append(number(figure, float(np.mean(ours)) - published, sign=True))
        else:
            parts.append("")
    return f"| {experiment.title} | {' | '.join(parts)} | {len(runs)} |"


def _published(experiment: Experiment, figure: str) -> str:
    """What the paper gives for a figure, with its deviation where it gives one."""
    if figure not in experiment.published:
        return ""
    return _with_spread(
        figure, experiment.published[figure], experiment.published.get(f"{figure}_deviation", 0)
    )


def format_mean(figure: str, values: Sequence[float]) -> str:
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


def format_rank_range(low: float, high: float) -> str:
    """The ranks from one to below another."""
    if np.isinf(high):
        return f"≥ {low:.0f}"
    return f"{low:.0f}" if high == low + 1 else f"{low:.0f}–{high - 1:.0f}"
