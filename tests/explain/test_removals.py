from __future__ import annotations

from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from builders import star
from fused_cases import random_fusion
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from random_cases import (
    DIMENSION,
    LEAF_BONUS,
    labeled_taxonomy,
    random_network,
    random_queries,
    random_texts,
    random_vectors,
    small_case,
    unit,
)
from reference_network import double_precision

from taxoexpan.explain import explain
from taxoexpan.explain.removals import MAX_REMOVALS, score_removals
from taxoexpan.explain.similarity import QueryAnchorPairs, find_neighborhood, pair_mentions
from taxoexpan.features.mentions import MentionKind, Mentions
from taxoexpan.features.transformer.transformer_encoder import TransformerEncoder
from taxoexpan.network.concept_vectors import ConceptVectors
from taxoexpan.network.egonets import Siblings, build_egonets, spread_siblings
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.network.queries import Queries
from taxoexpan.network.text_tower import TextTower, query_text
from taxoexpan.placement.scoring.anchors import Anchors, AnchorTexts
from taxoexpan.placement.scoring.ranking import Ranker, Ranking
from taxoexpan.taxonomy import Taxonomy

QUERIES = 4
ROUNDING = 1e-6
"""The absolute error of scores near zero: the word features are float32 numbers."""
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
    return Taxonomy.from_columns(
        taxonomy.ids,
        taxonomy.labels,
        parents[kept],
        children[kept],
        deprecated=taxonomy.deprecated,
    )


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


def mention_bonuses(
    ranker: Ranker, pairs: QueryAnchorPairs, queries: Queries
) -> NDArray[np.float64]:
    mentions = pair_mentions(pairs, queries.mentions, ranker.network.mentions)
    return np.array([sum(mention.bonus for mention in each) for each in mentions], np.float64)


def random_mentions(seed: int, anchors: int) -> Mentions:
    generator = np.random.default_rng(seed)
    return Mentions.from_rows(
        [
            [(int(anchor), MentionKind(int(kind))) for anchor, kind in enumerate(kinds)]
            for kinds in generator.integers(len(MentionKind), size=(QUERIES, anchors))
        ]
    )


def check_against_real_removals(
    seed: int, siblings: int, variant: dict[str, object], fused: bool = False, tower: bool = False
) -> None:
    """Compare with rankers of the taxonomy without the relation, which keep its descriptions."""
    with double_precision(), torch.no_grad():
        taxonomy = labeled_taxonomy(seed, count=5 + seed % 12)
        network = random_network(seed, **variant)
        both = random_vectors(seed, len(taxonomy))
        vectors = ConceptVectors.of(both)
        queries = random_queries(seed, QUERIES, tower)
        if network.mentions is not None:
            queries = replace(queries, mentions=random_mentions(seed, len(taxonomy)))
        texts = random_texts(taxonomy, seed, tower) if fused else None
        fusion = random_fusion(seed) if fused else None
        anchors = Anchors(taxonomy, vectors, siblings, texts=texts)
        taxonomy = anchors.taxonomy  # without the relations of deprecated concepts
        ranker = Ranker(network, anchors, None, LEAF_BONUS, fusion)
        ranking, before = ranker.rank(queries, 2), ranker.scores(queries).numpy()
        around = find_neighborhood(anchors, first_two(ranking), queries.vectors)
        scores, removals = score_removals(
            ranker, around, queries, mention_bonuses(ranker, around.pairs, queries)
        )
        expected = before[around.pairs.anchor, around.pairs.query]
        assert np.allclose([sum(each.values()) for each in scores], expected, atol=ROUNDING)

        @cache
        def scores_after(parent: int, child: int) -> NDArray[np.float64]:
            smaller = without_relation(taxonomy, parent, child)
            remaining = Anchors(smaller, vectors, siblings, texts=texts)
            keys = remaining.encode(network)
            if siblings < len(taxonomy):
                keys = keys_with_fixed_siblings(network, taxonomy, smaller, both[0], siblings)
            return Ranker(network, remaining, keys, LEAF_BONUS, fusion).scores(queries).numpy()

        removed = set()
        for query, anchor, neighbor, is_child, change in zip(
            *(removals.query, removals.anchor, removals.neighbor, removals.is_child),
            removals.change,
            strict=True,
        ):
            relation = (anchor, neighbor) if is_child else (neighbor, anchor)
            removed.add((query, *relation))
            first, second = ranking.anchors[query]
            after = scores_after(*relation)[:, query]
            margin = before[first, query] - before[second, query] - change
            assert np.isclose(margin, after[first] - after[second], atol=ROUNDING)
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


@pytest.mark.parametrize("tower", [False, True], ids=["no tower", "tower"])
@pytest.mark.parametrize("siblings", [100, 2])
@pytest.mark.parametrize(
    "variant",
    [
        {"fusion_dim": 3, "use_mentions": True},
        {"fusion_dim": 0, "matching": "mlp", "use_mentions": True},
    ],
    ids=["bilinear", "mlp"],
)
@example(seed=4866)  # a score near zero
@given(seed=st.integers(0, 10_000))
@settings(max_examples=6, deadline=None)
def test_changes_of_fused_scores_equal_those_of_really_removing_the_relation(
    seed: int, variant: dict[str, object], siblings: int, tower: bool
) -> None:
    check_against_real_removals(seed, siblings, variant, fused=True, tower=tower)


def test_changes_of_scores_with_a_real_tower_equal_those_of_really_removing_the_relation(
    tiny_transformer: Path,
) -> None:
    tower = TextTower(TransformerEncoder(str(tiny_transformer), "cpu"), torch.device("cpu"))
    taxonomy, queries = labeled_taxonomy(5, 40), random_queries(5, 6, has_tower=False)
    described = [query_text(each) for each in queries.concepts]
    queries = replace(queries, tower=tower.encode_queries(described))
    texts, vectors = AnchorTexts.of(taxonomy, tower), ConceptVectors.of(random_vectors(5, 40))
    network, fusion = random_network(5), random_fusion(5)
    anchors = Anchors(taxonomy, vectors, 100, texts=texts)
    ranker = Ranker(network, anchors, fusion=fusion)
    ranking = ranker.rank(queries, 2)
    compared = 0
    for query, evidence in enumerate(explain(ranker, queries, ranking)):
        assert evidence.comparison is not None
        relation = evidence.comparison.decisive_relation
        if relation is None:
            continue
        ends = (taxonomy.index(end.id) for end in (relation.parent, relation.child))
        remaining = Anchors(without_relation(taxonomy, *ends), vectors, 100, texts=texts)
        after = Ranker(network, remaining, fusion=fusion).scores(queries)[:, query]
        first, second = ranking.anchors[query].tolist()
        margin = float(after[first] - after[second])
        assert relation.margin_without == pytest.approx(margin, abs=1e-3)
        compared += 1
    assert compared >= 3


def test_the_decisive_relation_is_the_one_with_the_largest_change() -> None:
    ranker, queries = small_case(seed=5)
    ranking = ranker.rank(queries, 2)
    around = find_neighborhood(ranker.anchors, first_two(ranking), queries.vectors)
    _, removals = score_removals(ranker, around, queries, np.zeros(22))
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
    around = find_neighborhood(anchors, pairs, query)
    ranker = Ranker(random_network(0), anchors)
    _, removals = score_removals(ranker, around, Queries(query), np.zeros(2))
    removed = removals.neighbor[(removals.anchor == 0) & removals.is_child].tolist()
    nearest = (1 + cosines.argsort(descending=True)[: MAX_REMOVALS - 1]).tolist()
    assert removed == [rival, *nearest]
