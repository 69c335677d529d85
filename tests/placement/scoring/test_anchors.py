from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from taxoexpan import read_taxonomy
from taxoexpan.features.transformer.transformer_encoder import TransformerEncoder
from taxoexpan.network.text_tower import TextMaps, TextTower
from taxoexpan.placement.scoring.anchors import AnchorTexts
from tests.support.fused_cases import fused_case


def test_texts_of_selected_anchors_are_rows_of_all() -> None:
    ranker, queries = fused_case(8)
    texts, rows = ranker.anchors.texts, np.array([3, 3, 0, 20])
    assert texts is not None
    selected = texts.select(rows)
    assert texts.tower is not None
    assert selected.tower is not None
    for chosen, known in zip(selected.tower, texts.tower, strict=True):
        assert torch.equal(chosen, known[rows])
    asked = texts.words.of_queries(queries.concepts)
    np.testing.assert_array_equal(
        selected.words.compare(asked, 0, 4), texts.words.compare(asked, 0, 30)[:, rows]
    )
    wordless = AnchorTexts(texts.words).select(rows)
    assert wordless.tower is None
    assert len(wordless.words) == 4


def test_the_texts_of_a_taxonomy_are_encoded_as_anchors_and_as_queries(
    pantry: Path, tiny_transformer: Path
) -> None:
    taxonomy = read_taxonomy(pantry)
    encoder, generator = TransformerEncoder(str(tiny_transformer)), torch.Generator().manual_seed(0)
    matrices = torch.randn(3, 16, 16, generator=generator)
    maps = TextMaps(*matrices, tuple(map(str, range(16))))
    tower = TextTower(encoder, torch.device("cpu"), maps=maps)
    texts = AnchorTexts.of(taxonomy, tower)
    assert texts.tower is not None
    assert torch.equal(texts.tower[0], tower.encode_anchors(taxonomy))
    assert torch.equal(texts.tower[1], tower.encode_queries(taxonomy.labels))
    assert AnchorTexts.of(taxonomy, None).tower is None
