from __future__ import annotations

from collections.abc import Callable, Iterator
from importlib import resources
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from taxoexpan import read_taxonomy
from taxoexpan.config import Config, load_preset
from taxoexpan.features.pretrained import PretrainedEncoder
from taxoexpan.network.text_tower import (
    EncodedTexts,
    TextMaps,
    anchor_texts,
    query_text,
    vocabulary_of,
)
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training import tower
from taxoexpan.training.continuation import ChangesSinceTraining, Recipe
from taxoexpan.training.holdout import hold_out
from taxoexpan.training.metrics import Metrics, compute_metrics
from taxoexpan.training.tower import SCALE, TowerBatch, learn_maps
from taxoexpan.training.true_ranks import rank_true_parents

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


Texts = tuple[EncodedTexts, EncodedTexts, TextMaps]
"""The texts of concepts as queries and as anchors, and maps that leave them as they are."""


@pytest.fixture
def texts(kitchen: Taxonomy) -> Texts:
    """Texts with random vectors."""
    drawn = torch.randn(2, COUNT, WIDTH, generator=torch.Generator().manual_seed(1))
    return encoded(kitchen, *torch.nn.functional.normalize(drawn, dim=2))


def encoded(taxonomy: Taxonomy, queries: Tensor, anchors: Tensor) -> Texts:
    """Return the texts of all concepts with these vectors, and the first maps."""
    named, described = [query_text(c) for c in taxonomy.concepts], anchor_texts(taxonomy)
    words = vocabulary_of([*named, *described])
    start = TextMaps.unchanged(words, queries.shape[1], torch.device("cpu"))
    of_queries = EncodedTexts.of(named, queries, start.rows)
    return of_queries, EncodedTexts.of(described, anchors, start.rows), start


@pytest.fixture
def losses(monkeypatch: pytest.MonkeyPatch) -> Losses:
    """The batches of a training in which the maps stay the same."""
    seen: Losses = []
    compute = tower._loss

    def keep(
        maps: TextMaps, queries: EncodedTexts, anchors: EncodedTexts, batch: TowerBatch
    ) -> Tensor:
        loss = compute(maps, queries, anchors, batch)
        parents = batch.anchors[batch.positives.numpy()]
        seen.append((batch.queries, parents, batch.anchors, loss.item()))
        return loss

    monkeypatch.setattr(tower, "_loss", keep)
    monkeypatch.setattr(tower, "MAP_RATE", 0.0)
    monkeypatch.setattr(tower, "WORD_RATE", 0.0)
    monkeypatch.setattr(tower, "BATCH_SIZE", 16)
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
    texts: Texts,
    losses: Losses,
    count: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tower, "NEGATIVES", count)
    queries, anchors = texts[0].vectors, texts[1].vectors
    learn_maps(*texts, kitchen, settings(2), 0)
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
    vectors = torch.rand(2, 4, 4, generator=torch.Generator().manual_seed(0))
    queries, anchors, maps = encoded(taxonomy, *vectors)
    for child, parent in ((2, 0), (2, 1)):  # no anchor is left to compare the parent with
        batch = all_anchors(taxonomy, child, parent)
        assert float(tower._loss(maps, queries, anchors, batch)) == 0
    assert float(tower._loss(maps, queries, anchors, all_anchors(taxonomy, 3, 2))) > 0


def test_rejected_anchors_are_compared_with_their_query(
    kitchen: Taxonomy,
    texts: Texts,
    losses: Losses,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tower, "NEGATIVES", 2)
    wrong = (np.arange(COUNT) + 29) % COUNT
    rejected = Adjacency.from_pairs(np.arange(COUNT), wrong, COUNT)
    changes = ChangesSinceTraining(np.zeros(COUNT, dtype=bool), rejected, Recipe())
    learn_maps(*texts, kitchen, settings(1), 0, changes=changes)
    assert len(losses) > 1
    for children, _, compared, _ in losses:
        assert {*wrong[children]} <= {*compared}


def test_the_same_seed_gives_the_same_maps(
    kitchen: Taxonomy, texts: Texts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tower, "BATCH_SIZE", 16)
    learned = []
    for seed in (3, 3, 4):
        torch.manual_seed(len(learned))  # must not matter
        maps = learn_maps(*texts, kitchen, settings(), seed)
        assert maps is not None
        assert not maps.queries.requires_grad
        learned.append(torch.cat([maps.queries, maps.anchors, maps.words]))
    assert torch.equal(learned[0], learned[1])
    assert not torch.equal(learned[0], learned[2])


def given(*values: float) -> Callable[[TextMaps], Metrics]:
    """Return a validation that gives these results, first for vectors as they are."""
    results = iter(values)
    return lambda _: Metrics(1, 1, 1, 1, 1, 1, reciprocal_rank=next(results))


def test_the_maps_of_the_best_epoch_are_returned(kitchen: Taxonomy, texts: Texts) -> None:
    best = learn_maps(*texts, kitchen, settings(3), 0, given(0.1, 0.2, 0.5, 0.4))
    seen: list[TextMaps] = []

    def validate(maps: TextMaps) -> Metrics:
        seen.append(maps)
        return Metrics(1, 1, 1, 1, 1, 1, reciprocal_rank=len(seen))

    last = learn_maps(*texts, kitchen, settings(3), 0, validate)
    assert best is not None
    assert last is seen[3]
    for name in tower.LEARNED:
        assert torch.equal(getattr(best, name), getattr(seen[2], name))
        assert not torch.equal(getattr(best, name), getattr(last, name))


def test_there_are_no_maps_if_none_is_better(kitchen: Taxonomy, texts: Texts) -> None:
    assert learn_maps(*texts, kitchen, settings(2), 0, given(0.5, 0.5, 0.4)) is None
    assert learn_maps(*texts, kitchen, settings(0), 0) is None


@pytest.mark.slow
def test_maps_raise_the_parents_of_held_out_concepts() -> None:
    """Without a trace of the held-out concepts: only their names are known."""
    food = read_taxonomy(Path(str(resources.files("taxoexpan"))) / "data" / "food.csv")
    kept = descendants(food, "beverage#n#1")
    drinks = food.without([id for id in food if id not in kept])
    leaves = [id for id in drinks if drinks.parents(id) and not drinks.children(id)]
    held = hold_out(drinks, leaves[::4])
    encoder = PretrainedEncoder("cpu")
    queries, anchors, new = (
        torch.from_numpy(encoder.encode(each))
        for each in (
            [query_text(concept) for concept in held.taxonomy.concepts],
            anchor_texts(held.taxonomy),
            [query_text(concept) for concept in held.concepts],
        )
    )
    texts = encoded(held.taxonomy, queries, anchors)
    held_out = EncodedTexts.of([query_text(c) for c in held.concepts], new, texts[2].rows)

    def validate(maps: TextMaps) -> Metrics:
        scores = maps.map_anchors(texts[1]) @ maps.map_queries(held_out).T
        return compute_metrics(rank_true_parents(scores, held.parents))

    maps = learn_maps(*texts, held.taxonomy, settings(10), 0)
    assert maps is not None
    assert validate(maps).reciprocal_rank > 1.05 * validate(texts[2]).reciprocal_rank


def test_a_word_learns_what_it_means_in_the_taxonomy() -> None:
    """Vectors of queries that say nothing: only their words lead to their parents."""
    kinds = {"bulb": "lamp", "shade": "lamp", "saddle": "bicycle", "pedal": "bicycle"}
    labels = [f"{color} {kind}" for kind in kinds for color in ("red", "green", "blue", "black")]
    concepts = [Concept(name, name) for name in ("thing", "lamp", "bicycle", *labels)]
    relations = [("thing", "lamp"), ("thing", "bicycle")]
    relations += [(kinds[label.split()[1]], label) for label in labels]
    taxonomy = Taxonomy(concepts, relations)
    same = torch.nn.functional.normalize(torch.ones(len(concepts), 8), dim=1)
    anchors = torch.randn(len(concepts), 8, generator=torch.Generator().manual_seed(0))
    texts = encoded(taxonomy, same, torch.nn.functional.normalize(anchors, dim=1))
    maps = learn_maps(*texts, taxonomy, settings(200), 0)
    assert maps is not None
    new = EncodedTexts.of(["white pedal", "white bulb"], same[:2], maps.rows)
    nearest = (maps.map_queries(new) @ maps.map_anchors(texts[1])[:3].T).argmax(1)
    assert [taxonomy.ids[row] for row in nearest.tolist()] == ["bicycle", "lamp"]
