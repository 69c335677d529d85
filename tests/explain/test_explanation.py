from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from taxoexpan import TaxoExpan
from taxoexpan.explain import describe, explain, explanation
from taxoexpan.explain.evidence import SIGNAL_PARTS, Part
from taxoexpan.features.mentions import MentionKind, Mentions
from taxoexpan.network.concept_vectors import Queries
from taxoexpan.placement.scoring.pair_features import Signal
from taxoexpan.placement.scoring.ranking import Ranker, Ranking
from taxoexpan.taxonomy import Concept
from tests.support.random_cases import fused_case, small_case

FIRST = MentionKind.FIRST_IN_DEFINITION


def test_score_parts_add_up_to_the_raw_score() -> None:
    ranker, queries = small_case(seed=7, use_mentions=True)
    mentions = Mentions.from_rows(
        [
            [(i, FIRST), (i + 1, MentionKind.NAME_ENDING), (i, MentionKind.SAME_NAME)]
            for i in range(11)
        ]
    )
    queries = replace(queries, mentions=mentions)
    ranking, scores = ranker.rank(queries, 3), ranker.scores(queries)
    found = explain(ranker, queries, ranking)
    for query, evidence in enumerate(found):
        first, second, _ = ranking.anchors[query].tolist()
        assert evidence.comparison is not None
        parts = evidence.score_parts
        total, other = sum(parts.values()), sum(evidence.comparison.score_parts.values())
        assert total == pytest.approx(float(scores[first, query]), abs=1e-4)
        assert other == pytest.approx(float(scores[second, query]), abs=1e-4)
        assert evidence.comparison.margin == pytest.approx(total - other)
        bonus = sum(mention.bonus for mention in evidence.first.mentions)
        assert parts[Part.MENTIONS] == pytest.approx(bonus)
    assert any(evidence.score_parts[Part.MENTIONS] for evidence in found)


@pytest.mark.parametrize("has_tower", [False, True])
def test_signal_parts_are_those_of_the_features_and_add_up_to_the_fused_score(
    has_tower: bool,
) -> None:
    ranker, queries = fused_case(has_tower=has_tower, use_mentions=True)
    queries = replace(queries, mentions=Mentions.from_rows([[(i, FIRST)] for i in range(11)]))
    ranking, scores = ranker.rank(queries, 3), ranker.scores(queries)
    features = ranker.features(queries).numpy()
    assert ranker.fusion is not None
    for query, evidence in enumerate(explain(ranker, queries, ranking)):
        assert evidence.comparison is not None
        both = evidence.score_parts, evidence.comparison.score_parts
        expected = ranker.fusion.contributions(features[:, ranking.anchors[query, :2], query])
        for rank, parts in enumerate(both):
            for part, signal in zip(SIGNAL_PARTS, Signal, strict=True):
                assert parts[part] == pytest.approx(expected[signal][rank], abs=1e-4)
            total = float(scores[ranking.anchors[query, rank], query])
            assert sum(parts.values()) == pytest.approx(total, abs=1e-4)
        totals = [sum(parts.values()) for parts in both]
        assert evidence.comparison.margin == pytest.approx(totals[0] - totals[1])
        assert bool(both[0][Part.TOWER]) == has_tower


@pytest.mark.parametrize("case", [small_case, fused_case])
def test_blocks_of_queries_are_explained_like_all_queries_at_once(
    monkeypatch: pytest.MonkeyPatch, case: Callable[..., tuple[Ranker, Queries]]
) -> None:
    ranker, queries = case(use_mentions=True)
    mentions = Mentions.from_rows([[(i, FIRST)] for i in range(11)])
    queries = replace(queries, mentions=mentions)
    ranking = ranker.rank(queries, 3)
    whole = explain(ranker, queries, ranking)
    for limit, size in (("MAX_QUERIES", 3), ("MAX_NEIGHBORS", 9)):
        with monkeypatch.context() as patched:
            patched.setattr(explanation, limit, size)
            in_blocks = explain(ranker, queries, ranking)
        for one, other in zip(whole, in_blocks, strict=True):
            assert describe(one) == describe(other)
            assert one.score_parts == pytest.approx(other.score_parts, abs=1e-4)
    assert explain(ranker, queries[:0], Ranking(*np.zeros((3, 0, 3), int))) == []


def test_only_without_any_encoder_a_query_has_no_vector() -> None:
    for has_tower in (False, True):
        ranker, queries = fused_case(has_tower=has_tower)
        queries = replace(queries, vectors=torch.zeros_like(queries.vectors))
        found = explain(ranker, queries, ranker.rank(queries, 2))
        assert {evidence.has_vector for evidence in found} == {has_tower}


def test_a_single_suggestion_is_compared_with_nothing() -> None:
    ranker, queries = small_case()
    for evidence in explain(ranker, queries, ranker.rank(queries, 1)):
        assert evidence.comparison is None
        assert "runner-up" not in describe(evidence)


def test_a_trained_model_points_at_the_future_siblings(model: TaxoExpan) -> None:
    concepts = [Concept("", "soy milk"), Concept("", "banana bread")]
    queries = model._queries(concepts)
    milk, bread = explain(model._ranker, queries, model._ranker.rank(queries, 2))
    assert milk.first.path == ("food", "milk")
    assert bread.first.path == ("food", "bread")
    children = milk.first.nearest_children
    assert all(child.concept.label.endswith(" milk") for child in children)
    text = describe(milk)
    assert text.startswith(f"It is similar to '{children[0].concept.label}' (0.")
    assert "It shares the word 'milk' with 'milk', " in text
