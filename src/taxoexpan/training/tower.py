"""Fine-tuning a text tower on the relations of a taxonomy (contrastive, InfoNCE).

A batch has some relations, the distinct parents in it, and as many hard negatives: anchors among
the nearest of the batch's queries. Anchors that were rejected as their parents are added. Every
query is compared with all these anchors, except its other parents, itself and its descendants.
"""

from __future__ import annotations

import copy
import math
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict

import numpy as np
import torch
from torch import Tensor

from taxoexpan.config import Config
from taxoexpan.device import fast_matmul, release_memory
from taxoexpan.errors import ModelError, is_out_of_memory
from taxoexpan.network.text_tower import TextTower, Tokens, anchor_texts, query_text
from taxoexpan.phrasing import pluralize
from taxoexpan.progress import Progress, write_line
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.checkpoint import (
    Checkpoint,
    State,
    add_prefix,
    optimizer_tensors,
    restore_optimizer,
    with_prefix,
)
from taxoexpan.training.continuation import News
from taxoexpan.training.log import describe_metrics
from taxoexpan.training.metrics import Metrics
from taxoexpan.training.record import TowerHistory
from taxoexpan.training.sampling import blocked_among
from taxoexpan.training.tower_gradients import TowerBatch, compute_gradients, encode_in_blocks


def train_tower(
    tower: TextTower,
    taxonomy: Taxonomy,
    config: Config,
    seed: int,
    validate: Validate | None = None,
    progress: bool = False,
    checkpoint: Checkpoint | None = None,
    news: News | None = None,
) -> TowerHistory:
    """Fine-tune a tower, and leave the weights of the best epoch in it.

    With `news`, the tower has been fine-tuned before, and learns what is new since.

    Ctrl-C ends the training with the best state so far, which may be the encoder as it came. If the
    file of the checkpoint exists, the training continues from it. On a CPU, the result is the same
    bit for bit. The random numbers of the caller are left as they were.
    """
    gpus = [tower.device] if tower.device.type == "cuda" else []
    with torch.random.fork_rng(devices=gpus):
        run = TowerRun(tower, taxonomy, config, seed, validate, news)
        if checkpoint is not None and checkpoint.path.exists():
            checkpoint.restore(run)
        try:
            with Progress(
                "fine-tuning", run.steps, "batches", shown=progress, done=run.step
            ) as bar:
                if progress:
                    write_line(
                        f"fine-tuning the encoder: {pluralize(run.remaining, 'epoch')} to go"
                    )
                while run.epoch < config.tower_epochs:
                    run.train_epoch(bar)
                    # First: who reads the line may stop the training, and expects to resume there.
                    if checkpoint is not None:
                        checkpoint.save_if_possible(run.state())
                    if progress:
                        write_line(run.last_epoch())
        except KeyboardInterrupt:
            run.history.interrupted = True
    if run.best_weights:
        tower.load_state_dict(run.best_weights)
    tower.eval()
    return run.history


NEAREST = 30
"""The nearest anchors of a query, among which its hard negatives are drawn."""
WARM_UP = 0.1
"""The fraction of the steps in which the learning rate rises; then it falls to zero."""
MAX_NORM = 1.0
"""Longer gradients are shortened to this length."""
BLOCK_SIZE = 512
"""Queries whose nearest anchors are found at a time."""

Validate = Callable[[TextTower, Tensor], Metrics]
"""Returns the metrics of a tower, given its vectors of all anchors."""


class TowerRun:
    """A fine-tuning between two epochs: weights, optimizer, best weights so far, random numbers."""

    def __init__(
        self,
        tower: TextTower,
        taxonomy: Taxonomy,
        config: Config,
        seed: int,
        validate: Validate | None,
        news: News | None = None,
    ) -> None:
        self.tower, self.taxonomy, self.config, self.validate = tower, taxonomy, config, validate
        self.seed, self.news = seed, news
        self.rng = np.random.default_rng(seed)
        self.parents, self.children = taxonomy.relation_indices
        self.query_tokens = tower.tokenize([query_text(c) for c in taxonomy.concepts])
        self.anchor_tokens = tower.tokenize(anchor_texts(taxonomy))
        self.parameters = [p for p in tower.parameters() if p.requires_grad]
        fused = tower.device.type in ("cpu", "cuda")
        self.optimizer = torch.optim.AdamW(self.parameters, config.tower_learning_rate, fused=fused)
        drawn = len(self.children)
        if news is not None:
            drawn = news.count(self.parents, self.children)
        self.batches = math.ceil(drawn / config.tower_batch_size)
        self.epoch, self.parts = 0, 1
        self.history, self.highest = TowerHistory(), -1.0
        self.best_weights: dict[str, Tensor] = {}
        self.anchor_vectors: Tensor | None = None

    @property
    def steps(self) -> int:
        """The number of steps of the whole fine-tuning."""
        return self.batches * self.config.tower_epochs

    @property
    def remaining(self) -> int:
        """The number of epochs that are left."""
        return self.config.tower_epochs - self.epoch

    def last_epoch(self) -> str:
        """Describe the last finished epoch."""
        text = f"fine-tuning epoch {self.epoch}  loss {self.history.losses[-1]:.4f}"
        if self.history.validation:
            text += f"  {describe_metrics(self.history.validation[-1])}"
        return text + ("  *" if self.history.best == self.epoch else "")

    @property
    def step(self) -> int:
        """The number of steps of the finished epochs."""
        return self.batches * self.epoch

    def train_epoch(self, bar: Progress) -> None:
        """Train on every relation once, and keep the weights if they are the best so far."""
        if self.anchor_vectors is None:
            self._encode_and_validate()
        hard = self._hard_negatives()
        self.anchor_vectors = None  # outdated after one step
        release_memory()
        total = torch.zeros((), device=self.tower.device)
        with fast_matmul(self.tower.device):
            for number, batch in enumerate(self._draw_batches(hard)):
                self._set_learning_rate(self.step + number)
                total += self._train_batch(batch, self.step + number)
                bar.update()
        loss = total.item() / self.batches
        if not math.isfinite(loss):
            fix = "train again with a lower tower_learning_rate"
            raise ModelError(f"the loss of the fine-tuning became {loss}; {fix}")
        self.epoch += 1
        self.history.losses.append(loss)
        self.optimizer.zero_grad(set_to_none=True)
        release_memory()
        self._encode_and_validate()

    def _encode_and_validate(self) -> None:
        """Encode all anchors, for the hard negatives of the next epoch and to validate this one."""
        vectors = self.anchor_vectors = self._encode(self.anchor_tokens)
        if self.validate is not None:
            metrics = self.validate(self.tower, vectors)
            if self.epoch:
                self.history.validation.append(metrics)
            if metrics.reciprocal_rank <= self.highest:
                return
            self.highest = metrics.reciprocal_rank
        self._keep_weights()
        self.history.best = self.epoch

    def _encode(self, tokens: Sequence[Tokens]) -> Tensor:
        return encode_in_blocks(self.tower, tokens)

    @torch.no_grad()
    def _keep_weights(self) -> None:
        """Remember the present weights, in the memory of those that were kept before."""
        weights = self.tower.state_dict()
        if not self.best_weights:
            self.best_weights = copy.deepcopy(weights)
        for name, tensor in weights.items():
            self.best_weights[name].copy_(tensor)

    @torch.no_grad()
    def _hard_negatives(self) -> Indices:
        """Return the nearest anchors of every concept as a query: [N, K]."""
        assert self.anchor_vectors is not None
        queries = self._encode(self.query_tokens)
        count = min(NEAREST, len(queries))
        nearest = [
            (block @ self.anchor_vectors.T).topk(count).indices.cpu()
            for block in queries.split(BLOCK_SIZE)
        ]
        return torch.cat(nearest).numpy()

    def _draw_batches(self, hard: Indices) -> Iterator[TowerBatch]:
        """Yield all relations in random order, with the hard negatives of their queries."""
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
            anchors = np.unique(np.concatenate([parents, drawn]))
            positives = np.searchsorted(anchors, parents)
            blocked = torch.zeros(len(queries), len(anchors), dtype=torch.bool)
            of_anchor, of_query = blocked_among(self.taxonomy, queries, anchors)
            blocked[of_query, of_anchor] = True
            blocked[np.arange(len(queries)), positives] = False
            device = self.tower.device
            targets = torch.from_numpy(positives).to(device)
            yield TowerBatch(queries, anchors, targets, blocked.to(device))

    def _set_learning_rate(self, step: int) -> None:
        warm = max(1, round(WARM_UP * self.steps))
        rising, falling = (step + 1) / warm, (self.steps - step) / max(1, self.steps - warm)
        for group in self.optimizer.param_groups:
            group["lr"] = self.config.tower_learning_rate * min(1.0, rising, falling)

    def _train_batch(self, batch: TowerBatch, step: int) -> Tensor:
        """Make one optimizer step, with the batch in as many parts as memory requires; its loss."""
        self.tower.train()
        texts = [self.query_tokens[i] for i in batch.queries.tolist()]
        texts += [self.anchor_tokens[i] for i in batch.anchors.tolist()]
        seeds = (self.seed, step)
        while True:
            try:
                self.optimizer.zero_grad(set_to_none=True)
                loss = compute_gradients(self.tower, texts, batch, seeds, self.parts)
                break
            except (MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error):
                    raise
                if self.parts >= len(texts):
                    message = f"the memory of {self.tower.device} is too small for a single text"
                    raise ModelError(f"{message}; set tower_epochs=0") from None
            # Outside the handler, so that the memory of the failed attempt has been released.
            self._split_batches_further()
        torch.nn.utils.clip_grad_norm_(self.parameters, MAX_NORM)
        self.optimizer.step()
        return loss

    def _split_batches_further(self) -> None:
        self.parts *= 2
        if torch.cuda.is_available():
            torch.cuda.empty_cache()
        message = f"out of memory: each batch is now encoded in {self.parts} parts"
        warnings.warn(message, stacklevel=2)

    def state(self) -> State:
        """Return everything that the next epochs depend on."""
        tensors = add_prefix("weights", self.tower.state_dict())
        tensors |= optimizer_tensors(self.optimizer)
        if self.history.best != self.epoch:
            tensors |= add_prefix("best", self.best_weights)
        return State(
            tensors,
            {
                "epoch": self.epoch,
                "losses": self.history.losses,
                "validation": [asdict(metrics) for metrics in self.history.validation],
                "best": self.history.best,
                "highest": self.highest,
                "groups": self.optimizer.state_dict()["param_groups"],
                "draws": self.rng.bit_generator.state,
                "parts": self.parts,
            },
        )

    def restore(self, state: State) -> None:
        """Restore the state from a checkpoint."""
        values, tensors = state.values, state.tensors
        self.tower.load_state_dict(with_prefix("weights", tensors))
        best = with_prefix("best", tensors)
        self.best_weights = best or copy.deepcopy(self.tower.state_dict())
        restore_optimizer(self.optimizer, tensors, values["groups"])
        self.rng.bit_generator.state = values["draws"]
        validation = [Metrics(**metrics) for metrics in values["validation"]]
        self.history = TowerHistory(
            [*map(float, values["losses"])], validation, state.count("best")
        )
        self.epoch, self.highest = state.count("epoch"), state.number("highest")
        self.parts = state.count("parts", 1)
        self.anchor_vectors = self._encode(self.anchor_tokens)
