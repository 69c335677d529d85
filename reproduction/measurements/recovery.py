"""Ways to place a batch of new concepts: subtrees are removed and placed again.

A model learns from the taxonomy without some subtrees. Each subtree is then a batch of new
concepts, placed in four ways: each concept alone among the existing ones; one after another in
random order, where each becomes an anchor for the next; together, by the network's scores; and
together with a prior for new parents, which is learned from other subtrees. The same is done with
several subtrees as one batch, and with single leaves and siblings, of which none is a parent of
another.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch

from reproduction.measurements.runs import MeasuredRun
from reproduction.measurements.tables import format_fraction, markdown_table
from reproduction.measurements.trial import Figures, Trial, first_places
from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.features.mentions import Lexicon
from taxoexpan.network.concept_vectors import ConceptVectors, Queries
from taxoexpan.placement.joint.placement import mentions_among, place_jointly
from taxoexpan.placement.joint.prior_learning import (
    MAX_SIZE,
    MERGED,
    MIN_SIZE,
    learn_new_parent_priors,
    merge_batches,
    remove_subtrees,
    sort_by_parent,
)
from taxoexpan.placement.learned.new_parent_prior import NewParentPrior
from taxoexpan.placement.scoring.anchors import Anchors
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy import Additions

Place = Callable[[Additions], Additions]


@dataclass(frozen=True)
class Recovery:
    """Counts of restored relations and ancestors, summed over some batches.

    Relations are pairs (found, true), from an existing concept and from another new one;
    `ancestors` are (found, true, predicted) over all concepts of the batches.
    """

    from_old: tuple[int, int]
    from_new: tuple[int, int]
    ancestors: tuple[int, int, int]

    @property
    def fractions(self) -> tuple[float, float, float]:
        """The fraction of true relations that was found: of all, from old ones, from new ones."""
        both = self.from_old[0] + self.from_new[0], self.from_old[1] + self.from_new[1]
        return _fraction(*both), _fraction(*self.from_old), _fraction(*self.from_new)

    @property
    def ancestor_f1(self) -> float:
        """The harmonic mean of the ancestors' precision and recall."""
        found, true, predicted = self.ancestors
        return _fraction(2 * found, true + predicted)


def measure(trial: Trial) -> Figures:
    """Train a model, and return how much of each kind of batch each way recovers.

    One after another encodes all anchors again for every concept, which takes long (`in_order`).
    """
    taxonomy, seed = trial.data.taxonomy.active, trial.seed
    subtrees = remove_subtrees(taxonomy, trial.parameters["subtrees"], MIN_SIZE, MAX_SIZE, seed)
    count = sum(len(batch.concepts) for batch in subtrees.batches)
    remaining, leaves = without_leaves(taxonomy, subtrees.taxonomy, count, seed)
    model = trial.new_model().fit(remaining, progress=trial.progress)
    priors = learn_new_parent_priors(model._ranker, seed)
    ways: dict[str, Place] = {
        "one by one": lambda batch: place_alone(model, batch),
        "one after another": lambda batch: place_in_order(model, batch),
        "together, without the prior": lambda batch: place_together(model, batch, ()),
        "together": lambda batch: place_together(model, batch, priors),
    }
    if not trial.parameters["in_order"]:
        del ways["one after another"]
    kinds = {
        "a subtree": subtrees.batches,
        f"{MERGED} subtrees": merge_batches(subtrees.batches, MERGED, seed),
        f"{MERGED} single leaves": merge_batches(leaves, MERGED, seed),
        f"{MERGED} leaves, siblings": merge_batches(sort_by_parent(leaves), MERGED, seed),
    }
    rows = [
        {"batch": kind, "placed": way, **recovered(model.taxonomy, batches, place)}
        for kind, batches in kinds.items()
        for way, place in ways.items()
    ]
    return {"subtrees": len(subtrees.batches), "concepts": count, "rows": rows}


def without_leaves(
    taxonomy: Taxonomy, remaining: Taxonomy, count: int, seed: int
) -> tuple[Taxonomy, list[Additions]]:
    """Remove some leaves of the whole taxonomy, and return the rest and one batch per leaf."""
    # The parent of a removed subtree may now be a leaf, but it must stay.
    drawn = remove_subtrees(taxonomy, 2 * count, 1, 1, seed).batches
    leaves = [batch for batch in drawn if batch.concepts[0].id in remaining][:count]
    return remaining.without(batch.concepts[0].id for batch in leaves), leaves


def recovery_of(
    taxonomy: Taxonomy, truth: Sequence[Additions], placed: Sequence[Additions]
) -> Recovery:
    """Compare batches as they were placed with the truth; each is added to the taxonomy."""
    from_old, from_new = np.zeros(2, dtype=np.int64), np.zeros(2, dtype=np.int64)
    ancestors = np.zeros(3, dtype=np.int64)
    for true, found in zip(truth, placed, strict=True):
        relations = set(found.relations)
        for relation in true.relations:
            into = from_old if relation[0] in taxonomy else from_new
            into += (relation in relations, 1)
        original, expanded = taxonomy.expanded(true), taxonomy.expanded(found)
        for concept in true.concepts:
            right = set(original.ancestors(concept.id))
            predicted = set(expanded.ancestors(concept.id))
            ancestors += (len(right & predicted), len(right), len(predicted))
    old, new, above = from_old.tolist(), from_new.tolist(), ancestors.tolist()
    return Recovery((old[0], old[1]), (new[0], new[1]), (above[0], above[1], above[2]))


def recovered(taxonomy: Taxonomy, batches: Sequence[Additions], place: Place) -> Figures:
    """Return how much of all batches a way recovers, and the seconds per batch."""
    began = time.monotonic()
    placed = [place(batch) for batch in batches]
    seconds = (time.monotonic() - began) / len(batches)
    found = recovery_of(taxonomy, batches, placed)
    names = ("relations", "old parent", "new parent")
    fractions = dict(zip(names, found.fractions, strict=True))
    return {**fractions, "ancestors F1": found.ancestor_f1, "s per batch": seconds}


def place_alone(model: TaxoExpan, batch: Additions) -> Additions:
    """Place each concept alone among the existing ones."""
    places = first_places(model, batch.concepts)
    return Additions(batch.concepts, tuple((s.parent.id, s.query.id) for s in places))


def place_in_order(model: TaxoExpan, batch: Additions) -> Additions:
    """Place one concept after another; each becomes an anchor for the next."""
    network, taxonomy = model._fitted().network, model.taxonomy
    vectors = model._embedder.tensor(taxonomy.concepts)
    relations = []
    for concept in batch.concepts:
        siblings = model.config.max_siblings
        anchors = Anchors(taxonomy, ConceptVectors.of(vectors), siblings)
        mentions = None
        if model.config.uses_mentions:
            mentions = Lexicon.from_taxonomy(taxonomy).mentions([concept])
        query = model._embedder.tensor([concept])
        ranking = Ranker(network, anchors).rank(Queries(query, mentions), 1)
        parent = taxonomy.ids[int(ranking.anchors[0, 0])]
        relations.append((parent, concept.id))
        taxonomy = taxonomy.expanded(Additions((concept,), (relations[-1],)))
        vectors = torch.cat([vectors, query], dim=1)
    return Additions(batch.concepts, tuple(relations))


def place_together(
    model: TaxoExpan, batch: Additions, priors: Sequence[NewParentPrior]
) -> Additions:
    """Place all concepts together."""
    mentions = None
    if model.config.uses_mentions:
        mentions = mentions_among(model.taxonomy, batch.concepts)
    queries = replace(model._embedder.queries(batch.concepts, None), mentions=mentions)
    placed = place_jointly(model._ranker, queries, priors)
    return placed.additions(model.taxonomy, batch.concepts)


def _fraction(part: float, whole: float) -> float:
    return part / whole if whole else 0.0


def tables(runs: Sequence[MeasuredRun]) -> str:
    """Return one table per run."""
    return "\n\n".join(table(run) for run in runs)


def table(run: MeasuredRun) -> str:
    """Return one row per kind of batch and way to place it."""
    removed = f"{run.figures['subtrees']} subtrees of {run.figures['concepts']:,} concepts removed"
    rows = []
    for figures in run.figures["rows"]:
        batch, placed, *fractions, seconds = figures.values()
        cells = [format_fraction(value, 3) for value in fractions]
        rows.append([batch, placed, *cells, f"{seconds:.2f}"])
    table = markdown_table([*run.figures["rows"][0]], rows)
    return f"{run.title}: {removed}\n\n{table}"
