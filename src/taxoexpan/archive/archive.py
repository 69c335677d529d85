"""All parts of a trained model, and their writing to a directory with a model card."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from safetensors.torch import save_file
from torch import Tensor

from taxoexpan.config import Config
from taxoexpan.decisions.feedback import NO_REJECTIONS, Rejections
from taxoexpan.errors import DamagedModelError
from taxoexpan.features.encoder import Encoder
from taxoexpan.features.label_words import words_arrays
from taxoexpan.files import whole_directory
from taxoexpan.model_directory import (
    ANCHORS,
    CALIBRATION,
    CARD,
    CONFIG,
    CONTINUATION,
    OWN,
    TAXONOMY,
    TOWER,
    WEIGHTS,
    WORDS,
    file_entry,
    identity_of_parts,
    write_manifest,
)
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.text_tower import TextTower
from taxoexpan.phrasing import pluralize
from taxoexpan.placement.fitting.preparation import PreparedTaxonomy
from taxoexpan.placement.fitting.session import FittedParts
from taxoexpan.placement.fitting.updating import (
    NO_GROWTH,
    EncodedTaxonomy,
    TaxonomyGrowth,
    UpdateReport,
    update_encoding,
)
from taxoexpan.placement.learned.calibrators import Calibrators, missing_confidence
from taxoexpan.placement.scoring.anchors import Anchors, AnchorTexts, Embedder
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.storage import taxonomy_arrays
from taxoexpan.thresholds import MIN_FOR_CONFIDENCE
from taxoexpan.training.record import TrainingRecord, training_record


@dataclass(frozen=True)
class Archive:
    """All parts of a trained model; `vectors` and `keys` [N, k] belong to the concepts.

    `texts` are the inputs of the fusion. `rejections` must not be suggested again. `growth` is the
    change of the taxonomy since the training.
    """

    config: Config
    preset: str
    seed: int
    taxonomy: Taxonomy
    encoder: Encoder
    network: MatchingNetwork
    vectors: ConceptVectors
    keys: Tensor
    training: TrainingRecord
    calibrators: Calibrators
    tower: TextTower | None = None
    texts: AnchorTexts | None = None
    held_out: tuple[str, ...] = ()
    rejections: Rejections = NO_REJECTIONS
    growth: TaxonomyGrowth = NO_GROWTH
    directory: Path | None = None

    @contextmanager
    def naming_directory(self) -> Iterator[None]:
        """Add the directory to errors about damage that is found while the model is used."""
        try:
            yield
        except DamagedModelError as error:
            if self.directory is None:
                raise
            raise DamagedModelError(f"{self.directory}: {error}") from None

    def updated(self, taxonomy: Taxonomy, embedder: Embedder) -> tuple[Archive, UpdateReport]:
        """Return the model with a newer version of the taxonomy; see `update_encoding`."""
        old = EncodedTaxonomy(self.taxonomy, self.vectors, self.keys, self.texts)
        network = self.network.to(embedder.device)
        new, report = update_encoding(old, taxonomy, network, embedder)
        changed = replace(
            self,
            taxonomy=taxonomy,
            vectors=new.vectors,
            keys=new.keys,
            texts=new.texts,
            held_out=tuple(id for id in self.held_out if id in taxonomy),
            rejections=self.rejections.within(taxonomy),
            growth=self.growth.followed_by(report.changes),
        )
        return changed, report

    def ranker(self, device: torch.device) -> Ranker:
        """Return the ranker of all concepts of the taxonomy."""
        vectors = self.vectors.to(device)
        texts = None if self.texts is None else self.texts.to(device)
        anchors = Anchors(self.taxonomy, vectors, self.config.max_siblings, texts=texts)
        network = self.network.to(device)
        keys = self.keys.to(device)
        return Ranker(network, anchors, keys, self.calibrators.fusion)


def new_archive(
    preset: str,
    seed: int,
    embedder: Embedder,
    prepared: PreparedTaxonomy,
    parts: FittedParts,
    seconds: float,
) -> Archive:
    """Collect the parts of a model that was trained in this number of seconds."""
    taxonomy = prepared.taxonomy
    figures = (parts.history, parts.tower_history)
    return Archive(
        config=embedder.config,
        preset=preset,
        seed=seed,
        taxonomy=taxonomy,
        encoder=embedder.encoder,
        network=parts.network,
        vectors=prepared.vectors(),
        keys=parts.keys,
        training=training_record(taxonomy, embedder.encoder, *figures, parts.validation, seconds),
        calibrators=parts.calibrators,
        tower=parts.tower,
        texts=parts.texts,
        held_out=tuple(concept.id for concept in prepared.holdout.concepts),
    )


def save_archive(archive: Archive, path: Path, force: bool = False) -> None:
    """Write a model directory."""
    with whole_directory(path, OWN, force) as directory:
        _save_arrays(taxonomy_arrays(archive.taxonomy), directory / TAXONOMY)
        _save_tensors(archive.network.state_dict(), directory / WEIGHTS)
        entries = {part: file_entry(directory / part) for part in (WEIGHTS, TAXONOMY)}
        identity = identity_of_parts(entries)
        _save_tensors(_anchor_tensors(archive), directory / ANCHORS, identity)
        if archive.tower is not None and (learned := archive.tower.weights()):
            _save_tensors(learned, directory / TOWER, identity)
        if archive.texts is not None:
            _save_arrays(words_arrays(archive.texts.words), directory / WORDS, identity)
        for part, fields in _json_parts(archive).items():
            content = {"model": identity, **fields}
            indent = 2 if part == CONFIG else None
            text = json.dumps(content, ensure_ascii=False, indent=indent, allow_nan=False)
            (directory / part).write_text(f"{text}\n", encoding="utf-8")
        (directory / CARD).write_text(_card(archive), encoding="utf-8")
        write_manifest(directory)


def _json_parts(archive: Archive) -> dict[str, dict[str, Any]]:
    """Return the contents of the JSON files."""
    return {
        CONFIG: {
            "preset": archive.preset,
            "seed": archive.seed,
            "dimension": archive.vectors.dimension,
            "settings": archive.config.model_dump(),
            "training": archive.training.as_dict(),
        },
        CALIBRATION: archive.calibrators.as_dict(),
        CONTINUATION: {
            "held_out": archive.held_out,
            "rejections": archive.rejections.as_dict(),
            "growth": archive.growth.as_dict(),
            "from_file": archive.taxonomy.source is not None,
        },
    }


def _anchor_tensors(archive: Archive) -> dict[str, Tensor]:
    vectors = archive.vectors
    texts = archive.texts
    tensors = {"names": vectors.names, "heads": vectors.heads, "head_of": vectors.head_of}
    tensors["keys"] = archive.keys
    if texts is not None and texts.tower is not None:
        tensors |= dict(zip(("as_anchors", "as_queries"), texts.tower, strict=True))
    return tensors


def _save_tensors(tensors: dict[str, Tensor], path: Path, identity: str | None = None) -> None:
    stored = {name: tensor.cpu().contiguous() for name, tensor in tensors.items()}
    save_file(stored, path, metadata=None if identity is None else {"model": identity})


def _save_arrays(arrays: dict[str, NDArray[Any]], path: Path, identity: str | None = None) -> None:
    # A copy, because torch warns about arrays that cannot be written to.
    tensors = {name: torch.from_numpy(array.copy()) for name, array in arrays.items()}
    _save_tensors(tensors, path, identity)


def _card(archive: Archive) -> str:
    """Describe a model in Markdown."""
    record = archive.training
    taxonomy = archive.taxonomy
    growth = archive.growth
    since = f" Since the training: {growth.sentence(record.concepts)}." if growth else ""
    features = f"features `{archive.config.features}`"
    if archive.tower is not None and archive.tower.weights():
        features += ", adapted to the taxonomy"
    if record.interrupted:
        features += ", stopped before the end of the training"
    return f"""# A taxoexpan model

Places new concepts in a taxonomy of {pluralize(len(taxonomy), "concept")} and
{pluralize(len(taxonomy.relations), "relation")}.{since}

{_describe_validation(archive)}
{_describe_confidence(archive)}

Preset `{archive.preset}`, seed {archive.seed}, {features};
trained in {record.seconds:,} s on {record.machine} with torch {record.versions.get("torch")}
on {record.concepts:,} concepts (sha256 {record.taxonomy_sha256[:16]}…).

    taxoexpan suggest THIS_DIRECTORY new.csv
"""


def _describe_validation(archive: Archive) -> str:
    record = archive.training
    v = archive.training.validation
    if not v:
        return "The taxonomy is too small to hold out leaves, so the model was not validated."
    return (
        f"On {v.queries:.0f} held-out leaves: mean rank {v.mr:.1f}, Hit@1 {v.hit_at_1:.3f}, "
        f"Hit@3 {v.hit_at_3:.3f}, scaled MRR {v.mrr:.3f} "
        f"(network: epoch {record.best_epoch} of {record.epochs})."
    )


def _describe_confidence(archive: Archive) -> str:
    """Describe the calibration error, or the reason why there is no confidence, if known."""
    calibration = archive.calibrators.calibration
    if calibration and len(calibration.reliability.right) < MIN_FOR_CONFIDENCE:
        return (
            "Confidence: too few leaves are held out to measure it; it rests on other taxonomies."
        )
    if calibration:
        return (
            f"Confidence: expected calibration error {calibration.reliability.error:.3f}, on "
            f"{len(calibration.reliability.right):,} leaves that it was not fitted to."
        )
    missing = missing_confidence(archive.taxonomy, archive.config)
    return f"There is no confidence{f': {missing}' if missing else ''}."
