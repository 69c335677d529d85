"""All parts of a trained model."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

import torch
from torch import Tensor

from taxoexpan.config import Config
from taxoexpan.errors import DamagedModelError
from taxoexpan.features.encoder import Encoder
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.text_tower import TextTower
from taxoexpan.placement.fitting.preparation import PreparedTaxonomy
from taxoexpan.placement.fitting.session import FittedParts
from taxoexpan.placement.fitting.updating import (
    NO_GROWTH,
    EncodedTaxonomy,
    TaxonomyGrowth,
    UpdateReport,
    update_encoding,
)
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.placement.scoring.anchors import Anchors, AnchorTexts
from taxoexpan.placement.scoring.embedder import Embedder
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.placement.suggesting.feedback import NO_REJECTIONS, Rejections
from taxoexpan.taxonomy import Taxonomy
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
        network, keys = self.network.to(device), self.keys.to(device)
        bonus, fusion = self.calibrators.leaf_bonus, self.calibrators.fusion
        return Ranker(network, anchors, keys, bonus, fusion)


def new_archive(
    preset: str,
    seed: int,
    embedder: Embedder,
    prepared: PreparedTaxonomy,
    parts: FittedParts,
    seconds: float,
) -> Archive:
    """Collect the parts of a model that was trained in this number of seconds."""
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
