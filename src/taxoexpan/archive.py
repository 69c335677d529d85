"""A model on disk: a directory of JSON, safetensors and a model card; never a pickle."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from taxoexpan.config import Config, configure
from taxoexpan.errors import ModelError, TaxoExpanError
from taxoexpan.features.encoder import Encoder
from taxoexpan.features.encoder_registry import make_encoder, transformer_of
from taxoexpan.features.stored_words import words_arrays, words_from_arrays
from taxoexpan.files import whole_directory
from taxoexpan.model_directory import (
    ANCHORS,
    CALIBRATION,
    CHECKED,
    CONFIG,
    CONTINUATION,
    FEATURES,
    KIND,
    OWN,
    SEARCH,
    TAXONOMY,
    TOWER,
    VERSION,
    WEIGHTS,
    WORDS,
    checksums,
    read_intact_manifest,
)
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.text_tower import TextTower
from taxoexpan.placement.calibrators import Calibrators
from taxoexpan.placement.candidates.candidate_ranker import CandidateRanker
from taxoexpan.placement.candidates.search_choice import find_search
from taxoexpan.placement.candidates.search_file import read_record, read_search, save_search
from taxoexpan.placement.candidates.search_record import SearchRecord, StoredSearch
from taxoexpan.placement.embedder import Embedder
from taxoexpan.placement.fitting_session import FittedParts
from taxoexpan.placement.model_card import ModelCard
from taxoexpan.placement.pair_features import AnchorTexts, Signal
from taxoexpan.placement.prepared_taxonomy import PreparedTaxonomy
from taxoexpan.placement.ranking import Anchors, Ranker
from taxoexpan.placement.rejections import NO_REJECTIONS, Rejections
from taxoexpan.placement.taxonomy_growth import NO_GROWTH, TaxonomyGrowth
from taxoexpan.placement.updating import EncodedTaxonomy, UpdateReport, update_encoding
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.stored_arrays import taxonomy_arrays, taxonomy_from_arrays
from taxoexpan.training.training_record import TrainingRecord, training_record


@dataclass(frozen=True)
class Archive:
    """All parts of a trained model; `vectors` and `keys` [N, k] are those of the concepts.

    `tower` is the fine-tuned encoder, and `texts` are what the fusion compares; both are None in a
    model without them. `held_out` are the ids of the held-out concepts, `rejections` what must not
    be proposed again, and `growth` how the taxonomy differs from that of the training. `search` is
    the candidate search of a large taxonomy.
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
    search: StoredSearch | None = None

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
            search=None,
        )
        return changed, report

    def ranker(self, device: torch.device) -> Ranker:
        """Return the ranker of all concepts of the taxonomy."""
        vectors = self.vectors.to(device)
        texts = None if self.texts is None else self.texts.to(device)
        anchors = Anchors(self.taxonomy, vectors, self.config.max_siblings, texts=texts)
        network, keys = self.network.to(device), self.keys.to(device)
        bonus, fusion = self.calibrators.leaf_bonus, self.calibrators.fusion
        return Ranker(network, anchors, keys, bonus, fusion)

    def find_search(self, ranker: Ranker) -> CandidateRanker | None:
        """Return the candidate search of the ranker of all concepts; see `find_search`."""
        calibration = self.calibrators.calibration
        return find_search(ranker, self.search, calibration.temperature if calibration else 1.0)


def new_archive(
    preset: str,
    seed: int,
    embedder: Embedder,
    prepared: PreparedTaxonomy,
    parts: FittedParts,
    seconds: float,
) -> Archive:
    """Collect the parts of a model that was fitted in some seconds."""
    taxonomy, figures = prepared.taxonomy, (parts.history, parts.tower_history)
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
    """Write a model directory, whole or not at all."""
    with whole_directory(path, OWN, force) as directory:
        _save_arrays(taxonomy_arrays(archive.taxonomy), directory / TAXONOMY)
        _save_tensors(archive.network.state_dict(), directory / WEIGHTS)
        _save_tensors(_anchor_tensors(archive), directory / ANCHORS)
        checked = [*CHECKED]
        if archive.tower is not None:
            _save_tensors(archive.tower.state_dict(), directory / TOWER)
            checked.append(TOWER)
        if archive.texts is not None:
            _save_arrays(words_arrays(archive.texts.words), directory / WORDS)
            checked.append(WORDS)
        if archive.search is not None:
            save_search(archive.search, directory / SEARCH)
            checked.append(SEARCH)
        _write_json(directory / CONTINUATION, _continuation(archive))
        archive.encoder.save(directory / FEATURES)
        _write_json(directory / CALIBRATION, archive.calibrators.as_dict())
        (directory / "README.md").write_text(_card(archive).text(), encoding="utf-8")
        manifest = {
            "kind": KIND,
            "version": VERSION,
            "preset": archive.preset,
            "seed": archive.seed,
            "dimension": archive.vectors.dimension,
            "settings": archive.config.model_dump(),
            "training": archive.training.as_dict(),
            "sha256": checksums(directory, checked),
        }
        _write_json(directory / CONFIG, manifest)


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
    manifest = summary.manifest if summary else read_intact_manifest(path)
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
        anchors = load_file(path / ANCHORS)
        taxonomy = summary.taxonomy if summary else _read_taxonomy(path)
        learned = _read_calibrators(path)
        tower = _read_tower(path, encoder) if TOWER in manifest["sha256"] else None
        towers = anchors.get("as_anchors"), anchors.get("as_queries")
        if tower is None and towers != (None, None):
            raise ModelError(f"{TOWER} is not listed in {CONFIG}, but the anchors need it")
        texts = None
        if learned.fusion is not None:
            texts = AnchorTexts(words_from_arrays(_read_arrays(path / WORDS)), *towers)
        vectors = ConceptVectors(anchors["names"], anchors["heads"], anchors["head_of"])
        return Archive(
            config,
            manifest["preset"],
            manifest["seed"],
            taxonomy,
            encoder,
            network,
            vectors,
            anchors["keys"],
            training,
            learned,
            tower,
            texts,
            **_read_continuation(path),
            search=read_search(path / SEARCH) if SEARCH in manifest["sha256"] else None,
        )


def _continuation(archive: Archive) -> dict[str, Any]:
    """Return what a training that continues from this model must know."""
    return {
        "held_out": archive.held_out,
        "rejections": archive.rejections.as_dict(),
        "growth": archive.growth.as_dict(),
    }


def _read_continuation(path: Path) -> dict[str, Any]:
    content = json.loads((path / CONTINUATION).read_text(encoding="utf-8"))
    return {
        "held_out": tuple(content["held_out"]),
        "rejections": Rejections.from_dict(content["rejections"]),
        "growth": TaxonomyGrowth.from_dict(content["growth"]),
    }


def _anchor_tensors(archive: Archive) -> dict[str, Tensor]:
    vectors = archive.vectors
    tensors = {"names": vectors.names, "heads": vectors.heads, "head_of": vectors.head_of}
    tensors["keys"] = archive.keys
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
    growth: TaxonomyGrowth
    manifest: dict[str, Any]
    search: SearchRecord | None = None


def load_summary(path: Path) -> ModelSummary:
    """Describe a model directory without its encoder; a damaged one is an error."""
    manifest = read_intact_manifest(path)
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
            _read_continuation(path)["growth"],
            manifest,
            read_record(path / SEARCH) if SEARCH in manifest["sha256"] else None,
        )


def _encoder_of(path: Path, features: str, oov: str, device: str) -> Encoder:
    try:
        return make_encoder(features, oov, device, path / FEATURES)
    except TaxoExpanError as error:
        message = f"{path}: the model needs the vectors of {features!r}: {error}"
        fix = "if they have moved, give features"
        raise ModelError(f"{message}; {fix}").naming("features") from None


def _read_taxonomy(path: Path) -> Taxonomy:
    return taxonomy_from_arrays(_read_arrays(path / TAXONOMY))


def _read_calibrators(path: Path) -> Calibrators:
    return Calibrators.from_dict(json.loads((path / CALIBRATION).read_text(encoding="utf-8")))


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


def _save_tensors(tensors: dict[str, Tensor], path: Path) -> None:
    save_file({name: tensor.cpu().contiguous() for name, tensor in tensors.items()}, path)


def _save_arrays(arrays: dict[str, NDArray[Any]], path: Path) -> None:
    # A copy, because torch warns about arrays that cannot be written to.
    _save_tensors({name: torch.from_numpy(array.copy()) for name, array in arrays.items()}, path)


def _read_arrays(path: Path) -> dict[str, NDArray[Any]]:
    """Map a file of arrays into memory."""
    return {name: tensor.numpy() for name, tensor in load_file(path).items()}


def _write_json(path: Path, content: dict[str, Any]) -> None:
    indent = 2 if path.name == CONFIG else None
    path.write_text(
        json.dumps(content, ensure_ascii=False, indent=indent, allow_nan=False) + "\n",
        encoding="utf-8",
    )


def _card(archive: Archive) -> ModelCard:
    return ModelCard(
        archive.preset,
        archive.seed,
        archive.config,
        archive.taxonomy,
        archive.training,
        archive.calibrators,
        archive.growth,
        has_tower=archive.tower is not None,
        search=None if archive.search is None else archive.search.record,
    )
