from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from letters import Letters, linear_vectors
from safetensors.numpy import load_file, save_file

from taxoexpan.errors import ConfigurationError, FormatError, ModelError
from taxoexpan.features.skipgram_encoder import SkipGramEncoder
from taxoexpan.features.skipgram_training import SkipGramVectors


def small() -> SkipGramVectors:
    """Five words in two dimensions; the first two are names."""
    vectors = np.array([[3, 0], [0, 2], [1, 1], [0, -1], [-1, 0]], dtype=np.float32)
    words = ("green_tea", "soda", "green", "tea", "cup")
    return SkipGramVectors(words, frozenset(words[:2]), np.arange(9, 4, -1), vectors)


@pytest.mark.parametrize(
    ("text", "vector"),
    [
        ("green tea", (1, 0)),
        ("Green-Teas", (1, 0)),
        ("tea", (0, -1)),
        ("a tea cup", (-1, -1)),
        ("soda tea-cup", (-1, 0)),
        ("mug of green teas, soda", (1, 1)),
        ("skyr", (0, 0)),
        ("", (0, 0)),
    ],
)
def test_a_text_is_the_mean_of_its_known_names_and_words(
    text: str, vector: tuple[int, int]
) -> None:
    expected = np.array(vector, dtype=np.float32) / max(np.hypot(*vector), 1)
    assert np.allclose(SkipGramEncoder(small()).encode([text, "cup"])[0], expected, atol=1e-6)


def test_no_texts_have_no_vectors() -> None:
    assert SkipGramEncoder(small()).encode([]).shape == (0, 2)


@pytest.mark.parametrize("fallback", [None, Letters()])
def test_a_saved_encoder_gives_the_same_vectors(tmp_path: Path, fallback: Letters | None) -> None:
    learned = linear_vectors()
    encoder = SkipGramEncoder(learned, fallback)
    encoder.save(tmp_path / "vectors")
    loaded = SkipGramEncoder.load(tmp_path / "vectors", fallback)
    texts = [learned.words[0], f"cup of {learned.words[1]}", "kvass", "?"]
    assert np.array_equal(loaded.encode(texts), encoder.encode(texts))
    assert loaded.fingerprint() == encoder.fingerprint()
    assert sorted(path.name for path in (tmp_path / "vectors").iterdir()) == [
        "vectors.safetensors",
        "vocabulary.json",
    ]


def test_the_fingerprint_depends_on_all_data_of_the_vectors() -> None:
    learned = linear_vectors()
    changed = learned.vectors.copy()
    changed[0, 0] += 1
    encoders = [
        SkipGramEncoder(learned),
        SkipGramEncoder(learned, Letters()),
        SkipGramEncoder(replace(learned, vectors=changed)),
        SkipGramEncoder(replace(learned, names=frozenset())),
    ]
    assert len({encoder.fingerprint() for encoder in encoders}) == 4


def test_saved_vectors_are_overwritten_only_with_force(tmp_path: Path) -> None:
    encoder = SkipGramEncoder(small())
    encoder.save(tmp_path / "vectors")
    with pytest.raises(FormatError):
        encoder.save(tmp_path / "vectors")
    encoder.save(tmp_path / "vectors", force=True)


def test_the_fallback_must_be_the_same(tmp_path: Path) -> None:
    SkipGramEncoder(linear_vectors(), Letters()).save(tmp_path / "with")
    SkipGramEncoder(linear_vectors()).save(tmp_path / "without")
    with pytest.raises(ConfigurationError, match="the fallback letters, but loaded with None"):
        SkipGramEncoder.load(tmp_path / "with")
    with pytest.raises(ConfigurationError, match="the fallback None, but loaded with letters"):
        SkipGramEncoder.load(tmp_path / "without", Letters())


def test_damaged_vectors_are_refused(tmp_path: Path) -> None:
    SkipGramEncoder(small()).save(tmp_path / "intact")
    vocabulary = json.loads((tmp_path / "intact" / "vocabulary.json").read_text())
    tensors = load_file(tmp_path / "intact" / "vectors.safetensors")

    def message_of(name: str, content: bytes | None) -> str:
        damaged = tmp_path / "damaged"
        shutil.rmtree(damaged, ignore_errors=True)
        shutil.copytree(tmp_path / "intact", damaged)
        if content is None:
            (damaged / name).unlink()
        else:
            (damaged / name).write_bytes(content)
        with pytest.raises(ModelError) as caught:
            SkipGramEncoder.load(damaged)
        return str(caught.value)

    save_file({**tensors, "vectors": tensors["vectors"] + 1}, tmp_path / "changed")
    changed = (tmp_path / "changed").read_bytes()
    assert "the fingerprint does not match" in message_of("vectors.safetensors", changed)
    assert "the vectors are damaged" in message_of("vectors.safetensors", changed[:-9])
    assert "the vectors are damaged" in message_of("vectors.safetensors", None)
    assert "there is no vocabulary.json" in message_of("vocabulary.json", None)
    assert "the vectors are damaged" in message_of("vocabulary.json", b"{")
    assert "nested too deeply" in message_of("vocabulary.json", b"[" * 100_000)
    save_file({**tensors, "counts": tensors["counts"][:1]}, tmp_path / "changed")
    shorter = (tmp_path / "changed").read_bytes()
    assert "wrong type or shape" in message_of("vectors.safetensors", shorter)
    assert "does not belong to skip-gram vectors" in message_of("vocabulary.json", b"[]")
    for key, value, message in (("words", None, "damaged"), ("version", 9, "have version 9")):
        content = json.dumps({**vocabulary, key: value}).encode()
        assert message in message_of("vocabulary.json", content)
