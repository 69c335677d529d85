from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from strategies import quickly

from taxoexpan.placement.scoring import families
from taxoexpan.placement.scoring.families import GroupedMaximum

CPU = torch.device("cpu")


def slow_maxima(values: torch.Tensor, members: np.ndarray, sizes: list[int]) -> torch.Tensor:
    """Return the maximum of each group, one after the other."""
    groups = np.split(members, np.cumsum(sizes)[:-1])
    return torch.stack([values[torch.from_numpy(group)].max(0).values for group in groups])


@quickly
@given(st.lists(st.integers(1, 90), min_size=1, max_size=12), st.integers(0, 9999))
def test_the_maxima_are_those_of_each_group(sizes: list[int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = torch.from_numpy(rng.normal(size=(40, 3)).astype(np.float32)) - 5
    members = rng.integers(0, 40, sum(sizes))
    maximum = GroupedMaximum(members, np.append(0, np.cumsum(sizes)), CPU)
    assert torch.equal(maximum(values), slow_maxima(values, members, sizes))


def test_a_hub_with_many_children_is_split_more_than_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(families.MAX_CELLS, "cpu", 500)
    rng = np.random.default_rng(0)
    values = torch.from_numpy(rng.normal(size=(300, 2)).astype(np.float32))
    sizes = [3, 40_000, 1, 33]
    members = rng.integers(0, 250, sum(sizes))
    maximum = GroupedMaximum(members, np.append(0, np.cumsum(sizes)), CPU)
    assert torch.equal(maximum(values), slow_maxima(values, members, sizes))


def test_no_groups_have_no_maxima() -> None:
    empty = np.zeros(0, dtype=np.int64)
    maximum = GroupedMaximum(empty, np.zeros(1, dtype=np.int64), CPU)
    assert maximum(torch.ones(4, 3)).shape == (0, 3)
