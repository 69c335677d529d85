"""Learning of linear maps that move the text of a query towards the text of its parent.

The encoder stays as it is, and its vectors are computed once, so a step costs two small products.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from taxoexpan.config import Config
from taxoexpan.network.text_tower import TextMaps, apply_map
from taxoexpan.progress import Progress
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.continuation import News
from taxoexpan.training.metrics import Metrics
from taxoexpan.training.run import without_compiler
from taxoexpan.training.sampling import blocked_among
from taxoexpan.training.tower_gradients import SCALE

BATCH_SIZE = 512
NEGATIVES = 1500
"""Anchors that a batch is compared with, besides its parents; small taxonomies have fewer."""
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
        Progress(
            "adapting texts", config.map_epochs * len(starts), "batches", shown=progress
        ) as bar,
    ):
        for _ in range(config.map_epochs):
            order = rng.permutation(len(children))
            for rows in (order[start : start + BATCH_SIZE] for start in starts):
                near = _compared(taxonomy, children[rows], parents[rows], rng, news)
                loss = _loss(maps, queries, anchors, taxonomy, children[rows], parents[rows], near)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                bar.update()
            now = TextMaps(maps.queries.detach().clone(), maps.anchors.detach().clone())
            reached = highest if validate is None else validate(now).reciprocal_rank
            if validate is None or reached > highest:
                best, highest = now, reached
    return best


def _compared(
    taxonomy: Taxonomy,
    queries: Indices,
    parents: Indices,
    rng: np.random.Generator,
    news: News | None,
) -> Indices:
    """Return the ascending anchors that a batch is compared with [A]."""
    if len(taxonomy) <= NEGATIVES:
        return np.arange(len(taxonomy))
    drawn = rng.choice(len(taxonomy), NEGATIVES, replace=False)
    rejected = [] if news is None else [news.rejected.of_many(queries)[1]]
    return np.unique(np.concatenate([parents, drawn, *rejected]))


def _loss(
    maps: TextMaps,
    queries: Tensor,
    anchors: Tensor,
    taxonomy: Taxonomy,
    children: Indices,
    parents: Indices,
    compared: Indices,
) -> Tensor:
    """Return the mean InfoNCE loss of a batch of relations among the compared anchors (Eq. 11)."""
    device = queries.device
    blocked = torch.zeros(len(children), len(compared), dtype=torch.bool)
    of_anchor, of_query = blocked_among(taxonomy, children, compared)
    blocked[of_query, of_anchor] = True
    positives = torch.from_numpy(np.searchsorted(compared, parents))
    blocked[torch.arange(len(children)), positives] = False
    of_queries = apply_map(maps.queries, queries[torch.from_numpy(children).to(device)])
    of_anchors = apply_map(maps.anchors, anchors[torch.from_numpy(compared).to(device)])
    scores = (SCALE * of_queries @ of_anchors.T).masked_fill(blocked.to(device), -torch.inf)
    return F.cross_entropy(scores, positives.to(device))
