from __future__ import annotations

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.evaluation.rules import ClosestNeighbor, ClosestParent, Method, Popularity
from taxoexpan.network.concept_vectors import Queries
from taxoexpan.taxonomy import Concept, Taxonomy
from tests.support.strategies import quickly, taxonomies


def vectors_of(count: int, seed: int) -> torch.Tensor:
    """Vectors of many lengths, one of them zero like that of an unknown name."""
    drawn = torch.randn(2, count, 5, generator=torch.Generator().manual_seed(seed)).double()
    drawn[0, seed % count] = 0
    return drawn


def scores_of(method: Method, taxonomy: Taxonomy, seed: int) -> tuple[torch.Tensor, ...]:
    """The scores [N, 3] of three queries, with the vectors of the anchors and of the queries."""
    anchors, queries = vectors_of(len(taxonomy), seed), vectors_of(3, seed + 1)
    method.set_anchors(taxonomy, anchors)
    return method.score(Queries(queries)), anchors[0], queries[0]


def distance(one: torch.Tensor, other: torch.Tensor) -> float:
    lengths = float(one.norm() * other.norm())
    return 1 - float(one @ other) / lengths if lengths else 1.0


@quickly
@given(taxonomies(), st.integers(0, 99))
def test_closest_parent_ranks_by_the_distance_to_the_anchor(taxonomy: Taxonomy, seed: int) -> None:
    scores, anchors, queries = scores_of(ClosestParent(), taxonomy, seed)
    slow = [[1 - distance(anchor, query) for query in queries] for anchor in anchors]
    np.testing.assert_allclose(scores.numpy(), slow, atol=1e-9)


@quickly
@given(taxonomies(), st.integers(0, 99))
def test_closest_neighbor_adds_the_mean_distance_to_the_children(
    taxonomy: Taxonomy, seed: int
) -> None:
    scores, anchors, queries = scores_of(ClosestNeighbor(), taxonomy, seed)
    for place, id in enumerate(taxonomy):
        children = [taxonomy.index(child) for child in taxonomy.children(id)]
        for column, query in enumerate(queries):
            around = np.mean([distance(anchors[child], query) for child in children] or [1.0])
            both = distance(anchors[place], query) + around
            assert abs(float(scores[place, column]) - (2 - both)) < 1e-9


@quickly
@given(
    st.sampled_from([ClosestParent, ClosestNeighbor, Popularity]), taxonomies(), st.integers(0, 99)
)
def test_anchors_can_be_replaced(kind: type[Method], taxonomy: Taxonomy, seed: int) -> None:
    expected, _, _ = scores_of(kind(), taxonomy, seed)
    method = kind()
    scores_of(method, Taxonomy([Concept("a", "a"), Concept("b", "b")], [("a", "b")]), seed)
    method.set_anchors(taxonomy, vectors_of(len(taxonomy), seed))
    assert torch.equal(method.score(Queries(vectors_of(3, seed + 1))), expected)


@quickly
@given(taxonomies(), st.integers(0, 99))
def test_popularity_is_the_number_of_children_for_every_query(
    taxonomy: Taxonomy, seed: int
) -> None:
    scores, _, queries = scores_of(Popularity(), taxonomy, seed)
    assert scores.dtype == queries.dtype
    assert scores.tolist() == [[len(taxonomy.children(id))] * 3 for id in taxonomy]
