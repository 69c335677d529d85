from __future__ import annotations

from collections.abc import Iterable
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan import Concept, TaxoExpan, read_taxonomy
from taxoexpan.network.concept_vectors import LabeledQueries
from taxoexpan.placement.learned.abstention import (
    ABSTENTION_FEATURES,
    FALSE_ALARM_RATE,
    NEAREST,
    AbstentionModel,
    abstention_features,
    features_of_cosines,
    learn_abstention,
    nearest_region,
)
from taxoexpan.taxonomy.arrays import Floats
from taxoexpan.thresholds import MIN_FOR_ABSTENTION
from taxoexpan.training.holdout import hold_out, hold_out_leaves
from tests.support.builders import random_taxonomy
from tests.support.fused_cases import fused_case, random_fusion

FOOD = Path(str(resources.files("taxoexpan").joinpath("data/food.csv")))


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


def test_the_nearest_region_of_some_suggestions(model: TaxoExpan) -> None:
    anchors = ["milk", "oat milk", "goat milk", "tea"]
    assert nearest_region(model.taxonomy, anchors) == "milk"
    assert nearest_region(model.taxonomy, ["milk", "tea", "cheese"]) == "food"
    assert nearest_region(model.taxonomy, ["oat milk"]) == "oat milk"


def test_the_features_are_mean_cosines_of_the_nearest_concepts() -> None:
    ranker, queries = fused_case(0, count=30)
    ranker = ranker.with_fusion(random_fusion(0))
    features = abstention_features(ranker, queries)
    assert features.shape == (len(queries), len(ABSTENTION_FEATURES))
    assert ranker.anchors.tower is not None
    assert queries.tower is not None
    described = ranker.anchors.tower[1]
    for column, (known, own) in enumerate(
        [(ranker.anchors.vectors.names, queries.vectors[0]), (described, queries.tower)]
    ):
        cosines = np.sort((known @ own.T).double().numpy(), axis=0)[::-1]
        np.testing.assert_allclose(features[:, column], cosines[:NEAREST].mean(axis=0), atol=1e-6)


@pytest.mark.parametrize("fused", [True, False])
def test_the_features_of_ranked_queries_are_the_same(fused: bool) -> None:
    ranker, queries = fused_case(2)
    ranker = ranker.with_fusion(random_fusion(2) if fused else None)
    features: list[Floats] = []
    ranker.rank(queries, 1, on_block=lambda cosines: features.append(features_of_cosines(cosines)))
    expected = abstention_features(ranker, queries)
    np.testing.assert_allclose(np.concatenate(features), expected, rtol=1e-4, atol=1e-5)


def test_a_weighted_sum_below_the_threshold_has_no_parent() -> None:
    model = AbstentionModel((1.0, 2.0), (2.0, 4.0), threshold=3.0)
    features = np.array([[1.0, 2.0], [3.0, 6.0], [3.0, 5.9]])
    assert model.closeness(features) == pytest.approx([0, 3, 2.975])
    assert model.has_parent(features).tolist() == [False, True, False]


@pytest.mark.parametrize("count", [MIN_FOR_ABSTENTION - 1, MIN_FOR_ABSTENTION])
def test_learning_needs_enough_leaves(count: int) -> None:
    ranker, queries = fused_case(3, count=40, queries=60)
    few = queries.select(np.arange(count))
    learned = learn_abstention(ranker, few)
    assert (learned is not None) == (count == MIN_FOR_ABSTENTION)
    if learned is not None:
        alarms = 1 - np.mean(learned.has_parent(abstention_features(ranker, few)))
        assert alarms == pytest.approx(FALSE_ALARM_RATE, abs=1 / count)


PRODUCTS = """Area Rugs, Backpacks, Badminton Rackets, Bath Towels, Bicycle Helmets, Bookends,
Camera Tripods, Car Batteries, Computer Monitors, Cordless Drills, Curtain Rods, Desk Lamps,
Dog Leashes, Earrings, Electric Guitars, Envelopes, Fishing Rods, Garden Hoses, Hair Dryers,
Hiking Boots, Inkjet Printers, Jigsaw Puzzles, Ladders, Laptop Sleeves, Lawn Mowers, Mattresses,
Motorcycle Tires, Nail Polish, Paint Brushes, Picture Frames, Raincoats, Rocking Horses,
Roof Racks, Running Shoes, Screwdrivers, Shower Curtains, Smartphone Chargers, Swimming Goggles,
Tennis Balls, Wristwatches"""


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.*already in the taxonomy")
def test_most_products_that_are_no_food_have_no_suitable_parent_among_foods() -> None:
    whole = read_taxonomy(FOOD)
    test = hold_out_leaves(whole, 0.05, 1000, 7)
    model = TaxoExpan("fast", 1, "cpu").fit(test.taxonomy)
    assert model.calibrators.abstention is not None

    def flagged(concepts: Iterable[str | Concept]) -> float:
        first = [each for each in model.suggest(concepts, top_k=1).flat if each.rank == 1]
        return float(np.mean([each.place == "none" for each in first]))

    assert flagged([" ".join(name.split()) for name in PRODUCTS.split(",")]) >= 0.75
    assert flagged(test.concepts) <= 0.12


def test_nothing_is_learned_from_too_few_leaves(model: TaxoExpan) -> None:
    taxonomy = model.taxonomy
    held = hold_out(taxonomy, ["oat milk", "rye bread"], taxonomy)
    queries = LabeledQueries(model._embedder.tensor(held.concepts), parents=held.parents)
    assert learn_abstention(model._ranker, queries) is None
    assert model.calibrators.abstention is None
