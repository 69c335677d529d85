from __future__ import annotations

import json

from calibration_data import drawn_scores

from taxoexpan.placement.learned.calibration import calibrate
from taxoexpan.placement.learned.calibrators import Calibrators


def stored(leaf_bonus: float = 0.0) -> dict[str, object]:
    learned = Calibrators(calibrate(drawn_scores(1, 60, 1.0)), leaf_bonus=leaf_bonus)
    fields: dict[str, object] = json.loads(json.dumps(learned.as_dict()))
    assert Calibrators.from_dict(fields) == learned
    return fields


def test_calibrators_are_restored_from_json() -> None:
    assert Calibrators.from_dict(stored(leaf_bonus=1.5)).leaf_bonus == 1.5


def test_a_stored_calibration_that_changes_no_score_gives_no_confidence() -> None:
    """Older models have such a calibration, with the leaf bonus in it."""
    fields = stored()
    del fields["leaf_bonus"]
    calibration = fields["calibration"]
    assert isinstance(calibration, dict)
    calibration |= {"first": {"kind": "none", "xs": [], "ys": [1.0, 0.0]}, "leaf_bonus": 0.5}
    restored = Calibrators.from_dict(fields)
    assert restored.calibration is None
    assert restored.leaf_bonus == 0.5


def test_an_older_model_without_a_calibration_has_no_leaf_bonus() -> None:
    fields = stored() | {"calibration": None}
    del fields["leaf_bonus"]
    assert Calibrators.from_dict(fields) == Calibrators()
