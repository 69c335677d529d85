from __future__ import annotations

from dataclasses import replace

import pytest

from taxoexpan import TaxoExpan
from taxoexpan.desk.review.bulk import BulkPreview
from taxoexpan.desk.store.decision_store import DecisionStore
from taxoexpan.desk.store.decisions import Action, QueuedConcept, Status
from taxoexpan.placement.suggesting.suggestions import Place, Suggestion, SuggestionKind
from taxoexpan.taxonomy import Concept
from tests.support.review_cases import Review, field, open_review, text_of


def queued(
    label: str,
    confidence: float | None,
    kind: SuggestionKind = SuggestionKind.ATTACH,
    place: Place = Place.POSSIBLE,
    score: float = 0.5,
) -> QueuedConcept:
    """A concept to do with its first proposal."""
    moves = ("oat milk",) if kind == SuggestionKind.INSERT else ()
    concept, milk = Concept("", label), Concept("milk", "milk")
    numbers = (score, confidence)
    first = Suggestion(concept, 1, milk, ("food", "milk"), *numbers, kind, place, moves)
    return QueuedConcept(label, concept, Status.TODO, 3, (first,))


CONCEPTS = (
    queued("a", 0.97),
    queued("b", 0.9),
    queued("c", 0.6, SuggestionKind.INSERT),
    queued("d", 0.3),
    queued("e", 0.95, SuggestionKind.MERGE),
    queued("f", 0.92, place=Place.NONE),
)


def preview(threshold: float, with_unsuitable: bool = False) -> BulkPreview:
    return BulkPreview(CONCEPTS, threshold, 7, with_unsuitable)


def keys(found: BulkPreview) -> list[str]:
    return [decision.concept for decision in found.decisions("batch")]


def test_the_expected_errors_are_the_sum_of_one_minus_confidence() -> None:
    found = preview(0.6)
    assert keys(found) == ["a", "b", "c"]
    assert found.expected_errors == pytest.approx(0.03 + 0.1 + 0.4)
    assert [each.key for each in found.shown] == ["c", "b", "a"]
    assert [step[:2] for step in found.steps][:3] == [(0.95, 1), (0.9, 2), (0.8, 2)]
    assert found.steps[0][2] == pytest.approx(0.03)


def test_a_batch_accepts_one_parent_per_concept_so_that_none_is_redundant() -> None:
    first = queued("g", 0.99)
    narrow = replace(first.proposals[0], rank=2, kind=SuggestionKind.ALSO)
    both = replace(first, proposals=(*first.proposals, narrow))
    (decision,) = BulkPreview((both,), 0.5, 1).decisions("batch")
    assert [each.rank for each in decision.suggestions] == [1]


def test_duplicates_and_concepts_without_a_suitable_parent_are_left_out_and_counted() -> None:
    found = preview(0.9)
    assert keys(found) == ["a", "b"]
    assert (found.merges, found.unsuitable) == (1, 1)
    assert keys(preview(0.9, with_unsuitable=True)) == ["a", "b", "f"]


def test_low_or_unknown_confidence_and_unsuitable_parents_must_be_confirmed() -> None:
    assert not preview(0.5).needs_confirmation
    assert preview(0.2).needs_confirmation
    assert preview(0.9, with_unsuitable=True).needs_confirmation
    unknown = BulkPreview([queued("a", None, score=0.9)], 0.5, 1)
    assert unknown.needs_confirmation
    assert (unknown.expected_errors, unknown.steps[-1][2]) == (None, None)


def test_numbers_are_scores_also_if_none_reaches_the_threshold() -> None:
    assert BulkPreview([queued("a", None, score=0.3)], 0.9, 1).measure == "score"
    assert BulkPreview([queued("a", 0.3)], 0.9, 1).measure == "confidence"


def test_nothing_is_moved_in_bulk() -> None:
    moved = preview(0.6).decisions("batch")[2]
    assert (moved.action, moved.version, moved.batch) == (Action.ACCEPT, 3, "batch")
    assert (moved.suggestions[0].kind, moved.suggestions[0].moves) == (SuggestionKind.ATTACH, ())


def test_the_digest_changes_with_what_would_be_accepted() -> None:
    assert preview(0.9).digest == preview(0.9).digest
    assert preview(0.9).digest != preview(0.6).digest


@pytest.fixture
def review(model: TaxoExpan, tmp_path_factory: pytest.TempPathFactory) -> Review:
    folder = tmp_path_factory.mktemp("bulk")
    return open_review(model, DecisionStore.open(str(folder / "reviews.db")))


def test_the_page_shows_no_number_of_errors_without_a_confidence(review: Review) -> None:
    assert review.concept("white tea").proposals[0].confidence is None
    text = text_of(review.get("/bulk?min=0"))
    assert "Expected errors unknown the model has no confidence, only scores" in text
    assert "Lowest score 0." in text
    assert "confidence of your choice" not in text


def test_without_branches_nothing_is_accepted_as_deep_as_is_sure(review: Review) -> None:
    assert not review.concept("white tea").proposals[0].levels
    assert "Concepts to accept 0 of 5 to do" in text_of(review.get("/bulk?rule=safe&min=0"))


def test_a_repeated_request_is_answered_as_the_first_one(review: Review) -> None:
    page = review.get("/bulk?min=0")
    form = {"min": "0", "seen": field(page, "seen"), "request": "r", "confirmed": "1"}
    assert review.post("/bulk", form) == review.post("/bulk", form)
    assert len(review.store.history()) == 5


def test_the_page_refuses_without_confirmation_or_if_the_queue_has_changed(review: Review) -> None:
    page = review.get("/bulk?min=0")
    assert "Accept 5 concepts" in text_of(page)
    form = {"min": "0", "seen": field(page, "seen"), "request": "r"}
    refused = review.post("/bulk", form, 422)
    assert "Nothing was accepted: confirm" in text_of(refused)
    review.decide("white tea", action="defer")
    changed = review.post("/bulk", {**form, "confirmed": "1"}, 409)
    assert "The queue has changed since the preview" in text_of(changed)
    assert review.store.counts()[Status.ACCEPTED] == 0
    form["seen"] = field(changed, "seen")
    url = review.post("/bulk", {**form, "confirmed": "1"})
    assert "4 concepts accepted." in text_of(review.get(url))
    assert review.store.counts()[Status.ACCEPTED] == 4
    assert review.concept("white tea").status == Status.DEFERRED


def test_a_batch_is_undone_as_a_whole_or_one_by_one(review: Review) -> None:
    page = review.get("/bulk?min=0")
    form = {"min": "0", "seen": field(page, "seen"), "request": "r", "confirmed": "1"}
    review.post("/bulk", form)
    review.post("/undo", {})
    assert review.store.counts()[Status.ACCEPTED] == 4
    batch = field(review.get("/?status=accepted"), "batch")
    page = review.get(review.post("/undo", {"batch": batch}))
    assert "4 decisions undone." in text_of(page)
    assert review.store.counts()[Status.TODO] == 5


def test_a_group_is_accepted_by_its_parent(review: Review) -> None:
    parent = review.concept("corn bread").proposals[0].parent.id
    page = review.get(f"/bulk?parent={parent}&min=0")
    assert "corn bread" in page
    assert "white tea" not in page


def test_a_group_below_one_half_is_listed_as_a_whole(review: Review) -> None:
    """The page of a group starts at its lowest confidence."""
    queue = review.store.queue().concepts
    parent = queue[0].proposals[0].parent
    review.store.set_proposals(
        "another model",
        [
            replace(queue[i].proposals[0], parent=parent, confidence=confidence)
            for i, confidence in enumerate((0.41234567, 0.3))
        ],
    )
    page = review.get(f"/bulk?parent={parent.id}")
    assert "Concepts to accept 2 of 2 to do" in text_of(page)
    form = {"parent": parent.id, "min": field(page, "min"), "seen": field(page, "seen")}
    url = review.post("/bulk", {**form, "request": "r", "confirmed": "1"})
    assert "2 concepts accepted." in text_of(review.get(url))


def test_concepts_whose_mark_is_cleared_are_not_accepted(review: Review) -> None:
    page = review.get("/bulk?min=0")
    form = {"min": "0", "seen": field(page, "seen"), "confirmed": "1", "boxes": "1"}
    assert page.count('name="take"') == 5
    refused = review.post("/bulk", {**form, "request": "none"}, 422)
    assert "There is nothing to accept." in text_of(refused)
    review.post("/bulk", {**form, "request": "two", "take": ["white tea", "corn bread"]})
    assert review.store.counts()[Status.ACCEPTED] == 2
    assert review.concept("corn bread").status == Status.ACCEPTED
