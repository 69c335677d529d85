from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.features.label_words import NUM_WORD_FEATURES, LabelWords
from taxoexpan.placement.scoring import word_scores
from taxoexpan.placement.scoring.pair_features import OF_WORDS, Input
from taxoexpan.placement.scoring.word_scores import WordScores
from taxoexpan.taxonomy import Concept, Taxonomy
from tests.support.label_cases import queries, taxonomies
from tests.support.strategies import quickly

weights = st.lists(st.floats(-3, 3, width=32), min_size=6, max_size=6)


def input_weights(weights: list[float]) -> np.ndarray:
    """Return the weights of all inputs, of which only those of words count."""
    inputs = np.full(len(Input), 9.0)
    inputs[OF_WORDS] = weights
    return inputs


def slow_scores(words: LabelWords, labels: list[str], weights: list[float]) -> np.ndarray:
    """Weigh the features of all pairs."""
    asked = words.of_queries([Concept("q", label) for label in labels])
    return np.einsum("f,fnq->nq", np.array(weights), words.compare(asked, 0, len(words)))


@quickly
@given(taxonomies(), queries, weights)
def test_scores_are_the_weighted_sum_of_all_features(
    taxonomy: Taxonomy, labels: list[str], weights: list[float]
) -> None:
    words = LabelWords.from_taxonomy(taxonomy)
    scores = torch.full((len(words), len(labels)), 7.0)
    asked = words.of_queries([Concept("q", label) for label in labels])
    WordScores(words, input_weights(weights), "cpu").add_to(scores, asked)
    expected = 7 + slow_scores(words, labels, weights)
    np.testing.assert_allclose(scores.numpy(), expected, atol=1e-5)


@pytest.mark.parametrize("limit", [1, 7, 50])
def test_long_lists_are_added_in_runs(monkeypatch: pytest.MonkeyPatch, limit: int) -> None:
    monkeypatch.setitem(word_scores.MAX_ENTRIES, "cpu", limit)
    concepts = [Concept(str(i), f"{'oat ' * (i % 2)}milk {i % 5}") for i in range(40)]
    words = LabelWords.from_taxonomy(Taxonomy(concepts, [("1", "0"), ("0", "2")]))
    labels = ["oat milk", "milk 3", "yak", "3 4 milk"]
    weights = [1.0 + i for i in range(NUM_WORD_FEATURES)]
    scores = torch.zeros(40, 4)
    asked = words.of_queries([Concept("q", label) for label in labels])
    WordScores(words, input_weights(weights), "cpu").add_to(scores, asked)
    np.testing.assert_allclose(scores.numpy(), slow_scores(words, labels, weights), atol=1e-5)
