from __future__ import annotations

import numpy as np
import torch
from builders import random_taxonomy
from hypothesis import given
from hypothesis import strategies as st
from strategies import quickly, taxonomies

from taxoexpan.experiments.methods.method import (
    Method,
    Problem,
    rank_queries,
    true_ranks_by,
)
from taxoexpan.experiments.methods.rules import (
    ClosestNeighbor,
    ClosestParent,
    FirstWord,
    Popularity,
)
from taxoexpan.features.mentions import MentionKind, Mentions
from taxoexpan.network.queries import LabeledQueries, Queries
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.training.training_log import SILENT


def vectors_of(count: int, seed: int) -> torch.Tensor:
    """Vectors of many lengths, one of them zero like that of an unknown name."""
    drawn = torch.randn(2, count, 5, generator=torch.Generator().manual_seed(seed)).double()
    drawn[0, seed % count] = 0
    return drawn


def scores_of(method: Method, taxonomy: Taxonomy, seed: int) -> tuple[torch.Tensor, ...]:
    """The scores [N, 3] of three queries, with the vectors of the anchors and of the queries."""
    anchors, queries = vectors_of(len(taxonomy), seed), vectors_of(3, seed + 1)
    problem = Problem(taxonomy, anchors, LabeledQueries(queries[:, :0], parents=[]))
    assert method.fit(problem, 0, SILENT) is None
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
def test_anchors_can_be_replaced_after_fitting(
    kind: type[Method], taxonomy: Taxonomy, seed: int
) -> None:
    expected, _, _ = scores_of(kind(), taxonomy, seed)
    method = kind()
    scores_of(method, Taxonomy([Concept("a", "a"), Concept("b", "b")], [("a", "b")]), seed)
    method.set_anchors(taxonomy, vectors_of(len(taxonomy), seed))
    assert torch.equal(method.score(Queries(vectors_of(3, seed + 1))), expected)


def test_of_two_equally_close_anchors_the_one_with_closer_children_is_the_neighbor() -> None:
    taxonomy = Taxonomy(
        [Concept(id, id) for id in "abcd"], [("a", "c"), ("b", "d")]
    )  # c has the query's vector, d the opposite one
    names = torch.tensor([[1.0, 1.0], [1.0, -1.0], [1.0, 0.0], [-1.0, 0.0]])
    queries = torch.tensor([[1.0, 0.0]]).expand(2, 1, 2)
    problem = Problem(taxonomy, names.expand(2, 4, 2), LabeledQueries(queries[:, :0], parents=[]))
    parent, neighbor = ClosestParent(), ClosestNeighbor()
    for method in (parent, neighbor):
        method.fit(problem, 0, SILENT)
    assert parent.score(Queries(queries))[0, 0] == parent.score(Queries(queries))[1, 0]
    assert neighbor.score(Queries(queries))[0, 0] > neighbor.score(Queries(queries))[1, 0]


@quickly
@given(taxonomies(), st.integers(0, 99))
def test_popularity_is_the_number_of_children_for_every_query(
    taxonomy: Taxonomy, seed: int
) -> None:
    scores, _, queries = scores_of(Popularity(), taxonomy, seed)
    assert scores.dtype == queries.dtype
    assert scores.tolist() == [[len(taxonomy.children(id))] * 3 for id in taxonomy]


def test_the_first_sense_comes_first_then_the_others() -> None:
    taxonomy = random_taxonomy(0, count=20)
    vectors = torch.zeros(2, 20, 1)
    method = FirstWord()
    method.fit(Problem(taxonomy, vectors, LabeledQueries(vectors[:, :0], parents=[])), 0, SILENT)
    rows = [
        [
            (7, MentionKind.FIRST_IN_DEFINITION),
            (3, MentionKind.FIRST_OTHER_SENSE),
            (9, MentionKind.SAME_NAME),
        ],
        [],
        [(5, MentionKind.FIRST_IN_DEFINITION), (6, MentionKind.NAME_ENDING)],
    ]
    mentions = Mentions.from_rows(rows)
    scores = method.score(Queries(torch.zeros(2, 3, 1), mentions))
    assert scores.shape == (20, 3)
    assert {tuple(place): value for place, value in _values(scores)} == {
        (7, 0): 2,
        (3, 0): 1,
        (5, 2): 2,
    }
    assert not method.score(Queries(torch.zeros(2, 3, 1))).any()
    queries = LabeledQueries(torch.zeros(2, 3, 1), mentions=mentions, parents=[np.array([0])] * 3)
    ranked = rank_queries(method, queries, 20, 2)
    assert ranked.best[[0, 2], 0].tolist() == [7, 5]
    assert (ranked.best[0].tolist(), ranked.scores[0].tolist()) == ([7, 3], [2, 1])
    assert [ranks.tolist() for ranks in ranked.ranks] == [
        ranks.tolist() for ranks in true_ranks_by(method, queries, 20)
    ]
    no_queries = rank_queries(method, queries[:0], 20, 2)
    assert no_queries.best.shape == no_queries.scores.shape == (0, 2)


def _values(scores: torch.Tensor) -> list[tuple[list[int], float]]:
    places = scores.nonzero().tolist()
    return [(place, float(scores[place[0], place[1]])) for place in places]
