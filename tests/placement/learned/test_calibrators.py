from __future__ import annotations

import pytest

from taxoexpan.config import load_preset
from taxoexpan.errors import ConfigurationError
from taxoexpan.placement.learned.calibrators import (
    Calibrators,
    confidence_threshold,
    missing_confidence,
    refuse_missing_confidence,
)
from taxoexpan.placement.learned.confidence import Calibration, Curve, Reliability
from taxoexpan.thresholds import MIN_FOR_CONFIDENCE
from taxoexpan.training.holdout import HOLDOUTS
from tests.support.builders import star


@pytest.mark.parametrize(
    ("leaves", "changes", "settings"),
    [
        (60, {}, ("validation_fraction=0.5",)),
        (129, {}, ("validation_fraction=0.24",)),
        (200, {"validation_fraction": 0.05}, ("validation_fraction=0.15",)),
        (200, {"max_validation_leaves": 5}, ("max_validation_leaves=30",)),
        (
            129,
            {"max_validation_leaves": 5},
            ("validation_fraction=0.24", "max_validation_leaves=30"),
        ),
        (59, {}, ()),
        (2, {}, ()),
    ],
)
def test_the_advised_settings_hold_out_enough_leaves(
    leaves: int, changes: dict[str, float], settings: tuple[str, ...]
) -> None:
    taxonomy, config = star(leaves), load_preset("best", learn_fusion=False, **changes)
    missing = missing_confidence(taxonomy, config)
    assert missing.endswith(
        f" train with the setting{'s' * (len(settings) > 1)} {' and '.join(settings)}"
        if settings
        else f", too many for a taxonomy with {leaves} leaves"
    )
    held = HOLDOUTS[config.validation](
        taxonomy, config.validation_fraction, config.max_validation_leaves, 0
    )
    assert f"from {len(held.concepts)} held-out lea" in missing
    assert len(held.concepts) < MIN_FOR_CONFIDENCE
    if settings:
        advised = {name: float(value) for name, value in (s.split("=") for s in settings)}
        assert not missing_confidence(taxonomy, config.model_copy(update=advised))


def test_with_enough_held_out_leaves_nothing_is_missing() -> None:
    assert not missing_confidence(star(150), load_preset("best", learn_fusion=False))


def test_the_learned_fusion_needs_thirty_concepts() -> None:
    config = load_preset("fast")
    assert not missing_confidence(star(29), config)
    assert "30" in missing_confidence(star(28), config)
    with pytest.raises(ConfigurationError, match="29 concepts"):
        refuse_missing_confidence(star(28), config)


def test_a_threshold_must_be_learned_and_must_reach_the_precision() -> None:
    with pytest.raises(ConfigurationError, match="no confidence"):
        confidence_threshold(Calibrators(), 0.5)
    curve = Curve("isotonic", (0.0,), (0.5,))
    reliability = Reliability((0.9,) * 50 + (0.1,) * 50, (True,) * 50 + (False,) * 50)
    calibrators = Calibrators(Calibration(1.0, curve, curve, reliability))
    assert confidence_threshold(calibrators, 0.8) == 0.9
    with pytest.raises(ConfigurationError, match="100% precision"):
        confidence_threshold(calibrators, 1.0)
