"""Suggestions come back from a worker as they were."""

from __future__ import annotations

import pytest

pytest.importorskip("pyarrow")

from taxoexpan.cluster.placement_columns import PlacementReader, concepts_table, placements_table
from taxoexpan.explain.suggested_block import SuggestedBlock
from taxoexpan.placement.suggesting.suggestions import Suggestion
from taxoexpan.taxonomy import Concept, Taxonomy


def test_the_middle_of_a_very_long_path_is_left_out_as_without_workers() -> None:
    concepts = [Concept(str(level), f"level {level}") for level in range(100)]
    chain = Taxonomy(concepts, [(str(level), str(level + 1)) for level in range(99)])
    query, parent = Concept("new", "level of its own"), chain.concept("98")
    block = SuggestedBlock([Suggestion(query, 1, parent, chain.short_path("98"), 0.5)], [])
    table = placements_table(concepts_table(0, [query]), chain, block, [])
    assert PlacementReader(chain, [query]).read(table)[0] == block
