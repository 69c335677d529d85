from __future__ import annotations

import numpy as np
import pytest
from letters import Letters, linear_vectors

from taxoexpan.errors import ModelError
from taxoexpan.features.skipgram.skipgram_encoder import SkipGramEncoder
from taxoexpan.features.skipgram.skipgram_training import SkipGramVectors
from taxoexpan.features.skipgram.space_mapping import fit_space_mapping


def test_an_unknown_name_is_mapped_near_its_true_vector() -> None:
    every = linear_vectors()
    unknown = every.words[50:]
    learned = SkipGramVectors(
        every.words[:50], every.names - {*unknown}, every.counts, every.vectors[:50]
    )
    encoder = SkipGramEncoder(learned, Letters())
    mapped = encoder.encode(unknown)
    cosines = (mapped * every.vectors[50:]).sum(1)
    mean = learned.vectors.mean(0) / np.linalg.norm(learned.vectors.mean(0))
    assert cosines.mean() > 0.95 > (every.vectors[50:] @ mean).mean()
    assert np.allclose(np.linalg.norm(mapped, axis=1), 1, atol=1e-5)
    assert np.array_equal(encoder.encode(every.words[:1])[0], learned.vectors[0])


def test_a_text_unknown_to_both_encoders_is_a_row_of_zeros() -> None:
    assert not SkipGramEncoder(linear_vectors(), Letters()).encode(["1234"]).any()


def test_mapped_vectors_vary_as_much_as_the_learned_ones() -> None:
    learned = linear_vectors(noise=2.0)
    mapping = fit_space_mapping(learned, Letters())
    mapped = Letters().encode(list(learned.words)) @ mapping.matrix + mapping.offset
    assert np.allclose(mapped.mean(0), learned.vectors.mean(0), atol=1e-4)
    assert mapped.var(0).sum() == pytest.approx(learned.vectors.var(0).sum(), rel=1e-3)


def test_the_penalty_has_the_smallest_leave_one_out_error() -> None:
    """The matrix is proportional to the solution with the best penalty, found by brute force."""
    learned = linear_vectors(size=30, noise=0.5)
    x = Letters().encode(list(learned.words)).astype(np.float64)
    y = learned.vectors.astype(np.float64)

    def ridge(penalty: float, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        x_mean, y_mean = x[rows].mean(0), y[rows].mean(0)
        centered = x[rows] - x_mean
        gram = centered.T @ centered + penalty * np.eye(26)
        return np.linalg.solve(gram, centered.T @ (y[rows] - y_mean)), x_mean, y_mean

    def error(penalty: float) -> float:
        total = 0.0
        for row in range(len(x)):
            matrix, x_mean, y_mean = ridge(penalty, np.delete(np.arange(len(x)), row))
            total += np.square((x[row] - x_mean) @ matrix + y_mean - y[row]).sum()
        return total

    best = min((10.0**power for power in range(-3, 4)), key=error)
    expected = ridge(best, np.arange(len(x)))[0]
    found = fit_space_mapping(learned, Letters()).matrix
    scale = np.linalg.norm(found) / np.linalg.norm(expected)
    assert np.allclose(found, scale * expected, atol=1e-5)


def test_a_mapping_needs_enough_names() -> None:
    with pytest.raises(ModelError, match="only 2 names of the taxonomy often enough, but 10 are"):
        fit_space_mapping(linear_vectors(size=2), Letters())
