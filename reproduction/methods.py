"""All methods of the experiments: rules, trained baselines, the network alone, and FWFS."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from reproduction.baselines.dist_xgboost import DistXGBoost
from reproduction.baselines.networks import DeepSetMLP, NetworkMethod, ParentMLP
from taxoexpan.errors import ConfigurationError
from taxoexpan.evaluation.rules import RULES, Method
from taxoexpan.features.mentions import MentionKind
from taxoexpan.network.concept_vectors import Queries
from taxoexpan.network.matching_network import MatchingNetwork
from taxoexpan.taxonomy import Taxonomy


class FirstWord(Method):
    """Places a concept under the most frequent sense of the first noun in its definition."""

    name = "FWFS"

    def set_anchors(self, taxonomy: Taxonomy, vectors: Tensor) -> None:
        """Store the number of anchors and the device."""
        self.size, self.device = len(taxonomy), vectors.device

    def score(self, queries: Queries) -> Tensor:
        """Return 2 for the first sense of the first mention, 1 for others: [N, Q]."""
        scores = torch.zeros(self.size, len(queries), device=self.device)
        mentions = queries.mentions
        if mentions is not None:
            rows, anchors, kinds = mentions.of_many(np.arange(len(queries)))
            for kind, value in (
                (MentionKind.FIRST_OTHER_SENSE, 1.0),
                (MentionKind.FIRST_IN_DEFINITION, 2.0),
            ):
                is_kind = kinds == kind
                scores[torch.from_numpy(anchors[is_kind]), torch.from_numpy(rows[is_kind])] = value
        return scores


class TaxoExpanMethod(NetworkMethod):
    """The paper's model, or one of its variants with another preset or other settings."""

    name = "TaxoExpan"

    def _network(self, dimension: int) -> MatchingNetwork:
        return MatchingNetwork(self.config, dimension)


METHODS: dict[str, Callable[..., Method]] = {
    **RULES,
    "first-word": FirstWord,
    "dist-xgboost": DistXGBoost,
    "parent-mlp": ParentMLP,
    "deepset-mlp": DeepSetMLP,
    "taxoexpan": TaxoExpanMethod,
}
"""All methods, from the simplest to the most complex."""


def make_method(name: str, **settings: Any) -> Method:
    """Make the method of this name with these settings."""
    if name not in METHODS:
        raise ConfigurationError(
            f"unknown method {name!r}", fix=f"choose one of {', '.join(METHODS)}"
        )
    return METHODS[name](**settings)
