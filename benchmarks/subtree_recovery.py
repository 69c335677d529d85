"""Compare ways to place a batch of new concepts: remove subtrees and place them again.

    python benchmarks/subtree_recovery.py src/taxoexpan/data/food.csv --set epochs=30

A model learns from the taxonomy without some subtrees. Each subtree is then a batch of new
concepts, placed in four ways: each concept alone among the existing ones; one after another in
random order, where each becomes an anchor for the next; together, by the network's scores; and
together with a prior for new parents, which is learned from other subtrees. The same is done with
several subtrees as one batch, and with single leaves and siblings, of which none is a parent of
another.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import torch
from recovery import recovery_of

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.config import parse_setting
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
from taxoexpan.placement.suggesting.suggestions import SuggestionKind
from taxoexpan.taxonomy import Additions

Place = Callable[[Additions], Additions]


def main() -> None:
    """Train, and print how much of each kind of batch each way recovers."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("taxonomy", type=Path)
    parser.add_argument("--subtrees", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--features", default="static")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", dest="changes")
    parser.add_argument(
        "--quick",
        action="store_true",
        help="skip placing one after another, which encodes all anchors again for every concept",
    )
    options = parser.parse_args()
    settings = dict(map(parse_setting, options.changes))
    taxonomy = Taxonomy.read(options.taxonomy).active
    subtrees = remove_subtrees(taxonomy, options.subtrees, MIN_SIZE, MAX_SIZE, options.seed)
    count = sum(len(batch.concepts) for batch in subtrees.batches)
    remaining, leaves = without_leaves(taxonomy, subtrees.taxonomy, count, options.seed)
    model = TaxoExpan("best", options.seed, options.device, features=options.features, **settings)
    model.fit(remaining, progress=True)
    removed = f"{len(subtrees.batches)} subtrees of {count} concepts, and {len(leaves)} leaves"
    print(f"seed {options.seed}: trained without {removed}")
    began = time.monotonic()
    priors = learn_new_parent_priors(model._ranker, options.seed)
    print(f"prior learned in {time.monotonic() - began:.1f} s: {priors}")
    ways: dict[str, Place] = {
        "one by one": lambda batch: place_alone(model, batch),
        "one after another": lambda batch: place_in_order(model, batch),
        "together, without the prior": lambda batch: place_together(model, batch, ()),
        "together": lambda batch: place_together(model, batch, priors),
    }
    if options.quick:
        del ways["one after another"]
    kinds = {
        "a subtree": subtrees.batches,
        f"{MERGED} subtrees": merge_batches(subtrees.batches, MERGED, options.seed),
        f"{MERGED} single leaves": merge_batches(leaves, MERGED, options.seed),
        f"{MERGED} leaves, siblings": merge_batches(sort_by_parent(leaves), MERGED, options.seed),
    }
    print("| batch | placed | relations | old parent | new parent | ancestors F1 | s per batch |")
    print("|---|---|---|---|---|---|---|")
    for kind, batches in kinds.items():
        for way, place in ways.items():
            print_row(kind, way, model.taxonomy, batches, place)


def without_leaves(
    taxonomy: Taxonomy, remaining: Taxonomy, count: int, seed: int
) -> tuple[Taxonomy, list[Additions]]:
    """Remove some leaves of the whole taxonomy, and return the rest and one batch per leaf."""
    # The parent of a removed subtree may now be a leaf, but it must stay.
    drawn = remove_subtrees(taxonomy, 2 * count, 1, 1, seed).batches
    leaves = [batch for batch in drawn if batch.concepts[0].id in remaining][:count]
    return remaining.without(batch.concepts[0].id for batch in leaves), leaves


def print_row(
    kind: str, way: str, taxonomy: Taxonomy, batches: Sequence[Additions], place: Place
) -> None:
    began = time.monotonic()
    placed = [place(batch) for batch in batches]
    seconds = (time.monotonic() - began) / len(batches)
    found = recovery_of(taxonomy, batches, placed)
    figures = [f"{figure:.3f}" for figure in (*found.fractions, found.ancestor_f1)]
    print(f"| {kind} | {way} | {' | '.join(figures)} | {seconds:.2f} |", flush=True)


def place_alone(model: TaxoExpan, batch: Additions) -> Additions:
    """Place each concept alone among the existing ones."""
    suggestions, _, _ = model._suggest(batch.concepts, 1)
    parents = [s.parent.id for s in suggestions if s.kind != SuggestionKind.MERGE]
    children = [concept.id for concept in batch.concepts]
    return Additions(batch.concepts, tuple(zip(parents, children, strict=True)))


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
    queries = Queries(model._embedder.tensor(batch.concepts), mentions, batch.concepts)
    placed = place_jointly(model._ranker, queries, priors)
    return placed.additions(model.taxonomy, batch.concepts)


if __name__ == "__main__":
    main()
