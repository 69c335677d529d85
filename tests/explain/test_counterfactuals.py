from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch
from builders import random_taxonomy, star
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from random_cases import (
    DIMENSION,
    LEAF_BONUS,
    random_network,
    random_vectors,
    small_case,
    unit,
)
from reference_network import double_precision

from taxoexpan.explain import explain
from taxoexpan.explain.counterfactuals import MAX_REMOVALS, score_removals
from taxoexpan.explain.neighbourhood import QueryAnchorPairs, find_neighbourhood
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.egonets import Siblings, build_egonets, spread_siblings
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.queries import Queries
from taxoexpan.placement.ranking import Anchors, Ranker, Ranking
from taxoexpan.taxonomy import Taxonomy

QUERIES = 4
VARIANTS = [
    {"propagation": propagation, "fusion_dim": fusion, **variant}
    for propagation, variant in (
        ("gcn", {"readout": "mean"}),
        ("gat", {"readout": "concat", "matching": "mlp"}),
        ("pgcn", {"readout": "concat", "quirks": {"egonet_concat": True}}),
        ("pgat", {"readout": "weighted"}),
    )
    for fusion in (0, 3)
]
for_every_variant = pytest.mark.parametrize(
    "variant", VARIANTS, ids=lambda v: f"{v['propagation']}-{v['fusion_dim']}"
)


def without_relation(taxonomy: Taxonomy, parent: int, child: int) -> Taxonomy:
    parents, children = taxonomy.relation_indices
    kept = (parents != parent) | (children != child)
    return Taxonomy.from_columns(taxonomy.ids, taxonomy.labels, parents[kept], children[kept])


def keys_with_fixed_siblings(
    network: MatchingNetwork, old: Taxonomy, new: Taxonomy, names: torch.Tensor, siblings: int
) -> torch.Tensor:
    """Return the keys after a removal, with the siblings that were selected before it."""
    everyone = np.arange(len(old))
    shown = spread_siblings(old, everyone, siblings)
    pairs = zip(shown.sibling_of, old.children_of.targets[shown.relations], strict=True)
    owners, targets = new.children_of.of_many(everyone)
    edges = {pair: edge for edge, pair in enumerate(zip(owners, targets, strict=True))}
    kept = [(edges[pair], pair[0]) for pair in pairs if pair in edges]
    chosen, sibling_of = np.array(kept, dtype=np.int64).reshape(-1, 2).T
    egonets = build_egonets(new, everyone, Siblings(chosen, sibling_of))
    return network.encode(names[egonets.concepts], egonets)


def first_two(ranking: Ranking) -> QueryAnchorPairs:
    count = len(ranking.anchors)
    return QueryAnchorPairs(np.tile(np.arange(count), 2), ranking.anchors[:, :2].T.ravel())


def check_against_real_removals(seed: int, siblings: int, variant: dict[str, object]) -> None:
    with double_precision(), torch.no_grad():
        taxonomy = random_taxonomy(seed, count=5 + seed % 12)
        network = random_network(seed, **variant)
        both = random_vectors(seed, len(taxonomy))
        queries = Queries(random_vectors(seed + 1, QUERIES))
        vectors = ConceptVectors.of(both)
        anchors = Anchors(taxonomy, vectors, siblings)
        ranker = Ranker(network, anchors)
        ranking, plain = ranker.rank(queries, 2), ranker.scores(queries).numpy()
        around = find_neighbourhood(anchors, first_two(ranking), queries.vectors)
        ranker = ranker.with_leaf_bonus(LEAF_BONUS)
        scores, removals = score_removals(ranker, around, queries)
        before = ranker.scores(queries).numpy()
        assert np.allclose(scores.total, plain[around.pairs.anchor, around.pairs.query])

        @cache
        def scores_after(parent: int, child: int) -> NDArray[np.float64]:
            smaller = without_relation(taxonomy, parent, child)
            remaining = Anchors(smaller, vectors, siblings)
            keys = remaining.encode(network)
            if siblings < len(taxonomy):
                keys = keys_with_fixed_siblings(network, taxonomy, smaller, both[0], siblings)
            return Ranker(network, remaining, keys, LEAF_BONUS).scores(queries).numpy()

        removed = set()
        for query, anchor, neighbour, is_child, change in zip(
            *(removals.query, removals.anchor, removals.neighbour, removals.is_child),
            removals.change,
            strict=True,
        ):
            relation = (anchor, neighbour) if is_child else (neighbour, anchor)
            removed.add((query, *relation))
            first, second = ranking.anchors[query]
            after = scores_after(*relation)[:, query]
            margin = before[first, query] - before[second, query] - change
            assert np.isclose(margin, after[first] - after[second])
        parents, children = taxonomy.relation_indices
        assert removed == {
            (query, parent, child)
            for query, two in enumerate(ranking.anchors.tolist())
            for parent, child in zip(parents.tolist(), children.tolist(), strict=True)
            if parent in two or child in two
        }


@for_every_variant
@given(seed=st.integers(0, 10_000))
@settings(max_examples=4, deadline=None)
def test_changes_equal_those_of_really_removing_the_relation(
    seed: int, variant: dict[str, object]
) -> None:
    check_against_real_removals(seed, 100, variant)


@for_every_variant
@given(seed=st.integers(0, 10_000))
@settings(max_examples=3, deadline=None)
def test_an_egonet_that_shows_some_children_keeps_the_other_ones(
    seed: int, variant: dict[str, object]
) -> None:
    check_against_real_removals(seed, 2, variant)


def test_the_decisive_relation_is_the_one_with_the_largest_change() -> None:
    ranker, queries = small_case(seed=5)
    ranking = ranker.rank(queries, 2)
    around = find_neighbourhood(ranker.anchors, first_two(ranking), queries.vectors)
    _, removals = score_removals(ranker, around, queries)
    outcomes = set()
    for query, evidence in enumerate(explain(ranker, queries, ranking)):
        assert evidence.comparison is not None
        changes = removals.change[removals.query == query]
        decisive = evidence.comparison.decisive_relation
        if not len(changes) or changes.max() <= 0:
            assert decisive is None
            continue
        assert decisive is not None
        margin = evidence.comparison.margin - changes.max()
        assert decisive.margin_without == pytest.approx(margin, abs=1e-5)
        assert decisive.reverses == (margin < 0)
        assert decisive.child.id in ranker.anchors.taxonomy.children(decisive.parent.id)
        outcomes.add(decisive.reverses)
    assert outcomes == {True, False}


def test_removals_at_a_hub_are_the_nearest_children_and_always_the_rival() -> None:
    taxonomy, generator = star(100), torch.Generator().manual_seed(0)
    names = unit(torch.randn(101, DIMENSION, generator=generator))
    anchors = Anchors(taxonomy, ConceptVectors.of(names.repeat(2, 1, 1)), 5)
    query = names[None, [7]].repeat(2, 1, 1)
    cosines = names[1:] @ names[7]
    rival = 1 + int(cosines.argmin())
    pairs = QueryAnchorPairs(np.array([0, 0]), np.array([0, rival]))
    around = find_neighbourhood(anchors, pairs, query)
    _, removals = score_removals(Ranker(random_network(0), anchors), around, Queries(query))
    removed = removals.neighbour[(removals.anchor == 0) & removals.is_child].tolist()
    nearest = (1 + cosines.argsort(descending=True)[: MAX_REMOVALS - 1]).tolist()
    assert removed == [rival, *nearest]
