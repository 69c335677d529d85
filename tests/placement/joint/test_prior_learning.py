from __future__ import annotations

import pytest
import torch
from conftest import SMALL
from random_batches import random_batch, random_network

from taxoexpan import TaxoExpan
from taxoexpan.network.queries import Queries
from taxoexpan.placement.joint.joint_placement import place_jointly
from taxoexpan.placement.joint.prior_learning import learn_new_parent_priors
from taxoexpan.placement.joint.subtrees import remove_subtrees
from taxoexpan.placement.scoring.anchors import Anchors
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy import Concept, Taxonomy

KINDS = ("milk", "tea", "cheese", "bread", "apple", "sauce", "soup", "berry", "nut", "oil")
SORTS = ("oat", "green", "goat", "rye", "red", "blue")


@pytest.fixture(scope="module", params=[True, False], ids=["fused", "network"])
def grocery(request: pytest.FixtureRequest) -> TaxoExpan:
    """A model of nine kinds of food in six sorts each, which has seen no bread."""
    kinds = [kind for kind in KINDS if kind != "bread"]
    relations = [("food", kind) for kind in kinds]
    relations += [(kind, f"{sort} {kind}") for kind in kinds for sort in SORTS]
    names = ["food", *(child for _, child in relations)]
    taxonomy = Taxonomy([Concept(name, name) for name in names], relations)
    settings = SMALL | {"learn_fusion": request.param}
    return TaxoExpan("fast", seed=1, device="cpu", **settings).fit(taxonomy)


def test_the_learned_priors_put_an_unseen_family_together(grocery: TaxoExpan) -> None:
    concepts = [Concept(name, name) for name in ("bread", *(f"{sort} bread" for sort in SORTS))]
    known = len(grocery.taxonomy)
    new = Queries(grocery._embedder.tensor(concepts), None, concepts)
    prior = learn_new_parent_priors(grocery._ranker)
    placed = place_jointly(grocery._ranker, new, prior)
    alone = place_jointly(grocery._ranker, new)
    assert placed.parents[0] < known
    together, without_prior = ((p.parents[1:] == known).sum() for p in (placed, alone))
    assert together >= 4
    # The words of their names are enough for the fusion; the network alone needs the prior.
    assert (without_prior >= 4) == grocery.config.learn_fusion


def test_the_same_seed_learns_the_same_priors(grocery: TaxoExpan) -> None:
    one, other = (learn_new_parent_priors(grocery._ranker, seed=4) for _ in range(2))
    assert len(one) == 2
    assert [n.weights.tolist() for n in one] == [n.weights.tolist() for n in other]


def test_nothing_is_learned_from_a_taxonomy_without_subtrees() -> None:
    network = random_network(0)
    ranker, _ = random_batch(0, 1, network)
    flat = Taxonomy(
        [Concept(str(i), f"n{i}") for i in range(5)], [("0", str(i)) for i in range(1, 5)]
    )
    vectors = ranker.anchors.vectors.select(torch.arange(5))
    anchors = Anchors(flat, vectors, 50)
    assert not remove_subtrees(flat, 9, 5, 20, 0).batches
    assert learn_new_parent_priors(Ranker(network, anchors)) == ()
