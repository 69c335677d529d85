"""The fitting of a model: train the network, fine-tune the encoder, and calibrate both."""

from __future__ import annotations

import copy
import gc
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.config import Config
from taxoexpan.device import release_memory
from taxoexpan.features.sentence_model import SentenceModel
from taxoexpan.network.matching_network import MatchingNetwork, make_network
from taxoexpan.network.text_tower import (
    EncodedTexts,
    KnownVectors,
    TextMaps,
    TextTower,
    query_text,
    round_tuned_weights,
    vocabulary_of,
)
from taxoexpan.placement.fitting.calibrator_learning import learn_calibrators
from taxoexpan.placement.fitting.preparation import PreparedTaxonomy, TrainingData
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.placement.scoring.anchors import Anchors, AnchorTexts, Embedder
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.progress import Progress, write_line
from taxoexpan.taxonomy.storage import taxonomy_digest
from taxoexpan.training.log import SILENT, TensorBoardWriter, TrainingLog, describe_metrics
from taxoexpan.training.loop import train
from taxoexpan.training.metrics import Metrics, compute_metrics
from taxoexpan.training.record import History
from taxoexpan.training.run import Checkpoint, identity_of
from taxoexpan.training.sampling import TrainingSampler
from taxoexpan.training.tower import learn_maps, similar_concepts, train_tower
from taxoexpan.training.true_ranks import rank_true_parents

VALIDATION_BLOCK = 256
"""Held-out concepts that are ranked at a time while the tower learns."""


def train_network(
    network: MatchingNetwork,
    data: TrainingData,
    config: Config,
    seed: int,
    log: TrainingLog = SILENT,
    checkpoint: Checkpoint | None = None,
) -> History:
    """Train with this seed, or continue with the changes; leave the caller's rng unchanged."""
    vectors = data.anchors.vectors
    if not config.epochs:
        return History()
    if data.changes is None:
        network.reset(torch.Generator().manual_seed(seed))
    network.to(vectors.device)
    sampler = TrainingSampler(data.anchors.taxonomy, config, seed, data.mentions, data.changes)

    def validate(network: MatchingNetwork) -> Metrics:
        return compute_metrics(Ranker(network, data.anchors).true_ranks(data.validation))

    validation = validate if len(data.validation) else None
    gpus = [vectors.device] if vectors.device.type == "cuda" else []
    with torch.random.fork_rng(devices=gpus):
        torch.manual_seed(seed)
        history = train(network, vectors, sampler, validation, config, log, checkpoint)
    release_memory()
    return history


def fit_tower(
    prepared: PreparedTaxonomy,
    embedder: Embedder,
    seed: int,
    progress: bool = False,
    checkpoint: Checkpoint | None = None,
    learns: bool = True,
) -> tuple[TextTower, History | None] | None:
    """Return the tower, if the encoder has a sentence model, and the history of its tuning.

    If it `learns`, its layers are fine-tuned and its maps are learned, as the settings say.
    """
    part = embedder.encoder.part_with_model() if embedder.config.learn_fusion else None
    if part is None:
        return None
    composes = embedder.config.compose_anchors
    tower = embedder.tower or TextTower(part, embedder.device, composes=composes)
    history = None
    if embedder.tunes_encoder and not learns:
        part.unload()  # with the states that were kept for the fine-tuning
    if learns and embedder.config.tower_epochs:
        tuned, history = _fine_tune(prepared, embedder, tower, seed, progress, checkpoint)
        tower = TextTower(part, embedder.device, tuned, known=KnownVectors())
    if learns and embedder.config.map_epochs:
        tower = replace(tower, maps=None)
        tower = replace(tower, maps=_learn_maps(prepared, embedder, tower, seed, progress))
    return tower, history


def _fine_tune(
    prepared: PreparedTaxonomy,
    embedder: Embedder,
    tower: TextTower,
    seed: int,
    progress: bool,
    checkpoint: Checkpoint | None,
) -> tuple[SentenceModel, History]:
    """Fine-tune the tower's sentence model on the remaining taxonomy."""
    remaining = prepared.holdout.taxonomy
    changes = prepared.data.changes
    names = tower.encoder.encode([query_text(concept) for concept in remaining.concepts])
    similar = similar_concepts(torch.from_numpy(names).to(embedder.device), seed)
    model = tower.encoder.copy_model()
    if tower.tuned is not None:
        model.load_state_dict(tower.tuned.state_dict())
    model.to(embedder.device)
    embedder.encoder.unload()  # the fine-tuning needs the most memory
    gc.collect()  # models have reference cycles
    history = train_tower(
        model, remaining, similar, embedder.config, seed, progress, checkpoint, changes
    )
    gc.collect()  # so have optimizers
    release_memory()
    round_tuned_weights(model)
    return model, history


def _learn_maps(
    prepared: PreparedTaxonomy, embedder: Embedder, tower: TextTower, seed: int, progress: bool
) -> TextMaps | None:
    """Learn the maps of the tower's vectors on the remaining taxonomy."""
    holdout = prepared.holdout
    remaining = holdout.taxonomy
    held_out = holdout.concepts
    parents = holdout.parents
    texts = [[query_text(concept) for concept in each] for each in (remaining.concepts, held_out)]
    with Progress("tower", None, "texts", shown=False, collects=True):
        described, anchor_vectors = tower.describe_anchors(remaining.without_deprecated_relations)
        vectors = [tower.encode(each) for each in texts]
    start = TextMaps.unchanged(
        vocabulary_of([*texts[0], *described]), tower.dimension, tower.device
    )
    queries, new = (EncodedTexts.of(*each, start.rows) for each in zip(texts, vectors, strict=True))
    anchors = EncodedTexts.of(described, anchor_vectors, start.rows)

    def validate(maps: TextMaps) -> Metrics:
        mapped = maps.map_queries(new)
        among = maps.map_anchors(anchors)
        ranks: list[NDArray[np.floating]] = []
        for start in range(0, len(mapped), VALIDATION_BLOCK):
            block = slice(start, start + VALIDATION_BLOCK)
            ranks += rank_true_parents(among @ mapped[block].T, parents[block])
        return compute_metrics(ranks)

    validation = validate if held_out else None
    changes = prepared.data.changes
    return learn_maps(
        queries, anchors, start, remaining, embedder.config, seed, validation, progress, changes
    )


@dataclass(frozen=True)
class FittingOutputs:
    """The destinations of progress reports, logs and checkpoints of a fitting."""

    progress: bool = False
    log: Path | None = None
    checkpoint: Path | None = None
    tensorboard: Path | None = None


@dataclass(frozen=True)
class FittedParts:
    """Everything that a fitting has learned, with keys [N, k]; unused parts are None."""

    network: MatchingNetwork
    history: History
    tower: TextTower | None
    tower_history: History | None
    calibrators: Calibrators
    validation: Metrics | None
    keys: Tensor
    texts: AnchorTexts | None


def fit_parts(
    prepared: PreparedTaxonomy, embedder: Embedder, seed: int, outputs: FittingOutputs
) -> FittedParts:
    """Fit all parts of a model; if Ctrl-C ends the training, do not fine-tune the encoder."""
    if prepared.start is None:
        network = make_network(embedder.config, embedder.encoder.dimension)
    else:
        network = copy.deepcopy(prepared.start.network)
    writer = TensorBoardWriter(outputs.tensorboard) if outputs.tensorboard else None
    with closing(TrainingLog(outputs.progress, outputs.log, writer)) as log:
        kept = _checkpoint(outputs.checkpoint, prepared, embedder, seed)
        history = train_network(network, prepared.data, embedder.config, seed, log, kept)
    history.skipped_fine_tuning = history.interrupted and embedder.tunes_encoder
    kept = None if kept is None else kept.of_tower()
    learns = not history.interrupted
    fitted = fit_tower(prepared, embedder, seed, outputs.progress, kept, learns)
    tower, tower_history = fitted or (None, None)
    embedder = replace(embedder, tower=tower)
    stage = Progress("calibration", 2, "steps", shown=False)
    calibrators, metrics = learn_calibrators(prepared, network, embedder, seed)
    if outputs.progress and metrics is not None:
        write_line(f"all signals together: {describe_metrics(metrics)}")
    stage.update()
    release_memory()
    taxonomy = prepared.taxonomy
    vectors = prepared.vectors()
    keys = Anchors(taxonomy, vectors, embedder.config.max_siblings).encode(network)
    texts = AnchorTexts.of(taxonomy, tower) if calibrators.fusion else None
    tower = None if tower is None else tower.without_known_texts()
    return FittedParts(network, history, tower, tower_history, calibrators, metrics, keys, texts)


def _checkpoint(
    path: Path | None, prepared: PreparedTaxonomy, embedder: Embedder, seed: int
) -> Checkpoint | None:
    """Return the usable checkpoint of this training; `epochs` and `patience` may change."""
    if path is None:
        return None
    settings = embedder.config.model_copy(update={"epochs": 1, "patience": 1}).model_dump()
    held_out = [concept.id for concept in prepared.holdout.concepts]
    digest = taxonomy_digest(prepared.taxonomy)
    fingerprint = embedder.encoder.fingerprint()
    checkpoint = Checkpoint(path, identity_of(digest, settings, seed, held_out, fingerprint))
    checkpoint.check()
    if embedder.tunes_encoder:
        checkpoint.of_tower().check()
    else:
        checkpoint.of_tower().refuse_unused()
    return checkpoint
