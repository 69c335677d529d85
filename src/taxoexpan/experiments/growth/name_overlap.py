"""Results on the new concepts whose label contains the name of an existing concept.

*Oat milk* contains *milk*. Such concepts are the easiest to place, so a method must not fail there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from taxoexpan.experiments.growth.evaluation import Growth, Ranks
from taxoexpan.experiments.paper.result_tables import format_value
from taxoexpan.features.label_words import LabelWords
from taxoexpan.phrasing import pluralize
from taxoexpan.training.metrics import Averaging, compute_metrics


@dataclass(frozen=True)
class OverlapHits:
    """The number of new concepts that contain a known name, and Hit@1 of each method on them."""

    queries: int
    hit_at_1: dict[str, float]

    def as_dict(self) -> dict[str, Any]:
        """Return all values for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        """Describe the results in one line."""
        text = f"{pluralize(self.queries, 'new concept')} with the name of an existing concept in "
        text += "the label" if self.queries == 1 else "their labels"
        if not self.queries:
            return text
        hits = (f"{name} {format_value('hit_at_1', hit)}" for name, hit in self.hit_at_1.items())
        return f"{text}, Hit@1: {', '.join(hits)}"


def overlap_hits(
    growth: Growth, ranks: Mapping[str, Ranks], averaging: Averaging = "fraction"
) -> OverlapHits:
    """Return Hit@1 on the new concepts whose label has a known name as its last words or inside."""
    words = LabelWords.from_taxonomy(growth.taxonomy)
    rows = [row for row, new in enumerate(growth.queries.concepts) if words.has_name_in(new)]
    hits = {
        name: compute_metrics([own[row] for row in rows], averaging).hit_at_1
        for name, own in ranks.items()
        if rows
    }
    return OverlapHits(len(rows), hits)
