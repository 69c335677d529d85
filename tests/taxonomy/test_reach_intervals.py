from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.reach_intervals import AncestorIntervals, ReachIntervals
from tests.support.strategies import quickly

SIZE = 12
ROWS = st.integers(0, SIZE - 1)
RELATIONS = st.lists(st.tuples(ROWS, ROWS), max_size=40)
WANTED = st.lists(ROWS, max_size=6)


def graph(pairs: list[tuple[int, int]]) -> tuple[Adjacency, Adjacency]:
    """An acyclic graph in both directions; its rows are not in topological order."""
    downwards = sorted({(min(pair), max(pair)) for pair in pairs if pair[0] != pair[1]})
    names = np.random.default_rng(0).permutation(SIZE)
    flat = names[np.array(downwards, dtype=np.int64).reshape(-1, 2)]
    sources, targets = flat[:, 0], flat[:, 1]
    there = Adjacency.from_pairs(sources, targets, SIZE)
    return there, Adjacency.from_pairs(targets, sources, SIZE)


def walk(near: Adjacency, start: int) -> set[int]:
    """The rows that can be reached from a row, itself included, one relation after the other."""
    found, waiting = {start}, [start]
    while waiting:
        below = set(near.of(waiting.pop()).tolist()) - found
        found |= below
        waiting += below
    return found


def indices(rows: list[int]) -> Indices:
    return np.array(rows, dtype=np.int64)


@given(RELATIONS, WANTED)
@quickly
def test_all_reachable_rows_are_found_in_any_acyclic_graph(
    pairs: list[tuple[int, int]], wanted: list[int]
) -> None:
    down, up = graph(pairs)
    reach = ReachIntervals.build(down, up)
    expected = [(i, row) for i, start in enumerate(wanted) for row in sorted(walk(down, start))]
    owners, rows = reach.pairs(indices(wanted))
    assert sorted(zip(owners.tolist(), rows.tolist(), strict=True)) == expected
    assert reach.counts(indices(wanted)).tolist() == [len(walk(down, row)) for row in wanted]


def test_all_reachable_rows_are_found_in_graphs_with_many_relations() -> None:
    rng = np.random.default_rng(0)
    for count in range(10, 40):
        down, up = graph(rng.integers(0, SIZE, (count, 2)).tolist())
        owners, rows = ReachIntervals.build(down, up).pairs(np.arange(SIZE))
        expected = [(start, row) for start in range(SIZE) for row in sorted(walk(down, start))]
        assert sorted(zip(owners.tolist(), rows.tolist(), strict=True)) == expected


@given(RELATIONS, WANTED, st.lists(ROWS, max_size=6))
@quickly
def test_candidates_that_can_be_reached_are_found(
    pairs: list[tuple[int, int]], wanted: list[int], candidates: list[int]
) -> None:
    down, up = graph(pairs)
    reach = ReachIntervals.build(down, up)
    expected = {
        (i, k)
        for i, start in enumerate(wanted)
        for k, row in enumerate(candidates)
        if row in walk(down, start)
    }
    owners, rows = reach.pairs_among(indices(wanted), indices(candidates))
    found = list(zip(owners.tolist(), rows.tolist(), strict=True))
    assert len(found) == len(expected)
    assert set(found) == expected
    targets = np.tile(indices(candidates)[:, None], len(wanted))
    contained = reach.contain(indices(wanted), targets)
    assert {(i, k) for k, i in np.argwhere(contained).tolist()} == expected


@given(RELATIONS, WANTED)
@quickly
def test_ancestors_of_some_concepts_are_found(
    pairs: list[tuple[int, int]], wanted: list[int]
) -> None:
    _, up = graph(pairs)
    ancestors = AncestorIntervals(up, indices(wanted))
    owners, rows = ancestors.pairs(indices(wanted))
    expected = [(i, row) for i, start in enumerate(wanted) for row in sorted(walk(up, start))]
    assert sorted(zip(owners.tolist(), rows.tolist(), strict=True)) == expected
    others = np.tile(indices(wanted)[:, None], len(wanted))
    contained = ancestors.contain(indices(wanted), others).tolist()
    assert contained == [[other in walk(up, own) for own in wanted] for other in wanted]


def test_a_chain_and_a_hub_have_one_interval_per_concept() -> None:
    chain = np.arange(5_000)
    for parents in (chain[:-1], np.zeros(4_999, dtype=np.int64)):
        down = Adjacency.from_pairs(parents, chain[1:], 5_000)
        up = Adjacency.from_pairs(chain[1:], parents, 5_000)
        owners, _, _ = ReachIntervals.build(down, up).intervals(chain)
        assert owners.tolist() == chain.tolist()


def test_relations_that_skip_a_level_add_no_interval() -> None:
    chain = np.arange(1_000)
    parents = np.concatenate([chain[:-1], chain[:-2]])
    children = np.concatenate([chain[1:], chain[2:]])
    down = Adjacency.from_pairs(parents, children, 1_000)
    up = Adjacency.from_pairs(children, parents, 1_000)
    assert len(ReachIntervals.build(down, up).intervals(chain)[0]) == 1_000


def test_a_row_with_two_distant_branches_has_two_intervals() -> None:
    pairs = [(0, 1), (0, 2), (0, 3), (1, 4), (2, 5), (3, 6), (7, 4), (7, 6)]
    sources, targets = indices([a for a, _ in pairs]), indices([b for _, b in pairs])
    down = Adjacency.from_pairs(sources, targets, SIZE)
    up = Adjacency.from_pairs(targets, sources, SIZE)
    owners, rows = ReachIntervals.build(down, up).pairs(indices([7, 0]))
    found = sorted(zip(owners.tolist(), rows.tolist(), strict=True))
    assert found == [*((0, row) for row in (4, 6, 7)), *((1, row) for row in range(7))]
