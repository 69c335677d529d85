"""Tests of the run that trains all teachers and students."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from tokenizers import BertWordPieceTokenizer, Tokenizer

from reproduction.pretraining.encoders import ARCHITECTURES, save_encoder
from taxoexpan.features.layers import Size
from taxoexpan.features.minilm import MiniLM, load_minilm, quantize
from taxoexpan.features.pretrained import FOLDER, VOCABULARY, WEIGHTS


@pytest.fixture
def bases(tmp_path: Path) -> Path:
    """Small encoders in place of the published ones."""
    words = BertWordPieceTokenizer(str(FOLDER / VOCABULARY), lowercase=True)
    torch.manual_seed(0)
    for name, architecture in ARCHITECTURES.items():
        size = Size(tokens=30_522, dimension=64, inner=64, layers=1, heads=2, epsilon=1e-5)
        model = architecture(size, Tokenizer.from_str(words.to_str()))
        for weight in model.parameters():
            torch.nn.init.normal_(weight, std=0.3)
        save_encoder(model, tmp_path / name)
    whole = load_minilm(FOLDER).state_dict()
    for name in ("bge", "minilm"):
        small = MiniLM(FOLDER / VOCABULARY, layers=1)
        small.load_state_dict(whole, strict=False)
        weights = quantize(small.state_dict())
        (tmp_path / name).mkdir()
        (tmp_path / name / VOCABULARY).write_bytes((FOLDER / VOCABULARY).read_bytes())
        save_file({n: each.contiguous() for n, each in weights.items()}, tmp_path / name / WEIGHTS)
    return tmp_path


def run_pipeline(vocabularies: Path, bases: Path, *more: str) -> subprocess.CompletedProcess[str]:
    """Train for seconds, with a few phrases."""
    phrases = bases / "phrases.txt.gz"
    with gzip.open(phrases, "wt", encoding="utf-8") as file:
        file.writelines(f"phrase number {number}\n" for number in range(50))
    command = [sys.executable, "-m", "reproduction.pretraining.pipeline", str(vocabularies)]
    command += ["--bases", str(bases), "--phrases", str(phrases), "-o", str(bases / "out")]
    command += ["--teacher-steps", "1", "--seconds", "0.1", "--fold-seconds", "0.1"]
    command += ["--processes", "2", *more]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


@pytest.mark.slow
def test_one_run_trains_the_student_and_measures_a_fold(vocabularies: Path, bases: Path) -> None:
    done = run_pipeline(vocabularies, bases, "--folds", "fold-1")
    assert not done.returncode, done.stderr
    out = bases / "out"
    for name in ("student", "fold-1"):
        vector = load_minilm(out / name).encode(["optics"])
        assert vector.norm().item() == pytest.approx(1, abs=1e-4)
    figures = json.loads((out / "fold-1" / "figures.json").read_text(encoding="utf-8"))["figures"]
    names = [(row["after"], row["composed"]) for row in figures]
    assert names == [
        ("fold-1", False), ("fold-1", True), ("mpnet", False), ("nomic", False),
        ("mean of both", False),
    ]  # fmt: skip
    assert {name for row in figures for name in row["vocabularies"]} == {"rxno"}
    assert (out / "fold-1-before" / "figures.json").exists()


@pytest.mark.slow
def test_a_failed_training_ends_the_run(vocabularies: Path, bases: Path) -> None:
    (bases / "nomic" / "part-00").write_bytes(b"no weights")
    done = run_pipeline(vocabularies, bases, "--folds")
    assert done.returncode == 1
    assert "student-nomic failed" in done.stderr
    assert not (bases / "out" / "student").exists()
