from __future__ import annotations

from itertools import product

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.placement.joint.placement import ROOT, best_arborescence

Edges = dict[tuple[int, int], float]
"""The weight of each (parent, child); the root is the parent `ROOT`."""


@st.composite
def graphs(draw: st.DrawFn, most: int = 5) -> tuple[int, Edges]:
    """A few nodes, each with an edge from the root, and some other edges."""
    count = draw(st.integers(1, most))
    # Few different weights, so that many edges have equal weights.
    weights = st.integers(-4, 4).map(float) | st.floats(-9, 9, width=16)
    pairs = [(p, c) for p in range(count) for c in range(count) if p != c]
    there = draw(st.lists(st.sampled_from(pairs), unique=True)) if pairs else []
    return count, {edge: draw(weights) for edge in [*((ROOT, c) for c in range(count)), *there]}


def solved(count: int, edges: Edges) -> list[int]:
    """The parents in the best tree, with the edges in their order."""
    root = np.array([edges[ROOT, child] for child in range(count)])
    inner = [edge for edge in edges if edge[0] != ROOT]
    parents, children = np.array(inner, dtype=np.int64).reshape(-1, 2).T
    weights = np.array([edges[edge] for edge in inner])
    return best_arborescence(root, parents, children, weights).tolist()


def is_tree(parents: list[int]) -> bool:
    """Whether every node is connected to the root."""
    for node in range(len(parents)):
        steps = 0
        while node != ROOT and steps <= len(parents):
            node, steps = parents[node], steps + 1
        if node != ROOT:
            return False
    return True


def worth(parents: list[int], edges: Edges) -> float:
    return sum(edges[parent, child] for child, parent in enumerate(parents))


@given(graphs())
@settings(max_examples=300, deadline=None)
def test_no_other_tree_weighs_more(graph: tuple[int, Edges]) -> None:
    count, edges = graph
    found = solved(count, edges)
    assert is_tree(found)
    choices = [[p for p in range(ROOT, count) if (p, c) in edges] for c in range(count)]
    best = max(worth(list(tree), edges) for tree in product(*choices) if is_tree(list(tree)))
    assert abs(worth(found, edges) - best) < 1e-9


@given(st.integers(0, 10_000), st.permutations(range(7)))
@settings(max_examples=100, deadline=None)
def test_the_result_does_not_depend_on_the_numbering(seed: int, renamed: list[int]) -> None:
    generator = np.random.default_rng(seed)
    pairs = [(p, c) for p in range(ROOT, 7) for c in range(7) if p != c]
    edges = dict(zip(pairs, generator.normal(size=len(pairs)).tolist(), strict=True))
    names = {ROOT: ROOT, **dict(enumerate(renamed))}
    other = solved(7, {(names[p], names[c]): w for (p, c), w in edges.items()})
    assert [names[p] for p in solved(7, edges)] == [other[names[c]] for c in range(7)]


def test_a_cycle_of_two_is_broken_where_it_costs_least() -> None:
    edges = {(ROOT, 0): -5.0, (ROOT, 1): -1.0, (0, 1): 2.0, (1, 0): 2.0}
    assert solved(2, edges) == [1, ROOT]


def test_cycles_of_cycles_are_broken() -> None:
    edges = {(ROOT, c): -10.0 - c for c in range(4)}
    edges |= {(0, 1): 5.0, (1, 0): 5.0, (2, 3): 5.0, (3, 2): 5.0, (1, 2): 1.0, (3, 0): 1.0}
    assert solved(4, edges) == [ROOT, 0, 1, 2]


def test_with_equal_weights_every_node_is_attached_to_the_root() -> None:
    pairs = [(p, c) for p in range(ROOT, 6) for c in range(6) if p != c]
    assert solved(6, dict.fromkeys(pairs, 1.0)) == [ROOT] * 6


def test_an_empty_graph_has_no_parents() -> None:
    empty = np.zeros(0, dtype=np.int64)
    assert best_arborescence(np.zeros(0), empty, empty, np.zeros(0)).tolist() == []


def test_a_long_chain_of_cycles_is_solved() -> None:
    count = 20_000
    root, steps = np.full(count, -10.0), np.arange(count - 1)
    # Each node prefers the one before it, and then the one after it; only the first is free.
    parents, children = np.concatenate([steps, steps + 1]), np.concatenate([steps + 1, steps])
    weights = np.concatenate([np.full(count - 1, 1.0), np.full(count - 1, 0.5)])
    root[0] = 0.0
    found = best_arborescence(root, parents, children, weights)
    assert found.tolist() == [ROOT, *range(count - 1)]
