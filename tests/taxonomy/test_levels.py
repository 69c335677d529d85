from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import quickly

from taxoexpan.taxonomy.adjacency import FEW, Adjacency
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.levels import compute_levels


def levels_of(relations: list[tuple[int, int]], size: int) -> tuple[Indices, list[list[int]]]:
    parents, children = np.array(relations, dtype=np.int64).reshape(-1, 2).T
    above = Adjacency.from_pairs(children, parents, size)
    levels, cycles = compute_levels(above, Adjacency.from_pairs(parents, children, size))
    return levels, [cycle.tolist() for cycle in cycles]


@given(st.lists(st.tuples(st.integers(0, 59), st.integers(0, 59)), max_size=99).map(set))
@quickly
def test_a_level_is_one_more_than_that_of_the_lowest_parent(pairs: set[tuple[int, int]]) -> None:
    relations = [(parent, child) for parent, child in pairs if parent < child]
    levels, cycles = levels_of(relations, 60)
    assert not cycles
    for node in range(60):
        above = [levels[parent] for parent, child in relations if child == node]
        assert levels[node] == max(above, default=-1) + 1


def test_many_nodes_may_have_the_same_level() -> None:
    many, last = range(1, 3 * FEW), 3 * FEW
    wide = [(0, node) for node in many] + [(node, last) for node in many] + [(0, last)]
    levels, cycles = levels_of(wide, last + 1)
    assert levels.tolist() == [0, *(1 for _ in many), 2]
    assert not cycles
    with pytest.raises(ValueError, match="read-only"):
        levels[0] = 1


def test_every_cycle_is_found_once_whatever_is_above_and_below_it() -> None:
    relations = [(4, 0), (1, 0), (0, 1), (2, 3), (3, 2), (3, 5)]
    _, cycles = levels_of(relations, 6)
    assert sorted(map(sorted, cycles)) == [[0, 1], [2, 3]]
