"""The fitting of a model: train the network, fine-tune the encoder, and calibrate both."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.config import Config
from taxoexpan.device import release_memory
from taxoexpan.features.encoder_registry import transformer_of
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.text_tower import TextTower, query_text
from taxoexpan.phrasing import pluralize
from taxoexpan.placement.fitting.calibrator_learning import learn_calibrators
from taxoexpan.placement.fitting.preparation import PreparedTaxonomy, TrainingData
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.placement.scoring.anchors import Anchors, AnchorTexts
from taxoexpan.placement.scoring.embedder import Embedder
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.progress import write_line
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.storage import taxonomy_digest
from taxoexpan.training.checkpoint import Checkpoint, identity_of
from taxoexpan.training.log import SILENT, TensorBoardWriter, TrainingLog, describe_metrics
from taxoexpan.training.loop import train
from taxoexpan.training.metrics import TIES, Metrics, compute_metrics, rank_true_parents
from taxoexpan.training.record import History
from taxoexpan.training.sampling import TrainingSampler
from taxoexpan.training.tower import train_tower


def train_network(
    network: MatchingNetwork,
    data: TrainingData,
    config: Config,
    seed: int,
    log: TrainingLog = SILENT,
    checkpoint: Checkpoint | None = None,
) -> History:
    """Train with this seed, or continue with news; leave the caller's rng unchanged."""
    vectors = data.anchors.vectors
    if data.news is None:
        network.reset(torch.Generator().manual_seed(seed))
    network.to(vectors.device)
    sampler = TrainingSampler(data.anchors.taxonomy, config, seed, data.mentions, data.news)

    def validate(network: MatchingNetwork) -> Metrics:
        return compute_metrics(Ranker(network, data.anchors).true_ranks(data.validation, TIES))

    keep_best = data.news is None or data.news.recipe.keep_best
    validation = validate if len(data.validation) and keep_best else None
    gpus = [vectors.device] if vectors.device.type == "cuda" else []
    with torch.random.fork_rng(devices=gpus):
        torch.manual_seed(seed)
        history = train(network, vectors, sampler, validation, config, log, checkpoint)
    release_memory()
    return history


if TYPE_CHECKING:
    from taxoexpan.features.transformer.transformer_encoder import TransformerEncoder

VALIDATION_BLOCK = 256
"""Held-out concepts that are ranked at a time while the tower is fine-tuned."""


def transformer_to_tune(embedder: Embedder) -> TransformerEncoder | None:
    """Return the sentence transformer to fine-tune by the settings, if there is one."""
    wanted = embedder.config.tower_epochs and embedder.config.learn_fusion
    return transformer_of(embedder.encoder) if wanted else None


def describe_fine_tuning(prepared: PreparedTaxonomy, embedder: Embedder) -> str:
    """Describe what `fine_tune` will do, or return an empty string if it does nothing."""
    epochs = embedder.config.tower_epochs
    if not epochs or _transformer_of(prepared, embedder) is None:
        return ""
    return f"the encoder is fine-tuned ({pluralize(epochs, 'epoch')})"


def _transformer_of(prepared: PreparedTaxonomy, embedder: Embedder) -> TransformerEncoder | None:
    """Return the sentence transformer to fine-tune; continued training decides as before."""
    if prepared.start is None:
        return transformer_to_tune(embedder)
    return None if embedder.tower is None else transformer_of(embedder.encoder)


def fine_tune(
    prepared: PreparedTaxonomy,
    embedder: Embedder,
    seed: int,
    progress: bool = False,
    checkpoint: Checkpoint | None = None,
) -> tuple[TextTower, History] | None:
    """Fine-tune the encoder's sentence transformer, if any, on the remaining taxonomy."""
    transformer = _transformer_of(prepared, embedder)
    if transformer is None:
        return None
    tower, holdout = TextTower(transformer.copy_model()), prepared.holdout
    if embedder.tower is not None:
        tower.load_state_dict(embedder.tower.state_dict())
    tower.to(embedder.device)
    embedder.encoder.unload()  # the fine-tuning needs the most memory
    gc.collect()  # models have reference cycles
    texts, news = [query_text(concept) for concept in holdout.concepts], prepared.data.news

    def validate(tower: TextTower, anchors: Tensor) -> Metrics:
        return _validate(tower, anchors, texts, holdout.parents)

    history = train_tower(
        tower,
        holdout.taxonomy,
        embedder.config,
        seed,
        validate if texts and (news is None or news.recipe.keep_best) else None,
        progress,
        checkpoint,
        news,
    )
    gc.collect()  # so have optimizers
    release_memory()
    return tower, history


def _validate(
    tower: TextTower, anchors: Tensor, texts: Sequence[str], parents: Sequence[Indices]
) -> Metrics:
    """Rank the parents of held-out concepts, given their texts and the anchors' vectors [N, D]."""
    ranks: list[NDArray[np.floating]] = []
    for start in range(0, len(texts), VALIDATION_BLOCK):
        stop = start + VALIDATION_BLOCK
        scores = anchors @ tower.encode(texts[start:stop]).T
        ranks += rank_true_parents(scores, parents[start:stop], TIES)
    return compute_metrics(ranks)


@dataclass(frozen=True)
class FittingOutputs:
    """The destinations of progress reports, logs and checkpoints of a fitting."""

    progress: bool = False
    log: Path | None = None
    checkpoint: Path | None = None
    tensorboard: Path | None = None

    @classmethod
    def of(
        cls,
        progress: bool,
        log: str | Path | None = None,
        checkpoint: str | Path | None = None,
        tensorboard: str | Path | None = None,
    ) -> FittingOutputs:
        """Create the outputs from paths or strings."""
        paths = (log, checkpoint, tensorboard)
        return cls(progress, *(None if path is None else Path(path) for path in paths))


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
    prepared: PreparedTaxonomy,
    embedder: Embedder,
    seed: int,
    outputs: FittingOutputs,
) -> FittedParts:
    """Fit all parts of a model; if Ctrl-C ends the training, do not fine-tune the encoder."""
    network = MatchingNetwork(embedder.config, embedder.encoder.dimension)
    if prepared.start is not None:
        network.load_state_dict(prepared.start.network.state_dict())
    writer = TensorBoardWriter(outputs.tensorboard) if outputs.tensorboard else None
    following = describe_fine_tuning(prepared, embedder)
    with closing(TrainingLog(outputs.progress, outputs.log, writer, following)) as log:
        kept = _checkpoint(outputs.checkpoint, prepared, embedder, seed)
        history = train_network(network, prepared.data, embedder.config, seed, log, kept)
    tuned = None
    history.skipped_fine_tuning = history.interrupted and bool(following)
    if not history.interrupted:
        kept = None if kept is None else kept.of_tower()
        tuned = fine_tune(prepared, embedder, seed, outputs.progress, kept)
    # An interrupted training that continues an earlier one keeps the encoder of that one.
    tower, tower_history = tuned or (embedder.tower, None)
    embedder = replace(embedder, tower=tower)
    calibrators, metrics = learn_calibrators(prepared, network, embedder, seed)
    if outputs.progress and metrics is not None:
        write_line(f"all signals together: {describe_metrics(metrics)}")
    release_memory()
    keys, texts = _encode_anchors(prepared, network, embedder, calibrators)
    return FittedParts(network, history, tower, tower_history, calibrators, metrics, keys, texts)


def _encode_anchors(
    prepared: PreparedTaxonomy,
    network: MatchingNetwork,
    embedder: Embedder,
    calibrators: Calibrators,
) -> tuple[Tensor, AnchorTexts | None]:
    """Return the keys of all concepts as anchors, and their texts if the fusion needs them."""
    taxonomy, vectors = prepared.taxonomy, prepared.vectors()
    keys = Anchors(taxonomy, vectors, embedder.config.max_siblings).encode(network)
    return keys, AnchorTexts.of(taxonomy, embedder.tower) if calibrators.fusion else None


def _checkpoint(
    path: Path | None, prepared: PreparedTaxonomy, embedder: Embedder, seed: int
) -> Checkpoint | None:
    """Return the usable checkpoint of this training; `epochs` and `patience` may change."""
    if path is None:
        return None
    settings = embedder.config.model_copy(update={"epochs": 1, "patience": 1}).model_dump()
    held_out = [concept.id for concept in prepared.holdout.concepts]
    digest, fingerprint = taxonomy_digest(prepared.taxonomy), embedder.encoder.fingerprint()
    checkpoint = Checkpoint(path, identity_of(digest, settings, seed, held_out, fingerprint))
    checkpoint.check()
    if transformer_to_tune(embedder) is None:
        checkpoint.of_tower().refuse_unused()
    else:
        checkpoint.of_tower().check()
    return checkpoint
