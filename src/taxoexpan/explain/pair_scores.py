"""The scores of single pairs of a query and an anchor, as sums of parts."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch

from taxoexpan.explain.evidence import ScoreParts, SignalParts
from taxoexpan.placement.scoring.pairs import PairInputs
from taxoexpan.placement.scoring.ranking import Ranker
from taxoexpan.taxonomy.arrays import Floats


@dataclass(frozen=True)
class PairScores:
    """The scores of P pairs: the fields of `kind` [K, P], which add up to them."""

    kind: type[ScoreParts] | type[SignalParts]
    columns: Floats

    @property
    def total(self) -> Floats:
        """The scores [P]."""
        total: Floats = self.columns.sum(axis=0)
        return total

    def parts(self) -> list[ScoreParts | SignalParts]:
        """Return the parts of each pair's score."""
        return [self.kind(*values) for values in self.columns.T.tolist()]


@torch.no_grad()
def parts_of_pairs(ranker: Ranker, inputs: PairInputs) -> PairScores:
    """Score pairs exactly as the ranker does, in parts."""
    if ranker.fusion is None:
        head, bonus = inputs.head_scores(ranker.network), ranker.leaf_bonus * inputs.is_leaf
        columns = torch.stack([inputs.match, head, inputs.mentions, bonus])
        return PairScores(ScoreParts, columns.cpu().numpy())
    by_signal = ranker.fusion.contributions(inputs.features(ranker.network).cpu().numpy())
    return PairScores(SignalParts, np.stack(list(by_signal.values())))
