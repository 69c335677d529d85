"""The paper's figures, drawn from the runs that are kept."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from taxoexpan.config import load_preset
from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.experiments.paper.experiment import FIGURES, PICTURES, Experiment, find_experiments
from taxoexpan.experiments.paper.result_tables import HEADS, deviation, format_rank_range
from taxoexpan.experiments.paper.run_record import Run, RunIndex, damaged_run, find_runs

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure


Kept = dict[str, list[Run]]
"""The runs of one task, by the experiment's name."""

LOSSES = {"infonce": ("InfoNCE", "C0"), "bce": ("BCE", "C1")}
"""What each loss is called, and its colour."""

TITLES = {
    "position": "position embedding's size",
    "heads": "heads",
    "output": "graph embedding's size",
    "negatives": "negatives drawn for a query",
}
"""The hyper-parameters of the paper's sensitivity figure, and what they are called there."""

PUBLISHED_SECONDS = 30
"""What the paper gives for the inference of all test queries on a GPU, which took less."""

RANK_EDGES = (1, 2, 4, 11, 31, 101, 301, 1001, np.inf)


def draw(name: str, runs: Path, vectors: str | None = None) -> Figure:
    """The figure of this name, all of it of one task: the one with these vectors, if given."""
    if name not in PICTURES:
        message = f"no figure is called {name!r}"
        raise ConfigurationError(f"{message}; choose one of {', '.join(PICTURES)}")
    refuse_without_matplotlib()
    import matplotlib

    matplotlib.use("Agg")
    found = find_runs(runs, find_experiments([PICTURES[name]]))
    task = _chosen(name, runs, found, vectors)
    return DRAWN[name](
        {experiment: those[task] for experiment, those in found.items() if task in those}
    )


def refuse_without_matplotlib() -> None:
    """Refuse, before any work is done, to draw without matplotlib."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        message = "figures need matplotlib, which is not installed"
        raise ConfigurationError(f"{message}; pip install taxoexpan[plots]") from None


def tasks_for(name: str, found: RunIndex) -> list[str]:
    """The tasks with all the runs that a figure is drawn from, by their folders.

    For `cases` some are enough, since each model has bars of its own.
    """
    enough = any if name == "cases" else all
    experiments = find_experiments([PICTURES[name]])
    tasks = sorted({task for experiment in experiments for task in found[experiment.name]})
    return [
        task
        for task in tasks
        if enough(task in found[experiment.name] for experiment in experiments)
    ]


def _chosen(name: str, runs: Path, found: RunIndex, vectors: str | None) -> str:
    """The one task that a figure is of."""
    features = {
        task: those[0].record["task"]["features"]
        for by_task in found.values()
        for task, those in by_task.items()
    }
    fitting = sorted(task for task in features if vectors in (None, task, features[task]))
    if features and not fitting:
        message = f"no run of {PICTURES[name]} has the vectors {vectors!r}"
        raise ConfigurationError(f"{message}; there are {_listed(features, features)}")
    whole = [task for task in tasks_for(name, found) if task in fitting]
    if not whole:
        raise _lacking(name, runs, found, fitting)
    if len(whole) > 1:
        message = f"{runs} has the runs of several tasks for {name}"
        raise ConfigurationError(
            f"{message}; choose with --vectors one of {_listed(whole, features)}"
        )
    return whole[0]


def _listed(tasks: Iterable[str], features: dict[str, str]) -> str:
    """Tasks by their folders, with the vectors of each; --vectors takes either."""
    return ", ".join(f"{task} ({features[task]})" for task in sorted(tasks))


def _lacking(name: str, runs: Path, found: RunIndex, tasks: Sequence[str]) -> FormatError:
    """What is said where no task has all runs: the first that the fullest one lacks."""
    if name == "cases":
        return FormatError(runs, f"holds no run of {PICTURES[name]}; run them first, with --task")
    counts = {task: sum(task in by_task for by_task in found.values()) for task in tasks}
    fullest = max(counts, key=counts.__getitem__, default=None)
    missing = next(experiment for experiment, by_task in found.items() if fullest not in by_task)
    among = f" for {fullest}" if fullest else ""
    return FormatError(runs, f"holds no run of {missing}{among}; run it first, with --task")


def _loss(kept: Kept) -> Figure:
    """InfoNCE against BCE, four models by four figures, with none, 10 and 30 % rewired."""
    experiments = find_experiments([PICTURES["loss"]])
    title = "InfoNCE and BCE, with some relations rewired"
    figure, axes = _grid(1, len(FIGURES), title, kept)
    models = list(dict.fromkeys(experiment.title.partition(",")[0] for experiment in experiments))
    rewired = sorted({experiment.noise for experiment in experiments})
    schemes = [(loss, noise) for loss in LOSSES for noise in rewired]
    for axis, key in zip(axes, FIGURES, strict=True):
        for place, (loss, noise) in enumerate(schemes):
            those = [c for c in experiments if (c.settings["loss"], c.noise) == (loss, noise)]
            bars = np.arange(len(models)) + (place - 2.5) * 0.14
            values, spread = _figure_of(kept, those, key)
            called, color = LOSSES[loss]
            label = f"{called}, {noise:.0%} rewired"
            axis.bar(bars, values, 0.14, yerr=spread, label=label, color=color, alpha=1 - 2 * noise)
            published = [experiment.published.get(key, np.nan) for experiment in those]
            if not np.isnan(published).all():
                axis.scatter(bars, published, marker="*", color="k", zorder=3, label="paper")
        axis.set_xticks(range(len(models)), [model.replace(" ", "\n") for model in models])
        axis.set_title(HEADS[key])
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=7)
    return figure


def _sensitivity(kept: Kept) -> Figure:
    """The test figures against four hyper-parameters."""
    (paper,) = find_experiments(["main/taxoexpan"])
    c = load_preset("paper")
    defaults = {
        "position": c.position_dim,
        "heads": c.num_heads,
        "output": c.embedding_dim,
        "negatives": c.num_negatives,
    }
    title = "Sensitivity to hyper-parameters (PGAT, WMR, LBM)"
    figure, axes = _grid(1, len(TITLES), title, kept)
    for axis, (setting, title) in zip(axes, TITLES.items(), strict=True):
        experiments = find_experiments([f"sensitivity/{setting}-*"])
        points = [int(experiment.name.rpartition("-")[2]) for experiment in experiments]
        order = np.argsort(points)
        for color, key in enumerate(("hit_at_1", "hit_at_3", "mrr")):
            mean, spread = _figure_of(kept, experiments, key)[:, order]
            x, hue, name = np.array(points)[order], f"C{color}", HEADS[key]
            axis.errorbar(x, mean, spread, marker="o", capsize=2, color=hue, label=name)
            default = defaults[setting]
            published = [paper.published[key]]
            star = f"{name}, paper"
            axis.scatter([default], published, 80, hue, marker="*", label=star)
        axis.set_xlabel(title)
        axis.set_ylim(0, None)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    return figure


def _scalability(kept: Kept) -> Figure:
    """Seconds of twenty epochs against relations, and of placing all test queries."""
    those = [kept[experiment.name][0] for experiment in find_experiments([PICTURES["scalability"]])]
    figure, (left, right) = _grid(1, 2, "Training time and inference time", kept)
    relations = np.array([run.record["relations"] for run in those])
    seconds = np.array([run.record["seconds_to_fit"] for run in those])
    device = those[0].record["device"]
    left.plot(relations, seconds, marker="o", label="measured")
    slope, start = np.polyfit(relations, seconds, 1)
    left.plot(relations, slope * relations + start, "--", label="a straight line")
    left.set(xlabel="relations", ylabel="seconds", title=f"20 epochs, {device}", ylim=(0, None))
    left.legend()
    placed = _seconds_to_place(those[-1])
    bars = right.bar(list(placed), list(placed.values()))
    right.bar_label(bars, [f"{value:.2g} s" for value in placed.values()])
    right.axhline(PUBLISHED_SECONDS, color="k", ls="--", label="paper: below this on a K80 GPU")
    queries = those[-1].metrics.queries
    right.set(
        yscale="log", ylabel="seconds", title=f"all anchors encoded, {queries:,} queries ranked"
    )
    right.legend()
    return figure


def _seconds_to_place(run: Run) -> dict[str, float]:
    """How long all test queries took, by device, which early versions did not note."""
    seconds = run.record.get("seconds_to_place")
    if not isinstance(seconds, dict):
        raise damaged_run(run.folder, "it does not tell seconds_to_place")
    return seconds


def _cases(kept: Kept) -> Figure:
    """How many queries have their best true parent at which rank."""
    found = {}
    for experiment in find_experiments([PICTURES["cases"]]):
        for run in kept.get(experiment.name, [])[:1]:
            best = [each.min() for each in run.ranks()]
            found[experiment.title], _ = np.histogram(best, RANK_EDGES)
    figure, (axis,) = _grid(1, 1, "Ranks of the test queries' true parents", kept, 9)
    width = 0.8 / len(found)
    for place, (title, counts) in enumerate(found.items()):
        bars = np.arange(len(counts)) + (place - (len(found) - 1) / 2) * width
        axis.bar(bars, counts, width, label=title)
    names = [format_rank_range(low, high) for low, high in pairwise(RANK_EDGES)]
    axis.set_xticks(range(len(names)), names)
    axis.set(xlabel="rank of the best true parent", ylabel="queries")
    axis.legend()
    return figure


def _grid(
    rows: int, columns: int, title: str, kept: Kept, width: float = 4.2
) -> tuple[Figure, Sequence[Axes]]:
    """Empty axes under a title that names the data and the vectors of these runs."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, 4.2 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    task = next(iter(kept.values()))[0].record["task"]
    figure.suptitle(f"{title}: {task['name']}, {task['features']}")
    return figure, list(axes.flat)


def _figure_of(kept: Kept, experiments: Sequence[Experiment], key: str) -> NDArray[np.floating]:
    """The mean and the deviation over seeds, of every experiment: [2, experiments]."""
    per_experiment = [
        [run.record["test"][key] for run in kept[experiment.name]] for experiment in experiments
    ]
    return np.array([[f(values) for values in per_experiment] for f in (np.mean, deviation)])


DRAWN: dict[str, Callable[[Kept], Figure]] = {
    "loss": _loss,
    "sensitivity": _sensitivity,
    "scalability": _scalability,
    "cases": _cases,
}
"""What draws each of the pictures."""


def picture(figure: Figure, path: Path) -> bytes:
    """The bytes of a picture in the format of its name, the same for the same runs."""
    from matplotlib import rc_context

    file = io.BytesIO()
    kind = path.suffix.removeprefix(".")
    # Neither the date nor random ids, so that a picture changes only when a run does.
    with rc_context({"svg.hashsalt": "taxoexpan"}):
        stamp = {"Date": None} if kind == "svg" else None
        figure.savefig(file, format=kind, dpi=110, metadata=stamp)
    return file.getvalue()
