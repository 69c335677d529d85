from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.placement.scoring.ranking import Branches, is_informative, true_levels
from taxoexpan.taxonomy import Concept, Taxonomy
from tests.support.builders import random_taxonomy

CPU = torch.device("cpu")


def random_logarithms(seed: int, concepts: int, queries: int) -> torch.Tensor:
    """The logarithms of probabilities that sum to one for each query; some are minus infinity."""
    generator = torch.Generator().manual_seed(seed)
    scores = 3 * torch.randn(concepts, queries, generator=generator)
    scores[torch.rand(concepts, queries, generator=generator) < 0.1] = -torch.inf
    scores[0] = 0.0
    return scores.log_softmax(0)


def branch_sum(taxonomy: Taxonomy, log_probabilities: torch.Tensor, concept: int, q: int) -> float:
    """The sum over a concept and all its descendants, each of them once."""
    branch = {taxonomy.ids[concept], *taxonomy.descendants(taxonomy.ids[concept])}
    return sum(float(log_probabilities[taxonomy.index(id), q].exp()) for id in branch)


@given(seed=st.integers(0, 10_000), count=st.integers(2, 40), most=st.integers(1, 4))
@settings(deadline=None)
def test_a_branch_has_the_probability_of_all_its_concepts(seed: int, count: int, most: int) -> None:
    taxonomy, logarithms = random_taxonomy(seed, count, most), random_logarithms(seed, count, 3)
    concepts = np.tile(np.arange(count), 3)
    columns = np.repeat(np.arange(3), count)
    found = Branches(taxonomy, CPU).sums(logarithms, concepts, columns)
    for concept, column, result in zip(concepts, columns, found, strict=True):
        expected = branch_sum(taxonomy, logarithms, int(concept), int(column))
        assert result == pytest.approx(expected, abs=2e-6)


def test_levels_are_those_of_the_path_from_the_root() -> None:
    taxonomy, logarithms = random_taxonomy(5, 30, 2), random_logarithms(1, 30, 4)
    concepts = np.array([[29, 0], [7, 12], [3, 3], [28, 20]])
    levels = Branches(taxonomy, CPU).levels(logarithms, concepts)
    assert levels.shape[:2] == (4, 2)
    lengths = []
    for query, row in enumerate(concepts.tolist()):
        for nth, concept in enumerate(row):
            path = taxonomy.path(taxonomy.ids[concept])
            lengths.append(len(path))
            expected = [branch_sum(taxonomy, logarithms, taxonomy.index(id), query) for id in path]
            found = levels[query, nth]
            assert found[: len(path)] == pytest.approx(expected, abs=2e-6)
            assert np.isnan(found[len(path) :]).all()
            assert (np.diff(found[: len(path)]) <= 1e-6).all()
    assert len({*lengths}) > 2


def test_a_level_is_true_if_a_true_parent_is_there_or_below() -> None:
    taxonomy = random_taxonomy(3, 40, 2)
    rng = np.random.default_rng(0)
    concepts = rng.integers(0, 40, 60)
    parents = [rng.choice(40, 1 + i % 3, replace=False) for i in range(60)]
    found, is_place = true_levels(taxonomy, concepts, parents)
    assert 0 < found.mean() < 0.9
    assert is_place.shape == found.shape
    for concept, row in zip(concepts.tolist(), is_place, strict=True):
        lineage = taxonomy.short_lineage(concept)
        assert row[: len(lineage)].tolist() == is_informative(taxonomy, lineage).tolist()
        assert not row[len(lineage) :].any()
    for concept, own, row in zip(concepts.tolist(), parents, found, strict=True):
        path = taxonomy.path(taxonomy.ids[concept])
        for depth, id in enumerate(path):
            branch = {id, *taxonomy.descendants(id)}
            assert row[depth] == any(taxonomy.ids[parent] in branch for parent in own)
        assert not row[len(path) :].any()


def test_a_root_and_a_branch_with_most_concepts_are_not_informative() -> None:
    names = ["all", "food", "tea", "green tea", "white tea", "milk", "tool"]
    pairs = [("all", "food"), ("food", "tea"), ("tea", "green tea"), ("tea", "white tea")]
    pairs += [("food", "milk"), ("all", "tool")]
    taxonomy = Taxonomy([Concept(name, name) for name in names], pairs)
    path = taxonomy.short_lineage(taxonomy.index("green tea"))
    assert is_informative(taxonomy, path).tolist() == [False, False, True, True]
    flat = Taxonomy([Concept(name, name) for name in names], [("tea", "green tea")])
    assert is_informative(flat, flat.short_lineage(flat.index("tea"))).tolist() == [True]
    lineage = flat.short_lineage(flat.index("green tea"))
    assert is_informative(flat, lineage).tolist() == [False, True]
