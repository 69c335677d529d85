"""Thresholds that several packages share: levels of confidence, and numbers of examples needed."""

from __future__ import annotations

LIKELY = 0.5
"""The confidence above which a suggestion is more likely right than wrong."""
DEFAULT_TRUTH = 0.9
"""The confidence at which a placement is accepted by default: nine of ten are true."""

MIN_CONCEPTS_FOR_CONFIDENCE = 30
"""In a taxonomy with fewer concepts, there is no confidence."""
MIN_FOR_CONFIDENCE = 30
"""With fewer held-out leaves, the network alone (without a learned sum of signals) has no
confidence, and small taxonomies hold out more than the usual fraction."""
MIN_FOR_FINE_CONFIDENCE = 100
"""With fewer held-out leaves, the confidence rests mostly on other taxonomies."""
MIN_FOR_THRESHOLD = 10
"""With fewer held-out leaves above it, no threshold is stated: 3 of 3 prove little."""
MIN_FOR_ABSTENTION = 50
"""With fewer held-out leaves, "no suitable parent" is not learned."""
MIN_FOR_DUPLICATES = 20
"""With fewer concepts that have several names, duplicates are not learned."""
MIN_FOR_VALIDATION = 20
"""With fewer held-out leaves, the validation figures of a training say little."""
MIN_FOR_COMPARISON = 30
"""With fewer queries, one of them changes Hit@1 by more than 3 points."""
MIN_FOR_FEEDBACK = 20
"""With fewer concepts that a person has decided about, no training is offered."""
