"""A model as a directory: JSON, safetensors and a card to read; never a pickle."""

from __future__ import annotations

import hashlib
import json
import platform
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
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
from taxoexpan.features.encoder_registry import make_encoder
from taxoexpan.files import whole_directory
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.placement.calibrators import Calibrators
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.training.history import History

KIND, VERSION = "taxoexpan-model", 7
CONFIG, WEIGHTS, ANCHORS, TAXONOMY, FEATURES, TRUST = (
    "config.json",
    "weights.safetensors",
    "anchors.safetensors",
    "taxonomy/taxonomy.json",
    "features",
    "calibration.json",
)
OWN = (CONFIG, WEIGHTS, ANCHORS, "taxonomy", FEATURES, TRUST, "README.md")
"""What a model directory holds; one that holds anything else is never replaced."""
CHECKED = (WEIGHTS, ANCHORS, TAXONOMY, TRUST)
"""What is known by its checksum."""


@dataclass(frozen=True)
class Archive:
    """All that a trained model is: `vectors` [2, N, D1] and `keys` [N, k] belong to the concepts.

    `training` is the record of how it came about: figures of the best epoch, versions, machine.
    """

    config: Config
    preset: str
    seed: int
    taxonomy: Taxonomy
    encoder: Encoder
    network: MatchingNetwork
    vectors: Tensor
    keys: Tensor
    training: dict[str, Any]
    calibrators: Calibrators


def save_archive(archive: Archive, path: Path, force: bool = False) -> None:
    """Write a model directory, whole or not at all."""
    with whole_directory(path, OWN, force) as directory:
        (directory / TAXONOMY).parent.mkdir()
        _write_json(directory / TAXONOMY, _taxonomy_columns(archive.taxonomy))
        _save_tensors(archive.network.state_dict(), directory / WEIGHTS)
        _save_tensors({"vectors": archive.vectors, "keys": archive.keys}, directory / ANCHORS)
        archive.encoder.save(directory / FEATURES)
        _write_json(directory / TRUST, archive.calibrators.as_dict())
        (directory / "README.md").write_text(_card(archive), encoding="utf-8")
        manifest = {
            "kind": KIND,
            "version": VERSION,
            "preset": archive.preset,
            "seed": archive.seed,
            "dimension": archive.vectors.shape[2],
            "settings": archive.config.model_dump(),
            "training": archive.training,
            "sha256": {part: _digest(directory / part) for part in CHECKED},
        }
        _write_json(directory / CONFIG, manifest)


def load_archive(path: Path, features: str | None = None, device: str = "auto") -> Archive:
    """Read a model directory; a damaged or foreign one is an error that says what is wrong.

    `features` says where the model's vectors are now, if not where they were at the training, and
    `device` where its encoder computes, if it does.
    """
    manifest = _read_config(path)
    for part in manifest["sha256"]:
        _refuse_damage(path, part, manifest)
    with _fitting_together(path):
        config, training = configure(manifest["settings"]), manifest["training"]
        known = training["encoder"]
    features = features or config.features
    encoder = _encoder_of(path, features, config.oov, device)
    _refuse_other_vectors(path, features, known, encoder.fingerprint())
    with _fitting_together(path):
        network = MatchingNetwork(config, manifest["dimension"])
        network.load_state_dict(load_file(path / WEIGHTS))
        network.eval()
        anchors = load_file(path / ANCHORS)
        return Archive(
            config,
            manifest["preset"],
            manifest["seed"],
            _read_taxonomy(path),
            encoder,
            network,
            anchors["vectors"],
            anchors["keys"],
            training,
            Calibrators.from_dict(json.loads((path / TRUST).read_text(encoding="utf-8"))),
        )


def load_summary(path: Path) -> tuple[Taxonomy, dict[str, Any]]:
    """The taxonomy of a model directory and the record of its training, without its vectors."""
    config = _read_config(path)
    _refuse_damage(path, TAXONOMY, config)
    with _fitting_together(path):
        return _read_taxonomy(path), config["training"]


def _encoder_of(path: Path, features: str, oov: str, device: str) -> Encoder:
    try:
        return make_encoder(features, oov, device, path / FEATURES)
    except TaxoExpanError as error:
        message = f"{path}: the model needs the vectors of {features!r}, and {error}"
        raise ModelError(f"{message}; where they are elsewhere now, give --features") from None


def _refuse_damage(path: Path, part: str, config: dict[str, Any]) -> None:
    if not (path / part).is_file():
        raise ModelError(f"{path}: {part} is missing; train again, or restore the directory")
    if _digest(path / part) != config["sha256"][part]:
        raise ModelError(f"{path}: {part} is damaged; train again, or restore the directory")


@contextmanager
def _fitting_together(path: Path) -> Iterator[None]:
    """Parts that are whole, each by itself, but not of one model."""
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
        message = f"{path}: the model does not fit together ({error}); train again"
        raise ModelError(message) from None


def _refuse_other_vectors(path: Path, features: str, known: str, found: str) -> None:
    """A network knows its own vectors alone; with others its scores would mean nothing."""
    if known != found:
        raise ModelError(
            f"{path}: the vectors of {features!r} are not those of the training ({known} then, "
            f"{found} now); bring back the old ones, or train again"
        )


def is_archive(path: Path) -> bool:
    """Whether a path looks like a model directory."""
    return (path / CONFIG).is_file()


def training_record(
    taxonomy: Taxonomy, encoder: Encoder, history: History, seconds: float
) -> dict[str, Any]:
    """What a reader of the model may want to know of its training."""
    best = history.best_epoch
    return {
        "concepts": len(taxonomy),
        "relations": taxonomy.relation_count,
        "taxonomy_sha256": taxonomy_digest(taxonomy),
        "encoder": encoder.fingerprint(),
        "epochs": len(history.epochs),
        "best_epoch": best.number,
        "interrupted": history.interrupted,
        "loss": best.loss,
        "validation": best.validation.as_dict() if best.validation else None,
        "seconds": round(seconds, 1),
        "versions": {name: version(name) for name in ("taxoexpan", "torch", "numpy", "wordllama")},
        "python": platform.python_version(),
        "machine": platform.machine(),
    }


def _read_config(path: Path) -> dict[str, Any]:
    if not path.is_dir():
        raise ModelError(f"{path}: there is no such model directory; make one with taxoexpan train")
    try:
        config = json.loads((path / CONFIG).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelError(f"{path}: no {CONFIG} here; this is not a taxoexpan model") from None
    except (ValueError, OSError) as error:
        raise ModelError(f"{path}: {CONFIG} cannot be read ({error}); train again") from None
    if not isinstance(config, dict) or config.get("kind") != KIND:
        raise ModelError(f"{path}: {CONFIG} is not one of a taxoexpan model")
    if config.get("version") != VERSION:
        raise ModelError(
            f"{path}: a model of version {config.get('version')}, and this taxoexpan reads "
            f"version {VERSION}; train again, or use the taxoexpan that wrote it"
        )
    if not isinstance(config.get("sha256"), dict) or set(config["sha256"]) != {*CHECKED}:
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
    try:
        save_file({name: tensor.cpu().contiguous() for name, tensor in tensors.items()}, path)
    except SafetensorError as error:
        raise ModelError(f"{path.name} cannot be written: {error}") from None


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
    """What tells a taxonomy from every other."""
    content = json.dumps(_taxonomy_columns(taxonomy), ensure_ascii=False)
    return hashlib.sha256(content.encode("utf-8", "surrogatepass")).hexdigest()


def _card(archive: Archive) -> str:
    record = archive.training
    figures = record.get("validation")
    measured = (
        f"On {figures['queries']:.0f} masked leaves: mean rank {figures['mr']:.1f}, "
        f"Hit@1 {figures['hit_at_1']:.3f}, Hit@3 {figures['hit_at_3']:.3f}, "
        f"scaled MRR {figures['mrr']:.3f} (epoch {record['best_epoch']} of {record['epochs']})."
        if figures
        else "The taxonomy is too small to mask leaves, so nothing was validated."
    )
    told = archive.calibrators.calibration
    sure = (
        f"Confidence: expected calibration error {told.reliability.error:.3f}, on leaves that it "
        "was not set by."
        if told
        else "There were too few leaves to learn a confidence from."
    )
    return f"""# A taxoexpan model

Places new concepts in a taxonomy of {record["concepts"]:,} concepts and
{record["relations"]:,} relations (sha256 {record["taxonomy_sha256"][:16]}…).

{measured}
{sure}

Preset `{archive.preset}`, seed {archive.seed}, features `{archive.config.features}`;
trained in {record["seconds"]:,} s on {record["machine"]} with torch {record["versions"]["torch"]}.

    taxoexpan suggest THIS_DIRECTORY new.csv
"""
