from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from taxoexpan.errors import ConfigurationError, TaxonomyError
from taxoexpan.placement.adding.acceptance import Acceptance, accept_suggestions
from taxoexpan.placement.suggesting.suggestions import Suggestion, SuggestionKind
from taxoexpan.taxonomy import Concept, Taxonomy

FOOD = Taxonomy([Concept("f", "fruit"), Concept("a", "apple")], [("f", "a")])


def suggestion(label: str, score: float, parent: str = "f", **fields: Any) -> Suggestion:
    known = FOOD.concept(parent) if parent in FOOD else Concept(parent, parent)
    return Suggestion(Concept(label, label), 1, known, (known.label,), score, **fields)


@pytest.mark.parametrize("name", ["min_score", "min_confidence"])
def test_a_threshold_is_a_number_from_0_to_1(name: str) -> None:
    for good in (None, 0, 0.5, 1):
        assert Acceptance(**{name: good}).has_threshold == (good is not None)
    for bad in (-0.1, 1.01, float("nan"), "0.5"):
        with pytest.raises(ConfigurationError, match=f"{name} is .*; it must be from 0 to 1"):
            Acceptance(**{name: bad})


@pytest.mark.parametrize("name", ["allow_moves", "allow_merges"])
def test_a_permission_is_true_or_false(name: str) -> None:
    with pytest.raises(ConfigurationError, match=f"{name} is 'yes'; it must be True or False"):
        Acceptance(**{name: "yes"})


def test_an_allowed_change_names_its_option() -> None:
    assert Acceptance().allowed_changes == []
    assert Acceptance(allow_moves=True).allowed_changes == ["moves"]
    assert Acceptance(allow_merges=True).allowed_changes == ["synonyms"]


@pytest.mark.parametrize(
    ("options", "added"),
    [
        ({}, ["kiwi", "fig"]),
        ({"min_score": 0.5}, ["kiwi"]),
        ({"min_confidence": 0.6}, ["fig"]),
        ({"min_score": 0.5, "min_confidence": 0.6}, []),
    ],
)
def test_suggestions_below_a_threshold_are_left_out(
    options: dict[str, float], added: list[str]
) -> None:
    suggestions = [
        suggestion("kiwi", 0.5, confidence=0.5),
        suggestion("fig", 0.4, confidence=0.7),
    ]
    accepted = accept_suggestions(FOOD, suggestions, Acceptance(**options))
    assert [concept.label for concept in accepted.additions.concepts] == added
    assert accepted.left_out == 2 - len(added)


def test_every_query_is_added_or_present_or_merged_or_left_out() -> None:
    suggestions = [
        suggestion("kiwi", 0.9),
        suggestion("fig", 0.9),
        suggestion("Apple", 0.9),
        *(suggestion(label, 0.9, "a", kind=SuggestionKind.MERGE) for label in ("apfel", "pomme")),
        *(suggestion(label, 0.1) for label in ("bolt", "nut", "screw")),
    ]
    accepted = accept_suggestions(FOOD, suggestions, Acceptance(min_score=0.5))
    assert [concept.label for concept in accepted.additions.concepts] == ["kiwi", "fig"]
    assert [(new.label, known.id) for new, known in accepted.already_present] == [("Apple", "a")]
    assert [merge.query.label for merge in accepted.merged] == ["apfel", "pomme"]
    assert accepted.left_out == 3


def test_a_parent_whose_label_was_edited_is_refused() -> None:
    edited = replace(suggestion("kiwi", 0.9), parent=Concept("f", "vegetable"))
    with pytest.raises(TaxonomyError, match="'fruit' in the taxonomy, but 'vegetable'"):
        accept_suggestions(FOOD, [edited], Acceptance())


def test_suggestions_are_returned_with_the_ids_that_were_filled_in() -> None:
    """Ids of this taxonomy are made from those of the parents, so they are made last."""
    ids = ("hg", *(f"hg-{number}" for number in range(1, 7)))
    codes = Taxonomy([Concept(id, f"food {id}") for id in ids], [("hg", id) for id in ids[1:]])
    given = [
        Suggestion(Concept("", "kiwi"), 1, codes.concept("hg-1"), (), 0.9),
        Suggestion(Concept("own", "fig"), 1, codes.concept("hg-2"), (), 0.9),
    ]
    accepted = accept_suggestions(codes, given, Acceptance())
    kiwi, fig = accepted.suggestions
    assert kiwi == replace(given[0], query=Concept("hg-1-1", "kiwi"))
    assert fig == given[1]
    assert accepted.additions.relations == (("hg-1", "hg-1-1"), ("hg-2", "own"))
