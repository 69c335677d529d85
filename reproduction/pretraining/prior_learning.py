"""Learning of priors from the stored features of subtrees, and their quality on other domains."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from reproduction.pretraining.hierarchical import Choices, Normal, Outcomes, learn_distribution
from reproduction.pretraining.subtrees import HeldOutFeatures, Sample
from reproduction.pretraining.vocabularies import DOMAINS
from taxoexpan.placement.fitting.calibrator_learning import (
    FOLDS,
    FusionExamples,
    examples_of,
    fold_of,
    learn_fusion,
)
from taxoexpan.placement.learned.calibration import (
    TEMPERATURES,
    HeldOutScores,
    best_temperature,
    calibrate,
    summarize_scores,
)
from taxoexpan.placement.learned.confidence import Reliability, logit
from taxoexpan.placement.learned.priors import (
    CalibrationPrior,
    FusionPrior,
    curve_table,
    prior_from,
)
from taxoexpan.placement.scoring.pair_features import PAIR_FEATURES, Signal, SignalFusion
from taxoexpan.placement.scoring.ranking import Branches, true_levels
from taxoexpan.taxonomy.arrays import Floats
from taxoexpan.training.metrics import compute_metrics

NAMES = list(PAIR_FEATURES)
MAX_CHOICES = 40
"""The own concepts of a subtree that the weights are learned from, and as many new ones."""
GROUPS = 5
"""Groups of domains: the priors of four are used for the fifth."""
ROUNDS = 15
"""Rounds of the learning of a distribution."""
SMALL = 150
"""The report separates subtrees with fewer concepts."""
CLOSEST = SignalFusion.from_mapping({"name": 1.0})
"""The similarity of names alone, nearly the method Closest-Parent."""


@dataclass(frozen=True)
class Scored:
    """The scores of the own and the new concepts of a subtree, by weights learned from the own."""

    sample: Sample
    own: HeldOutScores
    new: HeldOutScores
    own_scores: NDArray[np.float32]
    new_scores: NDArray[np.float32]


@dataclass(frozen=True)
class Result:
    """Hit@1 of the model and of Closest-Parent for new concepts, and the confidence in each."""

    concepts: int
    model: float
    closest: float
    confidence: Floats
    right: NDArray[np.bool_]


class PriorLearner:
    """The priors of one kind of models, learned from all samples and from those of other groups."""

    def __init__(self, samples: Sequence[Sample], has_tower: bool) -> None:
        usable = [s for s in samples if len(s.own.parents) and len(s.new.parents)]
        if not has_tower:
            of_tower = [each.signal == Signal.TOWER for each in PAIR_FEATURES.values()]
            for sample in usable:
                sample.own.features[of_tower] = 0
                sample.new.features[of_tower] = 0
        domains = [*DOMAINS]
        self.groups = np.array([domains.index(sample.domain) % GROUPS for sample in usable])
        choices = [choices_of(sample) for sample in usable]
        self.has_values = np.any([each.features.any(axis=(0, 1)) for each in choices], axis=0)
        self.fusion = learn_weights(choices)
        self.scored: list[Scored] = []
        for group in range(GROUPS):
            prior = learn_weights([choices[i] for i in np.flatnonzero(self.groups != group)])
            rows = np.flatnonzero(self.groups == group).tolist()
            self.scored += [score_sample(usable[i], fusion_prior(prior)) for i in rows]
        self.groups = np.sort(self.groups)

    def as_json(self) -> dict[str, Any]:
        """Return the prior as `data/priors.json` stores it."""
        deviations = np.sqrt(np.diag(self.fusion.covariance))
        both = zip(NAMES, self.fusion.mean, deviations, self.has_values, strict=True)
        weights = {n: [round(w, 4), round(d, 4)] for n, w, d, is_used in both if is_used}
        return {"fusion": weights, **learn_calibration(self.scored)}

    def report(self) -> str:
        """Describe Hit@1 and the calibration error of subtrees by priors of other domains."""
        results: list[Result] = []
        for group in range(GROUPS):
            is_own = self.groups == group
            others = [s for s, own in zip(self.scored, is_own, strict=True) if not own]
            prior = prior_from({"fusion": {}, **learn_calibration(others)}).calibration
            own = [s for s, own in zip(self.scored, is_own, strict=True) if own]
            results += [measure(scored, prior) for scored in own]
        small = [each for each in results if each.concepts < SMALL]
        large = [each for each in results if each.concepts >= SMALL]
        parts = {f"fewer than {SMALL} concepts": small, f"{SMALL} concepts or more": large}
        return "\n".join(describe(name, some) for name, some in parts.items() if some)


def describe(name: str, results: Sequence[Result]) -> str:
    """Describe the results for some subtrees."""
    model = np.array([each.model for each in results])
    closest = np.array([each.closest for each in results])
    confidence = np.concatenate([each.confidence for each in results])
    right = np.concatenate([each.right for each in results])
    return (
        f"{name}: {len(results)} subtrees, Hit@1 {model.mean():.3f}, Closest-Parent "
        f"{closest.mean():.3f}, ahead on {(model > closest).sum()}, behind on "
        f"{(model < closest).sum()}, calibration error "
        f"{Reliability.of(confidence, right).error:.3f} ({len(right)} concepts)"
    )


def choices_of(sample: Sample) -> Choices:
    """Return the choices of parents by the own and the new concepts of a subtree."""
    examples = [examples_from(each, MAX_CHOICES) for each in (sample.own, sample.new)]
    rows, offsets, counts = [], [], []
    for part in examples:
        for features, is_parent, log_counts in zip(
            part.features, part.is_parent, part.log_counts, strict=True
        ):
            others = ~is_parent & np.isfinite(log_counts)
            for parent in np.flatnonzero(is_parent):
                rows.append(np.concatenate([features[[parent]], features[others]]))
                offsets.append(np.append(0.0, log_counts[others]))
                counts.append(1 / is_parent.sum())
    width = max(map(len, rows))
    padded = [np.pad(row, [(0, width - len(row)), (0, 0)]) for row in rows]
    missing = [np.pad(o, (0, width - len(o)), constant_values=-np.inf) for o in offsets]
    return Choices(np.stack(padded), np.stack(missing), np.array(counts))


def examples_from(held_out: HeldOutFeatures, limit: int | None = None) -> FusionExamples:
    """Return the examples that the package would fit the weights to, at most `limit`."""
    rng = np.random.default_rng(0)
    rows = np.arange(len(held_out.parents))
    if limit is not None:
        rows = rng.permutation(rows)[:limit]
    features = torch.from_numpy(held_out.features[:, :, rows].astype(np.float32))
    parents = [held_out.parents[row] for row in rows.tolist()]
    return examples_of(features, parents, [np.zeros(0, np.int64)] * len(rows), rng)


def learn_weights(choices: Sequence[Choices]) -> Normal:
    """Return the distribution of the weights of the fusion over subtrees."""
    start = Normal(np.zeros(len(NAMES)), np.eye(len(NAMES)))
    return learn_distribution(choices, start, is_diagonal=True, rounds=ROUNDS)


def fusion_prior(weights: Normal) -> FusionPrior:
    """Return the prior of the package for a distribution of weights."""
    deviations = np.sqrt(np.diag(weights.covariance))
    return FusionPrior(SignalFusion(tuple(weights.mean.tolist())), tuple(deviations.tolist()))


def score_sample(sample: Sample, prior: FusionPrior) -> Scored:
    """Score own concepts by weights learned from other own concepts, and new ones by all."""
    fusion, *by_fold = learn_fusion(examples_from(sample.own), prior)
    folds = fold_of(len(sample.own.parents))
    own = np.empty(sample.own.features.shape[1:], np.float32)
    for fold in range(FOLDS):
        rows = np.flatnonzero(folds == fold)
        own[:, rows] = sample.own.scores(np.array(by_fold[fold].weights), rows)
    new = sample.new.scores(np.array(fusion.weights))
    of_own, of_new = (
        summarize_scores(torch.from_numpy(scores), held_out.parents)
        for scores, held_out in ((own, sample.own), (new, sample.new))
    )
    return Scored(sample, of_own, of_new, own, new)


def learn_calibration(scored: Sequence[Scored]) -> dict[str, Any]:
    """Return the prior of the temperature and of the curves as JSON stores it."""
    temperature = learn_temperature([each.new for each in scored])
    indices = [best_temperature(each.own, temperature) for each in scored]
    pairs = list(zip(scored, indices, strict=True))
    curves = {
        "first": [outcomes_of(*pair, slice(0, 1)) for pair in pairs],
        "later": [outcomes_of(*pair, slice(1, None)) for pair in pairs],
        "branches": [branch_outcomes_of(*pair) for pair in pairs],
    }
    start = Normal(np.array([1.0, 0.0, 0.0]), np.eye(3))
    result: dict[str, Any] = {"log_temperature": [round(each, 4) for each in temperature]}
    for name, outcomes in curves.items():
        learned = learn_distribution(outcomes, start, is_diagonal=False, rounds=ROUNDS)
        mean, covariance = (array.round(4).tolist() for array in learned)
        result[name] = {"mean": mean, "covariance": covariance}
    return result


def learn_temperature(new: Sequence[HeldOutScores]) -> tuple[float, float]:
    """Return the mean and the deviation of the logarithm of the best temperature of subtrees."""
    points = np.log(TEMPERATURES)
    likelihood = np.stack([each.likelihood.sum(axis=0) for each in new])
    mean, deviation = 0.0, 1.0
    for _ in range(ROUNDS):
        density = likelihood - ((points - mean) / deviation) ** 2 / 2
        shares = np.exp(density - density.max(axis=1, keepdims=True))
        shares /= shares.sum(axis=1, keepdims=True)
        mean = float((shares @ points).mean())
        deviation = float(np.sqrt((shares @ (points - mean) ** 2).mean() + 1e-4))
    return mean, deviation


def outcomes_of(scored: Scored, index: int, ranks: slice) -> Outcomes:
    """Return the outcomes of the suggestions at some ranks, at a temperature given by its index."""
    count = len(scored.own.scores)
    return _joined(
        [
            (held_out.log_odds(index)[:, ranks].ravel(), held_out.right[:, ranks].ravel(), queries)
            for held_out, queries in ((scored.own, count), (scored.new, None))
        ]
    )


def branch_outcomes_of(scored: Scored, index: int) -> Outcomes:
    """Return the outcomes of the informative branches on the paths of first suggestions."""
    parts = []
    for held_out, scores, queries in (
        (scored.sample.own, scored.own_scores, len(scored.own.scores)),
        (scored.sample.new, scored.new_scores, None),
    ):
        taxonomy = held_out.taxonomy
        ends = scores.argmax(axis=0)
        branches = Branches(taxonomy, torch.device("cpu"))
        heat = TEMPERATURES[index]
        levels = branches.levels(torch.from_numpy(scores), ends[:, None], heat)[:, 0]
        right, is_place = true_levels(taxonomy, ends, held_out.parents)
        parts.append((logit(levels[is_place]), right[is_place], queries))
    return _joined(parts)


def _joined(parts: Sequence[tuple[Floats, NDArray[np.bool_], int | None]]) -> Outcomes:
    tables = [curve_table(log_odds, queries) for log_odds, _, queries in parts]
    right = np.concatenate([each for _, each, _ in parts])
    return Outcomes(np.concatenate(tables), right.astype(np.float64))


def measure(scored: Scored, prior: CalibrationPrior) -> Result:
    """Measure how well the new concepts of a subtree are placed, and how reliable confidence is."""
    new = scored.sample.new
    closest = torch.from_numpy(new.scores(np.array(CLOSEST.weights)))
    ranks = scored.new.ranks, summarize_scores(closest, new.parents).ranks
    model, baseline = (compute_metrics(each).hit_at_1 for each in ranks)
    calibration = calibrate(scored.own, 0, prior)
    assert calibration is not None
    index = TEMPERATURES.index(calibration.temperature)
    confidence = calibration.first(scored.new.log_odds(index)[:, 0])
    return Result(scored.sample.concepts, model, baseline, confidence, scored.new.right[:, 0])
