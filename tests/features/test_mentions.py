from __future__ import annotations

from itertools import pairwise

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from taxoexpan.features.mentions import MentionKind, Mentions

PAIRS = st.tuples(st.integers(0, 9), st.integers(0, len(MentionKind) - 1))
ROWS = st.lists(st.lists(PAIRS, max_size=4), max_size=6)


def rows_of(mentions: Mentions) -> list[list[tuple[int, int]]]:
    offsets = mentions.of_row.offsets.tolist()
    pairs = list(zip(mentions.of_row.targets.tolist(), mentions.kinds.tolist(), strict=True))
    return [pairs[start:stop] for start, stop in pairwise(offsets)]


@given(ROWS, st.data())
@settings(max_examples=100, deadline=None)
def test_rows_can_be_read_sliced_selected_and_reindexed(
    rows: list[list[tuple[int, int]]], data: st.DataObject
) -> None:
    mentions = Mentions.from_rows(rows)
    assert (len(mentions), rows_of(mentions)) == (len(rows), rows)
    start = data.draw(st.integers(0, len(rows)))
    stop = data.draw(st.integers(start, len(rows)))
    assert rows_of(mentions.between(start, stop)) == rows[start:stop]
    some = data.draw(st.lists(st.integers(0, len(rows) - 1), max_size=5)) if rows else []
    chosen = np.array(some, dtype=np.int64)
    found = list(zip(*(each.tolist() for each in mentions.of_many(chosen)), strict=True))
    assert found == [(index, *pair) for index, row in enumerate(some) for pair in rows[row]]
    new_index = np.array([concept // 2 if concept % 2 else -1 for concept in range(10)])
    kept = [[(c // 2, kind) for c, kind in rows[row] if c % 2] for row in some]
    assert rows_of(mentions.reindex(new_index, chosen)) == kept


def test_the_kind_of_another_sense_knows_its_most_likely_sense() -> None:
    other = MentionKind.NAME_ENDING_OTHER_SENSE
    assert other.is_other_sense
    assert not MentionKind.SAME_NAME.is_other_sense
    assert other.likeliest_sense is MentionKind.NAME_ENDING
    assert other.description == f"{MentionKind.NAME_ENDING.description}, in another sense"
    assert len({kind.description for kind in MentionKind}) == len(MentionKind)
