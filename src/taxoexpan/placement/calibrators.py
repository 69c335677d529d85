"""All that a model has learned besides its network, as it is saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from taxoexpan.placement.abstention import AbstentionModel
from taxoexpan.placement.confidence import Calibration
from taxoexpan.placement.joint.new_parent_prior import NewParentPrior


@dataclass(frozen=True)
class Calibrators:
    """Everything that was learned from a taxonomy besides the network.

    `calibration` gives the confidence of a parent, `abstention` detects concepts without a suitable
    parent, and `duplicates` are the weights that detect synonyms of existing concepts. Each is None
    where the taxonomy had too little to learn it from. `joint_priors` has the new-parent prior of
    each round of joint placement; it is None until it is learned.
    """

    calibration: Calibration | None = None
    abstention: AbstentionModel | None = None
    duplicates: tuple[float, ...] | None = None
    joint_priors: tuple[NewParentPrior, ...] | None = None

    @property
    def leaf_bonus(self) -> float:
        """What leaf anchors gain when all anchors are ranked."""
        return self.calibration.leaf_bonus if self.calibration else 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON stores them."""
        priors = self.joint_priors
        return asdict(replace(self, joint_priors=None)) | {
            "joint_priors": None if priors is None else [prior.as_dict() for prior in priors]
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Calibrators:
        """Restore the calibrators from the fields of `as_dict`."""
        calibration, abstention, duplicates, priors = (
            fields[name] for name in ("calibration", "abstention", "duplicates", "joint_priors")
        )
        return cls(
            None if calibration is None else Calibration.from_dict(calibration),
            None if abstention is None else AbstentionModel.from_dict(abstention),
            None if duplicates is None else tuple(duplicates),
            None if priors is None else tuple(map(NewParentPrior.from_dict, priors)),
        )
