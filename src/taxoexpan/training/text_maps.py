"""Learning of linear maps and word vectors that move the text of a query towards its parent's.

The encoder stays as it is, and its vectors are computed once, so a step costs two small products.
The vector of a word is shared by queries and anchors. It learns what the word means in this
taxonomy, which only a fine-tuning of all layers would learn otherwise.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import torch
from torch import Tensor

from taxoexpan.config import Config
from taxoexpan.network.text_maps import EncodedTexts, TextMaps
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
MAP_RATE, WORD_RATE = 2e-3, 1e-3
"""The learning rates of the first step; they fall to zero."""


def learn_maps(
    queries: EncodedTexts,
    anchors: EncodedTexts,
    start: TextMaps,
    taxonomy: Taxonomy,
    config: Config,
    seed: int,
    validate: Callable[[TextMaps], Metrics] | None = None,
    progress: bool = False,
    news: News | None = None,
) -> TextMaps | None:
    """Return the maps of the best epoch, or None if all N texts are best as they are."""
    rng = np.random.default_rng(seed)
    parents, children = taxonomy.relation_indices
    maps = replace(start, **{name: getattr(start, name).clone() for name in LEARNED})
    rates = dict(zip(LEARNED, (MAP_RATE, MAP_RATE, WORD_RATE), strict=True))
    groups = [{"params": [getattr(maps, n).requires_grad_()], "lr": r} for n, r in rates.items()]
    optimizer = without_compiler(torch.optim.Adam)(groups)
    best, highest = None, -1.0 if validate is None else validate(start).reciprocal_rank
    starts = range(0, len(children), BATCH_SIZE)
    step, steps = 0, config.map_epochs * len(starts)
    with Progress("maps", steps, "batches", shown=progress) as bar:
        for _ in range(config.map_epochs):
            order = rng.permutation(len(children))
            for rows in (order[start : start + BATCH_SIZE] for start in starts):
                others = _others(taxonomy, children[rows], rng, news)
                pairs = children[rows], parents[rows]
                batch = TowerBatch.of(taxonomy, *pairs, others, queries.vectors.device)
                optimizer.zero_grad()
                _loss(maps, queries, anchors, batch).backward()
                optimizer.step()
                step += 1
                for group, rate in zip(optimizer.param_groups, rates.values(), strict=True):
                    group["lr"] = rate * (1 - step / steps)
                bar.update()
            now = replace(maps, **{n: getattr(maps, n).detach().clone() for n in LEARNED})
            reached = highest if validate is None else validate(now).reciprocal_rank
            if validate is None or reached > highest:
                best, highest = now, reached
    return best


LEARNED = ("queries", "anchors", "words")
"""The tensors of `TextMaps`."""


def _others(
    taxonomy: Taxonomy, queries: Indices, rng: np.random.Generator, news: News | None
) -> Indices:
    """Draw the anchors that a batch is compared with, and add the rejected ones."""
    drawn = rng.choice(len(taxonomy), min(NEGATIVES, len(taxonomy)), replace=False)
    return drawn if news is None else np.concatenate([drawn, news.rejected.of_many(queries)[1]])


def _loss(
    maps: TextMaps, queries: EncodedTexts, anchors: EncodedTexts, batch: TowerBatch
) -> Tensor:
    """Return the mean InfoNCE loss of a batch, given the texts of all concepts."""
    mapped = maps.map_queries(queries, batch.queries), maps.map_anchors(anchors, batch.anchors)
    return contrastive_loss(*mapped, batch)
