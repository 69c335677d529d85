from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan import TaxoExpan
from taxoexpan.config import load_preset
from taxoexpan.network.concept_vectors import ConceptVectors, LabeledQueries, Queries, distinct_rows
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.placement.scoring.anchors import Anchors
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy import Taxonomy
from tests.support.builders import random_taxonomy


def ranker_with_keys(keys: torch.Tensor, deprecated: tuple[int, ...] = ()) -> Ranker:
    """A ranker whose scores are `keys @ query`, so that a test can set them."""
    names = [str(i) for i in range(len(keys))]
    empty = np.zeros(0, np.int64)
    taxonomy = Taxonomy.from_columns(names, names, empty, empty, deprecated=deprecated)
    network = MatchingNetwork(load_preset("best"), keys.shape[1])
    return Ranker(
        network, Anchors(taxonomy, ConceptVectors.of(keys[None].repeat(2, 1, 1)), 50), keys
    )


def test_a_rank_counts_higher_scores_and_half_of_the_equal_ones() -> None:
    ranker = ranker_with_keys(torch.tensor([[3.0], [2.0], [2.0], [1.0]]))
    ranks = ranker.true_ranks(
        LabeledQueries(torch.ones(2, 2, 1), parents=[np.array([1]), np.array([3])])
    )
    assert [r.tolist() for r in ranks] == [[2.5], [4]]


def test_a_querys_other_parents_are_left_out_of_its_ranks() -> None:
    ranker = ranker_with_keys(torch.tensor([[4.0], [3.0], [2.0], [1.0]]))
    ranks = ranker.true_ranks(LabeledQueries(torch.ones(2, 1, 1), parents=[np.array([3, 0, 2])]))
    assert ranks[0].tolist() == [2, 1, 2]


def test_ranks_in_blocks_equal_ranks_one_by_one() -> None:
    generator = torch.Generator().manual_seed(0)
    ranker = ranker_with_keys(torch.randn(300, 4, generator=generator))
    queries = torch.randn(2, 700, 4, generator=generator)
    parents = [np.random.default_rng(i).choice(300, 1 + i % 3, False) for i in range(700)]
    for q, ranks in enumerate(ranker.true_ranks(LabeledQueries(queries, parents=parents))):
        scores = ranker.keys @ queries[0, q]
        for parent, rank in zip(parents[q], ranks, strict=True):
            higher = (scores > scores[parent]).nonzero().flatten().tolist()
            assert rank == 1 + len(set(higher) - set(parents[q].tolist()))


def test_scores_are_probabilities_and_the_best_come_first() -> None:
    ranker = ranker_with_keys(torch.randn(50, 4, generator=torch.Generator().manual_seed(1)))
    ranking = ranker.rank(Queries(torch.randn(2, 9, 4)), top_k=50)
    assert np.allclose(ranking.scores.sum(1), 1, atol=1e-5)
    assert (np.diff(ranking.scores, axis=1) <= 0).all()
    assert (np.sort(ranking.anchors, axis=1) == np.arange(50)).all()


def test_a_large_top_k_returns_all_anchors() -> None:
    ranker = ranker_with_keys(torch.randn(3, 4))
    assert ranker.rank(Queries(torch.randn(2, 2, 4)), top_k=10).anchors.shape == (2, 3)


def test_a_deprecated_concept_is_never_ranked() -> None:
    ranker = ranker_with_keys(torch.tensor([[4.0], [3.0], [2.0]]), deprecated=(0,))
    ranking = ranker.rank(Queries(torch.ones(2, 1, 1)), top_k=9)
    assert ranking.anchors.tolist() == [[1, 2]]
    assert abs(ranking.scores.sum() - 1) < 1e-6


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_distinct_rows_are_found(seed: int) -> None:
    generator = np.random.default_rng(seed)
    table = generator.normal(size=(9, 3)).astype(np.float32)
    matrix = table[generator.integers(0, 9, 40)]
    first, inverse = distinct_rows(matrix)
    assert np.array_equal(matrix[first][inverse], matrix)
    assert len(first) == len(np.unique(matrix, axis=0))


def test_equal_scores_rank_in_the_middle() -> None:
    ranker = ranker_with_keys(torch.ones(101, 1))
    truth = [np.array([7]), np.array([3, 50])]
    ranks = ranker.true_ranks(LabeledQueries(torch.ones(2, 2, 1), parents=truth))
    assert [r.tolist() for r in ranks] == [[51], [50.5, 50.5]]


def test_nan_scores_rank_last() -> None:
    ranker = ranker_with_keys(torch.full((9, 1), torch.nan))
    assert ranker.true_ranks(LabeledQueries(torch.ones(2, 1, 1), parents=[np.array([2])]))[
        0
    ].tolist() == [9]


def test_tempered_scores_are_probabilities_at_that_temperature(model: TaxoExpan) -> None:
    queries = model._queries([model.taxonomy.concept("oat milk")])
    ranking = model._ranker.rank(queries, 3, temperature=2.0)
    softmax = torch.softmax(model._ranker.scores(queries)[:, 0].double() / 2, 0).numpy()
    np.testing.assert_allclose(ranking.tempered[0], softmax[ranking.anchors[0]], rtol=1e-4)
    plain = model._ranker.rank(queries, 3)
    np.testing.assert_array_equal(plain.tempered, plain.scores)
    np.testing.assert_allclose(plain.scores, ranking.scores, rtol=1e-6)


def test_excluded_anchors_are_not_ranked_and_have_no_probability() -> None:
    ranker = ranker_with_keys(torch.tensor([[4.0], [3.0], [2.0], [1.0]]))
    queries, none = Queries(torch.ones(2, 2, 1)), np.zeros(0, np.int64)
    ranking = ranker.rank(queries, 2, 2.0, [np.array([0, 2]), none])
    assert ranking.anchors.tolist() == [[1, 3], [0, 1]]
    for scores, heat in ((ranking.scores, 1), (ranking.tempered, 2)):
        odds = np.exp(2 / heat)
        np.testing.assert_allclose(scores[0], [odds / (odds + 1), 1 / (odds + 1)], rtol=1e-5)


def test_excluded_anchors_belong_to_their_own_query_in_every_block() -> None:
    ranker = ranker_with_keys(torch.arange(9.0)[:, None])
    excluded = [np.array([8 - i % 3]) for i in range(700)]
    ranking = ranker.rank(Queries(torch.ones(2, 700, 1)), 1, excluded=excluded)
    assert ranking.anchors[:, 0].tolist() == [7 if i % 3 == 0 else 8 for i in range(700)]


def test_levels_are_the_tempered_probabilities_of_the_branches() -> None:
    generator = torch.Generator().manual_seed(2)
    taxonomy, keys = random_taxonomy(4, 50, 2), torch.randn(50, 4, generator=generator)
    network = MatchingNetwork(load_preset("best"), 4)
    anchors = Anchors(taxonomy, ConceptVectors.of(keys[None].repeat(2, 1, 1)), 50)
    queries = Queries(torch.randn(2, 600, 4, generator=generator))
    ranking = Ranker(network, anchors, keys).rank(queries, 3, 1.5, with_levels=True)
    assert ranking.levels is not None
    assert Ranker(network, anchors, keys).rank(queries, 3, 1.5).levels is None
    for query in range(0, 600, 97):
        probabilities = (keys @ queries.vectors[0, query] / 1.5).softmax(0)
        for nth, anchor in enumerate(ranking.anchors[query].tolist()):
            path = taxonomy.path(taxonomy.ids[anchor])
            for depth, id in enumerate(path):
                branch = [taxonomy.index(each) for each in {id, *taxonomy.descendants(id)}]
                expected = float(probabilities[branch].sum())
                assert abs(ranking.levels[query, nth, depth] - expected) < 1e-5
            assert np.isnan(ranking.levels[query, nth, len(path) :]).all()
    some = ranking[5:9]
    assert some.levels is not None
    np.testing.assert_array_equal(some.levels, ranking.levels[5:9])
