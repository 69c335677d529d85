"""The learned fusion: a weighted sum of all features of a pair, which ranks the anchors.

Names decide where things belong in a shop, and siblings in a graph of research fields. So every
taxonomy gets weights of its own, learned from concepts that were held out of it. Where these are
few, the weights stay near a prior.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.placement.scoring.pair_features import FEATURES, Signal
from taxoexpan.taxonomy.arrays import Floats

PRIOR_STRENGTH = 10.0
"""How many held-out concepts the prior counts as, roughly."""
MAX_STEPS = 60
"""Steps of the optimizer, at most; it usually stops earlier."""


@dataclass(frozen=True)
class SignalFusion:
    """The weight of each feature."""

    weights: tuple[float, ...]

    @classmethod
    def from_mapping(cls, weights: Mapping[str, float]) -> SignalFusion:
        """Build from weights by the names of features; the others are 0."""
        return cls(tuple(float(weights.get(name, 0.0)) for name in FEATURES))

    def as_mapping(self) -> dict[str, float]:
        """Return the weights by the names of their features."""
        return dict(zip(FEATURES, self.weights, strict=True))

    @property
    def signals(self) -> tuple[Signal, ...]:
        """The signals with any weight."""
        pairs = zip(FEATURES.values(), self.weights, strict=True)
        weighed = {signal for signal, weight in pairs if weight}
        return tuple(signal for signal in Signal if signal in weighed)

    def score(self, features: Tensor) -> Tensor:
        """Return the score of each pair: [F, A, B] → [A, B]."""
        weights = features.new_tensor(self.weights)
        return (weights @ features.flatten(1)).view(features.shape[1:])

    def contributions(self, features: Floats) -> dict[Signal, Floats]:
        """Return what each signal adds to the scores of P pairs: [F, P] → [P] per signal."""
        parts = np.array(self.weights)[:, None] * features
        return {
            signal: parts[[of == signal for of in FEATURES.values()]].sum(axis=0)
            for signal in Signal
        }


PRIOR = SignalFusion.from_mapping(
    {
        "network": 0.5,
        "tower_anchor": 1.0,
        "name": 0.5,
        "ending": 1.0,
        "query_words": 1.0,
    }
)
"""The weights before anything is learned, with and without a tower. They were set by hand. Weights
fitted to 20 small taxonomies were no better for others, so these stayed."""
PRIOR_WITHOUT_TOWER = SignalFusion.from_mapping(
    {"network": 0.6, "name": 1.0, "ending": 1.0, "query_words": 1.0}
)


@dataclass(frozen=True)
class FusionExamples:
    """Candidates of Q held-out queries, C of each, with their features.

    Args:
        features: [Q, C, F].
        is_parent: whether the candidate is a true parent [Q, C].
        log_counts: the logarithm of how many anchors a candidate stands for [Q, C]: 0, more for one
            that was drawn at random, and minus infinity for padding.
        weights: how much each query counts [Q].
    """

    features: NDArray[np.float32]
    is_parent: NDArray[np.bool_]
    log_counts: NDArray[np.float32]
    weights: NDArray[np.float32]

    def __len__(self) -> int:
        return len(self.features)

    def __getitem__(self, rows: NDArray[np.bool_]) -> FusionExamples:
        """Return the selected queries."""
        return FusionExamples(
            self.features[rows], self.is_parent[rows], self.log_counts[rows], self.weights[rows]
        )

    def weighted(self, weight: float) -> FusionExamples:
        """Return the same queries, each with this weight."""
        return replace(self, weights=np.full(len(self), weight, dtype=np.float32))

    @classmethod
    def concatenate(cls, parts: Sequence[FusionExamples]) -> FusionExamples:
        """Join the examples of several blocks of queries, padded to the same length."""
        width = max(part.features.shape[1] for part in parts)

        def padded(array: NDArray[Any], value: float) -> NDArray[Any]:
            missing = [(0, 0), (0, width - array.shape[1]), *[(0, 0)] * (array.ndim - 2)]
            return np.pad(array, missing, constant_values=value)

        return cls(
            np.concatenate([padded(part.features, 0) for part in parts]),
            np.concatenate([padded(part.is_parent, False) for part in parts]),
            np.concatenate([padded(part.log_counts, -np.inf) for part in parts]),
            np.concatenate([part.weights for part in parts]),
        )


def fit_fusion(
    examples: FusionExamples | None,
    prior: SignalFusion,
    device: torch.device | str = "cpu",
) -> SignalFusion:
    """Return the weights at which the true parents are likeliest, near the prior.

    The likelihood is that of each true parent against all anchors that are no true parents.
    """
    if examples is None or not len(examples):
        return prior
    features = torch.from_numpy(examples.features).to(device)
    valid = torch.from_numpy(np.isfinite(examples.log_counts)).to(device)
    mean, scale = features[valid].mean(0), features[valid].std(0).clamp(min=1e-3)
    center = features.new_tensor(prior.weights)
    change = torch.zeros_like(center, requires_grad=True)
    optimizer = torch.optim.LBFGS(
        [change], max_iter=MAX_STEPS, line_search_fn="strong_wolfe", tolerance_change=1e-6
    )
    is_parent = torch.from_numpy(examples.is_parent).to(device)
    log_counts = torch.from_numpy(examples.log_counts).to(device)
    weights = torch.from_numpy(examples.weights).to(device)
    total = float(examples.weights.sum())
    # The effective number of queries: a few with large weights say no more than a few.
    count = total**2 / float(np.square(examples.weights).sum())
    # What all candidates have in common makes no difference, so the mean is removed.
    standardized, offset = (features - mean) / scale, features @ center + log_counts

    def closure() -> Tensor:
        optimizer.zero_grad()
        losses = _losses(standardized @ change + offset, is_parent)
        loss = (weights * losses).sum() / total
        loss = loss + PRIOR_STRENGTH / count * change.square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    return SignalFusion(tuple((center + change.detach() / scale).tolist()))


def _losses(scores: Tensor, is_parent: Tensor) -> Tensor:
    """Return the mean negative log-likelihood of each query's true parents: [Q, C] → [Q]."""
    others = scores.masked_fill(is_parent, -torch.inf).logsumexp(1, keepdim=True)
    log_likelihood = scores - torch.logaddexp(scores, others)
    parents = is_parent.sum(1).clamp(min=1)
    return -(log_likelihood.masked_fill(~is_parent, 0).sum(1) / parents)
