from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from test_vector_file import FOODS, Rows, file, text

from taxoexpan.errors import ConfigurationError, FormatError
from taxoexpan.features.embedding import embed_concepts
from taxoexpan.features.encoder import Encoder
from taxoexpan.features.word_vectors.word_vector_encoder import WordVectorEncoder
from taxoexpan.taxonomy import Concept

PANTRY: Rows = [
    ("oat", [1, 0, 0, 0]),
    ("Milk", [0, 3, 0, 0]),
    ("green_tea", [0, 0, 1, 1]),
    ("tea", [0, 0, 0, 2]),
    ("black bean", [1, 1, 1, 1]),
    ("bean", [2, 0, 0, 2]),
    ("low-fat", [0, 0, 5, 0]),
    ("u.s.", [1, 2, 2, 0]),
    ("nothing", [0, 0, 0, 0]),
]


@pytest.fixture
def pantry_vectors(tmp_path: Path) -> Path:
    return file(tmp_path, text(PANTRY))


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("tea", [0, 0, 0, 1]),
        ("Oat Milk", [0.1**0.5, 0.9**0.5, 0, 0]),
        ("Green Tea", [0, 0, 0.5**0.5, 0.5**0.5]),
        ("green tea leaves", [0, 0, 0, 1]),
        ("  black  bean ", [0.5, 0.5, 0.5, 0.5]),
        ("red bean", [0.5**0.5, 0, 0, 0.5**0.5]),
        ("Low-fat", [0, 0, 1, 0]),
        ("oat-free", [1, 0, 0, 0]),
        ("oat–milk/tea", np.array([1, 3, 0, 2]) / 14**0.5),
        ("(oat), “tea”.", [0.2**0.5, 0, 0, 0.8**0.5]),
        ("U.S.", [1 / 3, 2 / 3, 2 / 3, 0]),
        ("nothing", [0, 0, 0, 0]),
        ("coffee", [0, 0, 0, 0]),
        ("", [0, 0, 0, 0]),
        (" - ", [0, 0, 0, 0]),
    ],
)
def test_a_name_is_an_entry_or_the_mean_of_its_known_words(
    pantry_vectors: Path, name: str, expected: list[float]
) -> None:
    assert np.allclose(WordVectorEncoder(pantry_vectors).encode([name]), [expected], atol=1e-6)


def test_with_zero_vectors_the_length_is_the_fraction_of_known_words(
    pantry_vectors: Path,
) -> None:
    names = ["oat milk", "oat drink", "oat-free soy drink", "green tea", "soy", "oat — milk"]
    skip = WordVectorEncoder(pantry_vectors).encode(names)
    zero = WordVectorEncoder(pantry_vectors, oov="zero").encode(names)
    assert np.linalg.norm(zero, axis=1) == pytest.approx([1, 1 / 2, 1 / 4, 1, 0, 1])
    assert np.linalg.norm(skip, axis=1) == pytest.approx([1, 1, 1, 1, 0, 1])
    with pytest.raises(ConfigurationError, match="'mean'; choose skip or zero"):
        WordVectorEncoder(pantry_vectors, oov="mean")  # type: ignore[arg-type]


def test_huge_and_tiny_numbers_give_unit_vectors(tmp_path: Path) -> None:
    path = file(tmp_path, text([("huge", [3e38, 3e38]), ("tiny", [0, 1e-45])]))
    assert np.allclose(WordVectorEncoder(path).encode(["huge", "tiny"]), [[0.5**0.5] * 2, [0, 1]])


def test_a_vector_does_not_depend_on_other_texts(
    pantry_vectors: Path,
) -> None:
    names = ["oat milk", "green tea", "milk", "nothing at all", "bean", "oat milk"]
    encoder = WordVectorEncoder(pantry_vectors)
    one_by_one = np.concatenate([encoder.encode([name]) for name in names])
    assert np.array_equal(one_by_one, WordVectorEncoder(pantry_vectors).encode(names))
    assert encoder.encode([]).shape == (0, 4)


def test_the_file_is_read_only_for_new_words(pantry_vectors: Path) -> None:
    encoder = WordVectorEncoder(pantry_vectors)
    encoder.prepare(["oat milk", "soy"])
    pantry_vectors.unlink()
    assert encoder.encode(["Oat milk", "milk", "oat"]).any(axis=1).all()
    assert not encoder.encode(["soy"]).any()
    with pytest.raises(FormatError, match="no such file"):
        encoder.encode(["tea"])


def test_a_file_that_changes_its_dimension_is_refused(pantry_vectors: Path) -> None:
    encoder = WordVectorEncoder(pantry_vectors)
    encoder.encode(["oat"])
    pantry_vectors.write_bytes(text(FOODS))
    with pytest.raises(FormatError, match="changed while it was in use; start again"):
        encoder.encode(["tea"])


def test_word_vectors_encode_concepts(pantry_vectors: Path) -> None:
    encoder: Encoder = WordVectorEncoder(pantry_vectors)
    assert encoder.name == f"vectors:{pantry_vectors}"
    assert encoder.dimension == 4
    concepts = [Concept("1", "oat milk", ("oat drink",), "A milk, of oat."), Concept("2", "kvass")]
    vectors = embed_concepts(encoder, concepts)
    assert vectors.shape == (2, 2, 4)
    assert np.allclose(np.linalg.norm(vectors, axis=2), [[1, 0], [1, 0]])
    assert np.allclose(vectors[1, 0], [0, 1, 0, 0])


def test_a_bad_file_is_refused_by_the_constructor(tmp_path: Path) -> None:
    with pytest.raises(FormatError, match="is not a file of word vectors"):
        WordVectorEncoder(file(tmp_path, b"a,b\n"))


def test_the_fingerprint_depends_on_the_content_and_not_on_the_name(tmp_path: Path) -> None:
    def digest(content: bytes | bytearray, name: str = "vectors") -> str:
        (tmp_path / name).write_bytes(b"a 1 2\n" + content)
        return WordVectorEncoder(tmp_path / name).fingerprint()

    large = bytearray(5_000_000)
    assert digest(b"") == digest(b"", "other")
    assert re.fullmatch("[0-9a-f]{16}", digest(b""))
    before = digest(large)
    for position in (0, 1_500_000, len(large) // 2, -1):
        changed = large.copy()
        changed[position] = 1
        assert digest(changed) != before
    assert digest(large + b"\0") != before
