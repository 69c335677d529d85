from __future__ import annotations

import numpy as np

from taxoexpan.features.embedding import nearest_concepts
from taxoexpan.taxonomy import Concept


def test_the_nearest_concepts_come_first() -> None:
    concepts = [Concept("1", "green tea"), Concept("2", "milk"), Concept("3", "unknown")]
    vectors = np.array([[0, 1], [1, 0], [0, 0]], dtype=np.float32)
    found = nearest_concepts(concepts, vectors, np.array([0.8, 0.6], dtype=np.float32), 2)
    assert [(each.concept.id, round(each.cosine, 6)) for each in found] == [("2", 0.8), ("1", 0.6)]
