from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from taxoexpan import TaxoExpan
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.placement.learned.confidence import Calibration, Curve, Reliability
from taxoexpan.report.training_page import (
    PRECISIONS,
    reliability_charts,
    threshold_for,
    training_page,
)
from tests.support.page_reader import (
    CREATED,
    calibrated_model,
    charts_of,
    figures_of,
    food_model,
    table_of,
    text_of,
)


def test_the_page_shows_the_training_and_the_validation() -> None:
    food = calibrated_model()
    page = training_page(food, "A model of foods", CREATED)
    record, figures = food.training, figures_of(page)
    assert figures["Concepts"][0] == 181
    assert figures["Relations"][0] == 181
    assert figures["Epochs"][0] == 1
    hits = f"{100 * record.validation.hit_at_1:.0f}\u00a0%"
    assert figures["Right parent ranked first"] == (hits, "Hit@1")
    assert charts_of(page) == ["Training", "Reliability diagram", "Coverage and precision"]
    setup = text_of(page, "Training setup")
    assert "Preset fast with epochs 1 and validation_fraction 0.4; seed 1; vectors: static" in setup
    assert f"torch {record.versions['torch']}" in setup
    assert text_of(page, "What could not be learned") == ""


def test_a_small_taxonomy_explains_what_could_not_be_learned(model: TaxoExpan) -> None:
    page = training_page(model, "", CREATED)
    missing = text_of(page, "What could not be learned")
    assert "How reliable the confidence is: this needs 30 held-out leaves" in missing
    assert "20 concepts with synonyms" in missing
    assert charts_of(page) == ["Training"]


def test_a_loaded_model_has_no_training_curves(model: TaxoExpan, model_directory: Path) -> None:
    loaded = TaxoExpan.load(model_directory, device="cpu")
    page = training_page(loaded, "", CREATED)
    assert "Training" not in charts_of(page)
    assert figures_of(page) == figures_of(training_page(model, "", CREATED))


UNCHANGED = Curve("platt", (), (1.0, 0.0))


def calibrated(right: list[bool]) -> Calibrators:
    """Return calibrators for queries in the order of falling confidence."""
    confidences = np.linspace(0.99, 0.01, len(right))
    reliability = Reliability.of(confidences, np.array(right))
    return Calibrators(Calibration(1.0, UNCHANGED, UNCHANGED, reliability))


def test_the_highest_precision_that_is_reached_is_marked() -> None:
    _, coverage = reliability_charts(calibrated([True] * 100 + [False] * 100))
    assert "A confidence of at least" in coverage.chart.caption
    _, coverage = reliability_charts(calibrated([True, False] * 60))
    assert "No threshold reaches 70\u00a0% precision" in coverage.chart.caption


def test_the_reliability_diagram_shows_the_calibration_error() -> None:
    calibrators = calibrated([True] * 100 + [False] * 100)
    assert calibrators.calibration is not None
    diagram, _ = reliability_charts(calibrators)
    error = calibrators.calibration.reliability.error
    expected = f"Expected calibration error: {error:.3f} over 200 concepts."
    assert diagram.chart.caption.startswith(expected)


@pytest.mark.slow
def test_thresholds_reach_the_target_precision() -> None:
    food = food_model()
    assert food.calibrators.calibration is not None
    reliability = food.calibrators.calibration.reliability
    page = training_page(food, "", CREATED)
    rows = [row.cells for row in table_of(page, "Confidence thresholds").rows]
    assert len(rows) == len(PRECISIONS)
    for precision, (name, *numbers) in zip(PRECISIONS, rows, strict=True):
        assert name == f"{100 * precision:.0f}\u00a0%"
        minimum = reliability.threshold(precision)
        if minimum is None:
            assert numbers == [None] * 3
            continue
        pairs = zip(reliability.confidence, reliability.right, strict=True)
        accepted = [right for confidence, right in pairs if confidence >= minimum]
        expected = [minimum, len(accepted) / len(reliability.right), np.mean(accepted)]
        assert numbers == pytest.approx(expected)
        assert numbers[2] >= precision
    perfect = calibrated([True] * 300).calibration
    assert perfect is not None
    found = threshold_for(perfect.reliability, 0.95)
    assert found is not None
    assert (found.coverage, found.precision) == (1.0, 1.0)
