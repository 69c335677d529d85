"""Ranking every possible parent of a query (Section 4.3, inference), and branch probabilities.

The branch of a concept has consecutive numbers in a tree, and a few intervals of numbers in another
taxonomy (`ReachIntervals`), so its probability is a difference of sums. Every descendant counts
once.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.network.concept_vectors import LabeledQueries, Queries
from taxoexpan.network.matching import LogBilinearMatch
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.placement.scoring.anchors import Anchors
from taxoexpan.placement.scoring.best_scores import ScoreSummary, best_of
from taxoexpan.placement.scoring.pair_features import QueryCosines, ReusedMemory, SignalFusion
from taxoexpan.placement.scoring.scorer import Scorer
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Floats, Indices
from taxoexpan.taxonomy.informative_places import is_informative
from taxoexpan.training.true_ranks import rank_true_parents


class Branches:
    """The branches of a taxonomy, for sums over its concepts on a device."""

    def __init__(self, taxonomy: Taxonomy, device: torch.device) -> None:
        self._taxonomy = taxonomy
        self._device = device
        self._lineages: dict[int, Indices] = {}

    def levels(self, scores: Tensor, concepts: Indices, temperature: float = 1.0) -> Floats:
        """Return the probability of each branch on the paths of concepts [Q, K]: → [Q, K, L].

        Given are the scores of all concepts [N, Q]. The first of the L numbers belongs to the root;
        short paths are padded with NaN.
        """
        for index in np.setdiff1d(concepts, list(self._lineages)).tolist():
            self._lineages[index] = self._taxonomy.short_lineage(index)
        paths = [self._lineages[index] for index in concepts.ravel().tolist()]
        lengths = np.array([len(path) for path in paths])
        is_level = np.arange(lengths.max(initial=0)) < lengths[:, None]
        columns = np.repeat(np.arange(len(concepts)), concepts.shape[1])
        levels = np.full(is_level.shape, np.nan)
        levels[is_level] = self.sums(
            scores, np.concatenate(paths), np.repeat(columns, lengths), temperature
        )
        return levels.reshape(*concepts.shape, -1)

    def sums(
        self, scores: Tensor, concepts: Indices, columns: Indices, temperature: float = 1.0
    ) -> Floats:
        """Return the probabilities of branches, each for the query of a column: [N, Q] → [P].

        Scores are logarithms of probabilities, up to a constant per query.
        """
        distinct, owners = np.unique(concepts, return_inverse=True)
        reach = self._taxonomy.descendant_intervals
        branches, starts, stops = reach.intervals(distinct)
        # Only sums between the ends of intervals are needed, and there are fewer than concepts.
        ends = np.unique(np.concatenate([starts, stops]))
        segments = np.searchsorted(ends, reach.numbers, side="right")
        branch, segment, start, stop = (
            torch.from_numpy(each).to(self._device)
            for each in (branches, segments, *np.searchsorted(ends, [starts, stops]))
        )
        probabilities = (scores if temperature == 1 else scores / temperature).softmax(0)
        sums = probabilities.new_zeros(len(ends) + 1, scores.shape[1])
        below = sums.index_add_(0, segment, probabilities).cumsum(0)
        found = sums.new_zeros(len(distinct), scores.shape[1])
        found.index_add_(0, branch, below[stop] - below[start])
        pairs = (torch.from_numpy(each).to(self._device) for each in (owners, columns))
        result: Floats = found[tuple(pairs)].clamp_(0, 1).cpu().numpy().astype(np.float64)
        return result


def true_levels(
    taxonomy: Taxonomy, concepts: Indices, parents: Sequence[Indices]
) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return whether each branch on the paths has a true parent, and is informative: [Q, L] each.

    The levels are those of `Branches.levels`, given the concepts [Q] at the ends of the paths.
    """
    paths = [taxonomy.short_lineage(index) for index in concepts.tolist()]
    shape = len(paths), max(map(len, paths), default=0)
    right = np.zeros(shape, dtype=np.bool_)
    is_place = np.zeros(shape, dtype=np.bool_)
    for row, (path, own) in enumerate(zip(paths, parents, strict=True)):
        owners, _ = taxonomy.descendant_intervals.pairs_among(path, own)
        right[row, owners] = True
        is_place[row, : len(path)] = is_informative(taxonomy, path)
    return right, is_place


@dataclass(frozen=True)
class Ranking:
    """The anchors and scores [Q, k] of queries, best first, also at the temperature.

    `levels` [Q, k, L] are the tempered probabilities of the branches on the paths of the anchors,
    from the root down, padded with NaN; None if they were not wanted.
    """

    anchors: Indices
    scores: NDArray[np.float32]
    tempered: NDArray[np.float32]
    levels: Floats | None = None

    @classmethod
    def empty(cls) -> Ranking:
        """Return the ranking of no queries."""
        scores = np.zeros((0, 0), np.float32)
        return cls(np.zeros((0, 0), np.int64), scores, scores)

    def __getitem__(self, rows: slice) -> Ranking:
        """Return the ranking of some consecutive queries."""
        levels = None if self.levels is None else self.levels[rows]
        return Ranking(self.anchors[rows], self.scores[rows], self.tempered[rows], levels)


class Ranker:
    """A scorer of queries against all anchors of a taxonomy by the anchors' keys [N, k].

    Anchors whose vectors are streamed to a GPU are ranked on the host. Deprecated concepts score
    minus infinity.
    """

    def __init__(
        self,
        network: MatchingNetwork,
        anchors: Anchors,
        keys: Tensor | None = None,
        fusion: SignalFusion | None = None,
    ) -> None:
        self.keys = anchors.encode(network) if keys is None else keys.to(anchors.vectors.storage)
        if anchors.vectors.streamed_to is not None:
            network = copy.deepcopy(network).to(self.keys.device)
            anchors = anchors.stored()
        self.network = network
        self.anchors = anchors
        self.fusion = fusion
        deprecated = np.array(sorted(anchors.taxonomy.deprecated), dtype=np.int64)
        rows = np.flatnonzero(np.isin(anchors.chosen, deprecated))
        self.deprecated_rows = torch.from_numpy(rows).to(self.keys.device)

    def with_fusion(self, fusion: SignalFusion | None) -> Ranker:
        """Return the same ranker with another learned fusion, or without one."""
        other = copy.copy(self)
        other.__dict__.pop("_scorer", None)
        other.fusion = fusion
        return other

    def among(self, chosen: Indices) -> Ranker:
        """Return the ranker of some anchors only, given by index."""
        a = self.anchors
        rows = torch.from_numpy(chosen).to(self.keys.device)
        anchors = Anchors(a.taxonomy, a.vectors, a.siblings, chosen, a.texts)
        keys = self.keys.index_select(0, rows)
        return Ranker(self.network, anchors, keys, self.fusion)

    def log_match(self, scores: Tensor) -> Tensor:
        """Return log f of scores, where f is normalized over all anchors."""
        return self.network.match.log_match(scores) if self.fusion is None else scores

    @cached_property
    def _scorer(self) -> Scorer:
        return Scorer(self.network, self.anchors, self.keys, self.fusion, self.deprecated_rows)

    def scores(self, queries: Queries) -> Tensor:
        """Compute the score of every pair, higher is better: [N, Q]."""
        return self._scorer.score(queries)[0]

    def features(self, queries: Queries) -> Tensor:
        """Compute the features of every pair, which the learned fusion is fitted to: [F, N, Q]."""
        return self._scorer.features(queries)

    def rank(
        self,
        queries: Queries,
        top_k: int,
        temperature: float = 1.0,
        excluded: Sequence[Indices] | None = None,
        on_block: Callable[[QueryCosines], None] | None = None,
        with_levels: bool = False,
    ) -> Ranking:
        """Return the best anchors except `excluded`, with softmax probabilities as scores.

        `on_block` gets the cosines of each block of queries. Levels need all concepts as anchors.
        """
        fewest = (
            len(self.keys) - len(self.deprecated_rows) - max(map(len, excluded or ()), default=0)
        )
        top_k = min(top_k, max(fewest, 1))
        anchors = []
        scores = []
        tempered = []
        levels = list[Floats]()
        memory = ReusedMemory()
        for start, some in queries.blocks(len(self.keys)):
            no_parents = None
            if excluded:
                no_parents = _pairs(excluded[start : start + len(some)], self.keys.device)
            summary = ScoreSummary(temperature)
            log_f, best, cosines = self._rank_block(some, top_k, summary, no_parents, memory)
            if on_block is not None:
                on_block(cosines)
            log_total, tempered_total = summary.log_totals()
            anchors.append(best[1].T)
            scores.append((best[0] - log_total).exp_().T)
            tempered.append((best[0] / temperature - tempered_total).exp_().T)
            if with_levels:
                ends = anchors[-1].cpu().numpy()
                levels.append(self._branches.levels(log_f, ends, temperature))
        rows, first, second = (
            torch.cat(parts).cpu().numpy() for parts in (anchors, scores, tempered)
        )
        return Ranking(rows, first, second, padded_levels(levels) if with_levels else None)

    @cached_property
    def _branches(self) -> Branches:
        return Branches(self.anchors.taxonomy, self.keys.device)

    @torch.no_grad()
    def _rank_block(
        self,
        queries: Queries,
        count: int,
        summary: ScoreSummary,
        excluded: tuple[Tensor, Tensor] | None,
        memory: ReusedMemory,
    ) -> tuple[Tensor, tuple[Tensor, Tensor], QueryCosines]:
        """Return log f [N, Q] of queries, the k best with their rows [k, Q], and the cosines."""
        if self.fusion is not None or type(self.network.match) is LogBilinearMatch:
            scores, cosines = self._scorer.score(queries, excluded, summary, memory)
            return scores, summary.best_of(scores, count), cosines
        scores, cosines = self._scorer.score(queries, excluded)
        best, rows = best_of(scores, count)
        log_f = self.log_match(scores).masked_fill_(scores == -torch.inf, -torch.inf)
        summary.add(log_f)
        return log_f, (self.log_match(best), rows), cosines

    def true_ranks(self, queries: LabeledQueries) -> list[NDArray[np.floating]]:
        """Return the rank of each true parent of each query, as in `rank_true_parents`."""
        ranks: list[NDArray[np.floating]] = []
        for _, some in queries.blocks(len(self.keys)):
            ranks += rank_true_parents(self.scores(some), some.parents)
        return ranks


def padded_levels(parts: Sequence[Floats]) -> Floats:
    """Join the levels [Q, k, L] of several blocks of queries."""
    width = max((part.shape[2] for part in parts), default=0)
    padding = [[(0, 0), (0, 0), (0, width - part.shape[2])] for part in parts]
    padded = [np.pad(p, w, constant_values=np.nan) for p, w in zip(parts, padding, strict=True)]
    return np.concatenate(padded) if padded else np.zeros((0, 0, 0))


def _pairs(anchors: Sequence[Indices], device: torch.device) -> tuple[Tensor, Tensor]:
    """Return the row and the column of each anchor of each query."""
    columns = np.repeat(np.arange(len(anchors)), [len(own) for own in anchors])
    rows = np.concatenate(anchors)
    return torch.from_numpy(rows).to(device), torch.from_numpy(columns).to(device)
