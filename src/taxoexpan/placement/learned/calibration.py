"""Scores of held-out concepts, and the calibration that is fitted to them.

A temperature softens the softmax over all anchors. The log-odds are mapped to the fraction of
correct suggestions by a logistic (Platt) or an isotonic curve, by cross-validation.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.errors import ModelError
from taxoexpan.network.concept_vectors import ConceptVectors, LabeledQueries
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.placement.learned.confidence import (
    BranchCalibration,
    Calibration,
    Curve,
    Reliability,
    isotonic,
    logistic,
    logit,
    safe_placements,
)
from taxoexpan.placement.learned.priors import CalibrationPrior, CurvePrior
from taxoexpan.placement.scoring.anchors import Anchors, AnchorTexts, Embedder
from taxoexpan.placement.scoring.best_scores import best_of
from taxoexpan.placement.scoring.pair_features import SignalFusion
from taxoexpan.placement.scoring.ranking import Ranker, padded_levels, true_levels
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Floats, Indices
from taxoexpan.thresholds import MIN_FOR_CONFIDENCE, MIN_FOR_FINE_CONFIDENCE
from taxoexpan.training.holdout import Holdout
from taxoexpan.training.true_ranks import rank_true_parents

TOP_K = 5
"""Suggestions of each held-out leaf that the curves are fitted to."""
FOLDS = 5


def padded_parents(parents: Sequence[Indices]) -> Tensor:
    """Return one column of true parents per query, padded with -1: [P, Q]."""
    width = max(map(len, parents))
    return torch.tensor([[*own, *[-1] * (width - len(own))] for own in parents]).T


TEMPERATURES = tuple(np.geomspace(0.25, 4, 17).round(4).tolist())


@dataclass(frozen=True)
class HeldOutScores:
    """The best raw scores of Q held-out queries [Q, K], and whether each anchor is correct [Q, K].

    `totals` [Q, T] are the logarithms of the softmax's denominators at every temperature, and
    `likelihood` [Q, T] the log-probabilities of the true parents.
    """

    scores: Floats
    right: NDArray[np.bool_]
    totals: Floats
    likelihood: Floats
    ranks: Sequence[NDArray[np.floating]]

    def log_odds(self, index: int) -> Floats:
        """Return the log-odds of the best anchors at a temperature, given by its index: [Q, K]."""
        return logit(np.exp(self.scores / TEMPERATURES[index] - self.totals[:, index, None]))

    @classmethod
    def concatenate(cls, parts: Sequence[HeldOutScores]) -> HeldOutScores:
        """Join the scores of several lists of queries, cut to the same number of anchors."""
        width = min(part.scores.shape[1] for part in parts)
        return cls(
            np.concatenate([part.scores[:, :width] for part in parts]),
            np.concatenate([part.right[:, :width] for part in parts]),
            np.concatenate([part.totals for part in parts]),
            np.concatenate([part.likelihood for part in parts]),
            [ranks for part in parts for ranks in part.ranks],
        )


def score_held_out(ranker: Ranker, queries: LabeledQueries) -> HeldOutScores:
    """Score held-out queries whose true parents are known."""
    parts = []
    for _, some in queries.blocks(len(ranker.keys)):
        log_f = ranker.log_match(ranker.scores(some))
        parts.append(summarize_scores(log_f, some.parents))
    return HeldOutScores.concatenate(parts)


def summarize_scores(log_f: Tensor, parents: Sequence[Indices]) -> HeldOutScores:
    """Summarize the scores of all anchors [N, Q] for queries with known parents."""
    best, rows = best_of(log_f, min(TOP_K, len(log_f)))
    own = padded_parents(parents).to(log_f.device)
    right = (rows[:, None] == own).any(1)
    totals = _log_totals(log_f)
    own_log_f = log_f.gather(0, own.relu()).masked_fill(own < 0, -torch.inf)
    of_block = best, right, totals, _log_totals(own_log_f) - totals
    first, second, third, last = (column.T.cpu().numpy() for column in of_block)
    return HeldOutScores(first, second, third, last, rank_true_parents(log_f, parents))


def score_held_out_by_fold(
    ranker: Ranker, queries: LabeledQueries, fusions: Sequence[SignalFusion], folds: Indices
) -> HeldOutScores:
    """Score each fold of the queries with a fusion that was not fitted to this fold."""
    rows = [np.flatnonzero(folds == fold) for fold in range(len(fusions))]
    joined = HeldOutScores.concatenate(
        [
            score_held_out(ranker.with_fusion(fusion), queries.select(some))
            for some, fusion in zip(rows, fusions, strict=True)
            if len(some)
        ]
    )
    order = np.argsort(np.concatenate(rows))
    names = ("scores", "right", "totals", "likelihood")
    ordered = {name: getattr(joined, name)[order] for name in names}
    return HeldOutScores(**ordered, ranks=[joined.ranks[row] for row in order.tolist()])


def _log_totals(scores: Tensor) -> Tensor:
    """Return the logarithm of the softmax's denominator at every temperature: [N, Q] → [T, Q]."""
    return torch.stack([(scores / heat).logsumexp(0) for heat in TEMPERATURES])


def calibrate(
    held_out: HeldOutScores, seed: int = 0, prior: CalibrationPrior | None = None
) -> Calibration | None:
    """Fit the calibration that best predicts held-out queries, starting from a prior.

    Without a prior, return None if the queries are too few.
    """
    if prior is None and len(held_out.scores) < MIN_FOR_CONFIDENCE:
        return None
    best = best_temperature(held_out, None if prior is None else prior.log_temperature)
    log_odds = held_out.log_odds(best)
    right = held_out.right
    folds = np.random.default_rng(seed).permutation(len(log_odds)) % FOLDS
    of_first, of_later = (
        _fits(len(right), curve)
        for curve in ((None, None) if prior is None else (prior.first, prior.later))
    )
    first, confidence = _best_curve(log_odds[:, :1], right[:, :1], folds, of_first)
    later, _ = _best_curve(log_odds[:, 1:], right[:, 1:], folds, of_later)
    reliability = Reliability.of(confidence[:, 0], right[:, 0])
    return Calibration(TEMPERATURES[best], first, later, reliability)


def prior_calibration(prior: CalibrationPrior) -> Calibration:
    """Return the calibration of a taxonomy without held-out queries."""
    nothing = np.zeros(0)
    first, later, branches = (
        curve.fit(nothing, nothing > 0, 0) for curve in (prior.first, prior.later, prior.branches)
    )
    unmeasured = Reliability((), ())
    temperature = math.exp(prior.log_temperature[0])
    of_branches = BranchCalibration(branches, unmeasured, ())
    return Calibration(temperature, first, later, unmeasured, of_branches)


def best_temperature(held_out: HeldOutScores, prior: tuple[float, float] | None) -> int:
    """Return the index of the temperature at which the true parents are most likely.

    The prior is the mean and the deviation of its logarithm.
    """
    likelihood = held_out.likelihood.sum(axis=0)
    if prior is not None:
        mean, deviation = prior
        likelihood = likelihood - ((np.log(TEMPERATURES) - mean) / deviation) ** 2 / 2
    return int(likelihood.argmax())


def with_branches(
    calibration: Calibration | None,
    ranker: Ranker,
    queries: LabeledQueries,
    fusions: Sequence[SignalFusion | None],
    folds: Indices,
    prior: CurvePrior | None = None,
) -> Calibration | None:
    """Add the curve of the branches on the path of each held-out query's first suggestion.

    Each fold [Q] of the queries is ranked by a fusion that was not fitted to it. Only branches
    that are informative count: the others are almost always right.
    """
    if calibration is None:
        return None
    parts = []
    anchors = []
    heat = calibration.temperature
    order = [np.flatnonzero(folds == fold) for fold in range(len(fusions))]
    for rows, fusion in zip(order, fusions, strict=True):
        if len(rows):
            some = queries.select(rows)
            ranking = ranker.with_fusion(fusion).rank(some, 1, heat, with_levels=True)
            assert ranking.levels is not None
            parts.append(ranking.levels)
            anchors.append(ranking.anchors[:, 0])
    parents = [queries.parents[row] for row in np.concatenate(order).tolist()]
    right, is_place = true_levels(ranker.anchors.taxonomy, np.concatenate(anchors), parents)
    levels = padded_levels(parts)[:, 0]
    levels[~is_place] = np.nan
    row, column = np.nonzero(~np.isnan(levels))
    if prior is None and not len(row):
        return calibration
    log_odds = logit(levels[row, column])[:, None]
    samples = right[row, column][:, None]
    fits = _fits(len(levels), prior)
    if prior is None or len(fits) > 1:
        # Sums of probabilities may be right as they are.
        fits = {"unchanged": lambda *_: Curve("platt", (), (1.0, 0.0)), **fits}
    curve, known = _best_curve(log_odds, samples, np.concatenate(order)[row] % FOLDS, fits)
    levels[row, column] = known[:, 0]
    reliability = Reliability.of(known[:, 0], samples[:, 0])
    branches = BranchCalibration(curve, reliability, safe_placements(levels, right))
    return replace(calibration, branches=branches)


def _best_curve(
    log_odds: Floats,
    right: NDArray[np.bool_],
    folds: Indices,
    fits: Mapping[str, Fit],
) -> tuple[Curve, Floats]:
    """Return the curve with the lowest cross-validated loss, and its cross-validated values."""
    if right.all() or not right.any():
        fits = {"platt": fits["platt"]}
    predicted = {kind: np.empty_like(log_odds) for kind in fits}
    for fold in range(FOLDS):
        out = folds == fold
        for kind, fit in fits.items():
            curve = fit(log_odds[~out].ravel(), right[~out].ravel())
            predicted[kind][out] = curve(log_odds[out])
    kind = "platt"
    if len(fits) > 1:
        kind = min(fits, key=lambda kind: _log_loss(predicted[kind], right))
    return fits[kind](log_odds.ravel(), right.ravel()), predicted[kind]


def _log_loss(confidence: Floats, right: NDArray[np.bool_]) -> float:
    """Return the mean log loss, clipped so that one impossible event does not dominate."""
    confidence = np.clip(confidence, 1e-3, 1 - 1e-3)
    return float(-np.where(right, np.log(confidence), np.log1p(-confidence)).mean())


def _platt(log_odds: Floats, right: NDArray[np.bool_]) -> Curve:
    """Fit a logistic curve to smoothed labels (Platt), so that a few leaves prove nothing."""
    table = np.stack([log_odds, np.ones_like(log_odds)], axis=1)
    count = np.count_nonzero(right)
    target_of_right = (count + 1) / (count + 2)
    target_of_wrong = 1 / (len(right) - count + 2)
    slope, shift = logistic(table, np.where(right, target_of_right, target_of_wrong))
    return Curve("platt", (), (float(slope), float(shift)))


def _isotonic(log_odds: Floats, right: NDArray[np.bool_]) -> Curve:
    xs, ys = isotonic(log_odds, right.astype(float))
    return Curve("isotonic", tuple(xs.tolist()), tuple(ys.tolist()))


Fit = Callable[[Floats, NDArray[np.bool_]], Curve]
"""A function that fits a curve to outcomes at some log-odds."""
FITS: dict[str, Fit] = {"platt": _platt, "isotonic": _isotonic}
"""The kinds of curves, and the function that fits each."""


def _fits(queries: int, prior: CurvePrior | None) -> dict[str, Fit]:
    """Return the functions that fit curves; few queries can only update the prior, if any."""
    if prior is None:
        return FITS
    updated: dict[str, Fit] = {"platt": partial(prior.fit, queries=queries)}
    return FITS | updated if queries >= MIN_FOR_FINE_CONFIDENCE else updated


def remaining_ranker(
    remaining: Taxonomy, network: MatchingNetwork, embedder: Embedder, calibrators: Calibrators
) -> Ranker:
    """Return a ranker for all concepts of a taxonomy that a model was not fitted on."""
    vectors = ConceptVectors.of(embedder.tensor(remaining.concepts))
    texts = AnchorTexts.of(remaining, embedder.tower) if calibrators.fusion else None
    anchors = Anchors(remaining, vectors, embedder.config.max_siblings, texts=texts)
    return Ranker(network.to(embedder.device), anchors, fusion=calibrators.fusion)


def held_out_queries(holdout: Holdout, embedder: Embedder) -> LabeledQueries:
    """Return the held-out concepts as queries to the remaining taxonomy."""
    if not holdout.concepts:
        raise ModelError("nothing is held out, so there is nothing to evaluate")
    return embedder.labeled_queries(holdout, embedder.lexicon(holdout.taxonomy))


def measure_reliability(
    ranker: Ranker, queries: LabeledQueries, calibration: Calibration
) -> Reliability:
    """Compare the confidence in first suggestions with the truth."""
    ranking = ranker.rank(queries, 1, calibration.temperature)
    pairs = zip(ranking.anchors[:, 0], queries.parents, strict=True)
    right = np.array([anchor in parents for anchor, parents in pairs])
    return Reliability.of(calibration.confidence(ranking.tempered)[:, 0], right)
