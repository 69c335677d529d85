"""The gradients of one fine-tuning batch, in blocks that are encoded again with equal dropout."""

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


@dataclass(frozen=True)
class TextBlock:
    """The rows of some texts in a batch, and their dropout seed."""

    rows: Indices
    seed: int

    def encode(self, tower: SentenceModel, texts: Sequence[Tokens]) -> Tensor:
        """Return the vectors of the block's texts, given all texts of the batch: [b, D]."""
        if tower.training:
            torch.manual_seed(self.seed)
        return tower.encode_blocks([texts[row] for row in self.rows.tolist()])


def text_blocks(texts: Sequence[Tokens], size: int, seeds: Sequence[int]) -> list[TextBlock]:
    """Divide texts into blocks of at most this size and of similar length, to avoid padding."""
    lengths = np.array([len(each) for each in texts])
    rows = np.array_split(np.argsort(lengths, kind="stable"), -(-len(texts) // size))
    drawn = np.random.SeedSequence(seeds).generate_state(len(rows), np.uint64)
    return [TextBlock(*block) for block in zip(rows, drawn.tolist(), strict=True)]


def compute_gradients(
    tower: SentenceModel,
    texts: Sequence[Tokens],
    batch: TowerBatch,
    seeds: Sequence[int] = (),
    parts: int = 1,
) -> Tensor:
    """Compute the gradients of a batch's mean loss, and return this loss.

    With several `parts`, each block is encoded twice: first without a graph, then to pass the
    gradient of its vectors back. The result is the same unless the blocks get smaller. `texts` are
    the tokens of the queries, then of the anchors; `seeds` differ for every step.
    """
    size = CPU_BLOCK if tower.device.type == "cpu" else GPU_TRAINING_BLOCK
    blocks = text_blocks(texts, min(size, -(-len(texts) // parts)), seeds)
    leaves, graphs = torch.zeros(len(texts), tower.dimension, device=tower.device), []
    for block in blocks:
        with torch.set_grad_enabled(parts == 1):
            vectors = block.encode(tower, texts)
        leaves[torch.from_numpy(block.rows)] = vectors.detach()
        graphs.append(vectors if parts == 1 else None)
    leaves.requires_grad_()
    queries, anchors = leaves.split([len(batch.queries), len(batch.anchors)])
    loss = contrastive_loss(queries, anchors, batch)
    (gradient,) = torch.autograd.grad(loss, leaves)
    for block, graph in zip(blocks, graphs, strict=True):
        vectors = block.encode(tower, texts) if graph is None else graph
        vectors.backward(gradient[torch.from_numpy(block.rows)])
    return loss.detach()


def contrastive_loss(queries: Tensor, anchors: Tensor, batch: TowerBatch) -> Tensor:
    """Return the mean InfoNCE loss of queries [B, D] among anchors [A, D] (Eq. 11)."""
    scores = (SCALE * queries @ anchors.T).masked_fill(batch.blocked, -torch.inf)
    return F.cross_entropy(scores, batch.positives)
