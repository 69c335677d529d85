from __future__ import annotations

from pathlib import Path

from page_reader import CREATED, charts_of, figures_of, food_model, text_of

from taxoexpan import TaxoExpan
from taxoexpan.report import training_page


def test_the_page_shows_the_training_and_the_validation() -> None:
    food = food_model()
    page = training_page(food, "A model of foods", CREATED)
    record, figures = food.training, figures_of(page)
    assert figures["Concepts"][0] == 2432
    assert figures["Relations"][0] == 2465
    assert figures["Epochs"][0] == 1
    hits = f"{100 * record.validation.hit_at_1:.0f}\u00a0%"
    assert figures["Right parent ranked first"] == (hits, "Hit@1")
    assert charts_of(page) == ["Training", "Reliability diagram", "Coverage and precision"]
    setup = text_of(page, "Training setup")
    assert "Preset fast with epochs 1; seed 1; vectors: static" in setup
    assert f"torch {record.versions['torch']}" in setup
    assert text_of(page, "What could not be learned") == ""


def test_a_small_taxonomy_explains_what_could_not_be_learned(model: TaxoExpan) -> None:
    page = training_page(model, "", CREATED)
    missing = text_of(page, "What could not be learned")
    leaves = model.training.validation.queries
    reason = f"no confidence can be learned from {leaves} held-out leaves; it takes 30, so train"
    assert f"Confidence: {reason} with validation_fraction=0.38. " in missing
    assert "20 concepts with synonyms" in missing
    assert charts_of(page) == ["Training"]


def test_a_loaded_model_has_no_training_curves(model: TaxoExpan, model_directory: Path) -> None:
    loaded = TaxoExpan.load(model_directory, device="cpu")
    page = training_page(loaded, "", CREATED)
    assert charts_of(page) == []
    assert figures_of(page) == figures_of(training_page(model, "", CREATED))
