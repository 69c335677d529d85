"""What a model knows of how far it can be trusted, as it is kept with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from taxoexpan.placement.abstention import AbstentionModel
from taxoexpan.placement.confidence import Calibration


@dataclass(frozen=True)
class Calibrators:
    """How sure to be of a parent, whether a concept has a place, and what makes a synonym.

    Each is missing where the taxonomy had too little to learn it from.
    """

    calibration: Calibration | None = None
    abstention: AbstentionModel | None = None
    duplicates: tuple[float, ...] | None = None

    @property
    def leaf_bonus(self) -> float:
        """What anchors without children gain when all are ranked."""
        return self.calibration.leaf_bonus if self.calibration else 0.0

    def as_dict(self) -> dict[str, Any]:
        """As it is kept in JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Calibrators:
        """From what `as_dict` gave."""
        calibration, abstention, duplicates = (
            kept[name] for name in ("calibration", "abstention", "duplicates")
        )
        return cls(
            None if calibration is None else Calibration.from_dict(calibration),
            None if abstention is None else AbstentionModel.from_dict(abstention),
            None if duplicates is None else tuple(duplicates),
        )
