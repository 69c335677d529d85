"""Scores of shared words; only pairs of an anchor and a query that share a word cost time."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from scipy.sparse import csc_array, csr_array
from torch import Tensor

from taxoexpan.device import move_to
from taxoexpan.features.label_words import LabelWords, Numbers, QueryWords
from taxoexpan.placement.scoring.pair_features import Input
from taxoexpan.taxonomy.arrays import Floats, Indices

MAX_ENTRIES = {"cpu": 1 << 20, "cuda": 1 << 25}
"""Entries of posting lists that are added at a time; one list may be longer."""


class Postings:
    """The rows and values of each column of a sparse matrix [N, V], on a device."""

    def __init__(self, matrix: csr_array, device: torch.device) -> None:
        by_column = csc_array(matrix)
        self.offsets = by_column.indptr.astype(np.int64)
        self.rows = torch.from_numpy(by_column.indices.astype(np.int64)).to(device)
        self.values = torch.from_numpy(by_column.data.astype(np.float32)).to(device)

    def add_to(self, scores: Tensor, columns: Indices, queries: Indices, factors: Numbers) -> None:
        """Add C columns, each times its factor, to the scores [N, Q] of its query: [C] each."""
        flat = scores.view(-1)
        device = scores.device
        lengths = self.offsets[columns + 1] - self.offsets[columns]
        limit = MAX_ENTRIES.get(device.type, MAX_ENTRIES["cpu"])
        for run in _runs(lengths, limit):
            run_lengths = lengths[run]
            ends = np.cumsum(run_lengths)
            total = int(ends[-1])
            # Entry e of the run is entry e + shift of all columns.
            shifts = self.offsets[columns[run]] - (ends - run_lengths)
            moved = move_to(torch.from_numpy(np.stack([run_lengths, shifts, queries[run]])), device)
            column = torch.repeat_interleave(moved[0], output_size=total)
            entries = torch.arange(total, device=device) + moved[1].index_select(0, column)
            cells = self.rows.index_select(0, entries).mul_(scores.shape[1])
            cells += moved[2].index_select(0, column)
            values = self.values.index_select(0, entries)
            values *= move_to(torch.from_numpy(factors[run]), device).index_select(0, column)
            flat.index_add_(0, cells, values.to(flat.dtype))


class WordScores:
    """The contributions of the words of N anchors to scores, as in `LabelWords.compare`.

    `weights` [I] are those of all inputs of a score; only the inputs `OF_WORDS` are used.
    """

    def __init__(self, words: LabelWords, weights: Floats, device: torch.device | str) -> None:
        self._device = torch.device(device)
        self._names = csc_array(words.named)
        self._weights: list[float] = weights.tolist()
        of_query_words = self._weights[Input.QUERY_WORDS]
        of_path_words = self._weights[Input.PATH_WORDS]
        # Both count the query's words by their share of the query.
        shared = words.labels * of_query_words + words.paths * of_path_words
        self._shares_of_query = Postings(csr_array(shared), self._device)
        of_anchor_words = self._weights[Input.ANCHOR_WORDS]
        self._shares_of_anchor = Postings(words.weighted * of_anchor_words, self._device)
        last_words = _one_hot(words.heads, len(words.vocabulary))
        self._last_words = Postings(last_words * self._weights[Input.LAST_WORD], self._device)

    def add_to(self, scores: Tensor, queries: QueryWords) -> None:
        """Add the contributions to the scores of all anchors with these queries: [N, Q]."""
        words = queries.words
        word_of = queries.word_of
        self._shares_of_query.add_to(scores, words, word_of, queries.weighted)
        self._shares_of_anchor.add_to(scores, words, word_of, np.ones(len(words), np.float32))
        known = np.flatnonzero(queries.heads >= 0)
        ones = np.ones(len(known), np.float32)
        self._last_words.add_to(scores, queries.heads[known], known, ones)
        self._add_names(scores, queries, queries.is_ending, self._weights[Input.ENDING])
        self._add_names(scores, queries, ~queries.is_ending, self._weights[Input.INSIDE])

    def _add_names(
        self, scores: Tensor, queries: QueryWords, is_kind: NDArray[np.bool_], weight: float
    ) -> None:
        """Add the weight of contained names of a kind, once for an anchor with several of them."""
        anchors_of_names = self._names[:, queries.names[is_kind]].tocoo()
        query_of_name = queries.name_of[is_kind]
        rows = anchors_of_names.row.astype(np.int64)
        cells = np.unique(rows * scores.shape[1] + query_of_name[anchors_of_names.col])
        if weight and len(cells):
            bonus = scores.new_full((len(cells),), weight)
            scores.view(-1).index_add_(0, move_to(torch.from_numpy(cells), self._device), bonus)


def _one_hot(numbers: Indices, width: int) -> csr_array:
    """Return a matrix with a 1 in the numbered column of each row, unless it is negative."""
    rows = np.flatnonzero(numbers >= 0)
    ones = np.ones(len(rows), np.float32)
    return csr_array((ones, (rows, numbers[rows])), shape=(len(numbers), width))


def _runs(lengths: Indices, limit: int) -> Iterator[slice]:
    """Split lists into consecutive runs of at most `limit` entries, or of one list.

    Empty lists at the end are left out.
    """
    ends = np.cumsum(lengths)
    start = 0
    while start < len(lengths):
        before = ends[start] - lengths[start]
        if before == ends[-1]:
            return
        stop = max(start + 1, int(np.searchsorted(ends, before + limit, side="right")))
        yield slice(start, stop)
        start = stop
