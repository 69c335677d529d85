"""The gradients of one batch of the fine-tuning, whose texts are encoded in blocks.

Each block has a seed of its own for dropout, so it makes no difference how often it is encoded.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from taxoexpan.network.text_tower import CPU_BLOCK, GPU_BLOCK, TextTower, Tokens
from taxoexpan.taxonomy.arrays import Indices

SCALE = 20.0
"""The factor of the cosines in the loss: an inverse temperature."""
GPU_TRAINING_BLOCK = 256
"""Texts that a GPU encodes at a time in training."""


@dataclass(frozen=True)
class TowerBatch:
    """Relations of a batch: queries [B], anchors in ascending order [A], each query's parent [B].

    `blocked` [B, A] says which anchors are not negatives of a query.
    """

    queries: Indices
    anchors: Indices
    positives: Tensor
    blocked: Tensor


@dataclass(frozen=True)
class TextBlocks:
    """Texts in blocks of similar length, so that little is padding.

    Args:
        texts: the tokens of all texts.
        rows: the rows of the texts of each block.
        seeds: the seed of each block's dropout.
    """

    texts: Sequence[Tokens]
    rows: Sequence[Indices]
    seeds: Sequence[int]

    @classmethod
    def of(cls, texts: Sequence[Tokens], size: int, seeds: Sequence[int] = ()) -> TextBlocks:
        """Divide texts into blocks of at most this size.

        All numbers of `seeds` together determine the seeds of the blocks.
        """
        lengths = np.array([len(each) for each in texts])
        rows = np.array_split(np.argsort(lengths, kind="stable"), -(-len(texts) // size))
        drawn = np.random.SeedSequence(seeds).generate_state(len(rows), np.uint64)
        return cls(texts, rows, drawn.tolist())

    def encode(self, tower: TextTower) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the rows and the vectors of each block."""
        for rows, seed in zip(self.rows, self.seeds, strict=True):
            if tower.training:
                torch.manual_seed(seed)
            vectors = tower([self.texts[row] for row in rows.tolist()])
            yield torch.from_numpy(rows).to(vectors.device), vectors


def compute_gradients(
    tower: TextTower,
    texts: Sequence[Tokens],
    batch: TowerBatch,
    seeds: Sequence[int] = (),
    parts: int = 1,
) -> Tensor:
    """Compute the gradients of a batch's mean loss, and return that loss.

    In several parts, all texts are first encoded without a graph. The gradient of their vectors is
    then passed back block by block, which encodes each block again. The result is the same, unless
    there are so many parts that the blocks get smaller, with other dropout.

    Args:
        tower: the tower.
        texts: the tokens of the batch's queries and then of its anchors.
        batch: the batch.
        seeds: the seeds of dropout, which are different for every step.
        parts: the number of parts that memory requires.
    """
    size = min(_block_size(tower, GPU_TRAINING_BLOCK), -(-len(texts) // parts))
    blocks = TextBlocks.of(texts, size, seeds)
    with torch.set_grad_enabled(parts == 1):
        encoded = list(blocks.encode(tower))
    leaves = _gather(encoded, len(texts), tower).requires_grad_()
    queries, anchors = leaves.split([len(batch.queries), len(batch.anchors)])
    loss = contrastive_loss(queries, anchors, batch)
    (gradient,) = torch.autograd.grad(loss, leaves)
    for rows, vectors in encoded if parts == 1 else blocks.encode(tower):
        vectors.backward(gradient[rows])
    return loss.detach()


@torch.no_grad()
def encode_in_blocks(tower: TextTower, tokens: Sequence[Tokens]) -> Tensor:
    """Return one unit vector per text without dropout: [N, D]."""

    def encode(distinct: Sequence[Tokens]) -> Tensor:
        blocks = TextBlocks.of(distinct, _block_size(tower, GPU_BLOCK))
        return _gather(blocks.encode(tower), len(distinct), tower)

    return tower.encode_tokens(tokens, encode)


def _block_size(tower: TextTower, on_gpu: int) -> int:
    return CPU_BLOCK if tower.device.type == "cpu" else on_gpu


def _gather(blocks: Iterable[tuple[Tensor, Tensor]], count: int, tower: TextTower) -> Tensor:
    """Collect the vectors of all texts, without their graph: [N, D]."""
    gathered = torch.zeros(count, tower.dimension, device=tower.device)
    for rows, vectors in blocks:
        gathered[rows] = vectors.detach()
    return gathered


def contrastive_loss(queries: Tensor, anchors: Tensor, batch: TowerBatch) -> Tensor:
    """Return the mean InfoNCE loss of queries [B, D] among anchors [A, D] (Eq. 11)."""
    scores = (SCALE * queries @ anchors.T).masked_fill(batch.blocked, -torch.inf)
    return F.cross_entropy(scores, batch.positives)
