"""Numbers and lists in text."""

from __future__ import annotations

import pytest

from taxoexpan.phrasing import pluralize, ranked_numbers


@pytest.mark.parametrize(
    ("numbers", "scores", "texts"),
    [
        ([0.754, 0.07, 0.01], [0.5, 0.3, 0.2], ["0.75", "0.07", "0.01"]),
        ([0.414, 0.411, 0.1], [0.5, 0.3, 0.2], ["0.414", "0.411", "0.10"]),
        (
            [0.5, 0.136, 0.136],
            [0.9, 0.06, 0.04],
            ["0.50", "0.14 (score 0.06)", "0.14 (score 0.04)"],
        ),
        ([0.021, 0.0209], [0.021, 0.0209], ["0.021", "0.021"]),
        ([0.497], [0.1], ["0.4970"]),
        ([0.5], [0.1], ["0.50"]),
        ([], [], []),
    ],
)
def test_the_order_of_ranked_numbers_is_visible(
    numbers: list[float], scores: list[float], texts: list[str]
) -> None:
    assert ranked_numbers(numbers, scores) == texts


def test_a_noun_agrees_with_its_count() -> None:
    assert pluralize(1, "leaf", "leaves") == "1 leaf"
    assert pluralize(2, "leaf", "leaves") == "2 leaves"
    assert pluralize(2000, "relation") == "2,000 relations"
