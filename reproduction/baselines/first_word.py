"""FWFS: the first word of the definition, in its first sense."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from taxoexpan.evaluation.methods import Method
from taxoexpan.features.mentions import MentionKind
from taxoexpan.network.concept_vectors import Queries
from taxoexpan.taxonomy import Taxonomy


class FirstWord(Method):
    """Places a concept under the most frequent sense of the first noun in its definition."""

    def set_anchors(self, taxonomy: Taxonomy, vectors: Tensor) -> None:
        """Store the number of anchors and the device."""
        self.size, self.device = len(taxonomy), vectors.device

    def score(self, queries: Queries) -> Tensor:
        """Return 2 for the first sense of the first mention, 1 for others: [N, Q]."""
        scores = torch.zeros(self.size, len(queries), device=self.device)
        mentions = queries.mentions
        if mentions is not None:
            rows, anchors, kinds = mentions.of_many(np.arange(len(queries)))
            for kind, value in (
                (MentionKind.FIRST_OTHER_SENSE, 1.0),
                (MentionKind.FIRST_IN_DEFINITION, 2.0),
            ):
                is_kind = kinds == kind
                scores[torch.from_numpy(anchors[is_kind]), torch.from_numpy(rows[is_kind])] = value
        return scores
