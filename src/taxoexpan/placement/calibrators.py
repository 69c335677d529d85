"""What a model knows of how far it can be trusted, as it is kept with it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from taxoexpan.placement.abstention import Belonging
from taxoexpan.placement.confidence import Calibration


@dataclass(frozen=True)
class Trust:
    """How sure to be of a parent, whether a concept has a place, and what makes a synonym.

    Each is missing where the taxonomy had too little to learn it from.
    """

    calibration: Calibration | None = None
    belonging: Belonging | None = None
    synonymy: tuple[float, ...] | None = None

    @property
    def childless(self) -> float:
        """What anchors without children gain when all are ranked."""
        return self.calibration.childless if self.calibration else 0.0

    def as_dict(self) -> dict[str, Any]:
        """As it is kept in JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Trust:
        """From what `as_dict` gave."""
        calibration, belonging, synonymy = (
            kept[name] for name in ("calibration", "belonging", "synonymy")
        )
        return cls(
            None if calibration is None else Calibration.from_dict(calibration),
            None if belonging is None else Belonging.from_dict(belonging),
            None if synonymy is None else tuple(synonymy),
        )
