from __future__ import annotations

import numpy as np
import pytest
from page_reader import CREATED, food_model, table_of

from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.placement.learned.confidence import Calibration, Curve, Reliability
from taxoexpan.report import training_page
from taxoexpan.report.reliability import PRECISIONS, reliability_charts, threshold_for

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
    assert coverage.chart.caption == (
        "Each point is a possible confidence threshold. No threshold reaches 70\u00a0% precision "
        "reliably on these leaves."
    )


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
