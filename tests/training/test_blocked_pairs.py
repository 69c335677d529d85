from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from strategies import quickly

from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.training.blocked_pairs import blocked_among, blocked_draws

SIZE = 10
ROWS = st.integers(0, SIZE - 1)


def is_blocked(taxonomy: Taxonomy, query: int, anchor: int) -> bool:
    own, other = taxonomy.ids[query], taxonomy.ids[anchor]
    return other in (own, *taxonomy.parents(own), *taxonomy.descendants(own))


@given(
    st.lists(st.tuples(ROWS, ROWS), max_size=30),
    st.lists(ROWS, min_size=1, max_size=5),
    st.sets(ROWS, min_size=1).map(sorted),
)
@quickly
def test_a_query_blocks_its_parents_its_descendants_and_itself(
    pairs: list[tuple[int, int]], queries: list[int], anchors: list[int]
) -> None:
    relations = [(str(min(pair)), str(max(pair))) for pair in pairs if pair[0] != pair[1]]
    taxonomy = Taxonomy([Concept(str(i), f"concept {i}") for i in range(SIZE)], relations)
    expected = {
        (row, column)
        for row, anchor in enumerate(anchors)
        for column, query in enumerate(queries)
        if is_blocked(taxonomy, query, anchor)
    }
    found = blocked_among(taxonomy, np.array(queries), np.array(anchors)).T.tolist()
    assert len(found) == len(expected)  # the loss counts the pairs, so none occurs twice
    assert {(row, column) for row, column in found} == expected
    draws = np.tile(np.array(anchors)[:, None], len(queries))
    drawn = blocked_draws(taxonomy, np.array(queries), draws).T.tolist()
    assert {(row, column) for row, column in drawn} == expected
