from __future__ import annotations

import numpy as np
import pytest
import torch
from fused_cases import fused_case, random_fusion

from taxoexpan.placement.candidates import index_building
from taxoexpan.placement.candidates.index_building import (
    build_search,
    draw_queries,
    exact_scores,
    measure,
)

pytest.importorskip("faiss")


def test_a_drawn_query_lies_between_a_leaf_and_a_sibling_of_it() -> None:
    ranker, _ = fused_case(7, count=40)
    taxonomy, names = ranker.anchors.taxonomy, ranker.anchors.vectors.names
    leaves = np.flatnonzero(taxonomy.children_of.degrees == 0)
    ranker.deprecated_rows = torch.from_numpy(leaves[:2])
    queries = draw_queries(ranker, 1000, np.random.default_rng(0))
    rows = [taxonomy.index(concept.id) for concept in queries.concepts]
    assert sorted(rows) == leaves[2:].tolist()
    is_other = 0
    for row, vector in zip(rows, queries.vectors[0], strict=True):
        parent = int(taxonomy.parents_of.of(row)[0])
        siblings = torch.tensor(taxonomy.children_of.of(parent).tolist())
        between = torch.nn.functional.normalize(names[row] + names[siblings], dim=1)
        is_same = torch.isclose(between, vector, atol=1e-5).all(1)
        assert is_same.any()
        is_other += int(siblings[is_same][0]) != row
    assert is_other > len(rows) // 4
    few = draw_queries(ranker, 3, np.random.default_rng(0))
    assert len(few) == 3


def test_the_first_width_with_enough_recall_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    ranker = fused_case(8, count=300)[0].with_fusion(random_fusion(8))
    monkeypatch.setattr("taxoexpan.placement.candidates.candidate_ranker.NUM_SAMPLED", 10)
    for widths, chosen in (
        (((2, 2), (300, 300), (299, 300)), 300),
        (((2, 2), (3, 3)), 3),
    ):
        monkeypatch.setattr(index_building, "WIDTHS", widths)
        record = build_search(ranker).record
        assert record.candidates == chosen
        assert record.is_used == (chosen == 300)


@pytest.mark.parametrize("temperature", [0.5, 2.0])
def test_a_search_among_all_anchors_has_no_error_at_any_temperature(temperature: float) -> None:
    ranker, queries = fused_case(9, count=40)
    for each in (ranker, ranker.with_fusion(random_fusion(9))):
        record = measure(build_search(each), queries, exact_scores(each, queries), temperature)
        assert (record.recall, record.queries) == (1, len(queries))
        assert record.confidence_error < 1e-4
