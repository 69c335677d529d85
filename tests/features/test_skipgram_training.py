from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from letters import Letters, linear_vectors

from taxoexpan.errors import ConfigurationError, FormatError, ModelError
from taxoexpan.features.corpus import parallel
from taxoexpan.features.skipgram_encoder import SkipGramEncoder
from taxoexpan.features.skipgram_training import (
    SkipGramVectors,
    fit_space_mapping,
    join_names,
    train_skipgram,
)

pytest.importorskip("gensim")

DRINKS = ("green tea", "oat milk", "apple juice", "black coffee", "soda", "red wine")
TOOLS = ("claw hammer", "hand saw", "power drill", "file", "screw driver", "wood plane")
NAMES = (*DRINKS, *TOOLS)
CONTEXTS = {
    DRINKS: ("drink", "cup", "thirsty", "sip"),
    TOOLS: ("workshop", "nail", "steel", "grip"),
}
SETTINGS = {"dimension": 16, "epochs": 100}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """400 lines about drinks and tools, each with its own context words, and 50 other lines."""
    rng, lines = random.Random(0), []
    for _ in range(200):
        for names, words in CONTEXTS.items():
            first, second = rng.sample(names, 2)
            line = [rng.choice(words), first + "s", *rng.choices(words, k=2), second, "rare-word"]
            lines.append(" ".join(line).title())
    lines[0] += " cold-brew"
    lines += ["nothing of either sort is mentioned"] * 50
    path = tmp_path_factory.mktemp("corpus") / "corpus.txt"
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def learned(corpus: Path) -> SkipGramVectors:
    return train_skipgram(corpus, NAMES, **SETTINGS)


def test_every_frequent_name_becomes_one_word(learned: SkipGramVectors) -> None:
    assert {"green_tea", "claw_hammer", "soda"} <= learned.names <= set(learned.words)
    assert {"cup", "steel"} <= set(learned.words) - learned.names
    assert {"cold-brew", "mentioned"}.isdisjoint(learned.words)  # too rare; without a name
    assert learned.vectors.shape == (len(learned.words), 16)
    assert learned.counts[learned.words.index("rare-word")] == 400
    assert list(learned.counts) == sorted(learned.counts, reverse=True)


def test_names_in_similar_contexts_have_similar_vectors(learned: SkipGramVectors) -> None:
    vectors = SkipGramEncoder(learned).encode(NAMES)
    cosines = vectors @ vectors.T - 2 * np.eye(len(NAMES))
    for name, nearest in zip(NAMES, cosines.argmax(1), strict=True):
        assert (name in DRINKS) == (NAMES[nearest] in DRINKS)


@pytest.mark.slow
def test_one_worker_gives_the_same_vectors_in_every_process(
    corpus: Path, learned: SkipGramVectors
) -> None:
    again = train_skipgram(corpus, NAMES, **SETTINGS)
    other = train_skipgram(corpus, NAMES, seed=1, **SETTINGS)
    assert SkipGramEncoder(again).fingerprint() == SkipGramEncoder(learned).fingerprint()
    assert not np.array_equal(other.vectors, learned.vectors)
    program = (
        "from pathlib import Path; from taxoexpan.features.skipgram_training import *\n"
        "from taxoexpan.features.skipgram_encoder import SkipGramEncoder\n"
        f"learned = train_skipgram(Path({str(corpus)!r}), {NAMES!r}, **{SETTINGS!r})\n"
        "print(SkipGramEncoder(learned).fingerprint())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONHASHSEED": "1"},  # words have other hashes
    )
    assert done.stdout.strip() == SkipGramEncoder(learned).fingerprint()


def test_names_are_joined_in_the_same_way_by_any_number_of_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(parallel, "BLOCK_SIZE", 50)
    lines = [f"Green teas and oat-milk number {n}." + " Green tea" * (n % 3) for n in range(100)]
    path = tmp_path / "a.txt"
    path.write_text("\n".join([*lines, "coffee"]), encoding="utf-8")
    names = ["oat milk", "Green Tea", "espresso", "green tea"]
    expected = "".join(
        f"green_tea and oat_milk number {n}{' green_tea' * (n % 3)}\n" for n in range(100)
    )
    for workers in (1, 2, 3, None):
        assert "".join(join_names(path, names, workers)) == expected


def test_a_corpus_that_is_too_small_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("green tea and soda\n" * 4)
    for names in (["green tea"], ["coffee"]):
        with pytest.raises(FormatError, match="no word occurs 5 times in documents"):
            train_skipgram(path, names)


def test_without_gensim_the_error_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gensim", None)
    monkeypatch.setitem(sys.modules, "gensim.models.word2vec", None)
    with pytest.raises(ConfigurationError, match=r"pip install 'taxoexpan\[corpus\]'"):
        train_skipgram(Path("nowhere.txt"), NAMES)


def test_a_long_document_is_split_and_not_truncated(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("green tea " * 15_000)
    learned = train_skipgram(path, ["green tea"], dimension=2, epochs=1)
    assert (learned.words, list(learned.counts)) == (("green_tea",), [15_000])


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
    with pytest.raises(ModelError, match="only 2 names"):
        fit_space_mapping(linear_vectors(size=2), Letters())
