"""The paper's tables in Markdown: our result, the published one, and the difference."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from reproduction.experiments import OWN, Experiment
from reproduction.runs import Run, RunIndex, find_runs, folders_of, read_run
from taxoexpan.errors import FormatError
from taxoexpan.evaluation.comparison import format_value
from taxoexpan.training.metrics import Metrics

MAG_CS_QUERIES = 2450
"""The number of test queries in the paper's task; with another one, the task is another."""
METRIC_NAMES = {
    "mr": "MR",
    "hit_at_1": "Hit@1",
    "hit_at_3": "Hit@3",
    "hit_at_10": "Hit@10",
    "mrr": "scaled MRR",
}
TIES_NOTE = (
    "An anchor with the same score as a true parent counts half. With *ties as best* it does not "
    "count, as in the authors' code"
)
DIFFERENCE_NOTE = "; only these figures are compared with the paper (Δ)"


def table_text(
    experiments: Sequence[Experiment], runs: Path, tasks: Sequence[str] | None = None
) -> str:
    """Return one Markdown table for each task, and a note.

    `tasks` are folders of tasks (default: all that the experiments were run on).
    """
    index = find_runs(runs, experiments)
    all_tasks = sorted({task for by_task in index.values() for task in by_task})
    if not all_tasks:
        raise _no_runs(experiments, runs)
    # If all runs were made for other tables, show them nevertheless.
    tasks = tasks or tasks_with_runs(experiments, index) or all_tasks
    text = markdown_tables(experiments, index, tasks)
    return f"{text}\n{TIES_NOTE}{DIFFERENCE_NOTE if ' Δ |' in text else ''}.\n"


def _no_runs(experiments: Sequence[Experiment], runs: Path) -> FormatError:
    """Return the error that nothing is stored, which names stored runs with other settings."""
    names = {experiment.name for experiment in experiments}
    others: dict[str, None] = {}
    for folder in folders_of(runs, "*"):
        with suppress(FormatError):  # a measurement, or damaged
            experiment = read_run(folder).record.experiment
            if experiment.name in names:
                others[experiment.title] = None
    message = "no runs of these experiments"
    if not others:
        return FormatError(runs, message, fix="run them first")
    message += f", but with other settings: {'; '.join(others)}"
    return FormatError(runs, message, fix="give the same settings with --set and --epochs")


def metrics_text(metrics: Metrics) -> str:
    """Return all metrics of a run in one line."""
    named = metrics.as_dict()
    return ", ".join(
        f"{name} {named[metric]:.{1 if metric == 'mr' else 3}f}"
        for metric, name in METRIC_NAMES.items()
    )


def _published_metrics(experiments: Sequence[Experiment]) -> set[str]:
    """Return the metrics that the paper publishes for any of the experiments."""
    return {metric for each in experiments for metric in each.published if metric in METRIC_NAMES}


def tasks_with_runs(experiments: Sequence[Experiment], index: RunIndex) -> list[str]:
    """Return the folders of the tasks that these experiments were run on.

    Tables share runs of equal settings. Runs made only for another table do not count.
    """
    groups = {experiment.group for experiment in experiments}
    return sorted(
        {
            task
            for experiment in experiments
            for task, runs in index[experiment.name].items()
            if any(run.record.experiment.group in groups for run in runs)
        }
    )


def markdown_tables(
    experiments: Sequence[Experiment], index: RunIndex, tasks: Sequence[str]
) -> str:
    """Return one Markdown table per task."""
    by_task = [{e.name: index[e.name].get(task, []) for e in experiments} for task in tasks]
    return "\n".join(_task_table(experiments, runs) for runs in by_task)


def _task_table(experiments: Sequence[Experiment], runs: dict[str, list[Run]]) -> str:
    first = next(stored[0] for stored in runs.values() if stored)
    task = first.record.task
    is_other_task = first.metrics.queries != MAG_CS_QUERIES
    published = _published_metrics(experiments)
    if is_other_task and any(experiment.group == OWN for experiment in experiments):
        published = set()  # your methods on your data: nothing to compare with
    columns = []
    for metric, name in METRIC_NAMES.items():
        columns += [name, f"{name} (ties as best)"]
        columns += ["paper", "Δ"] if metric in published else []
    lines = [
        f"**{task.name}**, vectors `{task.features}`, {first.metrics.queries:,} test queries",
        "",
        f"| | {' | '.join(columns)} | runs |",
        f"|---|{'---|' * (len(columns) + 1)}",
        *(_row(experiment, runs[experiment.name], published) for experiment in experiments),
        "",
    ]
    if published and is_other_task:
        others = "The columns *paper* are the published results on another task, MAG-CS with"
        lines += [f"{others} {MAG_CS_QUERIES:,} test queries.", ""]
    return "\n".join(lines)


def _row(experiment: Experiment, runs: Sequence[Run], published_metrics: set[str]) -> str:
    cells = []
    for metric in METRIC_NAMES:
        ours = [run.metric(metric) for run in runs]
        as_authors = [run.metric(metric, ties_as_best=True) for run in runs]
        published = experiment.published.get(metric)
        difference = ""
        if as_authors and published is not None:
            difference = format_value(metric, float(np.mean(as_authors)) - published, sign=True)
        cells += [format_mean(metric, ours), format_mean(metric, as_authors)]
        if metric in published_metrics:
            cells += [_published_cell(experiment, metric), difference]
    return f"| {experiment.title} | {' | '.join(cells)} | {len(runs)} |"


def _published_cell(experiment: Experiment, metric: str) -> str:
    """Return the published value, with its standard deviation if the paper gives one."""
    if metric not in experiment.published:
        return ""
    deviation = experiment.published.get(f"{metric}_deviation", 0)
    return _with_deviation(metric, experiment.published[metric], deviation)


def format_mean(metric: str, values: Sequence[float]) -> str:
    """Return the mean, with the standard deviation if the runs differ."""
    if not values:
        return "–"
    return _with_deviation(metric, float(np.mean(values)), standard_deviation(values))


def _with_deviation(metric: str, mean: float, deviation: float) -> str:
    text = format_value(metric, mean)
    return f"{text} ± {format_value(metric, deviation)}" if deviation > 0 else text


def standard_deviation(values: Sequence[float]) -> float:
    """Return the standard deviation of a sample; exactly 0 if all values are equal."""
    return float(np.std(values, ddof=1)) if len(set(values)) > 1 else 0.0


def format_rank_range(low: float, high: float) -> str:
    """Format the ranks from `low` to below `high`."""
    if np.isinf(high):
        return f"≥ {low:.0f}"
    return f"{low:.0f}" if high == low + 1 else f"{low:.0f}–{high - 1:.0f}"
