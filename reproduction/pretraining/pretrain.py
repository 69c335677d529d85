"""Pre-train MiniLM to encode a concept near its parent, on many vocabularies at once.

    python -m reproduction.pretraining.pretrain VOCABULARIES -o encoder/ --exclude tests.txt

VOCABULARIES has a file NAME.jsonl.gz per vocabulary. The texts and the loss are the same as in the
package's fine-tuning. A batch consists of relations of one vocabulary; the other parents of the
batch and one hard negative per query are the negatives. Half of the batches have definitions. With
`--without DOMAIN`, the vocabularies of a domain are left out and measured after each epoch.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from safetensors.torch import save_file
from torch import Tensor

from reproduction.pretraining.left_out import LeftOut, half_precision, measure_all
from reproduction.pretraining.start import load_start, start_folder
from reproduction.pretraining.token_table import TokenTable
from reproduction.pretraining.vocabularies import DOMAINS, read_excluded, read_vocabularies
from taxoexpan.features.minilm import MiniLM, quantize
from taxoexpan.features.pretrained import VOCABULARY, WEIGHTS
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.tower import MAX_NORM, NEAREST, WARM_UP, TowerBatch, contrastive_loss

BATCH_SIZE = 512
MAX_RELATIONS = 6000
"""Relations of a vocabulary that an epoch has, at most, so that large ones do not dominate."""
LEARNING_RATE = 1e-4
WITH_DEFINITIONS = 0.5
"""The fraction of the batches with definitions."""
BLOCK_SIZE = 2048
"""Queries whose nearest anchors are found at a time."""


class TokenizedVocabulary:
    """A taxonomy whose query and anchor texts are tokenized, without and with definitions."""

    def __init__(self, model: MiniLM, taxonomy: Taxonomy) -> None:
        self.taxonomy = taxonomy
        self.parents, self.children = taxonomy.relation_indices
        plain = Taxonomy.from_columns(taxonomy.ids, taxonomy.labels, self.parents, self.children)
        self.plain = TokenTable.of_taxonomy(model, plain)
        self.defined = TokenTable.of_taxonomy(model, taxonomy) if taxonomy.definitions else None

    def tables(self, defined: bool) -> tuple[TokenTable, TokenTable]:
        """Return the texts of queries and anchors, with definitions if wanted and available."""
        return self.defined if defined and self.defined is not None else self.plain


@dataclass(frozen=True)
class VocabularyBatch:
    """A batch of relations of a vocabulary, given by its number."""

    vocabulary: int
    defined: bool
    batch: TowerBatch


class Pretraining:
    """A model in pre-training on vocabularies, with its optimizer."""

    def __init__(
        self, model: MiniLM, taxonomies: Sequence[Taxonomy], epochs: int, seed: int
    ) -> None:
        self.model, self.device = model, model.device
        self.rng = np.random.default_rng(seed)
        self.data = [TokenizedVocabulary(model, taxonomy) for taxonomy in taxonomies]
        self.optimizer = torch.optim.AdamW(model.parameters(), LEARNING_RATE, fused=True)
        counts = [min(MAX_RELATIONS, len(each.children)) for each in self.data]
        self.steps = epochs * sum(-(-count // BATCH_SIZE) for count in counts)
        self.step = 0

    def train_epoch(self, number: int) -> float:
        """Train on the relations of one epoch, and return the mean loss."""
        batches = self._draw(self._nearest_anchors(defined=number % 2 == 1))
        self.model.train()
        total, before = torch.zeros((), device=self.device), self.step
        with ThreadPoolExecutor(1) as pool:  # draws a batch while the last one is trained
            following = pool.submit(next, batches, None)
            while (batch := following.result()) is not None:
                following = pool.submit(next, batches, None)
                total += self._train_batch(batch)
        return float(total) / (self.step - before)

    @torch.no_grad()
    def _nearest_anchors(self, defined: bool) -> list[Indices]:
        """Return the nearest anchors of every concept of each vocabulary: [N, K] each."""
        self.model.eval()
        nearest = []
        for each in self.data:
            with half_precision(self.device):
                queries, anchors = (t.encode_all(self.model) for t in each.tables(defined))
            count = min(NEAREST, len(queries))
            found = [(part @ anchors.T).topk(count).indices for part in queries.split(BLOCK_SIZE)]
            nearest.append(torch.cat(found).cpu().numpy())
        return nearest

    def _draw(self, nearest: Sequence[Indices]) -> Iterator[VocabularyBatch]:
        """Yield the batches of one epoch in random order."""
        plan: list[tuple[int, Indices]] = []
        for number, each in enumerate(self.data):
            order = self.rng.permutation(len(each.children))[:MAX_RELATIONS]
            starts = range(0, len(order), BATCH_SIZE)
            plan += [(number, order[start : start + BATCH_SIZE]) for start in starts]
        for index in self.rng.permutation(len(plan)).tolist():
            number, relations = plan[index]
            defined = bool(self.rng.random() < WITH_DEFINITIONS)
            batch = self._batch(self.data[number], relations, nearest[number])
            yield VocabularyBatch(number, defined, batch)

    def _batch(self, data: TokenizedVocabulary, relations: Indices, nearest: Indices) -> TowerBatch:
        """Return a batch of relations, with one hard negative per query."""
        queries, parents = data.children[relations], data.parents[relations]
        drawn = nearest[queries, self.rng.integers(0, nearest.shape[1], len(queries))]
        return TowerBatch.of(data.taxonomy, queries, parents, drawn, self.device)

    def _train_batch(self, drawn: VocabularyBatch) -> Tensor:
        """Make one step of the optimizer, and return the loss."""
        done = self.step / self.steps
        rate = min(1.0, (done + 1 / self.steps) / WARM_UP, (1 - done) / (1 - WARM_UP))
        for group in self.optimizer.param_groups:
            group["lr"] = LEARNING_RATE * rate
        batch, tables = drawn.batch, self.data[drawn.vocabulary].tables(drawn.defined)
        with half_precision(self.device):
            queries, anchors = (
                table.encode(self.model, torch.from_numpy(rows).to(self.device))
                for table, rows in zip(tables, (batch.queries, batch.anchors), strict=True)
            )
        loss = contrastive_loss(queries, anchors, batch)
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(self.model.parameters(), MAX_NORM)
        self.optimizer.step()
        self.step += 1
        return loss.detach()


def main() -> None:
    """Pre-train, and save the encoder with the figures of the vocabularies that were left out."""
    options = parse_arguments()
    torch.manual_seed(options.seed)
    model = load_start().to("cuda" if torch.cuda.is_available() else "cpu")
    everything = read_vocabularies(options.vocabularies, read_excluded(options.exclude))
    left_out = [each for each in everything if each.domain in options.without]
    used = [each.taxonomy for each in everything if each.domain not in options.without]
    tests = [LeftOut(model, each.taxonomy) for each in left_out]
    run = Pretraining(model, used, options.epochs, options.seed)
    figures = [measure_all(model, left_out, tests)]
    for number in range(options.epochs):
        loss = run.train_epoch(number)
        print(f"epoch {number + 1}: loss {loss:.4f}", file=sys.stderr, flush=True)
        figures.append(measure_all(model, left_out, tests))
    options.output.mkdir(parents=True, exist_ok=True)
    weights = quantize(model.cpu().state_dict())
    save_file({name: each.contiguous() for name, each in weights.items()}, options.output / WEIGHTS)
    shutil.copy(start_folder() / "vocab.txt", options.output / VOCABULARY)
    (options.output / "left-out.json").write_text(json.dumps(figures), encoding="utf-8")


def parse_arguments() -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("vocabularies", type=Path)
    parser.add_argument("-o", "--output", type=Path, required=True)
    parser.add_argument(
        "--exclude", type=Path, action="append", default=[], help="a file with a name per line"
    )
    parser.add_argument("--without", choices=DOMAINS, action="append", default=[])
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--seed", type=int, default=0)
    return parser.parse_args()


if __name__ == "__main__":
    main()
