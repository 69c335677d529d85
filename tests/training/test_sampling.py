from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.config import load_preset
from taxoexpan.features.mentions import Mentions
from taxoexpan.network.batch import TrainingBatch
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.adjacency import Adjacency
from taxoexpan.training.continuation import ChangesSinceTraining, Recipe
from taxoexpan.training.sampling import TrainingSampler, blocked_among, blocked_draws
from tests.support.builders import random_taxonomy
from tests.support.strategies import quickly


def make_sampler(taxonomy: Taxonomy, seed: int, **settings: object) -> TrainingSampler:
    return TrainingSampler(taxonomy, load_preset("best", **settings), seed)


def anchors_of(batch: TrainingBatch) -> list[int]:
    """Return the anchors of a batch as concepts."""
    above, size, _ = batch.egonets.sizes
    found: list[int] = batch.egonets.concepts[batch.egonets.nodes[above : above + size]].tolist()
    return found


def tried_in(batch: TrainingBatch) -> list[int]:
    """Return the anchors that are matched with all queries, or with some of them, as concepts."""
    anchors = anchors_of(batch)
    if batch.negatives is None:
        return anchors
    return [anchors[i] for i in batch.negatives.flatten().tolist()]


@pytest.mark.parametrize("negatives", ["shared", "uniform"])
@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_parents_descendants_and_the_query_itself_are_blocked(negatives: str, seed: int) -> None:
    taxonomy = random_taxonomy(seed)
    sampler = make_sampler(
        taxonomy, seed, batch_size=16, num_negatives=3, negative_sampling=negatives
    )
    for batch in sampler.epoch():
        tried = tried_in(batch)
        assert negatives == "shared" or len(tried) <= 3  # no parents of other queries
        for column, query in enumerate(batch.queries.tolist()):
            blocked = batch.blocked[0, batch.blocked[1] == column].tolist()
            expected = [i for i, anchor in enumerate(tried) if is_blocked(taxonomy, query, anchor)]
            assert sorted(blocked) == expected


@given(st.integers(0, 10_000))
@settings(max_examples=40, deadline=None)
def test_own_sibling_is_the_query_in_the_egonet_of_its_parent(seed: int) -> None:
    taxonomy = random_taxonomy(seed)
    sampler = make_sampler(taxonomy, seed, batch_size=16, num_negatives=4, max_siblings=3)
    for batch in sampler.epoch():
        sizes = batch.egonets.sizes
        concepts = batch.egonets.concepts[batch.egonets.nodes]
        siblings = concepts[sizes[0] + sizes[1] :].tolist()
        of = batch.egonets.sibling_of.tolist()
        own = batch.own_sibling.tolist()
        slots = batch.positives.tolist()
        for query, slot, row in zip(batch.queries.tolist(), slots, own, strict=True):
            in_egonet = [s for s, o in zip(siblings, of, strict=True) if o == slot]
            if row < 0:
                assert query not in in_egonet
            else:
                assert (siblings[row], of[row]) == (query, slot)


@pytest.mark.parametrize("negatives", ["uniform", "shared"])
def test_mentioned_concepts_become_negatives_with_their_kind(negatives: str) -> None:
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
        anchors = anchors_of(batch)
        assert batch.mentions is not None
        found = {(anchors[row], column, kind) for row, column, kind in batch.mentions.T.tolist()}
        queries = batch.queries.tolist()
        expected = {((q + 7) % 60, column, 0) for column, q in enumerate(queries)}
        assert found == expected | {((q + 21) % 60, column, 5) for column, q in enumerate(queries)}
        assert {anchor for anchor, _, _ in found} <= set(tried_in(batch))
        halves = [half.mentions for half in batch.split(2)]
        assert sum(half.shape[1] for half in halves if half is not None) == len(found)


def test_mentions_are_used_only_if_the_setting_is_on() -> None:
    taxonomy = random_taxonomy(4)
    mentions = Mentions.from_rows([[(1, 0)]] * len(taxonomy))
    batch = next(TrainingSampler(taxonomy, load_preset("best"), 0, mentions).epoch())
    assert batch.mentions is None


def test_an_epoch_has_one_instance_per_relation() -> None:
    taxonomy = random_taxonomy(1)
    sampler = make_sampler(taxonomy, 0, batch_size=7, num_negatives=4, max_siblings=50)
    seen = []
    for batch in sampler.epoch():
        parents = [anchors_of(batch)[i] for i in batch.positives.tolist()]
        seen += list(zip(parents, batch.queries.tolist(), strict=True))
    above, children = taxonomy.relation_indices
    assert sorted(seen) == sorted(zip(above.tolist(), children.tolist(), strict=True))


def test_a_fraction_of_the_egonets_has_no_children() -> None:
    taxonomy = random_taxonomy(3, count=400)
    shown = []
    for rate in (0.0, 0.5, 1 - 1e-9):
        sampler = make_sampler(taxonomy, 0, hide_children_rate=rate, batch_size=1000)
        shown.append(next(sampler.epoch()).egonets.sizes[2])
    assert shown[0] == len(taxonomy.relations)
    assert 0.3 * shown[0] < shown[1] < 0.7 * shown[0]
    assert shown[2] == 0


@pytest.mark.parametrize("negatives", ["sampled", "uniform", "shared"])
def test_no_root_is_a_negative_with_the_quirk_of_the_authors(negatives: str) -> None:
    taxonomy = random_taxonomy(5, count=60)
    roots = set(np.flatnonzero(taxonomy.parents_of.degrees == 0).tolist())
    assert roots
    sampler = make_sampler(
        taxonomy,
        0,
        negative_sampling=negatives,
        num_negatives=40,
        quirks={"no_root_negatives": True},
    )
    for batch in sampler.epoch():
        anchors = anchors_of(batch)
        tried = set(anchors)
        if batch.negatives is not None:
            tried = {anchors[i] for i in batch.negatives.flatten().tolist()}
        assert tried
        assert not tried & roots


@pytest.mark.parametrize("negatives", ["sampled", "uniform", "shared"])
def test_with_that_quirk_no_mentioned_or_rejected_root_is_a_negative(negatives: str) -> None:
    taxonomy = random_taxonomy(5, count=60)
    roots = np.flatnonzero(taxonomy.parents_of.degrees == 0)
    mentions = Mentions.from_rows([[(int(root), 0) for root in roots]] * 60)
    pairs = np.repeat(np.arange(60), len(roots)), np.tile(roots, 60)
    rejected = Adjacency.from_pairs(*pairs, 60)
    config = load_preset(
        "best",
        batch_size=16,
        num_negatives=40,
        negative_sampling=negatives,
        use_mentions=True,
        quirks={"no_root_negatives": True},
    )
    changes = ChangesSinceTraining(np.zeros(60, dtype=bool), rejected, Recipe())
    for batch in TrainingSampler(taxonomy, config, 0, mentions, changes).epoch():
        assert not set(tried_in(batch)) & set(roots.tolist())


def test_only_first_parents_are_positives_with_the_quirk_of_the_authors() -> None:
    taxonomy = random_taxonomy(1)
    assert (taxonomy.parents_of.degrees > 1).any()
    sampler = make_sampler(
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


SIZE = 10
ROWS = st.integers(0, SIZE - 1)


def is_blocked(taxonomy: Taxonomy, query: int, anchor: int) -> bool:
    own, other = taxonomy.ids[query], taxonomy.ids[anchor]
    return other in (own, *taxonomy.parents(own), *taxonomy.descendants(own))


@given(
    st.lists(st.tuples(ROWS, ROWS), max_size=30),
    st.lists(ROWS, min_size=1, max_size=5),
    st.sets(ROWS, min_size=1).map(sorted),
)
@quickly
def test_a_query_blocks_its_parents_its_descendants_and_itself(
    pairs: list[tuple[int, int]], queries: list[int], anchors: list[int]
) -> None:
    relations = [(str(min(pair)), str(max(pair))) for pair in pairs if pair[0] != pair[1]]
    taxonomy = Taxonomy([Concept(str(i), f"concept {i}") for i in range(SIZE)], relations)
    expected = {
        (row, column)
        for row, anchor in enumerate(anchors)
        for column, query in enumerate(queries)
        if is_blocked(taxonomy, query, anchor)
    }
    found = blocked_among(taxonomy, np.array(queries), np.array(anchors)).T.tolist()
    assert len(found) == len(expected)  # the loss counts the pairs, so none occurs twice
    assert {(row, column) for row, column in found} == expected
    draws = np.tile(np.array(anchors)[:, None], len(queries))
    drawn = blocked_draws(taxonomy, np.array(queries), draws).T.tolist()
    assert {(row, column) for row, column in drawn} == expected
