"""Blocks of new concepts, whose suggestions are computed and held in memory together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from taxoexpan.explain.evidence import Evidence
from taxoexpan.placement.suggesting.suggestions import Suggestion
from taxoexpan.taxonomy import Concept

QUERY_BLOCK = 1024
"""The number of new concepts in a block."""


@dataclass(frozen=True)
class SuggestedBlock:
    """The suggestions for a block of new concepts, and the evidence for them if it was wanted."""

    suggestions: list[Suggestion]
    evidence: list[Evidence]


def query_blocks(concepts: Sequence[Concept]) -> Iterator[Sequence[Concept]]:
    """Split new concepts into blocks; the same blocks give the same scores, to the last bit."""
    for start in range(0, len(concepts), QUERY_BLOCK):
        yield concepts[start : start + QUERY_BLOCK]
