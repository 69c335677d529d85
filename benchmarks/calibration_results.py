"""The results of `confidence_calibration.py` as files, and as tables in Markdown."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from taxoexpan.errors import FormatError
from taxoexpan.files import write_whole
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

    name: str
    seed: int
    queries: tuple[str, ...]
    confidence: tuple[float, ...]
    scores: tuple[float, ...]
    right: tuple[bool, ...]
    thresholds: tuple[float | None, ...]
    training: dict[str, Any]

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

    name: str
    seed: int
    size: int
    outside: tuple[float, ...]
    has_parent: tuple[bool, ...]
    inside: tuple[float, ...]
    threshold: float
    training: dict[str, Any]

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


RESULT_KINDS: dict[str, type[ConfidenceResult] | type[AbstentionResult]] = {
    "confidence": ConfidenceResult,
    "abstention": AbstentionResult,
}


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


def file_name(name: str, seed: int) -> str:
    """Return the file name of a result."""
    safe = re.sub(r"[^\w.-]+", "_", name).strip("_")
    return f"{safe}-{seed}.json"


def save_result(result: ConfidenceResult | AbstentionResult, folder: Path) -> Path:
    """Write a result to its own file, and replace an earlier one of the same test and seed."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / file_name(result.name, result.seed)
    kind = next(name for name, each in RESULT_KINDS.items() if isinstance(result, each))
    write_whole({path: (json.dumps({"kind": kind, **asdict(result)}) + "\n").encode()}, force=True)
    return path


def load_result(path: Path) -> ConfidenceResult | AbstentionResult:
    """Read a file of `save_result`."""
    try:
        fields = json.loads(path.read_text(encoding="utf-8"))
        kind = RESULT_KINDS[fields.pop("kind")]
        values: dict[str, Any] = {
            name: tuple(value) if isinstance(value, list) else value
            for name, value in fields.items()
        }
        return kind(**values)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        message = f"not a result ({error!r})"
        raise FormatError(
            path, message, fix="make it with benchmarks/confidence_calibration.py"
        ) from None


def by_test(results: Sequence[ConfidenceResult]) -> dict[str, list[ConfidenceResult]]:
    """Group results by the name of their test."""
    tests: dict[str, list[ConfidenceResult]] = {}
    for result in results:
        tests.setdefault(result.name, []).append(result)
    return tests


def tables(results: Sequence[ConfidenceResult | AbstentionResult]) -> str:
    """Return all tables in Markdown."""
    confidence = [each for each in results if isinstance(each, ConfidenceResult)]
    abstention = [each for each in results if isinstance(each, AbstentionResult)]
    parts = [confidence_table(confidence)] if confidence else []
    parts += [acceptance_table(name, group) for name, group in by_test(confidence).items()]
    parts += [abstention_table(abstention)] if abstention else []
    return "\n\n".join(parts)


def confidence_table(results: Sequence[ConfidenceResult]) -> str:
    """Return the expected calibration errors, one row per model."""
    columns = ("test", "seed", "queries", "right", "calibration error", "by chance", "bare softmax")
    rows = [
        (
            each.name,
            str(each.seed),
            f"{len(each.queries):,}",
            format_fraction(float(np.mean(each.right))),
            format_fraction(each.reliability.error, 3),
            format_fraction(error_by_chance(each.confidence), 3),
            format_fraction(each.score_reliability.error, 3),
        )
        for each in results
    ]
    return markdown_table(columns, rows)


def acceptance_table(name: str, results: Sequence[ConfidenceResult]) -> str:
    """Return the coverage and precision of each model's own thresholds in one test.

    For the mean coverage, a model that accepts nothing counts as 0; the mean precision omits it.
    """
    rows = []
    for index, precision in enumerate(PRECISIONS):
        each = [result.accepted(result.thresholds[index]) for result in results]
        precisions = [value for _, value in each if value is not None]
        mean = float(np.mean([coverage for coverage, _ in each]))
        mean_precision = float(np.mean(precisions)) if precisions else None
        cells = [_accepted_cell(mean, mean_precision), *(_accepted_cell(*both) for both in each)]
        rows.append([f"{precision:.0%}", *cells])
    columns = [f"{name}: wanted precision", "mean", *(f"seed {each.seed}" for each in results)]
    return markdown_table(columns, rows)


def abstention_table(results: Sequence[AbstentionResult]) -> str:
    """Return how well concepts of removed branches are separated from other leaves."""
    columns = ["removed branch", "seed", "concepts", "queries", "no parent left"]
    columns += ["ROC area", "ROC area, no parent left", "abstained", "wrongly abstained"]
    rows = [
        (
            each.name,
            str(each.seed),
            f"{each.size:,}",
            f"{len(each.outside):,} and {len(each.inside):,}",
            f"{1 - np.mean(each.has_parent):.0%}",
            format_fraction(each.area()),
            format_fraction(each.area(without_parent=True)),
            *(f"{rate:.0%}" for rate in each.abstention_rates),
        )
        for each in results
    ]
    return markdown_table(columns, rows)


def format_fraction(value: float | None, digits: int = 2) -> str:
    """Format a fraction without its leading zero: .25."""
    return "–" if value is None else f"{value:.{digits}f}".removeprefix("0")


def markdown_table(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines)


def _accepted_cell(coverage: float, precision: float | None) -> str:
    return "none" if precision is None else f"{coverage:.1%}, {format_fraction(precision)}"
