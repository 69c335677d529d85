from __future__ import annotations

from pathlib import Path

import pytest
import torch
from torch import Tensor

from taxoexpan import Taxonomy, read_taxonomy
from taxoexpan.config import load_preset
from taxoexpan.features.encoder_registry import make_encoder
from taxoexpan.features.minilm import MiniLM
from taxoexpan.network.text_tower import EncodedTexts, TextMaps, anchor_texts, vocabulary_of
from taxoexpan.placement.fitting import session
from taxoexpan.placement.fitting.preparation import PreparedTaxonomy, prepare_taxonomy
from taxoexpan.placement.fitting.session import FittingOutputs, fit_parts, fit_tower
from taxoexpan.placement.scoring.anchors import Embedder
from tests.support.small_models import SMALL


def prepared(
    pantry: Path, features: str, **settings: object
) -> tuple[Taxonomy, PreparedTaxonomy, Embedder]:
    whole = read_taxonomy(pantry)
    changes = {**SMALL, "validation_fraction": 0.5, "features": features, **settings}
    embedder = Embedder(
        make_encoder(features, device="cpu"), load_preset("best", **changes), torch.device("cpu")
    )
    return whole, prepare_taxonomy(whole, embedder, seed=0), embedder


def test_maps_are_learned_from_the_remaining_concepts_only(
    pantry: Path, tiny_transformer: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[tuple[EncodedTexts, EncodedTexts, TextMaps, Taxonomy]] = []

    def keep(
        queries: EncodedTexts,
        anchors: EncodedTexts,
        start: TextMaps,
        taxonomy: Taxonomy,
        *_: object,
    ) -> TextMaps | None:
        seen.append((queries, anchors, start, taxonomy))
        return None

    monkeypatch.setattr(session, "learn_maps", keep)
    whole, each, embedder = prepared(pantry, f"static+transformer:{tiny_transformer}")
    fitted = fit_tower(each, embedder, 0)
    held_out = {concept.id for concept in each.holdout.concepts}
    rest = Taxonomy(
        [concept for concept in whole.concepts if concept.id not in held_out],
        [pair for pair in whole.relations if not held_out & {*pair}],
    )
    assert len(held_out) == 40
    assert fitted is not None
    tower, history = fitted
    assert (tower.tuned, tower.maps, history) == (None, None, None)
    ((queries, anchors, start, taxonomy),) = seen
    assert taxonomy == rest
    assert torch.equal(queries.vectors, tower.encode(rest.labels))
    assert torch.equal(anchors.vectors, tower.encode(anchor_texts(rest)))
    assert start.vocabulary == vocabulary_of([*rest.labels, *anchor_texts(rest)])


@pytest.mark.parametrize(("tower_epochs", "map_epochs"), [(0, 0), (0, 1), (1, 0), (1, 1)], ids=str)
def test_the_tower_learns_as_the_settings_say(
    pantry: Path,
    tiny_transformer: Path,
    monkeypatch: pytest.MonkeyPatch,
    tower_epochs: int,
    map_epochs: int,
) -> None:
    maps = TextMaps.unchanged(("tea",), 16, torch.device("cpu"))
    monkeypatch.setattr(session, "learn_maps", lambda *_: maps)
    settings = {"tower_epochs": tower_epochs, "map_epochs": map_epochs}
    _, each, embedder = prepared(pantry, f"static+transformer:{tiny_transformer}", **settings)
    fitted = fit_tower(each, embedder, 0)
    assert fitted is not None
    tower, history = fitted
    assert tower.encoder is embedder.encoder.part_with_model()
    assert (tower.tuned is None, history is None) == (not tower_epochs, not tower_epochs)
    assert tower.maps is (maps if map_epochs else None)
    idle = fit_tower(each, embedder, 0, learns=False)
    assert idle is not None
    assert idle[0].weights() == {}


@pytest.mark.parametrize("cached", [True, False])
def test_the_frozen_layers_read_each_text_of_a_training_once(
    pantry: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cached: bool
) -> None:
    monkeypatch.setenv("TAXOEXPAN_CACHE", str(tmp_path) if cached else "")
    read: list[tuple[int, ...]] = []
    embed = MiniLM.embed

    def note(model: MiniLM, ids: Tensor) -> Tensor:
        read.extend(tuple(filter(None, row)) for row in ids.tolist())
        return embed(model, ids)

    monkeypatch.setattr(MiniLM, "embed", note)
    settings = {"tower_epochs": 1, "tuned_layers": 1, "map_epochs": 1, "epochs": 1}
    whole, each, embedder = prepared(pantry, "pretrained", **settings)
    parts = fit_parts(each, embedder, 0, FittingOutputs())
    # Both texts of a concept; those of the root are the same, and head words are labels.
    assert len(read) == len({*read}) == 2 * len(whole) - 1
    assert parts.tower is not None
    assert isinstance(parts.tower.tuned, MiniLM)
    assert len(parts.tower.tuned.kept) == 0


def test_an_encoder_without_a_sentence_model_has_no_tower(pantry: Path) -> None:
    _, each, embedder = prepared(pantry, "static")
    assert fit_tower(each, embedder, 0) is None
