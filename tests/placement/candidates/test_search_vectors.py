from __future__ import annotations

import numpy as np
import pytest
from fused_cases import fused_case, random_fusion

from taxoexpan.network.queries import Queries
from taxoexpan.placement.candidates.search_vectors import LinearParts


@pytest.mark.parametrize("tower", [True, False])
def test_a_product_of_vectors_is_the_weighted_sum_of_all_parts(tower: bool) -> None:
    ranker, queries = fused_case(0, tower=tower)
    ranker = ranker.with_fusion(random_fusion(0))
    parts, taxonomy = LinearParts(ranker), ranker.anchors.taxonomy
    names = ranker.anchors.vectors.names.numpy()
    texts = ranker.anchors.texts
    assert texts is not None
    weights = np.random.default_rng(0).normal(size=12 if tower else 8)
    found = parts.query_side(queries) @ parts.combine(weights).T
    for row in range(len(taxonomy)):
        children = taxonomy.children_of.of(row)
        is_leaf = not len(children)

        def mean(vectors: np.ndarray, below: np.ndarray = children) -> np.ndarray:
            return vectors[below].mean(axis=0) if len(below) else np.zeros(vectors.shape[1])

        for number, query in enumerate(queries.vectors[0].numpy()):
            terms = [ranker.keys[row].numpy() @ query, names[row] @ query, mean(names) @ query]
            if texts.as_anchors is not None and texts.as_queries is not None:
                assert queries.tower is not None
                own = queries.tower[number].numpy()
                terms += [texts.as_anchors[row].numpy() @ own, mean(texts.as_queries.numpy()) @ own]
            expected = weights[-2] * np.log1p(len(children)) + weights[-1] * is_leaf
            for place, term in enumerate(terms):
                expected += term * (weights[2 * place] + weights[2 * place + 1] * is_leaf)
            assert found[number, row] == pytest.approx(expected, abs=1e-4)


def test_scores_that_are_linear_are_fitted_exactly_up_to_a_constant_per_query() -> None:
    ranker, queries = fused_case(1, count=60)
    parts = LinearParts(ranker.with_fusion(random_fusion(1)))
    weights = np.random.default_rng(1).normal(size=12)
    scores = parts.combine(weights) @ parts.query_side(queries).T
    scores += 5 * np.arange(len(queries), dtype=np.float32)
    scores[3, 2] = -np.inf
    fitted = parts.fit(queries, scores, np.random.default_rng(0))
    np.testing.assert_allclose(parts.combine(fitted), parts.combine(weights), atol=1e-3)


def test_the_fit_is_a_weighted_regression_in_which_higher_scores_count_more() -> None:
    ranker, labeled = fused_case(2, tower=False)
    queries = Queries(labeled.vectors, None, labeled.concepts)
    parts = LinearParts(ranker)
    scores = np.random.default_rng(2).normal(size=(30, 7)).astype(np.float32) * 3
    fitted = parts.fit(queries, scores, np.random.default_rng(0))
    # At the best weights, no part of the scores explains anything of the weighted residuals.
    rng, gradient = np.random.default_rng(0), np.zeros(len(fitted))
    columns = [parts.combine(each) for each in np.eye(len(fitted))]
    for number, side in enumerate(parts.query_side(queries)):
        rows = np.append(np.arange(30), rng.integers(0, 30, 250))
        target = scores[rows, number].astype(float)
        table = np.stack([column[rows] @ side for column in columns], axis=1)
        importance = np.exp(target / 2) / np.exp(target / 2).sum()
        residual = target - table @ fitted
        residual -= importance @ residual
        gradient += (importance * residual) @ (table - importance @ table)
    assert gradient == pytest.approx(np.zeros(len(fitted)), abs=1e-4)
