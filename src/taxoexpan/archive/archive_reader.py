"""Reading a model directory; one that is damaged, foreign or inconsistent is an error."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from taxoexpan.archive.archive import Archive
from taxoexpan.archive.json_parts import (
    Configuration,
    Continuation,
    read_calibrators,
    read_configuration,
    read_continuation,
)
from taxoexpan.archive.part_checks import check_anchors, check_identity, check_tower, empty_network
from taxoexpan.config import Config
from taxoexpan.errors import ModelError, TaxoExpanError
from taxoexpan.features.encoder import Encoder
from taxoexpan.features.encoder_registry import make_encoder, transformer_of
from taxoexpan.features.stored_words import check_words, words_from_arrays
from taxoexpan.files.inputs import reason_of
from taxoexpan.model_directory import (
    ANCHORS,
    FEATURES,
    TAXONOMY,
    TOWER,
    WEIGHTS,
    WORDS,
    IntactDirectory,
    read_intact,
)
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.text_tower import TextTower
from taxoexpan.placement.fitting.taxonomy_growth import TaxonomyGrowth
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.placement.scoring.pair_features import AnchorTexts, Signal
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.storage import check_taxonomy_arrays, taxonomy_from_arrays
from taxoexpan.training.training_record import TrainingRecord


@dataclass(frozen=True)
class ModelSummary:
    """What a model directory says about itself, without its network and its encoder."""

    directory: IntactDirectory
    configuration: Configuration
    taxonomy: Taxonomy
    calibrators: Calibrators
    continuation: Continuation

    @property
    def config(self) -> Config:
        """The settings."""
        return self.configuration.settings

    @property
    def training(self) -> TrainingRecord:
        """The record of the training."""
        return self.configuration.training

    @property
    def fine_tuned(self) -> bool:
        """Whether the model has a fine-tuned encoder."""
        return self.directory.has(TOWER)

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The signals that the fusion weighs, or only the network in a model without the fusion."""
        fusion = self.calibrators.fusion
        return (Signal.NETWORK,) if fusion is None else fusion.signals

    @property
    def growth(self) -> TaxonomyGrowth:
        """How the taxonomy differs from that of the training."""
        return self.continuation.growth


def load_summary(path: Path) -> ModelSummary:
    """Describe a model directory without its encoder; a damaged one is an error."""
    directory = read_intact(path)
    with _consistent_parts(path):
        check_identity(directory)
        taxonomy, continuation = _read_taxonomy(path), read_continuation(directory)
        if any(id not in taxonomy for id in continuation.growth.added):
            raise ValueError("the taxonomy lacks a concept that was added to it")
        return ModelSummary(
            directory,
            read_configuration(directory),
            taxonomy,
            read_calibrators(directory),
            continuation,
        )


def load_archive(
    path: Path,
    features: str | None = None,
    device: str = "auto",
    summary: ModelSummary | None = None,
) -> Archive:
    """Read a model directory; a damaged or foreign one is an error that says what is wrong.

    The taxonomy, its words, vectors and keys are memory-mapped: they are read when they are used.
    `features` gives the new location of the model's vectors, if they have moved since the training.
    `device` is where the encoder computes, if it does. A `summary` that was loaded before saves
    checking the files again.
    """
    about = summary or load_summary(path)
    config, training = about.config, about.training
    features = features or config.features
    encoder = _encoder_of(path, features, config.oov, device)
    _refuse_other_vectors(path, features, training.encoder, encoder.fingerprint())
    with _consistent_parts(path):
        network = _read_network(about)
        tower = _read_tower(path, encoder) if about.fine_tuned else None
        anchors = load_file(path / ANCHORS)
        check_anchors(about.directory, anchors, len(about.taxonomy), network, encoder, tower)
        return Archive(
            config,
            about.configuration.preset,
            about.configuration.seed,
            about.taxonomy,
            encoder,
            network,
            ConceptVectors(anchors["names"], anchors["heads"], anchors["head_of"]),
            anchors["keys"],
            training,
            about.calibrators,
            tower,
            _read_texts(about, anchors) if about.calibrators.fusion is not None else None,
            about.continuation.held_out,
            about.continuation.rejections,
            about.continuation.growth,
            path,
        )


def _read_taxonomy(path: Path) -> Taxonomy:
    # The check has a mapping of its own, so that the pages that it reads are released.
    check_taxonomy_arrays(_read_arrays(path / TAXONOMY))
    return taxonomy_from_arrays(_read_arrays(path / TAXONOMY))


def _read_network(about: ModelSummary) -> MatchingNetwork:
    stored = about.directory.tensor_files[WEIGHTS].tensors
    network = empty_network(about.config, about.configuration.dimension, stored)
    network.load_state_dict(load_file(about.directory.path / WEIGHTS))
    network.eval()
    return network


def _read_tower(path: Path, encoder: Encoder) -> TextTower:
    """Read the fine-tuned weights into a copy of the encoder's sentence transformer."""
    transformer = transformer_of(encoder)
    if transformer is None:
        raise ModelError("there is a fine-tuned encoder, but the features have no transformer")
    tower = TextTower(transformer.copy_model())
    weights = load_file(path / TOWER)
    check_tower(tower, weights)
    tower.load_state_dict(weights)
    tower.eval()
    if not tower.encode(["a", "a word"]).isfinite().all():
        raise ValueError(f"{TOWER} gives vectors with NaN or infinity")
    return tower


def _read_texts(about: ModelSummary, anchors: dict[str, Tensor]) -> AnchorTexts:
    """Read the words of the labels, and take the tower's vectors from the anchors."""
    if not about.directory.has(WORDS):
        raise ModelError(f"the fusion needs {WORDS}")
    file = about.directory.path / WORDS
    tensors = about.directory.tensor_files[WORDS].tensors
    check_words(tensors, _read_arrays(file), len(about.taxonomy))
    words = words_from_arrays(_read_arrays(file))
    return AnchorTexts(words, anchors.get("as_anchors"), anchors.get("as_queries"))


def _encoder_of(path: Path, features: str, oov: str, device: str) -> Encoder:
    try:
        return make_encoder(features, oov, device, path / FEATURES)
    except TaxoExpanError as error:
        message = f"{path}: the model needs the vectors of {features!r}: {error}"
        fix = "if they have moved, say where they are"
        raise ModelError(f"{message}; {fix}", "features") from None


def _refuse_other_vectors(path: Path, features: str, known: str, found: str) -> None:
    """Refuse vectors that the network was not trained with; its scores would be meaningless."""
    if known != found:
        raise ModelError(
            f"{path}: the vectors of {features!r} are not those of the training ({known} then, "
            f"{found} now); restore the old ones, or train again"
        )


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Map a file of arrays into memory."""
    return {name: tensor.numpy() for name, tensor in load_file(path).items()}


@contextmanager
def _consistent_parts(path: Path) -> Iterator[None]:
    """Refuse parts that are intact but do not belong to the same model."""
    try:
        yield
    except (
        LookupError,
        TypeError,
        ValueError,
        RuntimeError,
        ArithmeticError,
        AttributeError,
        MemoryError,
        OSError,
        SafetensorError,
        TaxoExpanError,
    ) as error:
        reason = reason_of(error)
        message = f"{path}: the parts of the model do not fit together ({reason}); train again"
        raise ModelError(message) from None
