"""Tests of `benchmarks/candidate_search.py`: copies keep the structure of the taxonomy."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from candidate_search import compare, enlarged

from taxoexpan import TaxoExpan
from taxoexpan.placement.candidates.index_building import build_search


def test_copies_of_a_taxonomy_are_ranked_in_both_ways(model: TaxoExpan) -> None:
    pytest.importorskip("faiss")
    old = model._fitted()
    size = 5 * len(old.taxonomy) // 2
    archive = enlarged(old, size, np.random.default_rng(0))
    assert len(archive.taxonomy) == len(archive.keys) == size
    assert len(set(archive.taxonomy.labels)) == size
    parents, children = archive.taxonomy.relation_indices
    names = archive.vectors.names
    assert torch.allclose(names.norm(dim=1), torch.ones(size), atol=1e-5)
    near = (names[parents] * names[children]).sum(1).mean()
    assert near > (names[parents] * names[children.copy()[::-1].copy()]).sum(1).mean() + 0.05
    large = TaxoExpan.from_archive(archive, "cpu")
    figures = compare(
        large, build_search(large._ranker), large._queries(list(archive.taxonomy.concepts)[:20])
    )
    assert figures["same_first_parent"] == 1
