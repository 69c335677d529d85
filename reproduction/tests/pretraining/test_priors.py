"""Priors are learned from subtrees of vocabularies."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from reproduction.pretraining import subtrees
from reproduction.pretraining.hierarchical import (
    Choices,
    Likelihood,
    Normal,
    Outcomes,
    learn_distribution,
    most_likely,
)
from reproduction.pretraining.prior_learning import PriorLearner
from reproduction.pretraining.priors import parse_encoders
from reproduction.pretraining.subtrees import draw_subtrees, measure_subtree, read_sample
from reproduction.pretraining.vocabularies import Vocabulary
from taxoexpan.placement.learned.confidence import sigmoid
from taxoexpan.placement.learned.priors import prior_from
from taxoexpan.placement.scoring.pair_features import PAIR_FEATURES
from taxoexpan.taxonomy import Concept, Taxonomy

STANDARD = Normal(np.zeros(2), np.eye(2))


def binary_tree(count: int) -> Taxonomy:
    """Concepts with two children each."""
    concepts = [Concept(str(number), f"thing {number}") for number in range(count)]
    pairs = [(str((child - 1) // 2), str(child)) for child in range(1, count)]
    return Taxonomy(concepts, pairs)


def made_groups(mean: list[float], deviations: list[float], sizes: list[int]) -> list[Likelihood]:
    """Choices among ten candidates, by weights that deviate between groups."""
    rng = np.random.default_rng(0)
    groups: list[Likelihood] = []
    for size in sizes:
        weights = rng.normal(mean, deviations)
        features = rng.normal(size=(size, 10, 2)).astype(np.float32)
        chosen = (features @ weights + rng.gumbel(size=(size, 10))).argmax(axis=1)
        order = np.argsort(np.arange(10) != chosen[:, None], axis=1, kind="stable")
        first = np.take_along_axis(features, order[..., None], axis=1)
        groups.append(Choices(first, np.zeros((size, 10)), np.ones(size)))
    return groups


def test_the_distribution_of_the_weights_over_groups_is_recovered() -> None:
    groups = made_groups([1.0, -0.5], [0.5, 0.1], [60] * 60)
    found = learn_distribution(groups, STANDARD, is_diagonal=True)
    np.testing.assert_allclose(found.mean, [1.0, -0.5], atol=0.2)
    np.testing.assert_allclose(np.sqrt(np.diag(found.covariance)), [0.5, 0.1], atol=0.12)
    assert found.covariance[0, 1] == 0


@pytest.mark.parametrize("kind", ["choices", "outcomes"])
def test_the_derivatives_are_those_of_the_likelihood(kind: str) -> None:
    rng = np.random.default_rng(1)
    table = rng.normal(size=(30, 2))
    right = (rng.random(30) < sigmoid(table[:, 0])).astype(float)
    (choices,) = made_groups([1.0, 0.5], [0.1, 0.1], [20])
    group = choices if kind == "choices" else Outcomes(table, right)
    weights = np.array([0.3, -0.2])
    found = group.derivatives(weights)
    for column in range(2):
        step = np.eye(2)[column] * 1e-2
        up, down = (group.derivatives(weights + sign * step) for sign in (1, -1))
        assert found.gradient[column] == pytest.approx((up.value - down.value) / 2e-2, abs=1e-2)
        bend = (down.gradient - up.gradient) / 2e-2
        np.testing.assert_allclose(found.information[column], bend, rtol=0.01, atol=1e-2)


def test_a_group_with_little_data_stays_near_the_others() -> None:
    prior = Normal(np.array([2.0, 0.0]), np.eye(2) * 0.1)
    few, many = (made_groups([-1.0, 0.0], [0.0, 0.0], [size])[0] for size in (2, 5000))
    assert most_likely(few, prior, prior.mean).mean[0] > 1
    assert most_likely(many, prior, prior.mean).mean[0] == pytest.approx(-1.0, abs=0.15)


def test_subtrees_are_disjoint_and_have_no_other_relations() -> None:
    taxonomy = binary_tree(900)
    drawn = list(draw_subtrees(Vocabulary("isic", "work", taxonomy), 3, 0))
    assert [each.name for each in drawn] == [f"isic-{number}" for number in range(len(drawn))]
    ids = [id for each in drawn for id in each.taxonomy]
    assert len(ids) == len({*ids}) > 0
    for each in drawn:
        assert 30 <= len(each.taxonomy) <= 2000
        (root,) = each.taxonomy.roots
        assert {*each.taxonomy} == {root, *taxonomy.descendants(root)}


def test_domains_have_encoders_of_their_own() -> None:
    found = parse_encoders(["products,work=a", "earth=b"])
    assert found == {"products": Path("a"), "work": Path("a"), "earth": Path("b")}
    with pytest.raises(SystemExit, match="products2"):
        parse_encoders(["products2=a"])


def test_a_prior_is_learned_from_stored_subtrees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(subtrees, "MAX_SIZE", 80)
    samples = []
    for seed, (name, domain) in enumerate([("isic", "work"), ("cpv", "products")]):
        vocabulary = Vocabulary(name, domain, binary_tree(300 + seed))
        (subtree,) = draw_subtrees(vocabulary, 1, 0)
        path = tmp_path / f"{subtree.name}-fast.npz"
        measure_subtree(subtree, "fast", None, path)
        sample = read_sample(path)
        assert sample.concepts + len(sample.new.parents) == len(subtree.taxonomy)
        assert sample.own.features.shape[::2] == (len(PAIR_FEATURES), len(sample.own.parents))
        samples.append(sample)
    learner = PriorLearner(samples, has_tower=False)
    stored = learner.as_json()
    assert not {"tower_anchor", "network"} & stored["fusion"].keys()
    assert prior_from(stored).fusion.mean.as_mapping()["tower_anchor"] == 0
    assert "2 subtrees" in learner.report()
