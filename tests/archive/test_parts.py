from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from taxoexpan.archive.parts import read_calibrators
from taxoexpan.model_directory import TAXONOMY, WEIGHTS, FileEntry, IntactDirectory, Manifest
from taxoexpan.placement.learned.abstention import AbstentionModel
from taxoexpan.placement.learned.calibration import calibrate
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.placement.learned.new_parent_prior import NewParentPrior
from taxoexpan.placement.learned.priors import read_prior
from tests.support.calibration_data import drawn_scores

LEARNED = Calibrators(
    calibrate(drawn_scores(1, 60, 1.0)),
    AbstentionModel((1.0,) * 2, (2.0,) * 2, 0.5),
    (1.0, 2.0, 3.0),
    read_prior(has_network=True, has_tower=True).fusion.mean,
    (NewParentPrior((0.5, 1.5, -1.0), 0.25),),
)


def read(folder: Path, fields: dict[str, Any]) -> Calibrators:
    entries = dict.fromkeys((WEIGHTS, TAXONOMY), FileEntry(bytes=1, sha256="0" * 64))
    directory = IntactDirectory(folder, Manifest(files=entries), {})
    content = json.dumps({"model": directory.identity, **fields})
    (folder / "calibration.json").write_text(content)
    return read_calibrators(directory)


@pytest.mark.parametrize("learned", [LEARNED, Calibrators()])
def test_calibrators_are_restored(tmp_path: Path, learned: Calibrators) -> None:
    restored = read(tmp_path, learned.as_dict())
    assert restored.as_dict() == learned.as_dict()
    assert restored.calibration == learned.calibration
    assert restored.fusion == learned.fusion


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("model", "other"),
        ("more", 1),
        ("duplicates", [1.0, 2.0, "3"]),
        ("duplicates", [1.0, 2.0]),
        ("fusion", {"network": 1.0}),
        ("joint_priors", [{"weights": [1.0, 2.0, 3.0], "rate": 1.5}]),
        ("abstention.center", [1.0] * 3),
        ("abstention.scale", [0.0] * 2),
        ("calibration.temperature", "warm"),
        ("calibration.first.kind", 1),
        ("calibration.reliability.right", [2]),
    ],
)
def test_other_calibrators_are_refused(tmp_path: Path, place: str, value: object) -> None:
    fields = json.loads(json.dumps(LEARNED.as_dict()))
    *parents, name = place.split(".")
    inner = fields
    for parent in parents:
        inner = inner[parent]
    inner[name] = value
    with pytest.raises(ValueError, match=r"calibration\.json"):
        read(tmp_path, fields)
