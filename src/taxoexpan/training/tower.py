"""Fine-tuning of a text tower on the relations of a taxonomy (contrastive, InfoNCE).

Every query of a batch is compared with all parents in the batch, and with hard negatives: concepts
whose names are similar to one of the queries, and rejected parents. Blocked anchors (see
`blocked_among`) are left out. There is no dropout: in so few epochs it only slows the learning.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from taxoexpan.config import Config
from taxoexpan.device import fast_matmul, release_memory
from taxoexpan.errors import ModelError
from taxoexpan.features.sentence_model import SentenceModel
from taxoexpan.network.text_tower import anchor_texts, query_text
from taxoexpan.progress import Progress, write_line
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.continuation import News
from taxoexpan.training.log import describe_epoch
from taxoexpan.training.record import Epoch, History
from taxoexpan.training.run import Checkpoint, Run, without_compiler
from taxoexpan.training.tower_gradients import TowerBatch, compute_gradients


def train_tower(
    tower: SentenceModel,
    taxonomy: Taxonomy,
    similar: Indices,
    config: Config,
    seed: int,
    progress: bool = False,
    checkpoint: Checkpoint | None = None,
    news: News | None = None,
) -> History:
    """Fine-tune a tower, given the concepts with similar names [N, K] (see `similar_concepts`).

    With `news`, an earlier fine-tuning is continued with the new relations. Ctrl-C ends the
    training with the weights of the last finished epoch. An existing checkpoint is continued; on a
    CPU, the result is the same bit for bit. The caller's random state is not changed.
    """
    gpus = [tower.device] if tower.device.type == "cuda" else []
    with torch.random.fork_rng(devices=gpus):
        run = TowerRun(tower, taxonomy, similar, config, seed, news)
        run.resume(checkpoint)
        try:
            with Progress(
                "fine-tuning", run.steps, "batches", shown=progress, done=run.done_steps
            ) as bar:
                while run.finished_epochs < config.tower_epochs:
                    run.train_epoch(bar)
                    # First: who reads the line may stop the training, and expects to resume there.
                    if checkpoint is not None:
                        checkpoint.save(run.state())
                    if progress:
                        epoch = run.history.epochs[-1]
                        write_line(describe_epoch(f"fine-tuning epoch {epoch.number}", epoch, True))
        except KeyboardInterrupt:
            run.history.interrupted = True
    return run.finish()


NEAREST, POOL = 10, 20_000
"""A hard negative is one of so many nearest concepts, among a random sample of at most POOL."""
MAX_QUERIES = 50_000
"""Concepts that an epoch has as queries, at most, so that huge taxonomies do not take days."""
WARM_UP = 0.1
"""The fraction of the steps in which the learning rate rises; then it falls to zero."""
MAX_NORM = 1.0
"""Longer gradients are shortened to this length."""
BLOCK_SIZE = 512
"""Concepts whose nearest concepts are found at a time."""


def similar_concepts(vectors: Tensor, seed: int) -> Indices:
    """Return the nearest concepts of each concept, given its unit vector [N, D]: [N, K]."""
    sample = np.sort(np.random.default_rng(seed).permutation(len(vectors))[:POOL])
    pool = vectors[torch.from_numpy(sample).to(vectors.device)]
    count = min(NEAREST + 1, len(pool))
    found = [(block @ pool.T).topk(count).indices.cpu() for block in vectors.split(BLOCK_SIZE)]
    nearest: Indices = sample[torch.cat(found).numpy()]
    return nearest[:, 1:]  # the first is the concept itself


class TowerRun(Run):
    """The state of the tower's fine-tuning between two epochs."""

    def __init__(
        self,
        tower: SentenceModel,
        taxonomy: Taxonomy,
        similar: Indices,
        config: Config,
        seed: int,
        news: News | None = None,
    ) -> None:
        self.parameters = tower.choose_layers()
        fused = tower.device.type in ("cpu", "cuda")
        optimizer = without_compiler(torch.optim.AdamW)(
            self.parameters, config.tower_learning_rate, fused=fused
        )
        super().__init__(tower.eval(), optimizer, np.random.default_rng(seed))
        self.tower, self.taxonomy, self.config, self.news = tower, taxonomy, config, news
        self.similar = similar
        self.parents, self.children = taxonomy.relation_indices
        self.query_tokens = tower.tokenize([query_text(c) for c in taxonomy.concepts])
        self.anchor_tokens = tower.tokenize(anchor_texts(taxonomy))
        drawn = min(len(np.unique(self.children)), MAX_QUERIES)
        if news is not None:
            drawn = news.count(self.parents, self.children)
        self.batches = math.ceil(drawn / config.tower_batch_size)
        self.keep_best(0)  # the encoder as it is

    @property
    def steps(self) -> int:
        """The number of optimizer steps in all epochs."""
        return self.batches * self.config.tower_epochs

    @property
    def done_steps(self) -> int:
        """The number of optimizer steps in the finished epochs."""
        return self.batches * self.finished_epochs

    def train_epoch(self, bar: Progress) -> None:
        """Train for one epoch, and keep its weights."""
        started = time.monotonic()
        total = torch.zeros((), device=self.tower.device)
        with fast_matmul(self.tower.device):
            for step, batch in enumerate(self._draw_batches(), start=self.done_steps):
                self._set_learning_rate(step)
                total += self._train_batch(batch)
                bar.update()
        loss = total.item() / self.batches
        if not math.isfinite(loss):
            fix = "train again with a lower tower_learning_rate"
            raise ModelError(f"the loss of the fine-tuning became {loss}; {fix}")
        self.optimizer.zero_grad(set_to_none=True)
        release_memory()
        rate, seconds = self.optimizer.param_groups[0]["lr"], time.monotonic() - started
        number = self.finished_epochs + 1
        self.history.epochs.append(Epoch(number, loss, rate, None, round(seconds, 3)))
        self.keep_best(-number)

    def _draw_relations(self) -> Indices:
        """Draw the relations of one epoch in random order: one of each concept."""
        if self.news is not None:
            return self.news.draw(self.parents, self.children, self.rng)
        order = self.rng.permutation(len(self.children))
        order = order[np.unique(self.children[order], return_index=True)[1]]
        self.rng.shuffle(order)
        return order[:MAX_QUERIES]

    def _draw_batches(self) -> Iterator[TowerBatch]:
        """Yield the batches of one epoch; every second query has a hard negative."""
        order, size = self._draw_relations(), self.config.tower_batch_size
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            queries, parents = self.children[rows], self.parents[rows]
            drawn = self.similar[queries[::2]]
            drawn = drawn[np.arange(len(drawn)), self.rng.integers(0, drawn.shape[1], len(drawn))]
            if self.news is not None:
                drawn = np.concatenate([drawn, self.news.rejected.of_many(queries)[1]])
            yield TowerBatch.of(self.taxonomy, queries, parents, drawn, self.tower.device)

    def _set_learning_rate(self, step: int) -> None:
        warm = max(1, round(WARM_UP * self.steps))
        rising, falling = (step + 1) / warm, (self.steps - step) / max(1, self.steps - warm)
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.tower_learning_rate * min(1.0, rising, falling)

    def _train_batch(self, batch: TowerBatch) -> Tensor:
        """Make one optimizer step, in as many parts as memory requires, and return the loss."""
        texts = [self.query_tokens[i] for i in batch.queries.tolist()]
        texts += [self.anchor_tokens[i] for i in batch.anchors.tolist()]
        loss = self.compute_in_parts(
            lambda: compute_gradients(self.tower, texts, batch, self.parts),
            len(texts),
            "text; set tower_epochs=0",
        )
        torch.nn.utils.clip_grad_norm_(self.parameters, MAX_NORM)
        self.optimizer.step()
        return loss
