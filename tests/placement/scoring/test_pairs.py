from __future__ import annotations

import numpy as np
import pytest
import torch

from taxoexpan.placement.scoring import pairs
from taxoexpan.placement.scoring.pairs import dot_products


@pytest.mark.parametrize("factor", [0, 10**9])
def test_dot_products_of_pairs_in_any_order(factor: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "DENSE_FACTOR", factor)
    generator = torch.Generator().manual_seed(0)
    vectors, queries = (torch.randn(n, 3, generator=generator) for n in (50, 4))
    rows, query = np.array([7, 7, 49, 0, 7]), np.array([3, 0, 1, 3, 0])
    expected = (vectors[rows] * queries[query]).sum(1)
    assert torch.allclose(dot_products(vectors, rows, queries, query), expected, atol=1e-6)
