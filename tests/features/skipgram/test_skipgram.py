from __future__ import annotations

import ctypes
import json
import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from taxoexpan.errors import ConfigurationError, FormatError, ModelError
from taxoexpan.features.embedding import embed_concepts
from taxoexpan.features.encoder import Vectors
from taxoexpan.features.skipgram.skipgram_training import (
    SkipGramVectors,
    train_skipgram,
    without_false_alarms,
)
from taxoexpan.features.skipgram.skipgram_vectors import SkipGramEncoder
from taxoexpan.features.skipgram.space_mapping import fit_space_mapping
from taxoexpan.features.static import StaticEncoder
from taxoexpan.taxonomy import Concept

pytest.importorskip("gensim")

DRINKS = ("green tea", "oat milk", "apple juice", "black coffee", "soda", "red wine")
TOOLS = ("claw hammer", "hand saw", "power drill", "file", "screw driver", "wood plane")
NAMES = (*DRINKS, *TOOLS)
AROUND = {DRINKS: ("drink", "cup", "thirsty", "sip"), TOOLS: ("workshop", "nail", "steel", "grip")}
SETTINGS = {"dimension": 16, "epochs": 100}


class Letters:
    """An encoder of its own space: how often each letter is there."""

    name = "letters"
    dimension = 26

    def encode(self, texts: list[str]) -> Vectors:
        alphabet = "abcdefghijklmnopqrstuvwxyz"
        counts = [[text.lower().count(letter) for letter in alphabet] for text in texts]
        vectors = np.array(counts, dtype=np.float32).reshape(-1, 26)
        return vectors / np.maximum(np.linalg.norm(vectors, axis=1, keepdims=True), 1)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four hundred lines on drinks and tools, in words of their own, and some on neither."""
    dice, lines = random.Random(0), []
    for _ in range(200):
        for names, words in AROUND.items():
            first, other = dice.sample(names, 2)
            line = [dice.choice(words), first + "s", *dice.choices(words, k=2), other, "rare-word"]
            lines.append(" ".join(line).title())
    lines[0] += " cold-brew"
    lines += ["nothing of either sort is mentioned"] * 50
    path = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def learned(corpus: Path) -> SkipGramVectors:
    return train_skipgram(corpus, NAMES, **SETTINGS)


def test_every_name_that_is_mentioned_often_becomes_one_word(learned: SkipGramVectors) -> None:
    assert {"green_tea", "claw_hammer", "soda"} <= learned.names <= set(learned.words)
    assert {"cup", "steel"} <= set(learned.words) - learned.names
    assert "cold-brew" not in learned.words
    assert learned.vectors.shape == (len(learned.words), 16)
    assert learned.counts[learned.words.index("rare-word")] == 400
    assert list(learned.counts) == sorted(learned.counts, reverse=True)


def test_documents_without_a_name_are_left_out(learned: SkipGramVectors) -> None:
    assert "mentioned" not in learned.words


def test_names_used_alike_come_near_each_other(learned: SkipGramVectors) -> None:
    vectors = SkipGramEncoder(learned).encode(NAMES)
    cosines = vectors @ vectors.T - 2 * np.eye(len(NAMES))
    for name, nearest in zip(NAMES, cosines.argmax(1), strict=True):
        assert (name in DRINKS) == (NAMES[nearest] in DRINKS)


def test_one_worker_learns_the_same_in_every_process(
    corpus: Path, learned: SkipGramVectors
) -> None:
    again = train_skipgram(corpus, NAMES, **SETTINGS)
    other = train_skipgram(corpus, NAMES, seed=1, **SETTINGS)
    assert SkipGramEncoder(again).fingerprint() == SkipGramEncoder(learned).fingerprint()
    assert not np.array_equal(other.vectors, learned.vectors)
    program = (
        "from pathlib import Path; from taxoexpan.features.skipgram.skipgram_training import *\n"
        "from taxoexpan.features.skipgram.skipgram_vectors import SkipGramEncoder\n"
        f"learned = train_skipgram(Path({str(corpus)!r}), {NAMES!r}, **{SETTINGS!r})\n"
        "print(SkipGramEncoder(learned).fingerprint())"
    )
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-c", program],
            capture_output=True,
            text=True,
            check=True,
            env={"PYTHONHASHSEED": seed},
        )
        assert done.stdout.strip() == SkipGramEncoder(learned).fingerprint()


def test_more_workers_learn_the_same_words(corpus: Path, learned: SkipGramVectors) -> None:
    raced = train_skipgram(corpus, NAMES, workers=2, **SETTINGS)
    assert raced.words == learned.words
    assert np.array_equal(raced.counts, learned.counts)


def small() -> SkipGramVectors:
    """Five words in the plane; the first two are names."""
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
def test_a_text_is_the_mean_of_the_names_and_words_that_are_known(
    text: str, vector: tuple[int, int]
) -> None:
    expected = np.array(vector, dtype=np.float32) / max(np.hypot(*vector), 1)
    assert np.allclose(SkipGramEncoder(small()).encode([text, "cup"])[0], expected, atol=1e-6)


def test_no_texts_have_no_vectors() -> None:
    assert SkipGramEncoder(small()).encode([]).shape == (0, 2)


def test_vectors_are_those_of_concepts(learned: SkipGramVectors) -> None:
    encoder = SkipGramEncoder(learned)
    concepts = [Concept("1", "iced green tea"), Concept("2", "Soda", (), "red wine in a cup")]
    vectors = embed_concepts(encoder, concepts)
    assert vectors.shape == (2, 2, 16)
    assert np.allclose(vectors[0, 0], encoder.encode(["green tea"])[0], atol=1e-6)


def linear_world(size: int = 60, noise: float = 0.0) -> SkipGramVectors:
    """Names whose vectors are a turn and a shift of what `Letters` makes of them."""
    dice = np.random.default_rng(0)
    spelled = ["".join(dice.choice(list("abcdefgh"), 6)) for _ in range(size)]
    turn, shift = dice.normal(size=(26, 5)), dice.normal(size=5)
    vectors = Letters().encode(spelled) @ turn + shift + noise * dice.normal(size=(size, 5))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return SkipGramVectors(
        tuple(spelled), frozenset(spelled), np.arange(size, 0, -1), unit.astype(np.float32)
    )


def test_a_name_that_the_corpus_does_not_know_comes_over_the_bridge() -> None:
    world = linear_world()
    known = SkipGramVectors(
        world.words[:50], world.names - {*world.words[50:]}, world.counts, world.vectors[:50]
    )
    encoder = SkipGramEncoder(known, Letters())
    carried = encoder.encode(world.words[50:])
    cosines = (carried * world.vectors[50:]).sum(1)
    middle = world.vectors[:50].mean(0) / np.linalg.norm(world.vectors[:50].mean(0))
    assert cosines.mean() > 0.95 > (world.vectors[50:] @ middle).mean()
    assert np.allclose(np.linalg.norm(carried, axis=1), 1, atol=1e-5)
    assert np.array_equal(encoder.encode(world.words[:1])[0], known.vectors[0])


def test_what_neither_knows_is_a_row_of_zeros() -> None:
    assert not SkipGramEncoder(linear_world(), Letters()).encode(["1234"]).any()


def test_a_bridge_spreads_names_as_far_as_the_corpus_does() -> None:
    world = linear_world(noise=2.0)
    bridge = fit_space_mapping(world, Letters())
    carried = Letters().encode(list(world.words)) @ bridge.matrix + bridge.offset
    assert np.allclose(carried.mean(0), world.vectors.mean(0), atol=1e-4)
    assert carried.var(0).sum() == pytest.approx(world.vectors.var(0).sum(), rel=1e-3)


def test_a_bridge_needs_names_to_stand_on() -> None:
    with pytest.raises(ModelError, match="only 2 names often enough, and 10 are"):
        SkipGramEncoder(small(), StaticEncoder())


@pytest.mark.parametrize("fallback", [None, Letters()])
def test_what_is_saved_is_loaded_again(
    learned: SkipGramVectors, tmp_path: Path, fallback: Letters | None
) -> None:
    encoder = SkipGramEncoder(learned, fallback)
    encoder.save(tmp_path / "vectors")
    loaded = SkipGramEncoder.load(tmp_path / "vectors", fallback)
    texts = ["green tea", "cup of soda", "kvass", "?"]
    assert np.array_equal(loaded.encode(texts), encoder.encode(texts))
    assert loaded.fingerprint() == encoder.fingerprint()
    assert sorted(path.name for path in (tmp_path / "vectors").iterdir()) == [
        "vectors.safetensors",
        "vocabulary.json",
    ]


def test_the_fingerprint_is_of_all_that_vectors_are_made_from(learned: SkipGramVectors) -> None:
    changed = learned.vectors.copy()
    changed[0, 0] += 1
    others = [
        SkipGramEncoder(learned, Letters()),
        SkipGramEncoder(SkipGramVectors(learned.words, learned.names, learned.counts, changed)),
        SkipGramEncoder(
            SkipGramVectors(learned.words, frozenset(), learned.counts, learned.vectors)
        ),
    ]
    prints = {encoder.fingerprint() for encoder in [SkipGramEncoder(learned), *others]}
    assert len(prints) == 4


def test_saved_vectors_are_overwritten_only_by_force(tmp_path: Path) -> None:
    encoder = SkipGramEncoder(small())
    encoder.save(tmp_path / "vectors")
    with pytest.raises(FormatError, match="is already there"):
        encoder.save(tmp_path / "vectors")
    encoder.save(tmp_path / "vectors", force=True)


def test_the_fallback_must_be_the_same(learned: SkipGramVectors, tmp_path: Path) -> None:
    SkipGramEncoder(learned, Letters()).save(tmp_path / "with")
    SkipGramEncoder(learned).save(tmp_path / "without")
    with pytest.raises(ConfigurationError, match="the fallback letters, and loaded with None"):
        SkipGramEncoder.load(tmp_path / "with")
    with pytest.raises(ConfigurationError, match="the fallback None, and loaded with letters"):
        SkipGramEncoder.load(tmp_path / "without", Letters())


def test_damaged_vectors_are_refused(tmp_path: Path) -> None:
    SkipGramEncoder(small()).save(tmp_path / "whole")
    vocabulary = json.loads((tmp_path / "whole" / "vocabulary.json").read_text())
    tensors = load_file(tmp_path / "whole" / "vectors.safetensors")

    def message_of(name: str, content: bytes | None) -> str:
        damaged = tmp_path / "damaged"
        shutil.rmtree(damaged, ignore_errors=True)
        shutil.copytree(tmp_path / "whole", damaged)
        if content is None:
            (damaged / name).unlink()
        else:
            (damaged / name).write_bytes(content)
        with pytest.raises(ModelError) as caught:
            SkipGramEncoder.load(damaged)
        return str(caught.value)

    save_file({**tensors, "vectors": tensors["vectors"] + 1}, tmp_path / "changed")
    changed = (tmp_path / "changed").read_bytes()
    assert "the fingerprint is not that of" in message_of("vectors.safetensors", changed)
    assert "the vectors are damaged" in message_of("vectors.safetensors", changed[:-9])
    assert "the vectors are damaged" in message_of("vectors.safetensors", None)
    assert "no vocabulary.json here" in message_of("vocabulary.json", None)
    assert "the vectors are damaged" in message_of("vocabulary.json", b"{")
    assert "is not one of vectors" in message_of("vocabulary.json", b"[]")
    for key, value, message in (("words", None, "damaged"), ("version", 9, "of version 9")):
        content = json.dumps({**vocabulary, key: value}).encode()
        assert message in message_of("vocabulary.json", content)


def test_a_corpus_that_is_too_small_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("green tea and soda\n" * 4)
    for names in (["green tea"], ["coffee"]):
        with pytest.raises(FormatError, match="no word is there 5 times in documents"):
            train_skipgram(path, names)


def test_a_wrong_setting_is_refused(corpus: Path) -> None:
    with pytest.raises(ConfigurationError, match="window is 0; it must be at least 1"):
        train_skipgram(corpus, NAMES, window=0)


def test_without_gensim_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gensim", None)
    monkeypatch.setitem(sys.modules, "gensim.models.word2vec", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'taxoexpan\[corpus\]'"):
        train_skipgram(Path("nowhere.txt"), NAMES)


def test_a_long_document_is_cut_and_not_lost(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("green tea " * 15_000)
    learned = train_skipgram(path, ["green tea"], dimension=2, epochs=1)
    assert (learned.words, list(learned.counts)) == (("green_tea",), [15_000])


def test_gensims_false_alarms_are_not_told_and_all_else_is(
    capsys: pytest.CaptureFixture[str],
) -> None:
    unraisable = ctypes.pythonapi.PyErr_WriteUnraisable
    unraisable.argtypes, unraisable.restype = [ctypes.py_object], None
    with without_false_alarms():
        unraisable("gensim.models.word2vec_inner.our_dot_float")
        print("a real one", file=sys.stderr)
    assert capsys.readouterr().err == "a real one\n"
