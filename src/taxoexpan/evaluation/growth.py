"""Evaluation on the concepts that a new release adds below concepts of the old release."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.errors import ModelError, TaxonomyError
from taxoexpan.evaluation.confidence import GrowthConfidence, measure_confidence
from taxoexpan.evaluation.rules import Method
from taxoexpan.features.embedding import embed_concepts, refuse_unknown
from taxoexpan.features.encoder import Encoder
from taxoexpan.features.mentions import Lexicon
from taxoexpan.model import TaxoExpan
from taxoexpan.network.concept_vectors import LabeledQueries
from taxoexpan.phrasing import pluralize
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.difference import Difference
from taxoexpan.taxonomy.known_names import known_names
from taxoexpan.taxonomy.names import normalize_name
from taxoexpan.training.holdout import Holdout
from taxoexpan.training.true_ranks import rank_true_parents

Ranks = list[NDArray[np.floating]]
"""The ranks of the true parents of each query."""


@dataclass(frozen=True)
class Growth:
    """The new concepts as queries, and the numbers of new concepts that are left out.

    A new concept is left out if it is `deprecated`, if the old release has its label (`known`), or
    if the old release has none of its parents (`orphans`).
    """

    queries: Holdout
    deprecated: int
    known: int
    orphans: int

    @property
    def taxonomy(self) -> Taxonomy:
        """The old release without deprecated concepts, used for training and as anchors."""
        return self.queries.taxonomy


@dataclass(frozen=True)
class MethodResult:
    """The ranks by one method; only models have `features` (the encoder) and a confidence."""

    ranks: Ranks
    features: str | None = None
    confidence: GrowthConfidence | None = None


def growth_between(old: Taxonomy, new: Taxonomy) -> Growth:
    """Return the concepts that the new release adds; the same id means the same concept.

    Both releases are used in canonical order, so that the order of their rows does not matter.
    """
    old = old.canonical
    new = new.canonical
    anchors = old.active
    names = known_names(old)
    added = Difference(old, new).added
    active = [concept for concept in added if not concept.deprecated]
    unknown = [concept for concept in active if normalize_name(concept.label) not in names]
    parents = {c.id: [p for p in new.parents(c.id) if p in anchors] for c in unknown}
    queries = tuple(concept for concept in unknown if parents[concept.id])
    if not added:
        message = "the new release has no concept that the old one lacks"
        raise TaxonomyError(message, fix="give the old release first, then a later one")
    if not queries:
        raise TaxonomyError(
            f"none of the {len(added):,} new concepts has a new label and a parent "
            "in the old release",
            fix="give two releases of one taxonomy with the same ids, the old one first",
        )
    true_parents = tuple(np.array([anchors.index(p) for p in parents[c.id]]) for c in queries)
    return Growth(
        Holdout(anchors, queries, true_parents),
        deprecated=len(added) - len(active),
        known=len(active) - len(unknown),
        orphans=len(unknown) - len(queries),
    )


def evaluate_growth(
    growth: Growth,
    methods: Mapping[str, Method | TaxoExpan],
    encoder: Encoder,
    device: torch.device | None = None,
    progress: bool = False,
    begin: Callable[[str], None] = lambda _: None,
) -> dict[str, MethodResult]:
    """Evaluate all methods on the old release, and return their results by name.

    `begin` is called with the name before each method. Models are trained, with their own encoder
    and device; rules use the given ones.
    """
    if (relations := len(growth.taxonomy.relations)) < 2:
        message = f"the old release has {pluralize(relations, 'active relation')}"
        fix = "give a release with some hundreds of them"
        raise ModelError(f"too little to learn from: {message}", fix=fix)
    results: dict[str, MethodResult] = {}
    embedded: tuple[Tensor, LabeledQueries] | None = None
    for name, method in methods.items():
        begin(name)
        if isinstance(method, TaxoExpan):
            results[name] = _evaluate_model(growth, method, progress)
            continue
        if embedded is None:
            embedded = _embed(growth, encoder, device or torch.device("cpu"))
        vectors, queries = embedded
        method.set_anchors(growth.taxonomy, vectors)
        results[name] = MethodResult(true_ranks_by(method, queries, len(growth.taxonomy)))
    return results


def true_ranks_by(method: Method, queries: LabeledQueries, anchors: int) -> Ranks:
    """Return the ranks of each query's true parents among the anchors."""
    ranks: Ranks = []
    for _, block in queries.blocks(anchors):
        ranks += rank_true_parents(method.score(block), block.parents)
    return ranks


def _evaluate_model(growth: Growth, model: TaxoExpan, progress: bool) -> MethodResult:
    """Fit a model on the old release and place the new concepts; raise if it was interrupted."""
    model.fit(growth.taxonomy, progress=progress)
    if model.training.interrupted:
        raise KeyboardInterrupt
    confidence = measure_confidence(model, growth.queries)
    return MethodResult(model.true_ranks(growth.queries), model.config.features, confidence)


def _embed(growth: Growth, encoder: Encoder, device: torch.device) -> tuple[Tensor, LabeledQueries]:
    """Embed the anchors [2, N, D] and the queries."""
    taxonomy = growth.taxonomy
    new = growth.queries
    known = embed_concepts(encoder, taxonomy.concepts)
    refuse_unknown(known, encoder.name)
    new_vectors = embed_concepts(encoder, new.concepts)
    vectors, queries = (torch.from_numpy(each).to(device) for each in (known, new_vectors))
    mentions = Lexicon.from_taxonomy(taxonomy).mentions(new.concepts)
    return vectors, LabeledQueries(queries, mentions, new.concepts, parents=new.parents)
