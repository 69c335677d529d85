"""A model on disk: a directory of JSON, safetensors and a model card; never a pickle."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from taxoexpan.config import Config, configure
from taxoexpan.errors import ModelError, TaxoExpanError
from taxoexpan.features.encoder import Encoder
from taxoexpan.features.encoder_registry import make_encoder, transformer_of
from taxoexpan.features.label_words import LabelWords
from taxoexpan.files import whole_directory
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.text_tower import TextTower
from taxoexpan.placement.calibrators import Calibrators
from taxoexpan.placement.missing_confidence import MissingConfidence
from taxoexpan.placement.pair_features import AnchorTexts, Signal
from taxoexpan.placement.ranking import Anchors, Ranker
from taxoexpan.placement.rejections import NO_REJECTIONS, Rejections
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.stored_columns import taxonomy_columns, taxonomy_from_columns
from taxoexpan.training.training_record import TrainingRecord

KIND, VERSION = "taxoexpan-model", 8
CONFIG, WEIGHTS, TOWER, ANCHORS, TAXONOMY, FEATURES, CALIBRATION, CONTINUATION = (
    "config.json",
    "weights.safetensors",
    "tower.safetensors",
    "anchors.safetensors",
    "taxonomy/taxonomy.json",
    "features",
    "calibration.json",
    "continuation.json",
)
OWN = (
    CONFIG,
    WEIGHTS,
    TOWER,
    ANCHORS,
    "taxonomy",
    FEATURES,
    CALIBRATION,
    CONTINUATION,
    "README.md",
)
"""The contents of a model directory; a directory with other files is never replaced."""
CHECKED = (WEIGHTS, ANCHORS, TAXONOMY, CALIBRATION)
"""The files with a checksum that every model has."""
OPTIONAL = (TOWER, CONTINUATION)
"""The files with a checksum that a model may lack; older versions wrote no continuation."""


@dataclass(frozen=True)
class Archive:
    """All parts of a trained model; `vectors` [2, N, D1] and `keys` [N, k] are the concepts'.

    `tower` is the fine-tuned encoder, and `texts` are what the fusion compares; both are None in a
    model without them. `held_out` are the ids of the held-out concepts, or None in a model that an
    older version has written, and `rejections` what must not be proposed again.
    """

    config: Config
    preset: str
    seed: int
    taxonomy: Taxonomy
    encoder: Encoder
    network: MatchingNetwork
    vectors: Tensor
    keys: Tensor
    training: TrainingRecord
    calibrators: Calibrators
    tower: TextTower | None = None
    texts: AnchorTexts | None = None
    held_out: tuple[str, ...] | None = None
    rejections: Rejections = NO_REJECTIONS

    def ranker(self, device: torch.device) -> Ranker:
        """Return the ranker of all concepts of the taxonomy."""
        vectors = ConceptVectors.of(self.vectors.to(device))
        texts = None if self.texts is None else self.texts.to(device)
        anchors = Anchors(self.taxonomy, vectors, self.config.max_siblings, texts=texts)
        network, keys = self.network.to(device), self.keys.to(device)
        bonus, fusion = self.calibrators.leaf_bonus, self.calibrators.fusion
        return Ranker(network, anchors, keys, bonus, fusion)


def save_archive(archive: Archive, path: Path, force: bool = False) -> None:
    """Write a model directory, whole or not at all."""
    with whole_directory(path, OWN, force) as directory:
        (directory / TAXONOMY).parent.mkdir()
        _write_json(directory / TAXONOMY, taxonomy_columns(archive.taxonomy))
        _save_tensors(archive.network.state_dict(), directory / WEIGHTS)
        _save_tensors(_anchor_tensors(archive), directory / ANCHORS)
        checked = [*CHECKED]
        if archive.tower is not None:
            _save_tensors(archive.tower.state_dict(), directory / TOWER)
            checked.append(TOWER)
        if archive.held_out is not None:
            _write_json(directory / CONTINUATION, _continuation(archive))
            checked.append(CONTINUATION)
        archive.encoder.save(directory / FEATURES)
        _write_json(directory / CALIBRATION, archive.calibrators.as_dict())
        (directory / "README.md").write_text(_card(archive), encoding="utf-8")
        manifest = {
            "kind": KIND,
            "version": VERSION,
            "preset": archive.preset,
            "seed": archive.seed,
            "dimension": archive.vectors.shape[2],
            "settings": archive.config.model_dump(),
            "training": archive.training.as_dict(),
            "sha256": {part: _digest(directory / part) for part in checked},
        }
        _write_json(directory / CONFIG, manifest)


def load_archive(path: Path, features: str | None = None, device: str = "auto") -> Archive:
    """Read a model directory; a damaged or foreign one is an error that says what is wrong.

    `features` gives the new location of the model's vectors, if they have moved since the training.
    `device` is where the encoder computes, if it does.
    """
    manifest = _read_intact_manifest(path)
    with _consistent_parts(path):
        config = configure(manifest["settings"])
        training = TrainingRecord.from_dict(manifest["training"])
    features = features or config.features
    encoder = _encoder_of(path, features, config.oov, device)
    _refuse_other_vectors(path, features, training.encoder, encoder.fingerprint())
    with _consistent_parts(path):
        network = MatchingNetwork(config, manifest["dimension"])
        network.load_state_dict(load_file(path / WEIGHTS))
        network.eval()
        anchors, taxonomy = load_file(path / ANCHORS), _read_taxonomy(path)
        learned = _read_calibrators(path)
        tower = _read_tower(path, encoder) if TOWER in manifest["sha256"] else None
        vectors = anchors.get("as_anchors"), anchors.get("as_queries")
        if tower is None and vectors != (None, None):
            raise ModelError(f"{TOWER} is not listed in {CONFIG}, but the anchors need it")
        words = LabelWords.from_taxonomy(taxonomy) if learned.fusion else None
        texts = None if words is None else AnchorTexts(words, *vectors)
        held_out, rejections = _read_continuation(path, manifest)
        return Archive(
            config,
            manifest["preset"],
            manifest["seed"],
            taxonomy,
            encoder,
            network,
            anchors["vectors"],
            anchors["keys"],
            training,
            learned,
            tower,
            texts,
            held_out,
            rejections,
        )


def _continuation(archive: Archive) -> dict[str, Any]:
    """Return what a training that continues from this model must know."""
    return {"held_out": archive.held_out, "rejections": archive.rejections.as_dict()}


def _read_continuation(
    path: Path, manifest: dict[str, Any]
) -> tuple[tuple[str, ...] | None, Rejections]:
    if CONTINUATION not in manifest["sha256"]:
        return None, NO_REJECTIONS
    content = json.loads((path / CONTINUATION).read_text(encoding="utf-8"))
    return tuple(content["held_out"]), Rejections.from_dict(content["rejections"])


def _anchor_tensors(archive: Archive) -> dict[str, Tensor]:
    tensors = {"vectors": archive.vectors, "keys": archive.keys}
    texts = archive.texts
    if texts is not None and texts.as_anchors is not None and texts.as_queries is not None:
        tensors |= {"as_anchors": texts.as_anchors, "as_queries": texts.as_queries}
    return tensors


def _read_tower(path: Path, encoder: Encoder) -> TextTower:
    """Read the fine-tuned weights into a copy of the encoder's sentence transformer."""
    transformer = transformer_of(encoder)
    if transformer is None:
        raise ModelError("there is a fine-tuned encoder, but the features have no transformer")
    tower = TextTower(transformer.copy_model())
    try:
        tower.load_state_dict(load_file(path / TOWER))
    except RuntimeError:  # its message has one line per weight
        raise ModelError(f"{TOWER} has the weights of another transformer") from None
    tower.eval()
    return tower


@dataclass(frozen=True)
class ModelSummary:
    """What a model directory says about itself.

    `signals` are those that the fusion weighs, or only the network in a model without the fusion.
    """

    taxonomy: Taxonomy
    config: Config
    calibrators: Calibrators
    training: TrainingRecord
    fine_tuned: bool
    signals: tuple[Signal, ...]


def load_summary(path: Path) -> ModelSummary:
    """Describe a model directory without its encoder; a damaged one is an error."""
    manifest = _read_intact_manifest(path)
    with _consistent_parts(path):
        calibrators = _read_calibrators(path)
        fusion = calibrators.fusion
        return ModelSummary(
            _read_taxonomy(path),
            configure(manifest["settings"]),
            calibrators,
            TrainingRecord.from_dict(manifest["training"]),
            TOWER in manifest["sha256"],
            (Signal.NETWORK,) if fusion is None else fusion.signals,
        )


def _encoder_of(path: Path, features: str, oov: str, device: str) -> Encoder:
    try:
        return make_encoder(features, oov, device, path / FEATURES)
    except TaxoExpanError as error:
        message = f"{path}: the model needs the vectors of {features!r}: {error}"
        fix = "if they have moved, give features"
        raise ModelError(f"{message}; {fix}").naming("features") from None


def _read_taxonomy(path: Path) -> Taxonomy:
    return taxonomy_from_columns(json.loads((path / TAXONOMY).read_text(encoding="utf-8")))


def _read_calibrators(path: Path) -> Calibrators:
    return Calibrators.from_dict(json.loads((path / CALIBRATION).read_text(encoding="utf-8")))


def _read_intact_manifest(path: Path) -> dict[str, Any]:
    """Read the manifest, and refuse a directory with a missing or damaged part."""
    manifest = _read_manifest(path)
    for part in manifest["sha256"]:
        _refuse_damage(path, part, manifest)
    return manifest


def _refuse_damage(path: Path, part: str, manifest: dict[str, Any]) -> None:
    if not (path / part).is_file():
        raise ModelError(f"{path}: {part} is missing; train again, or restore the directory")
    if _digest(path / part) != manifest["sha256"][part]:
        raise ModelError(f"{path}: {part} is damaged; train again, or restore the directory")


@contextmanager
def _consistent_parts(path: Path) -> Iterator[None]:
    """Refuse parts that are intact but do not belong to the same model."""
    try:
        yield
    except (
        KeyError,
        TypeError,
        ValueError,
        RuntimeError,
        SafetensorError,
        TaxoExpanError,
    ) as error:
        message = f"{path}: the parts of the model do not fit together ({error}); train again"
        raise ModelError(message) from None


def _refuse_other_vectors(path: Path, features: str, known: str, found: str) -> None:
    """Refuse vectors that the network was not trained with; its scores would be meaningless."""
    if known != found:
        raise ModelError(
            f"{path}: the vectors of {features!r} are not those of the training ({known} then, "
            f"{found} now); restore the old ones, or train again"
        )


def is_archive(path: Path) -> bool:
    """Return whether a path looks like a model directory."""
    return (path / CONFIG).is_file()


def _read_manifest(path: Path) -> dict[str, Any]:
    if not path.is_dir():
        raise ModelError(f"{path}: no such model directory; create one with taxoexpan train")
    try:
        config = json.loads((path / CONFIG).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{path}: no {CONFIG}; this is not a taxoexpan model") from None
    except (ValueError, OSError) as error:
        raise ModelError(f"{path}: {CONFIG} cannot be read ({error}); train again") from None
    if not isinstance(config, dict) or config.get("kind") != KIND:
        raise ModelError(f"{path}: {CONFIG} does not belong to a taxoexpan model")
    if config.get("version") != VERSION:
        raise ModelError(
            f"{path}: the model has format version {config.get('version')}, but this taxoexpan "
            f"reads version {VERSION}; train again, or use the taxoexpan that wrote it"
        )
    if not isinstance(config.get("sha256"), dict) or {*config["sha256"]} - {*OPTIONAL} != {
        *CHECKED
    }:
        raise ModelError(f"{path}: {CONFIG} is damaged; train again, or restore the directory")
    return config


def _save_tensors(tensors: dict[str, Tensor], path: Path) -> None:
    save_file({name: tensor.cpu().contiguous() for name, tensor in tensors.items()}, path)


def _write_json(path: Path, content: dict[str, Any]) -> None:
    indent = 2 if path.name == CONFIG else None
    path.write_text(
        json.dumps(content, ensure_ascii=False, indent=indent, allow_nan=False) + "\n",
        encoding="utf-8",
    )


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _missing_confidence(archive: Archive) -> str:
    """Say that there is no confidence and, if it is known, why."""
    missing = MissingConfidence.find(archive.taxonomy, archive.config)
    reason = f": {missing.sentence()}" if missing else ""
    return f"There is no confidence{reason}."


def _card(archive: Archive) -> str:
    """Write the model card."""
    record, calibration = archive.training, archive.calibrators.calibration
    v = record.validation
    validation = (
        f"On {v.queries:.0f} held-out leaves: mean rank {v.mr:.1f}, "
        f"Hit@1 {v.hit_at_1:.3f}, Hit@3 {v.hit_at_3:.3f}, "
        f"scaled MRR {v.mrr:.3f} (network: epoch {record.best_epoch} of {record.epochs})."
        if v
        else "The taxonomy is too small to hold out leaves, so the model was not validated."
    )
    confidence = (
        f"Confidence: expected calibration error {calibration.reliability.error:.3f}, on "
        f"{len(calibration.reliability.right):,} leaves that it was not fitted to."
        if calibration
        else _missing_confidence(archive)
    )
    is_tuned = archive.tower is not None and record.tower_epochs != 0
    tuned = ", fine-tuned on the taxonomy" if is_tuned else ""
    if record.interrupted:
        tuned += ", stopped before the end of the training"
    return f"""# A taxoexpan model

Places new concepts in a taxonomy of {record.concepts:,} concepts and
{record.relations:,} relations (sha256 {record.taxonomy_sha256[:16]}…).

{validation}
{confidence}

Preset `{archive.preset}`, seed {archive.seed}, features `{archive.config.features}`{tuned};
trained in {record.seconds:,} s on {record.machine} with torch {record.versions["torch"]}.

    taxoexpan suggest THIS_DIRECTORY new.csv
"""
