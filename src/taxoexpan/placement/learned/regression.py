"""Logistic and isotonic regression, equal to scikit-learn but without its slow import."""

from __future__ import annotations

import numpy as np

from taxoexpan.taxonomy.arrays import Floats

DECAY = 1e-5
MAX_STEPS = 50


def sigmoid(log_odds: Floats) -> Floats:
    """Convert log-odds to probabilities."""
    return 1 / (1 + np.exp(-np.clip(log_odds, -500, 500)))


def logit(probabilities: Floats) -> Floats:
    """Convert probabilities to log-odds, which are finite for 0 and 1 too."""
    # In single precision, 1 - 1e-9 would be 1.
    clipped = np.clip(probabilities.astype(np.float64), 1e-9, 1 - 1e-9)
    return np.log(clipped) - np.log1p(-clipped)


def logistic(table: Floats, truth: Floats) -> Floats:
    """Fit the weights of a logistic regression by Newton's method: [P, F], [P] → [F]."""
    weights = np.zeros(table.shape[1])
    for _ in range(MAX_STEPS):
        predicted = sigmoid(table @ weights)
        gradient = table.T @ (truth - predicted) / len(table) - DECAY * weights
        hessian = (table.T * (predicted * (1 - predicted))) @ table / len(table)
        step = np.linalg.solve(hessian + DECAY * np.eye(len(weights)), gradient)
        weights += step
        if np.abs(step).max() < 1e-8:
            break
    return weights


def isotonic(values: Floats, truth: Floats) -> tuple[Floats, Floats]:
    """Fit an isotonic regression; return both ends of each block and its height at both."""
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
    positions = np.stack([ends - sizes, ends - 1], axis=1).ravel()
    return values[order][positions], np.repeat(heights, 2)
