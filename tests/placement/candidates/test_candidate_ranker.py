from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from fused_cases import fused_case, random_fusion, with_mentions

from taxoexpan import TaxoExpan
from taxoexpan.network.queries import LabeledQueries, Queries
from taxoexpan.placement.candidates import candidate_ranker, index_building
from taxoexpan.placement.candidates.candidate_ranker import CandidateRanker
from taxoexpan.placement.candidates.index_building import build_search
from taxoexpan.placement.candidates.ranked_candidates import rank_candidates
from taxoexpan.placement.candidates.search_file import read_record, read_search, save_search
from taxoexpan.placement.candidates.search_record import StoredSearch
from taxoexpan.placement.candidates.vector_graph import VectorGraph
from taxoexpan.placement.scoring.ranking import Ranker

pytest.importorskip("faiss")


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Search among few anchors as among many."""
    monkeypatch.setattr(candidate_ranker, "NUM_SAMPLED", 60)
    monkeypatch.setattr(candidate_ranker, "HUB_CHILDREN", 8)
    monkeypatch.setattr(index_building, "WIDTHS", ((40, 40), (80, 160)))
    monkeypatch.setattr(index_building, "NUM_QUERIES", 60)


def case(seed: int = 0, **variant: object) -> tuple[Ranker, LabeledQueries]:
    ranker, queries = fused_case(seed, count=600, queries=40, **variant)
    return ranker.with_fusion(random_fusion(seed, 0.1)), queries


@pytest.mark.usefixtures("small")
def test_found_scores_are_exact_and_totals_are_estimates_of_all() -> None:
    ranker, queries = case(use_mentions=True)
    queries = with_mentions(queries, len(ranker.keys))
    search, expected = build_search(ranker), ranker.scores(queries)
    for rows, _, scored in search.blocks(queries):
        exact = expected[:, rows].gather(0, scored.anchors)
        is_found = scored.scores > -torch.inf
        assert torch.allclose(scored.scores[is_found], exact[is_found], atol=1e-3)
        assert 100 < int(is_found.sum(0).max()) == len(scored.scores) < len(ranker.keys)
        assert queries.mentions is not None
        of, mentioned, _ = queries.mentions.of_many(np.arange(rows.start, rows.stop))
        for query, anchor in zip(of.tolist(), mentioned.tolist(), strict=True):
            assert anchor in scored.anchors[is_found[:, query], query]
    exact_ranking, found = ranker.rank(queries, 1), rank_candidates(search, queries, 1).ranking
    same = exact_ranking.anchors == found.anchors
    assert same.mean() > 0.7
    assert np.abs(np.log(exact_ranking.scores / found.scores))[same].mean() < 0.3


@pytest.mark.usefixtures("small")
def test_the_recall_is_measured_and_more_candidates_find_more() -> None:
    ranker, queries = case(3)
    search = build_search(ranker)
    assert search.record.candidates in (40, 80)
    assert 0.5 < search.record.recall <= 1
    scores = index_building.exact_scores(ranker, queries)
    few, many, every = (
        index_building.measure(search.with_candidates(count, 600), queries, scores, 1.0)
        for count in (5, 80, 600)
    )
    assert few.recall < many.recall <= every.recall
    assert every.recall == 1
    assert every.confidence_error < 1e-4


@pytest.mark.usefixtures("small")
def test_deprecated_and_excluded_anchors_are_never_found() -> None:
    ranker, queries = case(1)
    first = rank_candidates(build_search(ranker), queries, 3).ranking.anchors
    barred = torch.from_numpy(np.unique(first[:, 0]))
    ranker.deprecated_rows = barred
    ranker.__dict__.pop("_scorer", None)
    search = build_search(ranker)
    again = rank_candidates(search, queries, 3).ranking.anchors
    assert not np.isin(again, barred.numpy()).any()
    excluded = list(again[:, :2])
    found = rank_candidates(search, queries, 3, excluded=excluded).ranking
    assert all(not set(row) & set(out) for row, out in zip(found.anchors, excluded, strict=True))
    assert (found.scores > 0).all()


@pytest.mark.usefixtures("small")
def test_a_stored_search_finds_the_same(tmp_path: Path) -> None:
    ranker, queries = case(2)
    search = build_search(ranker)
    save_search(search.stored(), tmp_path / "search.safetensors", "this model")
    stored = read_search(tmp_path / "search.safetensors")
    assert stored.record == read_record(tmp_path / "search.safetensors") == search.record
    restored = CandidateRanker(ranker, stored.record, stored=stored)
    before, after = (rank_candidates(each, queries, 5) for each in (search, restored))
    assert np.array_equal(before.ranking.anchors, after.ranking.anchors)
    assert np.allclose(before.ranking.scores, after.ranking.scores)
    assert np.array_equal(before.nearest, after.nearest)
    other = fused_case(2, count=500)[0].with_fusion(ranker.fusion)
    with pytest.raises(ValueError, match="the graph has"):
        CandidateRanker(other, stored.record, stored=StoredSearch(*vars(stored).values()))


@pytest.mark.usefixtures("small")
def test_features_of_the_abstention_have_no_leaf_bonus() -> None:
    ranker, queries = case(4)
    search = build_search(ranker.with_fusion(None))
    with_bonus = rank_candidates(search.with_leaf_bonus(5.0), queries, 2)
    without = rank_candidates(search, queries, 2)
    assert with_bonus.features is not None
    assert without.features is not None
    assert np.allclose(with_bonus.features, without.features, atol=1e-4)
    assert not np.array_equal(with_bonus.ranking.anchors, without.ranking.anchors)


def test_among_few_anchors_all_are_ranked(model: TaxoExpan) -> None:
    queries = model._queries([model.taxonomy.concept("oat milk")])
    search, top_k = build_search(model._ranker), len(model.taxonomy) + 5
    found, exact = (
        rank_candidates(search, queries, top_k).ranking,
        model._ranker.rank(queries, top_k),
    )
    assert search.record.recall == 1
    assert found.anchors.shape == exact.anchors.shape
    assert np.allclose(found.scores, exact.scores, atol=1e-5)


def test_the_nearest_concepts_are_those_with_the_highest_cosines() -> None:
    ranker, queries = fused_case(5, count=40)
    names = ranker.anchors.vectors.names
    own = torch.cat([queries.vectors, torch.stack([names[:1], -names[:1]])], dim=1)
    rows, cosines = build_search(ranker).nearest_concepts(Queries(own))
    expected = np.sort((own[0] @ names.T).numpy(), axis=1)[:, ::-1][:, :10]
    np.testing.assert_allclose(cosines, expected, atol=1e-6)
    found = torch.einsum("qkd,qd->qk", names[torch.from_numpy(rows)], own[0])
    np.testing.assert_allclose(found.numpy(), cosines, atol=1e-6)


@pytest.mark.usefixtures("small")
def test_a_changed_graph_is_refused_or_can_be_searched() -> None:
    """Faiss itself follows wrong links, which ends the program."""
    vectors = np.random.default_rng(0).normal(size=(300, 4)).astype(np.float32)
    stored = VectorGraph(vectors).stored()
    refused = 0
    for number in range(150):
        rng, changed = np.random.default_rng(number), stored.copy()
        place = rng.integers(0, len(stored) // (1 + number % 2 * 50), 3)
        changed[place] = rng.integers(0, 256, 3)
        try:
            found = VectorGraph(vectors, changed).search(vectors[:20], 5, 20)
        except (ValueError, RuntimeError):
            refused += 1
        else:
            assert found.shape == (20, 5)
            assert found.max() < len(vectors)
    assert refused > 100
