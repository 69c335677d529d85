"""Small regressions by hand: logistic, by Newton's steps, and isotonic, by pooling."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]

DECAY = 1e-5
STEPS = 50


def sigmoid(odds: Floats) -> Floats:
    """The probability that log-odds stand for."""
    return 1 / (1 + np.exp(-np.clip(odds, -500, 500)))


def logit(probabilities: Floats) -> Floats:
    """The log-odds of probabilities, finite ones for 0 and 1 too."""
    # In single precision 1 - 1e-9 would be 1.
    clipped = np.clip(probabilities.astype(np.float64), 1e-9, 1 - 1e-9)
    return np.log(clipped) - np.log1p(-clipped)


def logistic(table: Floats, truth: Floats) -> Floats:
    """The weights of a logistic regression, by Newton's steps: [P, F], [P] → [F]."""
    weights = np.zeros(table.shape[1])
    for _ in range(STEPS):
        likely = sigmoid(table @ weights)
        slope = table.T @ (truth - likely) / len(table) - DECAY * weights
        curve = (table.T * (likely * (1 - likely))) @ table / len(table)
        step = np.linalg.solve(curve + DECAY * np.eye(len(weights)), slope)
        weights += step
        if np.abs(step).max() < 1e-8:
            break
    return weights


def isotonic(values: Floats, truth: Floats) -> tuple[Floats, Floats]:
    """The rising steps nearest to the truth: where each begins and ends, and its height.

    Neighbours that fall are pooled until none does. The heights stand at the first and the last
    value of each pool, so that what lies between two pools can be interpolated.
    """
    order = np.argsort(values, kind="stable")
    heights: list[float] = []
    sizes: list[int] = []
    for height in truth[order].tolist():
        heights.append(height)
        sizes.append(1)
        while len(heights) > 1 and heights[-2] >= heights[-1]:
            size = sizes.pop()
            total = heights.pop() * size + heights[-1] * sizes[-1]
            sizes[-1] += size
            heights[-1] = total / sizes[-1]
    ends = np.cumsum(sizes)
    places = np.stack([ends - sizes, ends - 1], axis=1).ravel()
    return values[order][places], np.repeat(heights, 2)
