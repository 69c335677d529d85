"""Filling the queue with the proposals of a model, and explaining them."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from taxoexpan import TaxoExpan
from taxoexpan.errors import ConfigurationError
from taxoexpan.taxonomy import Concept
from tests.support.desk_cases import (
    Action,
    DecisionStore,
    accept,
    append,
    decide,
    proposal,
    queued,
    searched,
    state,
)
from tests.support.review_cases import Review, open_review, text_of

NEW = Concept("n1", "hemp milk")
LISTED = (NEW, Concept("n2", "white tea"))
MILKS = tuple(Concept("", f"{name} milk") for name in ("hemp", "rice", "pea"))


@pytest.fixture
def store(tmp_path: Path) -> Iterator[DecisionStore]:
    with DecisionStore.open(str(tmp_path / "reviews.db")) as store:
        yield store


@pytest.fixture(scope="module")
def explained(model: TaxoExpan, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Review]:
    """A review for the tests that read explanations."""
    with DecisionStore.open(str(tmp_path_factory.mktemp("why") / "reviews.db")) as store:
        yield open_review(model, store, MILKS)


def why(review: Review, concept: str, parent: str) -> str:
    """The reasons for a parent, as the page shows them."""
    address = f"/why?concept={concept}&parent={parent}"
    return text_of(review.get(address, **{"HX-Request": "true"}))


def test_the_first_proposal_is_explained_in_full(explained: Review) -> None:
    reasons = why(explained, "hemp milk", explained.proposed("hemp milk")[0])
    for part in ("'milk'", "cosine", "shared words", "raw score"):
        assert part in reasons


def test_a_runner_up_is_explained_by_its_similarity(explained: Review) -> None:
    other = explained.proposed("hemp milk")[1]
    reasons = why(explained, "hemp milk", other)
    assert f"'{other}'" in reasons
    assert "cosine" in reasons
    assert "raw score" not in reasons


def test_a_parent_that_the_model_does_not_suggest_has_no_reasons(explained: Review) -> None:
    suggested = explained.proposed("hemp milk")
    other = next(id for id in explained.desk.taxonomy if id not in suggested)
    reasons = why(explained, "hemp milk", other)
    assert not any(part in reasons for part in ("cosine", "shared words", "raw score", other))


def test_many_threads_get_the_same_answers_as_one(model: TaxoExpan, store: DecisionStore) -> None:
    alone = open_review(model, store, MILKS)
    expected = [why(alone, each.label, "milk") for each in MILKS]
    assert len(set(expected)) == len(MILKS)
    shared = open_review(model, store, MILKS)  # nothing is explained there yet
    labels = [each.label for each in MILKS] * 5
    with ThreadPoolExecutor(8) as threads:
        found = list(threads.map(lambda label: why(shared, label, "milk"), labels))
    assert found == expected * 5


def test_proposals_of_the_same_model_are_not_computed_again(
    model: TaxoExpan, store: DecisionStore
) -> None:
    more = (*LISTED, Concept("n3", "corn bread"))
    assert open_review(model, store, LISTED, name="one").computed == 2
    assert open_review(model, store, more, name="one").computed == 1
    assert open_review(model, store, more, name="one").computed == 0
    review = open_review(model, store, more, name="two")
    assert review.computed == 3
    expected = [each.parent.id for each in model.suggest([NEW], top_k=5).flat]
    assert review.proposed("hemp milk") == expected
    assert expected[0] == "milk"


def test_definitions_of_a_glossary_are_used_and_shown_but_not_kept(
    model: TaxoExpan, store: DecisionStore
) -> None:
    definition = "a red apple"
    review = open_review(model, store, LISTED, definitions={"hemp milk": definition})
    assert review.concept("hemp milk").concept.definition == ""
    assert definition in text_of(review.get("/?concept=hemp+milk"))
    with_definition = model.suggest([replace(NEW, definition=definition)], top_k=5).flat
    without = model.suggest([NEW], top_k=5).flat
    scores = review.scores("hemp milk")
    assert scores == pytest.approx([each.score for each in with_definition], rel=1e-3)
    assert scores != pytest.approx([each.score for each in without], rel=1e-3)


def test_a_store_about_another_taxonomy_is_refused(model: TaxoExpan, store: DecisionStore) -> None:
    store.add_concepts(LISTED)
    elsewhere = searched("cheese")  # the id is CHEESE there
    append(store, "Ada", decide("hemp milk", Action.ACCEPT, elsewhere))
    with pytest.raises(ConfigurationError, match=r"decisions .* another taxonomy") as refused:
        open_review(model, store, LISTED)
    assert refused.value.option == "decisions"
    assert not queued(store, "hemp milk").proposals


def test_proposals_for_another_taxonomy_are_refused_before_any_decision(
    model: TaxoExpan, store: DecisionStore
) -> None:
    store.add_concepts(LISTED)
    store.set_proposals("elsewhere", [proposal(NEW, 1, "cheese", 0.9)])
    with pytest.raises(ConfigurationError, match=r"proposals .* another taxonomy") as refused:
        open_review(model, store, LISTED)
    assert refused.value.option == "decisions"
    assert state(store, "hemp milk").proposed == ["cheese"]


@pytest.mark.parametrize("changed", [{"definition": "a red apple"}, {"synonyms": ("red apple",)}])
def test_proposals_are_computed_again_for_a_changed_text(
    model: TaxoExpan, store: DecisionStore, changed: dict[str, Any]
) -> None:
    assert open_review(model, store, LISTED).computed == 2
    edited = replace(NEW, **changed)
    review = open_review(model, store, [edited, LISTED[1]])
    assert review.computed == 1
    assert open_review(model, store, [edited, LISTED[1]]).computed == 0
    expected = [each.score for each in model.suggest([edited], top_k=5).flat]
    assert review.scores("hemp milk") == pytest.approx(expected, rel=1e-3)


def test_an_accepted_concept_gets_no_proposals_of_a_later_model(
    model: TaxoExpan, store: DecisionStore
) -> None:
    open_review(model, store, LISTED, name="one")
    append(store, "Ada", accept(queued(store, "hemp milk")))
    assert open_review(model, store, LISTED, name="two").computed == 1
