from __future__ import annotations

import numpy as np
import pytest
import torch
from fused_cases import all_features, fused_case, random_fusion, with_mentions

from taxoexpan.network.queries import LabeledQueries
from taxoexpan.placement.scoring import pair_inputs as inputs_module
from taxoexpan.placement.scoring.pair_inputs import QueryAnchorPairs, dot_products, pair_inputs
from taxoexpan.placement.scoring.pair_rescoring import fusion_features, score_pairs
from taxoexpan.placement.scoring.ranking import Ranker


def some_pairs(ranker: Ranker, queries: LabeledQueries, seed: int) -> QueryAnchorPairs:
    rng = np.random.default_rng(seed)
    return QueryAnchorPairs(
        rng.integers(0, len(queries), 60), rng.integers(0, len(ranker.keys), 60)
    )


@pytest.mark.parametrize("factor", [0, 10**9])
@pytest.mark.parametrize("seed", range(3))
def test_features_of_pairs_equal_those_of_all_pairs(
    seed: int, factor: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(inputs_module, "DENSE_FACTOR", factor)
    ranker, queries = fused_case(seed, tower=seed != 1, use_mentions=True)
    queries = with_mentions(queries, len(ranker.keys))
    fused = ranker.with_fusion(random_fusion(seed))
    pairs = some_pairs(ranker, queries, seed)
    found = fusion_features(fused, pair_inputs(fused, queries, pairs))
    expected = all_features(ranker, queries)[:, pairs.anchor, pairs.query]
    assert torch.allclose(found, expected, atol=1e-4)
    scores = score_pairs(fused, queries, pairs)
    assert torch.allclose(scores, fused.scores(queries)[pairs.anchor, pairs.query], atol=1e-3)


@pytest.mark.parametrize("matching", ["bilinear", "mlp"])
def test_scores_of_pairs_without_a_learned_fusion_equal_those_of_all_pairs(matching: str) -> None:
    ranker, queries = fused_case(5, matching=matching)
    ranker = ranker.with_leaf_bonus(0.7)
    pairs = some_pairs(ranker, queries, 0)
    expected = ranker.scores(queries)[pairs.anchor, pairs.query]
    assert torch.allclose(score_pairs(ranker, queries, pairs), expected, atol=1e-4)


def test_dot_products_of_pairs_in_any_order() -> None:
    generator = torch.Generator().manual_seed(0)
    vectors, queries = (torch.randn(n, 3, generator=generator) for n in (50, 4))
    rows, query = np.array([7, 7, 49, 0, 7]), np.array([3, 0, 1, 3, 0])
    expected = (vectors[rows] * queries[query]).sum(1)
    assert torch.allclose(dot_products(vectors, rows, queries, query), expected, atol=1e-6)
