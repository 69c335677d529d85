from __future__ import annotations

import numpy as np
import pytest
import torch
from builders import random_taxonomy
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.config import load_preset
from taxoexpan.features.mentions import Mentions
from taxoexpan.network.batch import TrainingBatch
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.training.holdout import hold_out, hold_out_growth, hold_out_leaves
from taxoexpan.training.sampling import TrainingSampler


def supervise(taxonomy: Taxonomy, seed: int, **settings: object) -> TrainingSampler:
    return TrainingSampler(taxonomy, load_preset("best", **settings), seed)


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_blocked_anchors_are_the_querys_parents_its_descendants_and_itself(seed: int) -> None:
    taxonomy = random_taxonomy(seed)
    sampler = supervise(taxonomy, seed, batch_size=16, num_negatives=12, max_siblings=4)
    for batch in sampler.epoch():
        sizes = batch.egonets.sizes
        nodes = batch.egonets.nodes[sizes[0] : sizes[0] + sizes[1]]
        anchors = batch.egonets.concepts[nodes].tolist()
        for column, query in enumerate(batch.queries.tolist()):
            below = {taxonomy.index(id) for id in taxonomy.descendants(taxonomy.ids[query])}
            refused = below | {query} | set(taxonomy.parents_of.of(query).tolist())
            blocked = batch.blocked[0, batch.blocked[1] == column].tolist()
            assert sorted(blocked) == [i for i, anchor in enumerate(anchors) if anchor in refused]


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_own_sibling_is_the_query_in_its_parents_egonet(seed: int) -> None:
    taxonomy = random_taxonomy(seed)
    sampler = supervise(taxonomy, seed, batch_size=16, num_negatives=4, max_siblings=3)
    for batch in sampler.epoch():
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


@pytest.mark.parametrize("negatives", ["uniform", "shared", "all"])
def test_what_queries_mention_is_tried_and_how_is_told(negatives: str) -> None:
    taxonomy = random_taxonomy(4, count=60)
    mentions = Mentions.from_rows([[((i + 7) % 60, 0), ((i + 21) % 60, 5)] for i in range(60)])
    config = load_preset(
        "best",
        batch_size=16,
        num_negatives=3,
        negative_sampling=negatives,
        use_mentions=True,
        max_siblings=4,
    )
    for batch in TrainingSampler(taxonomy, config, 0, mentions).epoch():
        sizes = batch.egonets.sizes
        nodes = batch.egonets.nodes[sizes[0] : sizes[0] + sizes[1]]
        anchors = batch.egonets.concepts[nodes].tolist()
        tried = anchors if batch.drawn is None else [anchors[i] for i in batch.drawn.tolist()]
        assert batch.mentions is not None
        told = {(anchors[row], column, kind) for row, column, kind in batch.mentions.T.tolist()}
        queries = batch.queries.tolist()
        expected = {((q + 7) % 60, column, 0) for column, q in enumerate(queries)}
        assert told == expected | {((q + 21) % 60, column, 5) for column, q in enumerate(queries)}
        assert {anchor for anchor, _, _ in told} <= set(tried)
        halves = [half.mentions for half in batch.split(2)]
        assert sum(half.shape[1] for half in halves if half is not None) == len(told)


def test_mentions_count_only_where_they_are_asked_for() -> None:
    taxonomy = random_taxonomy(4)
    mentions = Mentions.from_rows([[(1, 0)]] * len(taxonomy))
    batch = next(TrainingSampler(taxonomy, load_preset("best"), 0, mentions).epoch())
    assert batch.mentions is None


def test_an_epoch_has_one_instance_for_every_relation() -> None:
    taxonomy = random_taxonomy(1)
    sampler = supervise(taxonomy, 0, batch_size=7, num_negatives=4, max_siblings=50)
    seen = []
    for batch in sampler.epoch():
        sizes = batch.egonets.sizes
        anchors = batch.egonets.concepts[batch.egonets.nodes[sizes[0] : sizes[0] + sizes[1]]]
        parents = anchors[batch.positives]
        seen += list(zip(parents.tolist(), batch.queries.tolist(), strict=True))
    parents, children = taxonomy.relation_indices
    assert sorted(seen) == sorted(zip(parents.tolist(), children.tolist(), strict=True))


def test_masked_leaves_leave_the_graph_with_their_relations() -> None:
    taxonomy = random_taxonomy(2, count=200)
    holdout = hold_out_leaves(taxonomy, share=0.5, most=1000, seed=0)
    assert holdout.concepts
    for concept, parents in zip(holdout.concepts, holdout.parents, strict=True):
        assert concept.id not in holdout.taxonomy
        assert not taxonomy.children(concept.id)
        kept = {holdout.taxonomy.ids[p] for p in parents}
        assert kept == set(taxonomy.parents(concept.id)) & set(holdout.taxonomy)


def test_the_same_seed_masks_the_same_leaves() -> None:
    taxonomy = random_taxonomy(2, count=200)
    one, same, other = (hold_out_leaves(taxonomy, 0.3, 20, seed) for seed in (1, 1, 2))
    assert one.concepts == same.concepts
    assert one.concepts != other.concepts
    assert len(one.concepts) <= 20


@given(st.integers(0, 10_000), st.floats(0.05, 0.6))
@settings(max_examples=40, deadline=None)
def test_half_of_what_is_masked_as_growth_comes_in_whole_families(seed: int, share: float) -> None:
    taxonomy = random_taxonomy(seed, count=200)
    holdout = hold_out_growth(taxonomy, share, 1000, seed)
    loose = hold_out_leaves(taxonomy, share, 1000, seed)
    assert len(holdout.concepts) == len(loose.concepts)
    gone = {concept.id for concept in holdout.concepts}
    assert not any(taxonomy.children(id) for id in gone)
    families = [
        taxonomy.children(id)
        for id in taxonomy
        if taxonomy.children(id) and not any(map(taxonomy.children, taxonomy.children(id)))
    ]
    emptied = sum(len(family) for family in families if gone.issuperset(family))
    untouched = [len(family) for family in families if gone.isdisjoint(family)]
    if untouched:  # the smallest of them did not fit any more
        assert emptied > len(gone) // 2 - min(untouched)


def test_half_of_what_is_masked_as_growth_is_loose() -> None:
    concepts = [Concept(f"p{i}", f"p{i}") for i in range(100)]
    leaves = [(f"p{i}", f"p{i}-{j}") for i in range(100) for j in range(4)]
    taxonomy = Taxonomy([*concepts, *(Concept(leaf, leaf) for _, leaf in leaves)], leaves)
    left = hold_out_growth(taxonomy, 0.2, 1000, seed=0).taxonomy
    emptied = sum(not left.children(concept.id) for concept in concepts)
    assert len(left) == 500 - 80
    assert 10 <= emptied <= 12  # loose leaves may empty one by chance


def test_a_family_that_is_too_large_is_not_masked() -> None:
    flat = Taxonomy(
        [Concept(str(i), str(i)) for i in range(101)], [("0", str(i)) for i in range(1, 101)]
    )
    holdout = hold_out_growth(flat, 0.3, 1000, seed=0)
    assert len(holdout.concepts) == 30
    assert len(holdout.taxonomy) == 71


def test_the_same_seed_masks_the_same_growth() -> None:
    taxonomy = random_taxonomy(2, count=200)
    one, same, other = (hold_out_growth(taxonomy, 0.3, 20, seed) for seed in (1, 1, 2))
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
        sampler = supervise(taxonomy, 0, hide_children_rate=childless, batch_size=1000)
        shown.append(next(sampler.epoch()).egonets.sizes[2])
    assert shown[0] == taxonomy.relation_count
    assert 0.3 * shown[0] < shown[1] < 0.7 * shown[0]
    assert shown[2] == 0


@given(st.integers(0, 10_000))
@settings(max_examples=30, deadline=None)
def test_uniform_negatives_are_what_was_drawn_and_not_the_parents_of_other_queries(
    seed: int,
) -> None:
    taxonomy = random_taxonomy(seed)
    sampler = supervise(taxonomy, seed, batch_size=16, num_negatives=3, negative_sampling="uniform")
    for batch in sampler.epoch():
        anchors = anchors_of(batch)
        tried = anchors if batch.drawn is None else [anchors[i] for i in batch.drawn.tolist()]
        assert len(tried) <= 3
        for column, query in enumerate(batch.queries.tolist()):
            below = {taxonomy.index(id) for id in taxonomy.descendants(taxonomy.ids[query])}
            refused = below | {query} | set(taxonomy.parents_of.of(query).tolist())
            blocked = batch.blocked[0, batch.blocked[1] == column].tolist()
            assert sorted(blocked) == [i for i, anchor in enumerate(tried) if anchor in refused]


@pytest.mark.parametrize("negatives", ["sampled", "uniform", "shared", "all"])
def test_roots_are_no_negatives_where_the_authors_code_leaves_them_out(negatives: str) -> None:
    taxonomy = random_taxonomy(5, count=60)
    roots = set(np.flatnonzero(taxonomy.parents_of.degrees == 0).tolist())
    assert roots
    sampler = supervise(
        taxonomy,
        0,
        negative_sampling=negatives,
        num_negatives=40,
        quirks={"no_root_negatives": True},
    )
    for batch in sampler.epoch():
        anchors = anchors_of(batch)
        tried = set(anchors)
        if batch.drawn is not None:
            tried = {anchors[i] for i in batch.drawn.flatten().tolist()}
        assert tried
        assert not tried & roots


def test_first_parents_alone_are_positive_where_the_authors_code_has_no_others() -> None:
    taxonomy = random_taxonomy(1)
    assert (taxonomy.parents_of.degrees > 1).any()
    sampler = supervise(
        taxonomy, 0, batch_size=7, num_negatives=4, quirks={"first_parents_only": True}
    )
    seen = []
    for batch in sampler.epoch():
        parents = [anchors_of(batch)[i] for i in batch.positives.tolist()]
        seen += list(zip(parents, batch.queries.tolist(), strict=True))
    assert sorted(seen) == sorted(
        (int(taxonomy.parents_of.of(child)[0]), child)
        for child in range(len(taxonomy))
        if len(taxonomy.parents_of.of(child))
    )
    assert sampler.batch_count == -(-len(seen) // 7)


@pytest.mark.parametrize("negatives", ["sampled", "uniform", "shared", "all"])
def test_a_batch_in_parts_is_the_same_instances_over_the_same_egonets(negatives: str) -> None:
    sampler = supervise(
        random_taxonomy(4), 0, batch_size=13, num_negatives=6, negative_sampling=negatives
    )
    batch = next(sampler.epoch())
    parts = list(batch.split(4))
    assert [len(part.queries) for part in parts] == [4, 3, 3, 3]
    for name in ("queries", "positives", "own_sibling"):
        whole = torch.cat([getattr(part, name) for part in parts])
        assert torch.equal(whole, getattr(batch, name))
    starts = np.cumsum([0, 4, 3, 3])
    shifted = [
        part.blocked + torch.tensor([[0], [start]])
        for part, start in zip(parts, starts, strict=True)
    ]
    assert sorted(map(tuple, torch.cat(shifted, 1).T.tolist())) == sorted(
        map(tuple, batch.blocked.T.tolist())
    )
    assert all(part.egonets is batch.egonets for part in parts)


def anchors_of(batch: TrainingBatch) -> list[int]:
    """The concepts whose egonets a batch has."""
    above, size, _ = batch.egonets.sizes
    found: list[int] = batch.egonets.concepts[batch.egonets.nodes[above : above + size]].tolist()
    return found
