from __future__ import annotations

import numpy as np
from builders import random_taxonomy
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.configuration import load_preset
from taxoexpan.supervision import Supervision, hold_out, mask_leaves
from taxoexpan.taxonomy import Concept, Taxonomy


def supervise(taxonomy: Taxonomy, seed: int, **settings: int | float) -> Supervision:
    return Supervision(taxonomy, load_preset("best", **settings), seed)


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_blocked_anchors_are_the_querys_parents_its_descendants_and_itself(seed: int) -> None:
    taxonomy = random_taxonomy(seed)
    supervision = supervise(taxonomy, seed, batch_size=16, drawn=12, siblings=4)
    for batch in supervision.epoch():
        sizes = batch.egonets.sizes
        nodes = batch.egonets.nodes[sizes[0] : sizes[0] + sizes[1]]
        anchors = batch.egonets.concepts[nodes].tolist()
        for row, query in enumerate(batch.queries.tolist()):
            below = {taxonomy.index(id) for id in taxonomy.descendants(taxonomy.ids[query])}
            refused = below | {query} | set(taxonomy.parents_of.of(query).tolist())
            assert batch.blocked[row].tolist() == [anchor in refused for anchor in anchors]


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_own_sibling_is_the_query_in_its_parents_egonet(seed: int) -> None:
    taxonomy = random_taxonomy(seed)
    supervision = supervise(taxonomy, seed, batch_size=16, drawn=4, siblings=3)
    for batch in supervision.epoch():
        sizes = batch.egonets.sizes
        concepts = batch.egonets.concepts[batch.egonets.nodes]
        siblings = concepts[sizes[0] + sizes[1] :].tolist()
        of = batch.egonets.sibling_of.tolist()
        own = batch.own_sibling.tolist()
        places = batch.positives.tolist()
        for query, slot, row in zip(batch.queries.tolist(), places, own, strict=True):
            in_egonet = [s for s, o in zip(siblings, of, strict=True) if o == slot]
            if row < 0:
                assert query not in in_egonet
            else:
                assert (siblings[row], of[row]) == (query, slot)


def test_an_epoch_has_one_instance_for_every_relation() -> None:
    taxonomy = random_taxonomy(1)
    supervision = supervise(taxonomy, 0, batch_size=7, drawn=4, siblings=50)
    seen = []
    for batch in supervision.epoch():
        sizes = batch.egonets.sizes
        anchors = batch.egonets.concepts[batch.egonets.nodes[sizes[0] : sizes[0] + sizes[1]]]
        parents = anchors[batch.positives]
        seen += list(zip(parents.tolist(), batch.queries.tolist(), strict=True))
    parents, children = taxonomy.relation_indices
    assert sorted(seen) == sorted(zip(parents.tolist(), children.tolist(), strict=True))


def test_masked_leaves_leave_the_graph_with_their_relations() -> None:
    taxonomy = random_taxonomy(2, count=200)
    holdout = mask_leaves(taxonomy, share=0.5, most=1000, seed=0)
    assert holdout.concepts
    for concept, parents in zip(holdout.concepts, holdout.parents, strict=True):
        assert concept.id not in holdout.taxonomy
        assert not taxonomy.children(concept.id)
        kept = {holdout.taxonomy.ids[p] for p in parents}
        assert kept == set(taxonomy.parents(concept.id)) & set(holdout.taxonomy)


def test_the_same_seed_masks_the_same_leaves() -> None:
    taxonomy = random_taxonomy(2, count=200)
    one, same, other = (mask_leaves(taxonomy, 0.3, 20, seed) for seed in (1, 1, 2))
    assert one.concepts == same.concepts
    assert one.concepts != other.concepts
    assert len(one.concepts) <= 20


def test_a_held_out_concept_without_a_remaining_parent_is_no_query() -> None:
    chain = Taxonomy([Concept(i, i) for i in "abc"], [("a", "b"), ("b", "c")])
    holdout = hold_out(chain, ["b", "c"])
    assert [concept.id for concept in holdout.concepts] == ["b"]
    assert np.array_equal(holdout.parents[0], [0])


def test_a_share_of_the_parents_is_shown_without_children() -> None:
    taxonomy = random_taxonomy(3, count=400)
    shown = []
    for childless in (0.0, 0.5, 1 - 1e-9):
        supervision = supervise(taxonomy, 0, childless=childless, batch_size=1000)
        shown.append(next(supervision.epoch()).egonets.sizes[2])
    assert shown[0] == taxonomy.relation_count
    assert 0.3 * shown[0] < shown[1] < 0.7 * shown[0]
    assert shown[2] == 0
