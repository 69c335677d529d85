"""Scoring of one fold by a model that has learned from the other concepts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from taxoexpan.curation.cleaning.folds import RelationScores, hide_parents
from taxoexpan.errors import ConfigurationError
from taxoexpan.explain import Evidence, explain
from taxoexpan.explain.similarity import ConceptLookup
from taxoexpan.model import TaxoExpan
from taxoexpan.placement.learned.confidence import Calibration
from taxoexpan.placement.scoring.best_scores import best_of
from taxoexpan.placement.scoring.ranking import Ranking
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Floats, Indices
from taxoexpan.taxonomy.reach_intervals import AncestorIntervals
from taxoexpan.training.holdout import hold_out
from taxoexpan.training.true_ranks import TIES_AS_BEST, rank_true_parents


@dataclass(frozen=True)
class ModelOptions:
    """The arguments of `TaxoExpan` for the model of every fold."""

    preset: str = "best"
    seed: int = 0
    device: str = "auto"
    settings: Mapping[str, Any] = field(default_factory=dict)

    def new_model(self) -> TaxoExpan:
        """Return an untrained model that will calibrate its confidence on held-out leaves."""
        if self.settings.get("validation", "leaves") != "leaves":
            raise ConfigurationError(
                "cleaning checks the relations of single leaves, so the confidence "
                "must be calibrated on single leaves too",
                fix="remove the setting validation",
            )
        settings = {**self.settings, "validation": "leaves"}
        return TaxoExpan(self.preset, self.seed, self.device, **settings)


def score_fold(
    taxonomy: Taxonomy,
    queries: Indices,
    options: ModelOptions,
    explained: int = 0,
    progress: bool = False,
) -> RelationScores:
    """Train without the parents of the queries, and score the hidden relations.

    The `explained` most suspicious relations get a reason.
    """
    remaining = hide_parents(taxonomy, queries).canonical
    holdout = hold_out(taxonomy, [taxonomy.ids[i] for i in queries.tolist()], remaining)
    model = options.new_model()
    model.fit(remaining, progress=progress)
    if model.training.interrupted:
        raise KeyboardInterrupt  # an unfinished model must not score relations
    kept = np.array([taxonomy.index(id) for id in remaining.ids])
    ranker = model._ranker
    calibration = model.calibrators.calibration
    log_match = ranker.log_match
    parts = []
    for start, held_out in model._queries(holdout.concepts).blocks(len(ranker.keys)):
        scores = ranker.scores(held_out)
        stop = start + len(held_out)
        parents = holdout.parents[start:stop]
        block = _Block(taxonomy, kept, queries[start:stop], parents, calibration)
        parts.append(block.score(scores, log_match(scores)))
    relation_scores = RelationScores.concatenate(parts)
    reasons = _reasons(model, taxonomy, kept, relation_scores, explained)
    return replace(relation_scores, reasons=reasons)


@dataclass(frozen=True)
class _Block:
    """A block of queries and the anchors of their parents; anchor i is concept `kept[i]`."""

    taxonomy: Taxonomy
    kept: Indices
    queries: Indices
    parents: tuple[Indices, ...]
    calibration: Calibration | None

    def score(self, scores: Tensor, log_match: Tensor) -> RelationScores:
        """Score the relations by the scores that order the anchors and by log f, both [N, Q]."""
        lowest = scores.new_tensor(-torch.inf)
        # A concept cannot be placed under itself or under its descendants.
        below = self._pairs(*self.taxonomy.descendant_intervals.pairs(self.queries))
        scores = scores.index_put(below, lowest)
        log_match = log_match.index_put(below, lowest)
        # Only a higher score speaks against a parent that the taxonomy has.
        counted = rank_true_parents(scores, self.parents, TIES_AS_BEST)
        ranks = np.concatenate(counted).astype(np.int64)
        top_two = best_of(scores, min(2, len(scores)))[1].cpu().numpy()
        # An ancestor is not a better parent: the concept is below it already, and a model that
        # prefers it only doubts the precision of the relation. A descendant of the parent can be a
        # better parent: then the relation is too coarse.
        ancestors = AncestorIntervals(self.taxonomy.parents_of, self.queries)
        above = self._pairs(*ancestors.pairs(self.queries))
        best, best_anchors = scores.index_put_(above, lowest).max(0)
        rows = np.concatenate(self.parents)
        columns = np.repeat(np.arange(len(self.queries)), [len(each) for each in self.parents])
        is_scored = (best > lowest).cpu().numpy()[columns]
        rows = rows[is_scored]
        columns = columns[is_scored]
        ranks = ranks[is_scored]
        log_scores = log_match.log_softmax(0)
        better = best_anchors.cpu().numpy()[columns]
        confidences = self._confidences(log_match, top_two, columns, np.stack([rows, better]))
        return RelationScores(
            concepts=self.queries[columns],
            parents=self.kept[rows],
            ranks=ranks,
            log_scores=_at(log_scores, rows, columns),
            better=self.kept[better],
            better_log_scores=_at(log_scores, better, columns),
            confidences=confidences[0],
            better_confidences=confidences[1],
        )

    def _confidences(
        self, log_match: Tensor, top_two: Indices, columns: Indices, rows: Indices
    ) -> Floats:
        """Return confidences [P, R] of anchors `rows`; `top_two` [2, Q] are the best anchors."""
        if self.calibration is None:
            return np.full(rows.shape, np.nan)
        tempered = (log_match / self.calibration.temperature).log_softmax(0)
        # Confidence never rises with the rank. The curve of the anchors after the first is
        # monotonic, so the second anchor stands in for all anchors between it and this one.
        ahead = [_at(tempered, anchors, columns) for anchors in top_two[:, columns]]
        confidences = []
        for anchors in rows:
            log_scores = np.stack([*ahead, _at(tempered, anchors, columns)], axis=1)
            each = self.calibration.confidence(np.exp(log_scores))
            confidences.append(np.where(anchors == top_two[0, columns], each[:, 0], each[:, -1]))
        return np.stack(confidences)

    def _pairs(self, columns: Indices, concepts: Indices) -> tuple[Tensor, Tensor]:
        """Return the anchors of the kept concepts, and their columns."""
        row_of = np.full(len(self.taxonomy), -1)
        row_of[self.kept] = np.arange(len(self.kept))
        rows = row_of[concepts]
        return torch.from_numpy(rows[rows >= 0]), torch.from_numpy(columns[rows >= 0])


def _at(values: Tensor, rows: Indices, columns: Indices) -> Floats:
    """Return the values at these rows and columns as a NumPy array."""
    device = values.device
    picked = values[torch.from_numpy(rows).to(device), torch.from_numpy(columns).to(device)]
    return picked.cpu().numpy().astype(np.float64)


def _reasons(
    model: TaxoExpan, taxonomy: Taxonomy, kept: Indices, scores: RelationScores, count: int
) -> dict[tuple[int, int], Mapping[str, Any]]:
    """Explain the `count` most suspicious relations; `kept` are the indices of the anchors."""
    rows = scores.order[:count]
    if not len(rows):
        return {}
    pairs = np.stack([scores.better[rows], scores.parents[rows]], axis=1)
    log_scores = np.stack([scores.better_log_scores[rows], scores.log_scores[rows]], axis=1)
    anchor_of = np.full(len(taxonomy), -1)
    anchor_of[kept] = np.arange(len(kept))
    pair_scores = np.exp(log_scores).astype(np.float32)
    indices = scores.concepts[rows].tolist()
    concepts = [taxonomy.concept_at(index) for index in indices]
    ranking = Ranking(anchor_of[pairs], pair_scores, pair_scores)
    evidence = explain(model._ranker, model._queries(concepts), ranking)
    whole = ConceptLookup(taxonomy)
    return {
        (concept, parent): _in_whole_taxonomy(each, whole, better, parent).to_dict()
        for concept, (better, parent), each in zip(indices, pairs.tolist(), evidence, strict=True)
    }


def _in_whole_taxonomy(
    evidence: Evidence, whole: ConceptLookup, better: int, parent: int
) -> Evidence:
    """Correct the paths and child counts in the evidence, because hidden concepts lack parents."""
    children = whole.taxonomy.children_of.degrees
    first, second = evidence.suggestions
    first = replace(first, path=whole.path(better), child_count=int(children[better]))
    second = replace(second, path=whole.path(parent), child_count=int(children[parent]) - 1)
    comparison = evidence.comparison
    if comparison is not None:
        position = whole.position(parent, relative_to=better)
        comparison = replace(comparison, position=position)
    return replace(evidence, suggestions=(first, second), comparison=comparison)
