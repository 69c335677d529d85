from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from calibration_data import drawn_scores

from taxoexpan import TaxoExpan
from taxoexpan.network.queries import LabeledQueries
from taxoexpan.placement.calibration import TEMPERATURES, TOP_K, calibrate, score_held_out
from taxoexpan.placement.confidence import MIN_HELD_OUT, Reliability


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


def test_scores_that_are_always_right_are_not_changed() -> None:
    held_out = drawn_scores(1, 200, 1.0)
    calibration = calibrate(replace(held_out, right=np.ones_like(held_out.right)))
    assert calibration is not None
    assert calibration.first.kind == "none"


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
        assert held_out.likelihood[at] == pytest.approx(np.mean(likely), rel=1e-3, abs=1e-4)
