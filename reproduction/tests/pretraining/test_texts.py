"""Tests of the texts of the pre-training."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from reproduction.pretraining.token_table import TokenTable
from reproduction.pretraining.vocabularies import DOMAINS, read_excluded, read_vocabularies
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
        vectors = table.encode(model, np.array([2, 0, 1]))
    assert torch.allclose(vectors, model.encode([texts[2], texts[0], texts[1]]), atol=1e-5)
