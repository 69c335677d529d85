from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.features.label_words import LabelWords, first_parents
from taxoexpan.network.concept_vectors import ConceptVectors, Queries
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.placement.joint.placement import BatchScorer, mentions_among, place_jointly
from taxoexpan.placement.learned.new_parent_prior import NewParentPrior
from taxoexpan.placement.scoring.anchors import Anchors, AnchorTexts
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy import Additions, Concept, Taxonomy
from tests.support.random_batches import random_batch, random_fused_batch, random_network

EAGER = NewParentPrior((6.0, 0.0, 0.0), 0.8)
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


def plain_scores(
    network: MatchingNetwork, ranker: Ranker, new: Queries, parents: list[int], query: int
) -> torch.Tensor:
    """The raw scores of all anchors in the expanded taxonomy without the query: [N + Q]."""
    old, known = ranker.anchors.taxonomy, len(ranker.keys)
    ids = [*old.ids, *(concept.id for concept in new.concepts)]
    own = known + query
    # Without the query, its children are attached to its parent.
    up = [parents[query] if parent == own else parent for parent in parents]
    relations = [(ids[p], ids[known + c]) for c, p in enumerate(up) if c != query]
    others = [concept for i, concept in enumerate(new.concepts) if i != query]
    grown = old.expanded(Additions(others, relations))
    left = [i for i in range(len(ids)) if i != own]
    vectors = ranker.anchors.vectors
    both = torch.stack([vectors.names, vectors.heads[vectors.head_of]])
    both = torch.cat([both, new.vectors], dim=1)[:, left]
    texts = texts_of(ranker, new, left)
    anchors = Anchors(grown, ConceptVectors.of(both), ranker.anchors.siblings, texts=texts)
    mentions = new.mentions
    if mentions is not None:
        places = np.full(len(ids), -1)
        places[left] = np.arange(len(left))
        mentions = mentions.reindex(places, np.array([query]))
    asked = replace(replace(new, mentions=None)[query : query + 1], mentions=mentions)
    without = Ranker(network, anchors, fusion=ranker.fusion).scores(asked)[:, 0]
    scores = torch.full((len(ids),), -torch.inf)
    scores[left] = without
    return scores


def texts_of(ranker: Ranker, new: Queries, left: list[int]) -> AnchorTexts | None:
    """The texts of the anchors that are left; words weigh as much as in the old taxonomy."""
    old, texts = ranker.anchors.taxonomy, ranker.anchors.texts
    if texts is None:
        return None
    everyone = [*old.concepts, *new.concepts]
    parents = np.append(first_parents(old), np.full(len(new), -1))[left]
    words = LabelWords.from_concepts([everyone[i] for i in left], parents, old.active_indices)
    assert texts.tower is not None
    assert new.tower is not None
    as_anchors, as_queries = (torch.cat([known, new.tower])[left] for known in texts.tower)
    return AnchorTexts(words, (as_anchors, as_queries))


@pytest.mark.parametrize("fused", [False, True])
@pytest.mark.parametrize("mentions", [True, False])
@pytest.mark.parametrize("seed", range(4))
def test_every_query_is_scored_in_the_taxonomy_without_it(
    seed: int, mentions: bool, fused: bool
) -> None:
    network = random_network(seed, use_mentions=mentions)
    ranker, new = (random_fused_batch if fused else random_batch)(seed, 7, network)
    known = len(ranker.keys)
    rng = np.random.default_rng(seed)
    # Chains, siblings and existing parents, each below an existing or an earlier concept.
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
