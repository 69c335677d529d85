"""The paper's figures, drawn from the runs that are kept."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from taxoexpan.configuration import load_preset
from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.reproduce.cells import FIGURES, Cell, find_cells
from taxoexpan.reproduce.running import Run, runs_of
from taxoexpan.reproduce.tables import HEADS, deviation, spelled_ranks

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

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
    """The figure of this name."""
    if name not in FIGURE_NAMES:
        message = f"no figure is called {name!r}"
        raise ConfigurationError(f"{message}; choose one of {', '.join(FIGURE_NAMES)}")
    try:
        import matplotlib
    except ImportError:
        message = "figures need matplotlib, which is not installed"
        raise ConfigurationError(f"{message}; pip install taxoexpan[plots]") from None
    matplotlib.use("Agg")
    return FIGURE_NAMES[name](runs, vectors)


def _loss(runs: Path, vectors: str | None) -> Figure:
    """InfoNCE against BCE, four models by four figures, with none, 10 and 30 % rewired."""
    cells = find_cells(["loss"])
    title = "InfoNCE and BCE, with some relations rewired"
    figure, axes = _grid(1, len(FIGURES), title, _kept(runs, cells[0], vectors))
    models = list(dict.fromkeys(cell.title.partition(",")[0] for cell in cells))
    schemes = sorted({(c.settings["loss"], c.noise) for c in cells}, key=lambda s: (s[0] < "c", s))
    for axis, key in zip(axes, FIGURES, strict=True):
        for place, (loss, noise) in enumerate(schemes):
            those = [c for c in cells if (c.settings["loss"], c.noise) == (loss, noise)]
            bars = np.arange(len(models)) + (place - 2.5) * 0.14
            values, spread = _figure_of(runs, those, key, vectors)
            label = f"{'InfoNCE' if loss == 'infonce' else 'BCE'}, {noise:.0%} rewired"
            color = "C0" if loss == "infonce" else "C1"
            axis.bar(bars, values, 0.14, yerr=spread, label=label, color=color, alpha=1 - 2 * noise)
            published = [cell.published.get(key, np.nan) for cell in those]
            if not np.isnan(published).all():
                axis.scatter(bars, published, marker="*", color="k", zorder=3, label="paper")
        axis.set_xticks(range(len(models)), [model.replace(" ", "\n") for model in models])
        axis.set_title(HEADS[key])
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=7)
    return figure


def _sensitivity(runs: Path, vectors: str | None) -> Figure:
    """The test figures against four hyper-parameters."""
    (paper,) = find_cells(["main/taxoexpan"])
    chosen = load_preset("paper")
    (same,) = find_cells([f"sensitivity/heads-{chosen.heads}"])
    title = "Sensitivity to hyper-parameters (PGAT, WMR, LBM)"
    figure, axes = _grid(1, len(TITLES), title, _kept(runs, same, vectors))
    for axis, (setting, title) in zip(axes, TITLES.items(), strict=True):
        cells = find_cells([f"sensitivity/{setting}-*"])
        points = [int(cell.name.rpartition("-")[2]) for cell in cells]
        order = np.argsort(points)
        for color, key in enumerate(("hit_at_1", "hit_at_3", "mrr")):
            mean, spread = _figure_of(runs, cells, key, vectors)[:, order]
            x, hue, name = np.array(points)[order], f"C{color}", HEADS[key]
            axis.errorbar(x, mean, spread, marker="o", capsize=2, color=hue, label=name)
            default = chosen.drawn if setting == "negatives" else getattr(chosen, setting)
            published = [paper.published[key]]
            star = f"{name}, paper"
            axis.scatter([default], published, 80, hue, marker="*", label=star)
        axis.set_xlabel(title)
        axis.set_ylim(0, None)
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=6)
    return figure


def _scalability(runs: Path, vectors: str | None) -> Figure:
    """Seconds of twenty epochs against relations, and of placing all test queries."""
    those = [_kept(runs, cell, vectors)[0] for cell in find_cells(["scalability"])]
    figure, (left, right) = _grid(1, 2, "Training time and inference time", those)
    relations = np.array([run.record["relations"] for run in those])
    seconds = np.array([run.record["seconds_to_fit"] for run in those])
    device = those[0].record["device"]
    left.plot(relations, seconds, marker="o", label="measured")
    slope, start = np.polyfit(relations, seconds, 1)
    left.plot(relations, slope * relations + start, "--", label="a straight line")
    left.set(xlabel="relations", ylabel="seconds", title=f"20 epochs, {device}", ylim=(0, None))
    left.legend()
    placed = those[-1].record["seconds_to_place"]
    bars = right.bar(list(placed), list(placed.values()))
    right.bar_label(bars, [f"{value:.2g} s" for value in placed.values()])
    right.axhline(PUBLISHED_SECONDS, color="k", ls="--", label="paper: below this on a K80 GPU")
    queries = those[-1].metrics.queries
    right.set(
        yscale="log", ylabel="seconds", title=f"all anchors encoded, {queries:,} queries ranked"
    )
    right.legend()
    return figure


def _cases(runs: Path, vectors: str | None) -> Figure:
    """How many queries have their best true parent at which rank."""
    found, shown = {}, []
    for cell in find_cells(["main/taxoexpan*"]):
        for kept in _with_vectors(runs, cell, vectors)[:1]:
            best = [each.min() for each in kept[0].ranks()]
            found[cell.title], _ = np.histogram(best, RANK_EDGES)
            shown = kept
    if not found:
        raise FormatError(runs, "holds no run of main/taxoexpan*; run them first, with --task")
    figure, (axis,) = _grid(1, 1, "Ranks of the test queries' true parents", shown, 9)
    width = 0.8 / len(found)
    for place, (title, counts) in enumerate(found.items()):
        bars = np.arange(len(counts)) + (place - (len(found) - 1) / 2) * width
        axis.bar(bars, counts, width, label=title)
    names = [spelled_ranks(low, high) for low, high in pairwise(RANK_EDGES)]
    axis.set_xticks(range(len(names)), names)
    axis.set(xlabel="rank of the best true parent", ylabel="queries")
    axis.legend()
    return figure


def _grid(
    rows: int, columns: int, title: str, runs: Sequence[Run], width: float = 4.2
) -> tuple[Figure, Sequence[Axes]]:
    """Empty axes under a title that names the data and the vectors of these runs."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width * columns, 4.2 * rows), layout="constrained")
    axes = figure.subplots(rows, columns, squeeze=False)
    task = runs[0].record["task"]
    figure.suptitle(f"{title}: {task['name']}, {task['features']}")
    return figure, list(axes.flat)


def _figure_of(
    runs: Path, cells: Sequence[Cell], key: str, vectors: str | None
) -> NDArray[np.floating]:
    """The mean and the deviation over seeds, of every cell: [2, cells]."""
    of_cells = [[run.record["test"][key] for run in _kept(runs, cell, vectors)] for cell in cells]
    return np.array([[f(values) for values in of_cells] for f in (np.mean, deviation)])


def _kept(runs: Path, cell: Cell, vectors: str | None) -> list[Run]:
    """The runs of a cell, with these vectors or the first that there are."""
    those = _with_vectors(runs, cell, vectors)
    if not those:
        raise FormatError(runs, f"holds no run of {cell.name}; run it first, with --task")
    return those[0]


def _with_vectors(runs: Path, cell: Cell, vectors: str | None) -> list[list[Run]]:
    """The runs of a cell on each task, or only on those with these vectors."""
    found = runs_of(runs, cell).values()
    return [those for those in found if vectors in (None, those[0].record["task"]["features"])]


FIGURE_NAMES: dict[str, Callable[[Path, str | None], Figure]] = {
    "loss": _loss,
    "sensitivity": _sensitivity,
    "scalability": _scalability,
    "cases": _cases,
}


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
