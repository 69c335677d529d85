from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.placement.learned.new_parent_prior import (
    PSEUDO_COUNT,
    BatchScores,
    LabeledBatch,
    NewParentPrior,
    label_features,
)
from taxoexpan.taxonomy import Concept
from taxoexpan.taxonomy.arrays import Floats


def random_batch(rng: np.random.Generator, count: int, weights: Floats) -> LabeledBatch:
    """A batch whose parents are drawn from the model that is to be learned."""
    among = rng.normal(size=(count, count))
    np.fill_diagonal(among, -np.inf)
    best, total = np.zeros(count), np.full(count, 0.5)
    features = rng.normal(size=(count, count, 3))
    features[..., 0] = 1
    scores = among + features @ weights - np.log(count - 1)
    probabilities = np.exp(np.concatenate([scores, total[:, None]], axis=1))
    probabilities /= probabilities.sum(1, keepdims=True)
    true = np.zeros((count, count + 1), dtype=np.bool_)
    for query, own in enumerate(probabilities):
        true[query, rng.choice(count + 1, p=own)] = True
    anchors = np.zeros(count, dtype=np.int64)
    return LabeledBatch(BatchScores(anchors, best, total, among), features, true[:, :count])


def batch_with_odds(odds: list[float]) -> tuple[BatchScores, Floats]:
    """A batch whose concepts have these log-odds of a new parent."""
    count = len(odds)
    among = np.full((count, count), -np.inf)
    among[np.arange(count), np.arange(1, count + 1) % count] = odds
    empty = np.zeros(count, dtype=np.int64)
    scores = BatchScores(empty, np.zeros(count), np.zeros(count), among + np.log(count - 1))
    return scores, np.zeros((count, count, 3))


def test_the_true_weights_are_recovered() -> None:
    rng, weights = np.random.default_rng(0), np.array([2.0, 1.5, -0.7])
    batches = [random_batch(rng, int(rng.integers(3, 12)), weights) for _ in range(300)]
    found = NewParentPrior.learn(batches)
    assert found is not None
    assert np.allclose(found.weights, weights, atol=0.2)
    assert found.rate == np.mean(np.concatenate([batch.true.any(1) for batch in batches]))


@given(st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_the_fitted_prior_predicts_the_true_number_of_new_parents(seed: int) -> None:
    rng = np.random.default_rng(seed)
    batches = [random_batch(rng, 8, np.array([1.0, 0.5, 0.0])) for _ in range(20)]
    found = NewParentPrior.learn(batches)
    assert found is not None
    expected, true = 0.0, 0
    for batch in batches:
        scores = batch.scores.among + batch.features @ found.weights - np.log(7)
        odds = np.exp(scores).sum(1) / np.exp(batch.scores.total)
        expected, true = expected + (odds / (1 + odds)).sum(), true + batch.true.any(1).sum()
    assert abs(expected - true) / true < 0.02


def test_nothing_is_learned_without_new_parents() -> None:
    batch = random_batch(np.random.default_rng(0), 5, np.zeros(3))
    unrelated = LabeledBatch(batch.scores, batch.features, np.zeros((5, 5), dtype=np.bool_))
    assert NewParentPrior.learn([]) is None
    assert NewParentPrior.learn([unrelated]) is None


def test_a_batch_that_looks_like_a_family_gains_more_than_an_unrelated_one() -> None:
    prior = NewParentPrior((0.0, 0.0, 0.0), 0.5)
    gains = []
    for odds in ([3.0] * 6, [-3.0] * 6):
        scores, features = batch_with_odds(odds)
        adjusted = prior.adjust(scores, features)
        finite = np.isfinite(adjusted)
        gains.append(np.unique((adjusted[finite] - scores.among[finite] + np.log(5)).round(9)))
    assert [len(gain) for gain in gains] == [1, 1]
    assert gains[0] > 1
    assert gains[1] < -1


def test_the_gain_is_relative_to_the_rate_that_was_learned() -> None:
    """All six concepts have a new parent, so the rate of the batch has pseudo-counts alone."""
    scores, features = batch_with_odds([50.0] * 6)
    for rate in (0.2, 0.5):
        adjusted = NewParentPrior((0.0, 0.0, 0.0), rate).adjust(scores, features)
        finite = np.isfinite(adjusted)
        gains = adjusted[finite] - scores.among[finite] + np.log(5)
        expected = np.log((6 + PSEUDO_COUNT) / PSEUDO_COUNT) - np.log(rate / (1 - rate))
        np.testing.assert_allclose(gains, expected, rtol=1e-6)


def test_a_small_batch_changes_the_rate_less_than_a_large_one() -> None:
    gains = []
    for count in (2, 40):
        scores, features = batch_with_odds([1.0] * count)
        gains.append(float(NewParentPrior((0.0, 0.0, 0.0), 0.5).adjust(scores, features)[0, 1]) - 1)
    assert 0 < gains[0] < gains[1] / 2


def test_label_features_compare_endings_and_lengths() -> None:
    names = ["bread", "Rye Bread", "sweet-bread", "shortbread"]
    features = label_features([Concept("", name) for name in names])
    assert features[..., 0].all()
    assert features[..., 1].tolist() == [[0, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    assert features[1, :, 2].tolist() == [1, 0, 0, 1]
    assert (features[..., 2] == -features[..., 2].T).all()
