from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from taxoexpan.errors import FormatError
from taxoexpan.features.embedding import embed_concepts
from taxoexpan.features.encoder import Encoder
from taxoexpan.features.word_vectors import WordVectorEncoder
from taxoexpan.taxonomy import Concept

Rows = list[tuple[str, list[float]]]


def text(rows: Rows) -> bytes:
    """Write the text format of word2vec."""
    lines = [f"{len(rows)} {len(rows[0][1])}"]
    lines += [" ".join([word, *(str(np.float32(n)) for n in numbers)]) for word, numbers in rows]
    return "".join(f"{line}\n" for line in lines).encode()


def file(folder: Path, content: bytes) -> Path:
    path = folder / "vectors.dat"
    path.write_bytes(content)
    return path


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


def test_word_vectors_encode_concepts(pantry_vectors: Path) -> None:
    encoder: Encoder = WordVectorEncoder(pantry_vectors)
    assert encoder.name == f"vectors:{pantry_vectors}"
    assert encoder.dimension == 4
    concepts = [Concept("1", "oat milk", ("oat drink",), "A milk, of oat."), Concept("2", "kvass")]
    vectors = embed_concepts(encoder, concepts)
    assert vectors.shape == (2, 2, 4)
    assert np.allclose(np.linalg.norm(vectors, axis=2), [[1, 0], [1, 0]])
    assert np.allclose(vectors[1, 0], [0, 1, 0, 0])


def test_the_fingerprint_depends_on_the_content_and_not_on_the_name(tmp_path: Path) -> None:
    def digest(content: bytes, name: str = "vectors") -> str:
        (tmp_path / name).write_bytes(content)
        return WordVectorEncoder(tmp_path / name).fingerprint()

    assert digest(b"a 1 2\n") == digest(b"a 1 2\n", "other") != digest(b"a 1 3\n")
