"""Tests of `benchmarks/mag_shaped_taxonomy.py`: its taxonomies have the shape of MAG-CS."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from mag_shaped_taxonomy import generate_vectors, mag_shaped_taxonomy, write_csv
from pronounceable_labels import SHORT_WORDS, word_of_rank

from taxoexpan import Taxonomy


@pytest.fixture(scope="module")
def large() -> Taxonomy:
    return mag_shaped_taxonomy(10_000, seed=1)


def test_degrees_and_levels_are_those_of_mag(large: Taxonomy) -> None:
    parents, children = large.parents_of.degrees, large.children_of.degrees
    shares = np.bincount(parents) / len(large)
    assert shares[1:4] == pytest.approx([0.629, 0.245, 0.092], abs=0.02)
    assert (children == 0).mean() == pytest.approx(0.826, abs=0.01)
    inner = children[children > 0]
    assert np.quantile(inner, [0.5, 0.75, 0.9, 0.95]) == pytest.approx([2, 6, 14, 24], abs=2)
    assert inner.max() > 1_000
    assert np.bincount(large.levels).tolist() == [1, 12, 3214, 3339, 1710, 1724]
    assert len(large.relations) / len(large) == pytest.approx(1.56, abs=0.05)
    assert len(large.roots) == 1


def test_labels_are_distinct_and_share_words_with_parents(large: Taxonomy) -> None:
    words = [label.split() for label in large.labels]
    lengths = np.bincount([len(own) for own in words])[1:] / len(large)
    assert lengths == pytest.approx([0.162, 0.497, 0.244, 0.097], abs=0.02)
    assert len(set(large.labels)) == len(large)
    parents, children = (side.tolist() for side in large.relation_indices)
    shared = [
        not set(words[p]).isdisjoint(words[c]) for p, c in zip(parents, children, strict=True)
    ]
    assert np.mean(shared) == pytest.approx(0.27, abs=0.03)


def test_words_of_different_ranks_are_different() -> None:
    ranks = range(SHORT_WORDS - 20_000, SHORT_WORDS + 20_000)
    assert len({word_of_rank(rank) for rank in ranks}) == 40_000


def test_vectors_form_clusters_and_can_be_memory_mapped(large: Taxonomy, tmp_path: Path) -> None:
    vectors = generate_vectors(large, 32, seed=1, path=tmp_path / "vectors.npy")
    assert np.linalg.norm(vectors, axis=1) == pytest.approx(np.ones(len(large)), abs=1e-5)
    parents, children = large.relation_indices
    related = (vectors[parents] * vectors[children]).sum(1).mean()
    others = np.random.default_rng(0).permutation(parents)
    unrelated = (vectors[others] * vectors[children]).sum(1).mean()
    assert related > 0.4 > 0.2 > unrelated
    assert np.array_equal(vectors, generate_vectors(large, 32, seed=1))
    assert np.array_equal(vectors, np.load(tmp_path / "vectors.npy", mmap_mode="r"))


def test_a_seed_gives_one_taxonomy_that_a_file_preserves(tmp_path: Path) -> None:
    small = mag_shaped_taxonomy(300, seed=2, synonyms=0.3, definitions=0.5)
    assert small == mag_shaped_taxonomy(300, seed=2, synonyms=0.3, definitions=0.5)
    assert small != mag_shaped_taxonomy(300, seed=3, synonyms=0.3, definitions=0.5)
    assert len(small.synonyms) == pytest.approx(90, abs=30)
    assert len(small.definitions) == pytest.approx(150, abs=40)
    write_csv(small, tmp_path / "small.csv")
    assert Taxonomy.read(tmp_path / "small.csv") == small


def test_too_few_concepts_are_refused() -> None:
    with pytest.raises(ValueError, match="use at least 100"):
        mag_shaped_taxonomy(99)
    assert len(mag_shaped_taxonomy(100)) == 100
