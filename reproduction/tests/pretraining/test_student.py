"""Tests of the distillation: what a student imitates, and that its result is an encoder."""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path

import pytest
import torch
from safetensors.torch import save_file
from tokenizers import BertWordPieceTokenizer, Tokenizer
from torch.nn import functional as F

from reproduction.pretraining import student
from reproduction.pretraining.encoders import ARCHITECTURES, save_encoder
from reproduction.pretraining.start import evenly_spaced, layers_of, renamed
from taxoexpan.features.layers import Size
from taxoexpan.features.minilm import MiniLM, load_minilm, quantize
from taxoexpan.features.pretrained import FOLDER, VOCABULARY, WEIGHTS

PHRASES = ["a state of matter", "chemistry of the state", "a public hospital", "acoustic guitar"]


@pytest.fixture
def teacher(tmp_path: Path) -> Path:
    """A small random teacher with the tokens of the package's encoder."""
    words = BertWordPieceTokenizer(str(FOLDER / VOCABULARY), lowercase=True)
    torch.manual_seed(0)
    size = Size(tokens=30_522, dimension=64, inner=64, layers=1, heads=2, epsilon=1e-5)
    model = ARCHITECTURES["mpnet"](size, Tokenizer.from_str(words.to_str())).eval()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    save_encoder(model, tmp_path / "teacher")
    return tmp_path / "teacher"


def test_a_student_imitates_its_teachers(
    vocabularies: Path, teacher: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    phrases = tmp_path / "phrases.txt.gz"
    with gzip.open(phrases, "wt", encoding="utf-8") as file:
        file.write("\n".join([*PHRASES, "", "an opera"]))
    output = tmp_path / "student"
    arguments = [str(vocabularies), "-o", str(output), "--start", str(FOLDER)]
    arguments += ["--teacher", str(teacher), "--teacher", str(teacher)]
    arguments += ["--phrases", str(phrases), "--steps", "8", "--without", "matter"]
    monkeypatch.setattr(sys, "argv", ["student", *arguments])
    monkeypatch.setattr(student, "PHRASES", 8)
    monkeypatch.setattr(student, "LOGGED", 2)
    student.main()
    trained = load_minilm(output).encode(PHRASES)
    assert torch.allclose(trained.norm(dim=1), torch.ones(4), atol=1e-5)
    rows = json.loads((output / "figures.json").read_text(encoding="utf-8"))["figures"]
    assert [(row["after"], row["composed"]) for row in rows] == [
        (0, False), (0, True), (8, False), (8, True)
    ]  # fmt: skip
    wanted = student.load_encoder(teacher).encode(PHRASES)
    before = load_minilm(FOLDER).encode(PHRASES)
    distances = [
        student.divergence(vectors @ vectors.T, wanted @ wanted.T) for vectors in (before, trained)
    ]
    assert distances[1] < distances[0]


def test_the_cosine_to_several_teachers_is_the_mean_of_their_cosines() -> None:
    first = F.normalize(torch.randn(5, 8), dim=1)
    second = F.normalize(torch.randn(5, 6), dim=1)
    together = student.joined([first, second])
    mean = (first @ first.T + second @ second.T) / 2
    assert torch.allclose(together @ together.T, mean, atol=1e-6)


def test_a_divergence_is_zero_only_for_equal_distributions() -> None:
    cosines = torch.rand(4, 6)
    assert student.divergence(cosines, cosines).abs() < 1e-6
    assert student.divergence(cosines, cosines.flip(1)) > 0.01


def test_a_start_may_have_fewer_layers_than_the_published_model(tmp_path: Path) -> None:
    published = MiniLM(FOLDER / VOCABULARY).state_dict()
    shapes = {"attend": "qkv", "join": "attention.output.dense"}
    shapes |= {"attended": "attention.output.LayerNorm", "widen": "intermediate.dense"}
    shapes |= {"narrow": "output.dense", "transformed": "output.LayerNorm"}
    bert = {
        "embeddings.word_embeddings.weight": published["tokens.weight"].clone(),
        "embeddings.position_embeddings.weight": published["positions"].clone(),
        "embeddings.token_type_embeddings.weight": torch.zeros(2, published["positions"].shape[1]),
    }
    for kind in ("weight", "bias"):
        bert[f"embeddings.LayerNorm.{kind}"] = published[f"norm.{kind}"]
        for layer in range(4):
            for ours, theirs in shapes.items():
                like = published[f"layers.0.{ours}.{kind}"]
                bert[f"encoder.layer.{layer}.{theirs}.{kind}"] = torch.full_like(like, layer)
    chosen = evenly_spaced(layers_of(bert), 2)
    assert chosen == [1, 3]
    weights = quantize(renamed(bert, chosen))
    save_file({name: each.contiguous() for name, each in weights.items()}, tmp_path / WEIGHTS)
    (tmp_path / VOCABULARY).write_bytes((FOLDER / VOCABULARY).read_bytes())
    loaded = load_minilm(tmp_path)
    assert [float(layer.join.bias.detach()[0]) for layer in loaded.layers] == [1.0, 3.0]
