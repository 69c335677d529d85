"""Decisions that the file cannot hold: they are left out, named, and linked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from taxoexpan import TaxoExpan, read_taxonomy
from taxoexpan.taxonomy import Concept
from tests.support.desk_cases import DecisionStore
from tests.support.expanded_files import write_file
from tests.support.review_cases import (
    Review,
    after_learning,
    decide_again,
    downloaded,
    figures_of,
    left_out,
    open_review,
    parents_of,
    printed_command,
)

FOODS = "id,label,parents,synonyms\nfood,food,,\nmilk,milk,food,\ntea,tea,food,\n"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DecisionStore]:
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        yield store


def test_a_change_that_the_file_cannot_hold_is_left_out_and_named(
    model: TaxoExpan, store: DecisionStore, pantry: Path, tmp_path: Path
) -> None:
    review = open_review(model, store, taxonomy=pantry)
    review.decide("hemp milk", accept="milk")
    review.decide("corn bread", merge="rye bread")
    page = review.get("/export")
    assert "synonym" in left_out(page)
    assert decide_again("corn bread") in page
    assert "--allow-merges" not in printed_command(page)
    new = downloaded(review, tmp_path / "new.csv")
    assert parents_of(new, "hemp milk") == ["milk"]
    assert len(new) == len(model.taxonomy) + 1


SINGLE_PARENTS = {
    "foods.txt": "food\nfood > milk\nfood > milk > oat milk\nfood > tea\nfood > soup\n",
    "foods.md": "- food\n  - milk\n    - oat milk\n  - tea\n  - soup\n",
    "foods.json": """[{"id": "food", "label": "food", "parent": null},
        {"id": "milk", "label": "milk", "parent": "food"},
        {"id": "tea", "label": "tea", "parent": "food"},
        {"id": "soup", "label": "soup", "parent": "food"}]""",
}


@pytest.mark.parametrize("name", SINGLE_PARENTS)
def test_a_concept_with_two_parents_is_left_out_of_a_file_with_one_parent_and_named(
    model: TaxoExpan, store: DecisionStore, tmp_path: Path, name: str
) -> None:
    path = write_file(tmp_path / name, SINGLE_PARENTS[name])
    known = read_taxonomy(path)
    ids = {each.label: each.id for each in known.concepts}
    review = open_review(model, store, taxonomy=path, known=known)
    review.decide("hemp milk", accept=ids["milk"])
    review.decide("white tea", accept=ids["tea"], **{"with": [ids["soup"]]})
    later = after_learning(review, "white tea")
    later.decide("corn bread", accept=later.concept("white tea").concept.id)
    page = later.get("/export")
    assert re.search("'white tea'.*'tea' and 'soup'.*one parent", left_out(page))
    assert "'corn bread'" in left_out(page)  # the child of a concept that is left out
    assert decide_again("white tea") in page
    assert figures_of(page)["Additions"] == "1"
    new = downloaded(later, tmp_path / f"new{path.suffix}")
    assert parents_of(new, "hemp milk") == ["milk"]
    assert len(new) == len(known) + 1
    assert "white tea" in later.get("/export/decisions.csv")


@pytest.mark.parametrize(
    ("name", "text", "kept", "lost"),
    [
        ("foods.csv", FOODS, ["hemp drink"], ["definitions"]),
        ("foods.csv", FOODS.replace("synonyms", "definition"), ["of hemp seeds"], ["synonyms"]),
        ("foods.txt", "food\nfood > milk\nfood > tea\n", [], ["synonyms", "definitions"]),
    ],
)
def test_texts_that_the_file_has_no_place_for_are_named_before_the_download(
    model: TaxoExpan,
    store: DecisionStore,
    tmp_path: Path,
    name: str,
    text: str,
    kept: Sequence[str],
    lost: Sequence[str],
) -> None:
    path = write_file(tmp_path / name, text)
    known = read_taxonomy(path)
    ids = {each.label: each.id for each in known.concepts}
    review = open_review(model, store, taxonomy=path, known=known)
    review.decide("white tea", accept=ids["tea"])
    assert lost_texts(review) == []
    review.decide("hemp milk", accept=ids["milk"])
    assert lost_texts(review) == lost
    written = review.get("/export/taxonomy")
    assert [each for each in ("hemp drink", "of hemp seeds") if each in written] == kept
    assert "a drink made of hemp seeds" in review.get("/export/decisions.csv")


def lost_texts(review: Review) -> list[str]:
    """The kinds of texts that the page says the file has no place for."""
    found = re.search('<div class="notice" role="status">(.*?)</div>', review.get("/export"))
    told = found[1].partition(";")[0] if found else ""
    return [each for each in ("synonyms", "definitions") if each in told]


@pytest.mark.parametrize(
    ("name", "text", "concept", "button"),
    [
        ("foods.csv", FOODS, Concept("", "kimchi", ("kim|chee",)), "accept"),
        ("foods.csv", FOODS, Concept("", "kim|chee"), "merge"),
        ("foods.txt", "food\nfood > milk\nfood > tea\n", Concept("", "kim > chi"), "accept"),
    ],
)
def test_a_concept_that_the_file_cannot_hold_is_left_out_named_and_linked(
    model: TaxoExpan,
    store: DecisionStore,
    tmp_path: Path,
    name: str,
    text: str,
    concept: Concept,
    button: str,
) -> None:
    path = write_file(tmp_path / name, text)
    known = read_taxonomy(path)
    ids = {each.label: each.id for each in known.concepts}
    others = [Concept("", f"hemp, number {number}") for number in range(5)]
    review = open_review(model, store, [*others, concept], taxonomy=path, known=known)
    for each in others:
        review.decide(each.label, accept=ids["milk"])
    review.decide(concept.label, **{button: ids["tea"]})
    page = review.get("/export")
    assert repr(concept.label) in left_out(page)
    assert decide_again(review.concept(concept.label).key) in page
    new = downloaded(review, tmp_path / f"new{path.suffix}")
    assert len(new) == len(known) + len(others)
    assert "kim" not in review.get("/export/taxonomy")
    assert concept.label in review.get("/export/decisions.csv")


def test_a_concept_below_one_that_the_file_cannot_hold_is_named_too(
    model: TaxoExpan, store: DecisionStore, tmp_path: Path
) -> None:
    path = write_file(tmp_path / "foods.csv", FOODS)
    kimchi = Concept("", "kimchi", ("kim|chee",))
    listed = [kimchi, Concept("", "white kimchi")]
    review = open_review(model, store, listed, taxonomy=path, known=read_taxonomy(path))
    review.decide("kimchi", accept="milk")
    later = after_learning(review, "kimchi")
    later.decide("white kimchi", accept=later.concept("kimchi").concept.id)
    named = left_out(later.get("/export"))
    assert "'kim|chee'" in named
    assert "'white kimchi'" in named
    assert later.browser.get("/export/taxonomy").content == path.read_bytes()


def moving_file(model: TaxoExpan, path: Path, *, without: str = "", **parents: str) -> Path:
    """The taxonomy of a model as a file in which something has changed since."""
    changed = {id: "|".join(model.taxonomy.parents(id)) for id in model.taxonomy} | parents
    rows = [f"{id},{id},{parent}" for id, parent in changed.items() if id != without]
    return write_file(path, "\n".join(["id,label,parents", *rows, ""]))


def test_a_move_that_is_not_possible_any_more_is_explained(
    model: TaxoExpan, store: DecisionStore, tmp_path: Path
) -> None:
    path = moving_file(model, tmp_path / "foods.csv", **{"oat milk": "soup"})
    review = open_review(model, store, taxonomy=path)
    review.decide("hemp milk", action="insert", accept="milk", move=["oat milk"])
    page = review.get("/export")
    assert figures_of(page) == {"Additions": "1", "To refine": "0", "Moves": "0", "Merges": "0"}
    assert re.search("'oat milk'.*'milk'.*'hemp milk'", left_out(page))


def test_a_move_of_a_concept_that_the_file_has_lost_is_explained(
    model: TaxoExpan, store: DecisionStore, tmp_path: Path
) -> None:
    path = moving_file(model, tmp_path / "foods.csv", without="oat milk")
    review = open_review(model, store, taxonomy=path)
    review.decide("hemp milk", action="insert", accept="milk", move=["oat milk"])
    assert "oat milk" in left_out(review.get("/export"))
    response = review.browser.get("/export/taxonomy")
    assert response.status_code == 409
    assert "oat milk" in left_out(response.text)
    assert "hemp milk" in review.get("/export/decisions.csv")
