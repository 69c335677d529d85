from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from taxoexpan import Concept, TaxoExpan
from taxoexpan.network.queries import MAX_BLOCK
from taxoexpan.placement.learned.abstention import FEATURES, AbstentionModel, abstention_features
from taxoexpan.placement.learned.calibrators import Calibrators
from taxoexpan.placement.suggesting.query_assessment import Placer


@pytest.mark.parametrize("leaf_bonus", [0.0, 3.0])
@pytest.mark.parametrize("fused", [True, False])
def test_the_assessment_uses_the_features_of_abstention(
    model: TaxoExpan, leaf_bonus: float, fused: bool
) -> None:
    labels = [f"{word} {number}" for number in range(MAX_BLOCK) for word in ("milk", "zinc")]
    queries = model._queries([Concept(label, label) for label in labels])
    ranker = model._ranker.with_leaf_bonus(leaf_bonus)
    ranker = ranker if fused else ranker.with_fusion(None)
    features = abstention_features(ranker, queries)
    abstention = AbstentionModel(
        center=tuple(np.median(features, axis=0).tolist()),
        scale=(1.0,) * len(FEATURES),
        weights=(1.0,) * (len(FEATURES) + 1),
        threshold=1.0,
    )
    expected = abstention.has_parent(features)
    assert 0 < expected.sum() < len(labels)
    calibrators = replace(Calibrators(), abstention=abstention)
    _, assessment = Placer(ranker, calibrators).rank(queries, 3)
    assert assessment.has_parent.tolist() == expected.tolist()
