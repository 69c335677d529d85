"""The part of scores that depends on the cosine features of each pair.

These are the network's fusion head, which is not linear, and a weighted sum of the features
themselves. A leaf anchor has only two of the cosines, so most pairs of a taxonomy are short.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor

from taxoexpan.network.cosine_features import LOG_COUNT, ONE
from taxoexpan.network.fusion_head import FusionHead
from taxoexpan.network.queries import Queries
from taxoexpan.placement.scoring.families import Families

COSINES = 9
"""The features of `cosine_features`, and the tower's cosine with the nearest child."""
LEAF_COSINES = [0, 1, ONE]
"""Those that a leaf anchor has: the cosines of its name and of its head word, and 1."""
MAX_PAIRS = {"cpu": 1 << 14, "cuda": 1 << 23}
"""Pairs whose hidden units are computed at a time: few enough for the cache of a CPU."""


class CosineScorer:
    """Adds up hidden units and cosines of pairs, given the weights of both.

    Args:
        head: the network's fusion head, if it has one.
        families: the anchors with their children.
        weights: the weights of the cosine features [9], and of those of leaf anchors [3].
        head_weights: the weight of the fusion head for anchors with children, and for leaf anchors.
        is_separate: whether the fusion head's output is added to a first result without a weight,
            and the weighted cosines to a second one; otherwise both are added to one result.
        child_vectors: the tower's vectors of the concepts that occur in the families, if any.
    """

    def __init__(
        self,
        head: FusionHead | None,
        families: Families,
        weights: tuple[Sequence[float], Sequence[float]],
        head_weights: tuple[float, float],
        is_separate: bool = False,
        child_vectors: Tensor | None = None,
    ) -> None:
        self.families, self.child_vectors = families, child_vectors
        names = families.names
        hidden = names.new_zeros(0, 8) if head is None else head.hidden.detach()
        output = names.new_zeros(1, 0) if head is None else head.output.detach()
        self.hidden = torch.nn.functional.pad(hidden, (0, 1))
        self.leaf_hidden = hidden[:, LEAF_COSINES].contiguous()
        self.outputs, self.leaf_outputs = (
            _output_rows(output, names.new_tensor(own)[None], weight, is_separate)
            for own, weight in zip(weights, head_weights, strict=True)
        )
        self.parents = torch.from_numpy(families.parents).to(names.device)

    def of_queries(self, queries: Queries, memory: ReusedMemory | None = None) -> CosineScores:
        """Prepare the scores of a block of queries, which are valid until the next block."""
        return CosineScores(self, queries, ReusedMemory() if memory is None else memory)


class ReusedMemory:
    """Tensors that one block of queries after the other is written to.

    The operating system clears new memory, which takes almost as long as writing to it.
    """

    def __init__(self) -> None:
        self._tensors: dict[str, Tensor] = {}

    def take(self, name: str, like: Tensor, rows: int, columns: int) -> Tensor:
        """Return a tensor [rows, columns] with any content, of the type of another one."""
        known = self._tensors.get(name)
        if known is None or known.shape != (rows, columns):
            known = self._tensors[name] = like.new_empty(rows, columns)
        return known


class CosineScores:
    """The scores of one block of B queries.

    `names` [n, B] and `heads` [V, B] are the cosines of the names and head words that occur.
    """

    def __init__(self, scorer: CosineScorer, queries: Queries, memory: ReusedMemory) -> None:
        self._scorer, self._families, self._queries = scorer, scorer.families, queries
        names, heads = self._families.names, self._families.heads
        self.names = memory.take("names", names, len(names), len(queries))
        self.heads = memory.take("heads", heads, len(heads), len(queries))
        torch.mm(names, queries.vectors[0].T, out=self.names)
        torch.mm(heads, queries.vectors[1].T, out=self.heads)
        self._leaf_pairs: _Pairs | None = None
        self._of_parents = self._scores_of_parents()

    def add_to(self, results: Sequence[Tensor], rows: slice) -> None:
        """Add the scores of some anchors to one or two results, each [n, B]."""
        first, last = self._families.parents.searchsorted([rows.start, rows.stop]).tolist()
        parents = self._scorer.parents[first:last] - rows.start
        before = [result.index_select(0, parents) for result in results]
        self._add_as_leaves(results, rows)
        for result, old, own in zip(results, before, self._of_parents, strict=True):
            result.index_copy_(0, parents, old.add_(own[first:last]))

    def _add_as_leaves(self, results: Sequence[Tensor], rows: slice) -> None:
        """Add the scores of some anchors as if none of them had children."""
        scorer, size = self._scorer, self.names.shape[1]
        own, heads = self._families.own[rows], self._families.own_heads[rows]
        flat = [result.view(1, -1) for result in results]
        for part in row_slices(rows.stop - rows.start, size, MAX_PAIRS, self.names.device):
            count = part.stop - part.start
            pairs = self._leaf_pairs
            if pairs is None or pairs.count != count:
                pairs = self._leaf_pairs = _Pairs(scorer.leaf_hidden, count, size)
                pairs.features[2].fill_(1.0)
            torch.index_select(self.names, 0, own[part], out=pairs.features[0])
            torch.index_select(self.heads, 0, heads[part], out=pairs.features[1])
            pairs.activate()
            for result, weights in zip(flat, scorer.leaf_outputs, strict=True):
                result[:, part.start * size : part.stop * size].addmm_(weights, pairs.table)

    def _scores_of_parents(self) -> Tensor:
        """Return the scores of the anchors with children: [1 or 2, I, B]."""
        scorer, families, queries = self._scorer, self._families, self._queries
        size, count = self.names.shape[1], len(families.parents)
        scores = self.names.new_empty(len(scorer.outputs), count, size)
        if not count:
            return scores
        nearest, nearest_head = families.nearest(self.names), families.nearest_head(self.heads)
        by_tower = None
        if scorer.child_vectors is not None and queries.tower is not None:
            by_tower = families.nearest(scorer.child_vectors @ queries.tower.T)
        own = families.own.index_select(0, scorer.parents)
        heads = families.own_heads.index_select(0, scorer.parents)
        by_name, by_head = queries.vectors[0].T, queries.vectors[1].T
        pairs: _Pairs | None = None
        for rows in row_slices(count, size, MAX_PAIRS, self.names.device):
            if pairs is None or pairs.count != rows.stop - rows.start:
                pairs = _Pairs(scorer.hidden, rows.stop - rows.start, size)
            cosines = pairs.features
            torch.index_select(self.names, 0, own[rows], out=cosines[0])
            torch.index_select(self.heads, 0, heads[rows], out=cosines[1])
            cosines[2].copy_(nearest[rows])
            cosines[3].copy_(nearest_head[rows])
            torch.mm(families.mean_names[rows], by_name, out=cosines[4])
            torch.mm(families.mean_heads[rows], by_head, out=cosines[5])
            cosines[LOG_COUNT].copy_(families.log_counts[rows, None])
            cosines[ONE].fill_(1.0)
            cosines[8].zero_() if by_tower is None else cosines[8].copy_(by_tower[rows])
            pairs.activate()
            for score, weights in zip(scores, scorer.outputs, strict=True):
                torch.mm(weights, pairs.table, out=score[rows].view(1, -1))
        return scores


class _Pairs:
    """The hidden units and the features of the pairs of some anchors with all queries.

    They share one table [H + F, count * size], so that one product weighs both.
    """

    def __init__(self, hidden: Tensor, count: int, size: int) -> None:
        units, features = hidden.shape
        self.count, self.hidden = count, hidden
        self.table = hidden.new_empty(units + features, count * size)
        self.units, self.inputs = self.table[:units], self.table[units:]
        self.features = self.inputs.view(features, count, size).unbind()

    def activate(self) -> None:
        """Compute the hidden units of the features."""
        torch.mm(self.hidden, self.inputs, out=self.units)
        self.units.relu_()


def row_slices(
    count: int, size: int, limits: dict[str, int], device: torch.device, step: int = 1
) -> Iterator[slice]:
    """Split rows of `size` pairs each into slices within the limit of the device.

    A slice has a multiple of `step` rows, except for the last one.
    """
    pairs = limits.get(device.type, limits["cpu"])
    rows = max(1, pairs // max(size, 1) // step) * step
    for start in range(0, count, rows):
        yield slice(start, min(start + rows, count))


def _output_rows(output: Tensor, own: Tensor, weight: float, is_separate: bool) -> list[Tensor]:
    """Return the weights of hidden units and cosines for each result: [1, H + F] each."""
    if not is_separate:
        return [torch.cat([weight * output, own], 1)]
    pairs = (output, torch.zeros_like(own)), (torch.zeros_like(output), own)
    return [torch.cat(pair, 1) for pair in pairs]
