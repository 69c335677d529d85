from __future__ import annotations

import numpy as np
import pytest

from taxoexpan.evaluation.comparison import (
    COMPARISON_COLUMNS,
    OverlapHits,
    compare,
    comparison_table,
    overlap_hits,
)
from taxoexpan.evaluation.growth import Growth
from taxoexpan.taxonomy import Concept, Taxonomy
from taxoexpan.training.holdout import Holdout
from taxoexpan.training.metrics import Averaging, compute_metrics

OLD = Taxonomy(
    [
        Concept("food", "food"),
        Concept("milk", "milk"),
        Concept("cocoa", "hot chocolate", synonyms=("cocoa",)),
    ],
    [("food", "milk"), ("food", "cocoa")],
)
LABELS = ("oat milk", "milk rice", "Cocoa Powders", "chocolate", "chocolate bar", "milky way", "")
RANKS = [np.array([rank]) for rank in (1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0)]


def growth_of(*labels: str) -> Growth:
    concepts = tuple(Concept(f"q{i}", label) for i, label in enumerate(labels))
    parents = tuple(np.array([1]) for _ in labels)
    return Growth(Holdout(OLD, concepts, parents), deprecated=0, known=0, orphans=0)


def test_a_known_name_counts_at_the_end_and_elsewhere() -> None:
    # Part of a name does not count, nor part of a word.
    hits = overlap_hits(growth_of(*LABELS), {"one": RANKS, "two": RANKS[1:] + RANKS[:1]})
    assert hits.queries == 3
    assert hits.hit_at_1 == pytest.approx({"one": 2 / 3, "two": 2 / 3})
    assert str(hits) == (
        "3 new concepts with the name of an existing concept in their labels, "
        "Hit@1: one .667, two .667"
    )


def test_averaging_counts_several_parents() -> None:
    ranks = [np.array([1.0, 3.0])]
    growth = growth_of("oat milk")
    assert overlap_hits(growth, {"a": ranks}).hit_at_1 == {"a": 0.5}
    assert overlap_hits(growth, {"a": ranks}, "any").hit_at_1 == {"a": 1.0}
    assert str(overlap_hits(growth, {"a": ranks})).startswith("1 new concept with the name of an ")


def test_no_overlap_is_no_result() -> None:
    hits = overlap_hits(growth_of("plum"), {"a": RANKS[:1]})
    assert hits == OverlapHits(0, {})
    assert str(hits) == "0 new concepts with the name of an existing concept in their labels"


OF_METHODS = {
    "bad": [np.array([3.0]), np.array([40.0, 2.0]), np.array([1.0]), np.array([12.0])],
    "good": [np.array([1.0]), np.array([1.0, 2.0]), np.array([1.0]), np.array([4.0])],
}


@pytest.mark.parametrize("averaging", ["fraction", "any", "pooled"])
def test_methods_are_compared_by_their_metrics(averaging: Averaging) -> None:
    compared = compare(OF_METHODS, averaging)
    assert list(compared) == ["bad", "good"]
    for name, figures in compared.items():
        expected = compute_metrics(OF_METHODS[name], averaging).as_dict()
        assert figures == {metric: expected[metric] for metric in COMPARISON_COLUMNS}


def test_the_table_has_one_row_per_method() -> None:
    header, bad, good = comparison_table(compare(OF_METHODS))
    assert header == ["METHOD", *COMPARISON_COLUMNS.values()]
    assert bad == ["bad", "9.2", ".250", ".625", ".625", ".781"]
    assert good[:3] == ["good", "1.9", ".625"]
