"""Tokenized vocabularies, and batches of their relations that threads prepare in advance."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from reproduction.pretraining.encoders import EncoderTokenizer
from reproduction.pretraining.left_out import half_precision
from reproduction.pretraining.token_table import TokenTable, token_arrays
from reproduction.pretraining.vocabularies import SUFFIX, Vocabulary, read_vocabulary
from taxoexpan.device import CPU
from taxoexpan.features.sentence_model import SentenceModel
from taxoexpan.network.text_tower import anchor_texts, query_text
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.tower import TowerBatch

BATCH_SIZE = 512
"""Relations of a batch."""
BLOCK_SIZE = 512
"""Texts of similar length that are encoded at a time in training."""
LENGTH_MULTIPLE = 8
"""What the padded lengths are a multiple of, for the kernels of a GPU."""
MAX_RELATIONS = 12_000
"""Relations of a vocabulary that an epoch has, at most, so that large ones do not dominate."""
NEAREST = 30
"""A hard negative of a query is one of its nearest anchors."""
COMPARED = 2048
"""Queries whose nearest anchors are found at a time."""


class VocabularyTexts:
    """A vocabulary of N concepts whose texts are tokenized.

    The rows of the table are the queries [N] and the anchors [N] without definitions, and then
    both with definitions, if there are any.
    """

    def __init__(self, vocabulary: Vocabulary, table: TokenTable) -> None:
        self.vocabulary = vocabulary
        self.taxonomy = vocabulary.taxonomy
        self.table = table
        self.parents, self.children = self.taxonomy.relation_indices

    def rows(self, queries: Indices, anchors: Indices, defined: bool) -> Tensor:
        """Return the rows of the texts of queries [B], then of anchors [A]: [B + A]."""
        count = len(self.taxonomy)
        start = 2 * count if defined and self.taxonomy.definitions else 0
        return torch.from_numpy(np.concatenate([queries, anchors + count])) + start

    @torch.no_grad()
    def nearest_anchors(self, model: SentenceModel) -> Indices:
        """Return the nearest anchors of every concept, by the texts without definitions: [N, K]."""
        every = np.arange(len(self.taxonomy))
        with half_precision(model.device):
            vectors = self.table.encode(model, self.rows(every, every, defined=False))
        queries, anchors = vectors.split(len(every))
        count = min(NEAREST, len(every))
        found = [(part @ anchors.T).topk(count).indices for part in queries.split(COMPARED)]
        nearest: Indices = torch.cat(found).cpu().numpy()
        return nearest


def texts_of(taxonomy: Taxonomy) -> list[str]:
    """Return the texts of all concepts as queries, then as anchors."""
    return [*map(query_text, taxonomy.concepts), *anchor_texts(taxonomy)]


def read_texts(
    folder: Path, tokenizer: EncoderTokenizer, excluded: Collection[str], processes: int
) -> list[VocabularyTexts]:
    """Read all vocabularies of a directory, and tokenize them in processes."""
    paths = sorted(folder.glob(f"*{SUFFIX}"), key=lambda path: -path.stat().st_size)
    tokenize = partial(tokenize_vocabulary, tokenizer=tokenizer, excluded=excluded)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context) as pool:
        arrays = pool.map(tokenize, paths)  # while this process reads, as taxonomies stay in one
        vocabularies = [read_vocabulary(path, excluded) for path in paths]
        tables = [TokenTable(*each) for each in arrays]
    found = map(VocabularyTexts, vocabularies, tables)
    return sorted(found, key=lambda texts: texts.vocabulary.name)


def tokenize_vocabulary(
    path: Path, tokenizer: EncoderTokenizer, excluded: Collection[str]
) -> tuple[Indices, Indices]:
    """Return the number of tokens of each text of a vocabulary, and all tokens."""
    taxonomy = read_vocabulary(path, excluded).taxonomy
    texts = texts_of(
        Taxonomy.from_columns(taxonomy.ids, taxonomy.labels, *taxonomy.relation_indices)
    )
    if taxonomy.definitions:
        texts += texts_of(taxonomy)
    return token_arrays(tokenizer, texts)


@dataclass(frozen=True)
class PreparedBatch:
    """A batch, and the padded tokens of its texts in blocks of similar length.

    `places` [B + A] are the rows of the queries' and the anchors' vectors in those of the blocks.
    """

    batch: TowerBatch
    blocks: tuple[tuple[Tensor, Tensor], ...]
    places: Tensor

    @classmethod
    def of(
        cls, texts: VocabularyTexts, relations: Indices, others: Indices, defined: bool
    ) -> PreparedBatch:
        """Prepare relations [B] of a vocabulary, compared with their parents and other anchors."""
        queries = texts.children[relations]
        parents = texts.parents[relations]
        batch = TowerBatch.of(texts.taxonomy, queries, parents, others, CPU)
        rows = texts.rows(queries, batch.anchors, defined)
        order = texts.table.lengths[rows].argsort(stable=True)
        parts = order.split(BLOCK_SIZE)
        blocks = tuple(texts.table.batch(rows[part], LENGTH_MULTIPLE) for part in parts)
        return cls(batch, blocks, order.argsort())

    def map(self, change: Callable[[Tensor], Tensor]) -> PreparedBatch:
        """Return the same batch with changed tensors, such as on another device."""
        batch = replace(
            self.batch,
            positives=change(self.batch.positives),
            blocked=change(self.batch.blocked),
        )
        blocks = tuple((change(ids), change(mask)) for ids, mask in self.blocks)
        return PreparedBatch(batch, blocks, change(self.places))

    def encode(self, model: SentenceModel) -> tuple[Tensor, Tensor]:
        """Return the vectors of the queries [B, D] and the anchors [A, D]."""
        with half_precision(model.device):
            vectors = torch.cat([model(ids, mask) for ids, mask in self.blocks])
        queries, anchors = vectors.float()[self.places].split(
            [len(self.batch.queries), len(self.batch.anchors)]
        )
        return queries, anchors


class EpochPlan:
    """The relations of one epoch in random order, with the hard negatives of their queries."""

    def __init__(
        self,
        data: Sequence[VocabularyTexts],
        nearest: Sequence[Indices],
        with_definitions: float,
        rng: np.random.Generator,
    ) -> None:
        self.data = data
        self.nearest = nearest
        self.with_definitions = with_definitions
        self.rng = rng

    def batches(self) -> Iterator[Callable[[], PreparedBatch]]:
        """Yield functions that prepare the batches, which may be called in any order."""
        plan: list[tuple[int, Indices]] = []
        for number, texts in enumerate(self.data):
            order = self.rng.permutation(len(texts.children))[:MAX_RELATIONS]
            starts = range(0, len(order), BATCH_SIZE)
            plan += [(number, order[start : start + BATCH_SIZE]) for start in starts]
        for index in self.rng.permutation(len(plan)).tolist():
            number, relations = plan[index]
            nearest = self.nearest[number][self.data[number].children[relations]]
            drawn = self.rng.integers(0, nearest.shape[1], len(nearest))
            others = nearest[np.arange(len(nearest)), drawn]
            defined = bool(self.rng.random() < self.with_definitions)
            yield partial(PreparedBatch.of, self.data[number], relations, others, defined)


def prepare_ahead(
    tasks: Iterable[Callable[[], PreparedBatch]], device: torch.device, threads: int
) -> Iterator[PreparedBatch]:
    """Yield batches on a device in order, while threads prepare those that follow."""
    pin = device.type == "cuda"
    waiting: deque[Future[PreparedBatch]] = deque()

    def prepare(task: Callable[[], PreparedBatch]) -> PreparedBatch:
        return task().map(Tensor.pin_memory) if pin else task()

    def send(tensor: Tensor) -> Tensor:
        return tensor.to(device, non_blocking=True)

    with ThreadPoolExecutor(threads) as pool:
        for task in tasks:
            waiting.append(pool.submit(prepare, task))
            if len(waiting) > 2 * threads:
                yield waiting.popleft().result().map(send)
        while waiting:
            yield waiting.popleft().result().map(send)
