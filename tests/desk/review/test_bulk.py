"""Accepting many concepts at once: the preview, the confirmation, and the batch."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from taxoexpan import TaxoExpan
from taxoexpan.taxonomy import Concept
from tests.support.desk_cases import DecisionStore
from tests.support.review_cases import (
    Placed,
    Review,
    field,
    figures_of,
    open_review,
    table_rows,
    text_of,
)

SURE = ("hemp milk", "rice milk", "pea milk", "yak milk", "oatly milk", "moon milk")


def offer(review: Review) -> None:
    """Propose with different confidence; one is to be inserted, one merged, one has no place."""
    review.propose("hemp milk", "milk", confidence=0.97)
    review.propose("rice milk", "milk", "tea", confidence=0.9)
    review.propose("pea milk", "milk", confidence=0.6, kind="insert", moves=("oat milk",))
    review.propose("yak milk", "milk", confidence=0.3)
    review.propose("oatly milk", "oat milk", confidence=0.95, kind="merge")
    review.propose("moon milk", "milk", confidence=0.92, is_suitable=False)


def opened(model: TaxoExpan, folder: pytest.TempPathFactory) -> Iterator[Review]:
    with DecisionStore.open(str(folder.mktemp("bulk") / "reviews.db")) as store:
        review = open_review(model, store, [Concept("", label) for label in SURE])
        offer(review)
        yield review


@pytest.fixture(scope="module")
def previewed(model: TaxoExpan, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Review]:
    """A review for the tests that only look at previews."""
    yield from opened(model, tmp_path_factory)


@pytest.fixture
def sure(model: TaxoExpan, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Review]:
    """A review of the same concepts, in which a batch is accepted."""
    yield from opened(model, tmp_path_factory)


@pytest.fixture
def review(scored_model: TaxoExpan, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Review]:
    """A review with a model that has no confidence, only scores."""
    folder = tmp_path_factory.mktemp("bulk")
    with DecisionStore.open(str(folder / "reviews.db")) as store:
        yield open_review(scored_model, store)


def taken(page: str) -> list[str]:
    """The concepts that a preview would accept."""
    return re.findall(r'name="take" value="([^"]*)"', page)


def form_of(page: str, **values: str) -> dict[str, str]:
    """The hidden fields of the form that accepts, confirmed."""
    names = ("min", "seen", "request")
    return {name: field(page, name) for name in names} | {"confirmed": "1"} | values


def test_the_expected_errors_are_the_sum_of_one_minus_confidence(previewed: Review) -> None:
    page = previewed.get("/bulk?min=0.6")
    assert taken(page) == ["pea milk", "rice milk", "hemp milk"]  # the least confident first
    figures = figures_of(page)
    assert figures["Concepts to accept"] == "3"
    assert figures["Expected errors"] == "0.5"
    assert figures["Lowest confidence"] == "0.60"
    thresholds = ["0.95 1 under 0.1", "0.90 2 0.1", "0.80 2 0.1", "0.70 2 0.1", "0.60 3 0.5"]
    assert table_rows(page)[-6:-1] == thresholds


def test_a_batch_accepts_one_parent_per_concept_and_moves_nothing(sure: Review) -> None:
    sure.post("/bulk", form_of(sure.get("/bulk?min=0.6")))
    assert sure.counts() == {"accepted": 3, "todo": 3}
    for label in ("hemp milk", "rice milk", "pea milk"):
        assert sure.placed(label) == [Placed("milk", rank=1)]


def test_duplicates_and_concepts_without_a_suitable_parent_are_left_out_and_counted(
    previewed: Review,
) -> None:
    page = previewed.get("/bulk?min=0.9")
    assert taken(page) == ["rice milk", "hemp milk"]
    assert "1 likely duplicates" in text_of(page)
    assert re.search(r"without a suitable parent \(1\)", text_of(page))
    assert set(taken(previewed.get("/bulk?min=0.9&unsuitable=1"))) == {
        "hemp milk",
        "rice milk",
        "moon milk",
    }


@pytest.mark.parametrize(
    ("address", "must_confirm"),
    [
        ("/bulk?min=0.5", False),
        ("/bulk?min=0.2", True),
        ("/bulk?min=0.9", False),
        ("/bulk?min=0.9&unsuitable=1", True),
    ],
)
def test_low_confidence_and_unsuitable_parents_must_be_confirmed(
    previewed: Review, address: str, must_confirm: bool
) -> None:
    page = previewed.get(address)
    assert ('name="confirmed"' in page) == must_confirm
    if must_confirm:
        form = form_of(page, confirmed="")
        form |= {"unsuitable": "1"} if "unsuitable" in address else {}
        assert "confirm" in text_of(previewed.post("/bulk", form, 422))
        assert previewed.store.history() == []


def test_another_threshold_than_the_one_that_was_seen_accepts_nothing(previewed: Review) -> None:
    form = form_of(previewed.get("/bulk?min=0.6"), min="0.3")
    assert taken(previewed.post("/bulk", form, 409))
    assert previewed.store.history() == []


def test_the_page_shows_no_number_of_errors_without_a_confidence(review: Review) -> None:
    page = review.get("/bulk?min=0")
    figures = figures_of(page)
    assert figures["Expected errors"] == "unknown"
    assert 0 < float(figures["Lowest score"]) < 1
    assert "confidence of your choice" not in text_of(page)
    assert 'name="confirmed"' in page


def test_numbers_are_scores_also_if_none_reaches_the_threshold(
    review: Review, previewed: Review
) -> None:
    assert "Lowest score" in figures_of(review.get("/bulk?min=1"))
    assert "Lowest confidence" in figures_of(previewed.get("/bulk?min=1"))


def test_without_branches_nothing_is_accepted_as_deep_as_is_sure(review: Review) -> None:
    page = review.get("/bulk?rule=safe&min=0")
    assert figures_of(page)["Concepts to accept"] == "0"
    assert taken(page) == []


def test_a_repeated_request_is_answered_as_the_first_one(review: Review) -> None:
    form = form_of(review.get("/bulk?min=0"))
    assert review.post("/bulk", form) == review.post("/bulk", form)
    assert len(review.store.history()) == 5


def test_the_page_refuses_if_the_queue_has_changed(review: Review) -> None:
    form = form_of(review.get("/bulk?min=0"))
    review.decide("white tea", action="defer")
    changed = review.post("/bulk", form, 409)
    assert "changed since the preview" in text_of(changed)
    assert review.counts() == {"todo": 4, "deferred": 1}
    url = review.post("/bulk", form | {"seen": field(changed, "seen")})
    assert "4 concepts accepted" in text_of(review.get(url))
    assert review.counts() == {"accepted": 4, "deferred": 1}


def test_a_batch_is_undone_as_a_whole_or_one_by_one(review: Review) -> None:
    review.post("/bulk", form_of(review.get("/bulk?min=0")))
    review.post("/undo", {})
    assert review.counts() == {"accepted": 4, "todo": 1}
    batch = field(review.get("/?status=accepted"), "batch")
    page = review.get(review.post("/undo", {"batch": batch}))
    assert "4 decisions undone" in text_of(page)
    assert review.counts() == {"todo": 5}


def test_a_group_is_accepted_by_its_parent(review: Review) -> None:
    parent = review.proposed("corn bread")[0]
    assert taken(review.get(f"/bulk?parent={parent}&min=0")) == ["corn bread"]


def test_a_group_below_one_half_is_listed_as_a_whole(review: Review) -> None:
    """The page of a group starts at its lowest confidence."""
    review.propose("white tea", "soup", confidence=0.41234567)
    review.propose("corn bread", "soup", confidence=0.3)
    page = review.get("/bulk?parent=soup")
    assert taken(page) == ["corn bread", "white tea"]
    url = review.post("/bulk", form_of(page, parent="soup"))
    assert "2 concepts accepted" in text_of(review.get(url))


def test_concepts_whose_mark_is_cleared_are_not_accepted(review: Review) -> None:
    page = review.get("/bulk?min=0")
    form: dict[str, str | list[str]] = {**form_of(page), "boxes": "1"}
    assert len(taken(page)) == 5
    review.post("/bulk", form | {"request": "none"}, 422)
    assert review.counts() == {"todo": 5}
    review.post("/bulk", form | {"take": ["white tea", "corn bread"]})
    assert review.counts() == {"accepted": 2, "todo": 3}
    assert review.status("corn bread") == "accepted"
