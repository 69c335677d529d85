from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from taxoexpan import Suggestion, TaxoExpan, Taxonomy, read_taxonomy
from taxoexpan.evaluation.confidence import (
    PRECISIONS,
    TRUTHS,
    AcceptedAtPrecision,
    GrowthConfidence,
    PlacedAtTruth,
    TruePlaces,
    confidence_table,
    measure_confidence,
    placement_table,
)
from taxoexpan.evaluation.growth import Growth, growth_between
from taxoexpan.taxonomy import Additions, Concept
from taxoexpan.training.holdout import Holdout
from tests.support.small_models import SMALL

NEW = ["cashew milk", "white tea", "rice bread", "corn bread", "quince", "plum", "hot sauce"]
PARENTS = ["milk", "tea", "bread", "bread", "apple", "apple", "sauce"]


@pytest.fixture(scope="module")
def growth(pantry: Path) -> Growth:
    old = read_taxonomy(pantry)
    new = tuple(Concept(name, name) for name in NEW)
    return growth_between(old, old.expanded(Additions(new, tuple(zip(PARENTS, NEW, strict=True)))))


def test_confidence_is_compared_with_the_truth(growth: Growth) -> None:
    many = SMALL | {"validation_fraction": 0.7}
    model = TaxoExpan("fast", 1, "cpu", **many).fit(growth.taxonomy)
    measured, calibration = measure_confidence(model, growth.queries), model.calibrators.calibration
    assert measured is not None
    assert calibration is not None
    firsts = model.suggest(growth.queries.concepts, top_k=1).flat
    firsts = [s for s in firsts if s.kind != "merge"]
    confidence = [s.confidence for s in firsts]
    true = dict(zip(NEW, PARENTS, strict=True))
    right = [s.parent.id == true[s.query.id] for s in firsts]
    assert [each.target for each in measured.accepted] == list(PRECISIONS)
    for each in measured.accepted:
        threshold = calibration.reliability.threshold(each.target)
        assert each.threshold == threshold
        taken = [
            is_right
            for sure, is_right in zip(confidence, right, strict=True)
            if threshold is not None and sure is not None and sure >= threshold
        ]
        assert each.coverage == pytest.approx(len(taken) / len(NEW))
        assert each.precision == (pytest.approx(sum(taken) / len(taken)) if taken else None)
    assert [each.target for each in measured.placed] == [*TRUTHS, None]
    for each in measured.placed:
        rule: dict[str, Any] = (
            {"exact_only": True} if each.target is None else {"truth": each.target}
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            grown = model.expand(growth.queries.concepts, **rule)
        written = {id: grown.parents(id)[0] for id in set(grown) - set(growth.taxonomy)}
        assert each.coverage == pytest.approx(len(written) / len(NEW))
        above = {true[name]: {true[name], *growth.taxonomy.ancestors(true[name])} for name in true}
        is_true = [parent in above[true[name]] for name, parent in written.items()]
        is_exact = [parent == true[name] for name, parent in written.items()]
        assert each.truth == (pytest.approx(np.mean(is_true)) if written else None)
        assert each.exact == (pytest.approx(np.mean(is_exact)) if written else None)
    assert any(each.coverage for each in measured.placed)
    assert measured.branch_error is not None
    reliability = model.reliability(growth.queries)
    assert reliability is not None
    assert measured.calibration_error == reliability.error


def test_a_model_without_confidence_has_none_to_measure(growth: Growth) -> None:
    model = TaxoExpan("fast", 1, "cpu", **SMALL, learn_fusion=False).fit(growth.taxonomy)
    assert model.calibrators.calibration is None
    assert measure_confidence(model, growth.queries) is None


def test_the_table_has_a_row_for_every_model() -> None:
    accepted = (
        AcceptedAtPrecision(0.9, None, 0.0, None),
        AcceptedAtPrecision(0.8, 0.97, 0.0, None),
        AcceptedAtPrecision(0.7, 0.5, 0.25, 0.75),
    )
    header, small, large = confidence_table(
        {"small": None, "large": GrowthConfidence(0.0625, 0.03, accepted, ())}
    )
    assert header[:3] == ["METHOD", "CALIBRATION ERROR", "OF BRANCHES"]
    assert header[3] == "AT 90\N{NO-BREAK SPACE}% PRECISION"
    assert small == ["small", "no confidence learned", "", "", "", ""]
    assert large == [
        "large",
        ".062",
        ".030",
        "no threshold",
        "none accepted",
        "25\N{NO-BREAK SPACE}% accepted, 75\N{NO-BREAK SPACE}% right",
    ]


def test_every_rule_has_a_row() -> None:
    placed = (
        PlacedAtTruth(0.9, 0.5, 0.75, 0.25, 3.25, 4.0, 1.5),
        PlacedAtTruth(None, 0.0, None, None, None, None, None),
    )
    rows = placement_table({"small": None, "large": GrowthConfidence(0.1, None, (), placed)})
    half, most, few = (f"{n}\N{NO-BREAK SPACE}%" for n in (50, 75, 25))
    assert rows[1] == ["large", "truth 0.9", half, most, few, "3.2 of 4.0", "1.5"]
    assert rows[2] == ["large", "exact only", "0\N{NO-BREAK SPACE}%", "", "", "", ""]
    assert len(rows) == 3


def test_a_place_above_the_true_parent_is_true_and_keeps_less_information() -> None:
    taxonomy = Taxonomy(
        [Concept(x, x) for x in ("food", "drink", "tea", "fruit")],
        [("food", "drink"), ("drink", "tea"), ("food", "fruit")],
    )
    new = [Concept("n1", "matcha"), Concept("n2", "kiwi")]
    holdout = Holdout(taxonomy, tuple(new), (np.array([2]), np.array([3])))
    rows = [
        Suggestion(
            new[0], 1, Concept("tea", "tea"), ("food", "drink", "tea"), levels=(1, 0.95, 0.6)
        ),
        Suggestion(new[1], 1, Concept("drink", "drink"), ("food", "drink"), levels=(1, 0.92)),
    ]
    measured = TruePlaces(holdout).measure(rows, 0.9, 0.9)
    assert (measured.coverage, measured.truth, measured.exact) == (1.0, 0.5, 0.0)
    assert (measured.bits, measured.true_bits, measured.levels) == (1.0, 2.0, 1.0)
    # Of three branches without the roots, the two of matcha are true: .05 and .4 off; .92 is false.
    error = TruePlaces(holdout).branch_error(rows)
    assert error == pytest.approx((2 * abs((0.95 + 0.92) / 2 - 0.5) + 0.4) / 3)
