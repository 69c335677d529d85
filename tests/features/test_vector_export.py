from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest

from taxoexpan.errors import FormatError
from taxoexpan.features.vector_export import vectors_content
from taxoexpan.features.word_vectors import read_vectors
from taxoexpan.taxonomy import Concept

CONCEPTS = [
    Concept("1", "Green tea", ("matcha",)),
    Concept("2", "milk", ("Green tea", "dairy")),
    Concept("3", "unknown"),
]
BOTH = np.zeros((2, 3, 2), dtype=np.float32)
BOTH[0, :2] = [[0.6, 0.8], [1 / 3, -1e-9]]
BOTH[1, :2] = [[0, 1], [1, 0]]


def test_a_text_file_has_all_known_names_with_exact_numbers(tmp_path: Path) -> None:
    path = tmp_path / "vectors.vec"
    path.write_bytes(vectors_content(path, CONCEPTS, BOTH))
    found = read_vectors(path, ["green_tea", "milk", "matcha", "dairy", "unknown"])
    rows = {name: vector.tolist() for name, vector in found.items()}
    tea, milk = BOTH[0, 0].tolist(), BOTH[0, 1].tolist()
    assert rows == {"green_tea": tea, "milk": milk, "matcha": tea, "dairy": milk}


def test_a_numpy_file_has_ids_labels_and_both_vectors() -> None:
    content = vectors_content(Path("vectors.npz"), CONCEPTS, BOTH)
    arrays = np.load(io.BytesIO(content), allow_pickle=False)
    assert arrays["ids"].tolist() == ["1", "2", "3"]
    assert arrays["labels"].tolist() == ["Green tea", "milk", "unknown"]
    assert np.array_equal(np.stack([arrays["vectors"], arrays["heads"]]), BOTH)


def test_unsupported_files_and_unknown_concepts_are_refused() -> None:
    with pytest.raises(FormatError, match=r"\.csv; choose one of \.npz"):
        vectors_content(Path("vectors.csv"), CONCEPTS, BOTH)
    with pytest.raises(FormatError, match="no concept has a vector"):
        vectors_content(Path("vectors.vec"), CONCEPTS, np.zeros_like(BOTH))
