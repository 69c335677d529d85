from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from taxoexpan import TaxoExpan
from taxoexpan.config import load_preset
from taxoexpan.network.concept_vectors import ConceptVectors, LabeledQueries
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.placement.learned.calibration import (
    FITS,
    TEMPERATURES,
    TOP_K,
    HeldOutScores,
    calibrate,
    score_held_out,
    score_held_out_by_fold,
    with_branches,
)
from taxoexpan.placement.learned.confidence import (
    Calibration,
    Curve,
    Reliability,
    sigmoid,
)
from taxoexpan.placement.scoring.anchors import Anchors
from taxoexpan.placement.scoring.ranking import Ranker, is_informative
from taxoexpan.thresholds import MIN_FOR_CONFIDENCE
from tests.support.builders import random_taxonomy
from tests.support.calibration_data import drawn_scores
from tests.support.fused_cases import fused_case, random_fusion


@pytest.mark.parametrize("temperature", [0.5, 1.0, 2.0])
def test_the_temperature_is_found_and_the_confidence_is_calibrated(temperature: float) -> None:
    calibration = calibrate(drawn_scores(1, 2000, temperature))
    assert calibration is not None
    assert calibration.temperature == pytest.approx(temperature, rel=0.2)
    assert calibration.reliability.error < 0.04
    fresh = drawn_scores(2, 4000, temperature)
    at = TEMPERATURES.index(calibration.temperature)
    tempered = fresh.scores / calibration.temperature - fresh.totals[:, at, None]
    confidence = calibration.confidence(np.exp(tempered))
    assert Reliability.of(confidence[:, 0], fresh.right[:, 0]).error < 0.05
    threshold = calibration.reliability.threshold(0.7)
    assert threshold is not None
    accepted = confidence[:, 0] >= threshold
    assert fresh.right[accepted, 0].mean() > 0.6
    assert accepted.mean() > 0.02


def test_too_few_leaves_give_no_calibration() -> None:
    assert calibrate(drawn_scores(1, MIN_FOR_CONFIDENCE - 1, 1.0)) is None
    assert calibrate(drawn_scores(1, MIN_FOR_CONFIDENCE, 1.0)) is not None


@pytest.mark.parametrize("right", [True, False])
def test_scores_that_are_always_right_or_wrong_give_the_smoothed_rate(right: bool) -> None:
    held_out = drawn_scores(1, 200, 1.0)
    calibration = calibrate(replace(held_out, right=np.full_like(held_out.right, right)))
    assert calibration is not None
    confidence = calibration.confidence(np.array([[0.9, 0.05], [0.4, 0.3]]))
    rate = 201 / 202 if right else 1 / 202
    assert confidence[:, 0] == pytest.approx(rate, abs=1e-3)
    assert calibration.reliability.confidence == pytest.approx([rate] * 200, abs=2e-3)


@pytest.mark.parametrize("seed", range(5))
def test_the_confidence_is_never_the_score_itself(seed: int) -> None:
    """Even where the score is calibrated by chance, a curve is fitted to it."""
    calibration = calibrate(drawn_scores(seed, MIN_FOR_CONFIDENCE, 1.0))
    assert calibration is not None
    assert {calibration.first.kind, calibration.later.kind} <= {"platt", "isotonic"}


def test_a_platt_curve_is_fitted_to_smoothed_truth() -> None:
    """At the best weights, the mean of the curve and its mean times the log-odds are right."""
    rng = np.random.default_rng(0)
    log_odds, right = rng.normal(size=12), np.arange(12) < 7
    log_odds[right] += 1
    smoothed = np.where(right, 8 / 9, 1 / 7)
    fitted = FITS["platt"](log_odds, right)(log_odds)
    assert fitted.mean() == pytest.approx(smoothed.mean(), abs=1e-4)
    assert (log_odds * fitted).mean() == pytest.approx((log_odds * smoothed).mean(), abs=1e-4)


@pytest.mark.parametrize("is_first_wrong", [False, True])
def test_the_curve_that_predicts_best_is_chosen(is_first_wrong: bool) -> None:
    """A step is no logistic function, and one wrong suggestion at the top does not change that."""
    log_odds = np.linspace(-6, 6, 400)
    place = np.arange(400)
    steps = np.where(place < 100, False, (place >= 300) | (place % 2 == 0))
    steps[-1] = not is_first_wrong
    logistic = np.random.default_rng(0).random(400) < sigmoid(log_odds)
    for right, kind in ((steps, "isotonic"), (logistic, "platt")):
        scores = np.log(sigmoid(log_odds))[:, None].repeat(2, axis=1)
        likelihood = np.array([[float(heat == 1) for heat in TEMPERATURES]])
        both = right[:, None].repeat(2, axis=1)
        totals = np.zeros((400, len(TEMPERATURES)))
        calibration = calibrate(HeldOutScores(scores, both, totals, likelihood, ()))
        assert calibration is not None
        assert calibration.temperature == 1
        assert calibration.first.kind == calibration.later.kind == kind


@pytest.mark.parametrize("fused", [True, False])
def test_held_out_scores_agree_with_the_scores_of_all_anchors(
    model: TaxoExpan, fused: bool
) -> None:
    ranker, taxonomy = model._ranker, model.taxonomy
    assert ranker.fusion is not None
    ranker = ranker if fused else ranker.with_fusion(None)
    names = ["oat milk", "rye bread", "goat cheese"]
    parents = [np.array([taxonomy.index(p) for p in taxonomy.parents(n)]) for n in names]
    parents[1] = np.append(parents[1], 0)
    concepts = [taxonomy.concept(name) for name in names]
    vectors = model._embedder.tensor(concepts)
    queries = LabeledQueries(vectors, concepts=concepts, parents=parents)
    held_out = score_held_out(ranker, queries)
    scores = ranker.scores(queries).T.double().numpy()
    order = np.argsort(-scores, axis=1)[:, :TOP_K]
    np.testing.assert_allclose(held_out.scores, np.take_along_axis(scores, order, 1), rtol=1e-5)
    for row, own in enumerate(parents):
        assert held_out.right[row].tolist() == [anchor in own for anchor in order[row]]
    for at, heat in enumerate(TEMPERATURES):
        total = np.log(np.exp(scores / heat).sum(1))
        np.testing.assert_allclose(held_out.totals[:, at], total, rtol=1e-4, atol=1e-4)
        likely = [
            np.log(np.exp(scores[row, own] / heat).sum()) - total[row]
            for row, own in enumerate(parents)
        ]
        assert held_out.likelihood[:, at] == pytest.approx(likely, rel=1e-3, abs=1e-4)


def test_held_out_queries_are_scored_by_the_fusion_of_their_fold() -> None:
    ranker, queries = fused_case(4, queries=9)
    folds = np.arange(9) % 3
    fusions = [random_fusion(seed) for seed in range(4)]
    found = score_held_out_by_fold(ranker, queries, fusions, folds)  # the last fold is empty
    for row in range(9):
        alone = score_held_out(ranker.with_fusion(fusions[row % 3]), queries[row : row + 1])
        np.testing.assert_allclose(found.scores[row], alone.scores[0], atol=1e-3)
        np.testing.assert_allclose(found.totals[row], alone.totals[0], atol=1e-3)
        assert np.array_equal(found.right[row], alone.right[0])
        np.testing.assert_allclose(found.likelihood[row], alone.likelihood[0], atol=1e-3)
        assert np.array_equal(found.ranks[row], alone.ranks[0])


UNCHANGED = Curve("platt", (), (1.0, 0.0))
PLAIN = Calibration(1.0, UNCHANGED, UNCHANGED, Reliability((), ()))


def test_branches_are_ranked_by_a_fusion_that_was_not_fitted_to_their_fold() -> None:
    ranker, queries = fused_case(4, queries=40)
    folds = np.arange(40) % 3
    fusions = [random_fusion(seed) for seed in range(4)]
    given = replace(PLAIN, temperature=1.5)
    found = with_branches(given, ranker, queries, fusions, folds)  # the last fold is empty
    assert found is not None
    assert found.branches is not None
    taxonomy, samples = ranker.anchors.taxonomy, 0
    true = 0
    for row in range(40):
        alone = ranker.with_fusion(fusions[row % 3]).rank(queries[row : row + 1], 1, 1.5)
        parents = {taxonomy.ids[parent] for parent in queries.parents[row]}
        lineage = taxonomy.short_lineage(int(alone.anchors[0, 0]))
        for id in lineage[is_informative(taxonomy, lineage)]:
            branch = {taxonomy.ids[id], *taxonomy.descendants(taxonomy.ids[id])}
            samples, true = samples + 1, true + bool(branch & parents)
    assert len(found.branches.reliability.right) == samples > 40
    assert sum(found.branches.reliability.right) == true
    assert replace(found, branches=None) == given


def test_the_confidence_of_branches_is_calibrated() -> None:
    """Parents drawn with the ranker's own probabilities: the sums are right as they are."""
    rng, generator = np.random.default_rng(0), torch.Generator().manual_seed(0)
    taxonomy, keys = random_taxonomy(8, 80, 2), 2 * torch.randn(80, 4, generator=generator)
    network = MatchingNetwork(load_preset("best"), 4)
    ranker = Ranker(
        network, Anchors(taxonomy, ConceptVectors.of(keys[None].repeat(2, 1, 1)), 50), keys
    )
    vectors = torch.randn(2, 12_000, 4, generator=generator)
    probabilities = (keys @ vectors[0].T).softmax(0).double().numpy()
    parents = [np.array([rng.choice(80, p=p / p.sum())]) for p in probabilities.T]
    queries = LabeledQueries(vectors, parents=parents)
    folds = np.zeros(12_000, dtype=np.int64)
    calibration = with_branches(PLAIN, ranker, queries, [None], folds)
    assert calibration is not None
    found = calibration.branches
    assert found is not None
    assert found.reliability.error < 0.02
    for each in found.placements:
        assert each.truth > each.threshold - 0.03
    threshold = found.threshold(0.9)
    assert 0.5 <= threshold < 0.9
    reached = next(each for each in found.placements if each.threshold == threshold)
    assert 0.9 <= reached.truth < 0.92
