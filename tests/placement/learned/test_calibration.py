from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from builders import random_taxonomy
from calibration_data import drawn_scores
from conftest import SMALL
from fused_cases import fused_case, random_fusion

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.config import load_preset
from taxoexpan.explain.evidence import Part
from taxoexpan.network.concept_vectors import ConceptVectors, LabeledQueries
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.placement.learned.calibration import (
    FITS,
    LEAF_BONUSES,
    MIN_FOR_BONUS,
    TEMPERATURES,
    TOP_K,
    HeldOutScores,
    calibrate,
    calibrate_branches,
    learn_leaf_bonus,
    score_held_out,
    score_held_out_by_fold,
)
from taxoexpan.placement.learned.confidence import MIN_HELD_OUT, Reliability, sigmoid
from taxoexpan.placement.scoring.anchors import Anchors
from taxoexpan.placement.scoring.ranking import Ranker, is_informative
from taxoexpan.training.holdout import hold_out_growth
from taxoexpan.training.metrics import compute_metrics


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
    assert calibrate(drawn_scores(1, MIN_HELD_OUT - 1, 1.0)) is None
    assert calibrate(drawn_scores(1, MIN_HELD_OUT, 1.0)) is not None


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
    calibration = calibrate(drawn_scores(seed, MIN_HELD_OUT, 1.0))
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


def test_branches_are_ranked_by_a_fusion_that_was_not_fitted_to_their_fold() -> None:
    ranker, queries = fused_case(4, queries=40)
    folds = np.arange(40) % 3
    fusions = [random_fusion(seed) for seed in range(4)]
    found = calibrate_branches(ranker, queries, fusions, folds, 1.5)  # the last fold is empty
    assert found is not None
    taxonomy, samples = ranker.anchors.taxonomy, 0
    true = 0
    for row in range(40):
        alone = ranker.with_fusion(fusions[row % 3]).rank(queries[row : row + 1], 1, 1.5)
        parents = {taxonomy.ids[parent] for parent in queries.parents[row]}
        lineage = taxonomy.short_lineage(int(alone.anchors[0, 0]))
        for id in lineage[is_informative(taxonomy, lineage)]:
            branch = {taxonomy.ids[id], *taxonomy.descendants(taxonomy.ids[id])}
            samples, true = samples + 1, true + bool(branch & parents)
    assert len(found.reliability.right) == samples > 40
    assert sum(found.reliability.right) == true


def test_the_confidence_of_branches_is_calibrated() -> None:
    """Parents drawn with the ranker's own probabilities: the sums are right as they are."""
    rng, generator = np.random.default_rng(0), torch.Generator().manual_seed(0)
    taxonomy, keys = random_taxonomy(8, 80, 2), 2 * torch.randn(80, 4, generator=generator)
    network = MatchingNetwork(load_preset("best", fusion_dim=0), 4)
    ranker = Ranker(
        network, Anchors(taxonomy, ConceptVectors.of(keys[None].repeat(2, 1, 1)), 50), keys
    )
    vectors = torch.randn(2, 12_000, 4, generator=generator)
    probabilities = (keys @ vectors[0].T).softmax(0).double().numpy()
    parents = [np.array([rng.choice(80, p=p / p.sum())]) for p in probabilities.T]
    queries = LabeledQueries(vectors, parents=parents)
    found = calibrate_branches(ranker, queries, [None], np.zeros(12_000, dtype=np.int64), 1.0)
    assert found is not None
    assert found.reliability.error < 0.02
    for each in found.placements:
        assert each.truth > each.threshold - 0.03
    threshold = found.threshold(0.9)
    assert 0.5 <= threshold < 0.9
    reached = next(each for each in found.placements if each.threshold == threshold)
    assert 0.9 <= reached.truth < 0.92


@pytest.mark.parametrize("matching", ["bilinear", "mlp"])
def test_the_leaf_bonus_makes_the_true_parents_likeliest(matching: str) -> None:
    generator = torch.Generator().manual_seed(3)
    taxonomy = random_taxonomy(5, count=60)
    vectors = torch.nn.functional.normalize(torch.randn(2, 60, 8, generator=generator), dim=2)
    config = load_preset("best", matching=matching, fusion_dim=0, hidden_dim=8, embedding_dim=8)
    network = MatchingNetwork(config, 8)
    network.reset(generator)
    anchors = Anchors(taxonomy, ConceptVectors.of(vectors), 50)
    ranker = Ranker(network, anchors)
    vectors = torch.randn(2, MIN_FOR_BONUS, 8, generator=generator)
    rng = np.random.default_rng(4)
    parents = [rng.choice(60, 1 + i % 2, replace=False) for i in range(MIN_FOR_BONUS)]
    queries = LabeledQueries(vectors, parents=parents)

    def likelihood(bonus: float) -> float:
        raw = ranker.with_leaf_bonus(bonus).scores(queries)
        probabilities = network.match.log_match(raw).softmax(0)
        return sum(float(probabilities[own, q].sum().log()) for q, own in enumerate(parents))

    likely = [likelihood(bonus) for bonus in LEAF_BONUSES]
    assert learn_leaf_bonus(ranker, queries) == LEAF_BONUSES[int(np.argmax(likely))]
    assert learn_leaf_bonus(ranker, queries[1:]) == 0.0
    # Where all parents have children, nothing can be learned about leaf anchors.
    crowded = [own[:1] * 0 for own in parents]
    assert taxonomy.children(taxonomy.ids[0])
    assert learn_leaf_bonus(ranker, replace(queries, parents=crowded)) == 0.0


@pytest.fixture(scope="module")
def model_with_bonus(pantry: Path) -> TaxoExpan:
    """A model with a large leaf bonus, whatever bonus it has learned."""
    many = SMALL | {"validation_fraction": 0.9, "learn_fusion": False}  # of ninety foods
    model = TaxoExpan("fast", device="cpu", **many).fit(Taxonomy.read(pantry))
    archive = model._fitted()
    assert archive.calibrators.leaf_bonus in LEAF_BONUSES
    calibrators = replace(archive.calibrators, leaf_bonus=2.5)
    model._archive = replace(archive, calibrators=calibrators)
    return model


def test_the_ranking_and_its_explanation_use_the_leaf_bonus(model_with_bonus: TaxoExpan) -> None:
    suggestions, evidence = model_with_bonus.suggest_with_evidence(["cold brew", "nut milk"], 2)
    queries = model_with_bonus._queries([each.query for each in evidence])
    assert model_with_bonus._ranker.leaf_bonus == 2.5
    scores = model_with_bonus._ranker.scores(queries)
    probabilities = scores.softmax(0)
    for column, each in enumerate(evidence):
        own = [s for s in suggestions if s.query == each.query]
        rows = [model_with_bonus.taxonomy.index(s.parent.id) for s in own]
        assert [s.score for s in own] == pytest.approx(
            probabilities[rows, column].tolist(), rel=1e-4
        )
        assert each.comparison is not None
        margin = float(scores[rows[0], column] - scores[rows[1], column])
        assert each.comparison.margin == pytest.approx(margin, abs=1e-4)
        is_leaf = not model_with_bonus.taxonomy.children(own[0].parent.id)
        assert each.score_parts[Part.LEAF_BONUS] == (2.5 if is_leaf else 0.0)


def test_evaluation_uses_the_leaf_bonus(model_with_bonus: TaxoExpan) -> None:
    holdout = hold_out_growth(model_with_bonus.taxonomy, 0.5, 100, seed=3)
    anchors = Anchors(
        holdout.taxonomy,
        ConceptVectors.of(model_with_bonus._embedder.tensor(holdout.taxonomy.concepts)),
        50,
    )
    network = model_with_bonus._fitted().network
    ranker = Ranker(network, anchors)
    vectors = model_with_bonus._embedder.tensor(holdout.concepts)
    queries = LabeledQueries(vectors, parents=holdout.parents)
    metrics = model_with_bonus.evaluate(holdout)
    assert metrics == compute_metrics(ranker.with_leaf_bonus(2.5).true_ranks(queries))
    assert metrics != compute_metrics(ranker.true_ranks(queries))


def test_no_leaf_bonus_is_learned_from_unrelated_leaves(pantry: Path) -> None:
    many = SMALL | {"validation_fraction": 0.9, "epochs": 1, "learn_fusion": False}
    loose = TaxoExpan("fast", device="cpu", validation="leaves", **many).fit(Taxonomy.read(pantry))
    assert loose.calibrators.calibration is not None
    assert loose.calibrators.leaf_bonus == 0.0
