"""How sure: scores of held-out leaves become the probability that a parent is right.

Where these were held out as taxonomies grow, what anchors without children should gain is learned
first: a network that sees each family with most of its members thinks little of them. The scores
are softened by a temperature (of the softmax over all anchors), and what comes out is mapped to the
share of held-out leaves for which it was right: as it is, by a logistic curve (Platt), or by rising
steps (isotonic), whichever foretells leaves best that it was not fitted to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from taxoexpan.features.mentions import Mentions
from taxoexpan.placement.ranking import Ranker, best_of
from taxoexpan.placement.regression import Floats, isotonic, logistic, logit, sigmoid
from taxoexpan.taxonomy.arrays import Indices

TEMPERATURES = tuple(np.geomspace(0.25, 4, 17).round(4).tolist())
LEAF_BONUSES = tuple(np.linspace(-3, 3, 13).tolist())
"""What anchors without children may gain."""
LEAST_ALONE = 0.1
"""So many of the held-out leaves must have a parent without other children."""
TOP = 5
"""Of every leaf's suggestions so many are learned from."""
FEWEST = 50
"""Fewer held-out leaves tell nothing of how sure to be."""
FOLDS = 5
BINS = 10


@dataclass(frozen=True)
class Measured:
    """What Q held-out queries scored: the best raw scores [Q, K], and which were right [Q, K].

    `totals` [Q, T] are the logarithms of the softmax's divisors at every temperature, and
    `likelihood` [T] the mean logarithm of the true parents' shares. `leaf_bonus` is what anchors
    without children gained.
    """

    scores: Floats
    right: NDArray[np.bool_]
    totals: Floats
    likelihood: Floats
    leaf_bonus: float = 0.0


@dataclass(frozen=True)
class Curve:
    """What maps log-odds to a probability: the kind, and the points or weights that it has."""

    kind: str
    xs: tuple[float, ...]
    ys: tuple[float, ...]

    def __call__(self, odds: Floats) -> Floats:
        """The probability of each."""
        if self.kind == "isotonic":
            return np.interp(odds, self.xs, self.ys)
        slope, shift = self.ys
        return sigmoid(slope * odds + shift)


AS_IT_IS = Curve("none", (), (1.0, 0.0))


@dataclass(frozen=True)
class Bin:
    """Queries of about the same confidence: how many, how sure, and how many were right."""

    count: int
    confidence: float
    right: float


@dataclass(frozen=True)
class Reliability:
    """How far the confidence in first suggestions can be trusted.

    `confidence` is each query's, from the highest to the lowest, and `right` whether it was; both
    from curves that were not fitted to that query.
    """

    confidence: tuple[float, ...]
    right: tuple[bool, ...]

    @classmethod
    def of(cls, confidence: Floats, right: NDArray[np.bool_]) -> Reliability:
        """Of queries in any order."""
        order = np.argsort(-confidence, kind="stable")
        return cls(tuple(confidence[order].tolist()), tuple(right[order].tolist()))

    @property
    def bins(self) -> list[Bin]:
        """Ten equal spans of confidence, without the empty ones."""
        sure, right = np.array(self.confidence), np.array(self.right, dtype=float)
        numbers = np.minimum((sure * BINS).astype(int), BINS - 1)
        return [
            Bin(int(those.sum()), float(sure[those].mean()), float(right[those].mean()))
            for those in (numbers == number for number in range(BINS))
            if those.any()
        ]

    @property
    def error(self) -> float:
        """The expected calibration error: the mean of |sure - right| over the bins."""
        count = max(len(self.confidence), 1)
        return sum(b.count * abs(b.confidence - b.right) for b in self.bins) / count

    def coverage(self) -> list[tuple[float, float, float]]:
        """Of what is accepted from each confidence on: that, the share accepted, and of it right.

        Queries of one confidence are accepted together.
        """
        sure, right = np.array(self.confidence), np.array(self.right, dtype=float)
        counts = np.arange(1, len(sure) + 1)
        last = np.flatnonzero(np.diff(sure, append=-1.0))
        points = np.stack([sure, counts / max(len(sure), 1), np.cumsum(right) / counts], axis=1)
        return [(float(c), float(x), float(y)) for c, x, y in points[last]]

    def threshold(self, precision: float) -> float | None:
        """The lowest confidence from which on so many are right, if there is one.

        By how many held-out leaves tell it: what they say is taken with one standard error off, so
        that three right ones of three are not yet 90 %.
        """
        size = len(self.confidence)
        enough = [
            c
            for c, covered, right in self.coverage()
            if _at_least(right * covered * size, covered * size) >= precision
        ]
        return min(enough) if enough else None


def _at_least(right: float, count: float) -> float:
    """A share that right ones of a count have at least, by one standard error (after Laplace)."""
    share = (right + 1) / (count + 2)
    return float(share - np.sqrt(share * (1 - share) / (count + 2)))


@dataclass(frozen=True)
class Calibration:
    """The temperature, the curve of first suggestions and that of all others, and how they do.

    `leaf_bonus` is what anchors without children gain when all are ranked.
    """

    temperature: float
    first: Curve
    later: Curve
    reliability: Reliability
    leaf_bonus: float = 0.0

    def confidence(self, shares: Floats) -> Floats:
        """How likely each suggestion is right, by its share of the tempered softmax: [Q, K]."""
        odds = logit(shares)
        sure = self.later(odds)
        sure[:, :1] = self.first(odds[:, :1])
        # A later one is never surer than an earlier one, whatever the two curves say.
        return np.minimum.accumulate(sure, axis=1)

    def as_dict(self) -> dict[str, Any]:
        """As it is kept in JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, kept: Mapping[str, Any]) -> Calibration:
        """From what `as_dict` gave."""
        first, later = (
            Curve(kept[name]["kind"], tuple(kept[name]["xs"]), tuple(kept[name]["ys"]))
            for name in ("first", "later")
        )
        told = kept["reliability"]
        reliability = Reliability(tuple(told["confidence"]), tuple(told["right"]))
        temperature, leaf_bonus = float(kept["temperature"]), float(kept["leaf_bonus"])
        return cls(temperature, first, later, reliability, leaf_bonus)


def measure(
    ranker: Ranker,
    queries: Tensor,
    parents: Sequence[Indices],
    mentions: Mentions | None = None,
    leaf_bonus: float = 0.0,
) -> Measured:
    """Score held-out queries, vectors [2, Q, D1], whose true parents are known."""
    parts: list[list[NDArray[Any]]] = [[], [], [], []]
    for start, raw in ranker.blocks(queries, mentions, leaf_bonus):
        block = ranker.match.log_match(raw)
        best, rows = best_of(block, min(TOP, len(block)))
        own = _padded(parents[start : start + block.shape[1]]).to(block.device)
        true = (rows[:, None] == own).any(1)
        totals = _log_totals(block)
        shares = _log_totals(block.gather(0, own.relu()).masked_fill(own < 0, -torch.inf)) - totals
        made = (best, true, totals, shares)
        for part, tensor in zip(parts, made, strict=True):
            part.append(tensor.T.cpu().numpy())
    scores, right, divisors, own_shares = (np.concatenate(part) for part in parts)
    return Measured(scores, right, divisors, own_shares.mean(axis=0), leaf_bonus)


def learn_leaf_bonus(
    ranker: Ranker,
    queries: Tensor,
    parents: Sequence[Indices],
    mentions: Mentions | None = None,
) -> float:
    """What anchors without children should gain, so that the true parents are likeliest.

    Nothing, where too few of the held-out queries have such a parent to tell: of a taxonomy whose
    families are all large, hardly any can be held out whole.
    """
    alone = ranker.leaf_rows
    of_alone = np.isin(np.array([own[0] for own in parents]), alone.cpu().numpy())
    if len(parents) < FEWEST or of_alone.mean() < LEAST_ALONE:
        return 0.0
    likely = np.zeros(len(LEAF_BONUSES))
    is_alone = torch.zeros(len(ranker.keys), 1, dtype=torch.bool, device=alone.device)
    is_alone[alone] = True
    for start, raw in ranker.blocks(queries, mentions):
        own = _padded(parents[start : start + raw.shape[1]]).to(raw.device)
        others = ranker.match.log_match(raw).masked_fill(is_alone, -torch.inf).logsumexp(0)
        own_raw, own_alone = raw.gather(0, own.relu()), is_alone[:, 0][own.relu()]
        leaf_bonus = raw[alone]
        for place, gain in enumerate(LEAF_BONUSES):
            told = ranker.match.log_match(own_raw + gain * own_alone)
            told = told.masked_fill(own < 0, -torch.inf).logsumexp(0)
            total = ranker.match.log_match(leaf_bonus + gain).logsumexp(0).logaddexp(others)
            likely[place] += float((told - total).sum())
    return float(LEAF_BONUSES[int(likely.argmax())])


def _padded(parents: Sequence[Indices]) -> Tensor:
    """The true parents of each query in its column, with -1 where there are fewer: [P, Q]."""
    most = max(map(len, parents))
    return torch.tensor([[*own, *[-1] * (most - len(own))] for own in parents]).T


def _log_totals(scores: Tensor) -> Tensor:
    """The logarithm of the softmax's divisor at every temperature: [N, Q] → [T, Q]."""
    return torch.stack([(scores / heat).logsumexp(0) for heat in TEMPERATURES])


def calibrate(measured: Measured, seed: int = 0) -> Calibration | None:
    """The calibration that foretells held-out queries best; none where they are too few."""
    if len(measured.scores) < FEWEST:
        return None
    place = int(measured.likelihood.argmax())
    temperature = TEMPERATURES[place]
    shares = np.exp(measured.scores / temperature - measured.totals[:, place, None])
    odds, right = logit(shares), measured.right
    folds = np.random.default_rng(seed).permutation(len(odds)) % FOLDS
    first, sure = _best_curve(odds[:, :1], right[:, :1], folds)
    later, _ = _best_curve(odds[:, 1:], right[:, 1:], folds)
    reliability = Reliability.of(sure[:, 0], right[:, 0])
    return Calibration(temperature, first, later, reliability, measured.leaf_bonus)


def _best_curve(odds: Floats, right: NDArray[np.bool_], folds: Indices) -> tuple[Curve, Floats]:
    """The curve of the likeliest kind, and the confidences by curves that had not seen them."""
    if not odds.size or right.all() or not right.any():
        return AS_IT_IS, AS_IT_IS(odds)
    unseen = {kind: np.empty_like(odds) for kind in FITS}
    for fold in range(FOLDS):
        out = folds == fold
        for kind, fit in FITS.items():
            unseen[kind][out] = fit(odds[~out].ravel(), right[~out].ravel())(odds[out])
    kind = min(FITS, key=lambda kind: _surprise(unseen[kind], right))
    return FITS[kind](odds.ravel(), right.ravel()), unseen[kind]


def _surprise(sure: Floats, right: NDArray[np.bool_]) -> float:
    """The mean logarithmic loss; what is held to be impossible and happens costs much, not all."""
    sure = np.clip(sure, 1e-3, 1 - 1e-3)
    return float(-np.where(right, np.log(sure), np.log1p(-sure)).mean())


def _platt(odds: Floats, right: NDArray[np.bool_]) -> Curve:
    slope, shift = logistic(np.stack([odds, np.ones_like(odds)], axis=1), right.astype(float))
    return Curve("platt", (), (float(slope), float(shift)))


def _steps(odds: Floats, right: NDArray[np.bool_]) -> Curve:
    xs, ys = isotonic(odds, right.astype(float))
    return Curve("isotonic", tuple(xs.tolist()), tuple(ys.tolist()))


FITS = {"none": lambda odds, right: AS_IT_IS, "platt": _platt, "isotonic": _steps}  # noqa: ARG005
"""The kinds of curves, and what fits each."""
