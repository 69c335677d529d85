"""Fine-tuning the text tower of a model on a prepared taxonomy."""

from __future__ import annotations

import gc
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.device import release_memory
from taxoexpan.features.encoder_registry import transformer_of
from taxoexpan.network.text_tower import TextTower, query_text
from taxoexpan.phrasing import pluralize
from taxoexpan.placement.fitting.prepared_taxonomy import EarlierModel, PreparedTaxonomy
from taxoexpan.placement.scoring.embedder import Embedder
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.checkpoint import Checkpoint
from taxoexpan.training.metrics import TIES, Metrics, compute_metrics, rank_true_parents
from taxoexpan.training.record import TowerHistory
from taxoexpan.training.tower import train_tower

if TYPE_CHECKING:
    from taxoexpan.features.transformer.transformer_encoder import TransformerEncoder

VALIDATION_BLOCK = 256
"""Held-out concepts that are ranked at a time while the tower is fine-tuned."""


def transformer_to_tune(embedder: Embedder) -> TransformerEncoder | None:
    """Return the sentence transformer that the settings ask to fine-tune, if there is one."""
    wanted = embedder.config.tower_epochs and embedder.config.learn_fusion
    return transformer_of(embedder.encoder) if wanted else None


def describe_fine_tuning(prepared: PreparedTaxonomy, embedder: Embedder) -> str:
    """Return what `fine_tune` will do, in a few words; an empty text if that is nothing."""
    epochs = embedder.config.tower_epochs
    if not epochs or _transformer_of(prepared, embedder) is None:
        return ""
    return f"the encoder is fine-tuned ({pluralize(epochs, 'epoch')})"


def _transformer_of(prepared: PreparedTaxonomy, embedder: Embedder) -> TransformerEncoder | None:
    """Return the sentence transformer to fine-tune; a continued training decides as before."""
    if prepared.start is None:
        return transformer_to_tune(embedder)
    return None if prepared.start.tower is None else transformer_of(embedder.encoder)


def fine_tune(
    prepared: PreparedTaxonomy,
    embedder: Embedder,
    seed: int,
    progress: bool = False,
    checkpoint: Checkpoint | None = None,
) -> tuple[TextTower, TowerHistory] | None:
    """Fine-tune the sentence transformer of the encoder, if it has one, on the remaining taxonomy.

    The best epoch is the one that ranks the held-out concepts best.
    """
    transformer = _transformer_of(prepared, embedder)
    if transformer is None:
        return None
    tower, holdout = _initial_tower(transformer, prepared.start), prepared.holdout
    tower.to(embedder.device)
    embedder.encoder.unload()  # the fine-tuning needs the most memory
    gc.collect()  # models have reference cycles
    texts, news = [query_text(concept) for concept in holdout.concepts], prepared.data.news

    def validate(tower: TextTower, anchors: Tensor) -> Metrics:
        return _validate(tower, anchors, texts, holdout.parents)

    history = train_tower(
        tower,
        holdout.taxonomy,
        embedder.config,
        seed,
        validate if texts and (news is None or news.recipe.keep_best) else None,
        progress,
        checkpoint,
        news,
    )
    gc.collect()  # so have optimizers
    release_memory()
    return tower, history


def _initial_tower(transformer: TransformerEncoder, start: EarlierModel | None) -> TextTower:
    """Return a copy of the encoder's sentence transformer, with the weights of an earlier tower."""
    tower = TextTower(transformer.copy_model())
    if start is not None and start.tower is not None:
        tower.load_state_dict(start.tower.state_dict())
    return tower


def _validate(
    tower: TextTower, anchors: Tensor, texts: Sequence[str], parents: Sequence[Indices]
) -> Metrics:
    """Rank the parents of held-out concepts, given their texts and the anchors' vectors [N, D]."""
    ranks: list[NDArray[np.floating]] = []
    for start in range(0, len(texts), VALIDATION_BLOCK):
        stop = start + VALIDATION_BLOCK
        scores = anchors @ tower.encode(texts[start:stop]).T
        ranks += rank_true_parents(scores, parents[start:stop], TIES)
    return compute_metrics(ranks)
