"""One fold: a model learns from what remains, and is asked where the masked concepts belong."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.adjacency import Indices
from taxoexpan.cleaning.folds import masked
from taxoexpan.metrics import ranks_in
from taxoexpan.model import TaxoExpan
from taxoexpan.supervision import hold_out
from taxoexpan.taxonomy import Taxonomy

Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Training:
    """How the model of every fold is made, as `TaxoExpan` takes it."""

    preset: str = "best"
    seed: int = 0
    device: str = "auto"
    settings: Mapping[str, Any] = field(default_factory=dict)

    def model(self) -> TaxoExpan:
        """A model that has learned nothing yet."""
        return TaxoExpan(self.preset, self.seed, self.device, **self.settings)


@dataclass(frozen=True, eq=False)
class Judgements:
    """What models think of relations, a row each; concepts are places in the whole taxonomy.

    `ranks` are those of the parents among all anchors, the concept's other parents left out;
    `others` the best anchors that are not above the concept now. Shares are logarithms, since the
    smallest of them are what matters.
    """

    concepts: Indices
    parents: Indices
    ranks: Indices
    shares: Floats
    others: Indices
    other_shares: Floats

    def columns(self) -> dict[str, NDArray[Any]]:
        """The columns by name."""
        return {column.name: getattr(self, column.name) for column in fields(self)}

    def where(self, wanted: NDArray[np.bool_]) -> Judgements:
        """Only some of the rows."""
        return Judgements(**{name: column[wanted] for name, column in self.columns().items()})

    @classmethod
    def together(cls, parts: Sequence[Judgements]) -> Judgements:
        """The rows of all parts, one after another."""
        columns = [part.columns() for part in parts]
        return cls(
            **{name: np.concatenate([each[name] for each in columns]) for name in columns[0]}
        )


def judge(
    taxonomy: Taxonomy, queries: Indices, training: Training, progress: bool = False
) -> Judgements:
    """Train on a taxonomy without these concepts' relations upwards, and judge those relations.

    A relation is left out where no other place is left to compare its parent with.
    """
    remaining = masked(taxonomy, queries)
    holdout = hold_out(taxonomy, [taxonomy.ids[i] for i in queries.tolist()], remaining)
    model = training.model()
    model.fit(remaining, progress=progress, expected=holdout.concepts)
    if model.history is not None and model.history.interrupted:
        raise KeyboardInterrupt  # a training that was cut short judges no relation
    kept = np.array([taxonomy.index(id) for id in remaining.ids])
    log_match = model.placement.match.log_match
    parts = []
    for start, scores in model.scores(holdout.concepts):
        stop = start + scores.shape[1]
        block = _Block(taxonomy, kept, queries[start:stop], holdout.parents[start:stop])
        parts.append(block.judged(scores, log_match(scores)))
    return Judgements.together(parts)


@dataclass(frozen=True)
class _Block:
    """Some queries, the parents of each among the anchors, and the anchors' places: `kept` [N]."""

    taxonomy: Taxonomy
    kept: Indices
    queries: Indices
    parents: tuple[Indices, ...]

    def judged(self, scores: Tensor, belief: Tensor) -> Judgements:
        """Judge by the scores that order the anchors, and by log f, both [N, Q] and used up."""
        lowest = scores.new_tensor(-torch.inf)
        # Under itself, or under what is below it, a concept cannot stand.
        below = self._pairs(*self.taxonomy.children_of.reach_of_many(self.queries))
        itself = self._pairs(np.arange(len(self.queries)), self.queries)
        for closed in (below, itself):
            scores, belief = scores.index_put(closed, lowest), belief.index_put(closed, lowest)
        ranks = np.concatenate(ranks_in(scores, self.parents)).astype(np.int64)
        # What is above a concept is no other place: the concept is there already, and a model that
        # would rather have it higher up only doubts how precise the relation is. Below its parent
        # is one: there the relation would be too coarse.
        above = self._pairs(*self.taxonomy.parents_of.reach_of_many(self.queries))
        best, others = scores.index_put_(above, lowest).max(0)
        rows = np.concatenate(self.parents)
        columns = np.repeat(np.arange(len(self.queries)), [len(each) for each in self.parents])
        shares, places = _log_shares(belief), others.cpu().numpy()[columns]
        judgements = Judgements(
            concepts=self.queries[columns],
            parents=self.kept[rows],
            ranks=ranks,
            shares=_at(shares, rows, columns),
            others=self.kept[places],
            other_shares=_at(shares, places, columns),
        )
        return judgements.where((best > lowest).cpu().numpy()[columns])

    def _pairs(self, columns: Indices, concepts: Indices) -> tuple[Tensor, Tensor]:
        """Concepts of the whole taxonomy as rows, as far as they remain, each with its column."""
        row_of = np.full(len(self.taxonomy), -1)
        row_of[self.kept] = np.arange(len(self.kept))
        rows = row_of[concepts]
        return torch.from_numpy(rows[rows >= 0]), torch.from_numpy(columns[rows >= 0])


def _log_shares(belief: Tensor) -> Tensor:
    """The logarithm of each anchor's share of the softmax over all anchors [N, Q]."""
    highest = belief.amax(0)
    return belief - (highest + (belief - highest).exp().sum(0).log())


def _at(shares: Tensor, rows: Indices, columns: Indices) -> Floats:
    device = shares.device
    found = shares[torch.from_numpy(rows).to(device), torch.from_numpy(columns).to(device)]
    return found.cpu().numpy().astype(np.float64)
