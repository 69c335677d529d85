"""A model on disk: a directory of JSON, safetensors and a model card; never a pickle."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from taxoexpan.config import Config, configure
from taxoexpan.errors import ModelError, TaxoExpanError
from taxoexpan.features.encoder import Encoder
from taxoexpan.features.encoder_registry import make_encoder, transformer_of
from taxoexpan.features.label_words import LabelWords
from taxoexpan.files import whole_directory
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.text_tower import TextTower
from taxoexpan.placement.calibrators import Calibrators
from taxoexpan.placement.pair_features import AnchorTexts
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.training.history import History
from taxoexpan.training.metrics import Metrics

KIND, VERSION = "taxoexpan-model", 8
CONFIG, WEIGHTS, TOWER, ANCHORS, TAXONOMY, FEATURES, CALIBRATION = (
    "config.json",
    "weights.safetensors",
    "tower.safetensors",
    "anchors.safetensors",
    "taxonomy/taxonomy.json",
    "features",
    "calibration.json",
)
OWN = (CONFIG, WEIGHTS, TOWER, ANCHORS, "taxonomy", FEATURES, CALIBRATION, "README.md")
"""The contents of a model directory; a directory with other files is never replaced."""
CHECKED = (WEIGHTS, ANCHORS, TAXONOMY, CALIBRATION)
"""The files with a checksum."""


@dataclass(frozen=True)
class TrainingRecord:
    """How a model was trained: sizes, figures, versions and machine.

    The epochs and the loss are those of the network. `validation` is by all signals together, or of
    the network's best epoch in a model without the learned fusion.
    """

    concepts: int
    relations: int
    taxonomy_sha256: str
    encoder: str
    epochs: int
    best_epoch: int
    interrupted: bool
    loss: float
    validation: Metrics | None
    seconds: float
    versions: dict[str, str]
    python: str
    machine: str

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON stores them."""
        return asdict(self)

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> TrainingRecord:
        """Restore a record from the fields of `as_dict`."""
        validation = fields["validation"]
        return cls(**{**fields, "validation": validation and Metrics(**validation)})


@dataclass(frozen=True)
class Archive:
    """All parts of a trained model; `vectors` [2, N, D1] and `keys` [N, k] are the concepts'.

    `tower` is the fine-tuned encoder, and `texts` are what the fusion compares; both are None in a
    model without them.
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


def save_archive(archive: Archive, path: Path, force: bool = False) -> None:
    """Write a model directory, whole or not at all."""
    with whole_directory(path, OWN, force) as directory:
        (directory / TAXONOMY).parent.mkdir()
        _write_json(directory / TAXONOMY, _taxonomy_columns(archive.taxonomy))
        _save_tensors(archive.network.state_dict(), directory / WEIGHTS)
        _save_tensors(_anchor_tensors(archive), directory / ANCHORS)
        checked = [*CHECKED]
        if archive.tower is not None:
            _save_tensors(archive.tower.state_dict(), directory / TOWER)
            checked.append(TOWER)
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
    manifest = _read_manifest(path)
    for part in manifest["sha256"]:
        _refuse_damage(path, part, manifest)
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
        calibrators = json.loads((path / CALIBRATION).read_text(encoding="utf-8"))
        learned = Calibrators.from_dict(calibrators)
        tower = _read_tower(path, encoder) if TOWER in manifest["sha256"] else None
        vectors = anchors.get("as_anchors"), anchors.get("as_queries")
        if tower is None and vectors != (None, None):
            raise ModelError(f"{TOWER} is not listed in {CONFIG}, but the anchors need it")
        words = LabelWords.from_taxonomy(taxonomy) if learned.fusion else None
        texts = None if words is None else AnchorTexts(words, *vectors)
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
        )


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


def load_summary(path: Path) -> tuple[Taxonomy, TrainingRecord]:
    """Read the taxonomy of a model directory and its training record, without the vectors."""
    manifest = _read_manifest(path)
    _refuse_damage(path, TAXONOMY, manifest)
    with _consistent_parts(path):
        return _read_taxonomy(path), TrainingRecord.from_dict(manifest["training"])


def _encoder_of(path: Path, features: str, oov: str, device: str) -> Encoder:
    try:
        return make_encoder(features, oov, device, path / FEATURES)
    except TaxoExpanError as error:
        message = f"{path}: the model needs the vectors of {features!r}: {error}"
        raise ModelError(f"{message}; if they have moved, give --features") from None


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


def training_record(
    taxonomy: Taxonomy, encoder: Encoder, history: History, seconds: float
) -> TrainingRecord:
    """Record how a model was trained, with the figures of its best epoch."""
    best = history.best_epoch
    return TrainingRecord(
        concepts=len(taxonomy),
        relations=len(taxonomy.relations),
        taxonomy_sha256=taxonomy_digest(taxonomy),
        encoder=encoder.fingerprint(),
        epochs=len(history.epochs),
        best_epoch=best.number,
        interrupted=history.interrupted,
        loss=best.loss,
        validation=best.validation,
        seconds=round(seconds, 1),
        versions={name: version(name) for name in ("taxoexpan", "torch", "numpy", "wordllama")},
        python=platform.python_version(),
        machine=platform.machine(),
    )


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
    if not isinstance(config.get("sha256"), dict) or {*config["sha256"]} - {TOWER} != {*CHECKED}:
        raise ModelError(f"{path}: {CONFIG} is damaged; train again, or restore the directory")
    return config


def _taxonomy_columns(taxonomy: Taxonomy) -> dict[str, Any]:
    parents, children = taxonomy.relation_indices
    return {
        "ids": taxonomy.ids,
        "labels": taxonomy.labels,
        "synonyms": {str(index): names for index, names in taxonomy.synonyms.items()},
        "definitions": {str(index): text for index, text in taxonomy.definitions.items()},
        "deprecated": sorted(taxonomy.deprecated),
        "foreign_names": {str(index): names for index, names in taxonomy.foreign_names.items()},
        "reserved": sorted(taxonomy.reserved),
        "parents": parents.tolist(),
        "children": children.tolist(),
    }


def _read_taxonomy(path: Path) -> Taxonomy:
    columns = json.loads((path / TAXONOMY).read_text(encoding="utf-8"))
    return Taxonomy.from_columns(
        columns["ids"],
        columns["labels"],
        np.array(columns["parents"], dtype=np.int64),
        np.array(columns["children"], dtype=np.int64),
        {int(index): tuple(names) for index, names in columns["synonyms"].items()},
        {int(index): text for index, text in columns["definitions"].items()},
        columns["deprecated"],
        {int(index): tuple(names) for index, names in columns["foreign_names"].items()},
        columns["reserved"],
    )


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


def taxonomy_digest(taxonomy: Taxonomy) -> str:
    """Return a digest that identifies a taxonomy."""
    content = json.dumps(_taxonomy_columns(taxonomy), ensure_ascii=False)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


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
        f"Confidence: expected calibration error {calibration.reliability.error:.3f}, on leaves "
        "that it was not fitted to."
        if calibration
        else "There were too few leaves to learn a confidence."
    )
    tuned = ", fine-tuned on the taxonomy" if archive.tower is not None else ""
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
