from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from builders import random_taxonomy
from conftest import SMALL
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.config import load_preset
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.placement.confidence import (
    FEWEST,
    LEAF_BONUSES,
    TEMPERATURES,
    TOP,
    Calibration,
    Curve,
    Measured,
    Reliability,
    calibrate,
    learn_leaf_bonus,
    measure,
)
from taxoexpan.placement.ranking import Anchors, Ranker
from taxoexpan.placement.regression import sigmoid
from taxoexpan.training.holdout import hold_out_growth
from taxoexpan.training.metrics import compute_metrics

shares = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=40)


def measured_of(logits: np.ndarray, truth: np.ndarray) -> Measured:
    """What queries with these scores of all anchors [Q, N], and one true parent each, come to."""
    order = np.argsort(-logits, axis=1)[:, :TOP]
    totals = np.stack([np.log(np.exp(logits / t).sum(1)) for t in TEMPERATURES], axis=1)
    own = logits[np.arange(len(logits)), truth]
    shares = np.stack([own / t for t in TEMPERATURES], axis=1) - totals
    best = np.take_along_axis(logits, order, axis=1)
    return Measured(best, order == truth[:, None], totals, shares.mean(axis=0))


def drawn(seed: int, count: int, heat: float) -> Measured:
    """Queries whose parents are drawn by a softmax at another temperature than the scores have."""
    dice = np.random.default_rng(seed)
    logits = dice.normal(size=(count, 30)) * 3
    cumulative = np.cumsum(np.exp(logits / heat), axis=1)
    truth = (dice.random(count)[:, None] * cumulative[:, -1:] < cumulative).argmax(1)
    return measured_of(logits, truth)


@pytest.mark.parametrize("heat", [0.5, 1.0, 2.0])
def test_the_temperature_is_found_and_confidence_means_what_it_says(heat: float) -> None:
    calibration = calibrate(drawn(1, 2000, heat))
    assert calibration is not None
    assert calibration.temperature == pytest.approx(heat, rel=0.2)
    assert calibration.reliability.error < 0.04
    fresh = drawn(2, 4000, heat)
    at = TEMPERATURES.index(calibration.temperature)
    tempered = fresh.scores / calibration.temperature - fresh.totals[:, at, None]
    sure = calibration.confidence(np.exp(tempered))
    told = Reliability.of(sure[:, 0], fresh.right[:, 0])
    assert told.error < 0.05
    threshold = calibration.reliability.threshold(0.7)
    assert threshold is not None
    accepted = sure[:, 0] >= threshold
    assert fresh.right[accepted, 0].mean() > 0.6
    assert accepted.mean() > 0.02


def test_few_leaves_calibrate_nothing() -> None:
    assert calibrate(drawn(1, FEWEST - 1, 1.0)) is None
    assert calibrate(drawn(1, FEWEST, 1.0)) is not None


def test_what_is_always_right_is_left_as_it_is() -> None:
    measured = drawn(1, 200, 1.0)
    always = Measured(
        measured.scores, np.ones_like(measured.right), measured.totals, measured.likelihood
    )
    calibration = calibrate(always)
    assert calibration is not None
    assert calibration.first.kind == "none"


@given(shares)
def test_the_calibration_error_is_that_of_the_plain_sum(told: list[tuple[float, bool]]) -> None:
    sure, right = np.array([t[0] for t in told]), np.array([t[1] for t in told])
    error = 0.0
    for low in range(10):
        inside = [
            (c, r) for c, r in told if low / 10 <= c < (low + 1) / 10 or (low == 9 and c == 1)
        ]
        if inside:
            gap = sum(c for c, _ in inside) / len(inside) - sum(r for _, r in inside) / len(inside)
            error += len(inside) / len(told) * abs(gap)
    # A confidence may stand a rounding away from the end of a span.
    near = any(abs(c * 10 - round(c * 10)) < 1e-9 and c not in (0, 1) for c, _ in told)
    if not near:
        assert Reliability.of(sure, right).error == pytest.approx(error)


@given(shares, st.floats(0, 1))
def test_a_threshold_keeps_its_word(told: list[tuple[float, bool]], precision: float) -> None:
    sure, right = np.array([t[0] for t in told]), np.array([t[1] for t in told])
    reliability = Reliability.of(sure, right)
    threshold = reliability.threshold(precision)
    if threshold is not None:
        accepted = right[sure >= threshold]
        share = (accepted.sum() + 1) / (len(accepted) + 2)
        assert share - (share * (1 - share) / (len(accepted) + 2)) ** 0.5 >= precision - 1e-9
    for c, covered, correct in reliability.coverage():
        assert covered == pytest.approx((sure >= c).mean())
        assert correct == pytest.approx(right[sure >= c].mean())


@settings(max_examples=25)
@given(st.integers(0, 2**32 - 1))
def test_confidence_is_a_probability_and_never_rises_with_the_rank(seed: int) -> None:
    dice = np.random.default_rng(seed)
    knots = np.sort(dice.normal(size=6))
    calibration = Calibration(
        1.0,
        Curve("isotonic", tuple(knots), tuple(np.sort(dice.random(6)))),
        Curve("platt", (), (float(dice.random()), float(dice.normal()))),
        Reliability((), ()),
    )
    sure = calibration.confidence(-np.sort(-dice.dirichlet(np.ones(6), size=20), axis=1)[:, :5])
    assert ((sure >= 0) & (sure <= 1)).all()
    assert (np.diff(sure, axis=1) <= 0).all()


def test_a_calibration_survives_json() -> None:
    calibration = calibrate(drawn(3, 300, 1.5))
    assert calibration is not None
    again = Calibration.from_dict(json.loads(json.dumps(calibration.as_dict())))
    assert again == calibration


def test_a_logistic_curve_is_one() -> None:
    odds = np.array([-3.0, 0.0, 2.0])
    np.testing.assert_allclose(Curve("platt", (), (0.5, 1.0))(odds), sigmoid(0.5 * odds + 1))


def test_held_out_queries_are_measured_as_all_scores_say(model: TaxoExpan) -> None:
    ranker, taxonomy = model.ranker, model.taxonomy
    names = ["oat milk", "rye bread", "goat cheese"]
    queries = model._embed([taxonomy.concept(name) for name in names])
    parents = [np.array([taxonomy.index(p) for p in taxonomy.parents(n)]) for n in names]
    parents[1] = np.append(parents[1], 0)
    measured = measure(ranker, queries, parents)
    scores = ranker.scores(queries).T.double().numpy()
    order = np.argsort(-scores, axis=1)[:, :TOP]
    np.testing.assert_allclose(measured.scores, np.take_along_axis(scores, order, 1), rtol=1e-5)
    for row, own in enumerate(parents):
        assert measured.right[row].tolist() == [place in own for place in order[row]]
    for at, heat in enumerate(TEMPERATURES):
        total = np.log(np.exp(scores / heat).sum(1))
        np.testing.assert_allclose(measured.totals[:, at], total, rtol=1e-4, atol=1e-4)
        likely = [
            np.log(np.exp(scores[row, own] / heat).sum()) - total[row]
            for row, own in enumerate(parents)
        ]
        assert measured.likelihood[at] == pytest.approx(np.mean(likely), rel=1e-3, abs=1e-4)


def test_tempered_shares_are_those_of_the_softmax(model: TaxoExpan) -> None:
    queries = model._embed([model.taxonomy.concept("oat milk")])
    ranking = model.ranker.rank(queries, 3, temperature=2.0)
    softmax = torch.softmax(model.ranker.scores(queries)[:, 0].double() / 2, 0).numpy()
    np.testing.assert_allclose(ranking.tempered[0], softmax[ranking.anchors[0]], rtol=1e-4)
    plain = model.ranker.rank(queries, 3)
    np.testing.assert_array_equal(plain.tempered, plain.scores)
    np.testing.assert_allclose(plain.scores, ranking.scores, rtol=1e-6)


def test_few_that_are_right_are_not_enough() -> None:
    three, sixty = (Reliability.of(np.full(n, 0.99), np.ones(n, dtype=bool)) for n in (3, 60))
    assert three.threshold(0.9) is None
    assert sixty.threshold(0.9) == 0.99


@pytest.mark.parametrize("matching", ["bilinear", "mlp"])
def test_what_childless_anchors_gain_makes_the_true_parents_likeliest(matching: str) -> None:
    dice = torch.Generator().manual_seed(3)
    taxonomy = random_taxonomy(5, count=60)
    vectors = torch.nn.functional.normalize(torch.randn(2, 60, 8, generator=dice), dim=2)
    config = load_preset("best", matching=matching, fusion_dim=0, hidden_dim=8, embedding_dim=8)
    network = MatchingNetwork(config, 8)
    network.reset(dice)
    anchors = Anchors(taxonomy, ConceptVectors.of(vectors), 50)
    ranker = Ranker(network, anchors, anchors.encode(network))
    queries = torch.randn(2, FEWEST, 8, generator=dice)
    draws = np.random.default_rng(4)
    parents = [draws.choice(60, 1 + i % 2, replace=False) for i in range(FEWEST)]

    def likelihood(gain: float) -> float:
        raw = ranker.scores(queries, leaf_bonus=gain)
        shares = network.match.log_match(raw).softmax(0)
        return sum(float(shares[own, q].sum().log()) for q, own in enumerate(parents))

    likely = [likelihood(gain) for gain in LEAF_BONUSES]
    assert learn_leaf_bonus(ranker, queries, parents) == LEAF_BONUSES[int(np.argmax(likely))]
    assert learn_leaf_bonus(ranker, queries[:, 1:], parents[1:]) == 0.0
    # Of parents that all have children nothing can be learned, least of all to shun the others.
    crowded = [own[:1] * 0 for own in parents]
    assert taxonomy.children(taxonomy.ids[0])
    assert learn_leaf_bonus(ranker, queries, crowded) == 0.0


@pytest.fixture(scope="module")
def gaining(pantry: Path) -> TaxoExpan:
    """A model whose anchors without children gain much, whatever it learned of them."""
    many = SMALL | {"validation_fraction": 0.9}  # of ninety foods
    model = TaxoExpan(device="cpu", **many).fit(Taxonomy.read(pantry))
    archive, calibration = model._fitted(), model.calibrators.calibration
    assert calibration is not None
    assert calibration.leaf_bonus in LEAF_BONUSES
    calibrators = replace(archive.calibrators, calibration=replace(calibration, leaf_bonus=2.5))
    model._archive = replace(archive, calibrators=calibrators)
    return model


def test_what_was_learned_from_growth_counts_in_the_ranking(gaining: TaxoExpan) -> None:
    suggestions, evidence = gaining.explain(["cold brew", "nut milk"], 2)
    queries = gaining._embed([each.query for each in evidence])
    scores = gaining.ranker.scores(queries, leaf_bonus=2.5)
    shares = scores.softmax(0)
    for column, each in enumerate(evidence):
        own = [s for s in suggestions if s.query == each.query]
        rows = [gaining.taxonomy.index(s.parent.id) for s in own]
        assert [s.score for s in own] == pytest.approx(shares[rows, column].tolist(), rel=1e-4)
        assert each.contest is not None
        margin = float(scores[rows[0], column] - scores[rows[1], column])
        assert each.contest.margin == pytest.approx(margin, abs=1e-4)
        alone = not gaining.taxonomy.children(own[0].parent.id)
        assert each.parts.leaf_bonus == (2.5 if alone else 0.0)


def test_held_out_leaves_are_evaluated_as_they_would_be_ranked(gaining: TaxoExpan) -> None:
    holdout = hold_out_growth(gaining.taxonomy, 0.5, 100, seed=3)
    anchors = Anchors(
        holdout.taxonomy, ConceptVectors.of(gaining._embed(holdout.taxonomy.concepts)), 50
    )
    network = gaining._fitted().network
    ranker = Ranker(network, anchors, anchors.encode(network))
    asked = (gaining._embed(holdout.concepts), holdout.parents)
    told = gaining.evaluate(holdout)
    assert told == compute_metrics(ranker.true_ranks(*asked, leaf_bonus=2.5))
    assert told != compute_metrics(ranker.true_ranks(*asked))


def test_loose_leaves_teach_no_gain(pantry: Path) -> None:
    many = SMALL | {"validation_fraction": 0.9, "epochs": 1}
    loose = TaxoExpan(device="cpu", validation="leaves", **many).fit(Taxonomy.read(pantry))
    assert loose.calibrators.calibration is not None
    assert loose.calibrators.leaf_bonus == 0.0
