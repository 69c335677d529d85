"""Concepts that nothing can be placed below: obsolete ones, and learned ones that are undone."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys

from taxoexpan import TaxoExpan
from taxoexpan.decisions.suggestion import Suggestion
from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.store.decisions import Status
from taxoexpan.taxonomy import Concept, Taxonomy
from tests.support import chromium
from tests.support.review_browser import Desk
from tests.support.review_cases import NEW, Review, field, open_review, text_of

driver = chromium.driver
PART = {"HX-Request": "true"}


def with_concepts(
    model: TaxoExpan, directory: Path, added: dict[Concept, str], folder: Path
) -> TaxoExpan:
    """Return the model of the pantry with more concepts, each below another one or none."""
    old = model.taxonomy
    relations = [(parent, each.id) for each, parent in added.items() if parent]
    larger = TaxoExpan.load(directory, "cpu")
    larger.update(Taxonomy([*old.concepts, *added], [*old.relations, *relations]))
    larger.save(folder / "larger")
    return TaxoExpan.load(folder / "larger", "cpu")


OLD = {
    Concept("old1", "OBSOLETE intine", deprecated=True): "",
    Concept("old2", "OBSOLETE milk", deprecated=True): "milk",
    Concept("old3", "OBSOLETE group", deprecated=True): "",
    Concept("kept", "clotted milk"): "old3",
}


@pytest.fixture(scope="module")
def outdated_model(
    model: TaxoExpan, model_directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> TaxoExpan:
    return with_concepts(model, model_directory, OLD, tmp_path_factory.mktemp("outdated"))


@pytest.fixture
def outdated(outdated_model: TaxoExpan, tmp_path: Path) -> Iterator[Review]:
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        yield open_review(outdated_model, store)


@pytest.mark.parametrize(
    "address",
    [
        "/?concept=hemp+milk",
        "/branch?concept=hemp+milk&parent=milk",
        "/search?find=obsolete&panel=parent",
        "/search?find=obsolete&panel=merge",
        "/?concept=hemp+milk&panel=insert&parent=milk",
    ],
)
def test_obsolete_concepts_are_not_offered(outdated: Review, address: str) -> None:
    page = outdated.get(address, **PART)
    assert "OBSOLETE intine" not in page
    assert "OBSOLETE milk" not in page


def test_an_obsolete_concept_above_others_is_marked_and_is_no_place(outdated: Review) -> None:
    page = outdated.get("/branch?concept=hemp+milk", **PART)
    assert "OBSOLETE intine" not in page
    assert "OBSOLETE group 1 obsolete" in text_of(page)
    assert 'value="food"' in page
    assert 'value="old3"' not in page
    assert 'value="kept"' in outdated.get("/branch?concept=hemp+milk&parent=old3", **PART)


@pytest.mark.parametrize(
    "address",
    [
        "/around?concept=hemp+milk&parent=old1",
        "/?concept=hemp+milk&panel=insert&parent=old3",
        "/?concept=hemp+milk&with=old1",
    ],
)
def test_an_obsolete_concept_that_is_opened_is_marked_and_not_offered(
    outdated: Review, address: str
) -> None:
    page = outdated.get(address)
    assert 'value="old1"' not in page
    assert 'name="accept" value="old3"' not in page
    assert "with=" in address or "obsolete" in text_of(page)


@pytest.mark.parametrize(
    "form",
    [
        {"accept": "old1"},
        {"merge": "old1"},
        {"accept": "milk", "with": ["old1"]},
        {"accept": "old3", "action": "insert", "move": ["kept"]},
    ],
)
def test_the_server_refuses_an_obsolete_parent(outdated: Review, form: dict[str, Any]) -> None:
    page = outdated.decide("hemp milk", 422, **form)
    assert "is obsolete" in text_of(page)
    assert outdated.store.history() == []


def test_an_obsolete_parent_cannot_be_added_to_others(outdated: Review) -> None:
    page = outdated.post("/choose", {"concept": "hemp milk", "with": ["milk", "old1"]}, 422)
    assert "'OBSOLETE intine' is obsolete" in text_of(page)


def test_a_proposal_that_has_become_obsolete_is_marked_and_left_out_of_batches(
    outdated: Review, outdated_model: TaxoExpan
) -> None:
    queued = outdated.concept("hemp milk")
    first = Suggestion(queued.concept, 1, outdated_model.taxonomy.concept("old2"), score=0.9)
    others = [replace(each, rank=each.rank + 1) for each in queued.proposals]
    outdated.store.set_proposals("pantry 1", [first, *others])
    page = outdated.get("/?concept=hemp+milk")
    assert "OBSOLETE milk obsolete" in text_of(page)
    assert 'name="accept" value="old2"' not in page
    bulk = outdated.get("/bulk?min=0")
    assert "1 concepts are left for you to decide" in text_of(bulk)
    outdated.post("/bulk", {"min": "0", "seen": field(bulk, "seen"), "confirmed": "1"})
    assert outdated.concept("hemp milk").status == Status.TODO


@pytest.mark.slow
@chromium.needs_chromium
def test_the_tree_of_a_browser_has_no_obsolete_concepts(
    driver: Any, tmp_path: Path, outdated_model: TaxoExpan
) -> None:
    outdated_model.save(tmp_path / "model")
    desk = Desk(driver, tmp_path, tmp_path / "model", None)
    try:
        desk.open("?status=all&concept=golden+apple")
        desk.all(".tree .more > .label")[-1].send_keys(Keys.ENTER)  # the roots
        desk.wait(lambda: "OBSOLETE group" in desk.find(".tree").text)
        group = next(each for each in desk.all(".tree .node") if "OBSOLETE" in each.text)
        assert group.find_element(By.CSS_SELECTOR, ".tag").text == "obsolete"
        assert not [b for b in desk.all("[name=accept]") if b.get_attribute("value") == "old3"]
        assert "OBSOLETE intine" not in desk.find("body").text
        desk.press("/obsolete")
        desk.shows("No concept has a name like this.")
    finally:
        desk.close()


@pytest.fixture(scope="module")
def learned_model(
    model: TaxoExpan, model_directory: Path, tmp_path_factory: pytest.TempPathFactory
) -> TaxoExpan:
    """The model after it has learned that hemp milk is a milk."""
    folder = tmp_path_factory.mktemp("learned")
    added = {Concept("hemp milk", "hemp milk"): "milk"}
    return with_concepts(model, model_directory, added, folder)


@pytest.fixture
def learned(
    model: TaxoExpan, learned_model: TaxoExpan, pantry: Path, tmp_path: Path
) -> Iterator[Review]:
    """A review after a concept was accepted and learned, and started again with the new model."""
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        review = open_review(model, store, taxonomy=pantry)
        review.decide("hemp milk", accept="milk")
        review.decide("white tea", accept="tea")
        yield open_review(learned_model, store, taxonomy=pantry)


def undo_hemp_milk(review: Review) -> None:
    decision = next(each for each in review.store.history() if each.concept == "hemp milk")
    review.post("/undo", {"number": str(decision.number)})
    assert review.concept("hemp milk").status == Status.TODO


def test_a_learned_concept_is_a_place_and_not_already_present(learned: Review) -> None:
    assert "hemp milk" in learned.get("/search?find=hemp&panel=parent", **PART)
    assert 'value="hemp milk"' in learned.get("/branch?concept=corn+bread&parent=milk", **PART)
    assert "Already present" not in text_of(learned.get("/?status=all"))


@pytest.mark.parametrize("is_restarted", [False, True])
@pytest.mark.parametrize("has_file", [False, True])
def test_a_learned_concept_that_is_undone_does_not_exist(
    learned: Review, learned_model: TaxoExpan, pantry: Path, is_restarted: bool, has_file: bool
) -> None:
    undo_hemp_milk(learned)
    proposals = learned.concept("hemp milk").proposals
    if is_restarted or not has_file:
        file = pantry if has_file else None
        learned = open_review(learned_model, learned.store, NEW, file)
    assert "Already present" not in text_of(learned.get("/?status=all"))
    assert learned.concept("hemp milk").proposals == proposals
    assert "The taxonomy has a concept of this name" not in learned.get("/?concept=hemp+milk")
    for address in (
        "/?concept=hemp+milk",
        "/branch?concept=hemp+milk&parent=milk",
        "/branch?concept=corn+bread&parent=milk",
        "/search?concept=corn+bread&find=hemp&panel=parent",
        "/?concept=corn+bread&panel=insert&parent=milk",
    ):
        assert 'value="hemp milk"' not in learned.get(address, **PART).replace(
            'name="concept" value="hemp milk"', ""
        ), address
    around = text_of(learned.get("/around?concept=corn+bread&parent=hemp+milk"))
    assert "hemp milk learned, undone" in around
    refused = learned.decide("corn bread", 422, accept="hemp milk")
    assert "is learned, undone" in text_of(refused)
    learned.decide("hemp milk", accept="milk")
    learned.decide("corn bread", accept="hemp milk")


def test_the_undone_concept_of_a_proposal_is_marked(learned: Review) -> None:
    queued = learned.concept("corn bread")
    parent = learned.desk.taxonomy.concept("hemp milk")
    learned.store.set_proposals("pantry 1", [Suggestion(queued.concept, 1, parent, score=0.9)])
    assert 'name="accept" value="hemp milk"' in learned.get("/?concept=corn+bread")
    undo_hemp_milk(learned)
    page = learned.get("/?concept=corn+bread")
    assert "hemp milk learned, undone" in text_of(page)
    assert 'name="accept" value="hemp milk"' not in page


def test_a_learned_concept_is_not_its_own_sibling_when_it_is_decided_again(
    learned: Review,
) -> None:
    page = learned.get("/?status=all&concept=hemp+milk&again=1")
    assert 'name="accept" value="hemp milk"' not in page


def test_a_new_model_makes_no_merges_of_learned_concepts(
    learned: Review, learned_model: TaxoExpan
) -> None:
    undo_hemp_milk(learned)
    desk = learned.desk.with_model(learned_model, "pantry 2", NEW)
    assert not any(each.is_merge for each in learned.concept("hemp milk").proposals)
    assert desk.learned == {"hemp milk": "hemp milk"}


@pytest.mark.slow
@chromium.needs_chromium
def test_the_page_of_an_undone_concept_has_no_sibling_of_its_name(
    driver: Any,
    model: TaxoExpan,
    learned_model: TaxoExpan,
    tmp_path: Path,
) -> None:
    learned_model.save(tmp_path / "model")
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        open_review(model, store).decide("hemp milk", accept="milk")
    desk = Desk(driver, tmp_path, tmp_path / "model")
    try:
        desk.open()
        assert "Already present" not in desk.find("nav.statuses").text
        desk.press("u")
        desk.says("Undone: hemp milk is back.")
        assert [each.text for each in desk.all(".tree bdi")].count("hemp milk") == 1  # the new one
        desk.find(".parent .more > .label").send_keys(Keys.ENTER)
        desk.wait(lambda: "black milk" in desk.find(".tree").text)
        assert [each.text for each in desk.all(".tree bdi")].count("hemp milk") == 1
        desk.press("/hemp")
        desk.shows("No concept has a name like this.")
    finally:
        desk.close()
