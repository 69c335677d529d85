"""The gain of each signal and of each setting, on concepts held out as taxonomies grow.

An outer holdout removes concepts from the taxonomy, whole families included. A model is trained on
the rest, from which it holds out its own concepts for validation, and ranks the parents of the
removed concepts. No newer release is read, so the figures are validation data.

For a feature that is left out, its weight is 0 and the others are learned again from the same
held-out concepts; the network and the text tower are those of the whole model.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from reproduction.measurements.runs import MeasuredRun
from reproduction.measurements.tables import format_fraction, markdown_table
from reproduction.measurements.trial import Figures, Trial
from taxoexpan import TaxoExpan
from taxoexpan.errors import ConfigurationError
from taxoexpan.evaluation.confidence import measure_confidence
from taxoexpan.network.concept_vectors import LabeledQueries
from taxoexpan.phrasing import pluralize
from taxoexpan.placement.fitting.calibrator_learning import (
    MAX_FITTED_PAIRS,
    FusionExamples,
    collect_examples,
    fit_fusion,
    prior_for,
)
from taxoexpan.placement.learned.priors import FusionPrior
from taxoexpan.placement.scoring.pair_features import PAIR_FEATURES, Signal, SignalFusion
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.thresholds import DEFAULT_TRUTH
from taxoexpan.training.holdout import Holdout, hold_out, hold_out_growth
from taxoexpan.training.metrics import Metrics, compute_metrics
from taxoexpan.training.true_ranks import rank_true_parents

OUTER_SEED = 1000
"""What is added to the seed of a trial for the outer holdout; the model holds out with its own."""
WHOLE = "all"
"""The name of the variant with all features."""
METRICS = {
    "hit_at_1": "Hit@1",
    "hit_at_3": "Hit@3",
    "hit_at_10": "Hit@10",
    "reciprocal_rank": "MRR",
}
COMPARED = ("hit_at_1", "reciprocal_rank")
"""The metrics that have a table of differences."""


def _of_signal(signal: Signal) -> tuple[str, ...]:
    return tuple(name for name, feature in PAIR_FEATURES.items() if feature.signal is signal)


GROUPS = {
    "head words": ("head", "nearest_child_head", "mean_child_head"),
    "nearest children": ("nearest_child", "nearest_child_head", "tower_nearest_child"),
    "mean children": ("mean_child", "mean_child_head", "tower_mean_child"),
    "children in the tower": ("tower_nearest_child", "tower_mean_child"),
    "weights of leaf anchors": ("leaf_network", "leaf_tower", "leaf_name"),
    **{f"signal {signal}": _of_signal(signal) for signal in Signal},
}
"""The features that are left out together."""


@dataclass(frozen=True)
class SignalsResult:
    """The figures of one model; `variants` are metrics by what was left out.

    `placed` is the fraction of the concepts that are placed at the default truth, and `true` the
    fraction of these placements that are true. Without a confidence, all three are None.
    """

    concepts: int
    queries: int
    variants: Mapping[str, Mapping[str, float]]
    placed: float | None
    true: float | None
    calibration_error: float | None
    cpu_seconds: float


def measure(trial: Trial) -> Figures:
    """Train one model, and rank with all features and, if wanted, without some of them."""
    outer = outer_holdout(trial)
    left_out = left_out_features(trial.parameters)
    model = trial.new_model()
    began = time.process_time()
    model.fit(outer.taxonomy, progress=trial.progress)
    cpu_seconds = time.process_time() - began
    ranker, queries = model._held_out(outer)
    metrics = {WHOLE: compute_metrics(ranker.true_ranks(queries))}
    if left_out:
        fusions = fusions_without(model, left_out.values())
        ranks = ranks_by(ranker, queries, fusions)
        metrics |= dict(zip(left_out, map(compute_metrics, ranks), strict=True))
    confidence = measure_confidence(model, outer)
    placed = None
    if confidence is not None:
        placed = next((each for each in confidence.placed if each.target == DEFAULT_TRUTH), None)
    result = SignalsResult(
        concepts=len(outer.taxonomy),
        queries=len(outer.concepts),
        variants={name: _figures(each) for name, each in metrics.items()},
        placed=None if placed is None else placed.coverage,
        true=None if placed is None else placed.truth,
        calibration_error=None if confidence is None else confidence.calibration_error,
        cpu_seconds=round(cpu_seconds, 1),
    )
    return asdict(result)


def outer_holdout(trial: Trial) -> Holdout:
    """Hold out a tenth of the leaves, at most `count`; the same ones for all experiments."""
    whole = trial.data.taxonomy.active.canonical
    seed = OUTER_SEED + trial.seed
    return hold_out_growth(whole, "auto", trial.parameters["count"], seed).canonical


def left_out_features(parameters: Mapping[str, Any]) -> dict[str, tuple[str, ...]]:
    """Return the features that are left out, by the names of the variants.

    With the parameter `each_feature`, these are all features one by one, and all groups. The table
    `without` has further lists of features and groups.
    """
    chosen: dict[str, tuple[str, ...]] = {}
    if parameters.get("each_feature"):
        chosen |= {name: (name,) for name in PAIR_FEATURES} | GROUPS
    for name, parts in parameters.get("without", {}).items():
        chosen[name] = tuple(dict.fromkeys(_expanded(parts)))
    return chosen


def _expanded(parts: Iterable[str]) -> Iterator[str]:
    """Yield features; groups are replaced by their features."""
    for part in parts:
        if part not in GROUPS and part not in PAIR_FEATURES:
            known = ", ".join([*PAIR_FEATURES, *GROUPS])
            raise ConfigurationError(f"no feature is called {part!r}", fix=f"known: {known}")
        yield from GROUPS.get(part, (part,))


def fusions_without(model: TaxoExpan, left_out: Iterable[Sequence[str]]) -> list[SignalFusion]:
    """Learn the fusion of a model again without each list of features."""
    inner = hold_out(model.taxonomy.active, list(model._fitted().held_out))
    ranker, queries = model._held_out(inner)
    examples = collect_examples(ranker, queries, model.seed)
    prior = prior_for(ranker).fusion
    return [fusion_without(examples, prior, features, model.device) for features in left_out]


def fusion_without(
    examples: FusionExamples,
    prior: FusionPrior,
    left_out: Sequence[str],
    device: torch.device | str = "cpu",
) -> SignalFusion:
    """Learn the fusion again; the weights of the features that are left out are 0."""
    kept = np.array([name not in left_out for name in PAIR_FEATURES], dtype=np.float32)
    weights = dict.fromkeys(left_out, 0.0)
    mean = SignalFusion.from_mapping(prior.mean.as_mapping() | weights)
    start = replace(prior, mean=mean)
    # A feature that is always 0 has no gradient, so its weight stays as it starts.
    fusion = fit_fusion(replace(examples, features=examples.features * kept), start, device)
    return SignalFusion.from_mapping(fusion.as_mapping() | weights)


@torch.no_grad()
def ranks_by(
    ranker: Ranker, queries: LabeledQueries, fusions: Sequence[SignalFusion]
) -> list[list[NDArray[np.floating]]]:
    """Return the ranks of the true parents by each fusion; all features are computed once."""
    ranks: list[list[NDArray[np.floating]]] = [[] for _ in fusions]
    size = max(1, MAX_FITTED_PAIRS // len(ranker.keys))
    for start in range(0, len(queries), size):
        some = queries[start : start + size]
        features = ranker.features(some)
        for own, fusion in zip(ranks, fusions, strict=True):
            weights = features.new_tensor(fusion.weights)
            own += rank_true_parents(torch.tensordot(weights, features, 1), some.parents)
    return ranks


def _figures(metrics: Metrics) -> dict[str, float]:
    return {name: round(metrics.as_dict()[name], 5) for name in METRICS}


def tables(runs: Sequence[MeasuredRun]) -> str:
    """Return one table of differences per metric, and one with the figures of each experiment."""
    results = Results.of(runs)
    parts = [results.differences(metric) for metric in COMPARED]
    return "\n\n".join([*parts, results.settings()])


Row = tuple[str, str]
"""An experiment and a variant, by their titles."""
Estimate = tuple[float, float | None]
"""A mean and its standard error, which a single seed does not have."""


@dataclass(frozen=True)
class Results:
    """The stored results: by experiment, then by data set with its encoder, then by seed."""

    by_title: Mapping[str, Mapping[str, Mapping[int, SignalsResult]]]

    @classmethod
    def of(cls, runs: Sequence[MeasuredRun]) -> Results:
        """Sort the results of runs."""
        by_title: dict[str, dict[str, dict[int, SignalsResult]]] = {}
        for run in runs:
            data = f"{run.task.name} {run.task.features}".strip()
            own = by_title.setdefault(run.experiment.title, {}).setdefault(data, {})
            own[run.seed] = SignalsResult(**run.figures)
        return cls(by_title)

    @property
    def reference(self) -> str:
        """The experiment that the others are compared with."""
        return next(iter(self.by_title))

    @property
    def data(self) -> list[str]:
        """The names of all data sets."""
        return sorted({name for by_data in self.by_title.values() for name in by_data})

    def differences(self, metric: str) -> str:
        """Return the differences of a metric, one row per variant, one column per data set.

        An experiment is compared with the first one, and a variant with its own experiment.
        """
        rows = []
        for row in self._rows():
            estimates = {data: self._difference(row, data, metric) for data in self.data}
            known = [each for each in estimates.values() if each is not None]
            if not known:
                continue
            mean = format_estimate(mean_of(known))
            if len(known) < len(estimates):
                mean += f" ({pluralize(len(known), 'data set')})"
            cells = [format_estimate(each) if each else "" for each in estimates.values()]
            rows.append([self._title(row), *cells, mean])
        columns = [f"{METRICS[metric]}, difference to all signals", *self.data, "mean"]
        return markdown_table(columns, rows)

    def _rows(self) -> Iterator[Row]:
        """Yield the variants of all experiments, except the first one with all features."""
        for title, by_data in self.by_title.items():
            if title != self.reference:
                yield title, WHOLE
            results = [result for by_seed in by_data.values() for result in by_seed.values()]
            names = dict.fromkeys(name for result in results for name in result.variants)
            yield from ((title, name) for name in names if name != WHOLE)

    def _title(self, row: Row) -> str:
        title, variant = row
        if variant == WHOLE:
            return title
        return f"{title}, without {variant}"

    def _difference(self, row: Row, data: str, metric: str) -> Estimate | None:
        """Return the mean difference over the seeds that both have, if there are any."""
        title, variant = row
        own = self.by_title[title].get(data, {})
        compared = title if variant != WHOLE else self.reference
        other = self.by_title[compared].get(data, {})
        values = [
            result.variants[variant][metric] - other[seed].variants[WHOLE][metric]
            for seed, result in own.items()
            if seed in other and variant in result.variants
        ]
        return estimate(values) if values else None

    def settings(self) -> str:
        """Return the figures of each experiment with all features, on each data set."""
        columns = ["data", "experiment", "concepts", "held out", *METRICS.values()]
        columns += [f"placed at {DEFAULT_TRUTH}", "of these true", "calibration error"]
        rows = []
        for data in self.data:
            for title, by_data in self.by_title.items():
                if results := list(by_data.get(data, {}).values()):
                    rows.append([data, title, *_cells(results)])
        return markdown_table([*columns, "CPU seconds", "seeds"], rows)


def _cells(results: Sequence[SignalsResult]) -> list[str]:
    """Return the means over the seeds of one experiment on one data set."""
    cells = [f"{results[0].concepts:,}", f"{results[0].queries:,}"]
    cells += [
        _mean_cell([each.variants[WHOLE][metric] for each in results], 3) for metric in METRICS
    ]
    cells += [_mean_cell([each.placed for each in results], 2)]
    cells += [_mean_cell([each.true for each in results], 2)]
    cells += [_mean_cell([each.calibration_error for each in results], 3)]
    seconds = float(np.mean([each.cpu_seconds for each in results]))
    return [*cells, f"{seconds:,.0f}", str(len(results))]


def _mean_cell(values: Iterable[float | None], digits: int) -> str:
    """Return the mean of the values that are known."""
    known = [value for value in values if value is not None]
    return format_fraction(float(np.mean(known)) if known else None, digits)


def estimate(values: Sequence[float]) -> Estimate:
    """Return the mean of values and its standard error."""
    mean = float(np.mean(values))
    if len(values) < 2:
        return mean, None
    return mean, float(np.std(values, ddof=1) / np.sqrt(len(values)))


def mean_of(estimates: Sequence[Estimate]) -> Estimate:
    """Return the mean of independent estimates and its standard error."""
    mean = float(np.mean([value for value, _ in estimates]))
    errors = [error for _, error in estimates if error is not None]
    if len(errors) < len(estimates):
        return mean, None
    return mean, float(np.sqrt(np.sum(np.square(errors))) / len(errors))


def format_estimate(value: Estimate) -> str:
    """Format a difference with its standard error: +.012 ± .003."""
    mean, error = value
    sign = "-" if round(mean, 3) < 0 else "+"
    text = sign + format_fraction(abs(mean), 3)
    return text if error is None else f"{text} ± {format_fraction(error, 3)}"
