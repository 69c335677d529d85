from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan import TaxoExpan
from taxoexpan.network.concept_vectors import Queries
from taxoexpan.placement.joint.placement import place_jointly
from taxoexpan.placement.joint.prior_learning import (
    learn_new_parent_priors,
    merge_batches,
    remove_subtrees,
    sort_by_parent,
)
from taxoexpan.placement.scoring.anchors import Anchors
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy import Concept, Taxonomy
from tests.support.builders import FOOD, batch, random_taxonomy
from tests.support.random_batches import random_batch, random_network
from tests.support.small_models import SMALL


@given(st.integers(0, 10_000), st.integers(1, 4), st.integers(0, 6))
@settings(max_examples=60, deadline=None)
def test_removed_subtrees_are_complete_and_disjoint_and_restore_the_taxonomy(
    seed: int, smallest: int, count: int
) -> None:
    taxonomy = random_taxonomy(seed, 40)
    removal = remove_subtrees(taxonomy, count, smallest, 9, seed)
    taken = [concept.id for one in removal.batches for concept in one.concepts]
    assert len(removal.batches) <= count
    assert len(set(taken)) == len(taken)
    whole = removal.taxonomy
    for one in removal.batches:
        ids = {concept.id for concept in one.concepts}
        assert smallest <= len(ids) <= 9
        assert all(set(taxonomy.descendants(id)) <= ids for id in ids)
        tops = [id for id in ids if set(taxonomy.descendants(id)) == ids - {id}]
        assert any(parent in removal.taxonomy for id in tops for parent in taxonomy.parents(id))
        whole = whole.expanded(one)
    assert whole == taxonomy


def test_all_subtrees_of_a_size_are_removed_where_there_are_too_few() -> None:
    removal = remove_subtrees(FOOD, 100, 2, 2, seed=0)
    tops = [{c.id for c in one.concepts} for one in removal.batches]
    assert sorted(map(sorted, tops)) == [["apple", "gala"], ["bread", "rye bread"]]
    assert set(removal.taxonomy) == {"food", "fruit"}


def test_the_order_of_a_batch_is_random() -> None:
    orders = {
        tuple(c.id for c in remove_subtrees(FOOD, 1, 3, 3, seed).batches[0].concepts)
        for seed in range(40)
    }
    assert len(orders) == 6


def test_merged_batches_keep_all_concepts_and_relations() -> None:
    batches = remove_subtrees(random_taxonomy(1, 60), 5, 2, 9, seed=0).batches
    joined = merge_batches(batches, 2, seed=0)
    assert len(joined) == 3
    concepts = {c.id for one in batches for c in one.concepts}
    assert {c.id for one in joined for c in one.concepts} == concepts
    assert sum(len(one.relations) for one in joined) == sum(len(b.relations) for b in batches)


def test_leaves_sorted_by_parent_follow_their_siblings() -> None:
    parents = {f"{kind} {i}": kind for i in range(4) for kind in ("tea", "milk")}
    leaves = [batch((kind, leaf)) for leaf, kind in parents.items()]
    ordered = [one.relations[0][0] for one in sort_by_parent(leaves)]
    assert ordered == ["milk"] * 4 + ["tea"] * 4


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_the_same_seed_learns_the_same_priors(grocery: TaxoExpan) -> None:
    one, other = (learn_new_parent_priors(grocery._ranker, seed=4) for _ in range(2))
    assert len(one) == 2
    assert [n.weights for n in one] == [n.weights for n in other]


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
