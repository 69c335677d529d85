from __future__ import annotations

import numpy as np
import pytest

from taxoexpan.config import load_preset
from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.training.continuation import ChangesSinceTraining, Recipe
from taxoexpan.training.sampling import TrainingSampler
from tests.support.builders import random_taxonomy

NO_PAIRS = np.zeros(0, np.int64)


def made(new: list[int], size: int, **recipe: float) -> ChangesSinceTraining:
    is_new = np.isin(np.arange(size), new)
    rejected = Adjacency.from_pairs(NO_PAIRS, NO_PAIRS, size)
    return ChangesSinceTraining(is_new, rejected, Recipe(**recipe))  # type: ignore[arg-type]


def test_new_relations_are_drawn_more_often_and_some_old_ones_too() -> None:
    parents, children = np.zeros(20, np.int64), np.arange(1, 21)
    since = made([19, 20], 21, repeats=3, replay=1.5)
    drawn = since.draw(parents, children, np.random.default_rng(0))
    counts = np.bincount(drawn, minlength=20)
    assert counts[[18, 19]].tolist() == [3, 3]
    assert counts[:18].max() == 1
    assert counts[:18].sum() == 9
    assert since.count(parents, children) == len(drawn) == 15


def test_a_relation_is_new_if_only_its_parent_is() -> None:
    """An insert moves an old concept below a new one."""
    parents, children = np.array([0, 0, 3]), np.array([1, 3, 2])
    drawn = made([3], 4, repeats=1, replay=0).draw(parents, children, np.random.default_rng(0))
    assert sorted(drawn.tolist()) == [1, 2]


def test_all_relations_are_drawn_once_if_nothing_is_new() -> None:
    parents, children = np.zeros(9, np.int64), np.arange(1, 10)
    since = made([], 10, repeats=4, replay=0)
    drawn = since.draw(parents, children, np.random.default_rng(0))
    assert sorted(drawn.tolist()) == list(range(9))
    assert since.count(parents, children) == 9


def test_the_settings_of_a_continued_training_are_those_of_the_first_but_shorter() -> None:
    config = load_preset("thorough")
    recipe = Recipe(epochs=3, tower_epochs=1)
    changed = recipe.apply_to(config)
    assert (changed.epochs, changed.tower_epochs) == (3, 1)
    assert changed.learning_rate == config.learning_rate
    assert changed.hidden_dim == config.hidden_dim
    assert recipe.apply_to(load_preset("best", tower_epochs=0)).tower_epochs == 0


@pytest.mark.parametrize("negatives", ["sampled", "uniform", "shared"])
def test_rejected_anchors_are_negatives_of_their_query(negatives: str) -> None:
    taxonomy = random_taxonomy(4, count=60)
    wrong = (np.arange(60) + 17) % 60
    rejected = Adjacency.from_pairs(np.arange(60), wrong, 60)
    since = ChangesSinceTraining(np.zeros(60, dtype=bool), rejected, Recipe())
    changes = {"batch_size": 16, "num_negatives": 2, "negative_sampling": negatives}
    sampler = TrainingSampler(taxonomy, load_preset("best", **changes), 0, changes=since)
    for batch in sampler.epoch():
        _, nodes, _ = batch.egonets.nodes.split(batch.egonets.sizes)
        anchors = batch.egonets.concepts[nodes].numpy()
        tried = anchors if batch.negatives is None else anchors[batch.negatives.numpy()]
        for column, query in enumerate(batch.queries.tolist()):
            own = tried[:, column] if tried.ndim == 2 else tried
            assert wrong[query] in own


def test_a_draw_of_every_batch_is_counted() -> None:
    taxonomy = random_taxonomy(4, count=60)
    rejected = Adjacency.from_pairs(NO_PAIRS, NO_PAIRS, 60)
    since = ChangesSinceTraining(np.arange(60) > 50, rejected, Recipe(repeats=2, replay=1.0))
    sampler = TrainingSampler(taxonomy, load_preset("best", batch_size=7), 0, changes=since)
    batches = list(sampler.epoch())
    assert len(batches) == sampler.batch_count
    drawn = [query for batch in batches for query in batch.queries.tolist()]
    assert sum(query > 50 for query in drawn) * 2 == len(drawn)
