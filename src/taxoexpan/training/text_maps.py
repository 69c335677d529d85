"""Learning of linear maps that move the text of a query towards the text of its parent.

The encoder stays as it is, and its vectors are computed once, so a step costs two small products.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np
import torch
from torch import Tensor

from taxoexpan.config import Config
from taxoexpan.network.text_tower import TextMaps, apply_map
from taxoexpan.progress import Progress
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.continuation import News
from taxoexpan.training.metrics import Metrics
from taxoexpan.training.run import without_compiler
from taxoexpan.training.tower_gradients import TowerBatch, contrastive_loss

BATCH_SIZE = 512
NEGATIVES = 1500
"""Anchors that a batch is compared with, besides its parents, if there are as many."""
LEARNING_RATE = 2e-3


def learn_maps(
    queries: Tensor,
    anchors: Tensor,
    taxonomy: Taxonomy,
    config: Config,
    seed: int,
    validate: Callable[[TextMaps], Metrics] | None = None,
    progress: bool = False,
    news: News | None = None,
) -> TextMaps | None:
    """Return the maps of the best epoch, or None if the vectors [N, D] are best as they are.

    Ctrl-C ends the learning with the best maps so far.
    """
    rng = np.random.default_rng(seed)
    parents, children = taxonomy.relation_indices
    identity = torch.eye(queries.shape[1], device=queries.device)
    maps = TextMaps(identity.clone().requires_grad_(), identity.clone().requires_grad_())
    optimizer = without_compiler(torch.optim.Adam)([maps.queries, maps.anchors], LEARNING_RATE)
    best, highest = None, -1.0
    if validate is not None:
        highest = validate(TextMaps(identity, identity)).reciprocal_rank
    starts = range(0, len(children), BATCH_SIZE)
    with (
        suppress(KeyboardInterrupt),
        Progress("maps", config.map_epochs * len(starts), "batches", shown=progress) as bar,
    ):
        for _ in range(config.map_epochs):
            order = rng.permutation(len(children))
            for rows in (order[start : start + BATCH_SIZE] for start in starts):
                others = _others(taxonomy, children[rows], rng, news)
                pairs = children[rows], parents[rows]
                batch = TowerBatch.of(taxonomy, *pairs, others, queries.device)
                optimizer.zero_grad()
                _loss(maps, queries, anchors, batch).backward()
                optimizer.step()
                bar.update()
            now = TextMaps(maps.queries.detach().clone(), maps.anchors.detach().clone())
            reached = highest if validate is None else validate(now).reciprocal_rank
            if validate is None or reached > highest:
                best, highest = now, reached
    return best


def _others(
    taxonomy: Taxonomy, queries: Indices, rng: np.random.Generator, news: News | None
) -> Indices:
    """Draw the anchors that a batch is compared with, and add the rejected ones."""
    drawn = rng.choice(len(taxonomy), min(NEGATIVES, len(taxonomy)), replace=False)
    return drawn if news is None else np.concatenate([drawn, news.rejected.of_many(queries)[1]])


def _loss(maps: TextMaps, queries: Tensor, anchors: Tensor, batch: TowerBatch) -> Tensor:
    """Return the mean InfoNCE loss of a batch, given the vectors of all concepts [N, D]."""
    rows, others = (
        torch.from_numpy(each).to(queries.device) for each in (batch.queries, batch.anchors)
    )
    mapped = apply_map(maps.queries, queries[rows]), apply_map(maps.anchors, anchors[others])
    return contrastive_loss(*mapped, batch)
