"""Batches placed one by one and together: subtrees taken out whole, and how much is found again.

    python benchmarks/batches.py src/taxoexpan/data/food.csv --set epochs=30

A model learns from the taxonomy without some subtrees. Each subtree is then a batch of new
concepts, and is placed four ways: each concept by itself among the existing ones; in a random
order, where each is an anchor for the next; together, as the network scores; and together with what
a new parent gains, which is learned from other subtrees. The same is done with several subtrees as
one batch, and with leaves, loose ones and siblings, of which none is another's parent.
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
from taxoexpan.features.lexicon import Lexicon
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.queries import Queries
from taxoexpan.placement.joint.joint_placement import mentions_among, place_jointly
from taxoexpan.placement.joint.new_parent_prior import NewParentPrior
from taxoexpan.placement.joint.prior_learning import (
    MAX_SIZE,
    MERGED,
    MIN_SIZE,
    learn_new_parent_priors,
)
from taxoexpan.placement.joint.subtrees import merge_batches, remove_subtrees, sort_by_parent
from taxoexpan.placement.ranking import Anchors, Ranker
from taxoexpan.taxonomy import Additions

Place = Callable[[Additions], Additions]


def main() -> None:
    """Train, and print what each way finds of each kind of batch."""
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
        help="none one after another, which encodes all anchors anew for every concept",
    )
    options = parser.parse_args()
    settings = dict(map(parse_setting, options.changes))
    taxonomy = Taxonomy.read(options.taxonomy).active
    subtrees = remove_subtrees(taxonomy, options.subtrees, MIN_SIZE, MAX_SIZE, options.seed)
    count = sum(len(batch.concepts) for batch in subtrees.batches)
    remaining, leaves = without_leaves(taxonomy, subtrees.taxonomy, count, options.seed)
    model = TaxoExpan("best", options.seed, options.device, features=options.features, **settings)
    model.fit(remaining, progress=True)
    taken = f"{len(subtrees.batches)} subtrees of {count} concepts, and {len(leaves)} leaves"
    print(f"seed {options.seed}: without {taken}")
    began = time.monotonic()
    priors = learn_new_parent_priors(model._ranker, options.seed)
    print(f"learned in {time.monotonic() - began:.1f} s: {priors}")
    ways: dict[str, Place] = {
        "one by one": lambda batch: singly(model, batch),
        "one after another": lambda batch: in_order(model, batch),
        "together, nothing gained": lambda batch: jointly(model, batch, ()),
        "together": lambda batch: jointly(model, batch, priors),
    }
    if options.quick:
        del ways["one after another"]
    kinds = {
        "a subtree": subtrees.batches,
        f"{MERGED} subtrees": merge_batches(subtrees.batches, MERGED, options.seed),
        f"{MERGED} loose leaves": merge_batches(leaves, MERGED, options.seed),
        f"{MERGED} leaves, siblings": merge_batches(sort_by_parent(leaves), MERGED, options.seed),
    }
    print("| batch | placed | relations | from old | from new | ancestors F1 | seconds a batch |")
    print("|---|---|---|---|---|---|---|")
    for kind, batches in kinds.items():
        for way, place in ways.items():
            print_row(kind, way, model.taxonomy, batches, place)


def without_leaves(
    taxonomy: Taxonomy, remaining: Taxonomy, count: int, seed: int
) -> tuple[Taxonomy, list[Additions]]:
    """What remains without some leaves of the whole taxonomy, and these, a batch each."""
    # Of what remains a subtree's parent may be a leaf, which must stay.
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


def singly(model: TaxoExpan, batch: Additions) -> Additions:
    """Each concept by itself among those that are there."""
    parents = [s.parent.id for s in model._suggest(batch.concepts, 1)[0]]
    children = [concept.id for concept in batch.concepts]
    return Additions(batch.concepts, tuple(zip(parents, children, strict=True)))


def in_order(model: TaxoExpan, batch: Additions) -> Additions:
    """One concept after another, each an anchor for the next."""
    network, taxonomy = model._fitted().network, model.taxonomy
    vectors = model._embedder.tensor(taxonomy.concepts)
    relations = []
    for concept in batch.concepts:
        siblings = model.config.max_siblings
        anchors = Anchors(taxonomy, ConceptVectors.of(vectors), siblings)
        mentions = None
        if model.config.use_mentions:
            mentions = Lexicon.from_taxonomy(taxonomy).mentions([concept])
        asked = model._embedder.tensor([concept])
        ranking = Ranker(network, anchors).rank(Queries(asked, mentions), 1)
        parent = taxonomy.ids[int(ranking.anchors[0, 0])]
        relations.append((parent, concept.id))
        taxonomy = taxonomy.expanded(Additions((concept,), (relations[-1],)))
        vectors = torch.cat([vectors, asked], dim=1)
    return Additions(batch.concepts, tuple(relations))


def jointly(model: TaxoExpan, batch: Additions, priors: Sequence[NewParentPrior]) -> Additions:
    """All at once."""
    heeded = model.config.use_mentions
    mentions = mentions_among(model.taxonomy, batch.concepts) if heeded else None
    queries = Queries(model._embedder.tensor(batch.concepts), mentions, batch.concepts)
    placed = place_jointly(model._ranker, queries, priors)
    return placed.additions(model.taxonomy, batch.concepts)


if __name__ == "__main__":
    main()
