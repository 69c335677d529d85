from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from taxoexpan.config import Config, load_preset
from taxoexpan.features.pretrained import PretrainedEncoder
from taxoexpan.network.text_tower import TextMaps, anchor_texts, apply_map, query_text
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training import text_maps
from taxoexpan.training.continuation import News, Recipe
from taxoexpan.training.holdout import hold_out
from taxoexpan.training.metrics import Metrics, compute_metrics, rank_true_parents
from taxoexpan.training.text_maps import learn_maps
from taxoexpan.training.tower_gradients import SCALE, TowerBatch

COUNT, WIDTH = 40, 6
Losses = list[tuple[Indices, Indices, Indices, float]]
"""The children, parents, compared anchors and loss of each batch."""


@pytest.fixture(scope="module")
def kitchen() -> Taxonomy:
    """Concepts of which many have several parents, and some have many descendants."""
    rng = np.random.default_rng(0)
    relations = [
        (str(parent), str(child))
        for child in range(1, COUNT)
        for parent in rng.choice(child, min(child, 1 + child % 3), replace=False).tolist()
    ]
    return Taxonomy([Concept(str(i), str(i)) for i in range(COUNT)], relations)


@pytest.fixture
def vectors() -> tuple[Tensor, Tensor]:
    """The unit vectors of concepts as queries and as anchors."""
    drawn = torch.randn(2, COUNT, WIDTH, generator=torch.Generator().manual_seed(1))
    queries, anchors = torch.nn.functional.normalize(drawn, dim=2)
    return queries, anchors


@pytest.fixture
def losses(monkeypatch: pytest.MonkeyPatch) -> Losses:
    """The batches of a training in which the maps stay the same."""
    seen: Losses = []
    compute = text_maps._loss

    def keep(maps: TextMaps, queries: Tensor, anchors: Tensor, batch: TowerBatch) -> Tensor:
        loss = compute(maps, queries, anchors, batch)
        parents = batch.anchors[batch.positives.numpy()]
        seen.append((batch.queries, parents, batch.anchors, loss.item()))
        return loss

    monkeypatch.setattr(text_maps, "_loss", keep)
    monkeypatch.setattr(text_maps, "LEARNING_RATE", 0.0)
    monkeypatch.setattr(text_maps, "BATCH_SIZE", 16)
    return seen


def settings(epochs: int = 3) -> Config:
    return load_preset("best", map_epochs=epochs)


def descendants(taxonomy: Taxonomy, id: str) -> set[str]:
    children = taxonomy.children(id)
    return {*children}.union(*(descendants(taxonomy, child) for child in children))


def negatives(taxonomy: Taxonomy, child: int, compared: Indices) -> Iterator[int]:
    """The compared anchors that are not the query, its parents or its descendants."""
    own = taxonomy.ids[child]
    related = {own, *taxonomy.parents(own), *descendants(taxonomy, own)}
    return (each for each in compared.tolist() if taxonomy.ids[each] not in related)


@pytest.mark.parametrize("count", [10, 3500], ids=["some anchors", "all anchors"])
def test_each_batch_has_the_loss_of_its_relations(
    kitchen: Taxonomy,
    vectors: tuple[Tensor, Tensor],
    losses: Losses,
    count: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(text_maps, "NEGATIVES", count)
    queries, anchors = vectors
    learn_maps(queries, anchors, kitchen, settings(2), 0)
    learned = []
    for children, parents, compared, loss in losses:
        of_pairs = []
        for child, parent in zip(children.tolist(), parents.tolist(), strict=True):
            learned.append((kitchen.ids[parent], kitchen.ids[child]))
            rows = [parent, *negatives(kitchen, child, compared)]
            scores = SCALE * anchors[rows] @ queries[child]
            of_pairs.append(float(scores.logsumexp(0) - scores[0]))
        assert loss == pytest.approx(np.mean(of_pairs), rel=1e-4)
        assert {*parents} <= {*compared}
        assert (len(compared) == COUNT) == (count > COUNT)
    relations = sorted(kitchen.relations)
    assert sorted(learned[: len(relations)]) == sorted(learned[len(relations) :]) == relations


def all_anchors(taxonomy: Taxonomy, child: int, parent: int) -> TowerBatch:
    """A batch of one relation, which is compared with all anchors."""
    pair, everyone = (np.array([child]), np.array([parent])), np.arange(len(taxonomy))
    return TowerBatch.of(taxonomy, *pair, everyone, torch.device("cpu"))


def test_a_blocked_anchor_has_no_influence() -> None:
    """A descendant of a query, or another parent of it, is not a wrong parent."""
    names = ["food", "drink", "milk", "oat milk"]
    taxonomy = Taxonomy(
        [Concept(name, name) for name in names],
        [("food", "milk"), ("drink", "milk"), ("milk", "oat milk")],
    )
    queries, anchors = torch.rand(2, 4, 4, generator=torch.Generator().manual_seed(0))
    maps = TextMaps(torch.eye(4), torch.eye(4))
    for child, parent in ((2, 0), (2, 1)):  # no anchor is left to compare the parent with
        batch = all_anchors(taxonomy, child, parent)
        assert float(text_maps._loss(maps, queries, anchors, batch)) == 0
    assert float(text_maps._loss(maps, queries, anchors, all_anchors(taxonomy, 3, 2))) > 0


def test_rejected_anchors_are_compared_with_their_query(
    kitchen: Taxonomy,
    vectors: tuple[Tensor, Tensor],
    losses: Losses,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(text_maps, "NEGATIVES", 2)
    wrong = (np.arange(COUNT) + 29) % COUNT
    rejected = Adjacency.from_pairs(np.arange(COUNT), wrong, COUNT)
    news = News(np.zeros(COUNT, dtype=bool), rejected, Recipe())
    learn_maps(*vectors, kitchen, settings(1), 0, news=news)
    assert len(losses) > 1
    for children, _, compared, _ in losses:
        assert {*wrong[children]} <= {*compared}


def test_the_same_seed_gives_the_same_maps(
    kitchen: Taxonomy, vectors: tuple[Tensor, Tensor], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(text_maps, "BATCH_SIZE", 16)
    learned = []
    for seed in (3, 3, 4):
        torch.manual_seed(len(learned))  # must not matter
        maps = learn_maps(*vectors, kitchen, settings(), seed)
        assert maps is not None
        assert not maps.queries.requires_grad
        learned.append(torch.stack([maps.queries, maps.anchors]))
    assert torch.equal(learned[0], learned[1])
    assert not torch.equal(learned[0], learned[2])


def given(*values: float) -> Callable[[TextMaps], Metrics]:
    """Return a validation that gives these results, first for vectors as they are."""
    results = iter(values)
    return lambda _: Metrics(1, 1, 1, 1, 1, 1, reciprocal_rank=next(results))


def test_the_maps_of_the_best_epoch_are_returned(
    kitchen: Taxonomy, vectors: tuple[Tensor, Tensor]
) -> None:
    best = learn_maps(*vectors, kitchen, settings(3), 0, given(0.1, 0.2, 0.5, 0.4))
    second = learn_maps(*vectors, kitchen, settings(2), 0)  # without validation, the last epoch
    assert best is not None
    assert second is not None
    assert torch.equal(best.queries, second.queries)
    assert torch.equal(best.anchors, second.anchors)


def test_there_are_no_maps_if_none_is_better(
    kitchen: Taxonomy, vectors: tuple[Tensor, Tensor]
) -> None:
    assert learn_maps(*vectors, kitchen, settings(2), 0, given(0.5, 0.5, 0.4)) is None
    assert learn_maps(*vectors, kitchen, settings(0), 0) is None


def test_maps_raise_the_parents_of_held_out_concepts() -> None:
    """Without a trace of the held-out concepts: only their names are known."""
    food = Taxonomy.read(Path(str(resources.files("taxoexpan"))) / "data" / "food.csv")
    kept = descendants(food, "beverage#n#1")
    drinks = food.without([id for id in food if id not in kept])
    leaves = [id for id in drinks if drinks.parents(id) and not drinks.children(id)]
    held = hold_out(drinks, leaves[::4])
    encoder = PretrainedEncoder("cpu")
    queries, anchors, new = (
        torch.from_numpy(encoder.encode(texts))
        for texts in (
            [query_text(concept) for concept in held.taxonomy.concepts],
            anchor_texts(held.taxonomy),
            [query_text(concept) for concept in held.concepts],
        )
    )

    def validate(maps: TextMaps) -> Metrics:
        scores = apply_map(maps.anchors, anchors) @ apply_map(maps.queries, new).T
        return compute_metrics(rank_true_parents(scores, held.parents, 0.5))

    maps = learn_maps(queries, anchors, held.taxonomy, settings(10), 0)
    assert maps is not None
    unchanged = TextMaps(torch.eye(384), torch.eye(384))
    assert validate(maps).reciprocal_rank > 1.05 * validate(unchanged).reciprocal_rank
