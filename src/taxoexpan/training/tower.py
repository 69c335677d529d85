"""Fine-tuning of a text tower on the relations of a taxonomy (contrastive, InfoNCE).

Every query of a batch is compared with all parents in the batch, and with hard negatives: anchors
near one of the queries, and rejected parents. Blocked anchors (see `blocked_among`) are left out.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator

import numpy as np
import torch
from torch import Tensor

from taxoexpan.config import Config
from taxoexpan.device import fast_matmul, release_memory
from taxoexpan.errors import ModelError
from taxoexpan.features.sentence_model import SentenceModel
from taxoexpan.network.text_tower import anchor_texts, query_text, replace_embeddings
from taxoexpan.progress import Progress, write_line
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.checkpoint import Checkpoint, State
from taxoexpan.training.continuation import News
from taxoexpan.training.log import describe_epoch
from taxoexpan.training.metrics import Metrics
from taxoexpan.training.record import Epoch, History
from taxoexpan.training.run import Run, without_compiler
from taxoexpan.training.tower_gradients import TowerBatch, compute_gradients


def train_tower(
    tower: SentenceModel,
    taxonomy: Taxonomy,
    config: Config,
    seed: int,
    validate: Validate | None = None,
    progress: bool = False,
    checkpoint: Checkpoint | None = None,
    news: News | None = None,
) -> History:
    """Fine-tune a tower, and leave the weights of the best epoch in it.

    With `news`, an earlier fine-tuning is continued with the new relations. Ctrl-C ends the
    training with the best state so far, which may be the original encoder. An existing checkpoint
    is continued; on a CPU, the result is the same bit for bit. The caller's random state is not
    changed.
    """
    gpus = [tower.device] if tower.device.type == "cuda" else []
    with torch.random.fork_rng(devices=gpus):
        run = TowerRun(tower, taxonomy, config, seed, validate, news)
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
                        epoch, best = run.history.epochs[-1], run.history.best
                        name = f"fine-tuning epoch {epoch.number}"
                        write_line(describe_epoch(name, epoch, best == epoch.number))
        except KeyboardInterrupt:
            run.history.interrupted = True
    return run.finish()


NEAREST = 30
"""The nearest anchors of a query, among which its hard negatives are drawn."""
WARM_UP = 0.1
"""The fraction of the steps in which the learning rate rises; then it falls to zero."""
MAX_NORM = 1.0
"""Longer gradients are shortened to this length."""
BLOCK_SIZE = 512
"""Queries whose nearest anchors are found at a time."""

Validate = Callable[[SentenceModel, Tensor], Metrics]
"""Returns the metrics of a tower, given its vectors of all anchors."""


class TowerRun(Run):
    """The state of the tower's fine-tuning between two epochs."""

    def __init__(
        self,
        tower: SentenceModel,
        taxonomy: Taxonomy,
        config: Config,
        seed: int,
        validate: Validate | None,
        news: News | None = None,
    ) -> None:
        replace_embeddings(tower)
        self.parameters = [p for p in tower.parameters() if p.requires_grad]
        fused = tower.device.type in ("cpu", "cuda")
        optimizer = without_compiler(torch.optim.AdamW)(
            self.parameters, config.tower_learning_rate, fused=fused
        )
        super().__init__(tower, optimizer, np.random.default_rng(seed))
        self.tower, self.taxonomy, self.config, self.validate = tower, taxonomy, config, validate
        self.seed, self.news = seed, news
        self.parents, self.children = taxonomy.relation_indices
        self.query_tokens = tower.tokenize([query_text(c) for c in taxonomy.concepts])
        self.anchor_tokens = tower.tokenize(anchor_texts(taxonomy))
        drawn = len(self.children)
        if news is not None:
            drawn = news.count(self.parents, self.children)
        self.batches = math.ceil(drawn / config.tower_batch_size)
        self.anchor_vectors: Tensor | None = None

    @property
    def steps(self) -> int:
        """The number of optimizer steps in all epochs."""
        return self.batches * self.config.tower_epochs

    @property
    def done_steps(self) -> int:
        """The number of optimizer steps in the finished epochs."""
        return self.batches * self.finished_epochs

    def train_epoch(self, bar: Progress) -> None:
        """Train on the relations of one epoch, and keep the weights if they are the best so far."""
        if self.anchor_vectors is None:
            self._keep_if_best(self._encode_and_validate())
        started = time.monotonic()
        hard = self._hard_negatives()
        self.anchor_vectors = None  # outdated after one step
        release_memory()
        total = torch.zeros((), device=self.tower.device)
        with fast_matmul(self.tower.device):
            for step, batch in enumerate(self._draw_batches(hard), start=self.done_steps):
                self._set_learning_rate(step)
                total += self._train_batch(batch, step)
                bar.update()
        loss = total.item() / self.batches
        if not math.isfinite(loss):
            fix = "train again with a lower tower_learning_rate"
            raise ModelError(f"the loss of the fine-tuning became {loss}; {fix}")
        self.optimizer.zero_grad(set_to_none=True)
        release_memory()
        metrics = self._encode_and_validate()
        rate, seconds = self.optimizer.param_groups[0]["lr"], time.monotonic() - started
        number = self.finished_epochs + 1
        self.history.epochs.append(Epoch(number, loss, rate, metrics, round(seconds, 3)))
        self._keep_if_best(metrics)

    def _encode_and_validate(self) -> Metrics | None:
        """Encode all anchors for validation and for the hard negatives of the next epoch."""
        self.anchor_vectors = self.tower.encode_tokens(self.anchor_tokens)
        return None if self.validate is None else self.validate(self.tower, self.anchor_vectors)

    def _keep_if_best(self, metrics: Metrics | None) -> None:
        """Keep the weights if they are the best so far, or always without validation."""
        self.keep_best(-self.finished_epochs if metrics is None else -metrics.reciprocal_rank)

    @torch.no_grad()
    def _hard_negatives(self) -> Indices:
        """Return the nearest anchors of every concept as a query: [N, K]."""
        assert self.anchor_vectors is not None
        queries = self.tower.encode_tokens(self.query_tokens)
        count = min(NEAREST, len(queries))
        nearest = [
            (block @ self.anchor_vectors.T).topk(count).indices.cpu()
            for block in queries.split(BLOCK_SIZE)
        ]
        return torch.cat(nearest).numpy()

    def _draw_batches(self, hard: Indices) -> Iterator[TowerBatch]:
        """Yield batches of relations in random order, with hard negatives of their queries."""
        news, size = self.news, self.config.tower_batch_size
        if news is None:
            order = self.rng.permutation(len(self.children))
        else:
            order = news.draw(self.parents, self.children, self.rng)
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            queries, parents = self.children[rows], self.parents[rows]
            drawn = hard[queries, self.rng.integers(0, hard.shape[1], len(queries))]
            if news is not None:
                drawn = np.concatenate([drawn, news.rejected.of_many(queries)[1]])
            yield TowerBatch.of(self.taxonomy, queries, parents, drawn, self.tower.device)

    def _set_learning_rate(self, step: int) -> None:
        warm = max(1, round(WARM_UP * self.steps))
        rising, falling = (step + 1) / warm, (self.steps - step) / max(1, self.steps - warm)
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.tower_learning_rate * min(1.0, rising, falling)

    def _train_batch(self, batch: TowerBatch, step: int) -> Tensor:
        """Make one optimizer step, in as many parts as memory requires, and return the loss."""
        self.tower.train()
        texts = [self.query_tokens[i] for i in batch.queries.tolist()]
        texts += [self.anchor_tokens[i] for i in batch.anchors.tolist()]
        loss = self.compute_in_parts(
            lambda: compute_gradients(self.tower, texts, batch, (self.seed, step), self.parts),
            len(texts),
            "text; set tower_epochs=0",
        )
        torch.nn.utils.clip_grad_norm_(self.parameters, MAX_NORM)
        self.optimizer.step()
        return loss

    def restore(self, state: State) -> None:
        """Restore the state from a checkpoint."""
        super().restore(state)
        self.anchor_vectors = self.tower.encode_tokens(self.anchor_tokens)
