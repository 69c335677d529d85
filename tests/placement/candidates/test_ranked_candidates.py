from __future__ import annotations

import numpy as np
import pytest
from fused_cases import fused_case, random_fusion

from taxoexpan.placement.candidates.index_building import build_search
from taxoexpan.placement.candidates.ranked_candidates import rank_candidates
from taxoexpan.placement.learned.abstention import abstention_features

pytest.importorskip("faiss")


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("count", [0, 2, 39, 40])
def test_if_all_anchors_are_candidates_the_ranking_is_exact(fused: bool, count: int) -> None:
    """Each query excludes some anchors, and the last one excludes most."""
    ranker, queries = fused_case(6, count=40)
    ranker = ranker.with_fusion(random_fusion(6)) if fused else ranker.with_leaf_bonus(0.7)
    excluded = [np.arange(query % 3) for query in range(len(queries) - 1)] + [np.arange(count)]
    found = rank_candidates(build_search(ranker), queries, 5, 2.0, excluded)
    exact = ranker.rank(queries, 5, 2.0, excluded)
    assert exact.anchors.shape[1] == max(1, min(5, 40 - count))
    placed = slice(0, len(queries) - (count == 40))
    assert np.array_equal(found.ranking.anchors[placed], exact.anchors[placed])
    np.testing.assert_allclose(found.ranking.scores[placed], exact.scores[placed], rtol=1e-3)
    np.testing.assert_allclose(found.ranking.tempered[placed], exact.tempered[placed], rtol=1e-3)
    assert found.features is not None
    expected = abstention_features(ranker, queries)
    np.testing.assert_allclose(found.features, expected, rtol=1e-3, atol=1e-4)
