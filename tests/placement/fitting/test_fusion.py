from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from taxoexpan.placement.fitting import calibrator_learning
from taxoexpan.placement.fitting.calibrator_learning import (
    FOLDS,
    LEADERS,
    FusionExamples,
    collect_examples,
    fit_fusion,
    fold_of,
    learn_fusion,
    prior_for,
)
from taxoexpan.placement.learned.priors import FusionPrior, read_prior
from taxoexpan.placement.scoring.pair_features import PAIR_FEATURES, Signal, SignalFusion
from tests.support.fused_cases import fused_case
from tests.support.strategies import quickly

NOTHING = FusionPrior.around(SignalFusion.from_mapping({}))
PRIOR = FusionPrior.around(SignalFusion.from_mapping({"network": 0.5, "name": 0.5, "ending": 1.0}))


def drawn_examples(
    seed: int, weights: dict[str, float], queries: int, candidates: int = 20, parents: int = 1
) -> FusionExamples:
    """Draw features at random, and parents in proportion to the exponential of the true scores."""
    rng = np.random.default_rng(seed)
    features = rng.normal(size=(queries, candidates, len(PAIR_FEATURES))).astype(np.float32)
    scores = features @ np.array(SignalFusion.from_mapping(weights).weights)
    best = np.argsort(-(scores + rng.gumbel(size=scores.shape)), axis=1)[:, :parents]
    is_parent = np.zeros(scores.shape, dtype=bool)
    np.put_along_axis(is_parent, best, True, axis=1)
    return FusionExamples(features, is_parent, np.zeros(scores.shape, np.float32))


def log_likelihood(fusion: SignalFusion, examples: FusionExamples) -> float:
    """The mean over queries of the parents' log-probability, each among it and all non-parents."""
    total = []
    for features, is_parent, log_counts in zip(
        examples.features.astype(float), examples.is_parent, examples.log_counts, strict=True
    ):
        odds = np.exp(features @ np.array(fusion.weights) + log_counts)
        others = odds[~is_parent].sum()
        total.append(np.mean([np.log(odd / (odd + others)) for odd in odds[is_parent]]))
    return float(np.mean(total))


@pytest.mark.parametrize("parents", [1, 2])
def test_many_examples_recover_the_weights(parents: int) -> None:
    true = {"network": 1.0, "tower_anchor": 0.5, "leaf": -1.5, "leaf_name": 0.7}
    # The first of several parents is drawn by the weights; the others are drawn from the rest.
    found = fit_fusion(drawn_examples(0, true, 3000, parents=parents), NOTHING).as_mapping()
    for name in PAIR_FEATURES:
        assert found[name] == pytest.approx(true.get(name, 0.0), abs=0.12), name


def test_without_examples_the_weights_are_the_prior() -> None:
    mean = SignalFusion.from_mapping({"name": 2.0, "network": 0.3})
    none = drawn_examples(0, {}, 0)
    assert fit_fusion(none, FusionPrior.around(mean)) == mean


def test_few_examples_change_the_prior_less_than_many() -> None:
    mean = SignalFusion.from_mapping({"name": 2.0})
    prior = FusionPrior.around(mean)
    examples = drawn_examples(3, {"network": 1.0}, 1000)
    distances = [
        np.abs(np.array(fit_fusion(examples[np.arange(1000) < n], prior).weights) - mean.weights)
        for n in (2, 20, 1000)
    ]
    of_network = [distance[0] for distance in distances]
    assert of_network == sorted(of_network)
    assert of_network[0] < 0.2
    assert of_network[2] > 0.8


@quickly
@given(st.integers(0, 10**6), st.integers(1, 12), st.integers(2, 9), st.booleans())
def test_the_weights_are_never_worse_than_the_prior_on_their_own_examples(
    seed: int, queries: int, candidates: int, padded: bool
) -> None:
    rng = np.random.default_rng(seed)
    mean = SignalFusion(tuple(rng.normal(size=len(PAIR_FEATURES)).tolist()))
    deviations = np.where(rng.random(len(PAIR_FEATURES)) < 0.5, np.nan, rng.exponential())
    prior = FusionPrior(mean, tuple(deviations.tolist()))
    examples = drawn_examples(seed, {"name": 1.0, "leaf": 2.0}, queries, candidates)
    if padded:
        wider = drawn_examples(seed + 1, {}, 2, candidates + 3)
        examples = FusionExamples.concatenate([examples, wider])
    fitted = fit_fusion(examples, prior)
    assert np.isfinite(fitted.weights).all()
    assert log_likelihood(fitted, examples) >= log_likelihood(mean, examples) - 1e-9


def test_padding_changes_nothing() -> None:
    examples = drawn_examples(5, {"name": 1.0}, 30, 10)
    rows = np.arange(30) < 15
    wider = FusionExamples(
        *(
            np.concatenate([array, np.full_like(array[:, :4], value)], axis=1)
            for array, value in (
                (examples.features, 7),
                (examples.is_parent, False),
                (examples.log_counts, -np.inf),
            )
        ),
    )
    joined = FusionExamples.concatenate([wider[rows], examples[~rows]])
    assert len(joined) == 30
    assert joined.features.shape == (30, 14, len(PAIR_FEATURES))
    expected = fit_fusion(examples, PRIOR)
    for other in (wider, joined):
        np.testing.assert_allclose(fit_fusion(other, PRIOR).weights, expected.weights, atol=1e-5)


def test_a_candidate_that_stands_for_several_counts_as_often() -> None:
    """Three equal candidates count like one that stands for three."""
    examples = drawn_examples(6, {"name": 1.0}, 40, 6)
    features, is_parent = examples.features, examples.is_parent
    no_parent = ~is_parent
    order = np.argsort(no_parent, axis=1, kind="stable")  # the parent first
    features = np.take_along_axis(features, order[..., None], axis=1)
    is_parent = np.take_along_axis(is_parent, order, axis=1)

    def with_last(times: int, log_count: float) -> FusionExamples:
        def extended(array: NDArray[np.generic]) -> NDArray[np.generic]:
            return np.concatenate([array[:, :-1], *[array[:, -1:]] * times], axis=1)

        log_counts = np.zeros((40, 5 + times), np.float32)
        log_counts[:, 5:] = log_count
        arrays = extended(features), extended(is_parent), log_counts
        return FusionExamples(*arrays)

    often, once = with_last(3, 0.0), with_last(1, np.log(3))
    assert log_likelihood(PRIOR.mean, often) == pytest.approx(
        log_likelihood(PRIOR.mean, once), abs=1e-6
    )
    # The scale of the features depends on the candidates, and with it the strength of the prior.
    found = (np.array(fit_fusion(each, NOTHING).weights) for each in (often, once))
    np.testing.assert_allclose(*found, atol=0.1)


def test_a_feature_that_is_always_the_same_keeps_its_prior_weight() -> None:
    examples = drawn_examples(7, {"name": 1.0}, 50)
    leaf = list(PAIR_FEATURES).index("leaf")
    examples.features[:, :, leaf] = 1.0
    examples.features[:, :, leaf - 1] = 0.0
    prior = FusionPrior.around(SignalFusion.from_mapping({"leaf": 0.25}))
    found = fit_fusion(examples, prior).as_mapping()
    assert found["leaf"] == pytest.approx(0.25, abs=1e-3)
    assert found["children"] == 0.0
    assert found["name"] > 0.5


def test_a_weight_that_deviates_less_between_taxonomies_changes_less() -> None:
    examples = drawn_examples(3, {"network": 1.0, "name": 1.0}, 60)
    prior = FusionPrior.from_mapping({"network": (0.0, 1.0), "name": (0.0, 0.05)})
    found = fit_fusion(examples, prior).as_mapping()
    assert found["network"] > 0.5
    assert abs(found["name"]) < 0.2
    many = fit_fusion(drawn_examples(3, {"network": 1.0, "name": 1.0}, 5000), prior).as_mapping()
    assert many["name"] > 0.8


@pytest.mark.parametrize("has_tower", [True, False])
@pytest.mark.parametrize("has_network", [True, False])
def test_the_learned_priors_ignore_signals_that_are_missing(
    has_network: bool, has_tower: bool
) -> None:
    prior = read_prior(has_network, has_tower).fusion
    missing = {Signal.NETWORK: not has_network, Signal.TOWER: not has_tower}
    for signal in (Signal.NETWORK, Signal.TOWER):
        names = [name for name, each in PAIR_FEATURES.items() if each.signal == signal]
        weights = prior.mean.as_mapping()
        assert all(weights[name] == 0 for name in names) == missing[signal]
    known = np.array(prior.deviations)
    assert np.nanmin(known) > 0


@pytest.fixture(params=[(2, 2), (2, 40), (50, 60)], ids=["few", "others", "all"])
def limits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """The number of the best and of the other candidates, of 40 anchors."""
    best, others = request.param
    monkeypatch.setattr(calibrator_learning, "CANDIDATES", best)
    monkeypatch.setattr(calibrator_learning, "RANDOM_CANDIDATES", others)
    return best, others


@pytest.mark.parametrize("max_pairs", [90, 10**6])
def test_examples_have_all_true_parents_the_best_anchors_and_the_weight_of_all_anchors(
    limits: tuple[int, int], monkeypatch: pytest.MonkeyPatch, max_pairs: int
) -> None:
    # Two queries at a time, or all.
    monkeypatch.setattr(calibrator_learning, "MAX_FITTED_PAIRS", max_pairs)
    monkeypatch.setattr(calibrator_learning, "MIN_QUERIES", 1)
    ranker, queries = fused_case(1, count=40)
    features = ranker.features(queries)
    examples = collect_examples(ranker, queries, seed=0)
    assert len(examples) == len(queries)
    best, others = limits
    for column, parents in enumerate(queries.parents):
        valid = np.isfinite(examples.log_counts[column])
        found = examples.features[column][valid]
        gaps = np.abs(found[:, None] - features[:, :, column].T.numpy()).max(axis=2)
        assert gaps.min(axis=1).max() < 1e-3
        rows = gaps.argmin(axis=1).tolist()
        assert len({*rows}) == len(rows)
        marked = [
            row for row, is_one in zip(rows, examples.is_parent[column], strict=False) if is_one
        ]
        assert sorted(marked) == sorted(parents.tolist())
        assert examples.is_parent[column].sum() == len(parents)
        for leader in LEADERS:
            assert {*features[leader, :, column].topk(min(best, 40)).indices.tolist()} <= {*rows}
        counts = np.exp(examples.log_counts[column][valid])
        assert counts.sum() == pytest.approx(40, rel=1e-5)
        assert counts.min() >= 1 - 1e-6
        assert (counts[: len(rows) - others] == 1).all()
        assert not examples.is_parent[column][~valid].any()


def test_the_same_seed_draws_the_same_examples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrator_learning, "CANDIDATES", 2)
    monkeypatch.setattr(calibrator_learning, "RANDOM_CANDIDATES", 4)
    ranker, queries = fused_case(2, count=40)
    one, same, other = (collect_examples(ranker, queries, seed).features for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def made_examples(count: int) -> FusionExamples:
    rng = np.random.default_rng(3)
    features = rng.normal(size=(count, 9, len(PAIR_FEATURES))).astype(np.float32)
    is_parent = np.arange(9) == rng.integers(0, 9, (count, 1))
    return FusionExamples(features, is_parent, np.zeros((count, 9), np.float32))


def test_the_weights_of_a_fold_do_not_depend_on_its_own_examples() -> None:
    examples, folds = made_examples(30), fold_of(30)
    before = learn_fusion(examples, PRIOR)
    assert len(before) == 1 + FOLDS
    examples.features[folds == 2] *= -1
    after = learn_fusion(examples, PRIOR)
    assert [one == other for one, other in zip(before, after, strict=True)] == [
        False,
        *(fold == 2 for fold in range(FOLDS)),
    ]


@pytest.mark.parametrize("count", [1, 3])
def test_few_examples_leave_some_folds_empty(count: int) -> None:
    learned = learn_fusion(made_examples(count), PRIOR)
    assert len(learned) == 1 + FOLDS
    assert all(np.isfinite(each.weights).all() for each in learned)
    if count == 1:
        assert learned[1 + int(fold_of(1)[0])] == PRIOR.mean


def test_folds_have_equal_sizes_and_are_always_the_same() -> None:
    assert np.bincount(fold_of(53), minlength=FOLDS).tolist() == [11, 11, 11, 10, 10]
    assert np.array_equal(fold_of(53), fold_of(53))


def test_the_prior_depends_on_whether_there_is_a_tower() -> None:
    assert prior_for(fused_case(3)[0]) == read_prior(True, True)
    assert prior_for(fused_case(3, tower=False)[0]) == read_prior(True, False)
