from __future__ import annotations

import numpy as np
import pytest
import torch

from taxoexpan.explain import explain
from taxoexpan.explain.similarity import concept_words, dot_products, name_words, shared_words
from taxoexpan.taxonomy import Concept
from tests.support.random_cases import small_case


def test_every_suggestion_lists_its_nearest_children_with_their_cosines() -> None:
    ranker, queries = small_case()
    ranking = ranker.rank(queries, 4)
    taxonomy, names = ranker.anchors.taxonomy, ranker.anchors.vectors.names
    vectors = queries.vectors
    for query, evidence in enumerate(explain(ranker, queries, ranking)):
        assert len(evidence.suggestions) == 4
        for rank, suggestion in enumerate(evidence.suggestions):
            anchor = int(ranking.anchors[query, rank])
            assert suggestion.parent.id == taxonomy.ids[anchor]
            assert suggestion.path == taxonomy.path(taxonomy.ids[anchor])
            assert suggestion.score == ranking.scores[query, rank]
            cosine = float(names[anchor] @ vectors[0, query])
            assert suggestion.cosine == pytest.approx(cosine, abs=1e-6)
            children = taxonomy.children_of.of(anchor)
            cosines = (names[children.tolist()] @ vectors[0, query]).tolist()
            nearest = sorted(zip(cosines, children, strict=True), reverse=True)[:3]
            found = suggestion.nearest_children
            assert [child.concept.id for child in found] == [f"c{i}" for _, i in nearest]
            expected = pytest.approx([cosine for cosine, _ in nearest], abs=1e-6)
            assert [child.cosine for child in found] == expected
            assert suggestion.child_count == len(children)


def test_shared_words_ignore_case_plurals_and_stop_words() -> None:
    query = Concept(
        "", "Cherry-Tomatoes", ("the berry's fruits",), "of a small plant, used with tea"
    )
    words = concept_words(query)
    assert shared_words(words, name_words(Concept("t", "tomatoe"))) == ("tomatoes",)
    other = Concept("b", "Berries", ("small cherry of the S", "with use"), "a plant and tea")
    assert shared_words(words, name_words(other)) == ("cherry", "berry", "small")
    hindi = Concept("", "हिन्दी चाय")
    assert shared_words(concept_words(hindi), name_words(Concept("h", "चाय"))) == ("चाय",)


def test_dot_products_of_pairs_in_any_order() -> None:
    generator = torch.Generator().manual_seed(0)
    vectors, queries = (torch.randn(n, 3, generator=generator) for n in (50, 4))
    rows, query = np.array([7, 7, 49, 0, 7]), np.array([3, 0, 1, 3, 0])
    expected = (vectors[rows] * queries[query]).sum(1)
    assert torch.allclose(dot_products(vectors, rows, queries, query), expected, atol=1e-6)
