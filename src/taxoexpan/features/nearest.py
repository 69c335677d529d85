"""Finds the nearest concepts of a vector."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from taxoexpan.features.encoder import Vectors
from taxoexpan.taxonomy import Concept


class NearestConcept(NamedTuple):
    """A concept, and the cosine of its vector with the query."""

    concept: Concept
    cosine: float


def nearest_concepts(
    concepts: Sequence[Concept], vectors: Vectors, query: Vectors, top_k: int
) -> list[NearestConcept]:
    """The concepts whose unit vectors [N, D] are nearest to a query [D], the nearest first."""
    cosines = vectors @ query
    rows = np.argsort(-cosines, kind="stable")[:top_k]
    return [NearestConcept(concepts[row], float(cosines[row])) for row in rows.tolist()]
