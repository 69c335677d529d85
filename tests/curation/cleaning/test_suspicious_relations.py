from __future__ import annotations

import csv
import io
from dataclasses import replace

import pytest

from taxoexpan.curation.cleaning.folds import (
    SUSPICION_COLUMNS,
    SuspiciousRelation,
    suspicious_relations_csv,
)
from taxoexpan.curation.cleaning.self_cleaning import clean
from taxoexpan.taxonomy import Concept
from tests.support.messy_pantry import QUICK, messy_pantry


@pytest.fixture(scope="module")
def relations() -> list[SuspiciousRelation]:
    return clean(messy_pantry(), QUICK, folds=2)


def test_the_table_has_one_row_per_relation(relations: list[SuspiciousRelation]) -> None:
    rows = list(csv.DictReader(io.StringIO(suspicious_relations_csv(relations))))
    assert tuple(rows[0]) == SUSPICION_COLUMNS
    assert len(rows) == len(relations)
    for row, relation in zip(rows, relations, strict=True):
        assert (row["concept_id"], row["parent_id"]) == (relation.concept.id, relation.parent.id)
        assert row["path"].split(" > ") == list(relation.path)
        assert float(row["share"]) == pytest.approx(relation.score, rel=1e-5)
        assert float(row["suspicion"]) == pytest.approx(relation.suspicion, rel=1e-5)
        assert row["why"] == relation.why


def test_a_row_has_the_confidence_of_both_parents(relations: list[SuspiciousRelation]) -> None:
    relation = replace(relations[0], confidence=0.123456, parent_confidence=1e-7)
    (row,) = csv.DictReader(io.StringIO(suspicious_relations_csv([relation])))
    assert (row["confidence"], row["parent_confidence"]) == ("0.1235", "0.0")
    assert relation.evidence is not None
    assert relation.as_json() == {**relation.as_dict(), "evidence": relation.evidence.to_dict()}
    assert replace(relation, evidence=None).as_json()["evidence"] is None


def test_a_missing_confidence_is_empty(relations: list[SuspiciousRelation]) -> None:
    unknown = [replace(each, confidence=None, parent_confidence=None) for each in relations]
    rows = list(csv.DictReader(io.StringIO(suspicious_relations_csv(unknown))))
    assert {(row["confidence"], row["parent_confidence"]) for row in rows} == {("", "")}


@pytest.mark.parametrize(
    ("rank", "suspicion", "expected"), [(2, 0.5, True), (1, 0.5, False), (2, -0.5, False)]
)
def test_a_parent_that_is_ranked_first_is_not_doubted(
    relations: list[SuspiciousRelation], rank: int, suspicion: float, expected: bool
) -> None:
    relation = replace(relations[0], rank=rank, suspicion=suspicion)
    assert relation.has_better_parent is expected


def test_no_cell_is_a_formula(relations: list[SuspiciousRelation]) -> None:
    relation = replace(relations[0], concept=Concept("=1", "@x"), path=("-a",))
    (row,) = csv.DictReader(io.StringIO(suspicious_relations_csv([relation])))
    assert (row["concept_id"], row["concept"], row["path"]) == ("'=1", "'@x", "'-a")
