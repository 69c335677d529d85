"""The paper's figures, drawn from stored runs."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from reproduction.experiments import FIGURES, METRICS, Experiment, find_experiments
from reproduction.runs import Run, RunIndex, find_runs
from reproduction.tables import (
    METRIC_NAMES,
    format_rank_range,
    standard_deviation,
)
from taxoexpan.config import load_preset
from taxoexpan.errors import ConfigurationError, FormatError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Runs = dict[str, list[Run]]
"""The runs on one task, by the name of the experiment."""

LOSSES = {"infonce": ("InfoNCE", "C0"), "bce": ("BCE", "C1")}
"""The name and the color of each loss."""

HYPERPARAMETERS = {
    "position": "size of the position embeddings",
    "heads": "attention heads",
    "output": "size of the graph embeddings",
    "negatives": "negatives per query",
}
"""The hyper-parameters of the sensitivity figure, and their axis labels."""

PUBLISHED_SECONDS = 30
"""The paper's upper bound for the inference of all test queries on a GPU."""

RANK_EDGES = (1, 2, 4, 11, 31, 101, 301, 1001, np.inf)


def draw(
    name: str,
    runs: Path,
    vectors: str | None = None,
    experiments: Sequence[Experiment] = (),
) -> Figure:
    """Draw a figure from the runs on one task; `vectors` chooses it if there are several.

    `experiments` are drawn instead of the figure's own, which only `cases` allows.
    """
    import matplotlib

    matplotlib.use("Agg")
    if experiments and name != "cases":
        message = f"the figure {name} always shows the same experiments"
        raise ConfigurationError(message, fix="draw others with the figure cases")
    experiments = experiments or find_experiments([FIGURES[name]])
    index = find_runs(runs, experiments)
    task = _choose_task(name, runs, index, vectors, experiments)
    found = {e: by_task[task] for e, by_task in index.items() if task in by_task}
    if name == "cases":
        return _draw_cases(found, {experiment.name: experiment.title for experiment in experiments})
    return DRAW[name](found)


def tasks_for(name: str, index: RunIndex, experiments: Sequence[Experiment] = ()) -> list[str]:
    """Return the folders of the tasks with all runs that a figure needs.

    The figure `cases` needs only one of its runs, since it draws each model separately.
    """
    enough = any if name == "cases" else all
    experiments = experiments or find_experiments([FIGURES[name]])
    tasks = sorted({task for e in experiments for task in index[e.name]})
    return [task for task in tasks if enough(task in index[e.name] for e in experiments)]


def _choose_task(
    name: str,
    runs: Path,
    index: RunIndex,
    vectors: str | None,
    experiments: Sequence[Experiment],
) -> str:
    """Return the folder of the one task that a figure can be drawn from."""
    features = {
        task: stored[0].record.task.features
        for by_task in index.values()
        for task, stored in by_task.items()
    }
    matching = sorted(task for task in features if vectors in (None, task, features[task]))
    if features and not matching:
        message = f"no run of {', '.join(index)} has the vectors {vectors!r}"
        raise ConfigurationError(message, fix=f"choose one of {_list_tasks(features, features)}")
    complete = [task for task in tasks_for(name, index, experiments) if task in matching]
    if not complete:
        raise _missing_runs(name, runs, index, matching)
    if len(complete) > 1:
        message = f"{runs} has runs of several tasks for {name}"
        names = _list_tasks(complete, features)
        raise ConfigurationError(message, fix=f"choose one with --vectors NAME: {names}")
    return complete[0]


def _list_tasks(tasks: Iterable[str], features: dict[str, str]) -> str:
    """List the folders of tasks with their vectors; either selects one."""
    return ", ".join(f"{task} ({features[task]})" for task in sorted(tasks))


def _missing_runs(name: str, runs: Path, index: RunIndex, tasks: Sequence[str]) -> FormatError:
    """Return the error that names the first run that the most complete task lacks."""
    if name == "cases":
        return FormatError(runs, f"no runs of {', '.join(index)}", fix="run them first")
    counts = {task: sum(task in by_task for by_task in index.values()) for task in tasks}
    fullest = max(counts, key=counts.__getitem__, default=None)
    missing = next(experiment for experiment, by_task in index.items() if fullest not in by_task)
    suffix = f" for {fullest}" if fullest else ""
    return FormatError(runs, f"no run of {missing}{suffix}", fix="run it first")


def _draw_loss(runs: Runs) -> Figure:
    """Draw InfoNCE and BCE: four models and metrics, with 0, 10 and 30 % wrong relations."""
    experiments = find_experiments([FIGURES["loss"]])
    title = "InfoNCE and BCE, with some relations rewired"
    figure, axes = _grid(len(METRICS), title, runs)
    models = list(dict.fromkeys(e.title.partition(",")[0] for e in experiments))
    schemes = [(loss, noise) for loss in LOSSES for noise in sorted({e.noise for e in experiments})]
    for axis, metric in zip(axes, METRICS, strict=True):
        for number, (loss, noise) in enumerate(schemes):
            group = [e for e in experiments if (e.settings["loss"], e.noise) == (loss, noise)]
            bars = np.arange(len(models)) + (number - 2.5) * 0.14
            means, deviations = _means_and_deviations(runs, group, metric)
            loss_name, color = LOSSES[loss]
            axis.bar(
                bars, means, 0.14, yerr=deviations, color=color, alpha=1 - 2 * noise,
                label=f"{loss_name}, {noise:.0%} rewired",
            )  # fmt: skip
            published = [e.published.get(metric, np.nan) for e in group]
            if not np.isnan(published).all():
                axis.scatter(bars, published, marker="*", color="k", zorder=3, label="paper")
        axis.set_xticks(range(len(models)), [model.replace(" ", "\n") for model in models])
        axis.set_title(METRIC_NAMES[metric])
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=7)
    return figure


def _draw_sensitivity(runs: Runs) -> Figure:
    """Draw the test metrics against four hyper-parameters."""
    (paper,) = find_experiments(["main/taxoexpan"])
    c = load_preset("paper")
    defaults = {
        "position": c.position_dim,
        "heads": c.num_heads,
        "output": c.embedding_dim,
        "negatives": c.num_negatives,
    }
    title = "Sensitivity to hyper-parameters (PGAT, WMR, LBM)"
    figure, axes = _grid(len(HYPERPARAMETERS), title, runs)
    for axis, (setting, label) in zip(axes, HYPERPARAMETERS.items(), strict=True):
        experiments = find_experiments([f"sensitivity/{setting}-*"])
        points = np.array([int(e.name.rpartition("-")[2]) for e in experiments])
        order = np.argsort(points)
        for number, metric in enumerate(("hit_at_1", "hit_at_3", "mrr")):
            means, deviations = _means_and_deviations(runs, experiments, metric)[:, order]
            color, name = f"C{number}", METRIC_NAMES[metric]
            style: dict[str, Any] = {"marker": "o", "capsize": 2, "color": color, "label": name}
            axis.errorbar(points[order], means, deviations, **style)
            published = [paper.published[metric]]
            axis.scatter(
                [defaults[setting]], published, 80, color, marker="*", label=f"{name}, paper"
            )
        axis.set_xlabel(label)
        axis.set_ylim(0, None)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    return figure


def _draw_scalability(runs: Runs) -> Figure:
    """Draw the time of 20 epochs by the number of relations, and the time of the test queries."""
    first = [runs[e.name][0] for e in find_experiments([FIGURES["scalability"]])]
    figure, (left, right) = _grid(2, "Training time and inference time", runs)
    relations = np.array([run.record.relations for run in first])
    seconds = np.array([run.record.seconds_to_fit for run in first])
    left.plot(relations, seconds, marker="o", label="measured")
    slope, intercept = np.polyfit(relations, seconds, 1)
    left.plot(relations, slope * relations + intercept, "--", label="linear fit")
    title = f"20 epochs, {first[0].record.device}"
    left.set(xlabel="relations", ylabel="seconds", title=title, ylim=(0, None))
    left.legend()
    by_device = first[-1].record.seconds_to_place
    bars = right.bar(list(by_device), list(by_device.values()))
    right.bar_label(bars, [f"{value:.2g} s" for value in by_device.values()])
    right.axhline(PUBLISHED_SECONDS, color="k", ls="--", label="paper: below this on a K80 GPU")
    title = f"all anchors encoded, {first[-1].metrics.queries:,} queries ranked"
    right.set(yscale="log", ylabel="seconds", title=title)
    right.legend()
    return figure


def _draw_cases(runs: Runs, titles: Mapping[str, str]) -> Figure:
    """Draw the number of queries by the rank of their best true parent."""
    counts = {}
    for name, title in titles.items():
        for run in runs.get(name, [])[:1]:
            counts[title], _ = np.histogram(run.best_ranks(), RANK_EDGES)
    figure, (axis,) = _grid(1, "Ranks of the test queries' true parents", runs, 9)
    width = 0.8 / len(counts)
    for number, (title, heights) in enumerate(counts.items()):
        bars = np.arange(len(heights)) + (number - (len(counts) - 1) / 2) * width
        axis.bar(bars, heights, width, label=title)
    ticks = [format_rank_range(low, high) for low, high in pairwise(RANK_EDGES)]
    axis.set_xticks(range(len(ticks)), ticks)
    axis.set(xlabel="rank of the best true parent", ylabel="queries")
    axis.legend()
    return figure


def _grid(
    columns: int, title: str, runs: Runs, width: float = 4.2
) -> tuple[Figure, Sequence[Axes]]:
    """Return a row of empty axes under a title with the task and its vectors."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, 4.2), layout="constrained")
    axes = figure.subplots(1, columns, squeeze=False)
    task = next(iter(runs.values()))[0].record.task
    figure.suptitle(f"{title}: {task.name}, {task.features}")
    return figure, list(axes.flat)


def _means_and_deviations(
    runs: Runs, experiments: Sequence[Experiment], metric: str
) -> NDArray[np.floating]:
    """Return the mean and the standard deviation over seeds of each experiment: [2, E]."""
    values = [[run.metric(metric) for run in runs[e.name]] for e in experiments]
    return np.array([[f(seeds) for seeds in values] for f in (np.mean, standard_deviation)])


DRAW: dict[str, Callable[[Runs], Figure]] = {
    "loss": _draw_loss,
    "sensitivity": _draw_sensitivity,
    "scalability": _draw_scalability,
}
"""The function that draws each figure but `cases`."""


def image_bytes(figure: Figure, path: Path) -> bytes:
    """Return the image in the format of the path's suffix; equal runs give equal bytes."""
    from matplotlib import rc_context

    file = io.BytesIO()
    kind = path.suffix.removeprefix(".")
    # No date and no random ids, so that an image changes only when a run does.
    with rc_context({"svg.hashsalt": "taxoexpan"}):
        metadata = {"Date": None} if kind == "svg" else None
        figure.savefig(file, format=kind, dpi=110, metadata=metadata)
    return file.getvalue()
