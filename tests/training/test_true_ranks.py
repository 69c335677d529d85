from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.true_ranks import TIES, TIES_AS_BEST, rank_true_parents


def slow_rank(scores: list[float], parent: int, parents: list[int], ties: float) -> float:
    rank, own = 1.0, scores[parent]
    for anchor, score in enumerate(scores):
        if anchor in parents:
            continue
        if math.isnan(score) or math.isnan(own) or score > own:
            rank += 1
        elif score == own:
            rank += ties
    return rank


SCORES = st.sampled_from([0.0, 1.0, 2.0, 3.0, -math.inf, math.inf, math.nan])


@st.composite
def scored_queries(draw: st.DrawFn) -> tuple[torch.Tensor, list[Indices]]:
    anchors, queries = draw(st.integers(1, 7)), draw(st.integers(1, 5))
    row = st.lists(SCORES, min_size=queries, max_size=queries)
    scores = draw(st.lists(row, min_size=anchors, max_size=anchors))
    some = st.lists(st.integers(0, anchors - 1), unique=True)
    parents = [np.array(draw(some), dtype=np.int64) for _ in range(queries)]
    return torch.tensor(scores), parents


@given(scored_queries(), st.sampled_from([0.0, 0.3, 0.5, 1.0]))
@settings(max_examples=300, deadline=None)
def test_ranks_equal_those_counted_one_by_one(
    scored: tuple[torch.Tensor, list[Indices]], ties: float
) -> None:
    scores, parents = scored
    found = rank_true_parents(scores, parents, ties)
    assert len(found) == len(parents)
    for query, (truth, ranks) in enumerate(zip(parents, found, strict=True)):
        column, known = scores[:, query].tolist(), truth.tolist()
        wanted = [slow_rank(column, parent, known, ties) for parent in known]
        assert ranks.tolist() == pytest.approx(wanted)


def test_a_fraction_of_equal_scores_counts_as_higher() -> None:
    scores, parents = torch.ones(5, 1), [np.array([0, 3])]
    for ties, rank in ((TIES_AS_BEST, 1), (TIES, 2.5), (1, 4)):
        assert rank_true_parents(scores, parents, ties)[0].tolist() == [rank, rank]
    assert rank_true_parents(scores, parents)[0].tolist() == [2.5, 2.5]
