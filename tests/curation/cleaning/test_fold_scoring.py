from __future__ import annotations

import math
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.curation.cleaning.fold_scoring import ModelOptions, score_fold
from taxoexpan.curation.cleaning.folds import (
    RelationScores,
    concepts_to_check,
    hide_parents,
    split_into_folds,
)
from taxoexpan.errors import ConfigurationError
from taxoexpan.explain import Evidence, describe_move
from taxoexpan.shared_options import SuggestOptions
from taxoexpan.training.tower import TowerRun
from tests.support.messy_pantry import CALIBRATED, QUICK, large_pantry, messy_pantry


def scored_slowly(
    taxonomy: Taxonomy, queries: list[int], options: ModelOptions
) -> dict[tuple[str, str], tuple[int, float, str, float]]:
    """Rank, score, better parent and its score of each relation, by the model's suggestions."""
    model = options.new_model().fit(hide_parents(taxonomy, np.array(queries)))
    everything = SuggestOptions(top_k=len(taxonomy))
    expected = {}
    for id in (taxonomy.ids[i] for i in queries):
        parents, ancestors = taxonomy.parents(id), taxonomy.ancestors(id)
        excluded = {id, *taxonomy.descendants(id)}
        ranked = model.suggest_block([taxonomy.concept(id)], everything).suggestions
        ranked = [each for each in ranked if each.parent.id not in excluded]
        total = sum(each.score for each in ranked)
        scores = {each.parent.id: each.score / total for each in ranked}
        better = next(anchor for anchor in scores if anchor not in ancestors)
        for parent in parents:
            rivals = [anchor for anchor in scores if anchor == parent or anchor not in parents]
            rank = 1 + rivals.index(parent)
            expected[parent, id] = rank, scores[parent], better, scores[better]
    return expected


@pytest.mark.parametrize("inner", [False, True])
def test_relations_are_scored_as_in_the_ranking_of_the_model(inner: bool) -> None:
    messy = messy_pantry()
    deep = [*messy.relations, ("milk", "tea"), ("rye bread", "blue berry")]
    taxonomy = Taxonomy(messy.concepts, deep)
    queries = split_into_folds(concepts_to_check(taxonomy, inner), 3, seed=5)[1]
    scores = score_fold(taxonomy, queries, QUICK)
    expected = scored_slowly(taxonomy, queries.tolist(), QUICK)
    assert len(scores.ranks) == len(expected)
    for row in range(len(scores.ranks)):
        relation = taxonomy.ids[scores.parents[row]], taxonomy.ids[scores.concepts[row]]
        rank, score, better, better_score = expected.pop(relation)
        assert scores.ranks[row] == rank
        assert np.exp(scores.log_scores[row]) == pytest.approx(score, rel=1e-3)
        assert taxonomy.ids[scores.better[row]] == better
        assert np.exp(scores.better_log_scores[row]) == pytest.approx(better_score, rel=1e-3)
    assert not expected


@dataclass(frozen=True)
class Scored:
    """A scored fold of the large pantry, and the same model trained outside of it."""

    scores: RelationScores
    model: TaxoExpan


@pytest.fixture(
    scope="module",
    params=[
        pytest.param(False, id="leaves"),
        pytest.param(True, id="inner", marks=pytest.mark.slow),
    ],
)
def scored(request: pytest.FixtureRequest) -> Scored:
    pantry = large_pantry()
    queries = split_into_folds(concepts_to_check(pantry, request.param), 3, seed=5)[2]
    scores = score_fold(pantry, queries, CALIBRATED, explained=40)
    return Scored(scores, CALIBRATED.new_model().fit(hide_parents(pantry, queries)))


def test_confidences_come_from_the_calibration_of_the_model(scored: Scored) -> None:
    pantry, scores, model = large_pantry(), scored.scores, scored.model
    calibration = model.calibrators.calibration
    assert calibration is not None
    everything = SuggestOptions(top_k=len(pantry))
    firsts = 0
    for row, concept in enumerate(scores.concepts.tolist()):
        id = pantry.ids[concept]
        excluded = {id, *pantry.descendants(id)}
        ranked = model.suggest_block([pantry.concept(id)], everything).suggestions
        score_of = {p.parent.id: p.score for p in ranked if p.parent.id not in excluded}
        tempered = np.array(list(score_of.values()), np.float64) ** (1 / calibration.temperature)
        confidences = calibration.confidence((tempered / tempered.sum())[None])[0]
        expected = dict(zip(score_of, confidences.tolist(), strict=True))
        parent, better = (pantry.ids[each[row]] for each in (scores.parents, scores.better))
        assert scores.confidences[row] == pytest.approx(expected[parent], rel=1e-3)
        assert scores.better_confidences[row] == pytest.approx(expected[better], rel=1e-3)
        if pantry.children(id):
            continue
        # If no anchor is excluded, the confidence is that of a suggestion.
        suggested = {each.parent.id: each.confidence for each in ranked}
        assert scores.confidences[row] == pytest.approx(suggested[parent], rel=1e-3)
        firsts += next(iter(score_of)) in (parent, better)
    assert 0 < firsts < 2 * len(scores.concepts)  # both curves, of first and later anchors


def test_reasons_compare_the_better_parent_with_the_present_one(scored: Scored) -> None:
    pantry = large_pantry()
    scores, remaining = scored.scores, scored.model.taxonomy
    vectors = scored.model._embedder.tensor(pantry.concepts)[0].cpu().numpy()
    assert list(scores.reasons) == [
        (scores.concepts[row], scores.parents[row]) for row in scores.order[:40]
    ]
    for row, ((concept, _), reason) in zip(
        scores.order.tolist(), scores.reasons.items(), strict=False
    ):
        evidence = Evidence.from_dict(reason)
        assert evidence.to_dict() == reason
        assert evidence.query.id == pantry.ids[concept]
        anchors = scores.better[row], scores.parents[row]
        log_scores = scores.better_log_scores[row], scores.log_scores[row]
        for anchor, log_score, support in zip(
            anchors, log_scores, evidence.suggestions, strict=True
        ):
            id = pantry.ids[anchor]
            assert support.parent.id == id
            assert support.path == pantry.path(id)
            assert support.score == pytest.approx(math.exp(log_score), rel=1e-4)
            others = set(pantry.children(id)) - {evidence.query.id}
            assert support.child_count == len(others)
            cosines = {
                child: vectors[pantry.index(child)] @ vectors[concept]
                for child in remaining.children(id)
            }
            best = sorted(cosines.values(), reverse=True)[:3]
            assert [child.cosine for child in support.nearest_children] == pytest.approx(
                best, abs=1e-3
            )
            for child in support.nearest_children:
                assert child.cosine == pytest.approx(cosines[child.concept.id], abs=1e-3)
        assert evidence.comparison is not None
        assert evidence.comparison.margin == pytest.approx(scores.suspicions[row], abs=2e-3)
        why = describe_move(evidence)
        assert ("still prefers" in why) == (evidence.comparison.margin < 0)
        assert f" '{evidence.suggestions[1].parent.label}'" in why


def test_a_relation_without_another_possible_parent_is_left_out() -> None:
    chain = Taxonomy.from_columns("abcde", "abcde", np.arange(4), np.arange(1, 5))
    fold = score_fold(chain, np.array([2]), QUICK, explained=3)
    assert not len(fold.ranks)
    assert not fold.reasons


def test_the_model_must_be_validated_on_single_leaves() -> None:
    with pytest.raises(ConfigurationError, match="remove the setting validation"):
        ModelOptions(settings={"validation": "growth"}).new_model()
    assert ModelOptions().new_model().config.validation == "leaves"


def test_a_model_whose_fine_tuning_was_interrupted_scores_nothing(
    tiny_transformer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(TowerRun, "train_epoch", interrupt)
    pantry = messy_pantry()
    features = f"transformer:{tiny_transformer}"
    settings = {**QUICK.settings, "features": features, "tower_epochs": 1}
    queries = split_into_folds(concepts_to_check(pantry, False), 3, seed=5)[1]
    with pytest.raises(KeyboardInterrupt):
        score_fold(pantry, queries, replace(QUICK, settings=settings))
