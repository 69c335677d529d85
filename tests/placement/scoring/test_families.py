from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.placement.scoring.anchors import RowGroups
from tests.support.strategies import quickly


def groups_of(members: np.ndarray, sizes: list[int]) -> RowGroups:
    ends = np.cumsum(sizes, dtype=np.int64)
    group = np.repeat(np.arange(len(sizes)), sizes)
    return RowGroups(*map(torch.from_numpy, (members, ends - sizes, group)))


@quickly
@given(
    st.lists(st.integers(1, 90) | st.just(4_000), min_size=1, max_size=12),
    st.sampled_from([1, 3, 40]),
    st.integers(0, 9999),
)
def test_maxima_and_means_are_those_of_each_group(sizes: list[int], width: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    values = torch.from_numpy(rng.normal(size=(40, width)).astype(np.float32)) - 5
    members = rng.integers(0, 40, sum(sizes))
    groups = groups_of(members, sizes)
    each = [values[torch.from_numpy(own)] for own in np.split(members, np.cumsum(sizes)[:-1])]
    assert torch.equal(groups.maximum(values), torch.stack([own.amax(0) for own in each]))
    means = torch.stack([own.double().mean(0) for own in each]).float()
    torch.testing.assert_close(groups.mean(values), means, rtol=0, atol=1e-4)


def test_no_groups_have_no_maxima_and_no_means() -> None:
    groups = groups_of(np.zeros(0, dtype=np.int64), [])
    assert groups.maximum(torch.ones(4, 3)).shape == groups.mean(torch.ones(4, 3)).shape == (0, 3)
