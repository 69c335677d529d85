"""Places that say something: neither a root nor a branch with most of the concepts."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from taxoexpan.taxonomy.arrays import Indices
from taxoexpan.taxonomy.taxonomy import Taxonomy


def is_informative(taxonomy: Taxonomy, lineage: Indices) -> NDArray[np.bool_]:
    """Return whether each concept of a path is informative as a place, from the root down: [L].

    A branch with more than half of all concepts does not, nor does a root, unless it is the end.
    """
    sizes = taxonomy.descendant_intervals.counts(lineage)
    is_place: NDArray[np.bool_] = 2 * sizes <= len(taxonomy)
    is_place[0] &= len(lineage) == 1
    return is_place
