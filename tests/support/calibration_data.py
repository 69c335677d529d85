from __future__ import annotations

import numpy as np

from taxoexpan.placement.learned.calibration import TEMPERATURES, TOP_K, HeldOutScores


def scores_of(logits: np.ndarray, truth: np.ndarray) -> HeldOutScores:
    """The scores of queries with these logits of all anchors [Q, N] and one true parent each."""
    order = np.argsort(-logits, axis=1)[:, :TOP_K]
    totals = np.stack([np.log(np.exp(logits / t).sum(1)) for t in TEMPERATURES], axis=1)
    own = logits[np.arange(len(logits)), truth]
    likelihood = np.stack([own / t for t in TEMPERATURES], axis=1) - totals
    best = np.take_along_axis(logits, order, axis=1)
    return HeldOutScores(best, order == truth[:, None], totals, likelihood, ())


def drawn_scores(seed: int, count: int, temperature: float) -> HeldOutScores:
    """Queries whose parents are drawn from a softmax at another temperature than the scores'."""
    rng = np.random.default_rng(seed)
    logits = rng.normal(size=(count, 30)) * 3
    cumulative = np.cumsum(np.exp(logits / temperature), axis=1)
    truth = (rng.random(count)[:, None] * cumulative[:, -1:] < cumulative).argmax(1)
    return scores_of(logits, truth)
