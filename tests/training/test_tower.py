from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from builders import KINDS, SORTS
from ctrl_c import press_ctrl_c
from torch import Tensor

from taxoexpan.config import Config, load_preset
from taxoexpan.errors import ModelError
from taxoexpan.features.sentence_model import SentenceModel
from taxoexpan.features.transformer.transformer_encoder import TransformerEncoder
from taxoexpan.network.text_tower import anchor_texts, query_text
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.training import tower as tower_run
from taxoexpan.training import tower_gradients
from taxoexpan.training.checkpoint import Checkpoint
from taxoexpan.training.continuation import News, Recipe
from taxoexpan.training.holdout import Holdout, hold_out
from taxoexpan.training.metrics import Metrics, compute_metrics, rank_true_parents
from taxoexpan.training.tower import train_tower
from taxoexpan.training.tower_gradients import TowerBatch, contrastive_loss

MakeTower = Callable[[], SentenceModel]
Weights = dict[str, Tensor]


@pytest.fixture(scope="module")
def make_tower(tiny_transformer: Path) -> MakeTower:
    """Return towers with the same weights."""
    encoder = TransformerEncoder(str(tiny_transformer), "cpu")
    return encoder.copy_model


@pytest.fixture(scope="module")
def held(pantry: Path) -> Holdout:
    """The pantry without two sorts of each kind, which are to be placed."""
    ids = [f"{sort} {kind}" for kind in KINDS for sort in SORTS[:2]]
    return hold_out(Taxonomy.read(pantry), ids)


def settings(epochs: int = 4, batch_size: int = 16) -> Config:
    return load_preset(
        "fast", tower_epochs=epochs, tower_batch_size=batch_size, tower_learning_rate=0.003
    )


def weights_of(tower: SentenceModel) -> Weights:
    return {name: tensor.clone() for name, tensor in tower.state_dict().items()}


def same(one: Weights, other: Weights) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


class Validation:
    """Ranks the held-out concepts, and calls `after` with the number of the epoch."""

    def __init__(self, held: Holdout, after: Callable[[int], object] = str) -> None:
        self.held, self.after = held, after
        self.calls = 0

    def __call__(self, tower: SentenceModel, anchors: Tensor) -> Metrics:
        queries = tower.encode([query_text(concept) for concept in self.held.concepts])
        metrics = compute_metrics(rank_true_parents(anchors @ queries.T, self.held.parents, 0.5))
        self.after(self.calls)
        self.calls += 1
        return metrics


def given(*values: float | None) -> Callable[[SentenceModel, Tensor], Metrics]:
    """Return a validation that gives these results, first without training; None is Ctrl-C."""
    results = iter(values)

    def validate(tower: SentenceModel, anchors: Tensor) -> Metrics:
        del tower, anchors
        result = next(results)
        if result is None:
            raise KeyboardInterrupt
        return Metrics(1, 1, 1, 1, 1, 1, reciprocal_rank=result)

    return validate


class Recorder:
    """Keeps the batches of a training."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.batches: list[TowerBatch] = []
        monkeypatch.setattr(tower_gradients, "contrastive_loss", self._loss)

    def _loss(self, queries: Tensor, anchors: Tensor, batch: TowerBatch) -> Tensor:
        self.batches.append(batch)
        return contrastive_loss(queries, anchors, batch)


def test_fine_tuning_lowers_the_loss_and_the_ranks_of_held_out_concepts(
    make_tower: MakeTower, held: Holdout
) -> None:
    tower, validate = make_tower(), Validation(held)
    before = validate(tower, tower.encode(anchor_texts(held.taxonomy)))
    history = train_tower(tower, held.taxonomy, settings(8), 0, validate)
    after = validate(tower, tower.encode(anchor_texts(held.taxonomy)))
    assert history.epochs[-1].loss < 0.75 * history.epochs[0].loss
    assert after.reciprocal_rank > 1.3 * before.reciprocal_rank
    assert after.mr < 0.3 * before.mr
    assert not history.interrupted
    found = [epoch.validation for epoch in history.epochs]
    assert len(found) == 8
    assert after == found[history.best - 1]
    assert after.reciprocal_rank == max(m.reciprocal_rank for m in found if m is not None)
    assert not tower.training


def test_an_epoch_is_reported_after_it_was_saved(
    make_tower: MakeTower, held: Holdout, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever stops the training after the line of an epoch can resume after this epoch."""
    checkpoint = Checkpoint(tmp_path / "tower", "this one")
    saved: dict[str, int] = {}

    class Terminal(io.StringIO):
        def write(self, text: str) -> int:
            if text.startswith("fine-tuning epoch"):
                exists = checkpoint.path.exists()
                saved[text.split()[2]] = len(checkpoint.load().values["epochs"]) if exists else 0
            return len(text)

    monkeypatch.setattr(sys, "stderr", Terminal())
    train_tower(make_tower(), held.taxonomy, settings(2), 0, None, True, checkpoint)
    assert saved == {"1": 1, "2": 2}


def test_the_same_seed_gives_the_same_weights(make_tower: MakeTower, held: Holdout) -> None:
    trained = []
    for seed in (3, 3, 4):
        tower = make_tower()
        torch.manual_seed(len(trained))  # must not matter
        train_tower(tower, held.taxonomy, settings(1), seed)
        trained.append(weights_of(tower))
    assert same(trained[0], trained[1])
    assert not same(trained[0], trained[2])


def test_the_random_numbers_of_the_caller_are_left_alone(
    make_tower: MakeTower, held: Holdout
) -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    train_tower(make_tower(), held.taxonomy, settings(1), 0)
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("interrupted_in", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_a_resumed_fine_tuning_ends_like_an_uninterrupted_one(
    make_tower: MakeTower, held: Holdout, tmp_path: Path, interrupted_in: int
) -> None:
    config, checkpoint = settings(3), Checkpoint(tmp_path / "tower", "the same")

    def interrupt(epoch: int) -> None:
        if epoch == interrupted_in:
            press_ctrl_c()

    alone, resumed = make_tower(), make_tower()
    expected = train_tower(alone, held.taxonomy, config, 0, Validation(held))
    stopped = train_tower(
        make_tower(), held.taxonomy, config, 0, Validation(held, interrupt), checkpoint=checkpoint
    )
    assert stopped.interrupted
    assert len(stopped.epochs) == interrupted_in - 1
    torch.manual_seed(9)  # must not matter
    validate = Validation(held)
    history = train_tower(resumed, held.taxonomy, config, 0, validate, checkpoint=checkpoint)
    assert validate.calls == 3 - (interrupted_in - 1)
    assert same(weights_of(resumed), weights_of(alone))
    assert history == expected
    finished = make_tower()
    assert train_tower(finished, held.taxonomy, config, 0, checkpoint=checkpoint) == expected
    assert same(weights_of(finished), weights_of(alone))


def test_a_resumed_fine_tuning_still_has_the_weights_of_its_best_epoch(
    make_tower: MakeTower, held: Holdout, tmp_path: Path
) -> None:
    """Also if later epochs, before and after the interruption, are worse."""
    alone, resumed = make_tower(), make_tower()
    checkpoint, taxonomy = Checkpoint(tmp_path / "tower", "the same"), held.taxonomy
    assert train_tower(alone, taxonomy, settings(3), 0, given(0.1, 0.9, 0.5, 0.4)).best == 1
    first = given(0.1, 0.9, 0.5, None)
    train_tower(make_tower(), taxonomy, settings(3), 0, first, checkpoint=checkpoint)
    history = train_tower(resumed, taxonomy, settings(3), 0, given(0.4), checkpoint=checkpoint)
    assert history.best == 1
    assert same(weights_of(resumed), weights_of(alone))


@pytest.mark.parametrize("text", [1, 40, 200])
def test_ctrl_c_in_the_first_epoch_keeps_the_encoder_as_it_came(
    make_tower: MakeTower, held: Holdout, text: int
) -> None:
    """A signal arrives while some text is encoded: before the training or in one of its batches."""
    tower, seen = make_tower(), 0
    before = weights_of(tower)

    def interrupt(module: object, arguments: tuple[Tensor, Tensor]) -> None:
        nonlocal seen
        del module
        seen += len(arguments[0])
        if seen >= text:
            press_ctrl_c()

    tower.register_forward_pre_hook(interrupt)
    history = train_tower(tower, held.taxonomy, settings(2), 0)
    assert history.interrupted
    assert history.best == 0
    assert same(weights_of(tower), before)


def test_an_encoder_that_only_gets_worse_is_kept_as_it_came(
    make_tower: MakeTower, held: Holdout
) -> None:
    tower = make_tower()
    before = weights_of(tower)
    history = train_tower(tower, held.taxonomy, settings(2), 0, given(0.5, 0.4, 0.5))
    assert history.best == 0
    assert same(weights_of(tower), before)


def test_without_validation_the_last_epoch_is_the_best(
    make_tower: MakeTower, held: Holdout
) -> None:
    tower, last = make_tower(), make_tower()
    history = train_tower(tower, held.taxonomy, settings(2), 0)
    train_tower(last, held.taxonomy, settings(2), 0, given(0.1, 0.2, 0.3))
    assert history.best == 2
    assert same(weights_of(tower), weights_of(last))


def fail_above(tower: SentenceModel, texts: int, message: str) -> None:
    """Raise an error whenever the tower gets more texts than this with gradients or dropout."""

    def refuse(module: SentenceModel, arguments: tuple[Tensor, Tensor]) -> None:
        if module.training and len(arguments[0]) > texts:
            raise RuntimeError(message)

    tower.register_forward_pre_hook(refuse)


def test_a_batch_that_does_not_fit_in_memory_is_split(
    make_tower: MakeTower, held: Holdout, tmp_path: Path
) -> None:
    tower = make_tower()
    before, checkpoint = weights_of(tower), Checkpoint(tmp_path / "tower", "this one")
    fail_above(tower, 15, "CUDA error: out of memory")  # 16 queries and their anchors per batch
    with pytest.warns(UserWarning, match="out of memory: each batch is now processed in") as warned:
        history = train_tower(tower, held.taxonomy, settings(2), 0, checkpoint=checkpoint)
    assert [str(w.message).split()[-2] for w in warned] == ["2", "4"][: len(warned)]
    assert len(history.epochs) == 2
    assert not same(weights_of(tower), before)
    assert checkpoint.load().values["parts"] == 2 ** len(warned)


def test_memory_for_not_even_one_text_is_an_error(make_tower: MakeTower, held: Holdout) -> None:
    tower = make_tower()
    fail_above(tower, 0, "out of memory")
    fix = "memory of cpu is too small for a single text; set tower_epochs=0"
    with pytest.warns(UserWarning, match="out of memory"), pytest.raises(ModelError, match=fix):
        train_tower(tower, held.taxonomy, settings(1), 0)


def test_a_loss_that_is_no_number_is_an_error(make_tower: MakeTower, held: Holdout) -> None:
    tower = make_tower()
    config = settings(2).model_copy(update={"tower_learning_rate": 1e38})
    with pytest.raises(ModelError, match="became nan; train again with a lower tower_learning_rat"):
        train_tower(tower, held.taxonomy, config, 0)


@pytest.fixture
def kitchen() -> Taxonomy:
    """Forty concepts, many of them with several parents, and some with many descendants."""
    labels = [f"{sort} {kind}" for sort in SORTS[:5] for kind in KINDS]
    rng = np.random.default_rng(0)
    relations = [
        (labels[parent], labels[child])
        for child in range(1, len(labels))
        for parent in rng.choice(child, min(child, 1 + child % 3), replace=False).tolist()
    ]
    return Taxonomy([Concept(label, label) for label in labels], relations)


def test_every_relation_is_learned_once_per_epoch_and_no_blocked_pair_is_a_negative(
    make_tower: MakeTower, kitchen: Taxonomy, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(monkeypatch)
    train_tower(make_tower(), kitchen, settings(2), 0)
    learned, negatives = [], 0
    for batch in recorder.batches:
        anchors = [kitchen.ids[i] for i in batch.anchors.tolist()]
        rows = zip(batch.queries.tolist(), batch.positives.tolist(), batch.blocked, strict=True)
        for query, positive, blocked in rows:
            own = kitchen.ids[query]
            learned.append((anchors[positive], own))
            allowed = {a for a, b in zip(anchors, blocked.tolist(), strict=True) if not b}
            related = {own, *kitchen.parents(own), *descendants(kitchen, own)}
            assert allowed == ({*anchors} - related) | {anchors[positive]}
            negatives += len(allowed) - 1
    relations = sorted(kitchen.relations)
    assert sorted(learned[: len(relations)]) == sorted(learned[len(relations) :]) == relations
    assert negatives > 5 * len(learned)


def test_hard_negatives_are_near_their_queries(
    make_tower: MakeTower, held: Holdout, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside the parents of a batch, each batch has one of the nearest anchors of every query."""
    monkeypatch.setattr(tower_run, "NEAREST", 1)
    tower, recorder, taxonomy = make_tower(), Recorder(monkeypatch), held.taxonomy
    queries = tower.encode([query_text(concept) for concept in taxonomy.concepts])
    nearest = (queries @ tower.encode(anchor_texts(taxonomy)).T).argmax(1).numpy()
    train_tower(tower, taxonomy, settings(1), 0)
    for batch in recorder.batches:
        parents = batch.anchors[batch.positives.numpy()]
        assert {*batch.anchors} == {*parents, *nearest[batch.queries]}


def descendants(taxonomy: Taxonomy, id: str) -> set[str]:
    children = taxonomy.children(id)
    return {*children}.union(*(descendants(taxonomy, child) for child in children))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_a_gpu_learns_too_and_resumes(make_tower: MakeTower, held: Holdout, tmp_path: Path) -> None:
    checkpoint, validate = Checkpoint(tmp_path / "tower", "the same"), Validation(held)
    stopped = Validation(held, lambda epoch: press_ctrl_c() if epoch == 3 else None)
    config, taxonomy = settings(6), held.taxonomy
    train_tower(make_tower().cuda(), taxonomy, config, 0, stopped, checkpoint=checkpoint)
    tower = make_tower().cuda()
    history = train_tower(tower, taxonomy, config, 0, validate, checkpoint=checkpoint)
    assert tower.device.type == "cuda"
    assert len(history.epochs) == 6
    assert history.epochs[-1].loss < history.epochs[0].loss


def test_rejected_anchors_are_in_every_batch_with_their_query(
    make_tower: MakeTower, held: Holdout, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder, taxonomy = Recorder(monkeypatch), held.taxonomy
    wrong = (np.arange(len(taxonomy)) + 29) % len(taxonomy)
    rejected = Adjacency.from_pairs(np.arange(len(taxonomy)), wrong, len(taxonomy))
    is_new = np.array([label.startswith("rye") for label in taxonomy.labels])
    news = News(is_new, rejected, Recipe(repeats=2, replay=1.0))
    train_tower(make_tower(), taxonomy, settings(2), 0, news=news)
    queries = np.concatenate([batch.queries for batch in recorder.batches])
    assert is_new[queries].sum() == 2 * 2 * is_new.sum()
    assert len(queries) == 2 * is_new[queries].sum()
    for batch in recorder.batches:
        assert set(wrong[batch.queries].tolist()) <= set(batch.anchors.tolist())
