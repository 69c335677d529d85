"""The results of measurements of confidence and abstention, and their tables in Markdown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reproduction.measurements.runs import MeasuredRun
from reproduction.measurements.tables import format_fraction, markdown_table
from taxoexpan.placement.learned.confidence import BIN_COUNT, Reliability
from taxoexpan.taxonomy.arrays import Floats

PRECISIONS = (0.9, 0.8, 0.7, 0.6, 0.5)
"""The precisions that thresholds are chosen for."""
DRAWS = 1000


@dataclass(frozen=True)
class ConfidenceResult:
    """The first suggestions of one model: their confidences, and which were right.

    `scores` are the softmax probabilities before calibration. `thresholds` are the model's own
    confidence thresholds for each of `PRECISIONS`; None if its held-out leaves reach none.
    """

    queries: Sequence[str]
    confidence: Sequence[float]
    scores: Sequence[float]
    right: Sequence[bool]
    thresholds: Sequence[float | None]

    @property
    def reliability(self) -> Reliability:
        """The reliability of the confidences."""
        return Reliability.of(np.array(self.confidence), np.array(self.right))

    @property
    def score_reliability(self) -> Reliability:
        """The reliability of the scores, if they were used as confidences."""
        return Reliability.of(np.array(self.scores), np.array(self.right))

    def accepted(self, threshold: float | None) -> tuple[float, float | None]:
        """Return the fraction of queries that a threshold accepts, and their precision."""
        return self.reliability.accepted(threshold)


@dataclass(frozen=True)
class AbstentionResult:
    """The log-odds that concepts have a suitable parent, by a model that never saw a branch.

    `outside` are those of concepts of the removed branch, which has `size` concepts; `inside` are
    those of held-out leaves of the rest. `has_parent` says which concepts of the branch still have
    a parent outside of it. Below `threshold` the model reports that there is no suitable parent.
    """

    branch: str
    size: int
    outside: Sequence[float]
    has_parent: Sequence[bool]
    inside: Sequence[float]
    threshold: float

    def area(self, without_parent: bool = False) -> float | None:
        """Return the area under the ROC curve of abstention, optionally only without a parent."""
        outside = np.array(self.outside)
        if without_parent:
            outside = outside[~np.array(self.has_parent)]
        return roc_area(outside, np.array(self.inside))

    @property
    def abstention_rates(self) -> tuple[float, float]:
        """The rates of abstention for the branch, and (wrongly) for the leaves."""
        outside, inside = (np.array(odds) < self.threshold for odds in (self.outside, self.inside))
        return float(outside.mean()), float(inside.mean())


def roc_area(low: Floats, high: Floats) -> float | None:
    """Return the probability that a value of `low` is below one of `high`; ties count half."""
    if not len(low) or not len(high):
        return None
    ordered = np.sort(high)
    above = len(high) - np.searchsorted(ordered, low, side="right")
    equal = len(high) - np.searchsorted(ordered, low, side="left") - above
    return float((above + equal / 2).mean() / len(high))


def error_by_chance(confidence: Sequence[float], draws: int = DRAWS, seed: int = 0) -> float:
    """Return the mean calibration error if the confidences were perfectly calibrated.

    It is above zero because bins with few queries deviate by chance.
    """
    values = np.array(confidence, dtype=np.float64)
    bins = np.eye(BIN_COUNT)[np.minimum((values * BIN_COUNT).astype(int), BIN_COUNT - 1)]
    right = np.random.default_rng(seed).random((draws, len(values))) < values
    return float(np.abs((right - values) @ bins).sum(axis=1).mean() / len(values))


def results_of(runs: Sequence[MeasuredRun]) -> dict[str, dict[int, ConfidenceResult]]:
    """Return the results by the names of their tests, and by seed."""
    tests: dict[str, dict[int, ConfidenceResult]] = {}
    for run in runs:
        name = f"{run.task.name}, {run.experiment.title}"
        name += f", {run.task.features}" if run.task.features else ""
        tests.setdefault(name, {})[run.seed] = ConfidenceResult(**run.figures)
    return tests


def confidence_text(runs: Sequence[MeasuredRun]) -> str:
    """Return the tables of calibration errors, and of coverage and precision, in Markdown."""
    tests = results_of(runs)
    parts = [acceptance_table(name, results) for name, results in tests.items()]
    return "\n\n".join([confidence_table(tests), *parts])


def confidence_table(tests: Mapping[str, Mapping[int, ConfidenceResult]]) -> str:
    """Return the expected calibration errors, one row per model."""
    columns = ("test", "seed", "queries", "right", "calibration error", "by chance", "bare softmax")
    rows = [
        (
            name,
            str(seed),
            f"{len(result.queries):,}",
            format_fraction(float(np.mean(result.right))),
            format_fraction(result.reliability.error, 3),
            format_fraction(error_by_chance(result.confidence), 3),
            format_fraction(result.score_reliability.error, 3),
        )
        for name, results in tests.items()
        for seed, result in results.items()
    ]
    return markdown_table(columns, rows)


def acceptance_table(name: str, results: Mapping[int, ConfidenceResult]) -> str:
    """Return the coverage and precision of each model's own thresholds in one test.

    For the mean coverage, a model that accepts nothing counts as 0; the mean precision omits it.
    """
    rows = []
    for index, precision in enumerate(PRECISIONS):
        each = [result.accepted(result.thresholds[index]) for result in results.values()]
        precisions = [value for _, value in each if value is not None]
        mean = float(np.mean([coverage for coverage, _ in each]))
        mean_precision = float(np.mean(precisions)) if precisions else None
        cells = [_accepted_cell(mean, mean_precision), *(_accepted_cell(*both) for both in each)]
        rows.append([f"{precision:.0%}", *cells])
    columns = [f"{name}: wanted precision", "mean", *(f"seed {seed}" for seed in results)]
    return markdown_table(columns, rows)


def abstention_text(runs: Sequence[MeasuredRun]) -> str:
    """Return how well concepts of removed branches are separated from other leaves."""
    columns = ["data", "removed branch", "seed", "concepts", "queries", "no parent left"]
    columns += ["ROC area", "ROC area, no parent left", "abstained", "wrongly abstained"]
    rows = []
    for run in runs:
        result = AbstentionResult(**run.figures)
        cells = [run.task.name, result.branch, str(run.seed), f"{result.size:,}"]
        cells += [f"{len(result.outside):,} and {len(result.inside):,}"]
        cells += [f"{1 - np.mean(result.has_parent):.0%}", format_fraction(result.area())]
        cells += [format_fraction(result.area(without_parent=True))]
        rows.append([*cells, *(f"{rate:.0%}" for rate in result.abstention_rates)])
    return markdown_table(columns, rows)


def _accepted_cell(coverage: float, precision: float | None) -> str:
    return "none" if precision is None else f"{coverage:.1%}, {format_fraction(precision)}"
