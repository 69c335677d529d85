"""Preparing a training that continues from an earlier model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from taxoexpan.errors import ModelError
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.placement.fitting.judged_taxonomy import JudgedTaxonomy
from taxoexpan.placement.fitting.prepared_taxonomy import (
    AddedQueries,
    EarlierModel,
    PreparedTaxonomy,
    embed_holdout,
)
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.placement.scoring.embedder import Embedder
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.taxonomy.known_names import known_names
from taxoexpan.taxonomy.names import normalize_name
from taxoexpan.training.continuation import News, Recipe
from taxoexpan.training.holdout import Holdout, hold_out

MIN_SHARED = 0.5
"""The fraction of the earlier model's concepts that the taxonomy must have."""


@dataclass(frozen=True)
class StartingPoint:
    """What is needed of an earlier model: its parts, taxonomy, ranker and held-out concepts."""

    taxonomy: Taxonomy
    network: MatchingNetwork
    calibrators: Calibrators
    ranker: Ranker
    held_out: Sequence[str]


def refuse_other_taxonomy(earlier: Taxonomy, taxonomy: Taxonomy) -> None:
    """Refuse to continue a training on a taxonomy that has few of the earlier concepts."""
    shared = sum(id in taxonomy for id in earlier)
    if shared < MIN_SHARED * len(earlier):
        raise ModelError(
            f"the model was trained on another taxonomy: this one has {shared:,} of its "
            f"{len(earlier):,} ids; train a new model"
        )


def prepare_refit(
    judged: JudgedTaxonomy, start: StartingPoint, embedder: Embedder, recipe: Recipe, seed: int
) -> PreparedTaxonomy:
    """Hold out the same concepts as the earlier training, and find what is new since.

    Other concepts cannot be held out: the earlier model has learned from them. A held-out concept
    that has got children is not held out any more.
    """
    taxonomy, active = judged.taxonomy, judged.taxonomy.active
    leaves = set(active.leaves) - set(active.roots)
    holdout = hold_out(active, [id for id in start.held_out if id in leaves])
    settings = recipe.changed(embedder.config)
    added = _added_queries(judged, start, embedder, recipe, seed)
    earlier = EarlierModel(start.network, embedder.tower, start.calibrators, added)
    as_growth = settings.validation == "growth"
    prepared = embed_holdout(taxonomy, replace(embedder, config=settings), holdout, as_growth)
    news = _news(judged, start.taxonomy, holdout.taxonomy, recipe)
    return replace(prepared, data=replace(prepared.data, news=news), start=earlier)


def _news(judged: JudgedTaxonomy, earlier: Taxonomy, remaining: Taxonomy, recipe: Recipe) -> News:
    """Return what is new in the remaining taxonomy, by its indices."""
    pairs = [
        (remaining.index(child), remaining.index(parent))
        for parent, child in judged.rejected_pairs()
        if parent in remaining and child in remaining
    ]
    children, parents = np.array(pairs, dtype=np.int64).reshape(-1, 2).T
    rejected = Adjacency.from_pairs(children, parents, len(remaining))
    is_new = np.array([id not in earlier for id in remaining], dtype=np.bool_)
    return News(is_new, rejected, recipe)


def _added_queries(
    judged: JudgedTaxonomy, start: StartingPoint, embedder: Embedder, recipe: Recipe, seed: int
) -> AddedQueries | None:
    """Return the concepts that the earlier model has not seen, as queries to it."""
    old, active = start.taxonomy, judged.taxonomy.active
    known = known_names(old)
    new = [id for id in active if id not in old]
    concepts, parents = [], []
    for id in np.random.default_rng(seed).permutation(np.array(new, dtype=object)).tolist():
        concept = active.concept(id)
        own = [old.index(parent) for parent in active.parents(id) if parent in old]
        if own and normalize_name(concept.label) not in known:
            concepts.append(concept)
            parents.append(np.array(own))
    count = embedder.config.max_validation_leaves
    concepts, parents = concepts[:count], parents[:count]
    if not concepts or not recipe.weight:
        return None
    holdout = Holdout(old, tuple(concepts), tuple(parents))
    queries = embedder.labeled_queries(holdout, embedder.lexicon(old))
    rejected = judged.rejections.anchors_of(old, concepts)
    wrong = [np.setdiff1d(r, own) for r, own in zip(rejected, parents, strict=True)]
    return AddedQueries(start.ranker.with_fusion(None), queries, wrong, recipe.weight)
