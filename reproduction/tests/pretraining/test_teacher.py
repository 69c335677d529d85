"""Tests of the training of a teacher: its encoders, batches, and what it stores."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest
import torch
from tokenizers import Tokenizer
from tokenizers.models import WordLevel
from tokenizers.pre_tokenizers import Whitespace

from reproduction.pretraining import teacher
from reproduction.pretraining.batches import VocabularyTexts, draw_epoch, read_texts
from reproduction.pretraining.encoders import (
    ARCHITECTURES,
    Encoder,
    EncoderTokenizer,
    load_encoder,
    save_encoder,
)
from reproduction.pretraining.low_rank import low_rank_difference
from taxoexpan.device import CPU
from taxoexpan.features.layers import Size
from taxoexpan.features.low_rank import with_difference
from taxoexpan.network.text_tower import anchor_texts, query_text
from taxoexpan.training.tower import TowerBatch

WORDS = (
    "science", "physics", "chemistry", "optics", "state", "defence", "health", "reaction", "kind",
    "of", "a", "<", ":",
)  # fmt: skip
TEXTS = ["optics", "physics < science : a kind of science", "state"]


def tokenizer() -> Tokenizer:
    """A tokenizer of a few words."""
    result = Tokenizer(WordLevel({word: i for i, word in enumerate(["?", *WORDS])}, unk_token="?"))
    result.pre_tokenizer = Whitespace()
    return result


def encoder(architecture: str) -> Encoder:
    """A small random encoder."""
    torch.manual_seed(0)
    size = Size(tokens=16, dimension=64, inner=128, layers=2, heads=2, epsilon=1e-5)
    model = ARCHITECTURES[architecture](size, tokenizer()).eval()
    for weight in model.parameters():
        torch.nn.init.normal_(weight, std=0.3)
    return model


@pytest.fixture
def texts(vocabularies: Path) -> list[VocabularyTexts]:
    """The tokenized vocabularies."""
    return read_texts(vocabularies, EncoderTokenizer(tokenizer()), set(), 1, CPU)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_padding_does_not_change_a_vector(architecture: str) -> None:
    model = encoder(architecture)
    with torch.no_grad():
        together = model.encode(TEXTS)
        alone = torch.cat([model.encode([text]) for text in TEXTS])
    assert torch.allclose(together, alone, atol=1e-5)


@pytest.mark.parametrize("architecture", ARCHITECTURES)
def test_the_order_of_words_changes_a_vector(architecture: str) -> None:
    first, second = encoder(architecture).encode(["state of health", "health of state"])
    assert not torch.allclose(first, second, atol=1e-4)


def test_a_stored_encoder_has_nearly_the_same_vectors(tmp_path: Path) -> None:
    model = encoder("mpnet")
    save_encoder(model, tmp_path, part_size=50_000)
    assert len(list(tmp_path.glob("part-*"))) > 1
    loaded = load_encoder(tmp_path)
    assert (model.encode(TEXTS) * loaded.encode(TEXTS)).sum(1).min() > 0.999


def test_a_batch_has_the_vectors_of_its_texts(texts: list[VocabularyTexts]) -> None:
    model = encoder("nomic")
    (source,) = (each for each in texts if each.vocabulary.name == "arxiv")
    concepts = np.array([3, 0, 2])
    rows = np.concatenate(
        [source.query_rows(concepts, defined=True), source.anchor_rows(concepts, defined=True)]
    )
    with torch.no_grad():
        queries, anchors = source.table.encode(model, rows).split(3)
    own = [query_text(source.taxonomy.concepts[index]) for index in concepts.tolist()]
    assert torch.allclose(queries, model.encode(own), atol=1e-5)
    written = [anchor_texts(source.taxonomy)[index] for index in concepts.tolist()]
    assert torch.allclose(anchors, model.encode(written), atol=1e-5)


def test_a_batch_blocks_what_the_fine_tuning_of_the_package_blocks(
    texts: list[VocabularyTexts],
) -> None:
    for source in texts:
        relations = np.arange(len(source.children))[::-1].copy()
        others = np.arange(0, len(source.taxonomy), 2)
        ours = source.batch(relations, others)
        pairs = source.children[relations], source.parents[relations]
        theirs = TowerBatch.of(source.taxonomy, *pairs, others, CPU)
        assert np.array_equal(ours.anchors, theirs.anchors)
        assert torch.equal(ours.positives, theirs.positives)
        assert torch.equal(ours.blocked, theirs.blocked)


def test_every_relation_is_in_one_batch_of_an_epoch(texts: list[VocabularyTexts]) -> None:
    nearest = [each.nearest_anchors(encoder("nomic")) for each in texts]
    drawn = list(draw_epoch(texts, nearest, 0.5, np.random.default_rng(0)))
    assert sorted(each.vocabulary for each in drawn) == list(range(len(texts)))
    for each in drawn:
        assert sorted(each.relations) == list(range(len(texts[each.vocabulary].children)))
        assert len(each.others) == len(each.relations)


def test_a_difference_of_low_rank_is_restored() -> None:
    start = {"matrix": torch.randn(40, 60), "vector": torch.randn(40)}
    change = torch.randn(40, 2) @ torch.randn(2, 60)
    trained = {"matrix": start["matrix"] + change, "vector": start["vector"] + 0.1}
    rank, difference = low_rank_difference(start, trained, max_bytes=100_900)
    assert rank == 4  # 2 bytes times 4 times 40 + 60 rows and columns
    restored = with_difference(start, difference)
    assert all(torch.allclose(restored[name], trained[name], atol=0.02) for name in start)


def test_a_teacher_learns_and_is_stored_with_its_difference(
    vocabularies: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    base, output = tmp_path / "base", tmp_path / "teacher"
    save_encoder(encoder("mpnet"), base)
    arguments = [str(vocabularies), "-o", str(output), "--base", str(base), "--without", "matter"]
    options = ["--steps", "5", "--measure-every", "3", "--processes", "1"]
    options += ["--learning-rate", "0.001"]  # so that five steps change much more than rounding
    monkeypatch.setattr(sys, "argv", ["teacher", *arguments, *options])
    teacher.main()
    rows = json.loads((output / "figures.json").read_text(encoding="utf-8"))["figures"]
    assert [row["after"] for row in rows[:6]] == [0, 0, 3, 3, 5, 5]
    assert rows[6]["after"].startswith("difference of rank")
    assert all(row["vocabularies"].keys() == {"rxno"} for row in rows)
    before, after = (load_encoder(folder).encode(TEXTS) for folder in (base, output / "encoder"))
    assert not torch.allclose(before, after, atol=1e-3)
    assert (output / "difference.safetensors").stat().st_size < 10_000_000
