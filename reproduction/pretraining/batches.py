"""Tokenized vocabularies, and batches of their relations with hard negatives."""

from __future__ import annotations

import copy
import multiprocessing
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import torch
from scipy import sparse
from torch import Tensor

from reproduction.pretraining.left_out import half_precision
from reproduction.pretraining.token_table import TextTokenizer, TokenTable, token_arrays
from reproduction.pretraining.vocabularies import SUFFIX, Vocabulary, read_vocabulary
from taxoexpan.features.sentence_model import SentenceModel
from taxoexpan.network.text_tower import anchor_texts, query_text
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.tower import TowerBatch

BATCH_SIZE = 512
"""Relations of a batch."""
MAX_RELATIONS = 12_000
"""Relations of a vocabulary that an epoch has, at most, so that large ones do not dominate."""
NEAREST = 30
"""A hard negative of a query is one of its nearest anchors."""
COMPARED = 2048
"""Queries whose nearest anchors are found at a time."""


class VocabularyTexts:
    """A vocabulary of N concepts whose texts are tokenized, on a device.

    The rows of the table are the queries [N] and the anchors [N] without definitions, and then
    both with definitions, if there are any.
    """

    def __init__(self, vocabulary: Vocabulary, table: TokenTable) -> None:
        self.vocabulary = vocabulary
        self.taxonomy = vocabulary.taxonomy
        self.table = table
        self.parents, self.children = self.taxonomy.relation_indices
        self._blocked = torch.from_numpy(blocked_keys(self.taxonomy)).to(table.flat.device)

    def to(self, device: torch.device) -> VocabularyTexts:
        """Return the same texts on another device."""
        moved = copy.copy(self)
        moved.table = self.table.to(device)
        moved._blocked = self._blocked.to(device)
        return moved

    def query_rows(self, concepts: Indices, defined: bool) -> Indices:
        """Return the rows of the texts of concepts as queries."""
        count = len(self.taxonomy)
        return concepts + (2 * count if defined and self.taxonomy.definitions else 0)

    def anchor_rows(self, concepts: Indices, defined: bool) -> Indices:
        """Return the rows of the texts of concepts as anchors."""
        return self.query_rows(concepts, defined) + len(self.taxonomy)

    def batch(self, relations: Indices, others: Indices) -> TowerBatch:
        """Return relations [B] of the vocabulary, compared with their parents and other anchors."""
        device = self.table.flat.device
        queries = self.children[relations]
        parents = self.parents[relations]
        anchors = np.unique(np.concatenate([parents, others]))
        places = np.searchsorted(anchors, parents)
        positives, of_queries, of_anchors = (
            torch.from_numpy(each).to(device, non_blocking=True)
            for each in (places, queries, anchors)
        )
        keys = of_queries[:, None] * len(self.taxonomy) + of_anchors
        found = torch.searchsorted(self._blocked, keys).clamp(max=len(self._blocked) - 1)
        blocked = self._blocked[found] == keys
        blocked.scatter_(1, positives[:, None], False)
        return TowerBatch(queries, anchors, positives, blocked)

    @torch.no_grad()
    def nearest_anchors(self, model: SentenceModel) -> Indices:
        """Return the nearest anchors of every concept, by the texts without definitions: [N, K]."""
        every = np.arange(len(self.taxonomy))
        rows = np.concatenate(
            [self.query_rows(every, defined=False), self.anchor_rows(every, defined=False)]
        )
        with half_precision(model.device):
            vectors = self.table.encode(model, rows)
        return nearest_rows(*vectors.split(len(every)))


def nearest_rows(queries: Tensor, anchors: Tensor) -> Indices:
    """Return the nearest anchors [N, D] of queries [B, D]: [B, K]."""
    count = min(NEAREST, len(anchors))
    found = [(part @ anchors.T).topk(count).indices for part in queries.split(COMPARED)]
    nearest: Indices = torch.cat(found).cpu().numpy()
    return nearest


def blocked_keys(taxonomy: Taxonomy) -> Indices:
    """Return the pairs of a query and an anchor that is not its negative, as ascending numbers.

    These are a concept's parents, itself and its descendants; a pair is `query * N + anchor`.
    """
    count = len(taxonomy)
    parents, children = taxonomy.relation_indices
    below = sparse.csr_array((np.ones(len(parents), bool), (parents, children)), (count, count))
    reached = sparse.eye_array(count, dtype=bool, format="csr")
    level = reached
    while level.nnz:
        level = level @ below
        reached = reached + level
    of_queries, of_anchors = reached.nonzero()
    descendants = of_queries.astype(np.int64) * count + of_anchors
    return np.unique(np.concatenate([descendants, children * count + parents]))


def texts_of(taxonomy: Taxonomy) -> list[str]:
    """Return the texts of all concepts as queries, then as anchors."""
    return [*map(query_text, taxonomy.concepts), *anchor_texts(taxonomy)]


def read_texts(
    folder: Path,
    tokenizer: TextTokenizer,
    excluded: Collection[str],
    processes: int,
    device: torch.device,
) -> list[VocabularyTexts]:
    """Read all vocabularies of a directory, and tokenize them in processes."""
    paths = sorted(folder.glob(f"*{SUFFIX}"), key=lambda path: -path.stat().st_size)
    tokenize = partial(tokenize_vocabulary, tokenizer=tokenizer, excluded=excluded)
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(processes, context) as pool:
        arrays = pool.map(tokenize, paths)  # while this process reads, as taxonomies stay in one
        vocabularies = [read_vocabulary(path, excluded) for path in paths]
        tables = [TokenTable(*each, device) for each in arrays]
    found = map(VocabularyTexts, vocabularies, tables)
    return sorted(found, key=lambda texts: texts.vocabulary.name)


def tokenize_vocabulary(
    path: Path, tokenizer: TextTokenizer, excluded: Collection[str]
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
class DrawnRelations:
    """The relations of a batch, of a vocabulary given by its number, and its hard negatives."""

    vocabulary: int
    relations: Indices
    others: Indices
    defined: bool


def draw_epoch(
    data: Sequence[VocabularyTexts],
    nearest: Sequence[Indices],
    with_definitions: float,
    rng: np.random.Generator,
) -> Iterator[DrawnRelations]:
    """Yield the batches of one epoch in random order."""
    plan: list[tuple[int, Indices]] = []
    for number, texts in enumerate(data):
        order = rng.permutation(len(texts.children))[:MAX_RELATIONS]
        starts = range(0, len(order), BATCH_SIZE)
        plan += [(number, order[start : start + BATCH_SIZE]) for start in starts]
    for index in rng.permutation(len(plan)).tolist():
        number, relations = plan[index]
        close = nearest[number][data[number].children[relations]]
        drawn = close[np.arange(len(close)), rng.integers(0, close.shape[1], len(close))]
        yield DrawnRelations(number, relations, drawn, bool(rng.random() < with_definitions))
