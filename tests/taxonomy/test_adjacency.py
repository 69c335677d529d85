from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.taxonomy.adjacency import FEW, Adjacency, compute_levels, follow_to_the_end, ranges
from taxoexpan.taxonomy.arrays import Indices
from tests.support.strategies import quickly

PAIRS = st.lists(st.tuples(st.integers(0, 6), st.integers(0, 6)), max_size=20)


def adjacency(pairs: list[tuple[int, int]], size: int = 7) -> Adjacency:
    flat = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    return Adjacency.from_pairs(flat[:, 0], flat[:, 1], size)


@given(PAIRS)
@quickly
def test_every_row_has_its_targets_in_the_order_given(pairs: list[tuple[int, int]]) -> None:
    near = adjacency(pairs)
    assert len(near) == 7
    for row in range(7):
        assert near.of(row).tolist() == [target for source, target in pairs if source == row]


@given(PAIRS, st.lists(st.integers(0, 6), max_size=8))
@quickly
def test_of_many_agrees_with_of(pairs: list[tuple[int, int]], rows: list[int]) -> None:
    near = adjacency(pairs)
    owners, targets = near.of_many(np.array(rows, dtype=np.int64))
    expected = [(place, int(t)) for place, row in enumerate(rows) for t in near.of(row)]
    assert list(zip(owners.tolist(), targets.tolist(), strict=True)) == expected


def test_levels_down_yields_each_row_once_nearest_first() -> None:
    diamond = adjacency([(0, 1), (0, 2), (1, 3), (2, 3), (3, 4), (0, 4)])
    levels = [level.tolist() for level in diamond.levels_down(np.array([0]))]
    assert levels == [[1, 2, 4], [3]]


@given(st.lists(st.tuples(st.integers(0, 39), st.integers(0, 39)), max_size=120))
@quickly
def test_levels_down_are_the_same_for_few_and_for_many_rows(pairs: list[tuple[int, int]]) -> None:
    near, distance = adjacency(pairs, size=40), {0: 0}
    waiting = [0]
    for row in waiting:
        for target in near.of(row).tolist():
            if target not in distance:
                distance[target] = distance[row] + 1
                waiting.append(target)
    levels = list(near.levels_down(np.array([0])))
    for number, level in enumerate(levels, start=1):
        assert level.tolist() == sorted(row for row, far in distance.items() if far == number)
    assert sum(map(len, levels)) == len(distance) - 1


def test_an_adjacency_is_read_only() -> None:
    near = adjacency([(0, 1), (1, 2)])
    for array in (near.offsets, near.targets, near.of(0)):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 5


def test_ranges_are_concatenated() -> None:
    starts, counts = np.array([5, 0, 9]), np.array([2, 0, 3])
    assert ranges(starts, counts).tolist() == [5, 6, 9, 10, 11]


def test_the_end_of_a_chain_is_found_for_every_row() -> None:
    rows, targets = np.array([0, 1, 1, 4]), np.array([1, 2, 3, 2])
    first = Adjacency.from_pairs(rows, targets, 5).first_targets
    assert first.tolist() == [1, 2, 2, 3, 2]
    assert follow_to_the_end(first).tolist() == [2, 2, 2, 3, 2]


def test_the_neighbors_of_few_rows_are_listed() -> None:
    near = adjacency([(0, 3), (0, 1), (2, 3)])
    assert near.of_few(np.array([2, 1, 0])) == [3, 3, 1]


@pytest.mark.parametrize(("extra", "listed"), [(0, True), (1, False)])
def test_many_rows_or_neighbors_are_not_listed_one_by_one(extra: int, listed: bool) -> None:
    many = FEW + extra
    star = adjacency([(0, row) for row in range(1, many + 1)], size=many + 1)
    assert (star.of_few(np.array([0])) is not None) == listed
    assert (star.of_few(np.arange(1, many + 1)) is not None) == listed
    later = adjacency([(5, row) for row in range(5)] + [(6, row) for row in range(many)], many + 7)
    assert (later.of_few(np.array([6])) is not None) == listed


def test_a_level_may_have_many_rows() -> None:
    many = 5 * FEW
    tree = adjacency(
        [(0, row) for row in range(1, many)] + [(row, 0) for row in range(1, many)], many
    )
    (level,) = tree.levels_down(np.array([0]))
    assert level.tolist() == list(range(1, many))


@given(PAIRS, st.integers(0, 6), st.integers(0, 6))
@quickly
def test_a_part_has_the_rows_between_two(pairs: list[tuple[int, int]], one: int, two: int) -> None:
    near, (start, stop) = adjacency(pairs), sorted((one, two))
    part = near.between(start, stop)
    rows = range(start, stop)
    assert [part.of(i).tolist() for i in range(len(part))] == [near.of(i).tolist() for i in rows]


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
