from __future__ import annotations

import numpy as np
import pytest
import torch
from builders import random_taxonomy
from conftest import SMALL
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan import TaxoExpan
from taxoexpan.config import load_preset
from taxoexpan.features.mentions import Mentions
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.queries import Queries
from taxoexpan.placement.joint.batch_scoring import BatchScorer
from taxoexpan.placement.joint.joint_placement import (
    mentions_among,
    place_jointly,
)
from taxoexpan.placement.joint.new_parent_prior import NewParentPrior
from taxoexpan.placement.joint.prior_learning import learn_new_parent_priors
from taxoexpan.placement.joint.subtrees import remove_subtrees
from taxoexpan.placement.ranking import Anchors, Ranker
from taxoexpan.taxonomy import Additions, Concept, Taxonomy

SIZE = 8
EAGER = NewParentPrior(np.array([6.0, 0.0, 0.0]), 0.8)
"""Makes most parents new ones."""


def unit(generator: torch.Generator, count: int) -> torch.Tensor:
    drawn = torch.randn(2, count, SIZE, generator=generator)
    return torch.nn.functional.normalize(drawn, dim=2)


def drawn_network(seed: int, **changes: str) -> MatchingNetwork:
    """A network that has learned nothing, but scores far from evenly."""
    config = load_preset("best", hidden_dim=4, embedding_dim=8, **changes)
    network = MatchingNetwork(config, SIZE)
    network.reset(torch.Generator().manual_seed(seed))
    with torch.no_grad():
        for weight in network.parameters():
            weight.mul_(2.0)
        if network.mentions is not None:
            network.mentions.weight.copy_(torch.linspace(0.1, 0.5, 7))
    return network


def drawn_batch(
    seed: int, count: int, network: MatchingNetwork, deprecated: tuple[int, ...] = ()
) -> tuple[Ranker, Queries]:
    """Thirty existing concepts, and some new ones."""
    generator = torch.Generator().manual_seed(seed)
    taxonomy = random_taxonomy(seed)
    parents, children = taxonomy.relation_indices
    taxonomy = Taxonomy.from_columns(
        taxonomy.ids, taxonomy.labels, parents, children, deprecated=deprecated
    )
    anchors = Anchors(taxonomy, ConceptVectors.of(unit(generator, len(taxonomy))), 50)
    concepts = [Concept(f"new {i}", f"name {(7 * i) % 5}") for i in range(count)]
    mentions = None
    if network.mentions is not None:
        rng = np.random.default_rng(seed)
        drawn = rng.integers(0, (len(taxonomy) + count, 7), (count, 6, 2)).tolist()
        mentions = Mentions.from_rows([[(t, k) for t, k in row] for row in drawn])
    return Ranker(network, anchors), Queries(unit(generator, count), mentions, concepts)


def reordered(new: Queries, known: int, order: list[int]) -> Queries:
    """The same batch, given in another order."""
    mentions = new.mentions
    if mentions is not None:
        places = np.concatenate([np.arange(known), known + np.argsort(order)])
        mentions = mentions.reindex(places, np.array(order))
    return Queries(new.vectors[:, order], mentions, [new.concepts[i] for i in order])


@given(st.integers(0, 1000), st.integers(1, 12), st.booleans())
@settings(max_examples=25, deadline=None)
def test_the_order_of_a_batch_does_not_matter_and_no_cycle_comes_of_it(
    seed: int, count: int, mentions: bool
) -> None:
    network = drawn_network(seed, use_mentions=mentions)
    ranker, new = drawn_batch(seed, count, network)
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


def plain_scores(
    network: MatchingNetwork, ranker: Ranker, new: Queries, parents: list[int], query: int
) -> torch.Tensor:
    """The raw scores of all anchors in the grown taxonomy without the query: [N + Q]."""
    old, known = ranker.anchors.taxonomy, len(ranker.keys)
    ids = [*old.ids, *(concept.id for concept in new.concepts)]
    own = known + query
    # What hangs on the query hangs on its parent where the query is not.
    up = [parents[query] if parent == own else parent for parent in parents]
    relations = [(ids[p], ids[known + c]) for c, p in enumerate(up) if c != query]
    others = [concept for i, concept in enumerate(new.concepts) if i != query]
    grown = old.expanded(Additions(others, relations))
    left = [i for i in range(len(ids)) if i != own]
    vectors = ranker.anchors.vectors
    both = torch.stack([vectors.names, vectors.heads[vectors.head_of]])
    both = torch.cat([both, new.vectors], dim=1)[:, left]
    anchors = Anchors(grown, ConceptVectors.of(both), ranker.anchors.siblings)
    mentions = new.mentions
    if mentions is not None:
        places = np.full(len(ids), -1)
        places[left] = np.arange(len(left))
        mentions = mentions.reindex(places, np.array([query]))
    asked = new.vectors[:, query : query + 1]
    without = Ranker(network, anchors).scores(Queries(asked, mentions))[:, 0]
    scores = torch.full((len(ids),), -torch.inf)
    scores[left] = without
    return scores


@pytest.mark.parametrize("mentions", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_every_query_is_scored_in_the_taxonomy_that_it_is_not_in(seed: int, mentions: bool) -> None:
    network = drawn_network(seed, use_mentions=mentions)
    ranker, new = drawn_batch(seed, 7, network)
    known = len(ranker.keys)
    rng = np.random.default_rng(seed)
    # Chains, siblings and existing parents, each below an existing or an earlier one.
    parents = [
        int(rng.integers(0, known)) if i < 2 or rng.random() < 0.3 else known + i - 1 - i % 2
        for i in range(7)
    ]
    scores = BatchScorer(ranker, new).scores(np.array(parents))
    for query in range(7):
        plain = plain_scores(network, ranker, new, parents, query)
        assert torch.allclose(
            torch.from_numpy(scores.among[query]).float(), plain[known:], atol=1e-4
        )
        assert scores.anchors[query] == int(plain[:known].argmax())
        assert abs(scores.best[query] - float(plain[:known].max())) < 1e-4
        assert abs(scores.total[query] - float(plain[:known].logsumexp(0))) < 1e-4


def test_a_batch_of_one_goes_where_it_would_go_by_itself() -> None:
    network = drawn_network(0)
    ranker, new = drawn_batch(0, 1, network)
    placed = place_jointly(ranker, new, [EAGER])
    ranking = ranker.rank(new, 1)
    assert placed.parents.tolist() == ranking.anchors[:, 0].tolist()
    assert (placed.rounds, placed.converged) == (0, True)


def test_no_new_concepts_have_no_parents() -> None:
    network = drawn_network(0)
    ranker, new = drawn_batch(0, 1, network)
    none = new[:0]
    assert place_jointly(ranker, none).parents.tolist() == []


def test_nothing_is_placed_below_what_is_deprecated() -> None:
    network = drawn_network(3)
    ranker, new = drawn_batch(3, 9, network)
    first = place_jointly(ranker, new).parents
    taken = tuple(sorted({int(parent) for parent in first if parent < len(ranker.keys)}))
    ranker, new = drawn_batch(3, 9, network, deprecated=taken)
    assert not set(taken) & set(place_jointly(ranker, new).parents.tolist())


def test_the_rounds_end_where_they_are_bounded() -> None:
    network = drawn_network(1)
    ranker, new = drawn_batch(1, 12, network)
    assert place_jointly(ranker, new, [EAGER], max_rounds=0).rounds == 0
    placed = place_jointly(ranker, new, [EAGER], max_rounds=1)
    assert (placed.rounds, placed.converged) == (1, False)
    # Once converged, further rounds find the same.
    long = place_jointly(ranker, new, [EAGER], max_rounds=50)
    if long.converged:
        more = place_jointly(ranker, new, [EAGER], max_rounds=long.rounds + 9)
        assert more.parents.tolist() == long.parents.tolist()


def test_mentions_reach_the_other_new_concepts() -> None:
    taxonomy = Taxonomy([Concept("1", "food"), Concept("2", "bread")], [("1", "2")])
    concepts = [Concept("", "rye bread"), Concept("", "dark rye bread")]
    mentions = mentions_among(taxonomy, concepts)
    assert set(mentions.of_row.of(0).tolist()) >= {1}
    assert set(mentions.of_row.of(1).tolist()) >= {2}


KINDS = ("milk", "tea", "cheese", "bread", "apple", "sauce", "soup", "berry", "nut", "oil")
SORTS = ("oat", "green", "goat", "rye", "red", "blue")


@pytest.fixture(scope="module")
def grocery() -> TaxoExpan:
    """A model of nine kinds of food in six sorts each, which has seen no bread."""
    kinds = [kind for kind in KINDS if kind != "bread"]
    relations = [("food", kind) for kind in kinds]
    relations += [(kind, f"{sort} {kind}") for kind in kinds for sort in SORTS]
    names = ["food", *(child for _, child in relations)]
    taxonomy = Taxonomy([Concept(name, name) for name in names], relations)
    return TaxoExpan(seed=1, device="cpu", **SMALL).fit(taxonomy)


def test_a_family_of_a_kind_that_was_never_seen_is_put_together(grocery: TaxoExpan) -> None:
    concepts = [Concept(name, name) for name in ("bread", *(f"{sort} bread" for sort in SORTS))]
    known = len(grocery.taxonomy)
    new = Queries(grocery._embedder.tensor(concepts), None, concepts)
    prior = learn_new_parent_priors(grocery._ranker)
    placed = place_jointly(grocery._ranker, new, prior)
    alone = place_jointly(grocery._ranker, new)
    assert placed.parents[0] < known
    assert (placed.parents[1:] == known).sum() >= 4 > (alone.parents[1:] == known).sum()


def test_the_same_seed_learns_the_same_priors(grocery: TaxoExpan) -> None:
    one, other = (learn_new_parent_priors(grocery._ranker, seed=4) for _ in range(2))
    assert len(one) == 2
    assert [n.weights.tolist() for n in one] == [n.weights.tolist() for n in other]


def test_a_taxonomy_without_subtrees_teaches_nothing_of_them() -> None:
    network = drawn_network(0)
    ranker, _ = drawn_batch(0, 1, network)
    flat = Taxonomy(
        [Concept(str(i), f"n{i}") for i in range(5)], [("0", str(i)) for i in range(1, 5)]
    )
    vectors = ranker.anchors.vectors.select(torch.arange(5))
    anchors = Anchors(flat, vectors, 50)
    assert not remove_subtrees(flat, 9, 5, 20, 0).batches
    assert learn_new_parent_priors(Ranker(network, anchors)) == ()
