from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from conftest import SMALL

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.evaluation.confidence import (
    PRECISIONS,
    AcceptedAtPrecision,
    GrowthConfidence,
    WrittenByDefault,
    confidence_table,
    measure_confidence,
)
from taxoexpan.evaluation.growth import Growth, growth_between
from taxoexpan.placement.suggesting.suggestions import SuggestionKind
from taxoexpan.taxonomy import Additions, Concept

NEW = ["cashew milk", "white tea", "rice bread", "corn bread", "quince", "plum", "hot sauce"]
PARENTS = ["milk", "tea", "bread", "bread", "apple", "apple", "sauce"]


@pytest.fixture(scope="module")
def growth(pantry: Path) -> Growth:
    old = Taxonomy.read(pantry)
    new = tuple(Concept(name, name) for name in NEW)
    return growth_between(old, old.expanded(Additions(new, tuple(zip(PARENTS, NEW, strict=True)))))


def test_confidence_is_compared_with_the_truth(growth: Growth) -> None:
    many = SMALL | {"validation_fraction": 0.7}
    model = TaxoExpan("fast", 1, "cpu", **many).fit(growth.taxonomy)
    measured, calibration = measure_confidence(model, growth.queries), model.calibrators.calibration
    assert measured is not None
    assert calibration is not None
    firsts = model.suggest(growth.queries.concepts, top_k=1)
    firsts = [s for s in firsts if s.kind != SuggestionKind.MERGE]
    confidence = [s.confidence for s in firsts]
    right = [s.parent.id == parent for s, parent in zip(firsts, PARENTS, strict=True)]
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
    with pytest.warns(UserWarning, match="2 concepts left out"):
        written = set(model.expand(growth.queries.concepts)) - set(growth.taxonomy)
    assert measured.by_default.coverage == pytest.approx(len(written) / len(NEW))
    taken = [is_right for is_right, name in zip(right, NEW, strict=True) if name in written]
    assert measured.by_default.precision == (pytest.approx(np.mean(taken)) if taken else None)
    assert written
    reliability = model.reliability(growth.queries)
    assert reliability is not None
    assert measured.calibration_error == reliability.error


def test_a_model_without_confidence_has_none_to_measure(model: TaxoExpan, growth: Growth) -> None:
    assert model.calibrators.calibration is None
    assert measure_confidence(model, growth.queries) is None


def test_the_table_has_a_row_for_every_model() -> None:
    accepted = (
        AcceptedAtPrecision(0.9, None, 0.0, None),
        AcceptedAtPrecision(0.8, 0.97, 0.0, None),
        AcceptedAtPrecision(0.7, 0.5, 0.25, 0.75),
    )
    header, small, large = confidence_table(
        {"small": None, "large": GrowthConfidence(0.0625, accepted, WrittenByDefault(0.5, 0.6))}
    )
    assert header[:3] == ["METHOD", "CALIBRATION ERROR", "BY DEFAULT"]
    assert header[3] == "AT 90\N{NO-BREAK SPACE}% PRECISION"
    assert small == ["small", "no confidence learned", "", "", "", ""]
    assert large == [
        "large",
        ".062",
        "50\N{NO-BREAK SPACE}% accepted, 60\N{NO-BREAK SPACE}% right",
        "no threshold",
        "none accepted",
        "25\N{NO-BREAK SPACE}% accepted, 75\N{NO-BREAK SPACE}% right",
    ]
