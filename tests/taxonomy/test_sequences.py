from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from taxoexpan.taxonomy import sequences
from taxoexpan.taxonomy.sequences import LazyMapping, PackedTexts

texts = st.text(st.characters(), max_size=6)  # with surrogates, which some files have


@given(st.lists(texts))
def test_packed_texts_are_the_same_sequence(strings: list[str]) -> None:
    packed = PackedTexts.pack(strings)
    assert packed == strings
    assert tuple(strings) == packed
    assert list(packed) == strings
    assert [packed[i] for i in range(-len(strings), 0)] == strings
    assert packed[1:3] == tuple(strings[1:3])
    with pytest.raises(IndexError):
        packed[len(strings)]
    assert packed != [*strings, ""]


@given(st.dictionaries(st.integers(0, 9), texts.filter(bool)))
def test_packed_definitions_are_the_same_mapping(values: dict[int, str]) -> None:
    texts = PackedTexts.pack(values.get(i, "") for i in range(10))
    packed = LazyMapping(texts.offsets, texts.__getitem__)
    assert packed == values
    assert len(packed) == len(values)
    assert [packed.get(np.int64(i), "") for i in range(-2, 12)] == [
        values.get(i, "") for i in range(-2, 12)
    ]


def test_a_concept_without_a_value_is_not_in_the_mapping() -> None:
    packed = LazyMapping(np.array([0, 2, 2, 3]), lambda index: f"value {index}")
    assert dict(packed.items()) == {0: "value 0", 2: "value 2"}
    assert [i in packed for i in range(-2, 5)] == [False, False, True, False, True, False, False]
    for index in (1, 3):
        with pytest.raises(KeyError):
            packed[index]


def test_packed_texts_must_fit_together() -> None:
    packed = PackedTexts.pack(["a", "b"])
    with pytest.raises(ValueError, match="offsets of the texts do not fit"):
        PackedTexts(packed.text, packed.offsets[:-1])


@given(st.lists(texts, max_size=9), st.integers(1, 4))
def test_texts_are_decoded_block_by_block(strings: list[str], block: int) -> None:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(sequences, "BLOCK", block)
        assert list(PackedTexts.pack(strings)) == strings


def test_packed_texts_are_equal_to_sequences_only() -> None:
    packed = PackedTexts.pack(["a", "b"])
    assert packed != "ab"
    assert packed != {"a", "b"}
    assert packed != ["a", "c"]
