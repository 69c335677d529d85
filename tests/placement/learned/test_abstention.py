from __future__ import annotations

from dataclasses import replace
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from builders import random_taxonomy
from fused_cases import fused_case, random_fusion
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.network.queries import LabeledQueries
from taxoexpan.placement.learned.abstention import (
    FALSE_ALARM_RATE,
    FEATURES,
    MAX_BRANCH,
    MIN_HELD_OUT,
    NEAREST,
    AbstentionModel,
    abstention_features,
    agreement,
    branches_to_close,
    features_of_block,
    learn_abstention,
    nearest_region,
)
from taxoexpan.placement.scoring.ranking import RankedBlock
from taxoexpan.placement.scoring.scorer import best_of
from taxoexpan.training.holdout import hold_out, hold_out_leaves

FOOD = Path(str(resources.files("taxoexpan").joinpath("data/food.csv")))


@given(st.integers(0, 2**32 - 1))
def test_the_branch_to_close_is_the_largest_one_that_is_small_enough(seed: int) -> None:
    taxonomy = random_taxonomy(seed, 40, 2)
    parents = np.arange(len(taxonomy))
    for index, branch in enumerate(branches_to_close(taxonomy, parents).tolist()):
        line = [index]
        while len(taxonomy.parents_of.of(line[-1])):
            line.append(int(taxonomy.parents_of.of(line[-1])[0]))
        sizes = [len(taxonomy.descendants(taxonomy.ids[place])) for place in line]
        small = [place for place, size in zip(line, sizes, strict=True) if size < MAX_BRANCH * 40]
        assert branch == (small[-1] if small else -1)


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_the_nearest_region_is_the_deepest_with_most_anchors(seed: int, count: int) -> None:
    taxonomy = random_taxonomy(seed, 30, 2)
    rng = np.random.default_rng(seed)
    anchors = [taxonomy.ids[i] for i in rng.choice(30, count, replace=False)]
    held = {
        id: sum(id in (anchor, *taxonomy.ancestors(anchor)) for anchor in anchors)
        for id in taxonomy
    }
    most = [id for id in taxonomy if held[id] > count / 2]
    found = nearest_region(taxonomy, anchors)
    if not most:
        assert found is None
        return
    assert found in most
    rank = {id: (taxonomy.levels[taxonomy.index(id)], held[id]) for id in most}
    assert rank[found] == max(rank.values())


@given(st.integers(0, 2**32 - 1), st.integers(1, 6))
def test_agreement_is_the_fraction_of_shared_ancestors(seed: int, most: int) -> None:
    taxonomy = random_taxonomy(seed, 30, 2)
    anchors = np.random.default_rng(seed).choice(30, (4, most))
    for told, row in zip(agreement(taxonomy, anchors), anchors.tolist(), strict=True):
        lines = [{taxonomy.ids[i], *taxonomy.ancestors(taxonomy.ids[i])} for i in row]
        shared = sum(len(a & b) for i, a in enumerate(lines) for j, b in enumerate(lines) if i != j)
        whole = sum(map(len, lines)) * (most - 1)
        assert told == pytest.approx(shared / whole if whole else 0.0)


def test_the_nearest_region_of_some_suggestions(model: TaxoExpan) -> None:
    anchors = ["milk", "oat milk", "goat milk", "tea"]
    assert nearest_region(model.taxonomy, anchors) == "milk"
    assert nearest_region(model.taxonomy, ["milk", "tea", "cheese"]) == "food"
    assert nearest_region(model.taxonomy, ["oat milk"]) == "oat milk"


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_features_leave_out_a_closed_branch(model: TaxoExpan, seed: int) -> None:
    ranker, taxonomy = model._ranker, model.taxonomy
    rng = np.random.default_rng(seed)
    rows = rng.choice(len(taxonomy), 3, replace=False)
    queries = model._queries([taxonomy.concept_at(int(row)) for row in rows])
    closed = np.array([taxonomy.index("milk"), -1, taxonomy.index("tea")])
    features = abstention_features(ranker, queries, closed)
    assert features.shape == (3, len(FEATURES))
    scores = ranker.scores(queries).double().numpy()
    names = (ranker.anchors.vectors.names @ queries.vectors[0].T).double().numpy()
    for column, branch in enumerate(closed.tolist()):
        shut = {branch, *map(taxonomy.index, taxonomy.descendants(taxonomy.ids[branch]))}
        left = [i for i in range(len(taxonomy)) if branch < 0 or i not in shut]
        best = scores[left, column].max()
        share = best - np.log(np.exp(scores[left, column]).sum())
        near = np.sort(names[left, column])[::-1]
        expected = [best, share, near[0], near[9]]
        np.testing.assert_allclose(features[column, :4], expected, rtol=1e-3, atol=1e-4)


def test_a_branch_below_the_first_concept_can_be_closed() -> None:
    ranker, queries = fused_case(0, count=12)
    closed = np.array([0, *[-1] * (len(queries) - 1)])
    features = abstention_features(ranker, queries, closed)
    opened = abstention_features(ranker, queries)
    np.testing.assert_allclose(features[1:], opened[1:])
    # All anchors are in this branch, so there is no score and no cosine.
    assert features[0, [0, 2, 3, 4]].tolist() == [-1] * 4
    assert np.isfinite(features).all()


def test_the_leaf_bonus_does_not_count() -> None:
    ranker, queries = fused_case(1)
    bonus = abstention_features(ranker.with_leaf_bonus(3.0), queries)
    np.testing.assert_allclose(bonus, abstention_features(ranker, queries), rtol=1e-6)


@pytest.mark.parametrize("fused", [True, False])
def test_the_features_of_ranked_queries_are_the_same(fused: bool) -> None:
    ranker, queries = fused_case(2, fusion_dim=0)
    ranker = ranker.with_fusion(random_fusion(2)) if fused else ranker
    features = []

    def keep(block: RankedBlock) -> None:
        names = ranker.anchors.vectors.names @ block.queries.vectors[0].T
        features.append(features_of_block(ranker, block, best_of(names, NEAREST)[0]))

    ranker.rank(queries, 1, on_block=keep)
    expected = abstention_features(ranker, queries)
    np.testing.assert_allclose(np.concatenate(features), expected, rtol=1e-4, atol=1e-5)


def test_the_log_odds_are_those_of_a_logistic_regression() -> None:
    model = AbstentionModel((1.0, 2.0), (2.0, 4.0), (3.0, 5.0, 7.0), threshold=15.0)
    features = np.array([[1.0, 2.0], [3.0, 6.0], [3.0, 5.9]])
    assert model.log_odds(features) == pytest.approx([7, 15, 14.875])
    assert model.has_parent(features).tolist() == [False, True, False]


@pytest.mark.parametrize("count", [MIN_HELD_OUT - 1, MIN_HELD_OUT])
def test_learning_needs_enough_leaves_in_branches_to_close(count: int) -> None:
    ranker, queries = fused_case(3, count=40, queries=60)
    taxonomy = Taxonomy(ranker.anchors.taxonomy.concepts, [("1", str(i)) for i in range(2, 40)])
    ranker.anchors.taxonomy = taxonomy
    # The branch of the first concept can be closed, and that of the second is too large.
    parents = [np.array([0])] * count + [np.array([1])] * (60 - count)
    learned = learn_abstention(ranker, replace(queries, parents=parents))
    assert (learned is not None) == (count == MIN_HELD_OUT)
    if learned is not None:
        opened = abstention_features(ranker, queries)
        closed = abstention_features(ranker, queries, np.zeros(60, dtype=np.int64))[:count]
        scale = np.concatenate([opened, closed]).std(axis=0)
        np.testing.assert_allclose(learned.scale, scale, atol=1e-6)


@pytest.fixture(scope="module")
def food_without_drinks() -> tuple[TaxoExpan, list[str]]:
    """A model of the foods, hardly trained, without any alcohol, and the ids of the alcohols."""
    whole = Taxonomy.read(FOOD)
    (branch,) = (id for id in whole if id.startswith("alcohol#"))
    gone = [branch, *whole.descendants(branch)]
    model = TaxoExpan("fast", 1, "cpu", epochs=3, features="static").fit(whole.without(gone))
    return model, gone


def test_concepts_without_a_suitable_parent_get_lower_odds(
    food_without_drinks: tuple[TaxoExpan, list[str]],
) -> None:
    model, gone = food_without_drinks
    whole = Taxonomy.read(FOOD)
    assert model.calibrators.abstention is not None
    held = hold_out_leaves(model.taxonomy, 0.1, 1000, model.seed)
    drinks = [whole.concept(id) for id in gone[1:]]
    odds = [
        model.calibrators.abstention.log_odds(
            abstention_features(model._ranker, model._queries(concepts))
        )
        for concepts in (held.concepts, drinks)
    ]
    assert np.mean(odds[0][:, None] > odds[1]) > 0.75


def test_the_false_alarm_rate_is_about_the_chosen_one(
    food_without_drinks: tuple[TaxoExpan, list[str]],
) -> None:
    model, _ = food_without_drinks
    held = hold_out_leaves(model.taxonomy, 0.1, 1000, model.seed)
    assert model.calibrators.abstention is not None
    features = abstention_features(model._ranker, model._queries(held.concepts))
    # The held-out leaves are in this taxonomy, so fewer of them are false alarms.
    assert 1 - np.mean(model.calibrators.abstention.has_parent(features)) <= FALSE_ALARM_RATE + 0.01
    assert (model.calibrators.abstention.log_odds(features) > 0).mean() > 0.5


def test_nothing_is_learned_from_too_few_leaves(model: TaxoExpan) -> None:
    taxonomy = model.taxonomy
    held = hold_out(taxonomy, ["oat milk", "rye bread"], taxonomy)
    queries = LabeledQueries(model._embedder.tensor(held.concepts), parents=held.parents)
    assert learn_abstention(model._ranker, queries) is None
    assert model.calibrators.abstention is None
