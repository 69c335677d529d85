"""Sparse scores of shared words: only pairs of anchor and query that share a word cost time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch
from scipy.sparse import csc_array, csr_array
from torch import Tensor

from taxoexpan.features.label_words import LabelWords, Numbers, QueryWords
from taxoexpan.taxonomy.arrays import Indices

MAX_ENTRIES = {"cpu": 1 << 20, "cuda": 1 << 25}
"""Entries of posting lists that are added at a time; one list may be longer."""


class Postings:
    """The rows and values of each column of a sparse matrix [N, V], on a device."""

    def __init__(self, matrix: csr_array, device: torch.device) -> None:
        by_column = csc_array(matrix)
        self.offsets = by_column.indptr.astype(np.int64)
        self.rows = torch.from_numpy(by_column.indices.astype(np.int64)).to(device)
        self.values = torch.from_numpy(by_column.data.astype(np.float32)).to(device)

    def add_to(self, scores: Tensor, columns: Indices, of: Indices, factors: Numbers) -> None:
        """Add the lists of some columns to scores [N, Q], each for one query and with a factor."""
        flat = scores.view(-1)
        device = scores.device
        lengths = self.offsets[columns + 1] - self.offsets[columns]
        limit = MAX_ENTRIES.get(device.type, MAX_ENTRIES["cpu"])
        for some in _runs(lengths, limit):
            count = lengths[some]
            ends = np.cumsum(count)
            total = int(ends[-1])
            whole = np.stack([count, self.offsets[columns[some]] - (ends - count), of[some]])
            counts, shifts, queries = _moved(whole, device)
            entry = torch.repeat_interleave(counts, output_size=total)
            position = torch.arange(total, device=device) + shifts.index_select(0, entry)
            cells = self.rows.index_select(0, position).mul_(scores.shape[1])
            cells += queries.index_select(0, entry)
            values = self.values.index_select(0, position)
            values *= _moved(factors[some], device).index_select(0, entry)
            flat.index_add_(0, cells, values.to(flat.dtype))


class WordScores:
    """The contributions of the words of N anchors to scores, as in `LabelWords.compare`."""

    def __init__(
        self, words: LabelWords, weights: Sequence[float], device: torch.device | str
    ) -> None:
        self._device = torch.device(device)
        self._by_name = csc_array(words.named)
        self._ending, self._inside, last_word, query_words, anchor_words, path_words = weights
        shared = words.labels * query_words + words.paths * path_words
        self._weighted = Postings(csr_array(shared), self._device)
        self._present = Postings(words.weighted * anchor_words, self._device)
        self._last = Postings(
            _one_hot(words.heads, len(words.vocabulary)) * last_word, self._device
        )

    def add_to(self, scores: Tensor, queries: QueryWords) -> None:
        """Add the contributions to the scores of all anchors with these queries: [N, Q]."""
        words = queries.words
        of = queries.word_of
        self._weighted.add_to(scores, words, of, queries.weighted)
        self._present.add_to(scores, words, of, np.ones(len(of), np.float32))
        known = np.flatnonzero(queries.heads >= 0)
        ones = np.ones(len(known), np.float32)
        self._last.add_to(scores, queries.heads[known], known, ones)
        self._add_names(scores, queries)

    def _add_names(self, scores: Tensor, queries: QueryWords) -> None:
        """Add the weights of contained names, once for an anchor with several of them."""
        size = scores.shape[1]
        for is_kind, weight in (
            (queries.is_ending, self._ending),
            (~queries.is_ending, self._inside),
        ):
            found = self._by_name[:, queries.names[is_kind]].tocoo()
            cells = np.unique(
                found.row.astype(np.int64) * size + queries.name_of[is_kind][found.col]
            )
            if weight and len(cells):
                bonus = scores.new_full((len(cells),), weight)
                scores.view(-1).index_add_(0, _moved(cells, self._device), bonus)


def _one_hot(numbers: Indices, width: int) -> csr_array:
    """Return a matrix with a 1 in the numbered column of each row, unless it is negative."""
    rows = np.flatnonzero(numbers >= 0)
    ones = np.ones(len(rows), np.float32)
    return csr_array((ones, (rows, numbers[rows])), shape=(len(numbers), width))


def _runs(lengths: Indices, limit: int) -> Iterator[slice]:
    """Split lists into consecutive runs of at most `limit` entries, or of one list."""
    ends = np.cumsum(lengths)
    start = 0
    while start < len(lengths) and ends[-1] > (before := ends[start] - lengths[start]):
        stop = max(start + 1, int(np.searchsorted(ends, before + limit, side="right")))
        yield slice(start, stop)
        start = stop


def _moved(array: Indices | Numbers, device: torch.device) -> Tensor:
    """Return an array on a device, without waiting for the transfer."""
    tensor = torch.from_numpy(array)
    return tensor.pin_memory().to(device, non_blocking=True) if device.type == "cuda" else tensor
