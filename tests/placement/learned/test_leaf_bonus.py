from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from builders import random_taxonomy
from conftest import SMALL

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.config import load_preset
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.queries import LabeledQueries
from taxoexpan.placement.learned.leaf_bonus import LEAF_BONUSES, MIN_HELD_OUT, learn_leaf_bonus
from taxoexpan.placement.scoring.anchors import Anchors
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.training.holdout import hold_out_growth
from taxoexpan.training.metrics import compute_metrics


@pytest.mark.parametrize("matching", ["bilinear", "mlp"])
def test_the_leaf_bonus_makes_the_true_parents_likeliest(matching: str) -> None:
    generator = torch.Generator().manual_seed(3)
    taxonomy = random_taxonomy(5, count=60)
    vectors = torch.nn.functional.normalize(torch.randn(2, 60, 8, generator=generator), dim=2)
    config = load_preset("best", matching=matching, fusion_dim=0, hidden_dim=8, embedding_dim=8)
    network = MatchingNetwork(config, 8)
    network.reset(generator)
    anchors = Anchors(taxonomy, ConceptVectors.of(vectors), 50)
    ranker = Ranker(network, anchors)
    vectors = torch.randn(2, MIN_HELD_OUT, 8, generator=generator)
    rng = np.random.default_rng(4)
    parents = [rng.choice(60, 1 + i % 2, replace=False) for i in range(MIN_HELD_OUT)]
    queries = LabeledQueries(vectors, parents=parents)

    def likelihood(bonus: float) -> float:
        raw = ranker.with_leaf_bonus(bonus).scores(queries)
        probabilities = network.match.log_match(raw).softmax(0)
        return sum(float(probabilities[own, q].sum().log()) for q, own in enumerate(parents))

    likely = [likelihood(bonus) for bonus in LEAF_BONUSES]
    assert learn_leaf_bonus(ranker, queries) == LEAF_BONUSES[int(np.argmax(likely))]
    assert learn_leaf_bonus(ranker, queries[1:]) == 0.0
    # Where all parents have children, nothing can be learned about leaf anchors.
    crowded = [own[:1] * 0 for own in parents]
    assert taxonomy.children(taxonomy.ids[0])
    assert learn_leaf_bonus(ranker, replace(queries, parents=crowded)) == 0.0


@pytest.fixture(scope="module")
def model_with_bonus(pantry: Path) -> TaxoExpan:
    """A model with a large leaf bonus, whatever bonus it has learned."""
    many = SMALL | {"validation_fraction": 0.9, "learn_fusion": False}  # of ninety foods
    model = TaxoExpan("fast", device="cpu", **many).fit(Taxonomy.read(pantry))
    archive = model._fitted()
    assert archive.calibrators.leaf_bonus in LEAF_BONUSES
    calibrators = replace(archive.calibrators, leaf_bonus=2.5)
    model._archive = replace(archive, calibrators=calibrators)
    return model


def test_the_ranking_and_its_explanation_use_the_leaf_bonus(model_with_bonus: TaxoExpan) -> None:
    suggestions, evidence = model_with_bonus.suggest_with_evidence(["cold brew", "nut milk"], 2)
    queries = model_with_bonus._queries([each.query for each in evidence])
    assert model_with_bonus._ranker.leaf_bonus == 2.5
    scores = model_with_bonus._ranker.scores(queries)
    probabilities = scores.softmax(0)
    for column, each in enumerate(evidence):
        own = [s for s in suggestions if s.query == each.query]
        rows = [model_with_bonus.taxonomy.index(s.parent.id) for s in own]
        assert [s.score for s in own] == pytest.approx(
            probabilities[rows, column].tolist(), rel=1e-4
        )
        assert each.comparison is not None
        margin = float(scores[rows[0], column] - scores[rows[1], column])
        assert each.comparison.margin == pytest.approx(margin, abs=1e-4)
        is_leaf = not model_with_bonus.taxonomy.children(own[0].parent.id)
        assert each.score_parts.leaf_bonus == (2.5 if is_leaf else 0.0)


def test_evaluation_uses_the_leaf_bonus(model_with_bonus: TaxoExpan) -> None:
    holdout = hold_out_growth(model_with_bonus.taxonomy, 0.5, 100, seed=3)
    anchors = Anchors(
        holdout.taxonomy,
        ConceptVectors.of(model_with_bonus._embedder.tensor(holdout.taxonomy.concepts)),
        50,
    )
    network = model_with_bonus._fitted().network
    ranker = Ranker(network, anchors)
    vectors = model_with_bonus._embedder.tensor(holdout.concepts)
    queries = LabeledQueries(vectors, parents=holdout.parents)
    metrics = model_with_bonus.evaluate(holdout)
    assert metrics == compute_metrics(ranker.with_leaf_bonus(2.5).true_ranks(queries))
    assert metrics != compute_metrics(ranker.true_ranks(queries))


def test_no_leaf_bonus_is_learned_from_unrelated_leaves(pantry: Path) -> None:
    many = SMALL | {"validation_fraction": 0.9, "epochs": 1, "learn_fusion": False}
    loose = TaxoExpan("fast", device="cpu", validation="leaves", **many).fit(Taxonomy.read(pantry))
    assert loose.calibrators.calibration is not None
    assert loose.calibrators.leaf_bonus == 0.0
