"""A model in use: its parts on a device, and what is derived from them when it is first needed."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from taxoexpan.archive.archive import Archive
from taxoexpan.config import Config
from taxoexpan.errors import ModelError
from taxoexpan.features.encoder import Encoder
from taxoexpan.features.lexicon import Lexicon
from taxoexpan.network.queries import LabeledQueries, Queries
from taxoexpan.network.text_tower import TextTower
from taxoexpan.placement.learned.held_out_ranking import held_out_queries, remaining_ranker
from taxoexpan.placement.scoring.embedder import Embedder
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.training.holdout import Holdout


class ModelState:
    """The archive of a model, or none before it is trained, and what is derived from it."""

    config: Config
    device: torch.device
    encoder: Encoder
    _tower: TextTower | None

    def _reset(self, archive: Archive | None) -> None:
        """Use another archive, and forget everything that was derived from the last one."""
        self._archive = archive
        self._cached_ranker: Ranker | None = None
        self._cached_lexicon: Lexicon | None = None

    def _fitted(self) -> Archive:
        if self._archive is None:
            raise ModelError("the model is not trained; call fit, or load a trained one")
        return self._archive

    @property
    def _embedder(self) -> Embedder:
        return Embedder(self.encoder, self.config, self.device, self._tower)

    @property
    def _ranker(self) -> Ranker:
        """The ranker of all anchors of the taxonomy."""
        if self._cached_ranker is None:
            self._cached_ranker = self._fitted().ranker(self.device)
        return self._cached_ranker

    def _ranker_of(self, taxonomy: Taxonomy) -> Ranker:
        """Return the ranker of all anchors of another taxonomy."""
        archive = self._fitted()
        return remaining_ranker(taxonomy, archive.network, self._embedder, archive.calibrators)

    def _queries(self, concepts: Sequence[Concept]) -> Queries:
        """Embed concepts, and find the concepts of the taxonomy that they mention."""
        if self._cached_lexicon is None:
            self._cached_lexicon = self._embedder.lexicon(self._fitted().taxonomy)
        return self._embedder.queries(concepts, self._cached_lexicon)

    def _held_out(self, holdout: Holdout) -> tuple[Ranker, LabeledQueries]:
        """Return the ranker of the remaining taxonomy, and the held-out concepts as queries."""
        is_own = holdout.taxonomy is self._fitted().taxonomy
        queries = held_out_queries(holdout, self._embedder)
        return self._ranker if is_own else self._ranker_of(holdout.taxonomy), queries
