from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from taxoexpan.errors import ConfigurationError
from taxoexpan.placement.adding.acceptance import Acceptance, accept_suggestions
from taxoexpan.placement.adding.decisions import decide
from taxoexpan.placement.suggesting.suggestions import Decision, Place, Suggestion, SuggestionKind
from taxoexpan.taxonomy import Concept, Taxonomy

FOOD = Taxonomy([Concept("f", "fruit"), Concept("a", "apple")], [("f", "a")])
ACCEPTED, UNDECIDED, OPEN = Decision.ACCEPTED, Decision.UNDECIDED, Decision.OPEN


def ranked(
    label: str, *confidences: float | None, place: Place = Place.POSSIBLE
) -> list[Suggestion]:
    return [
        Suggestion(
            Concept(label, label),
            rank,
            parent,
            (parent.label,),
            0.3 / rank,
            confidence,
            place=place,
        )
        for rank, (parent, confidence) in enumerate(
            zip(FOOD.concepts, confidences, strict=False), start=1
        )
    ]


def decisions(suggestions: list[Suggestion], **options: Any) -> list[Decision]:
    return [each.decision for each in decide(suggestions, Acceptance(**options))]


SURE, UNSURE = ranked("kiwi", 0.5, 0.2), ranked("fig", 0.49, 0.3)
NOWHERE = ranked("bolt", 0.9, 0.1, place=Place.NONE)


def test_placements_that_are_more_likely_wrong_or_have_no_suitable_parent_are_undecided() -> None:
    assert decisions([*SURE, *UNSURE, *NOWHERE]) == [ACCEPTED, OPEN, *[UNDECIDED] * 4]


def test_a_further_parent_below_the_floor_is_not_accepted() -> None:
    assert decisions(SURE, top_k=2) == [ACCEPTED, OPEN]
    assert decisions(ranked("kiwi", 0.9, 0.6), top_k=2) == [ACCEPTED, ACCEPTED]


def test_without_a_confidence_everything_with_a_suitable_parent_is_accepted() -> None:
    unknown = [replace(each, confidence=None) for each in [*SURE, *UNSURE, *NOWHERE]]
    assert decisions(unknown) == [ACCEPTED, OPEN, ACCEPTED, OPEN, UNDECIDED, UNDECIDED]
    with pytest.raises(ConfigurationError, match="not all of these suggestions have a confidence"):
        decisions(unknown, min_confidence=0.1)


def test_a_given_threshold_replaces_the_floor() -> None:
    rows = [*SURE, *UNSURE, *NOWHERE]
    assert decisions(rows, min_confidence=0.0) == [ACCEPTED, OPEN] * 3
    assert decisions(rows, min_confidence=0.8) == [*[UNDECIDED] * 4, ACCEPTED, OPEN]
    assert decisions(rows, min_score=0.4) == [UNDECIDED] * 6


def test_a_likely_synonym_is_not_marked() -> None:
    first, second = ranked("apfel", 0.8, 0.3)
    assert decisions([replace(first, kind=SuggestionKind.MERGE), second]) == [OPEN, OPEN]


@pytest.mark.parametrize("options", [{}, {"top_k": 2}, {"min_score": 0.2}, {"min_confidence": 0.0}])
def test_the_accepted_suggestions_are_those_that_are_added(options: dict[str, Any]) -> None:
    decided = decide([*SURE, *UNSURE, *NOWHERE], Acceptance(**options))
    accepted = accept_suggestions(FOOD, decided, Acceptance())
    marked = [(s.parent.id, s.query.id) for s in decided if s.decision == ACCEPTED]
    assert list(accepted.additions.relations) == marked
    undecided = {s.query.id for s in decided if s.decision == UNDECIDED}
    assert (accepted.undecided, accepted.left_out) == (len(undecided), 0)
