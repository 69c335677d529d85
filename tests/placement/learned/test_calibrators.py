from __future__ import annotations

import pytest
from builders import star

from taxoexpan.config import load_preset
from taxoexpan.placement.learned.calibrators import MissingConfidence
from taxoexpan.placement.learned.confidence import MIN_HELD_OUT
from taxoexpan.training.holdout import HOLDOUTS


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
    taxonomy, config = star(leaves), load_preset("fast", **changes)
    missing = MissingConfidence.find(taxonomy, config)
    assert missing is not None
    assert missing.settings == settings
    assert missing.leaves == leaves
    held = HOLDOUTS[config.validation](
        taxonomy, config.validation_fraction, config.max_validation_leaves, 0
    )
    assert missing.held_out == len(held.concepts) < MIN_HELD_OUT
    if settings:
        advised = {name: float(value) for name, value in (s.split("=") for s in settings)}
        enough = config.model_copy(update=advised)
        assert MissingConfidence.find(taxonomy, enough) is None


def test_with_enough_held_out_leaves_nothing_is_missing() -> None:
    assert MissingConfidence.find(star(150), load_preset("fast")) is None


def test_the_sentence_has_the_reason_and_the_remedy() -> None:
    few = MissingConfidence(60, 12, ("validation_fraction=0.5", "max_validation_leaves=30"))
    assert few.sentence() == (
        "no confidence can be learned from 12 held-out leaves; it takes 30, so train with the "
        "settings validation_fraction=0.5 and max_validation_leaves=30"
    )
    assert MissingConfidence(9, 1, ()).sentence() == (
        "no confidence can be learned from 1 held-out leaf; it takes 30, too many for a taxonomy "
        "with 9 leaves"
    )
