from __future__ import annotations

import io
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from taxoexpan import read_taxonomy
from taxoexpan.config import Config, load_preset
from taxoexpan.errors import ModelError
from taxoexpan.features.layers import Transformer
from taxoexpan.features.pretrained import PretrainedEncoder
from taxoexpan.features.sentence_model import SentenceModel
from taxoexpan.features.transformer.transformer_encoder import TransformerEncoder
from taxoexpan.network.text_tower import anchor_texts, query_text
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.training import tower as tower_run
from taxoexpan.training.continuation import ChangesSinceTraining, Recipe
from taxoexpan.training.holdout import Holdout, hold_out
from taxoexpan.training.metrics import Metrics, compute_metrics
from taxoexpan.training.record import History
from taxoexpan.training.run import Checkpoint
from taxoexpan.training.tower import TowerBatch, contrastive_loss, similar_concepts, train_tower
from taxoexpan.training.true_ranks import rank_true_parents
from tests.support.builders import KINDS, SORTS
from tests.support.ctrl_c import press_ctrl_c

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
    return hold_out(read_taxonomy(pantry), ids)


def settings(epochs: int = 4, batch_size: int = 16) -> Config:
    return load_preset(
        "fast", tower_epochs=epochs, tower_batch_size=batch_size, tower_learning_rate=0.003
    )


def weights_of(tower: SentenceModel) -> Weights:
    return {name: tensor.clone() for name, tensor in tower.state_dict().items()}


def same(one: Weights, other: Weights) -> bool:
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def tune(
    tower: SentenceModel,
    taxonomy: Taxonomy,
    config: Config,
    seed: int = 0,
    checkpoint: Checkpoint | None = None,
    changes: ChangesSinceTraining | None = None,
) -> History:
    """Fine-tune with the nearest concepts of the tower as it is."""
    vectors = tower.encode([query_text(concept) for concept in taxonomy.concepts])
    similar = similar_concepts(vectors, seed)
    return train_tower(tower, taxonomy, similar, config, seed, False, checkpoint, changes)


def validate(tower: SentenceModel, held: Holdout) -> Metrics:
    """Rank the held-out concepts."""
    queries = tower.encode([query_text(concept) for concept in held.concepts])
    anchors = tower.encode(anchor_texts(held.taxonomy))
    return compute_metrics(rank_true_parents(anchors @ queries.T, held.parents))


def press_ctrl_c_at(tower: SentenceModel, text: int) -> None:
    """Press Ctrl-C when the tower encodes its n-th text with gradients."""
    seen = 0

    def interrupt(module: object, arguments: tuple[Tensor, Tensor]) -> None:
        nonlocal seen
        del module
        seen += len(arguments[0]) if torch.is_grad_enabled() else 0
        if seen >= text:
            press_ctrl_c()

    # The lower layers may not be run on texts whose states are kept.
    last = tower.layers[-1] if isinstance(tower, Transformer) else tower
    last.register_forward_pre_hook(interrupt)


class Recorder:
    """Keeps the batches of a training."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.batches: list[TowerBatch] = []
        monkeypatch.setattr(tower_run, "contrastive_loss", self._loss)

    def _loss(self, queries: Tensor, anchors: Tensor, batch: TowerBatch) -> Tensor:
        self.batches.append(batch)
        return contrastive_loss(queries, anchors, batch)


def test_fine_tuning_lowers_the_loss_and_the_ranks_of_held_out_concepts(
    make_tower: MakeTower, held: Holdout
) -> None:
    tower = make_tower()
    before = validate(tower, held)
    history = tune(tower, held.taxonomy, settings(8))
    after = validate(tower, held)
    assert history.epochs[-1].loss < 0.75 * history.epochs[0].loss
    assert after.reciprocal_rank > 1.3 * before.reciprocal_rank
    assert after.mr < 0.3 * before.mr
    assert not history.interrupted
    assert len(history.epochs) == history.best == 8
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
    similar = np.zeros((len(held.taxonomy), 1), dtype=np.int64)
    train_tower(make_tower(), held.taxonomy, similar, settings(2), 0, True, checkpoint)
    assert saved == {"1": 1, "2": 2}


def test_the_same_seed_gives_the_same_weights(make_tower: MakeTower, held: Holdout) -> None:
    trained = []
    for seed in (3, 3, 4):
        tower = make_tower()
        torch.manual_seed(len(trained))  # must not matter
        tune(tower, held.taxonomy, settings(1), seed)
        trained.append(weights_of(tower))
    assert same(trained[0], trained[1])
    assert not same(trained[0], trained[2])


def test_the_random_numbers_of_the_caller_are_left_alone(
    make_tower: MakeTower, held: Holdout
) -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    tune(make_tower(), held.taxonomy, settings(1))
    assert torch.equal(torch.get_rng_state(), before)


@pytest.mark.parametrize("text", [1, 300, pytest.param(400, marks=pytest.mark.slow)])
def test_a_resumed_fine_tuning_ends_like_an_uninterrupted_one(
    make_tower: MakeTower, held: Holdout, tmp_path: Path, text: int
) -> None:
    config, checkpoint = settings(3), Checkpoint(tmp_path / "tower", "the same")
    alone, stopped, resumed, finished = (make_tower() for _ in range(4))
    expected = tune(alone, held.taxonomy, config)
    press_ctrl_c_at(stopped, text)
    assert tune(stopped, held.taxonomy, config, checkpoint=checkpoint).interrupted
    torch.manual_seed(9)  # must not matter
    assert tune(resumed, held.taxonomy, config, checkpoint=checkpoint) == expected
    assert same(weights_of(resumed), weights_of(alone))
    assert tune(finished, held.taxonomy, config, checkpoint=checkpoint) == expected
    assert same(weights_of(finished), weights_of(alone))


def test_a_fine_tuning_with_kept_states_is_resumed_bit_by_bit(
    held: Holdout, tmp_path: Path
) -> None:
    encoder = PretrainedEncoder("cpu")
    changes = {"tuned_layers": 1, "tower_learning_rate": 1e-4}
    config, checkpoint = settings(2).model_copy(update=changes), Checkpoint(tmp_path / "x", "same")
    encoder.keep_states(anchor_texts(held.taxonomy), 1)
    alone, stopped = encoder.copy_model(), encoder.copy_model()
    expected = tune(alone, held.taxonomy, config)
    press_ctrl_c_at(stopped, 200)
    assert tune(stopped, held.taxonomy, config, checkpoint=checkpoint).interrupted
    assert len(checkpoint.load().values["epochs"]) == 1
    encoder.unload()
    encoder.keep_states(anchor_texts(held.taxonomy), 1)
    resumed = encoder.copy_model()
    assert tune(resumed, held.taxonomy, config, checkpoint=checkpoint) == expected
    assert same(weights_of(resumed), weights_of(alone))
    before, after = weights_of(PretrainedEncoder("cpu").model), weights_of(alone)
    changed = {name for name in after if not torch.equal(before[name], after[name])}
    assert {name.rpartition("layers.")[2][0] for name in changed} == {"5"}


@pytest.mark.parametrize("text", [1, 40, 100])
def test_ctrl_c_in_the_first_epoch_keeps_the_encoder_as_it_came(
    make_tower: MakeTower, held: Holdout, text: int
) -> None:
    tower = make_tower()
    before = weights_of(tower)
    press_ctrl_c_at(tower, text)
    history = tune(tower, held.taxonomy, settings(2))
    assert history.interrupted
    assert history.best == 0
    assert same(weights_of(tower), before)


def fail_above(tower: SentenceModel, texts: int, message: str) -> None:
    """Raise an error whenever the tower gets more texts than this after the first encoding."""

    def refuse(module: SentenceModel, arguments: tuple[Tensor, Tensor]) -> None:
        del module
        if len(arguments[0]) > texts:
            raise RuntimeError(message)

    tower.register_forward_pre_hook(refuse)


def test_a_batch_that_does_not_fit_in_memory_is_split(
    make_tower: MakeTower, held: Holdout, tmp_path: Path
) -> None:
    tower = make_tower()
    before, checkpoint = weights_of(tower), Checkpoint(tmp_path / "tower", "this one")
    similar = np.zeros((len(held.taxonomy), 1), dtype=np.int64)
    fail_above(tower, 15, "CUDA error: out of memory")  # 16 queries and their anchors per batch
    with pytest.warns(UserWarning, match="out of memory: each batch is now processed in") as warned:
        history = train_tower(tower, held.taxonomy, similar, settings(2), 0, checkpoint=checkpoint)
    assert [str(w.message).split()[-2] for w in warned] == ["2", "4"][: len(warned)]
    assert len(history.epochs) == 2
    assert not same(weights_of(tower), before)
    assert checkpoint.load().values["parts"] == 2 ** len(warned)


def test_memory_for_not_even_one_text_is_an_error(make_tower: MakeTower, held: Holdout) -> None:
    tower = make_tower()
    similar = np.zeros((len(held.taxonomy), 1), dtype=np.int64)
    fail_above(tower, 0, "out of memory")
    fix = "memory of cpu is too small for a single text; set tower_epochs=0"
    with pytest.warns(UserWarning, match="out of memory"), pytest.raises(ModelError, match=fix):
        train_tower(tower, held.taxonomy, similar, settings(1), 0)


def test_a_loss_that_is_no_number_is_an_error(make_tower: MakeTower, held: Holdout) -> None:
    tower = make_tower()
    config = settings(2).model_copy(update={"tower_learning_rate": 1e38})
    with pytest.raises(ModelError, match="became nan; train again with a lower tower_learning_rat"):
        tune(tower, held.taxonomy, config)


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


def test_every_concept_is_learned_once_per_epoch_and_no_blocked_pair_is_a_negative(
    make_tower: MakeTower, kitchen: Taxonomy, monkeypatch: pytest.MonkeyPatch
) -> None:
    recorder = Recorder(monkeypatch)
    tune(make_tower(), kitchen, settings(8))
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
    concepts = sorted({child for _, child in kitchen.relations})
    for start in range(0, len(learned), len(concepts)):
        assert sorted(child for _, child in learned[start : start + len(concepts)]) == concepts
    assert len(learned) == 8 * len(concepts)
    assert {*kitchen.relations}.issuperset(learned)
    assert len({*learned}) > 0.9 * len(kitchen.relations)  # the parents of a concept take turns
    assert negatives > 5 * len(learned)


def test_every_second_query_has_a_hard_negative(
    make_tower: MakeTower, held: Holdout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tower_run, "NEAREST", 1)
    tower, recorder, taxonomy = make_tower(), Recorder(monkeypatch), held.taxonomy
    cosines = (vectors := tower.encode(taxonomy.labels)) @ vectors.T
    nearest = cosines.fill_diagonal_(-1).argmax(1).numpy()
    tune(tower, taxonomy, settings(1))
    for batch in recorder.batches:
        parents = batch.anchors[batch.positives.numpy()]
        assert {*batch.anchors} == {*parents, *nearest[batch.queries[::2]]}


def test_the_similar_concepts_of_large_taxonomies_are_of_a_sample(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    vectors = torch.nn.functional.normalize(
        torch.randn(40, 4, generator=torch.Generator().manual_seed(0)), dim=1
    )
    cosines = vectors @ vectors.T
    expected = cosines.argsort(1, descending=True)[:, 1:11].numpy()
    assert np.array_equal(similar_concepts(vectors, 0), expected)
    monkeypatch.setattr(tower_run, "POOL", 20)
    found = similar_concepts(vectors, 0)
    assert found.shape == (40, 10)
    assert len(np.unique(found)) <= 20


def test_huge_taxonomies_are_learned_in_part(
    make_tower: MakeTower, held: Holdout, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tower_run, "MAX_QUERIES", 24)
    recorder = Recorder(monkeypatch)
    history = tune(make_tower(), held.taxonomy, settings(2))
    assert [len(batch.queries) for batch in recorder.batches] == [16, 8, 16, 8]
    assert len(history.epochs) == 2


def descendants(taxonomy: Taxonomy, id: str) -> set[str]:
    children = taxonomy.children(id)
    return {*children}.union(*(descendants(taxonomy, child) for child in children))


@pytest.mark.skipif(not torch.cuda.is_available(), reason="needs CUDA")
def test_a_gpu_learns_too_and_resumes(make_tower: MakeTower, held: Holdout, tmp_path: Path) -> None:
    checkpoint, stopped = Checkpoint(tmp_path / "tower", "the same"), make_tower().cuda()
    press_ctrl_c_at(stopped, 400)
    tune(stopped, held.taxonomy, settings(6), checkpoint=checkpoint)
    tower = make_tower().cuda()
    history = tune(tower, held.taxonomy, settings(6), checkpoint=checkpoint)
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
    changes = ChangesSinceTraining(is_new, rejected, Recipe(repeats=2, replay=1.0))
    tune(make_tower(), taxonomy, settings(2), changes=changes)
    queries = np.concatenate([batch.queries for batch in recorder.batches])
    assert is_new[queries].sum() == 2 * 2 * is_new.sum()
    assert len(queries) == 2 * is_new[queries].sum()
    for batch in recorder.batches:
        assert set(wrong[batch.queries].tolist()) <= set(batch.anchors.tolist())
