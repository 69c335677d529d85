from __future__ import annotations

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from taxoexpan.taxonomy import array_checks
from taxoexpan.taxonomy.array_checks import (
    BASE,
    check_distinct,
    check_indices,
    check_texts,
    text_hashes,
)
from taxoexpan.taxonomy.packed_text import PackedTexts


@given(st.lists(st.text(max_size=6), max_size=9), st.integers(1, 5))
@example(["a", ""], 2)
@example(["", "\0", "\0\0", "a", ""], 5)
def test_a_hash_is_a_polynomial_of_the_bytes(texts: list[str], block: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(array_checks, "BLOCK", block)
        hashes = text_hashes(PackedTexts.pack(texts)).tolist()
    for text, value in zip(texts, hashes, strict=True):
        terms = ((byte + 1) * BASE**power for power, byte in enumerate(text.encode()))
        assert value == sum(terms) % 2**64
    assert len(set(hashes)) == len(set(texts))


def test_a_repeated_text_is_found() -> None:
    texts = [f"id {number}" for number in range(40_000)]
    check_distinct(PackedTexts.pack(texts), "ids")
    with pytest.raises(ValueError, match="ids has a text twice"):
        check_distinct(PackedTexts.pack([*texts, "id 7"]), "ids")


def test_texts_with_equal_hashes_are_compared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(array_checks, "text_hashes", lambda t: np.zeros(len(t), np.uint64))
    check_distinct(PackedTexts.pack(["a", "b", "c"]), "ids")
    with pytest.raises(ValueError, match="ids has a text twice"):
        check_distinct(PackedTexts.pack(["a", "b", "a"]), "ids")


@pytest.mark.parametrize(
    ("text", "offsets", "reason"),
    [
        (b"\xff", [0, 1], "decode"),
        ("é".encode(), [0, 1, 2], "inside a character"),
        (b"ab", [0, 2, 1, 2], "are no offsets"),
        (b"ab", [1, 2], "are no offsets"),
        (b"ab", [0, 3], "are no offsets"),
        (b"ab", [], "wrong length"),
    ],
)
def test_wrong_texts_are_refused(text: bytes, offsets: list[int], reason: str) -> None:
    arrays = {
        "labels.text": np.frombuffer(text, np.uint8),
        "labels.offsets": np.array(offsets, np.int64),
    }
    with pytest.raises(ValueError, match=reason):
        check_texts(arrays, "labels")
    with pytest.raises(ValueError, match="wrong type or shape"):
        check_texts(arrays | {"labels.offsets": np.zeros(2)}, "labels")


def test_wrong_indices_are_refused() -> None:
    arrays = {"parents": np.array([0, 2, 1])}
    assert check_indices(arrays, "parents", 3).tolist() == [0, 2, 1]
    assert check_indices(arrays, "parents", 3, 3).tolist() == [0, 2, 1]
    with pytest.raises(ValueError, match="parents has the wrong length"):
        check_indices(arrays, "parents", 3, 4)
    for wrong in ([0, 3], [-1]):
        with pytest.raises(ValueError, match="parents has an index out of range"):
            check_indices({"parents": np.array(wrong)}, "parents", 3)
