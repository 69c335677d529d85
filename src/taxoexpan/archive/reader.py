"""Reading of a model directory; damaged, foreign or inconsistent parts are refused."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from taxoexpan.archive.archive import Archive
from taxoexpan.archive.parts import Configuration, Continuation, read_calibrators, read_part
from taxoexpan.config import Config
from taxoexpan.device import choose_device
from taxoexpan.errors import MissingPackageError, ModelError, TaxoExpanError
from taxoexpan.features.encoder import Encoder
from taxoexpan.features.encoder_registry import make_encoder
from taxoexpan.features.label_words import check_words, words_from_arrays
from taxoexpan.files.inputs import reason_of
from taxoexpan.model_directory import (
    ANCHORS,
    CONFIG,
    CONTINUATION,
    TAXONOMY,
    TOWER,
    WEIGHTS,
    WORDS,
    IntactDirectory,
    read_intact,
)
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork, make_network
from taxoexpan.network.text_tower import NAMES as MAPS
from taxoexpan.network.text_tower import TUNED, TextTower
from taxoexpan.placement.fitting.updating import TaxonomyGrowth
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.placement.scoring.anchors import AnchorTexts
from taxoexpan.placement.scoring.pair_features import Signal
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.source import UNKNOWN_FILE
from taxoexpan.taxonomy.storage import taxonomy_from_arrays
from taxoexpan.training.record import TrainingRecord

ANCHOR_TENSORS = {
    "names": ("F32", 2),
    "heads": ("F32", 2),
    "head_of": ("I64", 1),
    "keys": ("F32", 2),
    "as_anchors": ("F32", 2),
    "as_queries": ("F32", 2),
}
"""The type and the number of dimensions of each tensor of the anchors."""
OF_TOWER = {"as_anchors", "as_queries"}
UNREADABLE = (LookupError, ValueError, RuntimeError, OSError, SafetensorError, TaxoExpanError)
"""Errors that parts of different models can cause."""


@dataclass(frozen=True)
class ModelSummary:
    """A model directory without its network and its encoder."""

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
    def growth(self) -> TaxonomyGrowth:
        """The changes of the taxonomy since the training."""
        return self.continuation.growth

    @property
    def fine_tuned(self) -> bool:
        """Whether the layers of the model's text encoder were fine-tuned."""
        return any(name.startswith(TUNED) for name in self._of_tower)

    @property
    def mapped(self) -> bool:
        """Whether linear maps adapt the vectors of the model's text encoder."""
        return not self._of_tower.isdisjoint(MAPS)

    @property
    def _of_tower(self) -> set[str]:
        files = self.directory.tensor_files
        return {*files[TOWER].tensors} if TOWER in files else set()

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The signals of the fusion, or only the network in a model without fusion."""
        fusion = self.calibrators.fusion
        return (Signal.NETWORK,) if fusion is None else fusion.signals


def load_summary(path: Path) -> ModelSummary:
    """Read a model directory without its network and encoder; refuse a damaged directory."""
    directory = read_intact(path)
    with _consistent_parts(path):
        for name, file in directory.tensor_files.items():
            is_own = name in (WEIGHTS, TAXONOMY)
            if not is_own and file.metadata.get("model") != directory.identity:
                raise ValueError(f"{name} belongs to another model")
        taxonomy = taxonomy_from_arrays(_read_arrays(path / TAXONOMY))
        continuation = read_part(directory, CONTINUATION, Continuation)
        if continuation.from_file:
            taxonomy = taxonomy.with_source(UNKNOWN_FILE)
        configuration = read_part(directory, CONFIG, Configuration)
        calibrators = read_calibrators(directory)
        return ModelSummary(directory, configuration, taxonomy, calibrators, continuation)


def load_archive(
    path: Path,
    features: str | None = None,
    device: str = "auto",
    summary: ModelSummary | None = None,
) -> Archive:
    """Read a model directory; refuse a damaged or foreign directory with the reason.

    Large arrays are memory-mapped. `features` is the new location of the model's vectors, if they
    have moved. A `summary` from `load_summary` saves checking the files again.
    """
    about = summary or load_summary(path)
    encoder = _read_encoder(about, features or about.config.features, device)
    with _consistent_parts(path):
        network = _read_network(about)
        tower = _read_tower(about, encoder, device)
        anchors = load_file(path / ANCHORS)
        _check_anchors(about, anchors, network, encoder, tower)
        return Archive(
            about.config,
            about.configuration.preset,
            about.configuration.seed,
            about.taxonomy,
            encoder,
            network,
            ConceptVectors(anchors["names"], anchors["heads"], anchors["head_of"]),
            anchors["keys"],
            about.training,
            about.calibrators,
            tower,
            _read_texts(about, anchors) if about.calibrators.fusion is not None else None,
            about.continuation.held_out,
            about.continuation.rejections,
            about.growth,
            path,
        )


def _read_encoder(about: ModelSummary, features: str, device: str) -> Encoder:
    """Create the encoder; refuse vectors that differ from the vectors of the training."""
    path = about.directory.path
    known = about.training.encoder
    try:
        encoder = make_encoder(features, about.config.oov, device)
    except MissingPackageError as error:
        raise ModelError(f"{path}: {error.problem}", fix=error.fix) from None
    except (TaxoExpanError, OSError, ValueError) as error:  # a path may have any characters
        message = f"{path}: the model needs the vectors of {features!r}: {error}"
        fix = "if they have moved, say where they are"
        raise ModelError(message, fix=fix, option="features") from None
    if known != encoder.fingerprint():
        raise ModelError(
            f"{path}: the vectors of {features!r} differ from the training ("
            f"{known[:200]} then, {encoder.fingerprint()} now)",
            fix="restore the old ones, or train again",
        )
    return encoder


def _read_network(about: ModelSummary) -> MatchingNetwork:
    """Read the weights, after their shapes were checked without reserving memory."""
    config = about.config
    dimension = about.configuration.dimension
    stored = about.directory.tensor_files[WEIGHTS].tensors
    with torch.device("meta"):
        expected = make_network(config, dimension).state_dict()
    if stored != {name: ("F32", tuple(tensor.shape)) for name, tensor in expected.items()}:
        raise ValueError(f"{WEIGHTS} has the weights of another network")
    network = make_network(config, dimension)
    network.load_state_dict(load_file(about.directory.path / WEIGHTS))
    return network.eval()


def _read_tower(about: ModelSummary, encoder: Encoder, device: str) -> TextTower | None:
    """Return the tower with what it has learned, if the model has a tower."""
    if not {*about.directory.tensor_files[ANCHORS].tensors} & OF_TOWER:
        return None
    part = encoder.part_with_model()
    if part is None:
        raise ValueError("there is a text tower, but the features have no sentence model")
    composes = about.config.compose_anchors
    tower = TextTower(part, choose_device(device), composes=composes)
    if not about.directory.has(TOWER):
        return tower
    weights = load_file(about.directory.path / TOWER)
    return tower.with_weights(weights, about.config.tuned_layers)


def _read_texts(about: ModelSummary, anchors: Mapping[str, Tensor]) -> AnchorTexts:
    """Read the words of the labels, and take the tower's vectors from the anchors."""
    file = about.directory.path / WORDS
    # The check has a mapping of its own, so that the pages that it reads are released.
    check_words(_read_arrays(file), len(about.taxonomy))
    words = words_from_arrays(_read_arrays(file))
    has_tower = "as_anchors" in anchors
    return AnchorTexts(words, (anchors["as_anchors"], anchors["as_queries"]) if has_tower else None)


def _check_anchors(
    about: ModelSummary,
    anchors: Mapping[str, Tensor],
    network: MatchingNetwork,
    encoder: Encoder,
    tower: TextTower | None,
) -> None:
    """Refuse anchors of another taxonomy, network or encoder."""
    stored = about.directory.tensor_files[ANCHORS].tensors
    if {*stored} not in ({*ANCHOR_TENSORS} - OF_TOWER, {*ANCHOR_TENSORS}):
        raise ValueError(f"{ANCHORS} has other tensors")
    heads = len(anchors["heads"])
    widths = {"names": encoder.dimension, "heads": encoder.dimension}
    if tower is not None:
        widths |= dict.fromkeys(OF_TOWER, tower.dimension)
    for name, (dtype, shape) in stored.items():
        rows = heads if name == "heads" else len(about.taxonomy)
        is_valid = (dtype, len(shape)) == ANCHOR_TENSORS[name] and shape[0] == rows
        if not is_valid or widths.get(name, shape[-1]) != shape[-1]:
            raise ValueError(f"{ANCHORS} has {name} of the wrong type or shape")
    keys = anchors["keys"][:1]
    query = anchors["names"][:1]
    with torch.no_grad():  # keys of another width cannot be matched with a query
        network.match.score_all(keys, network.project_queries(query, keys))


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Map a file of arrays into memory."""
    return {name: tensor.numpy() for name, tensor in load_file(path).items()}


@contextmanager
def _consistent_parts(path: Path) -> Iterator[None]:
    """Refuse parts that are intact but do not belong to the same model."""
    try:
        yield
    except UNREADABLE as error:
        reason = reason_of(error)
        message = f"{path}: the parts of the model do not fit together ({reason})"
        raise ModelError(message, fix="train again") from None
