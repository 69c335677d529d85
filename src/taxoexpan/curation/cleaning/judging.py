"""One fold: a model learns from what remains, and is asked where the masked concepts belong."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from torch import Tensor

from taxoexpan.curation.cleaning.folds import masked
from taxoexpan.curation.cleaning.judgements import Floats, Judgements
from taxoexpan.curation.cleaning.reasons import Fold, reasons_for
from taxoexpan.errors import ConfigurationError
from taxoexpan.model import TaxoExpan
from taxoexpan.placement.confidence import Calibration
from taxoexpan.placement.ranking import best_of
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.training.holdout import hold_out
from taxoexpan.training.metrics import ranks_in


@dataclass(frozen=True)
class Training:
    """How the model of every fold is made, as `TaxoExpan` takes it."""

    preset: str = "best"
    seed: int = 0
    device: str = "auto"
    settings: Mapping[str, Any] = field(default_factory=dict)

    def model(self) -> TaxoExpan:
        """A model that has learned nothing yet; how sure it is, loose leaves tell it, as asked."""
        if self.settings.get("validation", "leaves") != "leaves":
            message = "what is cleaned are relations of loose leaves, which tell how sure to be too"
            raise ConfigurationError(f"{message}; leave out validation")
        settings = {**self.settings, "validation": "leaves"}
        return TaxoExpan(self.preset, self.seed, self.device, **settings)


def judge(
    taxonomy: Taxonomy,
    queries: Indices,
    training: Training,
    explained: int = 0,
    progress: bool = False,
) -> Fold:
    """Train on a taxonomy without these concepts' relations upwards, and judge those relations.

    So many of the most doubtful are `explained`. A relation is left out where no other place is
    left to compare its parent with.
    """
    remaining = masked(taxonomy, queries)
    holdout = hold_out(taxonomy, [taxonomy.ids[i] for i in queries.tolist()], remaining)
    model = training.model()
    model.fit(remaining, progress=progress, expected=holdout.concepts)
    if model.history is not None and model.history.interrupted:
        raise KeyboardInterrupt  # a training that was cut short judges no relation
    kept = np.array([taxonomy.index(id) for id in remaining.ids])
    log_match, calibration = model.ranker.network.match.log_match, model.calibrators.calibration
    parts = []
    for start, scores in model.scores(holdout.concepts):
        stop = start + scores.shape[1]
        asked, parents = queries[start:stop], holdout.parents[start:stop]
        block = _Block(taxonomy, kept, asked, parents, calibration)
        parts.append(block.judged(scores, log_match(scores)))
    judgements = Judgements.together(parts)
    return Fold(judgements, reasons_for(model, taxonomy, kept, judgements, explained))


@dataclass(frozen=True)
class _Block:
    """Some queries, the parents of each among the anchors, and the anchors' places: `kept` [N].

    The calibration is that of the fold's own model, if it could learn one.
    """

    taxonomy: Taxonomy
    kept: Indices
    queries: Indices
    parents: tuple[Indices, ...]
    calibration: Calibration | None

    def judged(self, scores: Tensor, belief: Tensor) -> Judgements:
        """Judge by the scores that order the anchors, and by log f, both [N, Q] and used up."""
        lowest = scores.new_tensor(-torch.inf)
        # Under itself, or under what is below it, a concept cannot stand.
        below = self._pairs(*self.taxonomy.children_of.reach_of_many(self.queries))
        itself = self._pairs(np.arange(len(self.queries)), self.queries)
        for closed in (below, itself):
            scores, belief = scores.index_put(closed, lowest), belief.index_put(closed, lowest)
        ranks = np.concatenate(ranks_in(scores, self.parents)).astype(np.int64)
        ahead = best_of(scores, min(2, len(scores)))[1].cpu().numpy()
        # What is above a concept is no other place: the concept is there already, and a model that
        # would rather have it higher up only doubts how precise the relation is. Below its parent
        # is one: there the relation would be too coarse.
        above = self._pairs(*self.taxonomy.parents_of.reach_of_many(self.queries))
        best, others = scores.index_put_(above, lowest).max(0)
        rows = np.concatenate(self.parents)
        columns = np.repeat(np.arange(len(self.queries)), [len(each) for each in self.parents])
        shares, places = _log_shares(belief), others.cpu().numpy()[columns]
        sure = self._confidences(belief, ahead, columns, np.stack([rows, places]))
        judgements = Judgements(
            concepts=self.queries[columns],
            parents=self.kept[rows],
            ranks=ranks,
            shares=_at(shares, rows, columns),
            others=self.kept[places],
            other_shares=_at(shares, places, columns),
            confidences=sure[0],
            other_confidences=sure[1],
        )
        return judgements.where((best > lowest).cpu().numpy()[columns])

    def _confidences(
        self, belief: Tensor, ahead: Indices, columns: Indices, rows: Indices
    ) -> Floats:
        """How likely anchors are right that stand in the `rows` [P, R] of these columns [R].

        `ahead` [2, Q] are the first and the second anchor of each query.
        """
        if self.calibration is None:
            return np.full(rows.shape, np.nan)
        tempered = _log_shares(belief / self.calibration.temperature)
        # No anchor is surer than one before it. The curve of later ones rises, or falls where it
        # has learned little, so that of those the first tells for all that are left out here.
        before = [_at(tempered, own, columns) for own in ahead[:, columns]]
        confidences = []
        for own in rows:
            shares = np.stack([*before, _at(tempered, own, columns)], axis=1)
            sure = self.calibration.confidence(np.exp(shares))
            confidences.append(np.where(own == ahead[0, columns], sure[:, 0], sure[:, -1]))
        return np.stack(confidences)

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
