from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from taxoexpan.placement.joint.new_parent_prior import (
    BatchScores,
    LabeledBatch,
    NewParentPrior,
    label_features,
)
from taxoexpan.taxonomy import Concept

Floats = NDArray[np.float64]


def drawn_case(rng: np.random.Generator, count: int, weights: Floats) -> LabeledBatch:
    """A batch whose parents are drawn by the law that is to be learned."""
    among = rng.normal(size=(count, count))
    np.fill_diagonal(among, -np.inf)
    best, total = np.zeros(count), np.full(count, 0.5)
    features = rng.normal(size=(count, count, 3))
    features[..., 0] = 1
    scores = among + features @ weights - np.log(count - 1)
    shares = np.exp(np.concatenate([scores, total[:, None]], axis=1))
    shares /= shares.sum(1, keepdims=True)
    true = np.zeros((count, count + 1), dtype=np.bool_)
    for query, share in enumerate(shares):
        true[query, rng.choice(count + 1, p=share)] = True
    look = BatchScores(np.zeros(count, dtype=np.int64), best, total, among)
    return LabeledBatch(look, features, true[:, :count])


def look_at(odds: list[float]) -> tuple[BatchScores, Floats]:
    """A batch whose concepts have these log-odds of a new parent."""
    count = len(odds)
    among = np.full((count, count), -np.inf)
    among[np.arange(count), np.arange(1, count + 1) % count] = odds
    empty = np.zeros(count, dtype=np.int64)
    look = BatchScores(empty, np.zeros(count), np.zeros(count), among + np.log(count - 1))
    return look, np.zeros((count, count, 3))


def test_the_weights_that_parents_were_drawn_by_are_found_again() -> None:
    rng, weights = np.random.default_rng(0), np.array([2.0, 1.5, -0.7])
    cases = [drawn_case(rng, int(rng.integers(3, 12)), weights) for _ in range(300)]
    found = NewParentPrior.learn(cases)
    assert found is not None
    assert np.allclose(found.weights, weights, atol=0.2)
    assert found.rate == np.mean(np.concatenate([case.true.any(1) for case in cases]))


@given(st.integers(0, 1000))
@settings(max_examples=20, deadline=None)
def test_what_is_learned_gives_as_many_new_parents_as_there_were(seed: int) -> None:
    rng = np.random.default_rng(seed)
    cases = [drawn_case(rng, 8, np.array([1.0, 0.5, 0.0])) for _ in range(20)]
    found = NewParentPrior.learn(cases)
    assert found is not None
    expected, true = 0.0, 0
    for case in cases:
        scores = case.scores.among + case.features @ found.weights - np.log(7)
        odds = np.exp(scores).sum(1) / np.exp(case.scores.total)
        expected, true = expected + (odds / (1 + odds)).sum(), true + case.true.any(1).sum()
    assert abs(expected - true) / true < 0.02


def test_where_no_parent_is_new_there_is_nothing_to_learn() -> None:
    case = drawn_case(np.random.default_rng(0), 5, np.zeros(3))
    loose = LabeledBatch(case.scores, case.features, np.zeros((5, 5), dtype=np.bool_))
    assert NewParentPrior.learn([]) is None
    assert NewParentPrior.learn([loose]) is None


def test_a_batch_that_looks_like_a_family_gains_more_than_a_loose_one() -> None:
    prior = NewParentPrior(np.zeros(3), 0.5)
    gains = []
    for odds in ([3.0] * 6, [-3.0] * 6):
        look, features = look_at(odds)
        adjusted = prior.adjust(look, features)
        there = np.isfinite(adjusted)
        gains.append(np.unique((adjusted[there] - look.among[there] + np.log(5)).round(9)))
    assert [len(gain) for gain in gains] == [1, 1]
    assert gains[0] > 1
    assert gains[1] < -1


def test_few_concepts_tell_less_of_what_their_batch_is_like_than_many() -> None:
    gains = []
    for count in (2, 40):
        look, features = look_at([1.0] * count)
        gains.append(float(NewParentPrior(np.zeros(3), 0.5).adjust(look, features)[0, 1]) - 1)
    assert 0 < gains[0] < gains[1] / 2


def test_a_name_that_ends_in_anothers_and_is_longer_is_told() -> None:
    names = ["bread", "Rye Bread", "sweet-bread", "shortbread"]
    features = label_features([Concept("", name) for name in names])
    assert features[..., 0].all()
    assert features[..., 1].tolist() == [[0, 0, 0, 0], [1, 0, 0, 0], [1, 0, 0, 0], [0, 0, 0, 0]]
    assert features[1, :, 2].tolist() == [1, 0, 0, 1]
    assert (features[..., 2] == -features[..., 2].T).all()
