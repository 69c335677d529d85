from __future__ import annotations

import numpy as np
import pytest
import torch

from taxoexpan.features.mentions import Mentions
from taxoexpan.network.concept_vectors import LabeledQueries, Queries
from taxoexpan.taxonomy import Concept


@pytest.fixture
def queries() -> LabeledQueries:
    """Five queries; the i-th mentions i anchors, and all its values contain i."""
    numbers = torch.arange(5.0)
    return LabeledQueries(
        numbers[None, :, None].expand(2, 5, 3) + torch.tensor([0.0, 0.5])[:, None, None],
        Mentions.from_rows([[(10 * i + j, j) for j in range(i)] for i in range(5)]),
        [Concept(str(i), f"label {i}") for i in range(5)],
        numbers[:, None].expand(5, 4),
        [np.arange(i + 1) for i in range(5)],
    )


def described(queries: Queries) -> list[tuple[object, ...]]:
    """All values of each query."""
    assert queries.mentions is not None
    assert queries.tower is not None
    rows = []
    for row in range(len(queries)):
        _, anchors, kinds = queries.mentions.of_many(np.array([row]))
        mentioned = list(zip(anchors.tolist(), kinds.tolist(), strict=True))
        vectors, tower = queries.vectors[:, row].tolist(), queries.tower[row].tolist()
        rows.append((vectors, mentioned, queries.concepts[row].id, tower))
    return rows


@pytest.mark.parametrize("rows", [[3, 0, 4], [2, 2], [], [0, 1, 2, 3, 4]])
def test_selected_queries_keep_all_that_belongs_to_them(
    queries: LabeledQueries, rows: list[int]
) -> None:
    selected = queries.select(np.array(rows, dtype=np.int64))
    assert len(selected) == len(rows)
    assert described(selected) == [described(queries)[row] for row in rows]
    assert [own.tolist() for own in selected.parents] == [list(range(row + 1)) for row in rows]


def test_consecutive_queries_are_those_that_are_selected(queries: LabeledQueries) -> None:
    some, same = queries[1:4], queries.select(np.arange(1, 4))
    assert described(some) == described(same)
    assert [own.tolist() for own in some.parents] == [own.tolist() for own in same.parents]


def test_blocks_cover_all_queries(queries: LabeledQueries, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("taxoexpan.network.concept_vectors.MAX_SCORES", 200)
    blocks = list(queries.blocks(100))
    assert [start for start, _ in blocks] == [0, 2, 4]
    assert [row for _, some in blocks for row in described(some)] == described(queries)


def test_queries_may_have_vectors_only() -> None:
    bare = Queries(torch.arange(6.0).view(2, 3, 1)).select(np.array([2, 0]))
    assert bare.vectors[:, :, 0].tolist() == [[2, 0], [5, 3]]
    assert (bare.mentions, bare.concepts, bare.tower) == (None, (), None)
