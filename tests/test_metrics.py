from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.metrics import metrics_of


def test_metrics_average_over_a_querys_parents_first() -> None:
    metrics = metrics_of([np.array([1]), np.array([1, 5, 21, 100])])
    assert metrics.mr == pytest.approx((1 + 127 / 4) / 2)
    assert metrics.hit_at_1 == pytest.approx((1 + 1 / 4) / 2)
    assert metrics.hit_at_3 == pytest.approx((1 + 1 / 4) / 2)
    assert metrics.hit_at_10 == pytest.approx((1 + 2 / 4) / 2)
    assert metrics.mrr == pytest.approx((1 + (1 + 1 + 1 / 3 + 1 / 10) / 4) / 2)


@given(st.lists(st.lists(st.integers(1, 5000), min_size=1, max_size=5), min_size=1, max_size=20))
def test_metrics_equal_the_definitions(ranks: list[list[int]]) -> None:
    metrics = metrics_of([np.array(r) for r in ranks])

    def mean(of: Callable[[int], float]) -> float:
        return sum(sum(map(of, r)) / len(r) for r in ranks) / len(ranks)

    assert metrics.queries == len(ranks)
    assert metrics.mr == pytest.approx(mean(float))
    assert metrics.hit_at_1 == pytest.approx(mean(lambda r: r <= 1))
    assert metrics.hit_at_3 == pytest.approx(mean(lambda r: r <= 3))
    assert metrics.hit_at_10 == pytest.approx(mean(lambda r: r <= 10))
    assert metrics.mrr == pytest.approx(mean(lambda r: 1 / math.ceil(r / 10)))
    assert metrics.reciprocal_rank == pytest.approx(mean(lambda r: 1 / r))
