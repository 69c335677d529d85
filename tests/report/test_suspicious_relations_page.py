from __future__ import annotations

from dataclasses import replace
from html import unescape
from pathlib import Path

import pytest

from taxoexpan import Taxonomy, read_taxonomy
from taxoexpan.curation.cleaning.fold_scoring import ModelOptions
from taxoexpan.curation.cleaning.folds import SuspiciousRelation
from taxoexpan.curation.cleaning.self_cleaning import clean
from taxoexpan.report.page import render
from taxoexpan.report.suspicious_relations_page import suspicious_relations_page
from taxoexpan.taxonomy import Concept
from tests.support.page_reader import CREATED, table_of, text_of
from tests.support.small_models import SMALL

Cleaned = tuple[Taxonomy, list[SuspiciousRelation]]


@pytest.fixture(scope="module")
def cleaned(pantry: Path) -> Cleaned:
    """The result of a short cleaning of the pantry, with evidence for half of the relations."""
    taxonomy = read_taxonomy(pantry)
    options = ModelOptions("fast", seed=1, device="cpu", settings={**SMALL, "epochs": 2})
    return taxonomy, clean(taxonomy, options, folds=2, explained=20)


def test_a_relation_is_shown_with_both_parents() -> None:
    concepts = [Concept(id, id) for id in ("food", "milk", "tea", "oat milk", "green tea")]
    relations = [("food", "milk"), ("food", "tea"), ("tea", "oat milk"), ("tea", "green tea")]
    taxonomy = Taxonomy(concepts, relations)
    oat, tea, milk = (taxonomy.concept(id) for id in ("oat milk", "tea", "milk"))
    relation = SuspiciousRelation(
        oat, tea, ("food", "tea"), 3, 2e-5, milk, ("food", "milk"), 0.81, 10.6
    )
    page = render(suspicious_relations_page(taxonomy, [relation], 2, "Suspicious", CREATED))
    assert "81\u00a0% to 'milk' and 1 in 50,000 to 'tea'" in unescape(page)


def test_a_relation_opens_to_its_evidence(cleaned: Cleaned) -> None:
    taxonomy, found = cleaned
    page = suspicious_relations_page(taxonomy, found, len(found), "Suspicious", CREATED)
    rows = table_of(page, "Suspicious relations").rows
    for row, relation in zip(rows, found, strict=True):
        assert row.details is not None
        tree, facts = row.details.tree, dict(row.details.facts)
        if relation.evidence is None:
            assert len(row.details.paragraphs) == 1
            assert not facts
            assert tree is None
            continue
        assert tree is not None
        assert tree.runner_up is not None
        paths = (tree.suggested.path, tree.runner_up.path)
        assert paths == (relation.better_path, relation.path)
        assert tree.notes == ("better", "current")
        others = len(taxonomy.children(relation.parent.id)) - 1
        shown = len(tree.runner_up.siblings) + tree.runner_up.more_siblings
        assert shown in (others, others - 1)  # one may be on the path to the better parent
        better, current = relation.evidence.suggestions
        assert row.details.paragraphs[1] == relation.why
        assert f"with {better.parent.label};" in str(facts["cosine"])
        assert f"with {current.parent.label};" in str(facts["current cosine"])
        assert facts["current shared words"] == (", ".join(current.shared_words) or "none")
        assert f"for {current.parent.label}: " in str(facts["current raw score"])
        near = {child.concept.label: child.cosine for child in better.nearest_children}
        assert all(near[each.label] == each.cosine for each in tree.suggested.siblings)
    assert sum(relation.evidence is not None for relation in found) == 40


def test_confidences_of_both_parents_are_shown_or_explained_as_missing(cleaned: Cleaned) -> None:
    taxonomy, known = cleaned
    found = [replace(each, confidence=None, parent_confidence=None) for each in known]
    page = suspicious_relations_page(taxonomy, found, len(found), "Suspicious", CREATED)
    table = table_of(page, "Suspicious relations")
    kinds = {column.name: column.kind for column in table.columns}
    assert (kinds["Confidence"], kinds["Current confidence"]) == ("fraction", "number")
    columns = [[*kinds].index(name) for name in ("Confidence", "Current confidence")]
    assert {row.cells[column] for row in table.rows for column in columns} == {None}
    assert "too small to learn it" in text_of(page, "How to read this report")
    calibrated = [replace(each, confidence=0.64, parent_confidence=0.01) for each in found]
    page = suspicious_relations_page(taxonomy, calibrated, len(found), "Suspicious", CREATED)
    row = table_of(page, "Suspicious relations").rows[0]
    assert [row.cells[column] for column in columns] == [0.64, 0.01]
    assert "too small to learn it" not in text_of(page, "How to read this report")
    assert row.details is not None
    assert row.details.tree is not None
    assert row.details.tree.runner_up is not None
    tree = row.details.tree
    assert (tree.suggested.number, tree.runner_up.number) == ("0.64", "0.01")
    assert "better, 0.64" in render(page)
