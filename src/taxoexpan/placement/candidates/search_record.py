"""What is stored about a candidate search: how it searches, and how much it finds."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

MIN_RECALL = 0.98
"""The candidate search is used only if its mean recall of the ten best anchors is at least this."""


@dataclass(frozen=True)
class SearchRecord:
    """How candidates are searched.

    Args:
        taxonomy: a checksum of the ids of the anchors, in their order.
        weights: the weights of the linear parts of scores (see `LinearParts`).
        candidates: the number of candidates of each query.
        effort: the number of anchors that are kept in view while candidates are searched.
        recall: the measured fraction of the ten best anchors that are found.
        confidence_error: the 95th percentile of the error of scores at the calibrated temperature.
        queries: the number of queries that these were measured with.
    """

    taxonomy: str
    weights: tuple[float, ...]
    candidates: int
    effort: int
    recall: float
    confidence_error: float
    queries: int

    @classmethod
    def from_dict(cls, fields: Mapping[str, Any]) -> SearchRecord:
        """Restore a record from its fields as JSON stores them."""
        return cls(**{**fields, "weights": tuple(map(float, fields["weights"]))})

    def as_dict(self) -> dict[str, Any]:
        """Return the fields as JSON stores them."""
        return asdict(self)

    @property
    def is_used(self) -> bool:
        """Whether the search finds enough to be used."""
        return self.recall >= MIN_RECALL

    def sentence(self) -> str:
        """Describe the search."""
        found = f"finds {self.recall:.1%} of the ten best parents"
        measured = f"measured on {self.queries:,} queries"
        use = "" if self.is_used else "; too few, so all anchors are ranked"
        return f"the candidate search {found} ({measured}){use}"


@dataclass(frozen=True)
class StoredSearch:
    """A candidate search as a model stores it: its record, and two graphs as bytes."""

    record: SearchRecord
    anchor_graph: NDArray[np.uint8]
    name_graph: NDArray[np.uint8]


def checksum_of_ids(ids: Sequence[str]) -> str:
    """Return a checksum of ids in their order."""
    return hashlib.sha256("\n".join(ids).encode("utf-8", "surrogatepass")).hexdigest()[:16]
