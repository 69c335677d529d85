"""The learned parts of a model besides its network, and reasons for a missing confidence."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from taxoexpan.config import Config
from taxoexpan.errors import ConfigurationError
from taxoexpan.phrasing import join_words, pluralize
from taxoexpan.placement.learned.abstention import AbstentionModel
from taxoexpan.placement.learned.confidence import Calibration
from taxoexpan.placement.learned.new_parent_prior import NewParentPrior
from taxoexpan.placement.scoring.pair_features import SignalFusion
from taxoexpan.taxonomy import Taxonomy
from taxoexpan.thresholds import MIN_CONCEPTS_FOR_CONFIDENCE, MIN_FOR_CONFIDENCE
from taxoexpan.training.holdout import fraction_for, held_out_count, leaf_count

DEFAULT_TRUTH = 0.9
"""Without other thresholds, this fraction of the placements is true, as far as is known."""


@dataclass(frozen=True)
class Calibrators:
    """Everything learned besides the network; a field without enough data is None."""

    calibration: Calibration | None = None
    abstention: AbstentionModel | None = None
    duplicates: tuple[float, ...] | None = None
    fusion: SignalFusion | None = None
    joint_priors: tuple[NewParentPrior, ...] | None = None

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON stores them."""
        fusion = None if self.fusion is None else self.fusion.as_mapping()
        return asdict(self) | {"fusion": fusion}


def missing_confidence(taxonomy: Taxonomy, config: Config, kept: int | None = None) -> str:
    """Return why no confidence can be learned, with a remedy, or an empty string if it can.

    The learned fusion needs some concepts; the network alone needs held-out leaves, because nothing
    is known about its scores in other taxonomies. `kept` is the number of held-out leaves of a
    continued training, which keeps them and its settings.
    """
    if config.learn_fusion:
        size = len(taxonomy.active)
        if size >= MIN_CONCEPTS_FOR_CONFIDENCE:
            return ""
        few = pluralize(size, "concept")
        return f"{few} are too few for a confidence; it takes {MIN_CONCEPTS_FOR_CONFIDENCE}"
    leaves = leaf_count(taxonomy.active)
    fraction = config.validation_fraction
    limit = config.max_validation_leaves
    held_out = held_out_count(leaves, fraction, limit) if kept is None else kept
    if held_out >= MIN_FOR_CONFIDENCE:
        return ""
    few = pluralize(held_out, "held-out leaf", "held-out leaves")
    few += "" if kept is None else " and the added concepts"
    text = f"no confidence can be learned from {few}; it takes {MIN_FOR_CONFIDENCE}"
    enough = fraction_for(leaves, MIN_FOR_CONFIDENCE)
    if enough is None:
        return f"{text}, too many for a taxonomy with {pluralize(leaves, 'leaf', 'leaves')}"
    settings = []
    if held_out_count(leaves, fraction, leaves) < MIN_FOR_CONFIDENCE:
        settings.append(f"validation_fraction={enough}")
    if limit < MIN_FOR_CONFIDENCE:
        settings.append(f"max_validation_leaves={MIN_FOR_CONFIDENCE}")
    noun = "setting" if len(settings) == 1 else "settings"
    advice = f" with the {noun} {join_words(settings)}" if settings else ""
    if kept is None:
        return f"{text}, so train{advice}"
    return f"{text}. A continued training keeps its settings, so train a new model{advice}"


def confidence_threshold(calibrators: Calibrators, precision: float, kept: str = "") -> float:
    """Return the confidence at which held-out concepts reach a precision, or refuse."""
    if calibrators.calibration is None:
        raise ConfigurationError(
            "the model has no confidence", fix="use a minimum score", option="min_score"
        )
    threshold = calibrators.calibration.reliability.threshold(precision)
    if threshold is None:
        message = (
            f"no confidence threshold reaches {precision:.0%} precision on the held-out concepts"
        )
        fix = "ask for a lower precision, or for a minimum confidence"
        raise ConfigurationError(message, fix=f"{fix}{kept}", option="min_confidence")
    return threshold


def branch_threshold(calibrators: Calibrators, truth: float = DEFAULT_TRUTH) -> float:
    """Return the branch confidence at which this fraction of the safe placements is true."""
    calibration = calibrators.calibration
    if calibration is None or calibration.branches is None:
        return truth
    return calibration.branches.threshold(truth)


def refuse_missing_confidence(taxonomy: Taxonomy, config: Config) -> None:
    """Refuse a taxonomy that is too small for a confidence, before the training."""
    if missing := missing_confidence(taxonomy, config):
        message = missing
        raise ConfigurationError(
            message, fix="without a confidence, use a minimum score", option="min_score"
        )
