from __future__ import annotations

import math
from collections.abc import Callable
from typing import get_args

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.errors import ConfigurationError, TaxoExpanError
from taxoexpan.training.metrics import (
    RANK_VALUES,
    Averaging,
    MetricName,
    compute_metrics,
    per_query,
)
from taxoexpan.training.true_ranks import rank_true_parents


def test_metrics_average_over_the_parents_of_a_query_first() -> None:
    metrics = compute_metrics([np.array([1]), np.array([1, 5, 21, 100])])
    assert metrics.mr == pytest.approx((1 + 127 / 4) / 2)
    assert metrics.hit_at_1 == pytest.approx((1 + 1 / 4) / 2)
    assert metrics.hit_at_3 == pytest.approx((1 + 1 / 4) / 2)
    assert metrics.hit_at_10 == pytest.approx((1 + 2 / 4) / 2)
    assert metrics.mrr == pytest.approx((1 + (1 + 1 + 1 / 3 + 1 / 10) / 4) / 2)


SLOW_WORTH: dict[MetricName, Callable[[float], float]] = {
    "mr": float,
    "hit_at_1": lambda rank: rank <= 1,
    "hit_at_3": lambda rank: rank <= 3,
    "hit_at_10": lambda rank: rank <= 10,
    "mrr": lambda rank: 1 / math.ceil(rank / 10),
    "reciprocal_rank": lambda rank: 1 / rank,
}


def slow_mean(ranks: list[list[float]], figure: MetricName, averaging: Averaging) -> float:
    worth = SLOW_WORTH[figure]
    if averaging == "pooled":
        pairs = [worth(rank) for of_query in ranks for rank in of_query]
        return sum(pairs) / len(pairs)
    if averaging == "any":
        return sum(worth(min(of_query)) for of_query in ranks) / len(ranks)
    return sum(sum(map(worth, of_query)) / len(of_query) for of_query in ranks) / len(ranks)


@given(
    st.lists(
        st.lists(st.integers(2, 5000).map(lambda n: n / 2), min_size=1, max_size=5),
        min_size=1,
        max_size=20,
    ),
    st.sampled_from(get_args(Averaging)),
)
@settings(deadline=None)
def test_metrics_equal_the_definitions(ranks: list[list[float]], averaging: Averaging) -> None:
    arrays = [np.array(r) for r in ranks]
    found = compute_metrics(arrays, averaging).as_dict()
    assert found.pop("queries") == len(ranks)
    assert set(found) == set(SLOW_WORTH) == set(RANK_VALUES)
    for figure in SLOW_WORTH:
        assert found[figure] == pytest.approx(slow_mean(ranks, figure, averaging))
        assert per_query(arrays, figure, averaging).shape == (len(ranks),)


def test_wrong_ranks_metrics_and_averages_are_refused() -> None:
    with pytest.raises(TaxoExpanError, match="no ranks"):
        compute_metrics([])
    with pytest.raises(TaxoExpanError, match="query 1 has no true parent"):
        compute_metrics([np.array([1]), np.array([])])
    with pytest.raises(ConfigurationError, match=r"'mean' is unknown.*fraction, any, pooled"):
        compute_metrics([np.array([1])], "mean")  # type: ignore[arg-type]


def test_a_rank_between_two_whole_ones_counts_as_the_worse_one() -> None:
    """Except for the mean rank and the plain reciprocal rank, which are exact."""
    tied = torch.tensor([[2.0], [2.0], [1.0]])
    first = compute_metrics(rank_true_parents(tied, [np.array([0])]))
    assert (first.mr, first.hit_at_1, first.hit_at_3) == (1.5, 0, 1)
    assert (first.mrr, first.reciprocal_rank) == (1, pytest.approx(1 / 1.5))
    tenth = torch.tensor([[float(score)] for score in (9, 9, 9, 9, 9, 9, 9, 9, 9, 5, 5)])
    later = compute_metrics(rank_true_parents(tenth, [np.array([10])]))
    assert (later.mr, later.hit_at_10, later.mrr) == (10.5, 0, 1 / 2)
