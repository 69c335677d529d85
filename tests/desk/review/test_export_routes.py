from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from review_cases import Review, open_review, text_of
from starlette.testclient import TestClient

from taxoexpan import TaxoExpan, Taxonomy
from taxoexpan.cli.main import main
from taxoexpan.desk.review.review_app import create_app
from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.web.access import Access
from taxoexpan.desk.web.protection import protect_pages
from taxoexpan.placement.suggestions import Decision, read_suggestions
from taxoexpan.taxonomy import Additions, Concept


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DecisionStore]:
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        yield store


def decided(review: Review) -> Review:
    """Accept, accept with two parents, merge and reject."""
    review.decide("hemp milk", accept="milk")
    review.decide("white tea", accept="tea", **{"with": ["soup"]})
    review.decide("corn bread", merge="rye bread")
    review.decide("sheep cheese", action="reject", reason="out-of-scope")
    return review


def test_the_decisions_are_a_table_for_apply(
    model: TaxoExpan, store: DecisionStore, tmp_path: Path
) -> None:
    review = decided(open_review(model, store))
    path = tmp_path / "decisions.csv"
    path.write_text(review.get("/export/decisions.csv"), encoding="utf-8")
    rows = read_suggestions(path)
    accepted = [
        (row.query.label, row.parent.id, row.kind.value)
        for row in rows
        if row.decision == Decision.ACCEPTED
    ]
    assert accepted == [
        ("hemp milk", "milk", "attach"),
        ("white tea", "tea", "attach"),
        ("white tea", "soup", "also"),
        ("corn bread", "rye bread", "merge"),
    ]
    assert {row.query.label for row in rows if row.decision == Decision.REJECTED} == {
        "sheep cheese"
    }
    assert rows[0].query.definition == "a drink made of hemp seeds"
    assert rows[0].query.synonyms == ("hemp drink",)


def test_formulas_in_the_table_are_neutralized(model: TaxoExpan, store: DecisionStore) -> None:
    review = open_review(model, store, [Concept("", '=HYPERLINK("x") milk')])
    key = store.queue().concepts[0].key
    review.post("/decisions", {"concept": key, "version": "0", "accept": "milk"})
    assert "'=HYPERLINK" in review.get("/export/decisions.csv")


def test_changes_are_exported_as_kgcl_and_sssom(model: TaxoExpan, store: DecisionStore) -> None:
    review = decided(open_review(model, store))
    page = review.get("/export")
    for name in ("decisions.csv", "decisions.kgcl", "decisions.sssom.tsv"):
        assert f'href="/export/{name}"' in page
    kgcl = review.get("/export/decisions.kgcl")
    assert "'hemp milk'" in kgcl
    assert "soup" in kgcl
    assert "sheep cheese" not in kgcl
    sssom = review.get("/export/decisions.sssom.tsv")
    assert "rye bread" in sssom
    assert "corn bread" in sssom


def test_the_taxonomy_file_has_the_accepted_concepts(
    model: TaxoExpan, store: DecisionStore, pantry: Path, tmp_path: Path
) -> None:
    review = open_review(model, store, taxonomy=pantry)
    review.decide("hemp milk", accept="milk")
    review.decide("white tea", action="reject", reason="other")
    response = review.browser.get("/export/taxonomy")
    assert response.headers["content-disposition"].endswith("pantry.csv")
    path = tmp_path / "new.csv"
    path.write_bytes(response.content)
    new = Taxonomy.read(path)
    assert len(new) == len(model.taxonomy) + 1
    assert new.parents("hemp milk") == ("milk",)


def test_a_change_that_the_file_cannot_hold_is_explained_on_the_page(
    model: TaxoExpan, store: DecisionStore, pantry: Path
) -> None:
    review = decided(open_review(model, store, taxonomy=pantry))
    response = review.browser.get("/export/taxonomy")
    assert response.status_code == 409
    assert "synonyms of existing concepts are not possible in this file" in text_of(response.text)
    # A browser shows no page in answer to a link with this attribute.
    assert not re.search(r"<a [^>]*\bdownload\b[^>/]*>", review.get("/export"))


def test_decisions_about_concepts_that_a_later_model_has_learned_are_exported(
    model: TaxoExpan, store: DecisionStore, pantry: Path, tmp_path: Path
) -> None:
    old = tmp_path / "pantry.json"
    assert main(["convert", str(pantry), str(old)]) == 0
    first = open_review(model, store, taxonomy=old)
    first.decide("hemp milk", accept="milk")
    learned = first.concept("hemp milk").concept
    grown = model.taxonomy.expanded(Additions((learned,), (("milk", learned.id),)))
    desk = replace(first.desk, taxonomy=grown)
    later = Review(
        desk, TestClient(protect_pages(create_app(desk), Access()), "http://127.0.0.1:8000")
    )
    later.browser.follow_redirects = False
    later.decide("white tea", accept=learned.id)
    later.decide("corn bread", merge=learned.id)
    for name in ("decisions.kgcl", "decisions.sssom.tsv"):
        assert "hemp" in later.get(f"/export/{name}")
    path = tmp_path / "new.json"
    path.write_bytes(later.browser.get("/export/taxonomy").content)
    new = Taxonomy.read(path)
    (hemp_milk,) = [each for each in new.concepts if each.label == "hemp milk"]
    assert hemp_milk.synonyms == ("hemp drink", "corn bread")
    assert [new.concept(id).label for id in new.children(hemp_milk.id)] == ["white tea"]


def test_several_files_are_downloaded_as_an_archive(
    model: TaxoExpan, store: DecisionStore, tmp_path: Path
) -> None:
    terms = "".join(f"{id}\t{id}\n" for id in model.taxonomy)
    pairs = "".join(f"{child}\t{parent}\n" for parent, child in model.taxonomy.relations)
    (tmp_path / "pantry.terms").write_text(terms, encoding="utf-8")
    (tmp_path / "pantry.taxo").write_text(pairs, encoding="utf-8")
    review = open_review(model, store, taxonomy=tmp_path / "pantry.terms")
    review.decide("hemp milk", accept="milk")
    response = review.browser.get("/export/taxonomy")
    assert response.status_code == 200, response.text
    names = zipfile.ZipFile(io.BytesIO(response.content)).namelist()
    assert sorted(names) == ["pantry.taxo", "pantry.terms"]


def test_the_page_quotes_the_command_with_what_it_needs(
    model: TaxoExpan, store: DecisionStore
) -> None:
    review = open_review(model, store)
    page = text_of(review.get("/export"))
    assert "taxoexpan apply TAXONOMY decisions.csv -o NEW" in page
    assert "--taxonomy FILE" in page
    decided(review)
    assert "--allow-merges -o NEW" in text_of(review.get("/export"))
    assert review.browser.get("/export/taxonomy").status_code == 404
