"""Decisions of curators that a model has learned from: what was rejected is not proposed again."""

from __future__ import annotations

from copy import copy

import pytest

from taxoexpan import TaxoExpan
from taxoexpan.errors import ConfigurationError
from taxoexpan.training.continuation import Recipe
from tests.support.builders import own
from tests.support.decisions import Feedback, SuggestionKind

RECIPE = Recipe(epochs=1)
QUERY = "Oat milks"
"""Its name is like that of oat milk."""


def proposals(model: TaxoExpan, top_k: int = 90) -> list[tuple[str, str]]:
    """The concepts and kinds of all suggestions, best first."""
    suggestions = model.suggest([QUERY], top_k=top_k).flat
    assert [each.rank for each in suggestions] == list(range(1, len(suggestions) + 1))
    return [(each.parent.id, each.kind) for each in suggestions]


@pytest.fixture(scope="module")
def refitted(model: TaxoExpan) -> TaxoExpan:
    """The model of the pantry after a curator has rejected a merge and two parents."""
    rejected = [
        own("oat  MILKS", "oat milk", kind=SuggestionKind.MERGE),
        own("oat-milks", "milk"),
        own(QUERY, "tea"),
        own(QUERY, "gone"),
    ]
    refitted = copy(model)
    refitted.refit(model.taxonomy, Feedback(rejected=rejected), recipe=RECIPE)
    return refitted


def test_rejected_parents_and_merges_are_not_proposed_again(
    model: TaxoExpan, refitted: TaxoExpan
) -> None:
    before = proposals(model)
    assert before[0] == ("oat milk", "similar")
    after = proposals(refitted)
    assert {*before} - {*after} == {
        ("oat milk", "similar"),
        ("milk", "attach"),
        ("tea", "attach"),
    }
    assert {*after} <= {*before}
    # The rejection of a merge says nothing about a place below the same concept.
    assert ("oat milk", "attach") in after
    assert len(proposals(refitted, top_k=5)) == 5


def test_later_rejections_are_added_to_the_earlier_ones(refitted: TaxoExpan) -> None:
    again = copy(refitted)
    rejected = [own(QUERY, "tea"), own(QUERY, "bread"), own("white tea", "milk")]
    again.refit(refitted.taxonomy, Feedback(rejected=rejected), recipe=RECIPE)
    assert {*proposals(again)} == {*proposals(refitted)} - {("bread", "attach")}
    assert "milk" not in {each.parent.id for each in again.suggest(["white tea"], top_k=90).flat}


def test_without_decisions_everything_is_proposed(model: TaxoExpan) -> None:
    refitted = copy(model)
    refitted.refit(model.taxonomy, recipe=RECIPE)
    assert {*proposals(refitted)} == {*proposals(model)}


def test_feedback_is_two_lists_of_suggestions_without_a_common_one(model: TaxoExpan) -> None:
    (first, *_), *_ = suggestions = model.suggest([QUERY])
    for wrong in (first, suggestions, "oat"):
        with pytest.raises(ConfigurationError, match="accepted"):
            Feedback(accepted=wrong)  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="both"):
        Feedback([first], [first])
