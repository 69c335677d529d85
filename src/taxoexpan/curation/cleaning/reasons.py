"""Reasons why a fold's model prefers another parent for a concept."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from taxoexpan.curation.cleaning.fold_results import Reason, RelationScores
from taxoexpan.explain import Evidence, explain
from taxoexpan.explain.similarity import ConceptLookup
from taxoexpan.model import TaxoExpan
from taxoexpan.placement.scoring.ranking import Ranking
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.arrays import Indices


def reasons_for(
    model: TaxoExpan, taxonomy: Taxonomy, kept: Indices, scores: RelationScores, count: int
) -> tuple[Reason, ...]:
    """Explain the `count` most suspicious relations, most suspicious first.

    `kept` are the indices in the whole taxonomy of the concepts that the model was trained on.
    """
    rows = scores.order[:count]
    if not len(rows):
        return ()
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
    return tuple(
        Reason(concept, parent, _in_whole_taxonomy(each, whole, better, parent).to_dict())
        for concept, (better, parent), each in zip(indices, pairs.tolist(), evidence, strict=True)
    )


def _in_whole_taxonomy(
    evidence: Evidence, whole: ConceptLookup, better: int, parent: int
) -> Evidence:
    """The evidence with both parents' paths and numbers of children in the whole taxonomy.

    The fold's taxonomy has no held-out leaves, and its held-out inner concepts are roots, so its
    paths may be too short. The concept itself does not count as a child of its parent.
    """
    children = whole.taxonomy.children_of.degrees
    first, second = evidence.suggestions
    first = replace(first, path=whole.path(better), child_count=int(children[better]))
    second = replace(second, path=whole.path(parent), child_count=int(children[parent]) - 1)
    comparison = evidence.comparison
    if comparison is not None:
        position = whole.position(parent, relative_to=better)
        comparison = replace(comparison, position=position)
    return replace(evidence, suggestions=(first, second), comparison=comparison)
