"""The gradients of one batch of the fine-tuning, whose texts are encoded in blocks.

The blocks do not depend on the number of processes, and each one has a seed of its own for dropout.
So it makes no difference which process encodes a block, or how often.
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
from taxoexpan.training.distributed import ALONE, Processes

SCALE = 20.0
"""The factor of the cosines in the loss: an inverse temperature."""
GPU_TRAINING_BLOCK = 256
"""Texts that a GPU encodes at a time in training; several GPUs share them in such blocks."""


@dataclass(frozen=True)
class TowerBatch:
    """Relations of a batch: queries [B], anchors in ascending order [A], each query's parent [B].

    `blocked` [B, A] says which anchors are no negatives of a query.
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
        own: the blocks that this process encodes.
        seeds: the seed of each block's dropout.
    """

    texts: Sequence[Tokens]
    rows: Sequence[Indices]
    own: Sequence[int]
    seeds: Sequence[int]

    @classmethod
    def of(
        cls, texts: Sequence[Tokens], size: int, processes: Processes, seeds: Sequence[int] = ()
    ) -> TextBlocks:
        """Divide texts into blocks of at most this size, and these among the processes.

        All numbers of `seeds` together determine those of the blocks.
        """
        lengths = np.array([len(each) for each in texts])
        rows = np.array_split(np.argsort(lengths, kind="stable"), -(-len(texts) // size))
        own = processes.own_blocks([len(block) * int(lengths[block[-1]]) for block in rows])
        drawn = np.random.SeedSequence(seeds).generate_state(len(rows), np.uint64)
        return cls(texts, rows, own, drawn.tolist())

    def encode(self, tower: TextTower) -> Iterator[tuple[Tensor, Tensor]]:
        """Yield the rows and the vectors of each block of this process."""
        for block in self.own:
            if tower.training:
                torch.manual_seed(self.seeds[block])
            rows = self.rows[block]
            vectors = tower([self.texts[row] for row in rows.tolist()])
            yield torch.from_numpy(rows).to(vectors.device), vectors


def compute_gradients(
    tower: TextTower,
    texts: Sequence[Tokens],
    batch: TowerBatch,
    seeds: Sequence[int] = (),
    parts: int = 1,
    processes: Processes = ALONE,
) -> Tensor:
    """Compute the gradients of this process's texts, and return the loss of the whole batch.

    In several parts, all texts are first encoded without a graph. The gradient of their vectors is
    then passed back block by block, which encodes each block again. The result is the same, unless
    there are so many parts that the blocks get smaller, with other dropout.

    Args:
        tower: the tower.
        texts: the tokens of the batch's queries and then of its anchors.
        batch: the batch.
        seeds: the seeds of dropout, which are different for every step.
        parts: the number of parts that memory requires.
        processes: those that share the texts. All of them have the same loss.
    """
    size = min(_block_size(tower, GPU_TRAINING_BLOCK), -(-len(texts) // parts))
    blocks = TextBlocks.of(texts, size, processes, seeds)

    def encode() -> list[tuple[Tensor, Tensor]]:
        with torch.set_grad_enabled(parts == 1):
            return list(blocks.encode(tower))

    encoded = processes.attempt(encode)
    leaves = _gather(encoded, len(texts), tower, processes).requires_grad_()

    def pass_back() -> Tensor:
        queries, anchors = leaves.split([len(batch.queries), len(batch.anchors)])
        loss = contrastive_loss(queries, anchors, batch)
        (gradient,) = torch.autograd.grad(loss, leaves)
        for rows, vectors in encoded if parts == 1 else blocks.encode(tower):
            vectors.backward(gradient[rows])
        return loss.detach()

    return processes.attempt(pass_back)


@torch.no_grad()
def encode_together(tower: TextTower, tokens: Sequence[Tokens], processes: Processes) -> Tensor:
    """Return one unit vector per text without dropout; the processes share the texts: [N, D]."""

    def encode(distinct: Sequence[Tokens]) -> Tensor:
        blocks = TextBlocks.of(distinct, _block_size(tower, GPU_BLOCK), processes)
        return _gather(blocks.encode(tower), len(distinct), tower, processes)

    return tower.encode_tokens(tokens, encode)


def _block_size(tower: TextTower, on_gpu: int) -> int:
    return CPU_BLOCK if tower.device.type == "cpu" else on_gpu


def _gather(
    blocks: Iterable[tuple[Tensor, Tensor]], count: int, tower: TextTower, processes: Processes
) -> Tensor:
    """Collect the vectors of all texts, without their graph, from all processes: [N, D]."""
    gathered = torch.zeros(count, tower.dimension, device=tower.device)
    for rows, vectors in blocks:
        gathered[rows] = vectors.detach()
    processes.add_up(gathered)  # the rows of the others are zero
    return gathered


def contrastive_loss(queries: Tensor, anchors: Tensor, batch: TowerBatch) -> Tensor:
    """Return the mean InfoNCE loss of queries [B, D] among anchors [A, D] (Eq. 11)."""
    scores = (SCALE * queries @ anchors.T).masked_fill(batch.blocked, -torch.inf)
    return F.cross_entropy(scores, batch.positives)
