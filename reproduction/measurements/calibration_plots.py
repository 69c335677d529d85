"""Two plots per test: the reliability of the confidence, and precision by coverage."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from reproduction.measurements.calibration_results import (
    PRECISIONS,
    ConfidenceResult,
    error_by_chance,
    results_of,
)
from reproduction.measurements.runs import MeasuredRun
from taxoexpan.phrasing import pluralize
from taxoexpan.placement.learned.confidence import BIN_COUNT, Bin


@dataclass(frozen=True)
class PooledBin:
    """The queries of all seeds in one bin of confidence, and the standard error of its precision.

    A query that several models answered counts once for the standard error.
    """

    bin: Bin
    error: float


def pooled_bins(results: Sequence[ConfidenceResult]) -> list[PooledBin]:
    """Pool all seeds into ten equal bins of confidence, without the empty bins."""
    confidence = np.concatenate([each.confidence for each in results])
    right = np.concatenate([each.right for each in results]).astype(float)
    queries = np.concatenate([np.array(each.queries, dtype=np.str_) for each in results])
    bins = np.minimum((confidence * BIN_COUNT).astype(int), BIN_COUNT - 1)
    pooled = []
    for number in np.unique(bins):
        members = bins == number
        precision, distinct = float(right[members].mean()), len(np.unique(queries[members]))
        # With Laplace smoothing, because three of three right do not show that all are right.
        smoothed = (precision * distinct + 1) / (distinct + 2)
        error = math.sqrt(smoothed * (1 - smoothed) / (distinct + 2))
        mean = float(confidence[members].mean())
        pooled.append(PooledBin(Bin(int(members.sum()), mean, precision), error))
    return pooled


def draw_confidence(runs: Sequence[MeasuredRun]) -> Figure:
    """Draw all tests, one below the other."""
    tests = {name: [*by_seed.values()] for name, by_seed in results_of(runs).items()}
    figure = Figure(figsize=(10, 4.2 * len(tests)), layout="constrained")
    rows = figure.subfigures(len(tests), 1, squeeze=False)[:, 0]
    for row, (name, those) in zip(rows, tests.items(), strict=True):
        error = np.mean([each.reliability.error for each in those])
        chance = np.mean([error_by_chance(each.confidence) for each in those])
        counts = f"{pluralize(len(those), 'seed')}, {len(those[0].queries):,} queries in the first"
        row.suptitle(
            f"{name}: {counts}; mean calibration error {error:.3f}, by chance {chance:.3f}"
        )
        left, right = row.subplots(1, 2)
        _draw_reliability(left, pooled_bins(those))
        _draw_coverage(right, those)
    return figure


def _draw_reliability(axes: Axes, pooled: Sequence[PooledBin]) -> None:
    """Plot precision against confidence, with a band of two standard errors."""
    confidence = np.array([each.bin.confidence for each in pooled])
    right = np.array([each.bin.right for each in pooled])
    error = np.array([2 * each.error for each in pooled])
    axes.plot([0, 1], [0, 1], "--", color="gray")
    axes.fill_between(
        confidence, np.clip(right - error, 0, 1), np.clip(right + error, 0, 1), alpha=0.2
    )
    axes.plot(confidence, right, marker="o")
    axes.set(xlabel="confidence", ylabel="fraction right", xlim=(0, 1), ylim=(0, 1))


def _draw_coverage(axes: Axes, results: Sequence[ConfidenceResult]) -> None:
    """Plot precision against coverage, one line per seed, with the model's thresholds as dots."""
    for each in results:
        points = np.array([(accepted, right) for _, accepted, right in each.reliability.coverage()])
        axes.plot(*points.T, linewidth=1)
        reached = [
            each.accepted(threshold)
            for _, threshold in zip(PRECISIONS, each.thresholds, strict=True)
        ]
        dots = np.array([dot for dot in reached if dot[1] is not None], dtype=float).reshape(-1, 2)
        axes.plot(*dots.T, "o", color="C1")
    names = {"xlabel": "fraction of concepts accepted", "ylabel": "fraction of these right"}
    axes.set(xlim=(0, 1), ylim=(0, 1), **names)
