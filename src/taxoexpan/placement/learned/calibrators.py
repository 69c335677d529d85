"""All that a model has learned besides its network, as it is saved."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any

from taxoexpan.placement.learned.abstention import AbstentionModel
from taxoexpan.placement.learned.confidence import Calibration
from taxoexpan.placement.learned.new_parent_prior import NewParentPrior
from taxoexpan.placement.scoring.features import SignalFusion


@dataclass(frozen=True)
class Calibrators:
    """Everything that was learned from a taxonomy besides the network.

    `calibration` gives the confidence of a parent, `abstention` detects concepts without a suitable
    parent, `duplicates` are the weights that detect synonyms of existing concepts, and `fusion` are
    the weights of the features that rank the anchors. Each is None where the taxonomy had too
    little to learn it from. `joint_priors` has the new-parent prior of each round of joint
    placement; it is None until it is learned. `leaf_bonus` is what leaf anchors gain when all
    anchors are ranked without a fusion.
    """

    calibration: Calibration | None = None
    abstention: AbstentionModel | None = None
    duplicates: tuple[float, ...] | None = None
    fusion: SignalFusion | None = None
    joint_priors: tuple[NewParentPrior, ...] | None = None
    leaf_bonus: float = 0.0

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON stores them."""
        priors = self.joint_priors
        return asdict(replace(self, joint_priors=None, fusion=None)) | {
            "fusion": None if self.fusion is None else self.fusion.as_mapping(),
            "joint_priors": None if priors is None else [prior.as_dict() for prior in priors],
        }

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> Calibrators:
        """Restore the calibrators from the fields of `as_dict`.

        Older models may have a calibration of the kind "none", which is the score itself. It is
        ignored, because a score is not a confidence.
        """
        names = ("calibration", "abstention", "duplicates", "fusion", "joint_priors")
        calibration, abstention, duplicates, fusion, priors = (fields[name] for name in names)
        bonus = fields.get("leaf_bonus", (calibration or {}).get("leaf_bonus", 0.0))
        learned = calibration is not None and calibration["first"]["kind"] != "none"
        return cls(
            Calibration.from_dict(calibration) if learned else None,
            None if abstention is None else AbstentionModel.from_dict(abstention),
            None if duplicates is None else tuple(duplicates),
            None if fusion is None else SignalFusion.from_mapping(fusion),
            None if priors is None else tuple(map(NewParentPrior.from_dict, priors)),
            float(bonus),
        )
