"""All compared methods by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from taxoexpan.errors import ConfigurationError
from taxoexpan.experiments.methods.method import Method
from taxoexpan.experiments.methods.mlp import DeepSetMLP, ParentMLP
from taxoexpan.experiments.methods.network_method import TaxoExpanMethod
from taxoexpan.experiments.methods.rules import (
    ClosestNeighbor,
    ClosestParent,
    FirstWord,
    Popularity,
)


def make_method(name: str, **settings: Any) -> Method:
    """Make the method of this name with these settings."""
    if name not in METHODS:
        raise ConfigurationError(f"unknown method {name!r}; choose one of {', '.join(METHODS)}")
    return METHODS[name](**settings)


def _dist_xgboost(**settings: Any) -> Method:
    from taxoexpan.experiments.methods.dist_xgboost import DistXGBoost

    return DistXGBoost(**settings)


METHODS: dict[str, Callable[..., Method]] = {
    "popularity": Popularity,
    "first-word": FirstWord,
    "closest-parent": ClosestParent,
    "closest-neighbor": ClosestNeighbor,
    "dist-xgboost": _dist_xgboost,
    "parent-mlp": ParentMLP,
    "deepset-mlp": DeepSetMLP,
    "taxoexpan": TaxoExpanMethod,
}
"""All methods, from the simplest to the most complex."""
