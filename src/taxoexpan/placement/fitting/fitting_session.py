"""One fitting of a model: train the network, fine-tune the encoder, and calibrate both."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path

from torch import Tensor

from taxoexpan.device import release_memory
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.text_tower import TextTower
from taxoexpan.placement.fitting.calibrator_learning import learn_calibrators
from taxoexpan.placement.fitting.fine_tuning import (
    describe_fine_tuning,
    fine_tune,
    transformer_to_tune,
)
from taxoexpan.placement.fitting.network_training import train_network
from taxoexpan.placement.fitting.prepared_taxonomy import PreparedTaxonomy
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.placement.scoring.anchors import Anchors, AnchorTexts
from taxoexpan.placement.scoring.embedder import Embedder
from taxoexpan.progress import write_line
from taxoexpan.taxonomy.storage import taxonomy_digest
from taxoexpan.training.checkpoint import Checkpoint, identity_of
from taxoexpan.training.log import TensorBoardWriter, TrainingLog, describe_metrics
from taxoexpan.training.metrics import Metrics
from taxoexpan.training.record import History, TowerHistory


@dataclass(frozen=True)
class FittingOutputs:
    """Where a fitting reports its progress, and where it stores its state after every epoch."""

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
        """Create it from paths or texts."""
        paths = (log, checkpoint, tensorboard)
        return cls(progress, *(None if path is None else Path(path) for path in paths))


@dataclass(frozen=True)
class FittedParts:
    """Everything that a fitting has learned; `keys` [N, k] are those of all concepts.

    `tower` and `tower_history` are None if nothing was fine-tuned, `texts` and `validation`, the
    metrics by all signals together, in a model without the learned fusion.
    """

    network: MatchingNetwork
    history: History
    tower: TextTower | None
    tower_history: TowerHistory | None
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
    """Fit all parts of a model to a prepared taxonomy.

    If Ctrl-C ends the training of the network, the encoder is not fine-tuned.
    """
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
    earlier = None if prepared.start is None else prepared.start.tower
    tower, tower_history = tuned or (earlier, None)
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
    """Return the checkpoint of this training, if its files can be used.

    `epochs` and `patience` may change on resume.
    """
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
