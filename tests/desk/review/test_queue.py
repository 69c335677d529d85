from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from taxoexpan import TaxoExpan
from taxoexpan.desk.store.decision_store import DecisionStore
from tests.support.review_cases import Review, open_review, text_of


@pytest.mark.parametrize(
    ("confidences", "order", "note"),
    [
        ([0.9, 0.8, 0.7, 0.6, 0.5], "by confidence", ""),
        ([None] * 5, "by score", "The model has no confidence, so the queue uses the score"),
        ([0.9, 0.8, 0.7, None, None], "by confidence", "Some proposals have no confidence"),
    ],
)
def test_the_queue_says_whether_its_numbers_are_scores(
    model: TaxoExpan, tmp_path: Path, confidences: Sequence[float | None], order: str, note: str
) -> None:
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        review = open_review(model, store)
        set_confidences(review, confidences)
        page = review.get("/")
        text = text_of(page)
        assert f'<option value="confidence" selected>{order}</option>' in page
        assert ("no confidence" in text, note in text) == (bool(note), True)
        numbers = {each.concept.label: each.proposals[0] for each in store.queue().concepts}
        for label, confidence in zip(sorted(numbers), confidences, strict=True):
            proposal = numbers[label]
            shown = f"confidence {confidence:.2f}" if confidence else f"score {proposal.score:.2f}"
            (row,) = re.findall(rf'<span class="label"><bdi>{label}</bdi>.*?</a>', page, re.S)
            assert text_of(row).endswith(f"{proposal.parent.label} {shown}")


def set_confidences(review: Review, confidences: Sequence[float | None]) -> None:
    """Give all proposals of each concept, by its label, one confidence."""
    queue = sorted(review.store.queue().concepts, key=lambda each: each.concept.label)
    review.store.set_proposals(
        "another model",
        [
            replace(proposal, confidence=confidence)
            for concept, confidence in zip(queue, confidences, strict=True)
            for proposal in concept.proposals
        ],
    )


def test_the_queue_shows_only_concepts_whose_branch_is_sure(
    scored_model: TaxoExpan, tmp_path: Path
) -> None:
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        review = open_review(scored_model, store)
        first = review.concept("corn bread").proposals[0]
        levels = (1.0, *[0.95] * (len(first.path) - 1))
        store.set_proposals("another model", [replace(first, levels=levels, confidence=0.3)])
        sure = text_of(review.get("/?sure=1"))
        assert "corn bread" in sure
        assert "white tea" not in sure
        assert "white tea" in text_of(review.get("/"))
        review.decide("corn bread", accept=first.parent.id)
        assert "Nothing matches these filters" in text_of(review.get("/?sure=1"))
