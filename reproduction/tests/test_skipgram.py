from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from reproduction.skipgram import (
    SkipGramVectors,
    join_names,
    main,
    train_skipgram,
    word2vec_text,
)
from taxoexpan.errors import FormatError
from taxoexpan.features.corpus import parallel
from taxoexpan.features.word_vectors import WordVectorEncoder

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
    assert {"green_tea", "claw_hammer", "soda", "cup", "steel"} <= {*learned.words}
    assert {"cold-brew", "mentioned"}.isdisjoint(learned.words)  # too rare; without a name
    assert learned.words[0] == "rare-word"
    assert learned.vectors.shape == (len(learned.words), 16)


def test_names_in_similar_contexts_have_similar_vectors(
    learned: SkipGramVectors, tmp_path: Path
) -> None:
    path = tmp_path / "names.vec"
    path.write_text(word2vec_text(learned, NAMES), encoding="utf-8")
    vectors = WordVectorEncoder(path).encode(NAMES)
    cosines = vectors @ vectors.T - 2 * np.eye(len(NAMES))
    for name, nearest in zip(NAMES, cosines.argmax(1), strict=True):
        assert (name in DRINKS) == (NAMES[nearest] in DRINKS)


@pytest.mark.slow
def test_one_worker_gives_the_same_vectors_in_every_process(
    corpus: Path, learned: SkipGramVectors
) -> None:
    again = train_skipgram(corpus, NAMES, **SETTINGS)
    other = train_skipgram(corpus, NAMES, seed=1, **SETTINGS)
    expected = word2vec_text(learned, NAMES)
    assert word2vec_text(again, NAMES) == expected
    assert not np.array_equal(other.vectors, learned.vectors)
    program = (
        "from reproduction.skipgram import *\n"
        f"learned = train_skipgram(Path({str(corpus)!r}), {NAMES!r}, **{SETTINGS!r})\n"
        f"print(word2vec_text(learned, {NAMES!r}), end='')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        cwd=Path(__file__).parents[2],
        env={**os.environ, "PYTHONHASHSEED": "1"},  # words have other hashes
    )
    assert done.stdout == expected


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


def test_a_long_document_is_split_and_not_truncated(tmp_path: Path) -> None:
    path = tmp_path / "a.txt"
    path.write_text("green tea " * 15_000)
    learned = train_skipgram(path, ["green tea"], dimension=2, epochs=1)
    assert learned.words == ("green_tea",)


def test_a_name_is_found_in_the_file_however_it_is_spelled(tmp_path: Path) -> None:
    texts, names = tmp_path / "texts.txt", tmp_path / "drinks.csv"
    texts.write_text("a cold brew and a Half-and-Half\n" * 5, encoding="utf-8")
    names.write_text("child,parent\nCold-Brew,drink\nHalf and half,drink\n", encoding="utf-8")
    new, output = tmp_path / "new.txt", tmp_path / "drinks.vec"
    new.write_text("half-and-half\n", encoding="utf-8")
    main([str(texts), str(names), str(new), "-o", str(output)])
    brew, half, same = WordVectorEncoder(output).encode(
        ["Cold-Brew", "Half and half", "half-AND-half"]
    )
    assert np.array_equal(half, same)
    assert brew.any()
    assert not np.array_equal(brew, half)
