"""How well methods foresee a taxonomy's growth: two versions of it, and what the later one added.

The methods learn from the old version alone. The queries are the concepts that the new one has
besides, and their true parents those that the old one had already.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.config import load_preset
from taxoexpan.errors import ModelError, TaxonomyError
from taxoexpan.experiments.methods.method import Method, Problem, Queries, true_ranks_by
from taxoexpan.features.embedding import embed_concepts, names_of, refuse_unknown
from taxoexpan.features.encoder import Encoder
from taxoexpan.features.lexicon import Lexicon
from taxoexpan.phrasing import pluralize
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.taxonomy.difference import Difference
from taxoexpan.taxonomy.known_names import known_names
from taxoexpan.taxonomy.names import normalize_name
from taxoexpan.training.holdout import HOLDOUTS, Holdout
from taxoexpan.training.training_log import SILENT, TrainingLog

Ranks = list[NDArray[np.floating]]
"""The ranks of the true parents of each query."""

TIES = 0.5
"""Of the anchors that score as a true parent does, half count as higher: a method that scores all
alike ranks in the middle."""


@dataclass(frozen=True)
class Growth:
    """New concepts as queries for what is in force of the old version, and those left out.

    Left out are new concepts that are deprecated at once, whose name the old version has already,
    or none of whose parents it has.
    """

    queries: Holdout
    deprecated: int
    known: int
    orphans: int

    @property
    def taxonomy(self) -> Taxonomy:
        """What is in force of the old version, which all methods learn from and place in."""
        return self.queries.taxonomy


def growth_between(old: Taxonomy, new: Taxonomy) -> Growth:
    """What the later of two versions has added; a concept is the same where its id is."""
    anchors, names = old.active, known_names(old)
    added = Difference(old, new).added
    in_force = [concept for concept in added if not concept.deprecated]
    unknown = [concept for concept in in_force if normalize_name(concept.label) not in names]
    parents = {c.id: [p for p in new.parents(c.id) if p in anchors] for c in unknown}
    placed = tuple(concept for concept in unknown if parents[concept.id])
    if not added:
        message = "the new version has no concept that the old one lacks"
        raise TaxonomyError(f"{message}; give the old one first, then one that has grown")
    if not placed:
        raise TaxonomyError(
            f"none of {len(added):,} new concepts has a new name and a parent that the old version "
            "has too; give two versions of one taxonomy, with the same ids, the old one first"
        )
    truth = tuple(np.array([anchors.index(p) for p in parents[c.id]]) for c in placed)
    counts = (len(added), len(in_force), len(unknown), len(placed))
    deprecated, known, orphans = (-np.diff(counts)).tolist()
    return Growth(Holdout(anchors, placed, truth), deprecated, known, orphans)


def evaluate_growth(
    growth: Growth,
    methods: Mapping[str, Method],
    encoder: Encoder,
    seed: int = 0,
    device: torch.device | None = None,
    report: TrainingLog = SILENT,
    begin: Callable[[str], None] = lambda _: None,
) -> dict[str, Ranks]:
    """Each method's ranks of all true parents, by its name, with which `begin` is told of it.

    Every method learns on the old version without some leaves, which it validates on, held out as
    its settings say and `TaxoExpan.fit` does it; then all concepts of the old version are its
    anchors.
    """
    vectors, queries = _embedded(growth, encoder, device or torch.device("cpu"))
    taxonomy, ranks = growth.taxonomy, {}
    for name, method in methods.items():
        begin(name)
        held_out = method.settings.get("validation", "leaves")
        method.fit(_problem(taxonomy, vectors, held_out, seed), seed, report)
        method.set_anchors(taxonomy, vectors)
        ranks[name] = true_ranks_by(method, queries, len(taxonomy), TIES)
    return ranks


def _embedded(growth: Growth, encoder: Encoder, device: torch.device) -> tuple[Tensor, Queries]:
    """The vectors of all anchors [2, N, D], and the queries."""
    taxonomy, new = growth.taxonomy, growth.queries
    if taxonomy.relation_count < 2:
        message = f"the old version has {pluralize(taxonomy.relation_count, 'relation')} in force"
        raise ModelError(f"nothing to learn from: {message}; give one with some hundreds of them")
    encoder.learn(names_of([*taxonomy.concepts, *new.concepts]))
    known = embed_concepts(encoder, taxonomy.concepts)
    refuse_unknown(known, encoder.name)
    asked = embed_concepts(encoder, new.concepts)
    vectors, queries = (torch.from_numpy(both).to(device) for both in (known, asked))
    mentions = Lexicon.from_taxonomy(taxonomy).mentions(new.concepts)
    return vectors, Queries(queries, new.parents, mentions)


def _problem(taxonomy: Taxonomy, vectors: Tensor, held_out: str, seed: int) -> Problem:
    """The taxonomy without some leaves, which are the validation queries."""
    c = load_preset("best")
    masked = HOLDOUTS[held_out](taxonomy, c.validation_fraction, c.max_validation_leaves, seed)

    def of(ids: Iterable[str]) -> Tensor:
        rows = torch.tensor([taxonomy.index(id) for id in ids], dtype=torch.long)
        return vectors.index_select(1, rows.to(vectors.device))

    lexicon = Lexicon.from_taxonomy(masked.taxonomy)
    asked = of(concept.id for concept in masked.concepts)
    validation = Queries(asked, masked.parents, lexicon.mentions(masked.concepts))
    mentions = lexicon.mentions(masked.taxonomy.concepts, exclude_self=True)
    return Problem(masked.taxonomy, of(masked.taxonomy), validation, mentions, held_out == "growth")
