"""The gradients of one fine-tuning batch, in blocks of texts of similar length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from taxoexpan.features.sentence_model import CPU_BLOCK, SentenceModel, Tokens
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.sampling import blocked_among

SCALE = 20.0
"""The factor of the cosines in the loss: an inverse temperature."""
GPU_TRAINING_BLOCK = 256
"""Texts that a GPU encodes at a time in training."""


@dataclass(frozen=True)
class TowerBatch:
    """A batch of queries [B], ascending anchors [A], and the row of each query's parent [B].

    `blocked` [B, A] marks the anchors that are not negatives of a query.
    """

    queries: Indices
    anchors: Indices
    positives: Tensor
    blocked: Tensor

    @classmethod
    def of(
        cls,
        taxonomy: Taxonomy,
        queries: Indices,
        parents: Indices,
        others: Indices,
        device: torch.device,
    ) -> TowerBatch:
        """Return a batch of relations, whose anchors are the parents [B] and the others."""
        anchors = np.unique(np.concatenate([parents, others]))
        positives = torch.from_numpy(np.searchsorted(anchors, parents))
        blocked = torch.zeros(len(queries), len(anchors), dtype=torch.bool)
        of_anchor, of_query = blocked_among(taxonomy, queries, anchors)
        blocked[of_query, of_anchor] = True
        blocked[torch.arange(len(queries)), positives] = False
        return cls(queries, anchors, positives.to(device), blocked.to(device))


def text_blocks(texts: Sequence[Tokens], size: int) -> list[Indices]:
    """Divide texts into blocks of at most this size and of similar length, to avoid padding."""
    lengths = np.array([len(each) for each in texts])
    return np.array_split(np.argsort(lengths, kind="stable"), -(-len(texts) // size))


def compute_gradients(
    tower: SentenceModel, texts: Sequence[Tokens], batch: TowerBatch, parts: int = 1
) -> Tensor:
    """Compute the gradients of a batch's mean loss, and return this loss.

    With several `parts`, each block is encoded twice: first without a graph, then to pass the
    gradient of its vectors back. The result is the same. `texts` are the tokens of the queries,
    then of the anchors.
    """
    size = CPU_BLOCK if tower.device.type == "cpu" else GPU_TRAINING_BLOCK
    blocks = text_blocks(texts, min(size, -(-len(texts) // parts)))
    leaves, graphs = torch.zeros(len(texts), tower.dimension, device=tower.device), []
    for rows in blocks:
        with torch.set_grad_enabled(parts == 1):
            vectors = tower.encode_blocks([texts[row] for row in rows.tolist()])
        leaves[torch.from_numpy(rows)] = vectors.detach()
        graphs.append(vectors if parts == 1 else None)
    leaves.requires_grad_()
    queries, anchors = leaves.split([len(batch.queries), len(batch.anchors)])
    loss = contrastive_loss(queries, anchors, batch)
    (gradient,) = torch.autograd.grad(loss, leaves)
    for rows, graph in zip(blocks, graphs, strict=True):
        if graph is None:
            graph = tower.encode_blocks([texts[row] for row in rows.tolist()])
        graph.backward(gradient[torch.from_numpy(rows)])
    return loss.detach()


def contrastive_loss(queries: Tensor, anchors: Tensor, batch: TowerBatch) -> Tensor:
    """Return the mean InfoNCE loss of queries [B, D] among anchors [A, D] (Eq. 11)."""
    scores = (SCALE * queries @ anchors.T).masked_fill(batch.blocked, -torch.inf)
    return F.cross_entropy(scores, batch.positives)
