"""The card of a model: a short description for people who find its directory."""

from __future__ import annotations

from dataclasses import dataclass

from taxoexpan.config import Config
from taxoexpan.phrasing import pluralize
from taxoexpan.placement.fitting.taxonomy_growth import TaxonomyGrowth
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.placement.learned.missing_confidence import MissingConfidence
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.training.training_record import TrainingRecord


@dataclass(frozen=True)
class ModelCard:
    """What the card of a model is written from."""

    preset: str
    seed: int
    config: Config
    taxonomy: Taxonomy
    record: TrainingRecord
    calibrators: Calibrators
    growth: TaxonomyGrowth
    has_tower: bool

    def text(self) -> str:
        """Return the card in Markdown."""
        record = self.record
        return f"""# A taxoexpan model

Places new concepts in a taxonomy of {pluralize(len(self.taxonomy), "concept")} and
{pluralize(len(self.taxonomy.relations), "relation")}.{self._growth()}

{self._validation()}
{self._confidence()}

Preset `{self.preset}`, seed {self.seed}, features `{self.config.features}`{self._tuned()};
trained in {record.seconds:,} s on {record.machine} with torch {record.versions["torch"]}
on {record.concepts:,} concepts (sha256 {record.taxonomy_sha256[:16]}…).

    taxoexpan suggest THIS_DIRECTORY new.csv
"""

    def _growth(self) -> str:
        if not self.growth:
            return ""
        return f" Since the training: {self.growth.sentence(self.record.concepts)}."

    def _validation(self) -> str:
        record, v = self.record, self.record.validation
        if not v:
            return "The taxonomy is too small to hold out leaves, so the model was not validated."
        return (
            f"On {v.queries:.0f} held-out leaves: mean rank {v.mr:.1f}, "
            f"Hit@1 {v.hit_at_1:.3f}, Hit@3 {v.hit_at_3:.3f}, "
            f"scaled MRR {v.mrr:.3f} (network: epoch {record.best_epoch} of {record.epochs})."
        )

    def _confidence(self) -> str:
        """Say how good the confidence is or, if it is known, why there is none."""
        calibration = self.calibrators.calibration
        if calibration:
            return (
                f"Confidence: expected calibration error {calibration.reliability.error:.3f}, on "
                f"{len(calibration.reliability.right):,} leaves that it was not fitted to."
            )
        missing = MissingConfidence.find(self.taxonomy, self.config)
        return f"There is no confidence{f': {missing.sentence()}' if missing else ''}."

    def _tuned(self) -> str:
        is_tuned = self.has_tower and self.record.tower_epochs != 0
        tuned = ", fine-tuned on the taxonomy" if is_tuned else ""
        return tuned + (
            ", stopped before the end of the training" if self.record.interrupted else ""
        )
