"""Knowledge about other taxonomies, which the held-out concepts of a taxonomy update.

It was learned from random subtrees of published vocabularies (reproduction/pretraining/priors.py),
and is stored in `data/priors.json`.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taxoexpan.placement.learned.confidence import Curve, logistic_near
from taxoexpan.placement.scoring.pair_features import PAIR_FEATURES, SignalFusion
from taxoexpan.taxonomy.arrays import Floats

FILE = "priors.json"
"""The name of the file in the data of the package."""
CURVES = ("first", "later", "branches")
"""The names of the curves."""
FEW = 30
"""With more held-out concepts, the optimism fades."""


@dataclass(frozen=True)
class FusionPrior:
    """The mean weights of the features, and how much they deviate between taxonomies.

    The deviation of a feature that no prior was learned for is NaN.
    """

    mean: SignalFusion
    deviations: tuple[float, ...]

    @classmethod
    def around(cls, mean: SignalFusion) -> FusionPrior:
        """Return a prior with these weights and unknown deviations."""
        return cls(mean, (math.nan,) * len(PAIR_FEATURES))

    @classmethod
    def from_mapping(cls, weights: Mapping[str, tuple[float, float]]) -> FusionPrior:
        """Create from the weight and the deviation of features by name."""
        mean = SignalFusion.from_mapping({name: own for name, (own, _) in weights.items()})
        unknown = (0.0, math.nan)
        return cls(mean, tuple(float(weights.get(name, unknown)[1]) for name in PAIR_FEATURES))


@dataclass(frozen=True)
class CurvePrior:
    """The mean and covariance of a logistic curve: its slope, its shift, and the optimism.

    The optimism is added to the log-odds of held-out concepts, which are placed better than new
    concepts: the training stops when it is best for them.
    """

    mean: tuple[float, ...]
    covariance: tuple[tuple[float, ...], ...]

    def fit(self, log_odds: Floats, right: NDArray[np.bool_], queries: int) -> Curve:
        """Return the most likely curve for new concepts, given outcomes of held-out `queries`."""
        table = curve_table(log_odds, queries)
        precision = np.linalg.inv(np.array(self.covariance))
        mean = np.array(self.mean)
        slope, shift, _ = logistic_near(table, right.astype(float), mean, precision).tolist()
        return Curve("platt", (), (slope, shift))


def curve_table(log_odds: Floats, queries: int | None) -> Floats:
    """Return what the slope, the shift and the optimism are multiplied with: [P] → [P, 3].

    The optimism fades with the number of held-out `queries`, and is 0 for new concepts (None).
    """
    share = 0.0 if queries is None else min(1.0, FEW / max(queries, 1))
    return np.stack([log_odds, np.ones_like(log_odds), np.full_like(log_odds, share)], axis=1)


@dataclass(frozen=True)
class CalibrationPrior:
    """The logarithm of the temperature with its deviation, and the curves of a calibration."""

    log_temperature: tuple[float, float]
    first: CurvePrior
    later: CurvePrior
    branches: CurvePrior


@dataclass(frozen=True)
class Prior:
    """What is known about the fusion and the confidence before anything is held out."""

    fusion: FusionPrior
    calibration: CalibrationPrior


def read_prior(has_network: bool, has_tower: bool) -> Prior:
    """Read the prior of models with or without a network and a tower."""
    text = resources.files("taxoexpan.data").joinpath(FILE).read_text("utf-8")
    return prior_from(json.loads(text)[prior_key(has_network, has_tower)])


def prior_key(has_network: bool, has_tower: bool) -> str:
    """Return the key of a prior in the file."""
    parts = {"network": has_network, "tower": has_tower}
    return "+".join(name for name, is_present in parts.items() if is_present) or "names"


def prior_from(stored: Mapping[str, Any]) -> Prior:
    """Create from parsed JSON."""
    curves = {
        name: CurvePrior(tuple(stored[name]["mean"]), tuple(map(tuple, stored[name]["covariance"])))
        for name in CURVES
    }
    calibration = CalibrationPrior(tuple(stored["log_temperature"]), **curves)
    return Prior(FusionPrior.from_mapping(stored["fusion"]), calibration)
