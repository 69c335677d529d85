"""The cosines of queries with anchors and their children, and the scores from them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property

import torch
from torch import Tensor
from torch.nn import functional as F

from taxoexpan.network.cosine_features import FusionHead
from taxoexpan.network.queries import Queries
from taxoexpan.placement.scoring.families import Families
from taxoexpan.placement.scoring.pair_features import Input
from taxoexpan.taxonomy.arrays import Floats

LEAF_COSINES = [0, 1, Input.ONE - Input.NAME]
"""Those that a leaf anchor has: the cosines of its name and of its head word, and 1."""
MAX_PAIRS = {"cpu": 1 << 14, "cuda": 1 << 23}
"""Pairs whose hidden units are computed at a time: few enough for the cache of a CPU."""


class ReusedMemory:
    """Tensors that are overwritten by each block of queries, since new memory is slow."""

    def __init__(self) -> None:
        self._tensors: dict[str, Tensor] = {}

    def take(self, name: str, like: Tensor, rows: int, columns: int) -> Tensor:
        """Return an uninitialized tensor [rows, columns] of the type of another one."""
        known = self._tensors.get(name)
        if known is None or known.shape != (rows, columns):
            known = self._tensors[name] = like.new_empty(rows, columns)
        return known


class QueryCosines:
    """The cosines of B queries, which are valid until the next block uses the same memory."""

    def __init__(
        self,
        families: Families,
        queries: Queries,
        memory: ReusedMemory,
        children: Tensor | None = None,
    ) -> None:
        self.families, self.queries, self.children = families, queries, children
        self._memory = memory

    @cached_property
    def names(self) -> Tensor:
        """The cosines with the names that occur [n, B]."""
        return self._product("names", self.families.names, self.queries.vectors[0])

    @cached_property
    def heads(self) -> Tensor:
        """The cosines with the head words that occur [V, B]."""
        return self._product("heads", self.families.heads, self.queries.vectors[1])

    @cached_property
    def _nearest(self) -> tuple[Tensor, Tensor, Tensor | None]:
        """The cosines with the nearest children, by name, head word and tower [I, B] each."""
        by_tower = None
        if self.children is not None and self.queries.tower is not None:
            by_tower = self.families.nearest(self.children @ self.queries.tower.T)
        return self.families.nearest(self.names), self.families.nearest_head(self.heads), by_tower

    def fill_leaves(self, inputs: Sequence[Tensor], rows: slice) -> None:
        """Write the two cosines of some anchors as leaves, [a, B] each."""
        torch.index_select(self.names, 0, self.families.own[rows], out=inputs[0])
        torch.index_select(self.heads, 0, self.families.own_heads[rows], out=inputs[1])

    def fill_parents(self, inputs: Sequence[Tensor], rows: slice) -> None:
        """Write the inputs `OF_COSINES` of some anchors with children, [i, B] each."""
        families, (by_name, by_head) = self.families, self.queries.vectors
        nearest, nearest_head, by_tower = self._nearest
        own, heads = families.own_of_parents[rows], families.heads_of_parents[rows]
        torch.index_select(self.names, 0, own, out=inputs[0])
        torch.index_select(self.heads, 0, heads, out=inputs[1])
        inputs[2].copy_(nearest[rows])
        inputs[3].copy_(nearest_head[rows])
        torch.mm(families.mean_names[rows], by_name.T, out=inputs[4])
        torch.mm(families.mean_heads[rows], by_head.T, out=inputs[5])
        inputs[6].copy_(families.log_counts[rows, None])
        inputs[7].fill_(1.0)
        inputs[8].zero_() if by_tower is None else inputs[8].copy_(by_tower[rows])

    def _product(self, name: str, vectors: Tensor, queries: Tensor) -> Tensor:
        result = self._memory.take(name, vectors, len(vectors), len(queries))
        return torch.mm(vectors, queries.T, out=result)


class CosineScorer:
    """Weights [2, 9] of cosines and [2] of the fusion head, for parents and leaf anchors."""

    def __init__(
        self,
        head: FusionHead | None,
        families: Families,
        weights: Floats,
        head_weights: Floats,
    ) -> None:
        self.families = families
        names = families.names
        hidden = names.new_zeros(0, 8) if head is None else head.hidden.detach()
        output = names.new_zeros(1, 0) if head is None else head.output.detach()
        self.hidden = F.pad(hidden, (0, 1))
        self.leaf_hidden = hidden[:, LEAF_COSINES].contiguous()
        of_both = weights[0], weights[1, LEAF_COSINES]
        self.outputs, self.leaf_outputs = (
            torch.cat([weight * output, names.new_tensor(own.tolist())[None]], 1)
            for own, weight in zip(of_both, head_weights.tolist(), strict=True)
        )


class CosineScores:
    """The scores of one block of B queries; anchors with children are scored first."""

    def __init__(self, scorer: CosineScorer, cosines: QueryCosines) -> None:
        self._scorer, self._cosines = scorer, cosines
        self._leaf_pairs: _Pairs | None = None
        self._of_parents = self._scores_of_parents()

    def add_to(self, result: Tensor, rows: slice) -> None:
        """Add the scores of some anchors to a result [n, B]."""
        families = self._scorer.families
        first, last = families.parents.searchsorted([rows.start, rows.stop]).tolist()
        parents = families.rows_of_parents[first:last] - rows.start
        before = result.index_select(0, parents)
        self._add_as_leaves(result.view(1, -1), rows)
        result.index_copy_(0, parents, before.add_(self._of_parents[first:last]))

    def _add_as_leaves(self, flat: Tensor, rows: slice) -> None:
        """Add the scores of some anchors as if none of them had children."""
        scorer, names = self._scorer, self._cosines.names
        size = names.shape[1]
        for part in row_slices(rows.stop - rows.start, size, MAX_PAIRS, names.device):
            count, pairs = part.stop - part.start, self._leaf_pairs
            if pairs is None or pairs.count != count:
                pairs = self._leaf_pairs = _Pairs(scorer.leaf_hidden, count, size)
                pairs.inputs[2].fill_(1.0)
            own = slice(rows.start + part.start, rows.start + part.stop)
            self._cosines.fill_leaves(pairs.inputs, own)
            pairs.activate()
            cells = flat[:, part.start * size : part.stop * size]
            cells.addmm_(scorer.leaf_outputs, pairs.table)

    def _scores_of_parents(self) -> Tensor:
        """Return the scores of the anchors with children: [I, B]."""
        scorer, names = self._scorer, self._cosines.names
        size, count = names.shape[1], len(scorer.families.parents)
        scores = names.new_empty(count, size)
        pairs: _Pairs | None = None
        for rows in row_slices(count, size, MAX_PAIRS, names.device):
            if pairs is None or pairs.count != rows.stop - rows.start:
                pairs = _Pairs(scorer.hidden, rows.stop - rows.start, size)
            self._cosines.fill_parents(pairs.inputs, rows)
            pairs.activate()
            torch.mm(scorer.outputs, pairs.table, out=scores[rows].view(1, -1))
        return scores


class _Pairs:
    """Hidden units and inputs of pairs, stacked for one matrix product: [H + I, C * S]."""

    def __init__(self, hidden: Tensor, count: int, size: int) -> None:
        units, inputs = hidden.shape
        self.count, self._hidden = count, hidden
        self.table = hidden.new_empty(units + inputs, count * size)
        self._units, self._flat = self.table[:units], self.table[units:]
        self.inputs = self._flat.view(inputs, count, size).unbind()

    def activate(self) -> None:
        """Compute the hidden units of the inputs."""
        torch.mm(self._hidden, self._flat, out=self._units)
        self._units.relu_()


def row_slices(
    count: int, size: int, limits: dict[str, int], device: torch.device, step: int = 1
) -> Iterator[slice]:
    """Split rows of `size` pairs into slices that fit the device, in multiples of `step`."""
    pairs = limits.get(device.type, limits["cpu"])
    rows = max(1, pairs // max(size, 1) // step) * step
    for start in range(0, count, rows):
        yield slice(start, min(start + rows, count))
