from __future__ import annotations

import numpy as np
import pytest
from fused_cases import all_features, fused_case

from taxoexpan.placement.learned import fusion_learning
from taxoexpan.placement.learned.calibration import score_held_out, score_held_out_by_fold
from taxoexpan.placement.learned.fusion_learning import (
    FOLDS,
    LEADERS,
    collect_examples,
    fold_of,
    learn_fusion,
    prior_for,
)
from taxoexpan.placement.scoring.pair_features import NUM_FEATURES
from taxoexpan.placement.scoring.signal_fusion import (
    PRIOR,
    PRIOR_WITHOUT_TOWER,
    FusionExamples,
    SignalFusion,
)


@pytest.fixture(params=[(2, 2), (2, 40), (50, 60)], ids=["few", "others", "all"])
def limits(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> tuple[int, int]:
    """The number of the best and of the other candidates, of 40 anchors."""
    best, others = request.param
    monkeypatch.setattr(fusion_learning, "CANDIDATES", best)
    monkeypatch.setattr(fusion_learning, "RANDOM_CANDIDATES", others)
    return best, others


@pytest.mark.parametrize("max_pairs", [90, 10**6])
def test_examples_have_all_true_parents_the_best_anchors_and_the_weight_of_all_anchors(
    limits: tuple[int, int], monkeypatch: pytest.MonkeyPatch, max_pairs: int
) -> None:
    monkeypatch.setattr(fusion_learning, "MAX_PAIRS", max_pairs)  # two queries at a time, or all
    monkeypatch.setattr(fusion_learning, "MIN_QUERIES", 1)
    ranker, queries = fused_case(1, count=40)
    features = all_features(ranker, queries)
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
    monkeypatch.setattr(fusion_learning, "CANDIDATES", 2)
    monkeypatch.setattr(fusion_learning, "RANDOM_CANDIDATES", 4)
    ranker, queries = fused_case(2, count=40)
    one, same, other = (collect_examples(ranker, queries, seed).features for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


def made_examples(count: int) -> FusionExamples:
    rng = np.random.default_rng(3)
    features = rng.normal(size=(count, 9, NUM_FEATURES)).astype(np.float32)
    is_parent = np.arange(9) == rng.integers(0, 9, (count, 1))
    log_counts, weights = np.zeros((count, 9), np.float32), np.ones(count, np.float32)
    return FusionExamples(features, is_parent, log_counts, weights)


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
        assert learned[1 + int(fold_of(1)[0])] == PRIOR


def test_folds_have_equal_sizes_and_are_always_the_same() -> None:
    assert np.bincount(fold_of(53), minlength=FOLDS).tolist() == [11, 11, 11, 10, 10]
    assert np.array_equal(fold_of(53), fold_of(53))


def test_the_prior_depends_on_whether_there_is_a_tower() -> None:
    assert prior_for(fused_case(3)[0]) == PRIOR
    assert prior_for(fused_case(3, tower=False)[0]) == PRIOR_WITHOUT_TOWER


def test_held_out_queries_are_scored_by_the_fusion_of_their_fold() -> None:
    ranker, queries = fused_case(4, queries=9)
    rng, folds = np.random.default_rng(0), np.arange(9) % 3
    fusions = [SignalFusion(tuple(rng.normal(size=NUM_FEATURES).tolist())) for _ in range(4)]
    found = score_held_out_by_fold(ranker, queries, fusions, folds)  # the last fold is empty
    likelihoods = []
    for row in range(9):
        alone = score_held_out(ranker.with_fusion(fusions[row % 3]), queries[row : row + 1])
        np.testing.assert_allclose(found.scores[row], alone.scores[0], atol=1e-3)
        np.testing.assert_allclose(found.totals[row], alone.totals[0], atol=1e-3)
        assert np.array_equal(found.right[row], alone.right[0])
        likelihoods.append(alone.likelihood)
    np.testing.assert_allclose(found.likelihood, np.mean(likelihoods, axis=0), atol=1e-3)
