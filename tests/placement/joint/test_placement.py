from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from random_batches import random_batch, random_network

from taxoexpan.network.queries import Queries
from taxoexpan.placement.joint.placement import mentions_among, place_jointly
from taxoexpan.placement.learned.new_parent_prior import NewParentPrior
from taxoexpan.taxonomy import Concept, Taxonomy

EAGER = NewParentPrior(np.array([6.0, 0.0, 0.0]), 0.8)
"""A prior that makes most parents new ones."""


def reordered(new: Queries, known: int, order: list[int]) -> Queries:
    """The same batch, given in another order."""
    mentions = new.mentions
    if mentions is not None:
        places = np.concatenate([np.arange(known), known + np.argsort(order)])
        mentions = mentions.reindex(places, np.array(order))
    return Queries(new.vectors[:, order], mentions, [new.concepts[i] for i in order])


@given(st.integers(0, 1000), st.integers(1, 12), st.booleans())
@settings(max_examples=25, deadline=None)
def test_the_order_of_a_batch_does_not_matter_and_no_cycle_occurs(
    seed: int, count: int, mentions: bool
) -> None:
    network = random_network(seed, use_mentions=mentions)
    ranker, new = random_batch(seed, count, network)
    order = np.random.default_rng(seed + 1).permutation(count).tolist()
    known = len(ranker.keys)
    one = place_jointly(ranker, new, [EAGER])
    other = place_jointly(ranker, reordered(new, known, order), [EAGER])
    names = [*range(known), *(known + place for place in order)]
    assert [names[p] for p in other.parents] == [one.parents[i] for i in order]
    assert np.array_equal(other.scores, one.scores[order])
    assert (one.rounds, one.converged) == (other.rounds, other.converged)
    # A cycle would be refused here.
    grown = ranker.anchors.taxonomy.expanded(one.additions(ranker.anchors.taxonomy, new.concepts))
    assert len(grown) == known + count
    assert ((one.scores > 0) & (one.scores <= 1)).all()


def test_a_batch_of_one_is_placed_as_it_would_be_alone() -> None:
    network = random_network(0)
    ranker, new = random_batch(0, 1, network)
    placed = place_jointly(ranker, new, [EAGER])
    ranking = ranker.rank(new, 1)
    assert placed.parents.tolist() == ranking.anchors[:, 0].tolist()
    assert (placed.rounds, placed.converged) == (0, True)


def test_an_empty_batch_has_no_parents() -> None:
    network = random_network(0)
    ranker, new = random_batch(0, 1, network)
    none = new[:0]
    assert place_jointly(ranker, none).parents.tolist() == []


def test_nothing_is_placed_below_a_deprecated_concept() -> None:
    network = random_network(3)
    ranker, new = random_batch(3, 9, network)
    first = place_jointly(ranker, new).parents
    taken = tuple(sorted({int(parent) for parent in first if parent < len(ranker.keys)}))
    ranker, new = random_batch(3, 9, network, deprecated=taken)
    assert not set(taken) & set(place_jointly(ranker, new).parents.tolist())


def test_the_number_of_rounds_is_limited() -> None:
    network = random_network(1)
    ranker, new = random_batch(1, 12, network)
    assert place_jointly(ranker, new, [EAGER], max_rounds=0).rounds == 0
    placed = place_jointly(ranker, new, [EAGER], max_rounds=1)
    assert (placed.rounds, placed.converged) == (1, False)
    # Further rounds after convergence change nothing.
    long = place_jointly(ranker, new, [EAGER], max_rounds=50)
    if long.converged:
        more = place_jointly(ranker, new, [EAGER], max_rounds=long.rounds + 9)
        assert more.parents.tolist() == long.parents.tolist()


def test_mentions_include_other_new_concepts() -> None:
    taxonomy = Taxonomy([Concept("1", "food"), Concept("2", "bread")], [("1", "2")])
    concepts = [Concept("", "rye bread"), Concept("", "dark rye bread")]
    mentions = mentions_among(taxonomy, concepts)
    assert set(mentions.of_row.of(0).tolist()) >= {1}
    assert set(mentions.of_row.of(1).tolist()) >= {2}
