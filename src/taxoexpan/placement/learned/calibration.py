"""Scores of held-out concepts, and the calibration that is fitted to them.

A temperature softens the softmax over all anchors. The log-odds are mapped to the fraction of
correct suggestions by a logistic (Platt) or an isotonic curve, by cross-validation.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

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
from taxoexpan.placement.scoring.anchors import Anchors, AnchorTexts, Embedder
from taxoexpan.placement.scoring.best_scores import best_of
from taxoexpan.placement.scoring.pair_features import SignalFusion
from taxoexpan.placement.scoring.ranking import Ranker, padded_levels, true_levels
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Floats, Indices
from taxoexpan.thresholds import MIN_FOR_CONFIDENCE
from taxoexpan.training.holdout import Holdout
from taxoexpan.training.true_ranks import rank_true_parents

TOP_K = 5
"""Suggestions of each held-out leaf that the curves are fitted to."""
FOLDS = 5


def padded_parents(queries: LabeledQueries) -> Tensor:
    """Return one column of true parents per query, padded with -1: [P, Q]."""
    width = max(map(len, queries.parents))
    return torch.tensor([[*own, *[-1] * (width - len(own))] for own in queries.parents]).T


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
        best, rows = best_of(log_f, min(TOP_K, len(log_f)))
        own = padded_parents(some).to(log_f.device)
        right = (rows[:, None] == own).any(1)
        totals = _log_totals(log_f)
        own_log_f = log_f.gather(0, own.relu()).masked_fill(own < 0, -torch.inf)
        of_block = best, right, totals, _log_totals(own_log_f) - totals
        first, second, third, last = (column.T.cpu().numpy() for column in of_block)
        ranks = rank_true_parents(log_f, some.parents)
        parts.append(HeldOutScores(first, second, third, last, ranks))
    return HeldOutScores.concatenate(parts)


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


def calibrate(held_out: HeldOutScores, seed: int = 0) -> Calibration | None:
    """Fit the calibration that best predicts held-out queries, or None if they are too few."""
    if len(held_out.scores) < MIN_FOR_CONFIDENCE:
        return None
    best = int(held_out.likelihood.mean(axis=0).argmax())
    temperature = TEMPERATURES[best]
    probabilities = np.exp(held_out.scores / temperature - held_out.totals[:, best, None])
    log_odds = logit(probabilities)
    right = held_out.right
    folds = np.random.default_rng(seed).permutation(len(log_odds)) % FOLDS
    first, confidence = _best_curve(log_odds[:, :1], right[:, :1], folds)
    later, _ = _best_curve(log_odds[:, 1:], right[:, 1:], folds)
    reliability = Reliability.of(confidence[:, 0], right[:, 0])
    return Calibration(temperature, first, later, reliability)


def with_branches(
    calibration: Calibration | None,
    ranker: Ranker,
    queries: LabeledQueries,
    fusions: Sequence[SignalFusion | None],
    folds: Indices,
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
    if not len(row):
        return calibration
    log_odds = logit(levels[row, column])[:, None]
    samples = right[row, column][:, None]
    # Sums of probabilities may be right as they are, and a few samples should not change them.
    fits = {"unchanged": lambda *_: Curve("platt", (), (1.0, 0.0)), **FITS}
    curve, known = _best_curve(log_odds, samples, np.concatenate(order)[row] % FOLDS, fits)
    levels[row, column] = known[:, 0]
    reliability = Reliability.of(known[:, 0], samples[:, 0])
    branches = BranchCalibration(curve, reliability, safe_placements(levels, right))
    return replace(calibration, branches=branches)


def _best_curve(
    log_odds: Floats,
    right: NDArray[np.bool_],
    folds: Indices,
    fits: Mapping[str, Callable[[Floats, NDArray[np.bool_]], Curve]] | None = None,
) -> tuple[Curve, Floats]:
    """Return the curve with the lowest cross-validated loss, and its cross-validated values."""
    fits = (fits or FITS) if right.any() and not right.all() else {"platt": _platt}
    predicted = {kind: np.empty_like(log_odds) for kind in fits}
    for fold in range(FOLDS):
        out = folds == fold
        for kind, fit in fits.items():
            curve = fit(log_odds[~out].ravel(), right[~out].ravel())
            predicted[kind][out] = curve(log_odds[out])
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


FITS = {"platt": _platt, "isotonic": _isotonic}
"""The kinds of curves, and the function that fits each."""


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
