from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from reproduction.baselines import distance_features
from reproduction.baselines.dist_xgboost import (
    DistXGBoost,
    Instances,
    _from_queries,
    _from_relations,
)
from reproduction.baselines.distance_features import EMPTY, FEATURES, EgonetDistances, Pairs
from taxoexpan.errors import ConfigurationError, ModelError
from taxoexpan.evaluation.methods import Problem
from taxoexpan.evaluation.results import true_ranks_by
from taxoexpan.network.concept_vectors import LabeledQueries, Queries
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.taxonomy.arrays import Floats
from taxoexpan.training.holdout import hold_out_leaves
from taxoexpan.training.log import SILENT, TrainingLog
from taxoexpan.training.metrics import compute_metrics
from tests.support.builders import random_taxonomy
from tests.support.strategies import quickly, taxonomies

# Unit vectors whose products are exact in single precision, so that a tie is a tie.
SIGNS = torch.cartesian_prod(*[torch.tensor([-0.5, 0.5])] * 4)
EXACT = torch.cat([SIGNS, torch.eye(4), -torch.eye(4)])


@st.composite
def unit_vectors(draw: st.DrawFn, count: int) -> torch.Tensor:
    """Vectors [count, 4] with many ties, or random ones without any."""
    if draw(st.booleans()):
        chosen = st.lists(st.integers(0, len(EXACT) - 1), min_size=count, max_size=count)
        return EXACT[draw(chosen)]
    drawn = torch.Generator().manual_seed(draw(st.integers(0, 10_000)))
    return torch.nn.functional.normalize(torch.randn(count, 4, generator=drawn), dim=1)


@st.composite
def graphs(draw: st.DrawFn) -> Taxonomy:
    """Taxonomies of a few concepts, or of forty."""
    return draw(taxonomies() | st.integers(0, 10_000).map(lambda seed: random_taxonomy(seed, 40)))


def plain_features(
    taxonomy: Taxonomy, vectors: Floats, query: Floats, anchor: int, left_out: int = -1
) -> list[float]:
    """Return the features of one pair [39], given unit vectors [N, D] and a query's vector [D].

    The concept `left_out`, such as the query itself, is removed from all groups.
    """
    parents, children = taxonomy.parents_of.of(anchor), taxonomy.children_of.of(anchor)
    parents, children = parents[parents != left_out], children[children != left_out]
    far = 1 - vectors[anchor] @ query
    features = [float(far)]
    for source in (query, vectors[anchor]):
        for group in (parents, children):
            distances = 1 - vectors[group] @ source
            nearer = np.mean(distances < far) if len(group) else EMPTY
            features += [len(group), *plain_statistics(distances), float(nearer)]
    egonet = np.array([*parents, anchor, *children])
    return features + plain_statistics(1 - vectors[egonet] @ query)


def plain_statistics(distances: Floats) -> list[float]:
    """Return minimum, maximum, median, mean, standard deviation and range."""
    if not len(distances):
        return [EMPTY] * 6
    low, high = distances.min(), distances.max()
    middle = (np.median(distances), distances.mean(), distances.std())
    return [float(figure) for figure in (low, high, *middle, high - low)]


def slow_features(
    taxonomy: Taxonomy, vectors: torch.Tensor, queries: torch.Tensor, pairs: Pairs
) -> Floats:
    """The features of pairs one by one, in double precision."""
    known, query_vectors = vectors.double().numpy(), queries.double().numpy()
    rows = [
        plain_features(taxonomy, known, query_vectors[row], anchor, out)
        for row, anchor, out in zip(pairs.rows, pairs.anchors, pairs.left_out, strict=True)
    ]
    return np.array(rows, dtype=np.float32)


def every_pair(queries: int, anchors: int, own: list[int] | None = None) -> Pairs:
    return Pairs(
        np.repeat(np.arange(queries), anchors),
        np.tile(np.arange(anchors), queries),
        np.repeat([-1] * queries if own is None else own, anchors),
    )


@given(st.data(), st.sampled_from([1, 60, 100_000]))
@quickly
def test_features_with_all_anchors_equal_those_of_a_plain_loop(
    data: st.DataObject, cells: int
) -> None:
    taxonomy = data.draw(graphs())
    both = data.draw(unit_vectors(len(taxonomy) + 3))
    vectors, queries = both[:-3], both[-3:]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(distance_features, "BLOCK_SIZE", cells)
        found = np.concatenate(list(EgonetDistances(taxonomy, vectors).of_all(queries)))
    pairs = every_pair(3, len(taxonomy))
    np.testing.assert_allclose(found, slow_features(taxonomy, vectors, queries, pairs), atol=1e-5)


@given(st.data(), st.sampled_from([1, 60, 100_000]))
@quickly
def test_features_of_pairs_equal_those_of_a_plain_loop_without_the_query(
    data: st.DataObject, cells: int
) -> None:
    taxonomy = data.draw(graphs())
    vectors = data.draw(unit_vectors(len(taxonomy)))
    own = data.draw(st.lists(st.integers(0, len(taxonomy) - 1), min_size=1, max_size=4))
    queries, pairs = vectors[own], every_pair(len(own), len(taxonomy), own)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(distance_features, "BLOCK_SIZE", cells)
        found = np.concatenate(list(EgonetDistances(taxonomy, vectors).of_pairs(queries, pairs)))
    np.testing.assert_allclose(found, slow_features(taxonomy, vectors, queries, pairs), atol=1e-5)


def test_features_are_in_the_order_of_the_paper() -> None:
    taxonomy = Taxonomy(
        [Concept(name, name) for name in ["parent", "anchor", "one", "two"]],
        [("parent", "anchor"), ("anchor", "one"), ("anchor", "two")],
    )
    ones = torch.eye(4)
    vectors = torch.stack([ones[0], ones[1], SIGNS[15], -ones[0]])
    found = np.concatenate(list(EgonetDistances(taxonomy, vectors).of_all(ones[:1])))[1]
    to_parents, to_children = [1, 0, 0, 0, 0, 0, 0, 1], [2, 0.5, 2, 1.25, 1.25, 0.75, 1.5, 0.5]
    from_parents, from_children = [1, 1, 1, 1, 1, 0, 0, 0], [2, 0.5, 1, 0.75, 0.75, 0.25, 0.5, 0.5]
    egonet = [0, 2, 0.75, 0.875, float(np.std([0, 1, 0.5, 2])), 2]
    expected = [1, *to_parents, *to_children, *from_parents, *from_children, *egonet]
    assert len(expected) == FEATURES
    np.testing.assert_allclose(found, expected, atol=1e-6)


@given(st.integers(0, 10_000), st.integers(1, 5))
@quickly
def test_every_relation_is_a_positive_with_negatives_of_its_query(seed: int, each: int) -> None:
    taxonomy = random_taxonomy(seed, 12)
    vectors = torch.arange(12.0)[:, None]
    instances = _from_relations(taxonomy, vectors, each, np.random.default_rng(seed))
    p, relations = instances.pairs, list(zip(*taxonomy.relation_indices, strict=True))
    assert (np.diff(p.rows) >= 0).all()
    queries = instances.queries[:, 0].numpy().astype(np.int64)[p.rows]
    positives = instances.labels == 1
    assert sorted(zip(p.anchors[positives], queries[positives], strict=True)) == sorted(relations)
    assert (p.left_out == np.where(positives, queries, -1)).all()
    for query in set(queries.tolist()):
        drawn = p.anchors[~positives & (queries == query)]
        allowed = set(range(12)) - refused(taxonomy, query)
        assert set(drawn.tolist()) <= allowed
        parents = len(taxonomy.parents_of.of(query))
        assert len(drawn) == (each * parents if allowed else 0)


def refused(taxonomy: Taxonomy, query: int) -> set[int]:
    below = {taxonomy.index(id) for id in taxonomy.descendants(taxonomy.ids[query])}
    return below | {query} | set(taxonomy.parents_of.of(query).tolist())


def test_negatives_are_drawn_uniformly() -> None:
    taxonomy = random_taxonomy(3, 12)
    drawn = _from_relations(taxonomy, torch.zeros(12, 1), 5_000, np.random.default_rng(0))
    for place, query in enumerate(np.unique(taxonomy.relation_indices[1]).tolist()):
        assert_uniform(drawn, place, set(range(12)) - refused(taxonomy, query))


def test_every_anchor_but_its_parents_may_be_a_negative_of_a_new_query() -> None:
    queries = LabeledQueries(
        torch.zeros(2, 3, 1), parents=[np.array([5, place]) for place in range(3)]
    )
    drawn = _from_queries(queries, 12, 5_000, np.random.default_rng(0))
    assert (drawn.pairs.left_out == -1).all()
    for place in range(3):
        assert_uniform(drawn, place, set(range(12)) - {5, place})


def assert_uniform(instances: Instances, place: int, allowed: set[int]) -> None:
    there = (instances.pairs.rows == place) & (instances.labels == 0)
    counts = np.bincount(instances.pairs.anchors[there], minlength=12)
    expected = [1 / len(allowed) if anchor in allowed else 0.0 for anchor in range(12)]
    np.testing.assert_allclose(counts / max(1, counts.sum()), expected, atol=0.02)


def clusters(seed: int, kinds: int = 12, each: int = 20) -> tuple[Problem, LabeledQueries]:
    """A root, its kinds, and concepts close to their kind, some of which are held out."""
    names = ["all", *(f"k{i}" for i in range(kinds))]
    parents = [0] * kinds + [1 + i % kinds for i in range(kinds * each)]
    names += [f"c{i}" for i in range(kinds * each)]
    taxonomy = Taxonomy.from_columns(names, names, np.array(parents), np.arange(1, len(names)))
    drawn = torch.Generator().manual_seed(seed)
    centers = torch.randn(kinds + 1, 8, generator=drawn)
    around = [0, *range(1, kinds + 1), *parents[kinds:]]
    vectors = centers[around] + 0.8 * torch.randn(len(names), 8, generator=drawn)
    both = torch.nn.functional.normalize(vectors, dim=1).repeat(2, 1, 1)
    test = hold_out_leaves(taxonomy, 0.2, 100, seed)
    held_out = hold_out_leaves(test.taxonomy, 0.2, 100, seed)
    remaining = held_out.taxonomy

    def queries_of(concepts: tuple[Concept, ...]) -> LabeledQueries:
        rows = [taxonomy.index(concept.id) for concept in concepts]
        above = [remaining.index(taxonomy.parents(c.id)[0]) for c in concepts]
        return LabeledQueries(both[:, rows], parents=[np.array([parent]) for parent in above])

    known = [taxonomy.index(id) for id in remaining.ids]
    return Problem(remaining, both[:, known], queries_of(held_out.concepts)), queries_of(
        test.concepts
    )


@pytest.fixture(scope="module")
def fitted() -> tuple[DistXGBoost, Problem, LabeledQueries]:
    pytest.importorskip("xgboost")
    problem, queries = clusters(0)
    method = DistXGBoost(rounds=60)
    method.fit(problem, 0, SILENT)
    return method, problem, queries


def test_parents_are_ranked_far_better_than_by_chance(
    fitted: tuple[DistXGBoost, Problem, LabeledQueries],
) -> None:
    method, problem, queries = fitted
    anchors = len(problem.taxonomy)
    figures = compute_metrics(true_ranks_by(method, queries, anchors))
    assert figures.mr < 0.05 * anchors
    assert figures.hit_at_1 > 0.4


def test_scores_are_those_of_the_trees_on_slow_features(
    fitted: tuple[DistXGBoost, Problem, LabeledQueries], monkeypatch: pytest.MonkeyPatch
) -> None:
    from xgboost import DMatrix

    method, problem, queries = fitted
    query_vectors = queries.vectors[:, :3]
    pairs = every_pair(3, len(problem.taxonomy))
    table = slow_features(problem.taxonomy, problem.vectors[0], query_vectors[0], pairs)
    margins = method._booster.predict(DMatrix(table), output_margin=True)
    for cells in (1, 100_000):
        monkeypatch.setattr(distance_features, "BLOCK_SIZE", cells)
        scores = method.score(Queries(query_vectors))
        assert scores.shape == (len(problem.taxonomy), 3)
        # A tree may split two features that differ in the last digit, so not all scores agree.
        close = np.isclose(scores.T.numpy().ravel(), margins, atol=1e-4)
        assert close.mean() > 0.95


def test_the_same_seed_gives_the_same_scores(
    fitted: tuple[DistXGBoost, Problem, LabeledQueries],
) -> None:
    method, problem, queries = fitted
    again, other = DistXGBoost(rounds=60), DistXGBoost(rounds=60)
    again.fit(problem, 0, SILENT)
    other.fit(problem, 1, SILENT)
    expected = method.score(queries)
    assert torch.equal(again.score(queries), expected)
    assert not torch.equal(other.score(queries), expected)


def test_boosting_stops_when_the_validation_loss_stops_improving(tmp_path: Path) -> None:
    pytest.importorskip("xgboost")
    problem, _ = clusters(1)
    method = DistXGBoost(patience=3, learning_rate=0.5)
    history = method.fit(problem, 0, TrainingLog(path=tmp_path / "log.jsonl"))
    assert len(history.epochs) == history.best + 3 < 500
    assert history.best_epoch.loss == min(epoch.loss for epoch in history.epochs)
    assert method._booster.num_boosted_rounds() == history.best
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == len(history.epochs)


def test_without_validation_queries_all_rounds_are_made() -> None:
    pytest.importorskip("xgboost")
    problem, _ = clusters(2)
    no_queries = LabeledQueries(problem.validation.vectors[:, :0], parents=[])
    history = DistXGBoost(rounds=25).fit(
        Problem(problem.taxonomy, problem.vectors, no_queries), 0, SILENT
    )
    assert len(history.epochs) == history.best == 25


def test_without_xgboost_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "xgboost", None)
    with pytest.raises(ConfigurationError, match="pip install xgboost-cpu"):
        DistXGBoost().fit(clusters(0)[0], 0, SILENT)


def test_a_taxonomy_without_relations_is_refused() -> None:
    pytest.importorskip("xgboost")
    taxonomy = Taxonomy([Concept("a", "a")])
    problem = Problem(
        taxonomy, torch.ones(2, 1, 4), LabeledQueries(torch.ones(2, 0, 4), parents=[])
    )
    with pytest.raises(ModelError, match="has no relations"):
        DistXGBoost().fit(problem, 0, SILENT)
