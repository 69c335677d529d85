"""Learning of a text tower from the relations of a taxonomy (contrastive, InfoNCE).

Every query of a batch is compared with all parents in the batch, and with hard negatives: concepts
whose names are similar to one of the queries, and rejected parents. Blocked anchors (see
`blocked_among`) are left out. There is no dropout: in so few epochs it only slows the learning.

The linear maps and word vectors move the text of a query towards its parent's. The encoder stays as
it is, and its vectors are computed once, so a step costs two small products. The vector of a word
is shared by queries and anchors. It learns what the word means in this taxonomy, which only a
fine-tuning of all layers would learn otherwise.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from taxoexpan.config import Config
from taxoexpan.device import fast_matmul, release_memory
from taxoexpan.errors import ModelError
from taxoexpan.features.sentence_model import CPU_BLOCK, SentenceModel, Tokens
from taxoexpan.network.text_tower import EncodedTexts, TextMaps, anchor_texts, query_text
from taxoexpan.progress import Progress, write_line
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.continuation import ChangesSinceTraining
from taxoexpan.training.log import describe_epoch
from taxoexpan.training.metrics import Metrics
from taxoexpan.training.record import Epoch, History
from taxoexpan.training.run import Checkpoint, Run, without_compiler
from taxoexpan.training.sampling import blocked_among

BATCH_SIZE = 512
NEGATIVES = 1500
"""Anchors that a batch is compared with, besides its parents, if there are as many."""
MAP_RATE = 2e-3
WORD_RATE = 1e-3
"""The learning rates of the first step; they fall to zero."""
SCALE = 20.0
"""The factor of the cosines in the loss: an inverse temperature."""
GPU_TRAINING_BLOCK = 256
"""Texts that a GPU encodes at a time in training."""
NEAREST = 10
POOL = 20_000
"""A hard negative is one of so many nearest concepts, among a random sample of at most POOL."""
MAX_QUERIES = 50_000
"""Concepts that an epoch has as queries, at most, so that huge taxonomies do not take days."""
WARM_UP = 0.1
"""The fraction of the steps in which the learning rate rises; then it falls to zero."""
MAX_NORM = 1.0
"""Longer gradients are shortened to this length."""
BLOCK_SIZE = 512
"""Concepts whose nearest concepts are found at a time."""


def learn_maps(
    queries: EncodedTexts,
    anchors: EncodedTexts,
    start: TextMaps,
    taxonomy: Taxonomy,
    config: Config,
    seed: int,
    validate: Callable[[TextMaps], Metrics] | None = None,
    progress: bool = False,
    changes: ChangesSinceTraining | None = None,
) -> TextMaps | None:
    """Return the maps of the best epoch, or None if all N texts are best as they are."""
    rng = np.random.default_rng(seed)
    parents, children = taxonomy.relation_indices
    maps = replace(start, **{name: getattr(start, name).clone() for name in LEARNED})
    rates = dict(zip(LEARNED, (MAP_RATE, MAP_RATE, WORD_RATE), strict=True))
    groups = [{"params": [getattr(maps, n).requires_grad_()], "lr": r} for n, r in rates.items()]
    optimizer = without_compiler(torch.optim.Adam)(groups)
    best = None
    highest = -1.0 if validate is None else validate(start).reciprocal_rank
    starts = range(0, len(children), BATCH_SIZE)
    step = 0
    steps = config.map_epochs * len(starts)
    with Progress("maps", steps, "batches", shown=progress) as bar:
        for _ in range(config.map_epochs):
            order = rng.permutation(len(children))
            for rows in (order[start : start + BATCH_SIZE] for start in starts):
                others = _others(taxonomy, children[rows], rng, changes)
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
                best = now
                highest = reached
    return best


LEARNED = ("queries", "anchors", "words")
"""The tensors of `TextMaps`."""


def _others(
    taxonomy: Taxonomy,
    queries: Indices,
    rng: np.random.Generator,
    changes: ChangesSinceTraining | None,
) -> Indices:
    """Draw the anchors that a batch is compared with, and add the rejected ones."""
    drawn = rng.choice(len(taxonomy), min(NEGATIVES, len(taxonomy)), replace=False)
    return (
        drawn if changes is None else np.concatenate([drawn, changes.rejected.of_many(queries)[1]])
    )


def _loss(
    maps: TextMaps, queries: EncodedTexts, anchors: EncodedTexts, batch: TowerBatch
) -> Tensor:
    """Return the mean InfoNCE loss of a batch, given the texts of all concepts."""
    mapped = maps.map_queries(queries, batch.queries), maps.map_anchors(anchors, batch.anchors)
    return contrastive_loss(*mapped, batch)


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


def compute_gradients(
    tower: SentenceModel, texts: Sequence[Tokens], batch: TowerBatch, parts: int = 1
) -> Tensor:
    """Compute the gradients of a batch's mean loss, and return this loss.

    With several `parts`, each block is encoded twice: first without a graph, then to pass the
    gradient of its vectors back. The result is the same. `texts` are the tokens of the queries,
    then of the anchors.
    """
    size = CPU_BLOCK if tower.device.type == "cpu" else GPU_TRAINING_BLOCK
    size = min(size, -(-len(texts) // parts))
    # Texts of similar length are in one block, to avoid padding.
    by_length = np.argsort([len(each) for each in texts], kind="stable")
    blocks = np.array_split(by_length, -(-len(texts) // size))
    leaves = torch.zeros(len(texts), tower.dimension, device=tower.device)
    graphs = []
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


def train_tower(
    tower: SentenceModel,
    taxonomy: Taxonomy,
    similar: Indices,
    config: Config,
    seed: int,
    progress: bool = False,
    checkpoint: Checkpoint | None = None,
    changes: ChangesSinceTraining | None = None,
) -> History:
    """Fine-tune a tower, given the concepts with similar names [N, K] (see `similar_concepts`).

    With `changes`, an earlier fine-tuning is continued with the new relations. Ctrl-C ends the
    training with the weights of the last finished epoch. An existing checkpoint is continued; on a
    CPU, the result is the same bit for bit. The caller's random state is not changed.
    """
    gpus = [tower.device] if tower.device.type == "cuda" else []
    with torch.random.fork_rng(devices=gpus):
        run = TowerRun(tower, taxonomy, similar, config, seed, changes)
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
        changes: ChangesSinceTraining | None = None,
    ) -> None:
        self.parameters = tower.freeze_lower_layers(config.tuned_layers)
        fused = tower.device.type in ("cpu", "cuda")
        optimizer = without_compiler(torch.optim.AdamW)(
            self.parameters, config.tower_learning_rate, fused=fused
        )
        super().__init__(tower.eval(), optimizer, np.random.default_rng(seed))
        self.tower = tower
        self.taxonomy = taxonomy
        self.config = config
        self.changes = changes
        self.similar = similar
        self.parents, self.children = taxonomy.relation_indices
        self.query_tokens = tower.tokenize([query_text(c) for c in taxonomy.concepts])
        self.anchor_tokens = tower.tokenize(anchor_texts(taxonomy))
        tower.keep_states([*self.query_tokens, *self.anchor_tokens])
        drawn = min(len(np.unique(self.children)), MAX_QUERIES)
        if changes is not None:
            drawn = changes.count(self.parents, self.children)
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
            raise ModelError(f"the loss of the fine-tuning became {loss}", fix=fix)
        self.optimizer.zero_grad(set_to_none=True)
        release_memory()
        rate = self.optimizer.param_groups[0]["lr"]
        seconds = time.monotonic() - started
        number = self.finished_epochs + 1
        self.history.epochs.append(Epoch(number, loss, rate, None, round(seconds, 3)))
        self.keep_best(-number)

    def _draw_relations(self) -> Indices:
        """Draw the relations of one epoch in random order: one of each concept."""
        if self.changes is not None:
            return self.changes.draw(self.parents, self.children, self.rng)
        order = self.rng.permutation(len(self.children))
        order = order[np.unique(self.children[order], return_index=True)[1]]
        self.rng.shuffle(order)
        return order[:MAX_QUERIES]

    def _draw_batches(self) -> Iterator[TowerBatch]:
        """Yield the batches of one epoch; every second query has a hard negative."""
        order = self._draw_relations()
        size = self.config.tower_batch_size
        for start in range(0, len(order), size):
            rows = order[start : start + size]
            queries = self.children[rows]
            parents = self.parents[rows]
            drawn = self.similar[queries[::2]]
            drawn = drawn[np.arange(len(drawn)), self.rng.integers(0, drawn.shape[1], len(drawn))]
            if self.changes is not None:
                drawn = np.concatenate([drawn, self.changes.rejected.of_many(queries)[1]])
            yield TowerBatch.of(self.taxonomy, queries, parents, drawn, self.tower.device)

    def _set_learning_rate(self, step: int) -> None:
        warm = max(1, round(WARM_UP * self.steps))
        rising = (step + 1) / warm
        falling = (self.steps - step) / max(1, self.steps - warm)
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
